"""Which rollouts belong to which task, and their plain counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kofn import _columns, _core
from kofn._core import TaskIndex

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["TaskIndex", "counts"]


def counts(
    passed: Any, *, groups: Any = None, group_size: int | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count rollouts and passes of each task.

    Parameters
    ----------
    passed : array_like, shape (R,) or (T, n)
        True or False (1 or 0) for each rollout; 2-D: one row a task. None and NaN are refused: a rollout without a
        verdict is neither a pass nor a fail, and leaving it out is your decision.
    groups : array_like, shape (R,), or TaskIndex, optional
        The task of each rollout.
    group_size : int, optional
        Rollouts of one task stand together, this many each. Without either, 1-D input is one task.

    Returns
    -------
    n, c : numpy.ndarray of int64, shape (T,)
        Rollouts and passes of each task, in order of first appearance.

    Raises
    ------
    ArgumentError
        If a value is neither true nor false, or the shapes do not fit.

    Examples
    --------
    >>> n, c = counts([True, False, True], groups=["a", "a", "b"])
    >>> n.tolist(), c.tolist()
    ([2, 1], [1, 1])
    """
    passed = _columns.array("passed", passed)
    if groups is None and group_size is None and passed.ndim == 1:
        group_size = max(passed.size, 1)
    ids, flat = _columns.ungrouped(groups, group_size, {"passed": passed})
    return _core.count(ids, flat["passed"])
