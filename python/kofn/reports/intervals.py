"""How intervals are asked for."""

from __future__ import annotations

import math
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
    drawn = check_seed(interval, seed)
    return Report._from_snapshot(tally.report(check(confidence), interval, drawn))  # noqa: SLF001  (its constructor for the core)


def check_seed(interval: Interval, seed: int | None) -> int:
    """Return the seed of an interval that is known: 0 unless another was given to one that draws."""
    if not isinstance(interval, str) or interval not in get_args(Interval):
        known = ", ".join(map(repr, get_args(Interval)))
        raise ArgumentError(f"interval: {_values.shown(interval)} is not one of {known}")
    if seed is None:
        return 0
    if interval not in _DRAWN:
        raise _values.outside(
            "seed", f'nothing is drawn for interval="{interval}"; give interval="bootstrap" too'
        )
    return whole_seed(seed)


def whole_seed(seed: object) -> int:
    """Return a seed that the random numbers have, NumPy's integers among them."""
    whole = _values.plain(seed)
    if isinstance(whole, bool) or not isinstance(whole, int) or not 0 <= whole < 1 << 64:
        raise _values.outside("seed", f"{_values.shown(seed)} is not a whole number from 0 to 2^64 - 1")
    return whole


def needed(confidence: float) -> float:
    """Return a confidence that lies between 0 and 1, where there is no doing without."""
    found = check(confidence)
    if found is None:
        raise _values.outside("confidence", "None is not a number between 0 and 1, such as 0.95")
    return found


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
