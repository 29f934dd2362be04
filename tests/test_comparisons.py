"""Two runs against each other: joins, differences, what is concluded, and what stands in the way."""

from __future__ import annotations

import json
import math
import random
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from native import errors, jsonl, kofn

from kofn.comparisons import Comparison, Comparisons, Difference, compare, compare_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run(outcomes: Mapping[str, Sequence[int]], **extra: Any) -> Any:
    records = [
        {"task": task, "rollout": i, "passed": bool(passed), **extra}
        for task, passes in outcomes.items()
        for i, passed in enumerate(passes)
    ]
    return kofn.Run.from_records(records)


OLD = run({"a": [0, 0], "b": [0, 1], "c": [1, 1], "d": [0, 0], "e": [1, 0], "f": [1, 1]})
NEW = run({"a": [1, 1], "b": [1, 1], "c": [1, 1], "d": [0, 1], "e": [0, 0], "f": [1, 1]})


def test_a_difference_is_new_minus_baseline() -> None:
    found = compare(OLD, NEW, ["pass@1", "pass@2"])
    first = found["pass_at_1"]
    d = [1.0, 0.5, 0.0, 0.5, -0.5, 0.0]
    assert (first.value, first.a, first.b, first.n_tasks) == (0.25, 0.5, 0.75, 6)
    assert first.standard_error == pytest.approx(statistics.stdev(d) / math.sqrt(6))
    spread = [statistics.variance(x) / 6 for x in ([0, 0.5, 1, 0, 0.5, 1], [1, 1, 1, 0.5, 0, 1])]
    assert first.unpaired_standard_error == pytest.approx(math.sqrt(sum(spread)))
    # 1 + 0.5 + 0.5 - 0.5: in units of a half, signs of 2, 1, 1, 1 give 3 or more in 4 of 16 cases, on either side.
    assert first.p_value == 0.5
    assert list(found) == ["pass@1", "pass@2"]
    assert found["pass@2"].value == pytest.approx(1 / 6)
    assert (found.gained, found.lost) == (["a", "d"], ["e"])
    back = compare(NEW, OLD, ["pass@1"])["pass@1"]
    assert (back.value, back.p_value) == (-0.25, 0.5)
    assert first.low is not None
    assert first.high is not None
    assert (back.low, back.high) == (-first.high, -first.low)


def test_student_intervals() -> None:
    found = compare(OLD, NEW, "pass@1", interval="student", confidence=0.9)["pass@1"]
    assert found.standard_error is not None
    half = 2.015048373 * found.standard_error  # t of 5 degrees of freedom at 95 %
    assert found.low == pytest.approx(0.25 - half)
    assert found.high == pytest.approx(0.25 + half)
    assert (found.method, found.confidence) == ("student_t", 0.9)


def test_a_run_with_itself() -> None:
    found = compare(OLD, OLD)
    assert {it.verdict for it in found.values()} == {"identical"}
    assert found.conclusion.startswith("identical runs: ")
    assert [it.p_value for it in found.values()] == [1.0] * len(found)
    assert (found.gained, found.lost) == ([], [])
    assert all(it.interval is None and it.value == 0 for it in found.values())


def test_gains_and_losses_in_balance_are_no_identity() -> None:
    found = compare(run({"a": [0], "b": [1], "c": [1]}), run({"a": [1], "b": [0], "c": [1]}), "pass@1")
    assert found["pass@1"].verdict == "not shown"
    # Shares are at most 100 points apart, whatever so few tasks would allow.
    assert found.conclusion == (
        "no difference shown: 0.0 points, 95 % -100.0 to 100.0 (pass@1, 3 tasks, p = 1); 1 task gained, 1 lost"
    )
    assert found["pass@1"].high is not None
    assert found["pass@1"].high > 2


def test_one_task_cannot_tell() -> None:
    found = compare(run({"a": [0, 0]}), run({"a": [1, 1]}), "pass@1")
    assert found.conclusion == "cannot tell: 1 task (pass@1 +100.0 points)"
    assert found["pass@1"].p_value is None
    assert found["pass@1"].no_interval


def test_every_task_differs_by_the_same() -> None:
    tasks = [f"t{i}" for i in range(8)]
    found = compare(run({t: [0, 1] for t in tasks}), run({t: [1, 1] for t in tasks}), "pass@1")
    difference = found["pass@1"]
    assert (difference.value, difference.interval, difference.verdict) == (0.5, None, "better")
    assert difference.p_value == pytest.approx(2 / 2**8)
    assert (
        found.conclusion == "B is better by 50.0 points (pass@1, 8 tasks, p = 0.0078); 0 tasks gained, 0 lost"
    )
    assert any("no interval" in note for note in found.notes)


def test_durations_are_longer_not_worse() -> None:
    seconds = [1.0, 1.1, 0.9, 1.2, 1.0, 1.05, 0.95, 1.0]

    def timed(more: float) -> Any:
        records = [
            {"task": f"t{i}", "passed": True, "duration_s": s + more + i / 1000}
            for i, s in enumerate(seconds)
        ]
        return kofn.Run.from_records(records)

    found = compare(
        timed(0),
        kofn.Run.from_records(
            [
                {"task": f"t{i}", "passed": True, "duration_s": s + 3 + (i % 3) / 10}
                for i, s in enumerate(seconds)
            ]
        ),
        ["mean_duration"],
    )
    assert found["mean_duration"].verdict == "different"
    assert found["mean_duration"].more_is_better is None
    assert found.conclusion.startswith("B is longer by 3.0")
    assert " s, 95 % " in found.conclusion
    assert compare(timed(3), timed(0), "mean_duration").conclusion.startswith("B is shorter by 3.000 s")


# -- tasks that do not match


def test_mismatched_tasks_are_refused_unless_told() -> None:
    other = run({"b": [1, 1], "c": [1, 1], "x": [0, 0]})
    with pytest.raises(errors.InputError) as error:
        compare(OLD, other)
    for part in (
        "4 only in A ('a', 'd', 'e', and 1 more)",
        "1 only in B ('x')",
        "the 2 common ones",
        "intersect",
    ):
        assert part in str(error.value)
    found = compare(OLD, other, ["pass@1"], on_mismatch="intersect")
    assert found.tasks.task == ["b", "c"]
    assert [side.only for side in found.content.sides] == [4, 1]
    assert any("4 tasks only in A" in note for note in found.notes)
    with pytest.raises(errors.InputError, match="none is in both"):
        compare(OLD, run({"y": [1]}), on_mismatch="intersect")


def test_order_of_tasks_changes_no_bit() -> None:
    outcomes = {f"t{i:03}": [(i * j * 7 + i) % 3 == 0 for j in range(4)] for i in range(40)}
    better = {task: [*passes[:2], True, passes[3]] for task, passes in outcomes.items()}
    found = compare(run(outcomes), run(better), ["pass@1", "pass^2"])
    shuffled = list(better.items())
    random.Random(1).shuffle(shuffled)
    again = compare(run(outcomes).report(["pass@1", "pass^2"]), run(dict(shuffled)), ["pass@1", "pass^2"])
    assert found.content.differences == again.content.differences
    # A report whose tasks stand in another order.
    report = json.loads(run(better).report(["pass@1", "pass^2"]).to_json())
    report["tasks"].reverse()
    turned = compare(run(outcomes), kofn.Report.from_json(report), ["pass@1", "pass^2"])
    assert turned.content.differences == found.content.differences


def test_ids_of_different_kinds_are_different_tasks_only_as_text() -> None:
    numbers = kofn.Run.from_arrays(groups=[1, 2], passed=[True, False])
    texts = kofn.Run.from_arrays(groups=["2", "1"], passed=[True, True])
    assert compare(numbers, texts, "pass@1")["pass@1"].value == 0.5


# -- what a report can give


def test_saved_reports_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(OLD.report(["pass@1"]).to_json())
    lines = tmp_path / "new.jsonl"
    lines.write_bytes(
        jsonl(
            *(
                {"task": t, "rollout": i, "passed": bool(p)}
                for t, ps in {
                    "a": [1, 1],
                    "b": [1, 1],
                    "c": [1, 1],
                    "d": [0, 1],
                    "e": [0, 0],
                    "f": [1, 1],
                }.items()
                for i, p in enumerate(ps)
            )
        )
    )
    whole = compare(OLD, NEW, ["pass@1", "pass^2", "pass_rate", "learnability"])
    assert (
        compare(path, str(lines), ["pass@1", "pass^2", "pass_rate", "learnability"]).content.differences
        == whole.content.differences
    )
    with pytest.raises(errors.RefusedError, match=r"mean_score: in A: it has pass@1"):
        compare(path, NEW, ["mean_score"])
    with pytest.raises(errors.RefusedError, match=r"task 'a' has n = 2, fewer than k = 3"):
        compare(path, NEW.report(["pass@1"]), ["pass@3"])
    assert list(compare(path, NEW)) == ["pass@1", "pass@2", "pass^2"]


def test_k_above_n_in_one_run() -> None:
    short = run({"a": [0], "b": [1, 1], "c": [0, 1]})
    long = run({"a": [0, 1], "b": [1, 1], "c": [0, 1]})
    with pytest.raises(errors.RefusedError, match="pass@2"):
        compare(short, long, ["pass@2"], denominator="recorded")
    found = compare(short, long, ["pass@2"], denominator="recorded", on_short="omit")
    assert (found["pass@2"].n_tasks, found["pass@2"].left_out) == (2, 1)
    assert any("different numbers of rollouts" in note for note in found.notes)


def test_missing_values_are_left_out_and_counted() -> None:
    a = kofn.Run.from_records(
        [{"task": t, "score": s} for t, s in (("a", 1.0), ("b", 0.5), ("c", None), ("d", 0.0))]
    )
    b = kofn.Run.from_records(
        [{"task": t, "score": s} for t, s in (("a", 2.0), ("b", None), ("c", 1.0), ("d", 1.0))]
    )
    found = compare(a, b, "mean_score")
    assert (found["mean_score"].value, found["mean_score"].n_tasks, found["mean_score"].left_out) == (
        1.0,
        2,
        2,
    )
    assert found.tasks["b"].statistics == {}
    assert found.tasks["a"].statistics == {"mean_score": (1.0, 2.0)}
    assert (found.tasks["a"].p_value, found.gained) == (None, [])


def test_policies_that_differ_are_refused_for_successes_alone() -> None:
    scored = kofn.Run.from_records(
        [{"task": t, "score": s, "passed": s > 0.5} for t, s in (("a", 1.0), ("b", 0.2), ("c", 0.4))]
    )
    strict = scored.report(["pass@1", "mean_score"], threshold=0.9)
    with pytest.raises(
        errors.RefusedError,
        match=r"A was judged by verifier_verdict\.v1, B by score_threshold\.v1 threshold=0\.9",
    ):
        compare(scored, strict, ["pass@1"])
    found = compare(scored, strict)
    assert "pass@1" in found.omitted
    assert found["mean_score"].verdict == "identical"
    assert found.gained == []
    with pytest.raises(errors.RefusedError, match="n counts requested rollouts"):
        compare(scored, scored.report(["pass@1"], denominator="recorded"), ["pass@1"])


# -- clusters


def test_clusters_count_as_one() -> None:
    rng = random.Random(4)
    old = {f"t{i}": [rng.random() < 0.5] for i in range(40)}
    # Tasks of a cluster move together.
    new = {task: [not passes[0]] if i // 4 % 2 else passes for i, (task, passes) in enumerate(old.items())}
    where = {task: i // 4 for i, task in enumerate(old)}
    alone, together = (compare(run(old), run(new), "pass@1", cluster=c)["pass@1"] for c in (None, where))
    assert (alone.units, together.units) == (40, 10)
    d = {t: new[t][0] - old[t][0] for t in old}
    mean = sum(d.values()) / 40
    sums = [sum(d[t] - mean for t in d if where[t] == g) for g in range(10)]
    assert together.standard_error == pytest.approx(math.sqrt(10 / 9 * sum(s * s for s in sums)) / 40)
    assert alone.value == together.value
    same = compare(run(old), run(new), "pass@1", cluster=dict.fromkeys(old, "one"))
    assert same.conclusion.startswith("cannot tell: all of 40 tasks are in one cluster")
    with pytest.raises(errors.ArgumentError, match="39 of the tasks"):
        compare(run(old), run(new), cluster={"t0": 1})


def test_clusters_by_a_tag() -> None:
    def tagged(passes: int) -> Any:
        return kofn.Run.from_records(
            [{"task": f"t{i}", "passed": i % 5 < passes, "tags": {"suite": f"s{i % 4}"}} for i in range(20)]
        )

    found = compare(tagged(2), tagged(3), "pass@1", cluster="suite")
    assert found["pass@1"].units == 4
    assert found.content.settings.clusters == 4
    saved = [kofn.Report.from_json(tagged(n).report(["pass@1"], by="suite").to_json()) for n in (2, 3)]
    assert (
        compare(saved[0], saved[1], "pass@1", cluster="suite").content.differences
        == found.content.differences
    )
    with pytest.raises(errors.ArgumentError, match="no task has the tag 'suite'"):
        compare(tagged(2).report(), tagged(3).report(), cluster="suite")


# -- out and in


def test_json_keeps_everything_also_what_is_unknown() -> None:
    found = compare(OLD, NEW)
    text = found.to_json()
    assert Comparison.from_json(text) == found
    assert Comparison.from_json(text).to_json() == text
    later = json.loads(text) | {"later": [1]}
    later["statistics"]["pass@1"]["effect"] = 0.5
    later["tasks"][1]["seen"] = True
    again = json.loads(Comparison.from_json(later).to_json())
    assert again == later
    assert json.loads(text)["difference"] == "b - a"


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "kofn.comparison/2"},
        {"schema": None},
        {"a": 3},
        {"tasks": [{"task": "a"}]},
        {"tasks": [{"task": "a", "n": [1], "statistics": {}}]},
        {"tasks": [{"task": "a", "statistics": {"nothing": [1, 2]}}]},
        {"tasks": [{"task": "a", "statistics": {}}] * 2},
        {"settings": {"confidence": 2}},
        {"statistics": {"pass@1": {"value": "high"}}},
        {"notes": [1]},
        {"a": {"name": "A", "denominator": "requested", "run": {"sources": [1]}}},
    ],
)
def test_what_is_no_comparison_is_refused(change: dict[str, Any]) -> None:
    document = json.loads(compare(OLD, NEW, "pass@1").to_json()) | change
    with pytest.raises(errors.EncodingError, match="not a kofn comparison"):
        Comparison.from_json(document)
    for text in ("[]", "{", "nonsense", '{"schema": NaN}'):
        with pytest.raises(errors.EncodingError):
            Comparison.from_json(text)
    with pytest.raises(errors.SourceError):
        Comparison.from_json(Path("/nowhere/at/all"))


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "html", "latex"])
def test_every_form_shows_the_conclusion_and_the_tasks(form: Any) -> None:
    hostile = "t|<b>&\n\x1b[31m_x"
    a, b = run({hostile: [0, 0], "u": [1, 0]}), run({hostile: [1, 1], "u": [1, 1]})
    found = compare(a, b, ["pass@1"], names=("old", "new"))
    text = found.render(form, per_task=True)
    assert "pass@1" in text
    assert "no difference shown" in text.replace("\n", " ")
    assert "\x1b" not in text or form == "csv"
    assert found.render(form).count("\n") < text.count("\n")
    assert str(found) == found.render("table")
    with pytest.raises(errors.ArgumentError):
        found.render("pdf")  # type: ignore[arg-type]


def test_tasks_are_a_table() -> None:
    tasks = compare(OLD, NEW, ["pass@1"]).tasks
    a = tasks["a"]
    assert (a.n, a.successes, a.change, a.statistics) == ((2, 2), (0, 2), "gained", {"pass@1": (0.0, 1.0)})
    assert a.p_value == pytest.approx(1 / 3)
    assert a.adjusted_p_value == 1.0
    assert [it.change for it in tasks] == ["gained", None, None, "gained", "lost", None]
    assert list(tasks.columns())[:3] == ["task", "n_a", "n_b"]
    assert "a" in tasks
    assert "z" not in tasks
    with pytest.raises(KeyError, match="no task 'z'"):
        tasks["z"]


def test_an_absent_label_says_why() -> None:
    found = compare(OLD, NEW, ["pass@1"])
    with pytest.raises(errors.OmittedError, match="mean_score: not compared here; there is pass@1"):
        found["mean_score"]
    assert "mean_score" not in found


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"on_mismatch": "join"}, "on_mismatch"),
        ({"interval": "z"}, "interval"),
        ({"cluster": 3}, "cluster"),
        ({"statistics": ["nonsense"]}, "nonsense"),
        ({"statistics": ["pass@k"]}, "k"),
    ],
)
def test_arguments_outside_their_domain(options: dict[str, Any], word: str) -> None:
    with pytest.raises((errors.ArgumentError, errors.ArgumentTypeError), match=word):
        compare(OLD, NEW, **options)
    with pytest.raises(errors.ArgumentTypeError, match="a: 3, int"):
        compare(3, NEW)  # type: ignore[arg-type]


# -- several runs


def test_several_runs_are_adjusted_for_their_number() -> None:
    runs = {"old": OLD, "new": NEW, "same": OLD}
    found = compare_many(runs, ["pass@1"], baseline="old")
    assert list(found) == [("old", "new"), ("old", "same")]
    assert found["old", "new"]["pass@1"].adjusted_p_value == 1.0
    assert found["old", "new"].names == ("old", "new")
    every = compare_many(runs, "pass@1")
    assert list(every) == [("old", "new"), ("old", "same"), ("new", "same")]
    assert Comparisons.from_json(every.to_json()) == every
    assert len(every.conclusions) == 3
    for form in ("table", "markdown", "csv", "html", "latex"):
        assert "same" in every.render(form)
    with pytest.raises(errors.ArgumentError, match="at least 2"):
        compare_many({"old": OLD})
    with pytest.raises(errors.ArgumentError, match="baseline"):
        compare_many(runs, baseline="older")
    with pytest.raises(errors.EncodingError):
        Comparisons.from_json("{}")


def test_an_adjusted_p_value_decides() -> None:
    tasks = [f"t{i}" for i in range(12)]
    old = run({t: [0] for t in tasks})
    better = run({t: [int(i < 7)] for i, t in enumerate(tasks)})
    alone = compare(old, better, "pass@1")
    assert alone["pass@1"].p_value == pytest.approx(2 / 2**7)
    assert alone["pass@1"].verdict == "better"
    crowd = {"old": old, "better": better} | {f"same{i}": old for i in range(4)}
    found = compare_many(crowd, "pass@1", baseline="old")["old", "better"]["pass@1"]
    assert found.adjusted_p_value == pytest.approx(5 * 2 / 2**7)
    assert found.verdict == "not shown"


# -- properties

outcomes = st.dictionaries(
    st.sampled_from("abcdefgh"), st.tuples(*[st.lists(st.booleans(), min_size=1, max_size=4)] * 2), min_size=1
)


@given(outcomes)
def test_both_ways_round(found: dict[str, tuple[list[bool], list[bool]]]) -> None:
    a, b = (run({task: both[i] for task, both in found.items()}) for i in (0, 1))
    options: dict[str, Any] = {"denominator": "recorded"}
    there, back = compare(a, b, "pass@1", **options), compare(b, a, "pass@1", **options)
    one, other = there["pass@1"], back["pass@1"]
    rates = {task: [sum(x) / len(x) for x in both] for task, both in found.items()}
    assert one.value == pytest.approx(sum(y - x for x, y in rates.values()) / len(rates), abs=1e-15)
    assert one.value == -other.value
    assert one.p_value == pytest.approx(other.p_value)
    assert one.exact_p_value == pytest.approx(other.exact_p_value)
    assert there.gained == back.lost
    assert Comparison.from_json(there.to_json()) == there


def test_a_difference_says_what_it_can() -> None:
    def said(value: float, low: float | None, high: float | None, p: float, label: str = "pass@1") -> str:
        return Difference(
            label, value, 0.0, 0.0, 80, low=low, high=high, p_value=p, standard_error=0.01, units=80
        ).sentence("B")

    assert (
        said(0.031, 0.009, 0.053, 0.006)
        == "B is better by 3.1 points, 95 % 0.9 to 5.3 (pass@1, 80 tasks, p = 0.006)"
    )
    assert (
        said(-0.031, -0.053, -0.009, 0.006)
        == "B is worse by 3.1 points, 95 % 0.9 to 5.3 (pass@1, 80 tasks, p = 0.006)"
    )
    # The interval and the test disagree: nothing is claimed.
    assert said(0.031, 0.001, 0.061, 0.07).startswith("no difference shown: +3.1 points, 95 % 0.1 to 6.1")
    assert said(12.0, 3.0, 21.0, 0.01, "mean_total_tokens").startswith("B is more by 12.000 tokens") or said(
        12.0, 3.0, 21.0, 0.01, "mean_total_tokens"
    ).startswith("B is more by 12.000, ")
    assert said(0.5, 0.1, 0.9, 0.01, "learnability").startswith("B is higher by 50.0 points")


def test_a_hundred_thousand_tasks_take_a_moment() -> None:
    rng = np.random.default_rng(1)
    tasks, n = 100_000, 4
    p = rng.beta(1, 1, tasks)
    groups = np.repeat(np.arange(tasks), n)
    reports = [
        kofn.Run.from_arrays(groups=groups, passed=rng.random(tasks * n) < np.repeat(p + shift, n)).report(
            ["pass@1", "pass@4"]
        )
        for shift in (0.0, 0.01)
    ]
    found = compare(*reports)
    assert found["pass@1"].verdict == "better"
    assert found["pass@1"].exact_method == "exact"
    assert found["pass@1"].p_value == pytest.approx(found["pass@1"].exact_p_value, rel=2)
