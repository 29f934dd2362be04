"""Verifiers: functions that record facts about a rollout, and the rules that turn facts into an outcome (spec 3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kofn import _values
from kofn.checks import Check, Grade, refuse_duplicates
from kofn.errors import ArgumentError, ArgumentTypeError, GradingError
from kofn.rules import (
    AtLeast,
    Decision,
    Facts,
    Projection,
    ReadingMean,
    ReadingValue,
    RequiredChecks,
    Reward,
    Within,
    rule_name,
)
from kofn.verifications import Reading, RecordedError, Verdict, Verification

__all__ = [
    "AtLeast",
    "Decision",
    "Facts",
    "Projection",
    "Reading",
    "ReadingMean",
    "ReadingValue",
    "RecordedError",
    "RequiredChecks",
    "Reward",
    "Verdict",
    "Verification",
    "Verifier",
    "Within",
    "averify",
    "verify",
]

S = TypeVar("S")

ADVISORY = "advisory"
"""The decision an advisory verifier is stored with, so that a file never derives a verdict from its checks."""

# What kofn says about facts it was given. It is a fault of the verifier's code, and hiding it would turn every rollout
# indeterminate; all other errors are the verifier's own trouble.
_COMPLAINTS = (ArgumentError, ArgumentTypeError, GradingError)


@dataclass(frozen=True, slots=True)
class Verifier(Generic[S]):
    """A named function that records facts about a rollout, with the rules for its score and verdict.

    Parameters
    ----------
    name : str
        Its name in files and reports.
    record : callable
        Takes the subject (whatever you verify: a transcript, a sandbox, an answer) and returns a `Check`, a `Reading`,
        a list (or generator) of both, a `Grade`, or None for "nothing to record". Plain or async.
    projection : callable, optional
        Facts to score or None; by default the reward of the checks.
    decision : callable, optional
        (Facts, score) to verdict or None; by default what the required checks say.
    advisory : bool
        It adds scores and readings and never a verdict, also when it raises.

    Notes
    -----
    A verifier whose functions raise is no fail: the verification is indeterminate and keeps the error's type and
    message. Complaints of kofn about what was recorded (no required check, a label twice, a wrong type) are faults of
    the verifier, and propagate as `GradingError`, `ArgumentError` or `ArgumentTypeError`.

    Examples
    --------
    >>> from kofn import required
    >>> answer = Verifier("answer", lambda text: required("is 42", text.strip() == "42", f"answered {text}"))
    >>> answer("42").verdict
    <Verdict.PASS: 'pass'>
    >>> answer(None).error
    RecordedError(message="'NoneType' object has no attribute 'strip'", type='AttributeError')

    A judge that records a reading, and passes from 0.7 on:

    >>> judge = Verifier("judge", lambda text: Reading("quality", len(text) / 10),
    ...                  projection=ReadingValue("quality"), decision=AtLeast(0.7))
    >>> judge("too bad").score, judge("too bad").verdict
    (0.7, <Verdict.PASS: 'pass'>)
    """

    name: str
    record: Callable[[S], object]
    projection: Projection | None = field(default=None, kw_only=True)
    decision: Decision | None = field(default=None, kw_only=True)
    advisory: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        _values.name(self.name, "the name of a verifier")
        _values.flag(self.advisory, f"verifier {self.name!r}: advisory")
        for rule in ("record", "projection", "decision"):
            value = getattr(self, rule)
            if not callable(value) and (rule == "record" or value is not None):
                raise ArgumentTypeError(
                    f"verifier {self.name!r}: {rule} is {_values.shown(value)}, which cannot be called"
                )
            if isinstance(value, type) and issubclass(
                value, (Reward, RequiredChecks, ReadingValue, ReadingMean, AtLeast, Within)
            ):
                raise ArgumentTypeError(
                    f"verifier {self.name!r}: {rule} is a class; give an instance, {value.__name__}(...)"
                )
        # The default rules by name are the default rules: files name neither.
        if isinstance(self.projection, Reward):
            object.__setattr__(self, "projection", None)
        if isinstance(self.decision, RequiredChecks):
            object.__setattr__(self, "decision", None)

    def __call__(self, subject: S) -> Verification:
        """Verify a subject.

        An async `record` is run to its end in an event loop of its own; where one is running already, use `acall`.
        """
        try:
            with self._named():
                returned = self.record(subject)
                if _is_async(returned):
                    returned = self._run(returned)
                elif isinstance(returned, Iterator):
                    returned = tuple(returned)
        except _COMPLAINTS:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a verifier raises makes it indeterminate
            return self._broken(error)
        with self._named():
            return self._outcome(_facts(returned))

    async def acall(self, subject: S) -> Verification:
        """Verify a subject with a plain or async `record`."""
        try:
            with self._named():
                returned = self.record(subject)
                if _is_async(returned):
                    returned = await _collected(returned)
                elif isinstance(returned, Iterator):
                    returned = tuple(returned)
        except _COMPLAINTS:
            raise
        except Exception as error:  # noqa: BLE001  # as above
            return self._broken(error)
        with self._named():
            return self._outcome(_facts(returned))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Put the verifier's name before complaints about what it recorded."""
        try:
            yield
        except _COMPLAINTS as error:
            error.args = (f"verifier {self.name!r}: {error}",)
            raise

    def _run(self, pending: Any) -> object:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_collected(pending))
        if asyncio.iscoroutine(pending):
            pending.close()
        raise ArgumentTypeError(
            "record is async, and an event loop is running; use `await verifier.acall(subject)`"
        )

    def _outcome(self, facts: Facts) -> Verification:
        score: float | None = None
        verdict: Verdict | None = None
        broke: RecordedError | None = None
        try:
            score = self._score(facts)
            if not self.advisory:
                verdict = self._verdict(facts, score)
        except _COMPLAINTS:
            raise
        except Exception as error:  # noqa: BLE001  # rules are a verifier's functions too
            broke = RecordedError.of(error)
            verdict = None if self.advisory else Verdict.INDETERMINATE
        return self._verification(facts, score, verdict, broke)

    def _broken(self, error: Exception) -> Verification:
        verdict = None if self.advisory else Verdict.INDETERMINATE
        return self._verification(Facts(), None, verdict, RecordedError.of(error))

    def _verification(
        self, facts: Facts, score: float | None, verdict: Verdict | None, error: RecordedError | None
    ) -> Verification:
        decision = None if self.decision is None else rule_name(self.decision)
        return Verification(
            self.name,
            facts.checks,
            facts.readings,
            score=score,
            verdict=verdict,
            error=error,
            projection=None if self.projection is None else rule_name(self.projection),
            decision=ADVISORY if self.advisory else decision,
        )

    def _score(self, facts: Facts) -> float | None:
        if self.projection is None:
            return Reward()(facts)
        return _values.score(
            self.projection(facts), f"the score of projection {rule_name(self.projection)!r}"
        )

    def _verdict(self, facts: Facts, score: float | None) -> Verdict | None:
        if self.decision is None:
            return RequiredChecks()(facts, score)
        decided = _values.plain(self.decision(facts, score))
        if decided is None:
            return None
        if isinstance(decided, bool):
            return Verdict.PASS if decided else Verdict.FAIL
        if isinstance(decided, str):
            return Verdict(decided)
        if asyncio.iscoroutine(decided):
            decided.close()
        raise ArgumentTypeError(
            f"decision {rule_name(self.decision)!r} returned {_values.shown(decided)}, {type(decided).__name__}; it must be a Verdict, a bool or None"
        )


def verify(subject: S, verifiers: Iterable[Verifier[S]]) -> tuple[Verification, ...]:
    """Run several verifiers on one subject, one after the other.

    Returns
    -------
    tuple of Verification
        In the order of the verifiers. One that raises is indeterminate, and the others still run.

    Raises
    ------
    ArgumentError
        Two verifiers have one name.
    GradingError, ArgumentTypeError
        A verifier recorded something that is no set of facts.

    Examples
    --------
    >>> from kofn import required
    >>> sound = Verifier("sound", lambda n: required("positive", n > 0))
    >>> broken = Verifier("broken", lambda n: 1 / 0)
    >>> [(v.name, str(v.verdict)) for v in verify(5, [sound, broken])]
    [('sound', 'pass'), ('broken', 'indeterminate')]
    """
    return tuple(verifier(subject) for verifier in _distinct(verifiers))


async def averify(subject: S, verifiers: Iterable[Verifier[S]]) -> tuple[Verification, ...]:
    """Run several verifiers on one subject at the same time; otherwise as `verify`.

    All of them end before a complaint about one of them is raised.
    """
    pending = [verifier.acall(subject) for verifier in _distinct(verifiers)]
    done = await asyncio.gather(*pending, return_exceptions=True)
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return tuple(result for result in done if isinstance(result, Verification))


def _distinct(verifiers: Iterable[Verifier[S]]) -> tuple[Verifier[S], ...]:
    if isinstance(verifiers, Verifier):
        raise ArgumentTypeError("verifiers: it is one Verifier; give a list")
    listed = tuple(verifiers)
    seen: dict[str, int] = {}
    for at, verifier in enumerate(listed):
        if not isinstance(verifier, Verifier):
            raise ArgumentTypeError(f"verifiers[{at}] is {_values.shown(verifier)}, not a Verifier")
        first = seen.setdefault(verifier.name, at)
        if first != at:
            raise _values.outside(
                "verifiers", f"{first} and {at} both have the name {verifier.name!r}; give each its own"
            )
    return listed


def _is_async(returned: object) -> bool:
    return isinstance(returned, (Awaitable, AsyncIterator))


async def _collected(pending: Any) -> object:
    """Wait for what an async function returns or yields."""
    if isinstance(pending, AsyncIterator):
        return tuple([item async for item in pending])
    returned = await pending
    return tuple(returned) if isinstance(returned, Iterator) else returned


def _facts(returned: object) -> Facts:
    """Sort what `record` returned into checks and readings, and grade the checks (spec 3.2)."""
    if returned is None:
        return Facts()
    if isinstance(returned, Grade):
        items: tuple[object, ...] = returned.checks
    elif isinstance(returned, (Check, Reading)):
        items = (returned,)
    elif isinstance(returned, (list, tuple)):
        items = tuple(returned)
    else:
        raise ArgumentTypeError(
            f"record returned {_values.shown(returned)}, {type(returned).__name__}; it must return checks and readings: required(label, passed), Reading(metric, value), a list of them, a Grade, or None"
        )
    if not items:
        raise GradingError(
            "record returned an empty list; checks need a required one (return None if there is nothing to record)"
        )
    for at, item in enumerate(items):
        if not isinstance(item, (Check, Reading)):
            raise ArgumentTypeError(
                f"record returned {_values.shown(item)}, {type(item).__name__}, at position {at}; it must be a Check or a Reading"
            )
    checks = tuple(item for item in items if isinstance(item, Check))
    readings = tuple(item for item in items if isinstance(item, Reading) and item.value is not None)
    refuse_duplicates(checks)
    return Facts(checks, readings, Grade(checks) if checks else None)
