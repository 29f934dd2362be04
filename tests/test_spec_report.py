"""Clause 9: the report as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from native import as_json, kofn, passes, report_of, run_of

pytestmark = pytest.mark.spec("9")

COUNTS = (
    *("tasks", "requested", "recorded", "missing", "succeeded", "errored", "cancelled", "unfinished"),
    *("scored", "indeterminate", "scorable", "successes", "registry", "diagnosis"),
)


def example() -> tuple[list[Any], dict[str, Any]]:
    scores = {"a": (0.2, 0.4, 0.9, 1.0, 0.5), "b": (0.1, 0.3, 0.5, 0.7), "c": (0.9, 0.8, 0.1)}
    records = [{"task": task, "score": x, "passed": x > 0.5} for task, row in scores.items() for x in row]
    records.append({"task": "c", "status": "errored", "error": "broke"})
    return records, {"id": "r1", "requested_rollouts": 5}


def test_keys_are_fixed() -> None:
    records, header = example()
    report = report_of(records, header, statistics=["pass@1", "mean_duration"], threshold=0.8)
    assert report["schema"] == "kofn.report/1"
    assert report["run"]["id"] == "r1"
    assert isinstance(report["run"]["sources"], list)
    assert report["policy"] == {"id": "score_threshold.v1", "threshold": 0.8}
    assert (report["denominator"], report["requested_from"]) == ("requested", "declared")
    assert set(COUNTS) <= set(report["counts"])
    assert set(report["statistics"]) == {"pass@1"}
    assert {"value", "n_tasks"} <= set(report["statistics"]["pass@1"])
    assert set(report["omitted"]) == {"mean_duration"}
    row = report["tasks"][0]
    keys = {"task", "n", "requested", "recorded", "successes", "diagnosis", "scores", "statistics"}
    assert keys <= set(row)
    assert row["scores"] == {"scored": 5, "mean": 0.6, "best": 1.0, "worst": 0.2, "spread": 0.8}
    assert row["statistics"] == {"pass@1": 0.4}
    assert isinstance(report["notes"], list)
    assert report["provenance"]["kofn"] == kofn.__version__


def test_counts_of_the_example() -> None:
    records, header = example()
    counts = report_of(records, header, threshold=0.8)["counts"]
    assert {key: counts[key] for key in COUNTS} == {
        "tasks": 3, "requested": 15, "recorded": 13, "missing": 2,
        "succeeded": 12, "errored": 1, "cancelled": 0, "unfinished": 0,
        "scored": 12, "indeterminate": 0, "scorable": 12, "successes": 4,
        "registry": {"passed": 5, "failed": 7, "unscorable": 1},
        "diagnosis": {"reliable": 0, "unreliable": 2, "incapable": 1, "unscorable": 0},
    }  # fmt: skip


def test_unknown_keys_survive_a_round_trip() -> None:
    records, header = example()
    written = as_json(run_of(records, header).report())
    written |= {"from_the_future": {"a": [1, None]}}
    again = kofn.Report.from_json(json.dumps(written))
    assert as_json(again) == written
    assert again["pass@1"].value == written["statistics"]["pass@1"]["value"]


def test_declared_tasks_come_first_then_sorted_ids() -> None:
    records = [
        {"task": task, "passed": True} for task in ("b", "\U00010000", "\uffff", "B", "10", "9", "é", "z")
    ]
    names = [row["task"] for row in report_of(records)["tasks"]]
    assert names == ["10", "9", "B", "b", "z", "é", "\uffff", "\U00010000"]
    declared = ["z", "a", "9", "\uffff", "b", "B", "10", "é", "\U00010000"]
    found = report_of(records, {"tasks": declared, "requested_rollouts": 1})
    assert [row["task"] for row in found["tasks"]] == declared


def test_groups_hold_the_same_keys() -> None:
    records = [{**one, "tags": {"suite": "math"}} for one in passes(1, 0)]
    group = report_of(records, by="suite")["groups"]["math"]
    assert set(group) >= {"counts", "statistics", "omitted", "tasks"}


def test_intervals_stand_beside_values_only_when_they_exist() -> None:
    figure = run_of(passes(1, 0)).report(["pass@1"])["pass@1"]
    assert (figure.value, float(figure), figure.n_tasks) == (0.5, 0.5, 1)
