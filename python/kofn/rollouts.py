"""One rollout of a task, as it is written to and read from the native form (spec 4.1, 7.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from kofn import _values
from kofn.errors import ArgumentError, ArgumentTypeError
from kofn.verifications import RecordedError, Verdict, Verification, refuse_word


class Status(StrEnum):
    """What became of a rollout; says nothing about passing (spec 4.1). The members are text.

    ``completed`` and ``canceled`` are read as spellings; ``failed`` is refused as ambiguous.

    Examples
    --------
    >>> Status("completed")
    <Status.SUCCEEDED: 'succeeded'>
    """

    SUCCEEDED = "succeeded"
    ERRORED = "errored"
    CANCELLED = "cancelled"
    UNFINISHED = "unfinished"

    @classmethod
    def _missing_(cls, value: object) -> Status:
        known = {"completed": cls.SUCCEEDED, "canceled": cls.CANCELLED}
        if value == "failed":
            raise _values.outside(
                "status",
                "'failed' is ambiguous: write 'errored' if the rollout itself broke, or 'succeeded' with a verdict if it ran and did not pass",
            )
        if isinstance(value, str) and value in known:
            return known[value]
        return refuse_word(value, "status", [*cls, *known])


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a rollout; input includes cached ones, output includes reasoning (spec 6.7).

    Examples
    --------
    >>> Usage(1200, 340).total
    1540
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", "total_tokens"):
            object.__setattr__(self, name, _values.count(getattr(self, name), f"usage: {name}"))
        if self.input_tokens is None or self.output_tokens is None or self.total_tokens is None:
            return
        if self.input_tokens + self.output_tokens != self.total_tokens:
            raise _values.outside(
                "usage",
                f"{self.input_tokens} input and {self.output_tokens} output tokens are not {self.total_tokens} in total",
            )

    @property
    def total(self) -> int | None:
        """Input + output if both are known, else `total_tokens`; one half alone is no total."""
        if self.input_tokens is not None and self.output_tokens is not None:
            return self.input_tokens + self.output_tokens
        return self.total_tokens

    def to_dict(self) -> dict[str, int]:
        """Return the usage as it stands in files."""
        names = ("input_tokens", "output_tokens", "total_tokens")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, slots=True)
class Rollout:
    """One attempt at a task.

    Parameters
    ----------
    task : str or int
        The task's id. A run uses text or integers, not both.
    index : int or None
        Which attempt it is, from 0 (or 1); None numbers it in recorded order.
    status : Status, str or None
        `succeeded` means that it ran and was verified, not that it passed. Default: `errored` if `error` is given and
        no verification, else `succeeded`.
    verifications : sequence of Verification
        What each verifier recorded; no name twice.
    duration_s : float or None
        Wall-clock seconds. Values in [-1, 0) are clock skew, which reports note and do not count.
    usage : Usage, mapping or None
        Tokens.
    tool_calls, tool_errors : int or None
        Diagnostics.
    stop_reason : str or None
        Why it ended.
    error : RecordedError, str, exception or None
        Why the rollout broke.
    tags : mapping of str to str
        Suite, difficulty, cluster and the like, to report by.
    meta : mapping
        Any JSON; kept, never interpreted. A copy is made.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A part is of the wrong type or outside its domain; the message names it.

    Examples
    --------
    >>> from kofn import Verification, required
    >>> rollout = Rollout("sum-1000", 3, verifications=[Verification("answer", [required("total", False)])])
    >>> rollout.score, rollout.failed_required, rollout.registry
    (0.0, ('total',), 'failed')
    >>> Rollout.from_dict(rollout.to_dict()) == rollout
    True
    """

    task: str | int
    index: int | None = None
    status: str = field(default=None, kw_only=True)  # type: ignore[assignment]  # a Status, settled below
    verifications: Sequence[Verification] = field(default=(), kw_only=True)
    duration_s: float | None = field(default=None, kw_only=True)
    usage: Usage | None = field(default=None, kw_only=True)
    tool_calls: int | None = field(default=None, kw_only=True)
    tool_errors: int | None = field(default=None, kw_only=True)
    stop_reason: str | None = field(default=None, kw_only=True)
    error: RecordedError | None = field(default=None, kw_only=True)
    tags: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    meta: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        settled: dict[str, Any] = {
            "task": task_id(self.task),
            "index": _values.count(self.index, "index", most=2**63 - 1),
            "verifications": _distinct(self.verifications),
            "duration_s": _duration(self.duration_s),
            "usage": _usage(self.usage),
            "tool_calls": _values.count(self.tool_calls, "tool_calls"),
            "tool_errors": _values.count(self.tool_errors, "tool_errors"),
            "stop_reason": None
            if self.stop_reason is None
            else _values.prose(self.stop_reason, "stop_reason"),
            "error": _error(self.error),
            "tags": _tags(self.tags),
            "meta": _meta(self.meta),
        }
        broke = settled["error"] is not None and not settled["verifications"]
        status: str | None = self.status
        settled["status"] = (
            (Status.ERRORED if broke else Status.SUCCEEDED) if status is None else Status(status)
        )
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def score(self) -> float | None:
        """The mean of its verifiers' scores, exact and rounded once; None if no verifier recorded one."""
        scores = [v.score for v in self.verifications if v.score is not None]
        return _values.mean(scores) if scores else None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that were recorded, in the order of the verifications."""
        return tuple(v.verdict for v in self.verifications if v.verdict is not None)

    @property
    def failed_required(self) -> tuple[str, ...]:
        """Labels of failed required checks; with several verifiers each after its verifier's name and a colon."""
        several = len(self.verifications) > 1
        return tuple(
            f"{verification.name}: {label}" if several else label
            for verification in self.verifications
            for label in verification.failed_required
        )

    @property
    def registry(self) -> Literal["passed", "failed", "unscorable"] | None:
        """The registry's outcome (spec 5.5), which is apart from any policy; None for an unfinished rollout."""
        if self.status is Status.UNFINISHED:
            return None
        if self.status is not Status.SUCCEEDED:
            return "unscorable"
        verdicts = self.verdicts
        if Verdict.FAIL in verdicts:
            return "failed"
        return "unscorable" if not verdicts or Verdict.INDETERMINATE in verdicts else "passed"

    def to_dict(self) -> dict[str, Any]:
        """Return the rollout in the native form, ready for JSON; what is absent has no key."""
        parts: dict[str, Any] = {
            "task": self.task,
            "rollout": self.index,
            "status": str(self.status),
            "verifiers": [v.to_dict() for v in self.verifications] or None,
            "duration_s": self.duration_s,
            "usage": (self.usage.to_dict() or None) if self.usage else None,
            "tool_calls": self.tool_calls,
            "tool_errors": self.tool_errors,
            "stop_reason": self.stop_reason,
            "error": None if self.error is None else self.error.to_dict(),
            "tags": dict(self.tags) or None,
            "meta": dict(self.meta) or None,
        }
        return {key: value for key, value in parts.items() if value is not None}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Rollout:
        """Read one record of the native form, its short forms included (spec 7.3).

        Raises
        ------
        InputError
            The record cannot be understood; `field` and the message say where.
        """
        from kofn import _native  # noqa: PLC0415  # it builds rollouts itself

        return _native.read_rollout(record)


def task_id(value: object) -> str | int:
    """Return a task's id: text that is not empty, or an integer (spec 1)."""
    plain = _values.plain(value)
    if isinstance(plain, int) and not isinstance(plain, bool):
        return int(plain)
    if isinstance(plain, str):
        return _values.name(plain, "task")
    raise ArgumentTypeError(
        f"task: {_values.shown(value)}, {type(value).__name__}; it must be text or an integer"
    )


def _distinct(verifications: object) -> tuple[Verification, ...]:
    if not isinstance(verifications, (list, tuple)):
        raise ArgumentTypeError(
            f"verifications: {_values.shown(verifications)}; it must be a list of Verification"
        )
    seen: dict[str, int] = {}
    for at, verification in enumerate(verifications):
        if not isinstance(verification, Verification):
            raise ArgumentTypeError(f"verifications[{at}]: {_values.shown(verification)} is no Verification")
        first = seen.setdefault(verification.name, at)
        if first != at:
            raise _values.outside(
                "verifications", f"{first} and {at} both have the name {verification.name!r}"
            )
    return tuple(verifications)


def _duration(value: object) -> float | None:
    seconds = _values.number(value, "duration_s")
    if seconds is not None and seconds < -1:
        raise _values.outside(
            "duration_s", f"{seconds!r} is negative; it is in seconds, and counts from the start"
        )
    return seconds


def _usage(value: object) -> Usage | None:
    if isinstance(value, Mapping):
        return Usage(value.get("input_tokens"), value.get("output_tokens"), value.get("total_tokens"))
    if value is None or isinstance(value, Usage):
        return value
    raise ArgumentTypeError(f"usage: {_values.shown(value)}; it must be a Usage or a dict")


def _error(value: object) -> RecordedError | None:
    if value is None or isinstance(value, RecordedError):
        return value
    if isinstance(value, BaseException):
        return RecordedError.of(value)
    if isinstance(value, str):
        return RecordedError(value)
    raise ArgumentTypeError(
        f"error: {_values.shown(value)}; it must be a RecordedError, text or an exception"
    )


def _tags(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"tags: {_values.shown(value)}; it must be a dict of names to text")
    return {
        _values.name(k, "the name of a tag"): _values.key(v, f"tag {k!r}")
        for k, v in value.items()
        if v is not None
    }


def _meta(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ArgumentTypeError(f"meta: {_values.shown(value)}; it must be a dict")
    try:
        copy: dict[str, Any] = _values.document(value, "meta")
    except RecursionError:
        raise ArgumentError("meta: it holds itself, or is nested too deeply for JSON") from None
    return copy
