"""Order statistics of scores: sorted within tasks, best and worst of k, and the bootstrap they replace."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import generate
import numpy as np
from harness import OURS, Contender, Job, limits, nanoseconds, ratio

import kofn

Contenders = dict[str, Contender | Callable[[], object]]


def sorting(scale: float) -> Iterator[Job]:
    """Sort scores within tasks, ids in random order; kofn goes on to the best of 1 and of 4."""
    for rows, tasks in ((int(1e6 * scale), int(1e4 * scale)), (int(1e7 * scale), int(1e5 * scale))):
        for discrete in (False, True):
            data = generate.rollouts(rows, tasks, "random", discrete=discrete)
            what = "discrete" if discrete else "continuous"
            yield _sorting(f"sort within tasks, {what} {rows:.0e}/{tasks:.0e}", data, tasks)


def _sorting(name: str, data: dict[str, np.ndarray], tasks: int) -> Job:
    groups, scores = data["groups"], data["scores"]
    contenders: Contenders = {OURS: lambda: kofn.best_of_k(scores, [1, 4], groups=groups).mean(axis=0)[0]}
    mean = lambda sums, n: float(np.mean(sums[n > 0] / n[n > 0]))
    if find_spec("numba"):
        import numba

        @numba.njit
        def arrange(groups, scores, starts, out):  # noqa: ANN001
            for i in range(len(groups)):
                starts[groups[i] + 1] += 1
            starts[:] = np.cumsum(starts)
            at = starts[:-1].copy()
            for i in range(len(groups)):
                out[at[groups[i]]] = scores[i]
                at[groups[i]] += 1
            for i in range(len(starts) - 1):
                out[starts[i] : starts[i + 1]].sort()
            return out

        def by_loop() -> float:
            starts = np.zeros(tasks + 1, np.int64)
            out = arrange(groups, scores, starts, np.empty(len(scores)))
            return mean(np.add.reduceat(out, starts[:-1]), np.diff(starts))

        contenders["numba"] = by_loop
    if find_spec("polars"):
        import polars as pl

        frame = pl.DataFrame({"g": groups, "x": scores})
        contenders["polars"] = lambda: frame.group_by("g").agg(pl.col("x").sort())["x"].list.mean().mean()

    def lexsort() -> float:
        order = np.lexsort((scores, groups))
        n = np.bincount(groups, minlength=tasks)
        starts = np.concatenate([[0], np.cumsum(n)[:-1]])
        return mean(np.add.reduceat(scores[order], starts), n)

    contenders["numpy lexsort"] = lexsort
    gates = (ratio(2.5, "numba"), ratio(8, "polars"))
    return Job(
        name,
        "rollouts",
        len(scores),
        16 * len(scores),
        8 * len(scores),
        contenders,
        gates,
        (nanoseconds(12),),
    )


def ordering(scale: float) -> Iterator[Job]:
    """Compute best and worst of k of each task for every k; and of n = 16 for five ks."""
    yield _ordering(int(1e5 * scale), 16, range(1, 17), (ratio(15, "numpy"),))
    yield _ordering(int(1e5 * scale), 16, [1, 2, 4, 8, 16], ())
    yield _ordering(int(2e4 * scale), 64, range(1, 65), (ratio(15, "numpy"),))


def _ordering(tasks: int, n: int, ks: range | list[int], gates: tuple) -> Job:
    scores, ks = np.random.default_rng(7).random((tasks, n)), list(ks)
    best = np.array([[math.comb(i, k - 1) / math.comb(n, k) for i in range(n)] for k in ks])
    weights = np.concatenate([best, best[:, ::-1]]).T.copy()
    # Scores that stand as tasks of the size of a run: metrics gives the means, as reports do.
    means = {"group_size": n, "statistics": ["best_of_k", "worst_of_k"], "k": ks}
    out = [np.empty((tasks, len(ks))) for _ in range(2)]

    def of_each() -> np.ndarray:
        tables = zip((kofn.best_of_k, kofn.worst_of_k), out, strict=True)
        return np.concatenate([of(scores, ks, out=one).mean(axis=0) for of, one in tables])

    contenders: Contenders = {
        OURS: lambda: list(kofn.metrics(scores=scores.reshape(-1), **means).values()),
        "kofn, of each task": of_each,
        "numpy": lambda: (np.sort(scores, axis=1) @ weights).mean(axis=0),
    }
    name = f"best and worst of k, {n} scores, {len(ks)} ks"
    return Job(name, "tasks", tasks, scores.nbytes, 0, contenders, gates, (limits(2),))


def resampling(scale: float) -> Iterator[Job]:
    """Compute best of N as verl's validation does, by resampling each task a thousand times."""
    tasks, n = 20, 16
    scores, ks = np.random.default_rng(7).random((tasks, n)), [1, 2, 4, 8, 16]

    def bootstrap() -> np.ndarray:
        # It draws with replacement, and so estimates a little less than what k new rollouts would show.
        random = np.random.default_rng(42)
        best = lambda row, k: np.mean([row[random.choice(n, k, replace=True)].max() for _ in range(1000)])
        return np.array([[best(row, k) for k in ks] for row in scores])

    contenders = {OURS: lambda: kofn.best_of_k(scores, ks), "resampling": bootstrap}
    agree = lambda a, b: bool(np.all(a - b > -0.02) and np.allclose(a, b, atol=0.15))
    many = np.random.default_rng(7).random((int(1e5 * scale), n))
    contenders[OURS] = lambda: kofn.best_of_k(many, ks)
    part = tasks / len(many)
    contenders["resampling"] = Contender(
        lambda: (scores.__setitem__(slice(None), many[:tasks]), bootstrap())[1], part
    )
    compare = lambda a, b: agree(np.asarray(a)[: len(b)], np.asarray(b))
    yield Job(
        "verl's best@N", "tasks", len(many), many.nbytes, 8 * len(ks) * len(many), contenders,
        (ratio(1e4, "resampling"),), agree=compare,
    )  # fmt: skip
