"""Jobs on arrays: checks, counts, estimators, scores, and the loop's call."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.util import find_spec

import generate
import numpy as np
from harness import OURS, Job

import kofn


def grading(rows: int) -> Iterator[Job]:
    """Grade checks given as CSR arrays."""
    data = generate.checks(rows)
    passed, required, offsets = data["passed"], data["required"], data["offsets"]
    out = kofn.grade_batch(passed, required, offsets)

    def cumsum() -> np.ndarray:
        sums = np.concatenate([[0], np.cumsum(passed)])
        failed = np.concatenate([[0], np.cumsum(required & ~passed)])
        reward = (sums[offsets[1:]] - sums[offsets[:-1]]) / np.diff(offsets)
        return np.where(failed[offsets[1:]] == failed[offsets[:-1]], reward, -reward)

    def signed(batch: kofn.GradeBatch) -> np.ndarray:
        return np.where(batch.passed, batch.reward, -batch.reward)

    contenders = {OURS: lambda: kofn.grade_batch(passed, required, offsets, out=out), "numpy cumsum": cumsum}
    absent = []
    if find_spec("numba"):
        contenders["numba loop"] = _numba_grading(passed, required, offsets)
    else:
        absent.append("numba")
    agree = lambda a, b: bool(
        np.allclose(*(signed(x) if isinstance(x, kofn.GradeBatch) else x for x in (a, b)))
    )
    yield Job("grade", "rollouts", rows, 2 * passed.size + 8 * rows + 13 * rows, contenders, agree, absent)


def _numba_grading(passed: np.ndarray, required: np.ndarray, offsets: np.ndarray) -> object:
    import numba

    @numba.njit
    def grade(passed, required, offsets, reward):  # noqa: ANN001
        for i in range(len(offsets) - 1):
            good, failed = 0, 0
            for j in range(offsets[i], offsets[i + 1]):
                good += passed[j]
                failed += required[j] and not passed[j]
            share = good / (offsets[i + 1] - offsets[i])
            reward[i] = -share if failed else share
        return reward

    reward = np.empty(len(offsets) - 1)
    return lambda: grade(passed, required, offsets, reward)


def counting(rows: int) -> Iterator[Job]:
    """Count n and c of each task from integer and from text ids."""
    tasks = max(rows // 100, 1)
    for order in ("random", "grouped"):
        data = generate.rollouts(rows, tasks, order, discrete=True)
        for kind in ("integer", "text"):
            groups = data["groups"] if kind == "integer" else data["groups"].astype(str).astype(object)
            yield _counting(f"count, {kind} ids, {order}", groups, data["passed"])


def _counting(name: str, groups: np.ndarray, passed: np.ndarray) -> Job:
    ids = groups.tolist() if groups.dtype == object else groups
    total = lambda n, c: [np.sort(np.asarray(n)).tolist(), int(np.asarray(c).sum())]
    contenders = {OURS: lambda: total(*kofn.counts(passed, groups=ids))}
    absent = []
    if find_spec("pandas"):
        import pandas as pd

        def pandas() -> object:
            codes, unique = pd.factorize(groups)
            return total(np.bincount(codes, minlength=len(unique)), np.bincount(codes, passed))

        contenders["pandas factorize"] = pandas
    if find_spec("polars"):
        import polars as pl

        frame = pl.DataFrame({"g": ids, "p": passed})
        grouped = lambda: frame.group_by("g").agg(pl.len().alias("n"), pl.col("p").sum().alias("c"))
        contenders["polars group_by"] = lambda: total(grouped()["n"], grouped()["c"])
    if find_spec("pyarrow"):
        import pyarrow as pa

        table = pa.table({"g": ids, "p": passed})

        def arrow() -> object:
            found = table.group_by("g").aggregate([("p", "count"), ("p", "sum")])
            return total(found["p_count"], found["p_sum"])

        contenders["pyarrow group_by"] = arrow
    agree = lambda a, b: a == b
    return Job(name, "rollouts", len(passed), 9 * len(passed), contenders, agree, absent)


def estimating(rows: int) -> Iterator[Job]:
    """Compute pass@k of each task, eight ks, counts given."""
    random = np.random.default_rng(7)
    tasks = max(rows // 10, 1)
    ks = [1, 2, 4, 8, 16, 32, 64, 128]
    n = random.integers(128, 1000, tasks)
    c = (n * random.random(tasks)).astype(np.int64)
    some = slice(0, min(tasks, 500))

    def human_eval() -> np.ndarray:
        # The estimator of the HumanEval paper, as its authors wrote it down: a product over i of 1 - k / i.
        rows = zip(n[some], c[some], strict=True)
        one = lambda n, c, k: 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
        return np.array([[one(n, c, k) for k in ks] for n, c in rows])

    def comb() -> np.ndarray:
        return np.array(
            [
                [1 - math.comb(n - c, k) / math.comb(n, k) for k in ks]
                for n, c in zip(n[some].tolist(), c[some].tolist(), strict=True)
            ]
        )

    ours = lambda: kofn.pass_at_k(n[some], c[some], ks)
    contenders = {OURS: ours, "human-eval product": human_eval, "math.comb": comb}
    yield Job("pass@k, few tasks", "tasks", len(n[some]), 16 * len(n[some]) * 8, contenders)
    contenders = {OURS: lambda: kofn.pass_at_k(n, c, ks)}
    if find_spec("scipy"):
        from scipy.special import gammaln

        def by_gamma() -> np.ndarray:
            left, k = (n - c)[:, None], np.array(ks)[None, :]
            term = gammaln(left + 1) - gammaln(np.maximum(left - k, 0) + 1)
            whole = gammaln(n[:, None] + 1) - gammaln(n[:, None] - k + 1)
            return np.where(left >= k, 1 - np.exp(term - whole), 1.0)

        contenders["scipy gammaln"] = by_gamma
    yield Job("pass@k", "tasks", tasks, 16 * tasks + 8 * len(ks) * tasks, contenders)


def ordering(rows: int) -> Iterator[Job]:
    """Compute best of k of each task, five ks, 16 scores a task."""
    tasks = max(rows // 16, 1)
    scores = np.random.default_rng(7).random((tasks, 16))
    ks = [1, 2, 4, 8, 16]
    weights = np.array([[math.comb(i, k - 1) / math.comb(16, k) for i in range(16)] for k in ks])
    contenders = {
        OURS: lambda: kofn.best_of_k(scores, ks),
        "numpy sort, product": lambda: np.sort(scores, axis=1) @ weights.T,
    }
    yield Job("best of k", "tasks", tasks, scores.nbytes + 40 * tasks, contenders)


def looping(_rows: int) -> Iterator[Job]:
    """Compute the figures of one training step: 128 groups of 8."""
    random = np.random.default_rng(7)
    groups = np.repeat(np.arange(128), 8)
    rewards = random.random(1024).astype(np.float32)

    def by_hand() -> list[float]:
        _, codes = np.unique(groups, return_inverse=True)
        n, c = np.bincount(codes), np.bincount(codes, rewards >= 0.5)
        fail = [np.prod([(n - c - i) / (n - i) for i in range(k)], axis=0).clip(0) for k in (1, 8)]
        every = [np.prod([(c - i) / (n - i) for i in range(k)], axis=0).clip(0) for k in (1, 8)]
        return [*(1 - np.mean(f) for f in fail), *(np.mean(e) for e in every)]

    index = kofn.TaskIndex(groups)
    call = lambda groups: list(
        kofn.metrics(
            groups=groups, scores=rewards, threshold=0.5, statistics=["pass@k", "pass^k"], k=[1, 8]
        ).values()
    )
    contenders = {
        OURS: lambda: call(groups),
        "kofn, TaskIndex": lambda: call(index),
        "numpy by hand": by_hand,
    }
    yield Job("loop call", "rollouts", 1024, 12 * 1024, contenders)


JOBS = {"grade": grading, "count": counting, "pass": estimating, "best": ordering, "loop": looping}
