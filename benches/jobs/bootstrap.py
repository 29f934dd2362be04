"""Intervals of means over tasks from 10,000 resamples: BCa and percentile, of many values and of few."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
from harness import OURS, Contender, Job, nanoseconds, ratio

from kofn.estimators import bootstrap_mean

REPLICATES = 10_000
Contenders = dict[str, Contender | Callable[[], object]]


def resampling(scale: float) -> Iterator[Job]:
    """Resample tasks; peers draw the same number of resamples, scipy as its documentation shows it."""
    random = np.random.default_rng(7)
    few, many = int(1e3 * scale), int(1e4 * scale)
    for tasks in (few, many):
        values = random.gamma(2.0, size=tasks)
        yield _job(
            f"bootstrap, {tasks:,} tasks of their own values", values, "draws", (ratio(8, "scipy BCa"),), 0.7
        )
    for name, values in (
        ("17 values", random.binomial(16, random.beta(1, 1, many)) / 16),
        ("0 or 1", random.binomial(1, 0.3, many).astype(float)),
    ):
        yield _job(
            f"bootstrap, {many:,} tasks of {name}", values, "intervals", (ratio(50, "scipy BCa"),), 5e6
        )
    yield _five(random.gamma(2.0, size=(many, 5)))
    yield _large(
        random.binomial(1, 0.3, int(1e6 * scale)).astype(float), random.binomial(1, 0.3, many).astype(float)
    )


def _job(name: str, values: np.ndarray, unit: str, gates: tuple, aim: float) -> Job:
    contenders: Contenders = {
        OURS: lambda: _ends(bootstrap_mean(values)),
        "kofn percentile": lambda: _ends(bootstrap_mean(values, method="percentile")),
        **_peers(values),
    }
    units = REPLICATES * len(values) if unit == "draws" else 1
    return Job(
        name, unit, units, values.nbytes, 0, contenders, gates, (nanoseconds(aim),), agree=_near(values)
    )


def _peers(values: np.ndarray) -> Contenders:
    tasks, contenders = len(values), {}
    if find_spec("scipy"):
        from scipy.stats import bootstrap

        def scipy(method: str) -> np.ndarray:
            # As many resamples at a time as keep the table of draws near 100 MB.
            found = bootstrap(
                (values,),
                np.mean,
                n_resamples=REPLICATES,
                method=method,
                batch=max(1, 12_500_000 // tasks),
                rng=np.random.default_rng(1),
            )
            return np.array(found.confidence_interval)

        contenders["scipy BCa"] = lambda: scipy("BCa")
        contenders["scipy percentile"] = lambda: scipy("percentile")
    if find_spec("numba"):
        contenders["numba percentile"] = _numba(values)
    if find_spec("evalstats"):
        from evalstats.core.resampling import bootstrap_ci_1d

        contenders["evalstats percentile"] = lambda: np.array(
            bootstrap_ci_1d(values, values.mean(), "bootstrap", REPLICATES, 0.05, np.random.default_rng(1))
        )

    def histogram() -> np.ndarray:
        levels, counts = np.unique(values, return_counts=True)
        drawn = np.random.default_rng(1).multinomial(tasks, counts / tasks, REPLICATES)
        return np.quantile(drawn @ levels / tasks, [0.025, 0.975])

    def gather() -> np.ndarray:
        random, means = np.random.default_rng(1), []
        step = max(1, 2_000_000 // tasks)
        for start in range(0, REPLICATES, step):
            drawn = random.integers(0, tasks, (min(step, REPLICATES - start), tasks))
            means.append(values[drawn].mean(axis=1))
        return np.quantile(np.concatenate(means), [0.025, 0.975])

    if len(np.unique(values)) < 100:
        contenders["numpy multinomial"] = histogram
    contenders["numpy gather"] = gather
    return contenders


def _numba(values: np.ndarray) -> Callable[[], object]:
    import numba

    @numba.njit
    def means(values, replicates):  # noqa: ANN001
        np.random.seed(1)  # noqa: NPY002  (what numba has)
        out = np.empty(replicates)
        for i in range(replicates):
            total = 0.0
            for _ in range(len(values)):
                total += values[np.random.randint(0, len(values))]  # noqa: NPY002
            out[i] = total / len(values)
        return out

    return lambda: np.quantile(means(values, REPLICATES), [0.025, 0.975])


def _five(table: np.ndarray) -> Job:
    one = np.ascontiguousarray(table[:, 0])
    contenders: Contenders = {
        OURS: lambda: _ends(bootstrap_mean(table))[0],
        "kofn, one statistic": lambda: _ends(bootstrap_mean(one)),
    }
    # One takes two thirds of the time of five at the least.
    gates = (ratio(1 / 1.5, "kofn, one statistic"),)
    name = f"bootstrap, {len(table):,} tasks, five statistics"
    return Job(name, "intervals", 1, table.nbytes, 0, contenders, gates, agree=_near(one))


def _large(values: np.ndarray, part: np.ndarray) -> Job:
    small = f"kofn, {len(part):,} tasks"
    contenders: Contenders = {
        OURS: lambda: _ends(bootstrap_mean(values)),
        small: lambda: _ends(bootstrap_mean(part)),
    }
    name = f"bootstrap, {len(values):,} tasks of 0 or 1"
    aims, near = (nanoseconds(5e6),), _near(part, 10)
    return Job(name, "intervals", 1, values.nbytes, 0, contenders, (ratio(1 / 2, small),), aims, agree=near)


def _ends(found: object) -> np.ndarray:
    return np.array([found.low, found.high]).T


def _near(values: np.ndarray, share: float = 0.3) -> Callable[[object, object], bool]:
    # Resamples differ, and so do the methods where values are skewed: by a part of the standard error.
    error = values.std() / np.sqrt(len(values))
    return lambda a, b: bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) < share * error))
