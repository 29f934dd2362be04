"""Numbers for people. Rounding never reaches 0 or 1 (spec 8.4)."""

from __future__ import annotations

import math

_SHARES = ("pass@", "pass^", "pass_rate", "learnability", "coverage", "agreement:")
_UNITS = {"mean_duration": " s"}


def is_share(label: str) -> bool:
    """Whether the label's figure is a share in [0, 1]."""
    return label.startswith(_SHARES)


def figure(label: str, value: float) -> str:
    """Return a figure with its unit.

    >>> figure("pass@1", 1 / 3), figure("pass@1", 0.99999), figure("pass@1", 1.0), figure("mean_duration", 12.5)
    ('0.333', '>0.999', '1.000', '12.500 s')
    """
    return (share(value) if is_share(label) else number(value)) + _UNITS.get(label, "")


def unit(label: str) -> str:
    """Return the unit of the label's figure, with a space before it; empty for plain numbers."""
    return _UNITS.get(label, "")


def points(value: float) -> str:
    """Return a difference of shares in points of a hundred, with one decimal.

    >>> points(0.031), points(-0.0002), points(0.0), points(1.0)
    ('3.1', '-0.02', '0.0', '100.0')
    """
    size = 100 * value
    return f"{size:.2g}" if 0 < abs(size) < 0.05 else f"{size + 0.0:.1f}"


def p(value: float) -> str:
    """Return a p-value as it stands in a sentence.

    >>> p(0.25), p(0.0431), p(2e-9), p(1.0), p(0.99999)
    ('p = 0.25', 'p = 0.043', 'p < 0.001', 'p = 1', 'p > 0.99')
    """
    if value < 0.001:
        return "p < 0.001"
    if value == 1:
        return "p = 1"
    return "p > 0.99" if value > 0.99 else f"p = {value:.2g}"


def share(value: float) -> str:
    """Return a share with three decimals.

    >>> share(0.0), share(1e-9), share(0.9996), share(0.9994)
    ('0.000', '<0.001', '>0.999', '0.999')
    """
    if not 0 < value < 1:
        return number(value)
    return "<0.001" if value < 0.0005 else ">0.999" if value >= 0.9995 else f"{value:.3f}"


def number(value: float) -> str:
    """Return any finite number with three decimals, more where three would say too little or show a false 0 or 1.

    >>> number(72925.33), number(0.00123), number(1.00002), number(-3.5)
    ('72,925.3', '0.00123', '1.00002', '-3.500')
    """
    size = abs(value)
    if not math.isfinite(value) or size >= 1e15:
        return f"{value:.4g}"
    if 0 < size < 0.01:
        return f"{value:.3g}"
    if size >= 1000:
        return f"{value:,.1f}"
    decimals = 3
    while size != 1 and float(f"{size:.{decimals}f}") == 1:
        decimals += 1
    return f"{value + 0.0:.{decimals}f}"


def percent(part: int, whole: int) -> str:
    """Return part / whole in percent with one decimal.

    >>> percent(77, 400), percent(1, 10_000), percent(9_999, 10_000), percent(3, 3)
    ('19.3 %', '<0.1 %', '>99.9 %', '100 %')
    """
    if part in {0, whole}:
        return "0 %" if part == 0 else "100 %"
    # In whole numbers, so that the exact quotient is rounded, halves up.
    tenths, rest = divmod(1000 * part, whole)
    tenths += 2 * rest >= whole
    if tenths == 0:
        return "<0.1 %"
    return ">99.9 %" if tenths == 1000 else f"{tenths // 10}.{tenths % 10} %"


def whole(value: int) -> str:
    """Return a count with its thousands apart."""
    return f"{value:,}"
