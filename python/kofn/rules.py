"""Rules between facts and outcome: projections (facts to score) and decisions (facts and score to verdict); spec 3.3.

Users write their own as plain functions of the same shape; they are stored by their ``__name__``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kofn import _values
from kofn.checks import Check, Grade
from kofn.errors import ArgumentError, ArgumentTypeError
from kofn.verifications import Reading, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verifier recorded, before any rule.

    Attributes
    ----------
    checks : tuple of Check
        Empty if none were recorded.
    readings : tuple of Reading
        Those that hold a value.
    grade : Grade or None
        The grade of the checks, None without checks.
    """

    checks: tuple[Check, ...] = ()
    readings: tuple[Reading, ...] = ()
    grade: Grade | None = None

    def values(self, metric: str, subject: str | None = None) -> list[float]:
        """Return the numeric values of a metric, bools as 1 and 0, in recorded order.

        Raises
        ------
        ArgumentTypeError
            A value is text, which is never a score.
        """
        found = []
        for reading in self.readings:
            if reading.metric == metric and subject in {None, reading.subject}:
                if isinstance(reading.value, str) or reading.value is None:
                    raise ArgumentTypeError(
                        f"reading {metric!r} is {reading.value!r}; a score needs a number"
                    )
                found.append(float(reading.value))
        return found


class Projection(Protocol):
    """A function from facts to a finite score, or None."""

    def __call__(self, facts: Facts, /) -> float | None:
        """Return the score."""


class Decision(Protocol):
    """A function from facts and score to a verdict (or its word, or a bool), or None."""

    def __call__(self, facts: Facts, score: float | None, /) -> Verdict | str | bool | None:
        """Return the verdict."""


def rule_name(rule: Callable[..., object]) -> str:
    """Return the name a rule is stored under: its `name`, else its ``__name__``, else its class's."""
    for candidate in (rule, getattr(rule, "func", None)):  # functools.partial keeps the function as `func`
        for attribute in ("name", "__name__"):
            name = getattr(candidate, attribute, None)
            if isinstance(name, str) and name:
                return name
    return type(rule).__name__


@dataclass(frozen=True, slots=True)
class Reward:
    """The default projection: the reward of the checks, None without checks.

    Examples
    --------
    >>> Reward().name
    'reward'
    """

    name: str = field(default="reward", init=False)

    def __call__(self, facts: Facts, /) -> float | None:
        """Return the score."""
        return None if facts.grade is None else facts.grade.reward


@dataclass(frozen=True, slots=True)
class ReadingValue:
    """A projection: the value of the one reading of `metric`, None if none was recorded.

    With `subject`, only readings on that subject count. More than one reading is an error: say which, or take
    `ReadingMean`.

    Examples
    --------
    >>> ReadingValue("similarity", subject="final").name
    'reading:final/similarity'
    """

    metric: str
    subject: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _values.name(self.metric, "metric")

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return f"reading:{_series(self.metric, self.subject)}"

    def __call__(self, facts: Facts, /) -> float | None:
        """Return the score."""
        values = facts.values(self.metric, self.subject)
        if len(values) > 1:
            raise ArgumentError(
                f"{len(values)} readings of {_series(self.metric, self.subject)!r}, and one is the score; name a subject, or use ReadingMean"
            )
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class ReadingMean:
    """A projection: the exact mean of all readings of `metric`, None if none was recorded.

    Examples
    --------
    >>> facts = Facts(readings=(Reading("clarity", 0.5, subject="a"), Reading("clarity", 1.0, subject="b")))
    >>> ReadingMean("clarity")(facts)
    0.75
    """

    metric: str
    subject: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _values.name(self.metric, "metric")

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return f"mean:{_series(self.metric, self.subject)}"

    def __call__(self, facts: Facts, /) -> float | None:
        """Return the score."""
        values = facts.values(self.metric, self.subject)
        return _values.mean(values) if values else None


@dataclass(frozen=True, slots=True)
class RequiredChecks:
    """The default decision: pass if every required check passed, else fail; none without checks.

    Examples
    --------
    >>> RequiredChecks().name
    'required_checks'
    """

    name: str = field(default="required_checks", init=False)

    def __call__(self, facts: Facts, score: float | None, /) -> Verdict | None:  # noqa: ARG002  # the shape of a decision
        """Return the verdict."""
        if facts.grade is None:
            return None
        return Verdict.PASS if facts.grade.passed else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A decision: pass if the score reaches `threshold`, else fail; indeterminate without a score.

    The comparison allows for float noise as a policy's threshold does: score >= t - 1e-12 max(1, |t|) (spec 5.2).

    Examples
    --------
    >>> AtLeast(0.7).name
    'at_least:0.7'
    >>> AtLeast(0.7)(Facts(), 0.7), AtLeast(0.7)(Facts(), None)
    (<Verdict.PASS: 'pass'>, <Verdict.INDETERMINATE: 'indeterminate'>)
    """

    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _bound(self.threshold, "threshold"))

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return f"at_least:{_figure(self.threshold)}"

    def __call__(self, facts: Facts, score: float | None, /) -> Verdict:  # noqa: ARG002  # the shape of a decision
        """Return the verdict."""
        if score is None:
            return Verdict.INDETERMINATE
        return Verdict.PASS if score >= self.threshold - _slack(self.threshold) else Verdict.FAIL


@dataclass(frozen=True, slots=True)
class Within:
    """A decision: pass if low <= score <= high, else fail; indeterminate without a score.

    Both ends allow for float noise as `AtLeast` does.

    Examples
    --------
    >>> Within(0.2, 0.8).name
    'within:0.2:0.8'
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _bound(self.low, "low"))
        object.__setattr__(self, "high", _bound(self.high, "high"))
        if self.low > self.high:
            raise _values.outside("low", f"{self.low!r} is above high, {self.high!r}")

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return f"within:{_figure(self.low)}:{_figure(self.high)}"

    def __call__(self, facts: Facts, score: float | None, /) -> Verdict:  # noqa: ARG002  # the shape of a decision
        """Return the verdict."""
        if score is None:
            return Verdict.INDETERMINATE
        inside = self.low - _slack(self.low) <= score <= self.high + _slack(self.high)
        return Verdict.PASS if inside else Verdict.FAIL


def _series(metric: str, subject: str | None) -> str:
    return metric if subject is None else f"{subject}/{metric}"


def _bound(value: object, what: str) -> float:
    bound = _values.number(value, what)
    if bound is None:
        raise _values.outside(what, "it is missing; there is no default")
    return bound


def _slack(threshold: float) -> float:
    return 1e-12 * max(1.0, abs(threshold))


def _figure(value: float) -> str:
    return repr(value).removesuffix(".0")
