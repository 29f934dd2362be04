"""Two reports on their common tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from kofn import _values
from kofn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kofn.reports import Report

OnMismatch = Literal["raise", "intersect"]
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Joined:
    """Common tasks in the order of the first report; rows are None where a report's tasks are all of them, in order."""

    tasks: list[str]
    rows: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]
    only: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))


def join(a: Report, b: Report, on_mismatch: OnMismatch, names: tuple[str, str]) -> Joined:
    """Join by task id.

    Raises
    ------
    InputError
        The tasks differ, and that was not allowed, or none is common.
    """
    first, second = a.per_task.task, b.per_task.task
    if first == second and first:
        return Joined(first, (None, None))
    places = {task: place for place, task in enumerate(second)}
    kept = [place for place, task in enumerate(first) if task in places]
    tasks = [first[place] for place in kept]
    known = set(tasks)
    only = ([task for task in first if task not in places], [task for task in second if task not in known])
    if not tasks or (on_mismatch == "raise" and any(only)):
        raise InputError(_mismatch(only, len(tasks), names))
    rows = np.array(kept, np.int64), np.array([places[task] for task in tasks], np.int64)
    return Joined(tasks, rows, only)


def _mismatch(only: tuple[list[str], list[str]], common: int, names: tuple[str, str]) -> str:
    sides = [
        f"{len(tasks)} only in {name} ({listed(tasks)})"
        for tasks, name in zip(only, names, strict=True)
        if tasks
    ]
    apart = f"{names[0]} and {names[1]} do not have the same tasks: {', '.join(sides)}"
    if not common:
        return f"{apart}; none is in both, so there is nothing to compare"
    some = "the 1 common one" if common == 1 else f"the {common} common ones"
    return f'{apart}; on_mismatch="intersect" (--on-mismatch intersect) compares {some}'


def listed(tasks: Sequence[str], most: int = _SHOWN) -> str:
    """Return the first few ids."""
    more = [f"and {len(tasks) - most} more"] if len(tasks) > most else []
    return ", ".join([*(_values.shown(task) for task in tasks[:most]), *more])
