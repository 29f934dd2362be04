"""What a verifier recorded on one rollout: checks, readings, a score, a verdict, an error (spec 1, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from kofn import _core, _values
from kofn._values import Scalar
from kofn.checks import Check, Grade, check_list
from kofn.errors import ArgumentError, ArgumentTypeError, GradingError


class Verdict(StrEnum):
    """What one verifier decided; the members are text, so ``verdict == "pass"`` holds.

    The spellings of older files are read: ``passed``, ``failed``; and ``error``, ``errored``, ``timeout``, ``skipped``,
    ``unknown``, ``inconclusive``, which are all indeterminate (spec 3.7).

    Examples
    --------
    >>> Verdict("timeout")
    <Verdict.INDETERMINATE: 'indeterminate'>
    """

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    INDETERMINATE = "indeterminate"

    @classmethod
    def _missing_(cls, value: object) -> Verdict:
        known = {"passed": cls.PASS, "failed": cls.FAIL}
        outcomes = ("error", "errored", "timeout", "skipped", "unknown", "inconclusive")
        known |= dict.fromkeys(outcomes, cls.INDETERMINATE)
        if isinstance(value, str) and value in known:
            return known[value]
        return refuse_word(value, "verdict", [*cls, *known])


def refuse_word(value: object, what: str, known: list[str]) -> NoReturn:
    """Refuse a word, with the nearest one that is known."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what}: {_values.shown(value)}, {type(value).__name__}; it must be text")
    from difflib import get_close_matches  # noqa: PLC0415  # on the way to an error only

    near = get_close_matches(value.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {str(near[0])!r}?" if near else f"it is one of {', '.join(map(str, known))}"
    raise _values.outside(what, f"{value!r} is none; {hint}")


@dataclass(frozen=True, slots=True)
class Reading:
    """One recorded metric value.

    Parameters
    ----------
    metric : str
        What was measured, such as ``"latency_s"``.
    value : float, bool, str or None
        The value; None and NaN say that nothing was recorded, and are never read as 0. Infinities are an error.
    subject : str
        What it was measured on, such as ``"final answer"``; may stay empty.

    Examples
    --------
    >>> Reading("latency_s", 1.25, subject="final")
    Reading(metric='latency_s', value=1.25, subject='final')
    >>> Reading("similarity", float("nan")).value is None
    True
    """

    metric: str
    value: Scalar
    subject: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        metric = _values.name(self.metric, "the metric of a reading")
        put = object.__setattr__
        put(self, "metric", metric)
        put(self, "subject", _values.key(self.subject, f"reading {metric!r}: subject"))
        value = _values.scalar(self.value, f"reading {metric!r}: value")
        if isinstance(value, int) and not isinstance(value, bool):
            _values.number(value, f"reading {metric!r}: value")  # beyond float64 is beyond every statistic
        put(self, "value", value)

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as it stands in files."""
        reading: dict[str, Any] = {"subject": self.subject} if self.subject else {}
        return reading | {"metric": self.metric, "value": self.value}


@dataclass(frozen=True, slots=True)
class RecordedError:
    """Why something broke: the error's type, where it is known, and its message."""

    message: str
    type: str | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "message", _values.prose(self.message, "the message of an error"))
        put(self, "type", None if self.type is None else _values.prose(self.type, "the type of an error"))

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.type else self.message

    @classmethod
    def of(cls, error: BaseException) -> RecordedError:
        """Return what is kept of an exception."""
        try:
            message = str(error)
        except Exception:  # noqa: BLE001  # an exception that cannot be shown is an error all the same
            message = "(its message cannot be shown)"
        return cls(message, type(error).__name__)

    def to_dict(self) -> dict[str, str]:
        """Return the error as it stands in files."""
        return ({"type": self.type} if self.type is not None else {}) | {"message": self.message}


@dataclass(frozen=True, slots=True)
class Verification:
    """What one verifier recorded on one rollout.

    Parameters
    ----------
    name : str
        The verifier's name.
    checks : sequence of Check
        If there are any, at least one is required.
    readings : sequence of Reading
        Those without a value are not recorded, and left out.
    score : float or None
        Any finite number. With checks and no projection named it is the reward, and need not be given; one that is
        given must agree with it to 0.005.
    verdict : Verdict, str or None
        With checks and no decision named it follows from them, and need not be given; `indeterminate` always stands.
    error : RecordedError or None
        Why the verifier broke. It implies no verdict.
    projection, decision : str or None
        Names of the rules that made score and verdict, where they are not the default ones: then score and verdict
        stand as given (spec 3.6).

    Raises
    ------
    GradingError
        There are checks, and none is required.
    ArgumentError, ArgumentTypeError
        A part is of the wrong type, out of its domain, or contradicts the checks.

    Examples
    --------
    >>> from kofn import optional, required
    >>> verification = Verification("answer", [required("total", False), optional("saved", True)])
    >>> verification.score, verification.verdict
    (0.5, <Verdict.FAIL: 'fail'>)
    """

    name: str
    checks: Sequence[Check] = ()
    readings: Sequence[Reading] = ()
    score: float | None = field(default=None, kw_only=True)
    verdict: Verdict | None = field(default=None, kw_only=True)
    error: RecordedError | None = field(default=None, kw_only=True)
    projection: str | None = field(default=None, kw_only=True)
    decision: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        name = _values.name(self.name, "the name of a verification")
        what = f"verification {name!r}"
        put = object.__setattr__
        put(self, "name", name)
        put(self, "checks", check_list(self.checks, f"{what}: checks"))
        put(self, "readings", _recorded(self.readings, f"{what}: readings"))
        put(self, "score", _values.score(self.score, f"{what}: score"))
        put(self, "verdict", None if self.verdict is None else Verdict(self.verdict))
        for rule in ("projection", "decision"):
            value = getattr(self, rule)
            put(self, rule, None if value is None else _values.name(value, f"{what}: {rule}"))
        if self.error is not None and not isinstance(self.error, RecordedError):
            raise ArgumentTypeError(
                f"{what}: error is {_values.shown(self.error)}; it must be a RecordedError"
            )
        if self.checks:
            self._agree(what)

    def _agree(self, what: str) -> None:
        """Derive score and verdict from the checks, where no rule says otherwise (spec 3.6)."""
        try:
            grade = Grade(tuple(self.checks))
        except GradingError as error:
            raise GradingError(f"{what}: {error}") from None
        if self.projection is None:
            if self.score is not None and not _core.score_agrees(self.score, grade.reward):
                raise ArgumentError(
                    f"{what}: score {self.score!r} is recorded, its checks give {grade.reward!r}; name the projection that made it"
                )
            object.__setattr__(self, "score", grade.reward)
        if self.decision is None and self.verdict is not Verdict.INDETERMINATE:
            derived = Verdict.PASS if grade.passed else Verdict.FAIL
            if self.verdict is not None and self.verdict is not derived:
                raise ArgumentError(
                    f"{what}: verdict {str(self.verdict)!r} is recorded, its checks give {str(derived)!r}; name the decision that made it"
                )
            object.__setattr__(self, "verdict", derived)

    @property
    def failed_required(self) -> tuple[str, ...]:
        """Labels of the required checks that failed, in recorded order."""
        return tuple(check.label for check in self.checks if check.required and not check.passed)

    def to_dict(self) -> dict[str, Any]:
        """Return the verification as it stands in files; what is absent has no key."""
        parts: dict[str, Any] = {
            "name": self.name,
            "checks": [check.to_dict() for check in self.checks] or None,
            "projection": self.projection,
            "score": self.score,
            "decision": self.decision,
            "verdict": None if self.verdict is None else str(self.verdict),
            "readings": [reading.to_dict() for reading in self.readings] or None,
            "error": None if self.error is None else self.error.to_dict(),
        }
        return {key: value for key, value in parts.items() if value is not None}


def _recorded(readings: object, what: str) -> tuple[Reading, ...]:
    """Return the readings that hold a value."""
    if not isinstance(readings, (list, tuple)):
        raise ArgumentTypeError(f"{what} is {_values.shown(readings)}; it must be a list of Reading")
    for at, reading in enumerate(readings):
        if not isinstance(reading, Reading):
            raise ArgumentTypeError(f"{what}[{at}] is {_values.shown(reading)}, not a Reading")
    return tuple(reading for reading in readings if reading.value is not None)
