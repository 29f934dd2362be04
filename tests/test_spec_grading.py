"""Clause 2: grading checks."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from native import errors, kofn

FIVE = (("a", True, True), ("b", True, False), ("c", False, True), ("d", False, True), ("e", True, False))


def checks(*facts: tuple[str, bool, Any]) -> list[Any]:
    return [kofn.Check(label, passed, required=required) for label, required, passed in facts]


@pytest.mark.spec("2.1")
@pytest.mark.parametrize("optional", [True, False])
def test_passed_is_every_required_check(optional: bool) -> None:
    assert kofn.grade([kofn.required("a", True), kofn.optional("b", optional)]).passed is True
    assert kofn.grade([kofn.required("a", False), kofn.optional("b", optional)]).passed is False
    assert kofn.grade(checks(("a", True, True), ("b", True, False))).passed is False


@pytest.mark.spec("2.2")
def test_reward_counts_required_and_optional_alike() -> None:
    assert kofn.grade(checks(*FIVE)).reward == 0.6
    assert kofn.grade(checks(("a", True, False))).reward == 0.0
    assert kofn.grade(checks(("a", True, True), ("b", False, True), ("c", False, False))).reward == 2 / 3


@pytest.mark.spec("2.3")
def test_gated_reward_stands_beside_reward() -> None:
    failing = kofn.grade(checks(*FIVE))
    assert (failing.passed, failing.reward, failing.gated_reward) == (False, 0.6, 0.0)
    passing = kofn.grade(checks(("a", True, True), ("b", False, False)))
    assert (passing.passed, passing.reward, passing.gated_reward) == (True, 0.5, 0.5)


@pytest.mark.spec("2.4")
@pytest.mark.parametrize("facts", [(), (("a", False, True),), (("a", False, False), ("b", False, True))])
def test_no_required_check_is_an_error(facts: tuple[Any, ...]) -> None:
    with pytest.raises(errors.GradingError, match="required"):
        kofn.grade(checks(*facts))


@pytest.mark.spec("2.5")
def test_failed_required_in_recorded_order() -> None:
    facts = (("z", True, False), ("y", False, False), ("a", True, False), ("m", True, True))
    assert kofn.grade(checks(*facts)).failed_required == ("z", "a")
    with pytest.raises(errors.GradingError, match="a"):
        kofn.grade(checks(("a", True, True), ("a", True, False)))


@pytest.mark.spec("2.6")
@pytest.mark.parametrize("yes", [True, 1, 1.0, np.True_], ids=repr)
@pytest.mark.parametrize("no", [False, 0, 0.0, np.False_], ids=repr)
def test_passed_takes_bools_and_their_numbers(yes: Any, no: Any) -> None:
    assert kofn.grade([kofn.required("a", yes)]).passed is True
    assert kofn.grade([kofn.required("a", no)]).passed is False


@pytest.mark.spec("2.6")
@pytest.mark.parametrize("value", ["false", "", 0.3, 2, -1, None, math.nan, [], [True], {}], ids=repr)
def test_passed_never_takes_truthiness(value: Any) -> None:
    with pytest.raises(errors.KofnError):
        kofn.grade([kofn.required("a", value)])


@pytest.mark.spec("2.7")
def test_batch_gives_the_answers_of_single_grades() -> None:
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 6, 40)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    passed, required = rng.random(offsets[-1]) < 0.7, rng.random(offsets[-1]) < 0.5
    required[offsets[:-1]] = True
    batch = kofn.grade_batch(passed, required, offsets)
    for i, (low, high) in enumerate(itertools.pairwise(offsets)):
        single = kofn.grade(
            [kofn.Check(str(j), passed[low + j], required=bool(required[low + j])) for j in range(high - low)]
        )
        assert (batch.passed[i], batch.reward[i]) == (single.passed, single.reward)
        assert batch.n_failed_required[i] == len(single.failed_required)
        assert tuple(map(str, batch.failed_required(i))) == single.failed_required


@pytest.mark.spec("2.7")
def test_batch_as_two_dimensions() -> None:
    passed = np.array([[True, False, True], [True, True, False]])
    batch = kofn.grade_batch(passed, np.array([True, True, False]))
    assert batch.passed.tolist() == [False, True]
    assert batch.reward.tolist() == [2 / 3, 2 / 3]


@pytest.mark.spec("2.7")
def test_batch_names_or_marks_the_ungradable() -> None:
    passed, required = np.array([True, True, False]), np.array([True, False, False])
    offsets = np.array([0, 1, 3])
    with pytest.raises(errors.GradingError) as error:
        kofn.grade_batch(passed, required, offsets)
    assert error.value.index == 1
    batch = kofn.grade_batch(passed, required, offsets, on_ungradable="indeterminate")
    assert batch.indeterminate.tolist() == [False, True]
    assert batch.passed.tolist() == [True, False]
    assert batch.reward[0] == 1.0
    assert math.isnan(batch.reward[1])


@pytest.mark.spec("2.8")
def test_tool_counts_change_nothing() -> None:
    plain = kofn.grade(checks(*FIVE))
    told = kofn.grade(checks(*FIVE), tool_calls=9, tool_errors=4)
    assert (told.passed, told.reward, told.failed_required) == (
        plain.passed,
        plain.reward,
        plain.failed_required,
    )
    assert json.loads(told.to_json())["toolErrors"] == 4


@pytest.mark.spec("2.9")
def test_result_json() -> None:
    grade = kofn.grade(
        [kofn.required("total", False, "answered 1, expected 2"), kofn.optional("saved", True)]
    )
    assert json.loads(grade.to_json()) == {
        "passed": False,
        "reward": 0.5,
        "failedRequired": ["total"],
        "checks": [
            {"label": "total", "required": True, "passed": False, "detail": "answered 1, expected 2"},
            {"label": "saved", "required": False, "passed": True, "detail": None},
        ],
    }
    assert kofn.Grade.from_json(grade.to_json()) == grade
    told = json.loads(kofn.grade([kofn.required("a", True)], tool_calls=3).to_json())
    assert told["toolCalls"] == 3
    assert "toolErrors" not in told


@pytest.mark.spec("2.9")
@pytest.mark.parametrize(
    "change", [{"passed": True}, {"reward": 0.6}, {"failedRequired": []}, {"failedRequired": ["b"]}], ids=str
)
def test_reading_a_result_verifies_it(change: dict[str, Any]) -> None:
    right = json.loads(kofn.grade([kofn.required("a", False), kofn.optional("b", True)]).to_json())
    assert kofn.Grade.from_json(json.dumps(right)).reward == 0.5
    with pytest.raises(errors.KofnError):
        kofn.Grade.from_json(json.dumps(right | change))
