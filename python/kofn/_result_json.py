"""Reading a ``result.json``: one grade, whose arithmetic is verified (spec 2.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kofn import _core, _values
from kofn._fields import array, at, bad, mapping, parse
from kofn.checks import Check, Grade
from kofn.errors import ArgumentTypeError, GradingError


def read_checks(value: object, field: str) -> tuple[Check, ...]:
    """Read a list of checks; labels may repeat in files (spec 2.5)."""
    return tuple(read_check(item, f"{field}[{i}]") for i, item in enumerate(array(value, field)))


def read_check(value: object, field: str) -> Check:
    """Read one check: `label` and `passed` must be there."""
    check = mapping(value, field)
    for key in ("label", "passed"):
        if check.get(key) is None:
            raise bad(
                f"{field}.{key}",
                "it is missing; a check has a label, passed, and perhaps required and detail",
            )
    required = check.get("required")
    return at(
        field,
        lambda: Check(
            check["label"],
            check["passed"],
            required=False if required is None else required,
            detail=check.get("detail"),
        ),
    )


def read_grade(source: str | bytes | Mapping[str, Any]) -> Grade:
    """Read a grade; see `kofn.Grade.from_json`."""
    if not isinstance(source, (str, bytes, bytearray, Mapping)):
        raise ArgumentTypeError(f"a grade is read from JSON text or a dict, not from {type(source).__name__}")
    fields = mapping(source if isinstance(source, Mapping) else parse(source), "")
    if fields.get("checks") is None:
        raise bad("checks", "it is missing; a grade is made of checks")
    checks = read_checks(fields["checks"], "checks")
    calls = at("toolCalls", lambda: _values.count(fields.get("toolCalls"), "toolCalls"))
    errors = at("toolErrors", lambda: _values.count(fields.get("toolErrors"), "toolErrors"))
    try:
        grade = Grade(checks, tool_calls=calls, tool_errors=errors)
    except GradingError as error:
        raise GradingError(f"field checks: {error}") from None
    verify(fields, grade)
    return grade


def verify(fields: Mapping[str, Any], grade: Grade) -> None:
    """Compare what is recorded with what the checks give."""
    passed, failed = fields.get("passed"), fields.get("failedRequired")
    reward = at("reward", lambda: _values.score(fields.get("reward"), "reward"))
    if passed is not None and at("passed", lambda: _values.truth(passed, "passed")) != grade.passed:
        raise bad("passed", f"{_values.shown(passed)} is recorded, the checks give {grade.passed}")
    if reward is not None and not _core.score_agrees(reward, grade.reward):
        raise bad("reward", f"{reward!r} is recorded, the checks give {grade.reward!r}")
    if failed is not None and array(failed, "failedRequired") != list(grade.failed_required):
        raise bad(
            "failedRequired",
            f"{_values.shown(failed)} is recorded, the checks give {list(grade.failed_required)}",
        )
