"""What can be compared: runs, reports, and files that hold one or the other."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kofn import _values
from kofn.errors import ArgumentTypeError
from kofn.policies import Policy
from kofn.reports import Report
from kofn.runs import Run, read

# A saved report opens with its schema; a run's lines never hold this.
_REPORT = re.compile(rb'\s*\{(?s:.{0,4096}?)"schema"\s*:\s*"kofn\.(report|comparison)/')
_LOOK = 1 << 13


@dataclass(frozen=True, slots=True)
class Reading:
    """How a run becomes a report; a report that is there already stays as it is."""

    statistics: str | Sequence[str] | None = None
    k: int | Sequence[int] | None = None
    policy: Policy | str | None = None
    threshold: float | None = None
    requested: int | Mapping[Any, int] | None = None
    denominator: Any = "requested"
    on_short: Any = "raise"
    by: str | None = None

    def report(self, run: Run) -> Report:
        """Report on a run."""
        return run.report(
            self.statistics,
            k=self.k,
            policy=self.policy,
            threshold=self.threshold,
            requested=self.requested,
            denominator=self.denominator,
            on_short=self.on_short,
            by=self.by,
        )


def is_saved_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a report rather than rollouts."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (any os.PathLike)
            return _REPORT.match(file.read(_LOOK).removeprefix(b"\xef\xbb\xbf")) is not None
    except (OSError, ValueError):
        return False  # whoever reads it will say so


def report_of(source: object, reading: Reading, argument: str) -> Report:
    """Return the report that a source is, holds or gives."""
    if isinstance(source, Report):
        return source
    if isinstance(source, Run):
        return reading.report(source)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if isinstance(path, str):
            if Path(path).is_file() and is_saved_report(path):
                return Report.from_json(Path(path))
            return reading.report(read(path))
    raise ArgumentTypeError(
        f"{argument}: {_values.shown(source)}, {type(source).__name__}; give a run, a report, or the path of either"
    )
