"""Clause 1: what a task, a rollout and an absent field are."""

from __future__ import annotations

from typing import Any

import pytest
from native import errors, passes, report_of, run_of, scored, value_of

pytestmark = pytest.mark.spec("1")


def test_integer_ids_are_their_decimal_text() -> None:
    report = report_of([{"task": 7, "passed": True}, {"task": -10, "passed": False}])
    assert [row["task"] for row in report["tasks"]] == ["-10", "7"]


def test_integer_and_text_ids_do_not_mix() -> None:
    with pytest.raises(errors.KofnError) as error:
        report_of([{"task": 1, "passed": True}, {"task": "1", "passed": False}])
    assert "1" in str(error.value)


@pytest.mark.parametrize("task", ["", True, 1.0, None, [], {}], ids=repr)
def test_ids_that_are_no_ids(task: Any) -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([*passes(1, task="a"), {"task": task, "passed": True}])
    assert (error.value.line, error.value.field) == (2, "task")


def test_a_rollout_without_a_task_is_an_error() -> None:
    with pytest.raises(errors.InputError, match="task"):
        report_of([{"passed": True}])


def test_null_and_absent_are_the_same() -> None:
    fields = (
        "rollout status verifiers checks score reward verdict passed duration_s usage tool_calls tool_errors"
    )
    fields += " stop_reason tags meta error"
    nulls = {"task": "t", **dict.fromkeys(fields.split())}
    other = {"task": "u", "verifiers": [{"name": "v", "score": 0.5}]}
    full = {"name": "v", "score": 0.5}
    full |= dict.fromkeys(("checks", "verdict", "readings", "projection", "decision", "error"))
    same = report_of([{"task": "t"}, other]), report_of([nulls, {"task": "u", "verifiers": [full]}])
    for key in ("counts", "statistics", "omitted", "tasks"):
        assert same[0][key] == same[1][key]


def test_two_questions_have_two_answers() -> None:
    """A rollout can score well and fail: verdicts say whether, scores how much."""
    verifiers = [
        {"name": "tests", "verdict": "fail", "score": 0.9},
        {"name": "judge", "verdict": "pass", "score": 0.6},
    ]
    report = report_of([{"task": "t", "verifiers": verifiers}], statistics=["pass_rate", "mean_score"])
    assert value_of(report, "pass_rate") == 0.0
    assert value_of(report, "mean_score") == 0.75


def test_a_score_is_finite_or_absent() -> None:
    run = run_of(scored(0.25, None))
    report = run.report(["mean_score"])
    assert report["mean_score"].value == 0.25
    assert report.counts["scored"] == 1
