"""Faults that people reported in tools of this kind, each as a small input with the value the semantics give.

`cases/bugs.jsonl` holds every case with its source. Each test names the cases it settles.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from native import as_json, check, errors, jsonl, kofn, passes, report_of, run_of, scored, value_of

CASES = {
    case["id"]: case
    for case in map(
        json.loads, (Path(__file__).parent / "cases" / "bugs.jsonl").read_text("utf-8").splitlines()
    )
}
LEFT_OUT = {
    "B49": "baselines of a training group: training weights",
    "B57": "maj@k is not among the statistics of a report",
}
TESTED: set[str] = set()


def case(*ids: str) -> pytest.MarkDecorator:
    """Say which cases a test settles."""
    assert not TESTED & set(ids), "one home for each case"
    TESTED.update(ids)
    return pytest.mark.bug(*ids)


def figure(records: list[Any], label: str, header: dict[str, Any] | None = None, **options: Any) -> float:
    return value_of(report_of(records, header, statistics=[label], **options), label)


def test_every_case_is_tested_or_left_out() -> None:
    assert TESTED | set(LEFT_OUT) == set(CASES)
    assert not TESTED & set(LEFT_OUT)


@case("B01")
def test_k_above_n_without_a_success() -> None:
    with pytest.raises(errors.RefusedError) as error:
        report_of(passes(0, 0, 0, task="t1"), statistics=["pass@8"])
    assert all(part in str(error.value) for part in ("t1", "3", "8"))
    report = report_of(passes(0, 0, 0, task="t1"), statistics=["pass@8"], on_short="omit")
    assert (report["statistics"], set(report["omitted"])) == ({}, {"pass@8"})


@case("B02")
def test_tasks_are_not_samples() -> None:
    records = [{"task": f"t{i}", "passed": i < 3} for i in range(10)]
    report = report_of(records, statistics=["pass@1", "pass@5"], on_short="omit")
    assert value_of(report, "pass@1") == 0.3
    assert "pass@5" in report["omitted"]


@case("B03", "B04")
def test_estimators_draw_without_replacement() -> None:
    report = report_of(passes(1, 1, 1, 0), statistics=["pass^k"], k=[1, 2, 3, 4])
    assert [value_of(report, f"pass^{k}") for k in (1, 2, 3, 4)] == [0.75, 0.5, 0.25, 0.0]
    assert figure(passes(1, 0, 0, 0), "pass@2") == 0.5


@case("B06")
def test_uneven_tasks_are_counted() -> None:
    records = [*passes(1, task="t1"), *passes(1, 0, 0, 0, 0, 0, task="t2")]
    with pytest.raises(errors.RefusedError, match="t1"):
        figure(records, "pass@5", denominator="recorded")
    report = report_of(records, statistics=["pass@5"], denominator="recorded", on_short="omit")
    assert report["statistics"]["pass@5"].items() >= {"value": 5 / 6, "n_tasks": 1}.items()


@case("B08")
def test_infrastructure_errors_stay() -> None:
    records = [{"task": task, "rollout": i, "error": "infra"} for task in "abc" for i in range(4)]
    records[0] = {"task": "a", "rollout": 0, "passed": True}
    report = report_of(records, statistics=["pass^1", "coverage"])
    assert value_of(report, "pass^1") == value_of(report, "coverage") == 1 / 12
    assert (report["counts"]["tasks"], report["counts"]["errored"]) == (3, 11)
    report = report_of(records, statistics=["pass^1"], denominator="scorable", on_short="omit")
    assert report["statistics"]["pass^1"].items() >= {"value": 1.0, "n_tasks": 1}.items()
    assert report["counts"]["scorable"] == 1


@case("B09")
def test_the_convention_stands_in_the_report() -> None:
    records = [*passes(1, 1, 0), {"task": "t", "status": "errored"}]
    for denominator, value in (("requested", 1 / 6), ("scorable", 1 / 3)):
        report = report_of(records, statistics=["pass^2"], denominator=denominator)
        assert (report["denominator"], value_of(report, "pass^2")) == (denominator, value)


@case("B11", "B46", "B48")
def test_duplicates_never_count_twice(tmp_path: Path) -> None:
    again = {"task": "t1", "rollout": 0, "reward": 1}
    records = [again, again, {"task": "t1", "rollout": 1, "reward": 1}]
    with pytest.raises(errors.DuplicateError) as error:
        report_of(records, {"requested_rollouts": 2})
    assert all(part in str(error.value) for part in ("t1", "line 2", "line 3"))
    for how in ("identical", "first"):
        found = figure(records, "pass^2", {"requested_rollouts": 2}, threshold=1, on_duplicate=how)
        assert found == 1.0
    thrice, header = [again] * 3, {"tasks": ["t1", "t2"], "requested_rollouts": 1}
    report = report_of(thrice, header, statistics=["pass_rate"], threshold=1, on_duplicate="identical")
    assert [row["successes"] for row in report["tasks"]] == [1, 0]
    ranks = tmp_path / "rank0.jsonl", tmp_path / "rank1.jsonl"
    ranks[0].write_bytes(jsonl(again, {"task": "t2", "rollout": 0, "reward": 0}))
    ranks[1].write_bytes(jsonl({"task": "t3", "rollout": 0, "reward": 1}, again))
    with pytest.raises(errors.DuplicateError, match=r"rank1\.jsonl"):
        kofn.read(list(ranks)).report()
    run = kofn.read(list(ranks), on_duplicate="identical")
    assert run.report(["pass_rate"], threshold=1)["pass_rate"].value == 2 / 3


@case("B12")
def test_every_sample_is_scored() -> None:
    records = [*passes(1, 0, task="t1"), *passes(1, 0, task="t2")]
    report = report_of(records, statistics=["pass@1", "pass@2", "pass^2"])
    assert [value_of(report, label) for label in report["statistics"]] == [0.5, 1.0, 0.0]


@case("B13")
def test_a_list_is_no_bool() -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([{"task": "t1", "passed": [True, False]}])
    assert (error.value.line, error.value.field) == (1, "passed")


@case("B14")
def test_missing_tasks_are_listed() -> None:
    records, header = [*passes(1, task="t1"), *passes(0, task="t2")], {"tasks": ["t1", "t2", "t3"]}
    run = run_of(records, header | {"requested_rollouts": 1})
    assert run.report(["pass_rate"])["pass_rate"].value == 1 / 3
    assert run.report(["pass_rate"], denominator="recorded")["pass_rate"].value == 0.5
    assert [task for task, _ in run.missing()] == ["t3"]


@case("B16", "B17", "B31")
def test_errors_leave_a_trace_in_every_form() -> None:
    def run(good: int, bad: int, errored: int) -> Any:
        return run_of([*passes(*[1] * good, *[0] * bad), *[{"task": "t", "error": "broke"}] * errored])

    for (good, bad, errored), requested, scorable in (
        ((3, 1, 6), 3 / 10, 3 / 4),
        ((3, 6, 3), 1 / 4, 1 / 3),
        ((2, 0, 1), 2 / 3, 1.0),
    ):
        report = run(good, bad, errored).report(["pass_rate"])
        assert (report["pass_rate"].value, report.counts["errored"]) == (requested, errored)
        again = kofn.Report.from_json(report.to_json())
        assert again["pass_rate"].value == requested
        assert repr(requested) in report.render("csv")
        assert (
            run(good, bad, errored).report(["pass_rate"], denominator="scorable")["pass_rate"].value
            == scorable
        )


@case("B20")
def test_reducers_are_named_statistics() -> None:
    report = report_of(passes(*[1] * 4, *[0] * 6), statistics=["pass_rate", "pass^2", "pass@10", "pass^10"])
    assert [value_of(report, label) for label in report["statistics"]] == [0.4, 2 / 15, 1.0, 0.0]
    assert report["policy"] == {"id": "verifier_verdict.v1"}


@case("B21", "B23")
def test_labels_of_other_tools_are_no_verdicts() -> None:
    for verdict in ("P", "C", 1, -1):
        with pytest.raises(errors.InputError, match="verdict"):
            report_of([{"task": "t", "verdict": verdict}])
    partial = report_of(scored(1.0, 0.5), statistics=["pass_rate", "mean_score"], threshold=1)
    assert [value_of(partial, label) for label in partial["statistics"]] == [0.5, 0.75]
    signed = report_of(scored(1, -1, -1, 1), statistics=["pass_rate", "mean_score"], threshold=1)
    assert [value_of(signed, label) for label in signed["statistics"]] == [0.5, 0.0]


@case("B24")
def test_lost_rollouts_count() -> None:
    report = report_of(
        scored(1, 1, 0), {"requested_rollouts": 4}, statistics=["pass_rate", "mean_score"], threshold=1
    )
    assert [value_of(report, label) for label in report["statistics"]] == [0.5, 2 / 3]
    assert (report["counts"]["scored"], report["counts"]["missing"]) == (3, 1)


@case("B26", "B67")
def test_malformed_scores_are_never_zero() -> None:
    header = {"score_range": [0, 1]}
    for line in (
        '{"task": "t", "reward": "abc"}',
        '{"task": "t", "reward": 1.5}',
        '{"task": "t", "reward": 85}',
    ):
        with pytest.raises(errors.InputError) as error:
            report_of([line], header)
        assert (error.value.line, error.value.field) == (2, "reward")
    records = ['{"task": "t", "reward": NaN}', {"task": "t", "reward": True}, {"task": "t", "reward": 1}]
    report = report_of(records, header)
    assert (value_of(report, "mean_score"), report["counts"]["scored"]) == (1.0, 2)


@case("B27", "B71")
def test_an_absent_metric_is_not_zero(tmp_path: Path) -> None:
    def record(**values: Any) -> dict[str, Any]:
        readings = [{"metric": metric, "value": value} for metric, value in values.items()]
        return {"task": "t", "verifiers": [{"name": "v", "readings": readings}]}

    report = report_of([record(a=1, b=1), record(a=0)], statistics=["metric_mean:a", "metric_mean:b"])
    assert [value_of(report, label) for label in report["statistics"]] == [0.5, 1.0]
    parts = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    parts[0].write_bytes(jsonl(record(truncated=True), record(truncated=True)))
    parts[1].write_bytes(jsonl(record(truncated=False)))
    report = kofn.read(list(parts)).report(["metric_mean:truncated"])
    assert report["metric_mean:truncated"].value == 2 / 3


@case("B29")
def test_completed_is_not_passed() -> None:
    records = [{**one, "status": "completed"} for one in passes(1, 1, 1, 1, 1, 0, 0)]
    report = report_of(records, statistics=["pass_rate"])
    assert (value_of(report, "pass_rate"), report["counts"]["errored"]) == (5 / 7, 0)


@case("B33", "B34")
def test_a_required_check_gates() -> None:
    facts = [kofn.required("tests pass", True), kofn.required("patch", False), kofn.optional("style", True)]
    assert kofn.grade(facts).passed is False
    grade = kofn.grade([kofn.required("evidence", False), *(kofn.required(f"c{i}", True) for i in range(9))])
    assert (grade.passed, grade.reward, grade.gated_reward) == (False, 0.9, 0.0)
    records = [{"task": "t", "checks": [check("evidence", False), check("correct", True)]}]
    assert figure(records, "pass_rate") == 0.0


@case("B38", "B39")
def test_a_threshold_of_zero_is_one_and_none_is_none() -> None:
    assert figure(scored(0), "pass_rate", threshold=0) == 1.0
    with pytest.raises(errors.RefusedError, match="threshold"):
        figure(scored(0.02), "pass_rate")


@case("B41")
def test_an_empty_group_is_no_zero() -> None:
    records = [{**one, "tags": {"level": "easy"}} for one in (*passes(1, task="t1"), *passes(0, task="t2"))]
    report = report_of(records, by="level", statistics=["pass_rate"])
    assert value_of(report, "pass_rate") == value_of(report["groups"]["easy"], "pass_rate") == 0.5
    assert set(report["groups"]) == {"easy"}


@case("B43")
def test_tasks_are_named_by_their_id() -> None:
    records = [{"task": f"img{i}", "prompt": "Find x", "reward": i} for i in (0, 1)]
    report = report_of(records, statistics=["pass@1", "pass@2"], threshold=1, on_short="omit")
    assert list(report["statistics"]) == ["pass@1"]
    assert report["statistics"]["pass@1"].items() >= {"value": 0.5, "n_tasks": 2}.items()


@case("B51")
def test_an_unscored_rollout_does_not_shift_the_mean() -> None:
    report = report_of(scored(-1, -1, None, None), statistics=["mean_score"])
    assert value_of(report, "mean_score") == -1.0
    scores = report["tasks"][0]["scores"]
    assert (scores["scored"], scores["spread"]) == (2, 0.0)


def judged(*values: Any) -> list[Any]:
    readings = [[{"metric": "x", "value": value}] for value in values]
    return [{"task": "t", "verifiers": [{"name": "v", "readings": one}]} for one in readings]


@case("B54")
def test_the_variance_is_the_populations() -> None:
    report = report_of(judged(2, 4), statistics=["metric_mean:x", "metric_variance:x"])
    assert [value_of(report, label) for label in report["statistics"]] == [3.0, 1.0]
    assert figure(judged(1), "metric_variance:x") == 0.0


@case("B55", "B56")
def test_agreement_of_one_label_and_of_missing_ratings() -> None:
    assert figure(judged(1, 1, 1), "agreement:x") == 1.0
    assert figure(judged(1, 0, None), "agreement:x") == 0.5
    assert "agreement:x" in report_of(judged(1, None, None), statistics=["agreement:x"])["omitted"]


@case("B68")
def test_separators_inside_strings() -> None:
    lines = [
        '{"task": "a", "passed": true, "out": "a\u2028b"}',
        '{"task": "b", "passed": false, "out": "a\x85b"}',
    ]
    assert report_of(lines)["counts"]["recorded"] == 2


@case("B70")
def test_a_half_line_in_mid_file() -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([*passes(1), '{"task": "t2", "rewa{"task": "t3", "reward": 1}', *passes(1)])
    assert error.value.line == 2


@case("B72")
def test_missing_rollouts_are_known_by_index() -> None:
    run = run_of([{"task": "t1", "rollout": i, "passed": True} for i in (0, 1)], {"requested_rollouts": 4})
    assert list(run.missing()) == [("t1", 2), ("t1", 3)]
    assert run.report().counts["missing"] == 2


@case("B74")
def test_nan_and_overflow() -> None:
    run = run_of(['{"task": "t1", "reward": NaN}', {"task": "t2", "reward": 1}])
    report = as_json(run.report(["mean_score"]))
    assert report["statistics"]["mean_score"].items() >= {"value": 1.0, "n_tasks": 1}.items()
    with pytest.raises(errors.InputError) as error:
        report_of(['{"task": "t", "reward": 1e999}'])
    assert (error.value.line, error.value.field) == (1, "reward")


@case("B77")
def test_transcripts_do_not_change_the_count() -> None:
    """Memory is measured elsewhere; here long records stay one record each."""
    noise = {"messages": [{"role": "user", "content": '{"passed": true}\\"' * 700}] * 2}
    records = [{"task": "t", "passed": i % 2 == 0, **noise} for i in range(200)]
    report = report_of(records, statistics=["pass_rate"])
    assert (value_of(report, "pass_rate"), report["counts"]["recorded"]) == (0.5, 200)


@case("B79")
def test_unknown_usage_is_not_zero() -> None:
    first = {"task": "t", "passed": True, "usage": {"total_tokens": 300}, "duration_s": 2.5}
    second = {"task": "t", "passed": True, "usage": {"total_tokens": None}, "duration_s": None}
    report = report_of([first, second])
    assert (value_of(report, "mean_total_tokens"), value_of(report, "mean_duration")) == (300.0, 2.5)


@case("B81")
def test_exit_codes_are_not_added_up() -> None:
    grade = kofn.grade([kofn.required(f"exit {code}", code == 0) for code in (0, 124, 1)])
    assert (grade.reward, len(grade.failed_required)) == (1 / 3, 2)
    with pytest.raises(errors.KofnError):
        kofn.required("exit", 124)


@case("B82")
def test_an_errored_zero_is_no_loss_of_the_scorable() -> None:
    records = [{**one, "status": "errored"} if i == 0 else one for i, one in enumerate(scored(0, 0, 1))]
    for denominator, rate in (("requested", Fraction(1, 3)), ("scorable", Fraction(1, 2))):
        assert figure(records, "pass_rate", threshold=1, denominator=denominator) == float(rate)


@case("B45")
def test_a_join_is_of_tasks_not_of_rollouts() -> None:
    a, b = run_of(passes(1, 0, task="t1")), run_of(passes(1, 1, task="t1"))
    found = kofn.compare(a, b, "pass_rate")["pass_rate"]
    assert (found.a, found.b, found.value, found.n_tasks) == (0.5, 1.0, 0.5, 1)


@case("B64")
def test_a_run_compared_with_itself() -> None:
    run = run_of([*passes(1, 0, task="t1"), *passes(1, 1, task="t2"), *passes(0, 0, task="t3")])
    comparison = kofn.compare(run, run, "pass@1")
    found = comparison["pass@1"]
    assert (found.value, found.p_value, found.exact_p_value) == (0.0, 1.0, 1.0)
    assert found.interval is None
    assert found.no_interval
    assert comparison.conclusion.startswith("identical runs")


# -- intervals


@case("B59")
def test_an_interval_stays_within_the_range_of_its_figure() -> None:
    report = kofn.Run.from_records([{"task": f"t{i}", "passed": i > 0} for i in range(30)]).report(["pass@1"])
    figure = report["pass@1"]
    assert figure.interval == pytest.approx((0.833296, 0.994091), abs=1e-6)
    assert figure.method == "wilson"


@case("B60")
def test_a_standard_error_is_not_lost() -> None:
    records = [{"task": f"t{i}", "passed": i < 2} for i in range(8)]
    assert kofn.Run.from_records(records).report(["pass@1"])["pass@1"].standard_error == pytest.approx(
        (3 / 112) ** 0.5
    )


@case("B62")
def test_the_task_is_the_unit() -> None:
    records = [{"task": task, "passed": task == "t1"} for task in ("t1", "t2") for _ in range(4)]
    assert kofn.Run.from_records(records).report(["pass@1"])["pass@1"].standard_error == pytest.approx(0.5)


@case("B65")
def test_one_seed_draws_one_interval() -> None:
    records = [record for i in range(5) for record in passes(1, i % 2, i > 2, task=f"t{i}")]
    options = {"statistics": ["pass@1"], "interval": "percentile", "seed": 1}
    first = run_of(records).report(**options)
    assert first.to_json() == run_of(records).report(**options).to_json()
    assert first.to_json() != run_of(records).report(**(options | {"seed": 2})).to_json()
    # As many tasks are drawn as there are, with replacement: the outermost of all resamples are one task five times.
    wide = run_of(records).report("pass@1", interval="percentile", seed=1, confidence=1 - 2**-50)["pass@1"]
    values = first.per_task.statistics["pass@1"]
    assert (wide.low, wide.high) == pytest.approx((values.min(), values.max()))
