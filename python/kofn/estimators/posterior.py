"""What a Beta prior and a task's counts say together: model-based figures, for any k, also beyond n.

None of these is an unbiased estimate, and none is ever mixed with those: they rest on the prior, which shows where n is
small or k is large.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kofn import _core
from kofn._values import outside, shown
from kofn.estimators.inputs import counts, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Posterior",
    "at_least_m_of_k_posterior",
    "bayes_at_n",
    "pass_at_k_posterior",
    "pass_hat_k_posterior",
    "probability_above",
]

JEFFREYS = (0.5, 0.5)


class Posterior(NamedTuple):
    """Mean and variance of a figure under its posterior: floats, or arrays of the shape of n and c."""

    mean: Any
    variance: Any


def _prior(prior: Any) -> tuple[float, float]:
    try:
        a, b = prior
        return float(a), float(b)
    except (TypeError, ValueError):
        raise outside(
            "prior", f"{shown(prior)}: two numbers above 0 are needed, such as (0.5, 0.5)"
        ) from None


def _flat(**columns: ArrayLike) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
    arrays = {name: counts(name, values) for name, values in columns.items()}
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise outside(next(iter(arrays)), f"shapes do not broadcast: {shapes}") from None
    return [
        np.ascontiguousarray(np.broadcast_to(array, shape).reshape(-1)) for array in arrays.values()
    ], shape


def _moments(n: ArrayLike, c: ArrayLike, which: str, k: Any, m: Any, prior: Any) -> Posterior:
    (flat_n, flat_c), shape = _flat(n=n, c=c)
    mean, variance = _core.posterior(flat_n, flat_c, which, whole("k", k), whole("m", m), _prior(prior))
    if not shape:
        return Posterior(float(mean[0]), float(variance[0]))
    return Posterior(mean.reshape(shape), variance.reshape(shape))


def pass_at_k_posterior(
    n: ArrayLike, c: ArrayLike, k: int, *, prior: tuple[float, float] = JEFFREYS
) -> Posterior:
    r"""Return the posterior of the chance that at least one of k rollouts passes; k may exceed n.

    .. math:: 1 - \prod_{i<k} \frac{b + n - c + i}{a + b + n + i}

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task, 0 <= c <= n; n may be 0. They broadcast against each other.
    k : int
        Rollouts drawn, from 1 to 10,000,000.
    prior : (float, float)
        Shapes a and b of the Beta prior of a task's chance of success; Jeffreys' (1/2, 1/2) by default, (1, 1) is
        uniform.

    Returns
    -------
    Posterior
        `(mean, variance)`. Model-based: not an unbiased estimate.

    Raises
    ------
    ArgumentError
        For counts, k or a prior outside these ranges.

    Examples
    --------
    >>> from kofn.estimators import pass_at_k_posterior
    >>> pass_at_k_posterior(5, 0, 10, prior=(1, 1))
    Posterior(mean=0.625, variance=0.09014423076923077)
    """
    return _moments(n, c, "pass@k", k, 0, prior)


def pass_hat_k_posterior(
    n: ArrayLike, c: ArrayLike, k: int, *, prior: tuple[float, float] = JEFFREYS
) -> Posterior:
    """Return the posterior of the chance that all of k rollouts pass; k may exceed n.

    Parameters
    ----------
    n, c, k, prior
        As in `pass_at_k_posterior`.

    Returns
    -------
    Posterior
        `(mean, variance)`. Model-based: not an unbiased estimate.

    Raises
    ------
    ArgumentError
        As in `pass_at_k_posterior`.

    Examples
    --------
    >>> from kofn.estimators import pass_hat_k_posterior
    >>> pass_hat_k_posterior(5, 5, 10, prior=(1, 1)).mean
    0.375
    """
    return _moments(n, c, "pass^k", k, 0, prior)


def at_least_m_of_k_posterior(
    n: ArrayLike, c: ArrayLike, k: int, m: int, *, prior: tuple[float, float] = JEFFREYS
) -> Posterior:
    """Return the posterior of the chance that at least m of k rollouts pass; k may exceed n.

    Parameters
    ----------
    n, c, prior
        As in `pass_at_k_posterior`.
    k : int
        Rollouts drawn, from 1 to 100,000.
    m : int
        Passes, 0 <= m <= k.

    Returns
    -------
    Posterior
        `(mean, variance)`. Model-based: not an unbiased estimate.

    Raises
    ------
    ArgumentError
        As in `pass_at_k_posterior`, and for m > k.

    Examples
    --------
    >>> from kofn.estimators import at_least_m_of_k_posterior
    >>> at_least_m_of_k_posterior(0, 0, 3, 2, prior=(1, 1)).mean
    0.5
    """
    return _moments(n, c, "at_least_m", k, m, prior)


def bayes_at_n(
    outcomes: ArrayLike, weights: ArrayLike = (0.0, 1.0), *, earlier: ArrayLike | None = None
) -> Posterior:
    """Return the posterior of the mean worth of these tasks' rollouts: Bayes@N (Hariri et al., arXiv 2510.04265).

    The chances of the grades of a task have a uniform Dirichlet prior. It says how well *these tasks* are known, and
    nothing of other tasks. For passes and fails it is `pass_at_k_posterior` with k = 1 and prior (1, 1).

    Parameters
    ----------
    outcomes : array_like of int, shape (tasks, rollouts)
        The grade of each rollout, from 0 to the number of weights - 1.
    weights : array_like of float
        What each grade is worth; passes and fails by default.
    earlier : array_like of int, shape (tasks, any), optional
        Grades of earlier rollouts of the same tasks, to be counted with the prior.

    Returns
    -------
    Posterior
        `(mean, variance)`. Model-based: not an unbiased estimate.

    Raises
    ------
    ArgumentError
        For grades that have no weight, and for shapes that do not fit.

    Examples
    --------
    >>> from kofn.estimators import bayes_at_n
    >>> bayes_at_n([[0, 1, 1], [1, 1, 1]]).mean
    0.7
    """
    try:
        worth = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        worth = np.empty(0)
    if worth.ndim != 1 or len(worth) < 2 or not np.isfinite(worth).all():
        raise outside(
            "weights", f"{shown(weights)}: a finite number for each of at least two grades is needed"
        )
    seen = _grades("outcomes", outcomes, len(worth))
    if not seen.sum():
        raise outside("outcomes", "there is no task")
    nu = seen + 1
    if earlier is not None:
        before = _grades("earlier", earlier, len(worth))
        if len(before) != len(seen):
            raise outside("earlier", f"it has {len(before)} tasks, outcomes have {len(seen)}")
        nu += before
    total = int(nu[0].sum())
    chances = nu / total
    means = chances @ worth
    variances = (chances * (worth - means[:, None]) ** 2).sum(axis=1)
    return Posterior(math.fsum(means) / len(seen), math.fsum(variances) / (len(seen) ** 2 * (total + 1)))


def _grades(name: str, values: ArrayLike, grades: int) -> NDArray[np.int64]:
    """Return how often each task had each grade."""
    try:
        table = np.asarray(values)
    except ValueError:  # rows of different lengths
        table = np.empty(0)
    if table.ndim != 2 or not (np.issubdtype(table.dtype, np.integer) or table.dtype == np.bool_):
        raise outside(name, "a table of whole numbers, one row a task, is needed")
    if ((table < 0) | (table >= grades)).any():
        raise outside(name, f"grades are whole numbers from 0 to {grades - 1}, one for each weight")
    found: NDArray[np.int64] = np.stack([(table == grade).sum(axis=1) for grade in range(grades)], axis=1)
    return found


def probability_above(
    n_a: ArrayLike, c_a: ArrayLike, n_b: ArrayLike, c_b: ArrayLike, *, prior: tuple[float, float] = JEFFREYS
) -> Any:
    """Return the posterior probability that A's chance of success exceeds B's, for each task.

    The same probability holds for pass@k and pass^k of any k, which rise with that chance.

    Parameters
    ----------
    n_a, c_a, n_b, c_b : int or array_like of int
        Rollouts and successes of both; they broadcast against each other.
    prior : (float, float)
        Shapes of the Beta prior that both share.

    Returns
    -------
    float or ndarray of float64
        Model-based. 1/2 where neither has a rollout. Exact to about 1e-15 for any prior (Cook's recurrence).

    Raises
    ------
    ArgumentError
        As in `pass_at_k_posterior`.

    Examples
    --------
    >>> from kofn.estimators import probability_above
    >>> probability_above(8, 3, 8, 5, prior=(1, 1))
    0.1734677087618264
    """
    columns, shape = _flat(c_a=c_a, n_a=n_a, c_b=c_b, n_b=n_b)
    values = _core.probability_above((columns[0], columns[1], columns[2], columns[3]), _prior(prior))
    return values.reshape(shape) if shape else float(values[0])
