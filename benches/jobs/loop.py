"""The call of a training loop: the figures of one step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from harness import OURS, Job, nanoseconds

import kofn


def looping(_scale: float) -> Iterator[Job]:
    """128 tasks of 8 rollouts: four figures, as the call is written in a loop; and an Accumulator's update."""
    random = np.random.default_rng(7)
    groups = np.repeat(np.arange(128), 8)
    rewards = random.random(1024).astype(np.float32)
    asked = {"threshold": 0.5, "statistics": ["pass@k", "pass^k"], "k": [1, 8]}

    def by_hand() -> list[float]:
        _, codes = np.unique(groups, return_inverse=True)
        n, c = np.bincount(codes), np.bincount(codes, rewards >= 0.5)
        fail = [np.prod([(n - c - i) / (n - i) for i in range(k)], axis=0).clip(0) for k in (1, 8)]
        every = [np.prod([(c - i) / (n - i) for i in range(k)], axis=0).clip(0) for k in (1, 8)]
        return [*(1 - np.mean(f) for f in fail), *(np.mean(e) for e in every)]

    index = kofn.TaskIndex(groups)
    call = lambda groups: list(kofn.metrics(groups=groups, scores=rewards, **asked).values())
    contenders = {
        OURS: lambda: call(groups),
        "kofn, TaskIndex": lambda: call(index),
        "numpy by hand": by_hand,
    }
    moved = groups.nbytes + rewards.nbytes
    yield Job(
        "loop call",
        "calls",
        1,
        moved,
        0,
        contenders,
        gates=(nanoseconds(30_000),),
        aims=(nanoseconds(15_000),),
    )
    yield Job(
        "loop call, default statistics", "calls", 1, moved, 0, {OURS: lambda: _defaults(groups, rewards)}
    )
    accumulator = kofn.Accumulator(threshold=0.5, statistics=["pass@k", "pass^k"], k=[1, 8])
    update = {OURS: lambda: accumulator.update(groups=groups, scores=rewards)}
    yield Job("Accumulator.update", "calls", 1, moved, 0, update, agree=lambda a, b: a is b is None)


def _defaults(groups: np.ndarray, rewards: np.ndarray) -> list[float]:
    return list(kofn.metrics(groups=groups, scores=rewards, threshold=0.5).values())
