"""Inputs of a given size: arrays of rollouts, and files in the native form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def rollouts(rows: int, tasks: int, order: str, *, discrete: bool, seed: int = 7) -> dict[str, np.ndarray]:
    """Return ids, verdicts and scores of `rows` rollouts; `order` is "random", "grouped" or "skewed"."""
    random = np.random.default_rng(seed)
    groups = random.integers(0, tasks, rows)
    if order == "skewed":
        # Half of all rollouts are of one task in a hundred.
        groups[random.random(rows) < 0.5] %= max(tasks // 100, 1)
    if order == "grouped":
        groups.sort()
    scores = random.integers(0, 11, rows) / 10 if discrete else random.random(rows)
    return {"groups": groups, "passed": scores > random.random(tasks)[groups], "scores": scores}


def checks(rows: int, mean: int = 5, seed: int = 7) -> dict[str, np.ndarray]:
    """Return CSR checks: 1 to 2 mean - 1 a rollout, the first required."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 2 * mean, rows)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    total = int(offsets[-1])
    required = random.random(total) < 0.5
    required[offsets[:-1]] = True
    return {"passed": random.random(total) < 0.8, "required": required, "offsets": offsets}


def native(path: Path, megabytes: int) -> Path:
    """Write a native file of about that size: 8 rollouts a task, some 500 bytes each, as environments write them."""
    if path.exists() and abs(path.stat().st_size / 1e6 - megabytes) < 2:
        return path
    random = np.random.default_rng(7)
    with path.open("w") as file:
        file.write('{"run": {"requested_rollouts": 8}}\n')
        task = 0
        while file.tell() < megabytes * 1e6:
            rates = random.random(3)
            for rollout in range(8):
                passed = random.random(3) < rates
                file.write(
                    json.dumps(_record(task, rollout, passed.tolist(), random.random(3).tolist())) + "\n"
                )
            task += 1
    return path


def _record(task: int, rollout: int, passed: list[bool], x: list[float]) -> dict[str, object]:
    labels = ["total is right", "no other file changed", "report saved"]
    found = [
        {"label": label, "required": i < 2, "passed": ok, "detail": f"found {x[i]:.3f}"}
        for i, (label, ok) in enumerate(zip(labels, passed, strict=True))
    ]
    return {
        "task": f"repository-{task:06d}",
        "rollout": rollout,
        "status": "succeeded",
        "verifiers": [
            {"name": "tests", "checks": found, "readings": [{"metric": "latency_s", "value": x[0]}]}
        ],
        "duration_s": round(100 * x[1], 3),
        "usage": {"input_tokens": int(1e4 * x[2]), "output_tokens": int(1e3 * x[0])},
        "tags": {"suite": f"s{task % 5}"},
    }
