"""How intervals are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from kofn import _values
from kofn.errors import ArgumentError
from kofn.reports.report import Report

if TYPE_CHECKING:
    from kofn._core import Tally

Interval = Literal["default", "student", "bootstrap", "percentile"]
_DRAWN = ("bootstrap", "percentile")


def report_of(
    tally: Tally, confidence: float | None, interval: Interval = "default", seed: int | None = None
) -> Report:
    """Return the report of a tally, its figures with intervals unless `confidence` is None."""
    level = None if confidence is None else _values.confidence(confidence)
    snapshot = tally.report(level, interval, check_seed(interval, seed))
    return Report._from_snapshot(snapshot)  # noqa: SLF001  (its constructor for the core)


def check_seed(interval: Interval, seed: int | None) -> int:
    """Return the seed of an interval that is known: 0 unless another was given to one that draws."""
    if not isinstance(interval, str) or interval not in get_args(Interval):
        known = ", ".join(map(repr, get_args(Interval)))
        raise ArgumentError(f"interval: {_values.shown(interval)} is not one of {known}")
    if seed is None:
        return 0
    if interval not in _DRAWN:
        raise _values.outside(
            "seed",
            f'nothing is drawn for interval="{interval}"; give interval="bootstrap" (--interval bootstrap) too',
        )
    return _values.seed(seed)
