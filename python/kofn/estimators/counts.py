"""Estimators from counts: what k rollouts of n, of which c pass, are expected to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from kofn import _core
from kofn._values import outside
from kofn.estimators.inputs import counts, draws, number, output, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Count = int | np.integer[Any]
    Counts = NDArray[np.int64]
    Draws = Count | Sequence[int] | NDArray[Any]

__all__ = [
    "at_least_m_of_k",
    "exactly_m_of_k",
    "expected_attempts",
    "g_pass_at_k",
    "learnability",
    "mg_pass_at_k",
    "pass_at_k",
    "pass_hat_k",
]


def _aligned(n: ArrayLike, c: ArrayLike) -> tuple[Counts, Counts, tuple[int, ...]]:
    """Return flat counts, a single one where it stands for all, and the shape of the tasks."""
    n, c = counts("n", n), counts("c", c)
    try:
        shape = np.broadcast_shapes(n.shape, c.shape)
    except ValueError:
        raise outside("c", f"shape {c.shape} does not broadcast with n of shape {n.shape}") from None
    flat_n, flat_c = (
        array.reshape(-1)
        if array.size == 1 or array.shape == shape
        else np.broadcast_to(array, shape).reshape(-1)
        for array in (n, c)
    )
    return flat_n, flat_c, shape


def _with_k(
    kernel: Callable[..., NDArray[np.float64]],
    n: ArrayLike,
    c: ArrayLike,
    k: Any,
    out: NDArray[np.float64] | None = None,
) -> Any:
    flat_n, flat_c, shape = _aligned(n, c)
    ks, single = draws(k)
    if not single:
        shape = (*shape, len(ks))
    flat = output(out, shape)
    values = kernel(flat_n, flat_c, ks) if flat is None else kernel(flat_n, flat_c, ks, flat)
    if out is not None:
        return out
    return values.reshape(shape) if shape else float(values[0])


@overload
def pass_at_k(n: Count, c: Count, k: Count) -> float: ...
@overload
def pass_at_k(
    n: ArrayLike, c: ArrayLike, k: Draws, *, out: NDArray[np.float64] | None = ...
) -> NDArray[np.float64]: ...
def pass_at_k(n: ArrayLike, c: ArrayLike, k: Any, *, out: NDArray[np.float64] | None = None) -> Any:
    r"""Probability that at least one of k rollouts passes.

    .. math:: 1 - \binom{n-c}{k} \Big/ \binom{n}{k}

    Correctly rounded: the float nearest to the exact fraction.

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task, 0 <= c <= n <= 2**53; they broadcast against each other.
    k : int or sequence of int
        Rollouts drawn, 1 <= k <= n of every task.
    out : ndarray of float64, optional
        Contiguous, of the result's shape: filled and returned, instead of a new array, whose fresh memory costs as
        much as the values. Nothing in it is kept after an error.

    Returns
    -------
    float or ndarray of float64
        The shape of n and c; a sequence of k adds a last axis. A float where all three are single numbers.

    Raises
    ------
    ArgumentError
        For counts that are not whole numbers or lie outside these ranges, with their position. There is no unbiased
        estimate for k > n.

    References
    ----------
    Chen et al. 2021, Evaluating Large Language Models Trained on Code, arXiv 2107.03374.

    Examples
    --------
    >>> from kofn import pass_at_k
    >>> pass_at_k(5, 2, 3)
    0.9
    >>> pass_at_k([5, 5], [2, 0], [1, 3])
    array([[0.4, 0.9],
           [0. , 0. ]])
    """
    return _with_k(_core.pass_at_k, n, c, k, out)


@overload
def pass_hat_k(n: Count, c: Count, k: Count) -> float: ...
@overload
def pass_hat_k(
    n: ArrayLike, c: ArrayLike, k: Draws, *, out: NDArray[np.float64] | None = ...
) -> NDArray[np.float64]: ...
def pass_hat_k(n: ArrayLike, c: ArrayLike, k: Any, *, out: NDArray[np.float64] | None = None) -> Any:
    r"""Probability that all of k rollouts pass.

    .. math:: \binom{c}{k} \Big/ \binom{n}{k}

    Correctly rounded. Parameters, shapes and errors are those of `pass_at_k`.

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task; they broadcast against each other.
    k : int or sequence of int
        Rollouts drawn, 1 <= k <= n of every task.
    out : ndarray of float64, optional
        As in `pass_at_k`.

    Returns
    -------
    float or ndarray of float64
        The shape of n and c; a sequence of k adds a last axis.

    Raises
    ------
    ArgumentError
        As in `pass_at_k`.

    References
    ----------
    Yao et al. 2024, tau-bench, arXiv 2406.12045.

    Examples
    --------
    >>> from kofn import pass_hat_k
    >>> pass_hat_k(5, 4, 3)
    0.4
    >>> pass_hat_k(5, [5, 4, 2], 3)
    array([1. , 0.4, 0. ])
    """
    return _with_k(_core.pass_hat_k, n, c, k, out)


@overload
def g_pass_at_k(n: Count, c: Count, k: Count, tau: float) -> float: ...
@overload
def g_pass_at_k(n: ArrayLike, c: ArrayLike, k: Draws, tau: float) -> NDArray[np.float64]: ...
def g_pass_at_k(n: ArrayLike, c: ArrayLike, k: Any, tau: float) -> Any:
    r"""G-Pass@k: probability that at least a share tau of k rollouts pass.

    .. math:: \sum_{j \ge m} \binom{c}{j} \binom{n-c}{k-j} \Big/ \binom{n}{k}, \quad m = \max(1, \lceil \tau k \rceil)

    A product tau k within 1e-9 of a whole number counts as that number: the published code takes the plain ceiling,
    which float noise raises for 0.55 of 100 and twelve more of the usual pairs.

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task; they broadcast against each other.
    k : int or sequence of int
        Rollouts drawn, 1 <= k <= n of every task.
    tau : float
        Share that must pass, from 0 (pass@k) to 1 (pass^k).

    Returns
    -------
    float or ndarray of float64
        The shape of n and c; a sequence of k adds a last axis. Relative error about 1e-15.

    Raises
    ------
    ArgumentError
        As in `pass_at_k`, and for tau outside 0 to 1.

    References
    ----------
    Liu et al. 2024, arXiv 2412.13147.

    Examples
    --------
    >>> from kofn import g_pass_at_k
    >>> round(g_pass_at_k(10, 6, 4, 0.5), 6)
    0.880952
    """
    share = number("tau", tau)
    return _with_k(lambda n, c, ks: _core.g_pass_at_k(n, c, ks, share), n, c, k)


@overload
def mg_pass_at_k(n: Count, c: Count, k: Count, *, normalize: bool = ...) -> float: ...
@overload
def mg_pass_at_k(n: ArrayLike, c: ArrayLike, k: Draws, *, normalize: bool = ...) -> NDArray[np.float64]: ...
def mg_pass_at_k(n: ArrayLike, c: ArrayLike, k: Any, *, normalize: bool = False) -> Any:
    r"""mG-Pass@k: G-Pass@k averaged over the shares from one half to one.

    .. math:: \frac{2}{k} \sum_{i=\lceil k/2 \rceil + 1}^{k} P(\text{at least } i \text{ of } k \text{ pass})

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task; they broadcast against each other.
    k : int or sequence of int
        Rollouts drawn, 1 <= k <= n of every task.
    normalize : bool, default False
        The published form can reach only (k-1)/k for odd k, and is 0 for k = 1. True divides the sum by its number of
        terms, floor(k/2), so that 1 can be reached; it needs k >= 2.

    Returns
    -------
    float or ndarray of float64
        The shape of n and c; a sequence of k adds a last axis.

    Raises
    ------
    ArgumentError
        As in `pass_at_k`, and for k = 1 with `normalize`.

    References
    ----------
    Liu et al. 2024, arXiv 2412.13147.

    Examples
    --------
    >>> from kofn.estimators import mg_pass_at_k
    >>> mg_pass_at_k(4, 4, 4), mg_pass_at_k(3, 3, 3, normalize=True)
    (1.0, 1.0)
    """
    return _with_k(lambda n, c, ks: _core.mg_pass_at_k(n, c, ks, normalize), n, c, k)


@overload
def at_least_m_of_k(n: Count, c: Count, k: Count, m: int) -> float: ...
@overload
def at_least_m_of_k(n: ArrayLike, c: ArrayLike, k: Draws, m: int) -> NDArray[np.float64]: ...
def at_least_m_of_k(n: ArrayLike, c: ArrayLike, k: Any, m: int) -> Any:
    r"""Probability that at least m of k rollouts pass.

    .. math:: \sum_{j \ge m} \binom{c}{j} \binom{n-c}{k-j} \Big/ \binom{n}{k}

    m = 1 is pass@k and m = k is pass^k, to the last bit.

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task; they broadcast against each other.
    k : int or sequence of int
        Rollouts drawn, 1 <= k <= n of every task.
    m : int
        Passes needed, 0 <= m <= k.

    Returns
    -------
    float or ndarray of float64
        The shape of n and c; a sequence of k adds a last axis. Relative error about 1e-15.

    Raises
    ------
    ArgumentError
        As in `pass_at_k`, and for m > k.

    Examples
    --------
    >>> from kofn.estimators import at_least_m_of_k
    >>> at_least_m_of_k(5, 2, 3, 2)
    0.3
    """
    passes = whole("m", m)
    return _with_k(lambda n, c, ks: _core.at_least_m_of_k(n, c, ks, passes), n, c, k)


@overload
def exactly_m_of_k(n: Count, c: Count, k: Count, m: int) -> float: ...
@overload
def exactly_m_of_k(n: ArrayLike, c: ArrayLike, k: Draws, m: int) -> NDArray[np.float64]: ...
def exactly_m_of_k(n: ArrayLike, c: ArrayLike, k: Any, m: int) -> Any:
    r"""Probability that exactly m of k rollouts pass.

    .. math:: \binom{c}{m} \binom{n-c}{k-m} \Big/ \binom{n}{k}

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task; they broadcast against each other.
    k : int or sequence of int
        Rollouts drawn, 1 <= k <= n of every task.
    m : int
        Passes, 0 <= m <= k.

    Returns
    -------
    float or ndarray of float64
        The shape of n and c; a sequence of k adds a last axis. Relative error about 1e-15.

    Raises
    ------
    ArgumentError
        As in `pass_at_k`, and for m > k.

    Examples
    --------
    >>> from kofn.estimators import exactly_m_of_k
    >>> exactly_m_of_k(4, 2, 2, 1)
    0.6666666666666666
    """
    passes = whole("m", m)
    return _with_k(lambda n, c, ks: _core.exactly_m_of_k(n, c, ks, passes), n, c, k)


@overload
def expected_attempts(n: Count, c: Count, k: Count) -> float: ...
@overload
def expected_attempts(n: ArrayLike, c: ArrayLike, k: Draws) -> NDArray[np.float64]: ...
def expected_attempts(n: ArrayLike, c: ArrayLike, k: Any) -> Any:
    r"""Mean number of rollouts drawn until the first that passes, at most k.

    .. math:: \sum_{j=0}^{k-1} \binom{n-c}{j} \Big/ \binom{n}{j}

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task; they broadcast against each other.
    k : int or sequence of int
        The most that are drawn, 1 <= k <= n of every task.

    Returns
    -------
    float or ndarray of float64
        Rollouts, from 1 to k; the shape of n and c, and a sequence of k adds a last axis.

    Raises
    ------
    ArgumentError
        As in `pass_at_k`.

    Examples
    --------
    >>> from kofn.estimators import expected_attempts
    >>> expected_attempts(4, 2, 4), expected_attempts(4, 0, 3)
    (1.6666666666666667, 3.0)
    """
    return _with_k(_core.expected_attempts, n, c, k)


@overload
def learnability(n: Count, c: Count, *, unbiased: bool = ...) -> float: ...
@overload
def learnability(n: ArrayLike, c: ArrayLike, *, unbiased: bool = ...) -> NDArray[np.float64]: ...
def learnability(n: ArrayLike, c: ArrayLike, *, unbiased: bool = False) -> Any:
    r"""How much a task has to teach: 1 where half of its rollouts pass, 0 where none or all do.

    .. math:: 4 \frac{c}{n} \left(1 - \frac{c}{n}\right), \quad\text{unbiased: } \frac{4 c (n-c)}{n (n-1)}

    Correctly rounded. The plain form is low by the factor (n-1)/n as an estimate of 4 p (1-p).

    Parameters
    ----------
    n, c : int or array_like of int
        Rollouts and successes of each task, n >= 1; they broadcast against each other.
    unbiased : bool, default False
        Take the second form, which needs n >= 2 and can exceed 1.

    Returns
    -------
    float or ndarray of float64
        The shape of n and c.

    Raises
    ------
    ArgumentError
        For counts that are not whole numbers or lie outside these ranges.

    References
    ----------
    Rutherford et al. 2024, arXiv 2408.15099.

    Examples
    --------
    >>> from kofn import learnability
    >>> learnability(4, [0, 1, 2])
    array([0.  , 0.75, 1.  ])
    >>> learnability(4, 1, unbiased=True)
    1.0
    """
    flat_n, flat_c, shape = _aligned(n, c)
    values = _core.learnability(flat_n, flat_c, unbiased)
    return values.reshape(shape) if shape else float(values[0])
