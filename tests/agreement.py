"""Where a report of kofn, as JSON, differs from the oracle's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oracle import Value

Json = dict[str, Any]

SAME_BITS = ("counts", "statistics", "omitted", "tasks")
"""The keys that no order, split or number of threads may change (spec 9)."""
COUNTS = (
    *("tasks", "requested", "recorded", "missing", "succeeded", "errored", "cancelled", "unfinished"),
    *("scored", "indeterminate", "scorable", "successes", "registry", "diagnosis"),
)
TASK_KEYS = ("n", "requested", "recorded", "successes", "diagnosis")
UNTAGGED = "untagged"


def differences(found: Json, expected: Json) -> list[str]:
    """List what differs between a report and the oracle's, each in a line."""
    lines = [
        f"{key}: {found.get(key)!r}, oracle {expected[key]!r}"
        for key in ("policy", "denominator", "requested_from")
        if found.get(key) != expected[key]
    ]
    lines += part_differences(found, expected, "")
    lines += group_differences(found, expected["groups"])
    return lines


def group_differences(found: Json, expected: Mapping[str | None, Json]) -> Iterator[str]:
    """Compare groups; tasks without the tag stand under `untagged`, beside them (spec 6.11)."""
    groups = dict(found.get("groups", {}))
    if UNTAGGED in found:
        groups[None] = found[UNTAGGED]
    if set(groups) != set(expected):
        yield f"groups {list(groups)}, oracle {list(expected)}"
        return
    for value, part in expected.items():
        yield from part_differences(groups[value], part, f"groups[{value!r}].")


def part_differences(found: Json, expected: Json, where: str) -> Iterator[str]:
    """Compare counts, statistics, omissions and tasks of a run or a group."""
    for key in COUNTS:
        if found["counts"].get(key) != expected["counts"].get(key):
            yield f"{where}counts.{key}: {found['counts'].get(key)!r}, oracle {expected['counts'].get(key)!r}"
    if set(found["statistics"]) != set(expected["statistics"]):
        yield f"{where}statistics: {sorted(found['statistics'])}, oracle {sorted(expected['statistics'])}"
        return
    if set(found["omitted"]) != expected["omitted"] or not all(found["omitted"].values()):
        yield f"{where}omitted: {found['omitted']}, oracle {sorted(expected['omitted'])}"
    reach = max(
        (abs(row["scores"].get(end, 0.0)) for row in expected["tasks"] for end in ("best", "worst")),
        default=0,
    )
    for label, value in expected["statistics"].items():
        figure = found["statistics"][label]
        if figure["n_tasks"] != value.n_tasks or not run_level(label, figure["value"], value, reach):
            yield f"{where}{label}: {figure}, oracle {value.rounded!r} over {value.n_tasks} ({value.exact})"
    if [row["task"] for row in found["tasks"]] != [row["task"] for row in expected["tasks"]]:
        yield f"{where}tasks: {[r['task'] for r in found['tasks']]}, oracle {[r['task'] for r in expected['tasks']]}"
        return
    for row, right in zip(found["tasks"], expected["tasks"], strict=True):
        yield from task_differences(row, right, f"{where}tasks[{right['task']!r}].")


def task_differences(found: Json, expected: Json, where: str) -> Iterator[str]:
    """Compare one task's row."""
    for key in TASK_KEYS:
        if found.get(key) != expected[key]:
            yield f"{where}{key}: {found.get(key)!r}, oracle {expected[key]!r}"
    scores = {key: value for key, value in found.get("scores", {}).items() if value is not None} or {
        "scored": 0
    }
    if scores != expected["scores"]:
        yield f"{where}scores: {scores}, oracle {expected['scores']}"
    if set(found["statistics"]) != set(expected["statistics"]):
        yield f"{where}statistics: {sorted(found['statistics'])}, oracle {sorted(expected['statistics'])}"
        return
    reach = max((abs(expected["scores"].get(end, 0.0)) for end in ("best", "worst")), default=0.0)
    for label, value in expected["statistics"].items():
        if not task_level(label, found["statistics"][label], value, reach):
            yield f"{where}{label}: {found['statistics'][label]!r}, oracle {float(value)!r} ({value})"


def expected_extreme(label: str) -> bool:
    """Whether a label's value is a sum with rational weights, good to a few units of its scores' last place."""
    return label.startswith(("best_of_", "worst_of_"))


def near(found: float, exact: Fraction, reach: float) -> bool:
    """Within the error bound of order statistics: a few roundings of the largest score."""
    return abs(Fraction(found) - exact) <= 8 * Fraction(math.ulp(reach))


def task_level(label: str, found: float, exact: Fraction, reach: float) -> bool:
    """A task's figure is correctly rounded."""
    return near(found, exact, reach) if expected_extreme(label) else found == float(exact)


def run_level(label: str, found: float, value: Value, reach: float) -> bool:
    """A run's figure is the mean of its tasks' floats, correctly rounded."""
    return near(found, value.exact, reach) if expected_extreme(label) else found == value.rounded
