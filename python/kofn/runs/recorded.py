"""Rollouts of a run, looked at one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import numpy as np
import numpy.typing as npt

from kofn import _values
from kofn.rollouts import Rollout, Status, Usage

if TYPE_CHECKING:
    from kofn import _core
    from kofn.verifications import RecordedError, Verification

Registry = Literal["passed", "failed", "unscorable"]
REGISTRY: Final[tuple[Registry | None, ...]] = (None, "passed", "failed", "unscorable")
"""Outcomes of the registry projection by the core's numbers."""
STATUSES: Final = (*Status,)
"""Statuses by the core's numbers."""
OUTCOMES: Final = ("success", "failure", *filter(None, REGISTRY), *map(str, STATUSES))
"""What rollouts can be chosen by."""


class RecordedRollout:
    """One rollout of a run.

    What a report needs is at hand. Everything else (`error`, `verifications` with the details of their checks, `usage`,
    `stop_reason`, `meta`, `rollout`) is read again from the rollout's source when it is first asked for.

    Attributes
    ----------
    success : bool or None
        Whether the policy calls it a success. None if no policy was chosen and the run holds scores and no verdict.
    registry : {"passed", "failed", "unscorable"} or None
        The registry's outcome, apart from any policy; None while it is unfinished.
    score : float or None
        The mean of its verifiers' scores.
    """

    def __init__(
        self, core: _core.Run, row: int, success: bool | None, registry: Registry | None, score: float | None
    ) -> None:
        self._core = core
        self._row = row
        self.success = success
        self.registry = registry
        self.score = score

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._core.facts(self._row)

    @cached_property
    def _record(self) -> dict[str, Any]:
        # Fields that no report decodes may hold anything, numbers of absurd length included.
        record: dict[str, Any] = json.loads(self._core.record(self._row), parse_int=_integer)
        return record

    @property
    def task(self) -> str:
        """The task's id; integer ids as decimal text."""
        return str(self._facts["task"])

    @property
    def index(self) -> int | None:
        """Which attempt it is, if that was recorded."""
        index: int | None = self._facts["index"]
        return index

    @property
    def status(self) -> Status:
        """What became of it; says nothing about passing."""
        return Status(self._facts["status"])

    @property
    def failed_required(self) -> tuple[str, ...]:
        """Labels of failed required checks; with several verifiers each after its verifier's name and a colon."""
        return tuple(self._facts["failed_required"])

    @property
    def duration_s(self) -> float | None:
        """Wall-clock seconds."""
        seconds: float | None = self._facts["duration_s"]
        return seconds

    @property
    def total_tokens(self) -> int | None:
        """Input and output tokens together."""
        tokens: int | None = self._facts["total_tokens"]
        return tokens

    @property
    def tool_calls(self) -> int | None:
        """Calls of tools."""
        calls: int | None = self._facts["tool_calls"]
        return calls

    @property
    def tool_errors(self) -> int | None:
        """Calls of tools that failed."""
        errors: int | None = self._facts["tool_errors"]
        return errors

    @property
    def tags(self) -> dict[str, str]:
        """Suite, difficulty and the like."""
        return dict(self._facts["tags"])

    @property
    def place(self) -> str | None:
        """Where it was read, such as ``run.jsonl, line 3``; None in runs made of arrays."""
        place: str | None = self._facts["place"]
        return place

    @property
    def rollout(self) -> Rollout:
        """The whole record, checked anew.

        Raises
        ------
        InputError
            The record is one that only ``on_ungradable="indeterminate"`` lets through.
        SourceError
            The source changed or went away since it was read.
        """
        # The reader takes any reason, a Rollout text alone.
        return Rollout.from_dict(self._record | {"stop_reason": self.stop_reason})

    @property
    def verifications(self) -> tuple[Verification, ...]:
        """What each verifier recorded; those of `Run.select(verifiers=...)` alone in such a run."""
        from kofn import _native  # noqa: PLC0415

        kept = self._core.verifiers()
        found = _native.verifications(self._record)
        return tuple(one for one in found if kept is None or one.name in kept)

    @property
    def error(self) -> RecordedError | None:
        """Why it broke."""
        from kofn import _native  # noqa: PLC0415

        return _native.recorded_error(self._record.get("error"), "error")

    @property
    def usage(self) -> Usage | None:
        """Token usage, by its parts."""
        usage = self._record.get("usage")
        if not usage:
            return None
        return Usage(*(usage.get(name) for name in ("input_tokens", "output_tokens", "total_tokens")))

    @property
    def stop_reason(self) -> str | None:
        """Why it ended."""
        reason = self._record.get("stop_reason")
        return reason if reason is None or isinstance(reason, str) else _values.shown(reason)

    @property
    def meta(self) -> Any:
        """Whatever was kept with it; an empty dict if nothing was."""
        meta = self._record.get("meta")
        return {} if meta is None else meta

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"<RecordedRollout {self.task!r}{index}: {self.status}, score={self.score}, success={self.success}>"


def _integer(digits: str) -> int | str:
    # Python refuses integers of more than 4300 digits; such a one is no number anyone counts with.
    return int(digits) if len(digits) < 4000 else digits


class Rollouts(Sequence[RecordedRollout]):
    """Rollouts of a run in source order, made one by one as they are looked at."""

    def __init__(
        self,
        core: _core.Run,
        rows: npt.NDArray[np.intp],
        success: npt.NDArray[np.bool_] | None,
        registry: npt.NDArray[np.uint8],
        score: npt.NDArray[np.float64],
    ) -> None:
        self._core = core
        self._rows = rows
        self._success = success
        self._registry = registry
        self._score = score

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> RecordedRollout: ...
    @overload
    def __getitem__(self, position: slice) -> Rollouts: ...
    def __getitem__(self, position: int | slice) -> RecordedRollout | Rollouts:
        if isinstance(position, slice):
            return Rollouts(self._core, self._rows[position], self._success, self._registry, self._score)
        return self._at(int(self._rows[position]))

    def __iter__(self) -> Iterator[RecordedRollout]:
        return map(self._at, self._rows.tolist())

    def __repr__(self) -> str:
        return f"<Rollouts: {len(self)}>"

    def _at(self, row: int) -> RecordedRollout:
        score = float(self._score[row])
        return RecordedRollout(
            self._core,
            row,
            None if self._success is None else bool(self._success[row]),
            REGISTRY[self._registry[row]],
            None if np.isnan(score) else score,
        )
