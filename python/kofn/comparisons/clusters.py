"""Tasks that are not independent of each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn import _values
from kofn.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kofn.reports import Report

# "A cluster of its own".
ALONE = 2**32 - 1
_LARGE = 2.0**960


def cluster_codes(
    cluster: str | Mapping[str, Any] | None, reports: Sequence[Report], tasks: Sequence[str]
) -> tuple[NDArray[np.uint32] | None, list[str]]:
    """Return each task's cluster as a number, and what should be said of it; None without clusters.

    Raises
    ------
    ArgumentError
        A tag that no report was made by, or a task that a mapping does not name.
    """
    if cluster is None:
        return None, []
    if isinstance(cluster, Mapping):
        absent = [task for task in tasks if task not in cluster]
        if absent:
            raise _values.outside(
                "cluster",
                f"it does not say where {len(absent)} of the tasks belong, such as {_values.shown(absent[0])}",
            )
        found: Mapping[str, Any] = cluster
    elif isinstance(cluster, str):
        found = _of_tag(cluster, reports)
    else:
        raise ArgumentTypeError(
            f"cluster: {_values.shown(cluster)}, {type(cluster).__name__}; give a tag, or a mapping of task to cluster"
        )
    known: dict[Any, int] = {}
    codes = np.full(len(tasks), ALONE, np.uint32)
    for at, task in enumerate(tasks):
        value = found.get(task)
        if value is not None:
            codes[at] = known.setdefault(value, len(known))
    alone = int((codes == ALONE).sum())
    notes = [f"{alone} tasks are in no cluster, and count as one each"] if alone else []
    units = len(known) + alone
    if units < 30:
        notes.append(f"{units} clusters are few: the intervals are rough")
    return codes, notes


def _of_tag(tag: str, reports: Sequence[Report]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for report in reports:
        if report.cluster == tag:
            tasks = report.per_task
            found |= zip(tasks.task, tasks.cluster or [None] * len(tasks), strict=True)
        if report.by == tag:
            for value, group in report.groups.items():
                if value is not None:
                    found |= dict.fromkeys(group.per_task.task, value)
    if not found:
        raise _values.outside(
            "cluster",
            f"no task has the tag {_values.shown(tag)}; a report knows a tag that it was made with (cluster=... or by=...)",
        )
    return found


def n_clusters(clusters: NDArray[np.uint32]) -> int:
    """Return how many clusters there are; a task in none is one of its own."""
    together = clusters != ALONE
    return len(np.unique(clusters[together])) + int((~together).sum())


def cluster_sums(
    differences: NDArray[np.float64], clusters: NDArray[np.uint32], scale: float
) -> tuple[NDArray[np.float64], float]:
    """Return the exact sum of each cluster, rounded once, and the size of the values behind it, both in one unit."""
    if scale > _LARGE:
        # The sums of such values may be more than a float holds; the test is about their shares alone.
        differences, scale = differences / _LARGE, scale / _LARGE
    together = clusters != ALONE
    order = np.argsort(clusters[together], kind="stable")
    values, codes = differences[together][order], clusters[together][order]
    parts = np.split(values, np.flatnonzero(np.diff(codes)) + 1) if len(values) else []
    sums = [math.fsum(part) for part in parts]
    largest = max((len(part) for part in parts), default=1)
    return np.array([*sums, *differences[~together].tolist()]), scale * largest
