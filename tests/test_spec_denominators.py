"""Clause 4: status, and what n counts."""

from __future__ import annotations

from typing import Any

import pytest
from native import errors, kofn, passes, report_of, run_of, value_of


def counts(records: list[Any], header: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return dict(report_of(records, header, **options)["counts"])


def indexed(task: str, *indices: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"task": task, "rollout": index, "passed": True, **fields} for index in indices]


@pytest.mark.spec("4.1")
@pytest.mark.parametrize(
    ("fields", "status"),
    [
        *[({"status": text}, text) for text in ("succeeded", "errored", "cancelled", "unfinished")],
        ({"status": "completed"}, "succeeded"),
        ({"status": "canceled"}, "cancelled"),
        ({}, "succeeded"),
        ({"error": "out of memory"}, "errored"),
        ({"error": {"type": "E", "message": "m"}, "passed": False}, "succeeded"),
        ({"error": {"type": "E", "message": "m"}, "status": "succeeded"}, "succeeded"),
    ],
    ids=str,
)
def test_status(fields: dict[str, Any], status: str) -> None:
    found = counts([{"task": "t", **fields}])
    others = ("succeeded", "errored", "cancelled", "unfinished")
    assert {name: found[name] for name in others} == {name: int(name == status) for name in others}


@pytest.mark.spec("4.1")
def test_failed_is_ambiguous() -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([{"task": "t", "status": "failed"}])
    assert (error.value.line, error.value.field) == (1, "status")
    assert all(way in str(error.value) for way in ("errored", "succeeded", "verdict"))
    with pytest.raises(errors.InputError, match="status"):
        report_of([{"task": "t", "status": "Succeeded"}])


@pytest.mark.spec("4.2")
def test_whatever_did_not_succeed_stays_in_the_denominator() -> None:
    broken = [{"task": "t", "status": status} for status in ("errored", "cancelled", "unfinished")]
    report = report_of([*passes(1), *broken], {"requested_rollouts": 5}, statistics=["pass_rate", "pass@1"])
    assert report["counts"]["missing"] == 1
    assert value_of(report, "pass_rate") == value_of(report, "pass@1") == 0.2


@pytest.mark.spec("4.2")
def test_zero_successes_give_zero() -> None:
    report = report_of([{"task": "t", "status": "errored"}], statistics=["pass@1", "pass^1", "pass_rate"])
    assert all(value_of(report, label) == 0.0 for label in ("pass@1", "pass^1", "pass_rate"))
    assert report["tasks"][0]["successes"] == 0


@pytest.mark.spec("4.3")
def test_requested_is_declared_or_given() -> None:
    records = passes(1, 1)
    report = report_of(records, {"requested_rollouts": 4}, statistics=["pass_rate"])
    assert (value_of(report, "pass_rate"), report["requested_from"]) == (0.5, "declared")
    report = report_of(records, {"requested_rollouts": 4}, statistics=["pass_rate"], requested=8)
    assert (value_of(report, "pass_rate"), report["requested_from"]) == (0.25, "given")
    assert any("4" in note and "8" in note for note in report["notes"]), report["notes"]
    assert report_of(records, {"requested_rollouts": 8}, requested=8)["notes"] == []


@pytest.mark.spec("4.3")
def test_requested_per_task() -> None:
    records = [*passes(1, task="a"), *passes(1, task="b")]
    report = report_of(records, {"requested_rollouts": {"b": 2, "a": 4}}, statistics=["pass_rate"])
    assert value_of(report, "pass_rate") == 0.375
    assert [(row["task"], row["n"]) for row in report["tasks"]] == [("b", 2), ("a", 4)]


@pytest.mark.spec("4.3")
def test_declared_tasks_without_records_count() -> None:
    header = {"tasks": ["a", "b", "c"], "requested_rollouts": 2}
    report = report_of(passes(1, 1, task="a"), header, statistics=["pass@2"])
    assert value_of(report, "pass@2") == pytest.approx(1 / 3, abs=0)
    assert (report["counts"]["tasks"], report["counts"]["missing"]) == (3, 4)


@pytest.mark.spec("4.3")
@pytest.mark.parametrize("header", [{"tasks": ["a"]}, {"requested_rollouts": {"a": 1}}], ids=str)
def test_undeclared_tasks_are_errors(header: dict[str, Any]) -> None:
    with pytest.raises(errors.InputError, match='task "b"'):
        report_of([*passes(1, task="a"), *passes(1, task="b")], header)


@pytest.mark.spec("4.3")
@pytest.mark.parametrize("header", [{"requested_rollouts": 0}, {"requested_rollouts": {"t": 0}}], ids=str)
def test_nothing_requested_is_an_error(header: dict[str, Any]) -> None:
    with pytest.raises(errors.KofnError, match="requested"):
        report_of(passes(1), header)
    with pytest.raises(errors.KofnError, match="requested"):
        report_of(passes(1), requested=0)


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    "records",
    [
        [*passes(1, 0, task="a"), *passes(1, 1, task="b")],
        [*indexed("a", 0, 1), *indexed("b", 1, 0)],
        [*indexed("a", 1, 2), *indexed("b", 2, 1)],
        [*indexed("a", 0, 1), *passes(1, 1, task="b")],
    ],
    ids=["no indices", "from 0", "from 1", "one task without"],
)
def test_equal_counts_are_inferred(records: list[Any]) -> None:
    report = report_of(records, statistics=["pass_rate"])
    assert report["requested_from"] == "inferred"
    assert (report["counts"]["requested"], report["counts"]["missing"]) == (4, 0)


@pytest.mark.spec("4.4")
@pytest.mark.parametrize(
    "records",
    [
        [*passes(1, 0, task="a"), *passes(1, task="b")],
        [*indexed("a", 0, 1), *indexed("b", 0, 2)],
        [*indexed("a", 0, 1), *indexed("b", 1, 2)],
        [*indexed("a", 2, 3), *indexed("b", 2, 3)],
    ],
    ids=["uneven", "hole", "hole at the start", "no start"],
)
def test_what_cannot_be_inferred_is_unknown(records: list[Any]) -> None:
    with pytest.raises(errors.RefusedError) as error:
        report_of(records, statistics=["mean_score", "pass@1"])
    assert error.value.label == "pass@1"
    assert "recorded" in str(error.value)
    report = report_of(records)
    assert report["requested_from"] == "unknown"
    assert not {"requested", "missing"} & set(report["counts"])
    assert "pass@1" in report["omitted"]
    recorded = report_of(records, statistics=["pass_rate"], denominator="recorded")
    assert 0 < value_of(recorded, "pass_rate") <= 1
    assert value_of(report_of(records, statistics=["pass_rate"], requested=8), "pass_rate") > 0


@pytest.mark.spec("4.4")
def test_a_skipped_line_forbids_inference() -> None:
    records: list[Any] = [*passes(1, 0, task="a"), *passes(1, 0, task="b")]
    assert report_of(records)["requested_from"] == "inferred"
    assert report_of([*records, "{broken"], on_error="skip")["requested_from"] == "unknown"


@pytest.mark.spec("4.4")
def test_declared_tasks_without_records_forbid_inference() -> None:
    report = report_of(passes(1, 0, task="a"), {"tasks": ["a", "b"]})
    assert report["requested_from"] == "unknown"


@pytest.mark.spec("4.5")
@pytest.mark.parametrize(
    ("denominator", "n", "rate"), [("requested", 6, 1 / 6), ("recorded", 5, 0.2), ("scorable", 2, 0.5)]
)
def test_denominator_says_what_n_counts(denominator: str, n: int, rate: float) -> None:
    records = [*passes(1, 0), {"task": "t", "status": "errored"}, {"task": "t"}]
    records.append({"task": "t", "verdict": "indeterminate"})
    report = report_of(records, {"requested_rollouts": 6}, statistics=["pass_rate"], denominator=denominator)
    assert (report["denominator"], report["tasks"][0]["n"]) == (denominator, n)
    assert value_of(report, "pass_rate") == rate
    assert report["counts"]["scorable"] == 2


@pytest.mark.spec("4.5")
def test_one_fail_makes_verdicts_scorable() -> None:
    judges = [{"name": "a", "verdict": "indeterminate"}, {"name": "b", "verdict": "fail"}]
    assert counts([{"task": "t", "verifiers": judges}])["scorable"] == 1
    assert (
        counts([{"task": "t", "verifiers": [judges[0], {"name": "b", "verdict": "pass"}]}])["scorable"] == 0
    )
    mixed = [
        {"task": "t", "verifiers": [{"name": "a", "verdict": "indeterminate"}, {"name": "b", "score": 1.0}]}
    ]
    assert counts(mixed, threshold=0.5)["scorable"] == 0
    assert counts([{"task": "t", "score": 1.0}], threshold=0.5)["scorable"] == 1


@pytest.mark.spec("4.5")
def test_a_task_without_scorable_rollouts_is_short() -> None:
    records = [*passes(1, task="a"), {"task": "b", "status": "errored"}]
    with pytest.raises(errors.RefusedError, match="b"):
        report_of(records, statistics=["pass@1"], denominator="scorable")
    report = report_of(records, statistics=["pass@1"], denominator="scorable", on_short="omit")
    assert report["statistics"]["pass@1"].items() >= {"value": 1.0, "n_tasks": 1}.items()
    assert [row["n"] for row in report["tasks"]] == [1, 0]


@pytest.mark.spec("4.6")
def test_more_records_than_requested() -> None:
    with pytest.raises(errors.KofnError, match="t"):
        report_of(passes(1, 1, 1), {"requested_rollouts": 2})
    with pytest.raises(errors.KofnError, match="t"):
        report_of(passes(1, 1, 1), requested=2)


@pytest.mark.spec("4.6")
@pytest.mark.parametrize("equal", [True, False])
def test_the_same_key_twice_names_both_places(equal: bool) -> None:
    again = {"task": "t", "rollout": 1, "passed": equal}
    with pytest.raises(errors.DuplicateError) as error:
        run_of([*indexed("t", 0, 1), again]).report()
    message = str(error.value)
    assert "line 2" in message
    assert "line 3" in message
    assert ("equal" in message) is equal


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(("how", "rate"), [("first", 1.0), ("last", 0.5)])
def test_duplicates_can_be_chosen(how: str, rate: float) -> None:
    records = [*indexed("t", 0, 1), {"task": "t", "rollout": 1, "passed": False}]
    report = report_of(records, on_duplicate=how, statistics=["pass_rate"])
    assert value_of(report, "pass_rate") == rate
    assert report["counts"]["recorded"] == 2
    assert any("1" in note for note in report["notes"])
    with pytest.raises(errors.DuplicateError):
        report_of(records, on_duplicate="identical")


@pytest.mark.spec("4.6")
def test_identical_copies_are_dropped_and_counted() -> None:
    report = report_of([*indexed("t", 0, 1), *indexed("t", 1)], on_duplicate="identical")
    assert report["counts"]["recorded"] == 2
    assert any("1" in note for note in report["notes"]), report["notes"]


@pytest.mark.spec("4.6")
def test_records_without_an_index_never_collide(tmp_path: Any) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"task": "t", "passed": true}\n' * 2)
    run = kofn.read([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert run.report().counts["recorded"] == 4
    with pytest.raises(errors.InputError, match="t"):
        report_of([*passes(1), *indexed("t", 1)])


@pytest.mark.spec("4.6")
@pytest.mark.parametrize("index", [-1, 0.5, True, "0", [0]], ids=repr)
def test_an_index_is_a_whole_number(index: Any) -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([{"task": "t", "rollout": index, "passed": True}])
    assert error.value.field == "rollout"


@pytest.mark.spec("4.7")
def test_every_form_prints_the_denominators() -> None:
    records = [
        *passes(1, 0, 1),
        {"task": "t", "status": "errored"},
        {"task": "t", "verdict": "indeterminate"},
    ]
    report = run_of(records, {"requested_rollouts": 7}).report()
    assert {
        "tasks": 1,
        "requested": 7,
        "recorded": 5,
        "missing": 2,
        "errored": 1,
        "indeterminate": 1,
    }.items() <= dict(report.counts).items()
    for form in ("table", "markdown"):
        text = report.render(form)
        words = (
            "tasks",
            "requested",
            "recorded",
            "missing",
            "succeeded",
            "errored",
            "scored",
            "indeterminate",
        )
        assert [word for word in words if word not in text.lower()] == [], form
