"""Reports made by hand, by way of the snapshots that a tally hands over."""

from __future__ import annotations

from typing import Any

import numpy as np

from kofn import Report

NAN = float("nan")
DIAGNOSES = {"reliable": 0, "unreliable": 1, "incapable": 2, "unscorable": 3, None: 255}


def from_snapshot(snapshot: dict[str, Any]) -> Report:
    """Make a report as a tally does."""
    return Report._from_snapshot(snapshot)


def section(**changes: Any) -> dict[str, Any]:
    """Three tasks of five requested rollouts: 2, 3 and 0 successes; one rollout broke, two are missing."""
    part: dict[str, Any] = {
        "counts": {
            "tasks": 3, "requested": 15, "recorded": 13, "missing": 2,
            "succeeded": 11, "errored": 1, "cancelled": 0, "unfinished": 1,
            "scored": 11, "indeterminate": 1, "scorable": 10, "successes": 5,
            "registry": {"passed": 5, "failed": 5, "unscorable": 2},
            "diagnosis": {"reliable": 0, "unreliable": 2, "incapable": 1, "unscorable": 0},
        },
        "statistics": [("pass@1", 1 / 3, 3), ("pass^5", 0.0, 3), ("mean_score", 0.65, 2)],
        "gaps": [],
        "omitted": [("mean_duration", "no rollout recorded a duration")],
        "tasks": tasks(
            ["a", "b", "c"],
            n=[5, 5, 5],
            recorded=[5, 5, 3],
            successes=[2, 3, 0],
            diagnosis=["unreliable", "unreliable", "incapable"],
            scored=[5, 5, 0],
            mean=[0.6, 0.7, NAN],
            statistics={"pass@1": [0.4, 0.6, 0.0], "pass^5": [0.0, 0.0, 0.0], "mean_score": [0.6, 0.7, NAN]},
        ),
    }  # fmt: skip
    return part | changes


def tasks(
    ids: list[str],
    *,
    n: list[int] | None = None,
    requested: list[int] | None = None,
    recorded: list[int] | None = None,
    successes: list[int] | None = None,
    diagnosis: list[str | None] | None = None,
    scored: list[int] | None = None,
    mean: list[float] | None = None,
    statistics: dict[str, list[float]] | None = None,
) -> dict[str, Any]:
    """Columns of tasks; best, worst and spread follow the mean."""

    def ints(column: list[int] | None) -> Any:
        return None if column is None else np.array(column, np.int64)

    means = np.array([NAN] * len(ids) if mean is None else mean, np.float64)
    return {
        "task": ids,
        "n": ints(n),
        "requested": ints(n if requested is None else requested),
        "recorded": ints([0] * len(ids) if recorded is None else recorded),
        "successes": ints(successes),
        "diagnosis": None if diagnosis is None else np.array([DIAGNOSES[d] for d in diagnosis], np.uint8),
        "scored": ints([0] * len(ids) if scored is None else scored),
        "mean": means,
        "best": means + 0.25,
        "worst": means - 0.25,
        "spread": means - means + 0.5,
        "statistics": {label: np.array(column, np.float64) for label, column in (statistics or {}).items()},
    }


def snapshot(**changes: Any) -> dict[str, Any]:
    """A whole snapshot, with changes."""
    head = {
        "policy": {"id": "score_threshold.v1", "threshold": 0.8},
        "denominator": "requested",
        "requested_from": "declared",
        "run": {"id": "r1", "sources": ["run.jsonl"]},
        "xxh3": {"run.jsonl": "0123456789abcdef"},
        "notes": ["mean_score is over 2 of 3 tasks"],
        "by": None,
        "cluster": None,
        "groups": None,
    }
    return section() | head | changes


def grouped() -> dict[str, Any]:
    """The same with three groups: `math`, `untagged` (a value like any other) and tasks without the tag."""
    bare = section(statistics=[("pass@1", 0.2, 3)], omitted=[("mean_score", "no rollout recorded a score")])
    bare["tasks"] = tasks(["d"], n=[5], successes=[1], statistics={"pass@1": [0.2]})
    return snapshot(by="suite", groups=[("math", section()), ("untagged", bare), (None, bare)])
