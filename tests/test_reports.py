"""Reports: figures, what stands beside them, and JSON both ways."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from snapshots import NAN, from_snapshot, grouped, section, snapshot, tasks

from kofn import Figure, Report
from kofn.errors import ArgumentError, EncodingError, OmittedError, RefusedError, SourceError
from kofn.reports.tasks import PerTask

if TYPE_CHECKING:
    from pathlib import Path

KEYS = [
    "schema",
    "run",
    "policy",
    "denominator",
    "requested_from",
    "counts",
    "statistics",
    "omitted",
    "tasks",
]
KEYS += ["notes", "provenance"]


def strict(text: str) -> Any:
    def refuse(token: str) -> float:
        raise AssertionError(token)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(name="report")
def fixture_report() -> Report:
    return from_snapshot(snapshot())


# -- figures


def test_it_is_a_mapping_in_the_order_asked(report: Report) -> None:
    assert list(report) == ["pass@1", "pass^5", "mean_score"]
    assert dict(report.items())["mean_score"] == Figure(0.65, 2)
    assert len(report) == 3


@pytest.mark.parametrize("label", ["pass@1", "pass_at_1"])
def test_labels_in_ascii_too(report: Report, label: str) -> None:
    assert label in report
    figure = report[label]
    assert (figure.value, float(figure), figure.n_tasks) == (1 / 3, 1 / 3, 3)
    assert (figure.interval, figure.low, figure.high, figure.standard_error) == (None, None, None, None)


def test_an_interval_has_two_ends() -> None:
    figure = Figure(0.5, 4, interval=(0.25, 0.75))
    assert (figure.low, figure.high) == (0.25, 0.75)


def test_an_omitted_label_raises_its_reason(report: Report) -> None:
    with pytest.raises(KeyError) as caught:
        report["mean_duration"]
    assert isinstance(caught.value, OmittedError)
    assert str(caught.value) == "mean_duration: no rollout recorded a duration"
    assert (caught.value.label, caught.value.reason) == ("mean_duration", "no rollout recorded a duration")
    assert report.get("mean_duration") is None
    assert "mean_duration" not in report


def test_an_unknown_label_says_what_there_is(report: Report) -> None:
    with pytest.raises(OmittedError, match=r"pass@7.*pass@1, pass\^5, mean_score") as caught:
        report["pass_at_7"]
    assert caught.value.reason is None
    with pytest.raises(KeyError):
        report[3]  # type: ignore[index]


def test_an_omitted_label_is_found_by_its_ascii_spelling() -> None:
    report = from_snapshot(snapshot(omitted=[("pass@9", "no task has 9 rollouts")]))
    with pytest.raises(OmittedError, match=r"^pass@9: no task has 9 rollouts$") as caught:
        report["pass_at_9"]
    assert caught.value.label == "pass@9"


def test_a_glance_at_a_report(report: Report) -> None:
    assert repr(report) == "<Report: 3 tasks; pass@1=0.3333, pass^5=0, mean_score=0.65>"
    many = [(f"pass@{k}", 0.5, 1) for k in range(1, 6)]
    expected = "<Report: 3 tasks; pass@1=0.5, pass@2=0.5, pass@3=0.5, pass@4=0.5, ...>"
    assert repr(from_snapshot(snapshot(statistics=many))) == expected
    assert repr(from_snapshot(snapshot(statistics=[]))) == "<Report: 3 tasks; no figures>"


def test_columns_have_one_entry_a_task() -> None:
    with pytest.raises(ValueError, match="one entry a task"):
        PerTask(["a"], n=np.array([1, 2]))


def test_what_stands_beside_the_figures(report: Report) -> None:
    assert report.policy is not None
    assert (report.policy.id, report.policy.parameters) == ("score_threshold.v1", {"threshold": 0.8})
    assert report.policy == {"id": "score_threshold.v1", "threshold": 0.8}
    assert (report.denominator, report.requested_from) == ("requested", "declared")
    assert report.notes == ("mean_score is over 2 of 3 tasks",)
    assert report.provenance["xxh3"] == {"run.jsonl": "0123456789abcdef"}
    assert report.run == {"id": "r1", "sources": ["run.jsonl"]}


def test_a_report_is_a_snapshot(report: Report) -> None:
    before = report.to_json()
    report.counts["registry"]["passed"] = 99
    report.omitted["pass@1"] = "no"
    report.provenance["xxh3"].clear()
    report.run["sources"].clear()
    assert report.to_json() == before


def test_equality_copies_and_pickles(report: Report) -> None:
    assert report == from_snapshot(snapshot())
    assert report != from_snapshot(snapshot(notes=[]))
    assert report != dict(report)
    assert pickle.loads(pickle.dumps(report)) == report
    assert copy.deepcopy(report) == report


def test_metrics_for_trackers() -> None:
    statistics = [
        ("pass@1", 0.5, 2),
        ("pass^12", 0.25, 2),
        ("best_of_3", 0.75, 2),
        ("metric_mean:a/b@c", 1.5, 2),
    ]
    report = from_snapshot(snapshot(statistics=statistics))
    assert report.metrics("val/") == {
        "val/pass_at_1": 0.5,
        "val/pass_hat_12": 0.25,
        "val/best_of_3": 0.75,
        "val/metric_mean:a/b@c": 1.5,
    }
    assert list(report.metrics(style="symbols")) == [label for label, _, _ in statistics]
    with pytest.raises(ArgumentError, match="style"):
        report.metrics(style="latin")  # type: ignore[arg-type]


# -- tasks


def test_tasks_by_id_and_in_order(report: Report) -> None:
    per_task = report.per_task
    assert len(per_task) == 3
    assert [result.task for result in per_task] == ["a", "b", "c"]
    c = per_task["c"]
    assert (c.n, c.requested, c.recorded, c.successes, c.diagnosis) == (5, 5, 3, 0, "incapable")
    assert (c.scored, c.mean, c.best, c.worst, c.spread) == (0, None, None, None, None)
    assert c.statistics == {"pass@1": 0.0, "pass^5": 0.0}
    assert "c" in per_task
    with pytest.raises(KeyError, match="no task 'd'"):
        per_task["d"]


def test_absent_columns_are_none_not_zero() -> None:
    bare = tasks(["a"], statistics={})
    report = from_snapshot(snapshot(policy=None, statistics=[], tasks=bare | {"requested": None}))
    a = report.per_task["a"]
    assert (a.n, a.requested, a.successes, a.diagnosis, a.recorded) == (None, None, None, None, 0)
    assert strict(report.to_json())["tasks"] == [
        {"task": "a", "recorded": 0, "scores": {"scored": 0}, "statistics": {}}
    ]
    assert list(report.per_task.columns()) == ["task", "recorded", "scored"]


def test_columns(report: Report) -> None:
    columns = report.per_task.columns()
    assert list(columns) == [
        *("task", "n", "requested", "recorded", "successes", "diagnosis", "scored"),
        *("score_mean", "score_best", "score_worst", "score_spread", "pass@1", "pass^5", "mean_score"),
    ]
    np.testing.assert_array_equal(columns["mean_score"], [0.6, 0.7, NAN])
    assert columns["diagnosis"] == ["unreliable", "unreliable", "incapable"]


def test_arrow_libraries_read_the_tasks(report: Report) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(report.per_task)
    assert table.column_names == list(report.per_task.columns())
    assert table["task"].to_pylist() == ["a", "b", "c"]
    assert table["diagnosis"].to_pylist() == ["unreliable", "unreliable", "incapable"]
    assert table["pass@1"].to_pylist() == [0.4, 0.6, 0.0]
    *recorded, none = table["mean_score"].to_pylist()
    assert recorded == [0.6, 0.7]
    assert none is None


# -- curve


def unevenly(n: list[int], c: list[int], **changes: Any) -> Report:
    ids = [f"t{i}" for i in range(len(n))]
    return from_snapshot(snapshot(tasks=tasks(ids, n=n, successes=c), **changes))


@pytest.mark.parametrize("through_json", [False, True])
def test_a_curve_is_the_mean_over_tasks_at_every_k(through_json: bool) -> None:
    pytest.importorskip("kofn.estimators")
    n, c = [5, 5, 8, 5], [2, 2, 1, 0]
    report = unevenly(n, c)
    if through_json:
        report = Report.from_json(report.to_json())
    curve = report.curve("pass@k")

    def exact(k: int) -> Fraction:
        shares = [1 - Fraction(math.comb(a - b, k), math.comb(a, k)) for a, b in zip(n, c, strict=True)]
        return sum(shares, Fraction()) / len(shares)

    assert curve.k.tolist() == [1, 2, 3, 4, 5]
    assert curve.value.tolist() == pytest.approx([float(exact(k)) for k in range(1, 6)], rel=1e-15)
    assert (curve.n_tasks, curve.tasks, curve.left_out) == (4, ["t0", "t1", "t2", "t3"], [])
    assert list(report.curve("pass_hat_k", k=[1, 5])) == [(1, float(exact(1))), (5, 0.0)]
    assert "label='pass@k'" in repr(curve)


def test_a_curve_says_which_tasks_it_rests_on() -> None:
    pytest.importorskip("kofn.estimators")
    curve = unevenly([4, 0, 3], [4, 0, 3]).curve("pass^k")
    assert (curve.tasks, curve.left_out) == (["t0", "t2"], ["t1"])
    assert curve.k.tolist() == [1, 2, 3]
    assert curve.value.tolist() == [1.0, 1.0, 1.0]


def test_curves_that_cannot_be_given() -> None:
    pytest.importorskip("kofn.estimators")
    report = unevenly([5, 5], [1, 2])
    with pytest.raises(RefusedError, match=r"does not keep the scores.*run\.report") as caught:
        report.curve("best@k")
    assert caught.value.label == "best_of_k"
    with pytest.raises(ArgumentError, match="pass@k"):
        report.curve("mean_score")
    for k in ([0], [6], [], [1.5], [[1]]):
        with pytest.raises(ArgumentError, match="k:"):
            report.curve("pass@k", k=k)  # type: ignore[arg-type]
    no_policy = snapshot(tasks=tasks(["a"], n=[5]), policy=None)
    with pytest.raises(RefusedError, match="no policy"):
        from_snapshot(no_policy).curve("pass@k")
    unknown = snapshot(tasks=tasks(["a"], successes=[1]))
    with pytest.raises(RefusedError, match="recorded"):
        from_snapshot(unknown).curve("pass@k")
    with pytest.raises(RefusedError, match="no task has a rollout"):
        unevenly([0], [0]).curve("pass@k")


# -- JSON


def test_the_keys_stand_as_in_the_spec(report: Report) -> None:
    found = strict(report.to_json())
    assert list(found) == KEYS
    assert found["schema"] == "kofn.report/1"
    assert list(found["counts"]) == list(section()["counts"])
    assert found["statistics"]["pass@1"] == {"value": 1 / 3, "n_tasks": 3}
    assert found["omitted"] == {"mean_duration": "no rollout recorded a duration"}
    assert list(found["tasks"][0]) == [
        *("task", "n", "requested", "recorded", "successes", "diagnosis", "scores", "statistics")
    ]
    assert found["tasks"][0]["scores"] == {
        "scored": 5,
        "mean": 0.6,
        "best": 0.85,
        "worst": 0.35,
        "spread": 0.5,
    }
    assert found["tasks"][2]["statistics"] == {"pass@1": 0.0, "pass^5": 0.0}
    assert strict(from_snapshot(snapshot(policy=None)).to_json())["policy"] is None


def test_groups_hold_the_same_four_keys() -> None:
    report = from_snapshot(grouped())
    found = strict(report.to_json())
    assert list(found) == [*KEYS, "by", "groups", "untagged"]
    assert found["by"] == "suite"
    assert set(found["groups"]) == {"math", "untagged"}
    for group in (*found["groups"].values(), found["untagged"]):
        assert list(group) == ["counts", "statistics", "omitted", "tasks"]
    again = Report.from_json(report.to_json())
    assert again == report
    assert list(again.groups) == ["math", "untagged", None]
    assert again.groups["math"]["pass@1"].value == 1 / 3
    assert again.groups[None].per_task["d"].statistics == {"pass@1": 0.2}
    assert again.groups["math"].policy == report.policy


def test_unknown_keys_survive_at_every_level() -> None:
    found = strict(from_snapshot(grouped()).to_json())
    news = {"a": [1, None, {"b": 1.5}], "c": "\U0001f600"}
    for where in (
        found, found["run"], found["policy"], found["statistics"]["pass@1"], found["provenance"],
        found["tasks"][1], found["tasks"][1]["scores"], found["groups"]["math"], found["untagged"],
        found["groups"]["math"]["statistics"]["pass@1"], found["groups"]["math"]["tasks"][0],
    ):  # fmt: skip
        where["news"] = news
    found["counts"]["news"] = 3
    found["policy"]["id"] = "all_judges.v7"
    report = Report.from_json(found)
    assert strict(report.to_json()) == found
    assert Report.from_json(report.to_json()).to_json() == report.to_json()
    assert report.policy is not None
    assert report.policy.id == "all_judges.v7"
    # A later version's label has no other spelling.
    found["statistics"]["surprise@k^2"] = {"value": 0.5, "n_tasks": 1}
    assert Report.from_json(found).metrics()["surprise@k^2"] == 0.5


def test_json_is_read_from_text_bytes_objects_and_files(report: Report, tmp_path: Path) -> None:
    text = report.to_json()
    path = tmp_path / "r.json"
    path.write_text(text)
    for source in (text, text.encode(), b"\xef\xbb\xbf" + text.encode(), json.loads(text), path):
        assert Report.from_json(source) == report
    # Keys in another order, other white space.
    assert Report.from_json(json.dumps(dict(reversed(json.loads(text).items())), indent=3)) == report
    with pytest.raises(SourceError, match="No such file") as caught:
        Report.from_json(tmp_path / "nowhere.json")
    assert caught.value.source == str(tmp_path / "nowhere.json")


FAULTS: list[tuple[str, Any, str]] = [
    ("schema", None, 'no "schema"'),
    ("schema", "kofn.report/2", "kofn.report/2"),
    ("counts", None, "counts is missing"),
    ("counts", [], "counts is not an object"),
    ("counts", {"tasks": "3"}, "counts.tasks"),
    ("counts", {"tasks": -1}, "counts.tasks"),
    ("statistics", None, "statistics is missing"),
    ("statistics", {"pass@1": 0.5}, "is not an object"),
    ("statistics", {"pass@1": {"value": None, "n_tasks": 1}}, "not a finite number"),
    ("statistics", {"pass@1": {"value": 0.5, "n_tasks": 1.5}}, "not a whole number"),
    ("statistics", {"pass@1": {"value": 1.5, "n_tasks": 1}}, "no share from 0 to 1"),
    ("omitted", {"a": 3}, "must hold text"),
    ("notes", "note", "notes is not an array"),
    ("policy", "verifier_verdict.v1", "policy is not an object"),
    ("policy", {}, '"policy" has no "id"'),
    ("denominator", None, "denominator is missing"),
    ("run", {"id": 3}, "run.id"),
    ("tasks", None, "tasks is missing"),
    ("tasks", {}, "tasks is not an array"),
    ("tasks", [3], r"tasks\[0\] is not an object"),
    ("tasks", [{}], r"tasks\[0\].task"),
    ("tasks", [{"task": "a"}, {"task": "a"}], "twice"),
    ("tasks", [{"task": "a", "n": True}], r"tasks\[0\].n"),
    ("tasks", [{"task": "a", "n": 2**70}], r"tasks\[0\].n"),
    ("tasks", [{"task": "a", "n": 1, "successes": 2}], "more successes"),
    ("tasks", [{"task": "a", "n": 0, "successes": 1}], "more successes"),
    ("tasks", [{"task": "a", "diagnosis": "fine"}], "diagnosis"),
    ("tasks", [{"task": "a", "statistics": {"pass@1": "x"}}], "finite"),
    (
        "tasks",
        [{"task": "a", "statistics": {"pass@1": 1}}, {"task": "b", "statistics": {"pass@1": -1}}],
        r"tasks\[1\].*no share",
    ),
    ("tasks", [{"task": "\ud800"}], "surrogate"),
    ("groups", {"a": 3}, "not an object"),
    ("groups", {"a": {"counts": {}, "statistics": {}}}, r"groups\['a'\]\.tasks is missing"),
    ("groups", {"a": {"counts": {}, "statistics": {}, "tasks": []}}, '"by"'),
]


@pytest.mark.parametrize(
    ("key", "value", "message"), FAULTS, ids=[f"{k}-{i}" for i, (k, _, _) in enumerate(FAULTS)]
)
def test_what_is_no_report_is_refused_in_one_line(report: Report, key: str, value: Any, message: str) -> None:
    document = json.loads(report.to_json()) | {key: value}
    with pytest.raises(EncodingError, match=message) as caught:
        Report.from_json(document)
    assert len(str(caught.value).splitlines()) == 1
    assert isinstance(caught.value, ValueError)


def test_a_fault_in_a_group_is_told_by_its_place() -> None:
    for place, prefix in (("untagged", r"untagged\."), ("math", r"groups\['math'\]\.")):
        document = strict(from_snapshot(grouped()).to_json())
        group = document["untagged"] if place == "untagged" else document["groups"][place]
        group["tasks"][0]["n"] = -1
        with pytest.raises(EncodingError, match=prefix + r"tasks\[0\]\.n is not a whole number"):
            Report.from_json(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON object"),
        ("report.json", "pathlib.Path"),
        ("[]", "no JSON object"),
        ("{", "line 1, column 2"),
        ('{"schema"', "delimiter"),
        ('{"schema": 1,}', "property name"),
        ('{"tasks": [{"task": "a"} 2]}', "delimiter"),
        ('{"tasks": []} x', "Extra data"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "1e999"),
        ('{"a": ' + "9" * 5000 + "}", "not a kofn report"),
        ('{"a": ' + "[" * 100_000, "nested"),
        ('{"schema": 1, "schema": 2}', "twice"),
        (b"\xff{}", "UTF-8"),
        ('{"a": "\ud800"}', "surrogate"),
        (3, "int"),
    ],
)
def test_bad_text_is_refused(text: Any, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        Report.from_json(text)


def test_escaped_pairs_are_characters_and_halves_are_not(report: Report) -> None:
    text = report.to_json()
    assert Report.from_json(text.replace('"c"', r'"\ud83d\ude00"')).per_task.task[2] == "\U0001f600"
    assert Report.from_json(text.replace('"c"', r'"\\ud83d"')).per_task.task[2] == "\\ud83d"
    for half in (r"\ud83d", r"\ude00\ud83d", r"\ud83dx\ude00", "\ud83d"):
        with pytest.raises(EncodingError, match="surrogate"):
            Report.from_json(text.replace('"c"', f'"{half}"'))


def test_nothing_that_is_no_json_is_written() -> None:
    infinite = tasks(["a"], statistics={"mean_score": [math.inf]})
    for bad in (snapshot(policy={"id": "mine.v1", "x": NAN}), snapshot(tasks=infinite)):
        with pytest.raises(EncodingError, match="cannot be written"):
            from_snapshot(bad).to_json()


def test_a_file_name_that_is_no_utf8_is_written_legibly() -> None:
    report = from_snapshot(snapshot(run={"id": None, "sources": ["a\udcff"]}, xxh3={"a\udcff": "0" * 16}))
    assert report.run["sources"] == ["a\\udcff"]
    assert Report.from_json(report.to_json()) == report


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False)
labels = st.sampled_from(["pass@1", "pass^2", "mean_score", "metric_mean:a", "agreement:ü"])


def values(label: str) -> st.SearchStrategy[float]:
    return st.floats(0, 1) if label in {"pass@1", "pass^2", "agreement:ü"} else finite


@st.composite
def snapshots(draw: st.DrawFn) -> dict[str, Any]:
    def some(*, by: bool) -> dict[str, Any]:
        ids = draw(st.lists(texts, max_size=5, unique=True))
        size = len(ids)
        whole = st.lists(st.integers(0, 2**53), min_size=size, max_size=size)
        part = tasks(
            ids,
            n=draw(st.none() | st.just([2**54] * size)),
            recorded=draw(whole),
            successes=draw(st.none() | whole),
            diagnosis=draw(st.none() | st.just([None, "reliable"] * size).map(lambda column: column[:size])),
            scored=draw(whole),
            mean=draw(st.lists(st.floats(-1e9, 1e9) | st.just(NAN), min_size=size, max_size=size)),
            statistics={
                label: draw(st.lists(values(label) | st.just(NAN), min_size=size, max_size=size))
                for label in draw(st.sets(labels))
            },
        )
        figures = [(label, draw(values(label)), size) for label in draw(st.sets(labels))]
        omitted = draw(st.dictionaries(texts, st.text(st.characters(codec="utf-8")), max_size=2))
        found = section(statistics=figures, omitted=list(omitted.items()), tasks=part)
        tags = (
            draw(st.sets(st.none() | st.text(st.characters(codec="utf-8"), max_size=4), max_size=3))
            if by
            else []
        )
        groups = [(value, some(by=False)) for value in sorted(tags, key=lambda v: (v is None, v or ""))]
        return found | {"groups": groups or None, "by": "tag" if groups else None}

    return snapshot(notes=draw(st.lists(texts, max_size=2))) | some(by=draw(st.booleans()))


@given(snapshots())
def test_reading_what_was_written_gives_the_same_bytes(drawn: dict[str, Any]) -> None:
    report = from_snapshot(drawn)
    text = report.to_json()
    strict(text)
    assert text.isascii()
    again = Report.from_json(text)
    assert again.to_json() == text
    for label, column in report.per_task.statistics.items():
        if not np.isnan(column).all():
            np.testing.assert_array_equal(again.per_task.statistics[label], column)


def test_many_tasks_go_through_in_pieces() -> None:
    size = 10_000
    many = tasks(
        [f"t{i}" for i in range(size)], n=[9] * size, statistics={"pass@1": [0.1] * (size - 1) + [NAN]}
    )
    report = from_snapshot(snapshot(tasks=many))
    again = Report.from_json(report.to_json())
    assert again == report
    assert len(again.per_task) == size
    assert again.per_task["t9999"].statistics == {}


@pytest.mark.parametrize("name", ["tasks", "requested", "successes", "registry", "diagnosis"])
def test_a_count_of_the_wrong_kind_is_refused(name: str) -> None:
    document = json.loads(from_snapshot(snapshot()).to_json())
    nested = name in {"registry", "diagnosis"}
    document["counts"][name] = 5 if nested else {"a": 1}
    with pytest.raises(EncodingError, match=f"counts.{name} is not"):
        Report.from_json(document)
    document["counts"][name] = {} if nested else 5
    document["counts"]["of a later version"] = {"a": 1}
    assert str(Report.from_json(document))
