"""Spellings of labels (spec 6.10)."""

from __future__ import annotations

import re

# (spellings with k, canonical prefix, prefix for trackers that reject @ and ^)
_WITH_K = re.compile(r"(pass_at_|pass_hat_|best@|worst@)(k|[0-9]+)")
_CANONICAL = {"pass_at_": "pass@", "pass_hat_": "pass^", "best@": "best_of_", "worst@": "worst_of_"}
_ASCII = {"pass@": "pass_at_", "pass^": "pass_hat_"}


def canonical(label: str) -> str:
    """Return the label as reports spell it: `pass_at_5` is `pass@5`.

    >>> canonical("pass_hat_3"), canonical("best@2"), canonical("coverage")
    ('pass^3', 'best_of_2', 'coverage')
    """
    match = _WITH_K.fullmatch(label)
    return _CANONICAL[match[1]] + match[2] if match else label


def ascii_label(label: str) -> str:
    """Return the label as experiment trackers take it: `pass@5` is `pass_at_5`.

    >>> ascii_label("pass@5"), ascii_label("metric_mean:a@b")
    ('pass_at_5', 'metric_mean:a@b')
    """
    head, tail = label[:5], label[5:]
    return _ASCII[head] + tail if head in _ASCII and tail.isdecimal() else label
