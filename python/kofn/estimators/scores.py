"""Estimators from scores: which score to expect as the best, worst or j-th of k rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kofn import _columns, _core
from kofn._values import outside
from kofn.estimators.inputs import draws, number, output, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Draws = int | np.integer[Any] | Sequence[int] | NDArray[Any]
    Scores = ArrayLike | Sequence[float | None]

__all__ = ["best_of_k", "median_of_k", "order_statistic_of_k", "quantile_of_k", "worst_of_k"]


def _order(
    scores: Any,
    k: Any,
    groups: Any,
    group_size: Any,
    which: str,
    at: float = 0.0,
    out: NDArray[np.float64] | None = None,
) -> Any:
    array = _columns.array("scores", scores)
    if array.ndim not in {1, 2}:
        raise outside(
            "scores", f"one dimension (rollouts) or two (tasks, rollouts) are needed, not {array.ndim}"
        )
    array = _columns.floats("scores", array)
    ks, single = draws(k)
    if array.ndim == 1 and groups is None and group_size is None:
        if out is not None:
            raise outside("out", "one task has few values; leave it out")
        result = _core.order_of_task(array, ks, which, at)
        return float(result[0]) if single else result
    if array.ndim == 2 and groups is None and group_size in {None, array.shape[1]}:
        # Rows of no rollouts are tasks too, which no index of rollouts could name.
        tasks = array.shape[0]
        shape = (tasks,) if single else (tasks, len(ks))
        result = _core.order_of_rows(array.reshape(-1), tasks, ks, which, at, output(out, shape))
    else:
        index, columns = _columns.grouped(groups, group_size, {"scores": array})
        tasks = len(index.ids)
        shape = (tasks,) if single else (tasks, len(ks))
        result = _core.order_of_groups(columns["scores"], index, ks, which, at, output(out, shape))
    return result.reshape(shape) if out is None else out


def best_of_k(
    scores: Scores,
    k: Draws,
    *,
    groups: Any = None,
    group_size: int | None = None,
    out: NDArray[np.float64] | None = None,
) -> Any:
    r"""Return the expected best score of k rollouts, drawn without replacement from those of a task.

    .. math:: \sum_{i=k}^{n} x_{(i)} \binom{i-1}{k-1} \Big/ \binom{n}{k}

    over the n scores in ascending order. k = 1 is the mean, k = n the maximum; on scores of 0 and 1 it is pass@k.

    Parameters
    ----------
    scores : array_like of float
        One score a rollout, in any order. NaN and None mean not scored. One dimension without `groups` and
        `group_size` is one task; two dimensions are one row a task.
    k : int or sequence of int
        Rollouts drawn, at least 1.
    groups : array_like or TaskIndex, optional
        The task of each rollout: integers or text.
    group_size : int, optional
        Rollouts of each task, where they stand together.
    out : ndarray of float64, optional
        For several tasks: contiguous, of the result's shape; filled and returned instead of a new array.

    Returns
    -------
    float or ndarray of float64
        One task: a float. Several: one value a task, in the order in which tasks first appear, NaN where a task has
        fewer than k scores. A sequence of k adds a last axis.

    Raises
    ------
    ArgumentError
        For k < 1, an infinite score, groups that do not fit, and, for one task, k above the number of scores.
    ArgumentTypeError
        For scores that are not numbers.

    Notes
    -----
    Computed over the gaps between distinct scores, in double-double arithmetic: within one unit in the last place of
    the largest score, exact for equal scores and for k = n, the same for every order of the rollouts.

    Examples
    --------
    >>> from kofn import best_of_k
    >>> best_of_k([3.0, 1.0, 2.0, 5.0, 4.0], 2)
    4.0
    >>> best_of_k([0.5, 1.0, 0.25], [1, 3], groups=["a", "a", "b"])
    array([[0.75,  nan],
           [0.25,  nan]])
    """
    return _order(scores, k, groups, group_size, "best", out=out)


def worst_of_k(
    scores: Scores,
    k: Draws,
    *,
    groups: Any = None,
    group_size: int | None = None,
    out: NDArray[np.float64] | None = None,
) -> Any:
    r"""Return the expected worst score of k rollouts, drawn without replacement from those of a task.

    .. math:: \sum_{i=1}^{n-k+1} x_{(i)} \binom{n-i}{k-1} \Big/ \binom{n}{k}

    It is minus the best of the negated scores; on scores of 0 and 1 it is pass^k.

    Parameters
    ----------
    scores : array_like of float
        As in `best_of_k`.
    k : int or sequence of int
        Rollouts drawn, at least 1.
    groups : array_like or TaskIndex, optional
        The task of each rollout.
    group_size : int, optional
        Rollouts of each task, where they stand together.
    out : ndarray of float64, optional
        As in `best_of_k`.

    Returns
    -------
    float or ndarray of float64
        As in `best_of_k`.

    Raises
    ------
    ArgumentError
        As in `best_of_k`.

    Examples
    --------
    >>> from kofn import worst_of_k
    >>> worst_of_k([3.0, 1.0, 2.0, 5.0, 4.0], 2)
    2.0
    """
    return _order(scores, k, groups, group_size, "worst", out=out)


def order_statistic_of_k(
    scores: Scores, k: Draws, j: int, *, groups: Any = None, group_size: int | None = None
) -> Any:
    r"""Return the expected j-th smallest score of k rollouts, drawn without replacement from those of a task.

    .. math:: \sum_i x_{(i)} \binom{i-1}{j-1} \binom{n-i}{k-j} \Big/ \binom{n}{k}

    j = 1 is `worst_of_k`, j = k is `best_of_k`.

    Parameters
    ----------
    scores : array_like of float
        As in `best_of_k`.
    k : int or sequence of int
        Rollouts drawn, at least 1.
    j : int
        Which of the k in ascending order, 1 <= j <= k.
    groups : array_like or TaskIndex, optional
        The task of each rollout.
    group_size : int, optional
        Rollouts of each task, where they stand together.

    Returns
    -------
    float or ndarray of float64
        As in `best_of_k`.

    Raises
    ------
    ArgumentError
        As in `best_of_k`, and for j outside 1 to k.

    Examples
    --------
    >>> from kofn.estimators import order_statistic_of_k
    >>> order_statistic_of_k([3.0, 1.0, 2.0, 5.0, 4.0], 3, 2)
    3.0
    """
    return _order(scores, k, groups, group_size, "nth", whole("j", j))


def median_of_k(scores: Scores, k: Draws, *, groups: Any = None, group_size: int | None = None) -> Any:
    """Return the expected median of the scores of k rollouts: the middle one, or the mean of the two there.

    Parameters
    ----------
    scores : array_like of float
        As in `best_of_k`.
    k : int or sequence of int
        Rollouts drawn, at least 1.
    groups : array_like or TaskIndex, optional
        The task of each rollout.
    group_size : int, optional
        Rollouts of each task, where they stand together.

    Returns
    -------
    float or ndarray of float64
        As in `best_of_k`.

    Raises
    ------
    ArgumentError
        As in `best_of_k`.

    Examples
    --------
    >>> from kofn.estimators import median_of_k
    >>> median_of_k([3.0, 1.0, 2.0, 5.0, 4.0], [3, 5])
    array([3., 3.])
    """
    return _order(scores, k, groups, group_size, "median")


def quantile_of_k(
    scores: Scores, k: Draws, q: float, *, groups: Any = None, group_size: int | None = None
) -> Any:
    """Return the expected q-quantile of the scores of k rollouts, of type 7 (linear, as in NumPy).

    Parameters
    ----------
    scores : array_like of float
        As in `best_of_k`.
    k : int or sequence of int
        Rollouts drawn, at least 1.
    q : float
        From 0 (the worst) to 1 (the best).
    groups : array_like or TaskIndex, optional
        The task of each rollout.
    group_size : int, optional
        Rollouts of each task, where they stand together.

    Returns
    -------
    float or ndarray of float64
        As in `best_of_k`.

    Raises
    ------
    ArgumentError
        As in `best_of_k`, and for q outside 0 to 1.

    Examples
    --------
    >>> from kofn.estimators import quantile_of_k
    >>> quantile_of_k([3.0, 1.0, 2.0, 5.0, 4.0], 4, 0.25)
    2.1
    """
    return _order(scores, k, groups, group_size, "quantile", number("q", q))
