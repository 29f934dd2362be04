"""pass@k and pass^k over k, from the per-task counts of a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kofn import _core, _values
from kofn._values import shown
from kofn.errors import ArgumentError, ArgumentTypeError, RefusedError
from kofn.reports.tasks import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kofn.reports.report import Report

_SPELLINGS = {"pass_at_k": "pass@k", "pass_hat_k": "pass^k", "best@k": "best_of_k", "worst@k": "worst_of_k"}
# Every finite float is a whole number of these.
_UNIT_BITS = 1074
# (n, c) pairs x ks evaluated at once; bounds memory at 64 MB.
_PIECE = 1 << 23
# The same that a band looks at in each resample: a few seconds.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Curve:
    """One label over k, every point over the same tasks.

    Attributes
    ----------
    label : str
        `"pass@k"` or `"pass^k"`.
    k : ndarray of int64
    value : ndarray of float64
        Unweighted mean over the tasks, one a k.
    tasks : list of str
        The tasks it rests on: those with n >= 1.
    left_out : list of str
        Tasks without a rollout under the report's denominator, which have no value at any k.
    low, high : ndarray of float64 or None
        A band that holds the means over all tasks like these at every k at once, with `confidence`: sup-t, over 10,000
        resamples of the tasks. NaN where all tasks have one value other than 0 and 1. None without a band.
    confidence : float or None
        Of the band.
    no_band : str or None
        Why there is none.

    Iterating gives (k, value) pairs.
    """

    label: str
    k: NDArray[np.int64]
    value: NDArray[np.float64]
    tasks: list[str] = field(repr=False)
    left_out: list[str] = field(repr=False)
    low: NDArray[np.float64] | None = field(default=None, repr=False)
    high: NDArray[np.float64] | None = field(default=None, repr=False)
    confidence: float | None = None
    no_band: str | None = None

    @property
    def n_tasks(self) -> int:
        """How many tasks it rests on."""
        return len(self.tasks)

    def __len__(self) -> int:
        return len(self.k)

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return zip(self.k.tolist(), self.value.tolist(), strict=True)


def curve(
    report: Report, label: str, k: Sequence[int] | None, confidence: float | None = None, seed: int = 0
) -> Curve:
    """Compute a curve; see `Report.curve`."""
    from kofn import estimators  # noqa: PLC0415  (only a curve needs it)

    level = None if confidence is None else _values.confidence(confidence)
    seed = _values.seed(seed)
    if not isinstance(label, str):
        raise ArgumentTypeError(f'label: {shown(label)}; there is a curve for "pass@k" and "pass^k"')
    label = _SPELLINGS.get(label, label)
    if label in {"best_of_k", "worst_of_k"}:
        raise _refused(
            label, 'a report does not keep the scores; ask the run: run.report(["best_of_k"], k=[1, 2, 4])'
        )
    if label not in {"pass@k", "pass^k"}:
        raise ArgumentError(f'label: there is a curve for "pass@k" and "pass^k", not for {label!r}')
    tasks = report.per_task
    if (tasks.successes == ABSENT).any():
        raise _refused(label, "the report holds no successes, because no policy was chosen")
    if (tasks.n == ABSENT).any():
        raise _refused(
            label, 'how many rollouts were requested is unknown; report with denominator="recorded"'
        )
    used = tasks.n >= 1
    if not used.any():
        raise _refused(label, "no task has a rollout to count")
    pairs, weights = np.unique(np.stack([tasks.n[used], tasks.successes[used]]), axis=1, return_counts=True)
    n, c = pairs
    ks = _ks(k, int(n.min()))
    function = estimators.pass_at_k if label == "pass@k" else estimators.pass_hat_k
    step = max(1, _PIECE // len(n))
    value = np.empty(len(ks))
    why = _no_band(report, int(weights.sum()), len(ks) * len(n))
    level = None if why else level
    values = np.empty((0 if level is None else len(ks), len(n)))
    for start in range(0, len(ks), step):
        part = ks[start : start + step]
        columns = np.asarray(function(n, c, part), np.float64).reshape(len(n), len(part)).T
        value[start : start + step] = [_mean(column, weights.tolist()) for column in columns]
        if level is not None:
            values[start : start + step] = columns
    low, high = None, None
    if level is not None:
        low, high = _core.band(values.reshape(-1), weights.tolist(), level, seed)
    kept = used.tolist()
    return Curve(
        label,
        ks,
        value,
        [task for task, is_used in zip(tasks.task, kept, strict=True) if is_used],
        [task for task, is_used in zip(tasks.task, kept, strict=True) if not is_used],
        low=low,
        high=high,
        confidence=level,
        no_band=why,
    )


def _no_band(report: Report, tasks: int, size: int) -> str | None:
    if size > _MOST:
        return "it takes too long for so many k; give some of them, or ask for no band"
    if report.cluster is not None:
        return f"tasks of one {report.cluster} are not independent, and the band takes them to be"
    return None if tasks > 1 else "one task says nothing of others"


def _ks(k: Sequence[int] | None, largest: int) -> NDArray[np.int64]:
    if k is None:
        return np.arange(1, largest + 1, dtype=np.int64)
    ks = np.asarray(k)
    if ks.ndim != 1 or ks.size == 0 or not np.issubdtype(ks.dtype, np.integer):
        raise ArgumentError("k: give a list of whole numbers")
    if (ks < 1).any() or (ks > largest).any():
        raise ArgumentError(f"k: must lie in 1 .. {largest}, the smallest n of any task")
    return ks.astype(np.int64)


def _mean(values: NDArray[np.float64], weights: list[int]) -> float:
    # Exact, rounded once, as the run's figures are: the point at k and the figure of that label share every bit.
    total = 0
    for value, weight in zip(values.tolist(), weights, strict=True):
        numerator, denominator = value.as_integer_ratio()
        total += weight * (numerator << (_UNIT_BITS - denominator.bit_length() + 1))
    return total / (sum(weights) << _UNIT_BITS)


def _refused(label: str, reason: str) -> RefusedError:
    error = RefusedError(f"{label}: {reason}")
    error.label = label
    return error
