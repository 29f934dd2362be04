"""How intervals are asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from kofn import _values
from kofn.errors import ArgumentError
from kofn.reports.report import Report

if TYPE_CHECKING:
    from kofn._core import Tally

Interval = Literal["default", "student"]


def report_of(tally: Tally, confidence: float | None, interval: Interval) -> Report:
    """Return the report of a tally, its figures with intervals unless `confidence` is None."""
    if interval not in get_args(Interval):
        known = ", ".join(map(repr, get_args(Interval)))
        raise ArgumentError(f"interval: {_values.shown(interval)} is not one of {known}")
    return Report._from_snapshot(tally.report(check(confidence), interval == "student"))  # noqa: SLF001  (its constructor for the core)


def check(confidence: float | None) -> float | None:
    """Return a confidence that lies between 0 and 1, or None."""
    if confidence is None:
        return None
    try:
        value = math.nan if isinstance(confidence, (bool, str)) else float(confidence)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0 < value < 1:
        raise ArgumentError(
            f"confidence: {_values.shown(confidence)} is not a number between 0 and 1, such as 0.95"
        )
    return value
