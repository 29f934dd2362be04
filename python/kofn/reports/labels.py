"""Spellings of labels (spec 6.10), as far as this version knows them."""

from __future__ import annotations

from kofn import _core
from kofn.errors import KofnError


def canonical(label: str) -> str:
    """Return the label as reports spell it: `pass_at_5` is `pass@5`; what is no label stays as it is.

    >>> canonical("pass_hat_3"), canonical("best@2"), canonical("coverage"), canonical("from a later version")
    ('pass^3', 'best_of_2', 'coverage', 'from a later version')
    """
    try:
        return _core.canonical_label(label)
    except (KofnError, UnicodeEncodeError):  # a lone surrogate is in no label
        return label


def ascii_label(label: str) -> str:
    """Return the label as experiment trackers take it: `pass@5` is `pass_at_5`.

    >>> ascii_label("pass@5"), ascii_label("metric_mean:a@b")
    ('pass_at_5', 'metric_mean:a@b')
    """
    try:
        return _core.ascii_label(label)
    except (KofnError, UnicodeEncodeError):  # a lone surrogate is in no label
        return label
