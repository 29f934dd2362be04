"""Checks and grades of single rollouts (spec 2), beyond the clauses' own tests."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kofn import Check, Grade, grade, optional, required
from kofn.errors import ArgumentError, ArgumentTypeError, GradingError, InputError, KofnError

LABELS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
DETAILS = st.none() | st.booleans() | st.integers() | st.floats(allow_infinity=False) | st.text(max_size=5)
CHECKS = st.lists(
    st.builds(
        lambda label, ok, need, detail: Check(label, ok, required=need, detail=detail),
        LABELS,
        st.booleans(),
        st.booleans(),
        DETAILS,
    ),
    max_size=20,
    unique_by=lambda check: check.label,
)


def slowly(checks: list[Check]) -> tuple[bool, Fraction, tuple[str, ...]] | None:
    """Grade by the words of spec 2."""
    needed = [check for check in checks if check.required]
    if not needed:
        return None
    share = Fraction(sum(check.passed for check in checks), len(checks))
    return all(check.passed for check in needed), share, tuple(c.label for c in needed if not c.passed)


@given(CHECKS)
def test_grade_is_the_slow_one(checks: list[Check]) -> None:
    expected = slowly(checks)
    if expected is None:
        with pytest.raises(GradingError, match=r"required|recorded|optional"):
            grade(checks)
        return
    result = grade(iter(checks))
    assert (result.passed, result.failed_required) == (expected[0], expected[2])
    assert result.reward == float(expected[1])
    assert result.gated_reward == (result.reward if result.passed else 0)


@given(
    CHECKS.filter(slowly),
    st.none() | st.integers(0, 2**40),
    st.none() | st.integers(0, 9),
    st.sampled_from([None, 2]),
)
def test_result_json_round_trip(
    checks: list[Check], calls: int | None, errors: int | None, indent: int | None
) -> None:
    result = grade(checks, tool_calls=calls, tool_errors=errors)
    text = result.to_json(indent=indent)
    again = Grade.from_json(text)
    assert again == result
    assert again.to_json(indent=indent) == text
    assert Grade.from_json(json.loads(text) | {"unknown": 1}) == result
    assert ("toolCalls" in json.loads(text)) == (calls is not None)


def test_the_first_example_of_the_design() -> None:
    result = grade(
        [required("total is 507500", False, "answered 507499, expected 507500"), optional("file saved", True)]
    )
    assert (result.passed, result.reward, result.failed_required) == (False, 0.5, ("total is 507500",))
    assert result.checks[0].detail == "answered 507499, expected 507500"


class TestReportedFaults:
    """Faults reported against other tools (cases B33, B34, B81)."""

    def test_b33_an_optional_check_does_not_make_up_for_a_required_one(self) -> None:
        result = grade(
            [required("tests pass", True), required("patch not empty", False), optional("style", True)]
        )
        assert result.passed is False
        assert result.failed_required == ("patch not empty",)

    def test_b34_a_failed_gate_leaves_no_gated_reward(self) -> None:
        result = grade([required("evidence valid", 0), optional("correct", 1)])  # type: ignore[arg-type]
        assert (result.passed, result.gated_reward, result.reward) == (False, 0.0, 0.5)

    def test_b81_failures_are_counted_not_summed(self) -> None:
        codes = [0, 124, 1]
        result = grade([required(f"run {i}", code == 0) for i, code in enumerate(codes)])
        assert (result.reward, len(result.failed_required)) == (1 / 3, 2)
        with pytest.raises(ArgumentError, match="124"):
            required("run 1", 124)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    ["false", "true", 0.3, 2, -1, None, math.nan, [1], b"1", np.float32(0.5), np.array([True])],
    ids=repr,
)
@pytest.mark.parametrize("field", ["passed", "required"])
def test_no_truthiness_and_the_message_names_the_check(value: Any, field: str) -> None:
    arguments = {"passed": True, "required": True} | {field: value}
    with pytest.raises((ArgumentError, ArgumentTypeError), match=rf"check 'file saved': {field}: "):
        Check("file saved", **arguments)


@pytest.mark.parametrize("value", [np.True_, np.int64(1), np.float32(1), np.uint8(1), 1, 1.0])
def test_numpy_flags_become_bools(value: Any) -> None:
    assert required("a", value).passed is True


@pytest.mark.parametrize(
    ("detail", "kept"),
    [
        (math.nan, None),
        (np.float64(0.5), 0.5),
        (np.int32(3), 3),
        (np.True_, True),
        (np.str_("x"), "x"),
        ("a\ud800b", "a\ufffdb"),
        (10**30, 10**30),
    ],
    ids=repr,
)
def test_details_are_json_scalars(detail: Any, kept: Any) -> None:
    check = required("a", True, detail)
    assert check.detail == kept
    assert type(check.detail) is type(kept)
    grade([check]).to_json().encode()


@pytest.mark.parametrize(
    "detail", [math.inf, -math.inf, [1], {"a": 1}, object(), b"x", np.arange(3)], ids=repr
)
def test_other_details_are_refused(detail: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="check 'a': detail"):
        required("a", True, detail)


@pytest.mark.parametrize("label", ["", "a\ud800", None, 3, b"a"], ids=repr)
def test_labels_are_text_that_files_can_hold(label: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="label"):
        required(label, True)


@pytest.mark.parametrize(
    "checks", [None, "abc", {"a": True}, 3, required("a", True), [True], [("a", True)], [None]], ids=repr
)
def test_only_checks_are_graded(checks: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="checks"):
        grade(checks)


@pytest.mark.parametrize("count", [-1, 1.5, "3", True, 2**70], ids=repr)
def test_tool_counts_are_counts(count: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="tool_calls"):
        grade([required("a", True)], tool_calls=count)


def test_duplicate_labels_are_named_and_kept_in_files() -> None:
    with pytest.raises(GradingError, match="checks 0 and 2 have the same label 'a'"):
        grade([required("a", True), required("b", True), optional("a", True)])
    twice = [{"label": "a", "passed": True, "required": True}, {"label": "a", "passed": False}]
    assert Grade.from_json({"checks": twice}).reward == 0.5


GOOD = {
    "passed": False,
    "reward": 0.67,
    "failedRequired": ["b"],
    "checks": [
        {"label": "a", "required": True, "passed": 1, "detail": None},
        {"label": "b", "required": True, "passed": False},
        {"label": "c", "passed": True, "required": None},
    ],
    "toolCalls": None,
}


def test_a_rounded_reward_is_read_and_derived() -> None:
    result = Grade.from_json(GOOD)
    assert result.reward == 2 / 3
    assert result.tool_calls is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"passed": True}, "passed"),
        ({"passed": "false"}, "passed"),
        ({"reward": 0.6}, "reward"),
        ({"reward": "0.67"}, "reward"),
        ({"reward": math.inf}, "reward"),
        ({"failedRequired": ["c"]}, "failedRequired"),
        ({"failedRequired": "b"}, "failedRequired"),
        ({"checks": None}, "checks"),
        ({"checks": {}}, "checks"),
        ({"checks": [3]}, "checks[0]"),
        ({"checks": [{"passed": True}]}, "checks[0].label"),
        ({"checks": [{"label": "a"}]}, "checks[0].passed"),
        ({"checks": [{"label": "a", "passed": 0.5, "required": True}]}, "checks[0]"),
        ({"toolCalls": -1}, "toolCalls"),
        ({"toolErrors": 0.5}, "toolErrors"),
    ],
    ids=str,
)
def test_tampering_is_found(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as error:
        Grade.from_json(GOOD | change)
    assert error.value.field == field
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"checks": [], "checks": []}', b"\xff", '{"a":' * 100_000, "1" * 5000],
    ids=lambda t: repr(t[:12]),
)
def test_what_is_no_grade_is_an_input_error(text: Any) -> None:
    with pytest.raises(InputError):
        Grade.from_json(text)


@pytest.mark.parametrize("checks", [[], [{"label": "a", "passed": True}]], ids=str)
def test_an_ungradable_result_is_a_grading_error(checks: list[Any]) -> None:
    with pytest.raises(GradingError, match="field checks"):
        Grade.from_json({"checks": checks})


def test_values_are_frozen() -> None:
    check = required("a", True)
    for thing, name in [(check, "passed"), (grade([check]), "reward")]:
        with pytest.raises(AttributeError):
            setattr(thing, name, False)
    assert issubclass(ArgumentError, KofnError)
