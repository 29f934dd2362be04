"""Checks of one rollout, and the grade they amount to (spec 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kofn import _core, _values
from kofn._values import Scalar
from kofn.errors import ArgumentTypeError, GradingError


@dataclass(frozen=True, slots=True)
class Check:
    """One fact about a rollout: it held or it did not.

    Parameters
    ----------
    label : str
        What was checked, such as ``"total is 507500"``. Keep it the same in every rollout, so that reports can
        say how often it failed; what varies belongs in `detail`.
    passed : bool
        Whether it held. 0, 1, 0.0, 1.0 and NumPy bools are read as bools; anything else is an error.
    required : bool
        Whether the rollout can pass without it.
    detail : str, float, bool or None
        What was found, such as ``"answered 507499"``: any JSON scalar. NaN becomes None, and a lone surrogate in a
        text becomes U+FFFD.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A part has a wrong type or lies outside its domain; the message names the label.

    Examples
    --------
    >>> Check("file saved", True)
    Check(label='file saved', passed=True, required=False, detail=None)
    """

    label: str
    passed: bool
    required: bool = field(default=False, kw_only=True)
    detail: Scalar = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        label = _values.name(self.label, "the label of a check")
        put = object.__setattr__
        put(self, "label", label)
        put(self, "passed", _values.truth(self.passed, f"check {label!r}: passed"))
        put(self, "required", _values.truth(self.required, f"check {label!r}: required"))
        put(self, "detail", _values.scalar(self.detail, f"check {label!r}: detail"))

    def to_dict(self) -> dict[str, Any]:
        """Return the check as it stands in files."""
        check: dict[str, Any] = {"label": self.label, "required": self.required, "passed": self.passed}
        if self.detail is not None:
            check["detail"] = self.detail
        return check


def required(label: str, passed: bool, detail: Scalar = None) -> Check:
    """Make a check without which the rollout does not pass; see `Check`.

    Examples
    --------
    >>> answer = 507499
    >>> required("total is 507500", answer == 507500, f"answered {answer}").passed
    False
    """
    return Check(label, passed, required=True, detail=detail)


def optional(label: str, passed: bool, detail: Scalar = None) -> Check:
    """Make a check that counts for the reward and never for `passed`; see `Check`.

    Examples
    --------
    >>> optional("file saved", True).required
    False
    """
    return Check(label, passed, required=False, detail=detail)


@dataclass(frozen=True, slots=True)
class Grade:
    """What the checks of one rollout amount to; made by `grade` or `Grade.from_json`.

    Attributes
    ----------
    checks : tuple of Check
        In recorded order.
    passed : bool
        Every required check passed. This is for gating.
    reward : float
        Checks passed / checks recorded, required and optional alike, in [0, 1]. This is for comparing: a rollout
        that does not pass can still score well.
    failed_required : tuple of str
        Labels of the required checks that failed, in recorded order.
    tool_calls, tool_errors : int or None
        Diagnostics; they change nothing. None where they are not known.
    """

    checks: tuple[Check, ...]
    tool_calls: int | None = None
    tool_errors: int | None = None
    passed: bool = field(init=False)
    reward: float = field(init=False)
    failed_required: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        checks = check_list(self.checks, "checks")
        passed, reward, _ = _core.grade_checks(
            bytes(check.passed for check in checks), bytes(check.required for check in checks)
        )
        put = object.__setattr__
        put(self, "checks", checks)
        put(self, "passed", passed)
        put(self, "reward", reward)
        put(self, "failed_required", tuple(c.label for c in checks if c.required and not c.passed))
        put(self, "tool_calls", _values.count(self.tool_calls, "tool_calls"))
        put(self, "tool_errors", _values.count(self.tool_errors, "tool_errors"))

    @property
    def gated_reward(self) -> float:
        """The reward if the rollout passed, else 0."""
        return self.reward if self.passed else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the grade in the form of a ``result.json`` (spec 2.9)."""
        result: dict[str, Any] = {
            "passed": self.passed,
            "reward": self.reward,
            "failedRequired": list(self.failed_required),
            "checks": [check.to_dict() | {"detail": check.detail} for check in self.checks],
        }
        if self.tool_calls is not None:
            result["toolCalls"] = self.tool_calls
        if self.tool_errors is not None:
            result["toolErrors"] = self.tool_errors
        return result

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the text of a ``result.json``: camelCase, no NaN, floats to their last bit.

        Examples
        --------
        >>> grade([required("total", True), optional("saved", False)], tool_calls=3).to_json()
        '{"passed":true,"reward":0.5,"failedRequired":[],"checks":[{"label":"total","required":true,"passed":true,"detail":null},{"label":"saved","required":false,"passed":false,"detail":null}],"toolCalls":3}'
        """
        return _values.dumps(self.to_dict(), indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Grade:
        """Read a ``result.json`` and verify its arithmetic (spec 2.9).

        Parameters
        ----------
        text : str, bytes or mapping
            JSON text, or the object it holds. ``checks`` must be there; of ``passed``, ``reward`` and
            ``failedRequired`` those that are there must agree with the checks (the reward to 0.005, since files
            round), and the derived values are used. Other keys are ignored; null is the same as absent.

        Raises
        ------
        InputError
            It is not JSON, not such an object, or contradicts itself; the message names the field.
        GradingError
            No check is required.
        ArgumentTypeError
            `text` is neither text nor a mapping.

        Examples
        --------
        >>> Grade.from_json('{"checks": [{"label": "total", "required": true, "passed": false}]}').reward
        0.0
        """
        from kofn import _result_json  # noqa: PLC0415  # reading is rare beside grading

        return _result_json.read_grade(text)


def grade(checks: Iterable[Check], *, tool_calls: int | None = None, tool_errors: int | None = None) -> Grade:
    """Grade one rollout by its checks.

    ``passed`` = every required check passed; ``reward`` = checks passed / checks recorded (spec 2.1, 2.2).

    Parameters
    ----------
    checks : iterable of Check
        At least one of them required: nothing can be graded on corroborating evidence alone. No label twice.
    tool_calls, tool_errors : int, optional
        Carried along as diagnostics.

    Raises
    ------
    GradingError
        No check is required (an empty list included), or two have the same label.
    ArgumentTypeError
        Something in `checks` is not a `Check`.

    Examples
    --------
    >>> result = grade([
    ...     required("total is 507500", False, "answered 507499"),
    ...     optional("file saved", True),
    ... ])
    >>> result.passed, result.reward, result.gated_reward, result.failed_required
    (False, 0.5, 0.0, ('total is 507500',))
    """
    listed = check_list(checks, "checks")
    refuse_duplicates(listed)
    return Grade(listed, tool_calls=tool_calls, tool_errors=tool_errors)


def check_list(checks: object, what: str) -> tuple[Check, ...]:
    """Return an iterable of checks as a tuple, or say what else it holds."""
    hint = "make checks with required(label, passed) or optional(label, passed)"
    if isinstance(checks, (str, bytes, Mapping, Check)) or not isinstance(checks, Iterable):
        raise ArgumentTypeError(
            f"{what}: {_values.shown(checks)}, {type(checks).__name__}; it must be a list of checks: {hint}"
        )
    listed = tuple(checks)
    for at, check in enumerate(listed):
        if not isinstance(check, Check):
            raise ArgumentTypeError(
                f"{what}[{at}] is {_values.shown(check)}, {type(check).__name__}, not a Check; {hint}"
            )
    return listed


def refuse_duplicates(checks: tuple[Check, ...]) -> None:
    """Refuse two checks of one label (spec 2.5)."""
    seen: dict[str, int] = {}
    for at, check in enumerate(checks):
        first = seen.setdefault(check.label, at)
        if first != at:
            raise GradingError(
                f"checks {first} and {at} have the same label {check.label!r}; give each check its own"
            )
