"""The mean of task values with a bootstrap interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from kofn import _columns, _core, _values
from kofn._values import outside, shown
from kofn.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["BootstrapMean", "bootstrap_mean"]


class BootstrapMean(NamedTuple):
    """A mean and its interval: floats and text, or arrays and lists with one entry a statistic.

    `method` is `"bca_bootstrap"` or `"percentile_bootstrap"`; `"wilson"` where every task has the value 0, or every task 1,
    since resamples of equal tasks are all alike. Without an interval `low` and `high` are NaN, `method` is None and
    `no_interval` says why.
    """

    mean: Any
    low: Any
    high: Any
    method: Any
    no_interval: Any


def bootstrap_mean(
    values: ArrayLike | Sequence[float | None],
    *,
    confidence: float = 0.95,
    seed: int = 0,
    method: Literal["bca", "percentile"] = "bca",
    clusters: Any = None,
) -> BootstrapMean:
    r"""Return the mean of task values and its interval over tasks, from 10,000 resamples of the tasks.

    Each resample draws as many tasks as there are, with replacement, and takes their mean. The percentile interval lies
    between the quantiles of these means at :math:`(1 \mp \text{confidence}) / 2` (type 7); BCa moves both levels to

    .. math:: \Phi\left(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\right), \qquad
        a = \frac{\sum d_t^3}{6 (\sum d_t^2)^{3/2}}

    where d are the deviations from the mean and :math:`\Phi(z_0)` is the share of resamples below the mean, those at it
    counted half.

    Parameters
    ----------
    values : array_like of float, shape (tasks,) or (tasks, statistics)
        One value a task: a pass rate, a score, pass@k, a difference of two runs. NaN and None: the task has none.
    confidence : float
        Between 0 and 1.
    seed : int
        From 0 to 2^64 - 1. The same seed gives the same bits, for any order of the tasks, number of threads and
        processor; a statistic's interval is the same alone and beside others.
    method : {"bca", "percentile"}
    clusters : array_like or TaskIndex, shape (tasks,), optional
        Tasks of one cluster (integers or text) are drawn together; the mean of a resample is then the ratio of sums.

    Returns
    -------
    BootstrapMean
        `(mean, low, high, method, no_interval)`: floats and text, or one entry a statistic.

    Raises
    ------
    ArgumentError
        An infinite value, no value at all, or an argument outside its domain.
    ArgumentTypeError
        Values that are not numbers.

    Notes
    -----
    Time hardly depends on the number of tasks where they share few values, such as c of n. Below some 30 tasks the interval
    is too short, as every bootstrap's: `Run.report` takes Student's t by default. Efron 1987, *Better bootstrap confidence
    intervals*, J. Am. Stat. Assoc. 82.

    Examples
    --------
    >>> from kofn.estimators import bootstrap_mean
    >>> found = bootstrap_mean([0.0, 0.25, 0.25, 0.5, 0.75, 0.75, 1.0, 1.0], seed=1)
    >>> found.mean, found.method
    (0.5625, 'bca_bootstrap')
    >>> 0.28 < found.low < 0.36, 0.74 < found.high < 0.82
    (True, True)
    """
    table = _columns.floats("values", values)
    if table.ndim not in {1, 2}:
        raise outside("values", f"one value a task, or a row a task, is needed, not {table.ndim} dimensions")
    if not table.size:
        raise outside("values", "there is no value")
    if not isinstance(method, str) or method not in {"bca", "percentile"}:
        raise outside("method", f"{shown(method)} is not 'bca' or 'percentile'")
    width = 1 if table.ndim == 1 else table.shape[1]
    mean, low, high, methods, why = _core.bootstrap_mean(
        table.reshape(-1),
        width,
        _codes(clusters, len(table)),
        _values.confidence(confidence),
        method == "percentile",
        _values.seed(seed),
    )
    if table.ndim == 1:
        return BootstrapMean(float(mean[0]), float(low[0]), float(high[0]), methods[0], why[0])
    return BootstrapMean(mean, low, high, methods, why)


def _codes(clusters: Any, tasks: int) -> NDArray[np.uint32] | None:
    if clusters is None:
        return None
    try:
        index = clusters if isinstance(clusters, _core.TaskIndex) else _core.TaskIndex(clusters)
    except ArgumentError as error:
        # It speaks of its own argument.
        raise outside("clusters", str(error).removeprefix("groups: ")) from None
    codes = np.ascontiguousarray(index.codes, np.uint32)
    if len(codes) != tasks:
        raise outside("clusters", f"there are {len(codes)}, and {tasks} tasks")
    return codes
