"""Columns of rollouts as users have them, as the contiguous arrays that the core borrows."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn import _values
from kofn._core import TaskIndex, consecutive_groups
from kofn.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt


def array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return any array-like as a NumPy array: lists, Arrow and pandas columns, tensors of any device.

    Masked entries become None: what a mask hides was not recorded.
    """
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        column = np.asarray(values.data)
        if hidden.any():
            column = column.astype(object)
            column[hidden] = None
        return column
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach") and hasattr(values, "cpu"):
        values = values.detach()
        # NumPy has no bfloat16 and no float8: float32 holds them exactly.
        if str(getattr(values, "dtype", "")).rpartition(".")[2].startswith(("bfloat16", "float8")):
            values = values.float()
        return np.asarray(values.cpu().numpy())
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}") from None
    except TypeError as error:
        raise ArgumentTypeError(f"{name}: {error}") from None


def _refuse(name: str, values: npt.NDArray[Any], bad: npt.NDArray[np.bool_], allowed: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"{name}: entry {at} is {values.reshape(-1)[at]}; {allowed}")


def _objects(
    name: str, values: npt.NDArray[Any], allowed: str, *, exact: bool = False
) -> npt.NDArray[np.float64]:
    """Return Python objects as floats, None (and pandas' NA) as NaN; text is never read as a number.

    With `exact` an integer that a float cannot hold is refused rather than rounded.
    """
    out = np.empty(values.size, np.float64)
    for at, value in enumerate(values.reshape(-1).tolist()):
        if value is None or type(value).__name__ == "NAType":
            out[at] = np.nan
        elif isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            try:
                out[at] = value
            except OverflowError:
                out[at] = np.inf
            if isinstance(value, int) and (np.isinf(out[at]) or (exact and float(out[at]) != value)):
                raise ArgumentError(f"{name}: entry {at} is {_values.shown(value)}; {allowed}")
        else:
            raise ArgumentTypeError(f"{name}: entry {at} is {_values.shown(value)}; {allowed}")
    return out.reshape(values.shape)


def truths(values: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return bools as contiguous bytes of 0 and 1: `view` makes others, which NumPy calls true and Rust cannot hold."""
    column = np.ascontiguousarray(values)
    data = column.view(np.uint8)
    return column if data.max(initial=0) <= 1 else np.not_equal(data, 0)


def floats(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return scores or seconds as float64, NaN where nothing was recorded."""
    column = array(name, values)
    if column.dtype == object:
        column = _objects(name, column, "it holds numbers, None or NaN where nothing was recorded")
    if column.dtype.kind not in "buif":
        raise ArgumentTypeError(f"{name}: holds {column.dtype}, not numbers")
    # A long double beyond float64 becomes an infinity, which is refused by name later.
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(column, np.float64)


def verdicts(name: str, values: Any) -> npt.NDArray[np.int8]:
    """Return pass or fail as 1 and 0, -1 where no verdict was recorded (None or NaN)."""
    column = array(name, values)
    if column.dtype == np.bool_:
        return truths(column).view(np.int8)
    allowed = "it holds True or False (1 or 0), None or NaN where there is no verdict"
    if column.dtype == object:
        column = _objects(name, column, allowed)
    if column.dtype.kind not in "uif":
        raise ArgumentTypeError(f"{name}: holds {column.dtype}; {allowed}")
    missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(column.shape, np.bool_)
    _refuse(name, column, ((column != 0) & (column != 1) & ~missing).reshape(-1), allowed)
    return np.ascontiguousarray(np.where(missing, -1, column == 1), np.int8)


def totals(name: str, values: Any) -> npt.NDArray[np.int64]:
    """Return token totals as int64, -1 where none was reported (None or NaN)."""
    column = array(name, values)
    allowed = "it holds whole numbers from 0, None or NaN where none was reported"
    if column.dtype == object:
        column = _objects(name, column, allowed, exact=True)
    if column.dtype.kind not in "uif":
        raise ArgumentTypeError(f"{name}: holds {column.dtype}; {allowed}")
    if column.dtype.kind == "f":
        column = floats(name, column)  # half precision cannot hold the bound it is compared with
    missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(column.shape, np.bool_)
    bad = ~missing & ((column < 0) | (column > 2**53))
    if column.dtype.kind == "f":
        bad |= ~missing & (column != np.floor(column))
    _refuse(name, column, bad.reshape(-1), allowed)
    return np.ascontiguousarray(np.where(missing, -1, column), np.int64)


def bools(name: str, values: Any) -> npt.NDArray[np.bool_]:
    """Return a strict bool column."""
    column = array(name, values)
    if column.dtype != np.bool_:
        column = verdicts(name, column)
        if (column < 0).any():
            at = int(np.flatnonzero(column.reshape(-1) < 0)[0])
            raise ArgumentError(f"{name}: entry {at} is None or NaN; it holds True or False")
    return truths(np.asarray(column, np.bool_))


READERS: dict[str, Callable[[str, Any], npt.NDArray[Any]]] = {
    "passed": verdicts,
    "scores": floats,
    "durations": floats,
    "tokens": totals,
    "valid": bools,
}


def grouped(
    groups: Any, group_size: int | None, columns: dict[str, Any]
) -> tuple[TaskIndex, dict[str, npt.NDArray[Any]]]:
    """Return the tasks of the rollouts and the columns that were given, each flat and checked.

    A 2-D column is one row a task and needs neither `groups` nor `group_size`.
    """
    ids, flat = ungrouped(groups, group_size, columns)
    index = ids if isinstance(ids, TaskIndex) else TaskIndex(ids)
    rollouts = next(iter(flat.values())).size
    if len(index) != rollouts:
        raise ArgumentError(f"groups: has {len(index)} entries, there are {rollouts} rollouts")
    return index, flat


def ungrouped(
    groups: Any, group_size: int | None, columns: dict[str, Any]
) -> tuple[Any, dict[str, npt.NDArray[Any]]]:
    """Return the same with the ids as they were given, unchecked, where nothing but they says the tasks."""
    given = {name: READERS[name](name, values) for name, values in columns.items() if values is not None}
    if not given:
        raise ArgumentError("nothing to count: give passed, scores, durations or tokens")
    if any(column.ndim not in {1, 2} for column in given.values()):
        name = next(name for name, column in given.items() if column.ndim not in {1, 2})
        raise ArgumentError(
            f"{name}: has {given[name].ndim} dimensions, not 1 (rollouts) or 2 (tasks, rollouts)"
        )
    first, lead = next(iter(given.items()))
    for name, column in given.items():
        if column.shape != lead.shape:
            raise ArgumentError(f"{name}: has shape {column.shape}, {first} has {lead.shape}")
    if lead.ndim == 2 and groups is None:
        if group_size is not None and group_size != lead.shape[1]:
            raise ArgumentError(f"group_size: is {group_size}, rows of {first} have {lead.shape[1]} rollouts")
        group_size = lead.shape[1] or 1
    flat = {name: column.reshape(-1) for name, column in given.items()}
    if groups is not None and group_size is not None:
        raise ArgumentError("groups and group_size say the same thing: give one of the two")
    if groups is not None:
        return groups if isinstance(groups, TaskIndex) else _flat_groups(groups, lead), flat
    if group_size is not None:
        return consecutive_groups(lead.size, _length(group_size, lead.size)), flat
    raise ArgumentError("groups: say which task each rollout belongs to, or give group_size or 2-D columns")


def _length(group_size: Any, rollouts: int) -> int:
    """Return the size of groups; whether it divides the rollouts is the core's to say."""
    try:
        length = operator.index(group_size)
    except TypeError:
        length = None
    if length is None or isinstance(group_size, bool):
        raise ArgumentTypeError(f"group_size: {_values.shown(group_size)} is not a whole number")
    if length < 1 or length > max(rollouts, 1 << 53):
        raise ArgumentError(f"group_size: {rollouts} rollouts cannot be cut into groups of {length}")
    return length


def _flat_groups(groups: Any, lead: npt.NDArray[Any]) -> Any:
    if lead.ndim == 1:
        return groups
    groups = array("groups", groups)
    return groups.reshape(-1) if groups.shape == lead.shape else groups
