"""Grade checks given as arrays: passed, reward, failed required checks and indeterminate, of each rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

import generate
import numpy as np
from harness import OURS, Contender, Job, limits, ratio

import kofn

Columns = tuple[np.ndarray, ...]


def grading(scale: float) -> Iterator[Job]:
    """Some five checks a rollout, as CSR and as a matrix."""
    for rows in (int(1e6 * scale), int(1e7 * scale)):
        yield _csr(rows)
    yield _matrix(int(1e6 * scale))


def _csr(rows: int) -> Job:
    data = generate.checks(rows)
    passed, required, offsets = data["passed"], data["required"], data["offsets"]
    out = kofn.grade_batch(passed, required, offsets)

    def cumsum() -> Columns:
        sums = np.concatenate([[0], np.cumsum(passed)])
        failures = np.concatenate([[0], np.cumsum(required & ~passed)])
        failed = failures[offsets[1:]] - failures[offsets[:-1]]
        return failed == 0, (sums[offsets[1:]] - sums[offsets[:-1]]) / np.diff(offsets), failed

    contenders: dict[str, Contender | Callable[[], object]] = {
        OURS: lambda: kofn.grade_batch(passed, required, offsets, out=out),
        "numpy cumsum": cumsum,
    }
    if find_spec("numba"):
        contenders["numba loop"] = _numba(passed, required, offsets)
    if find_spec("polars"):
        contenders["polars lists"] = _polars(passed, required, offsets)
    return Job(
        f"grade, CSR {rows:.0e}",
        "rollouts",
        rows,
        2 * passed.size + 8 * rows,
        14 * rows,
        contenders,
        gates=(ratio(3, "numba loop"), ratio(8, "numpy cumsum"), ratio(20, "polars lists")),
        aims=(limits(1.6),),
        agree=_same,
    )


def _matrix(rows: int) -> Job:
    random = np.random.default_rng(7)
    passed, required = random.random((rows, 5)) < 0.8, np.array([True, True, False, False, True])
    out = kofn.grade_batch(passed, required)

    def by_axis() -> Columns:
        failed = (required & ~passed).sum(axis=1)
        return failed == 0, passed.mean(axis=1), failed

    contenders = {OURS: lambda: kofn.grade_batch(passed, required, out=out), "numpy sum": by_axis}
    return Job(
        f"grade, matrix {rows:.0e}", "rollouts", rows, passed.size, 14 * rows, contenders, agree=_same,
        gates=(ratio(8, "numpy sum"),), aims=(limits(1.6),),
    )  # fmt: skip


def _same(ours: object, theirs: object) -> bool:
    def columns(found: object) -> Columns:
        if isinstance(found, kofn.GradeBatch):
            return found.passed, found.reward, found.n_failed_required
        return found[:3]  # type: ignore[index]

    return all(np.allclose(a, b) for a, b in zip(columns(ours), columns(theirs), strict=True))


def _numba(passed: np.ndarray, required: np.ndarray, offsets: np.ndarray) -> Callable[[], object]:
    import numba

    @numba.njit
    def grade(passed, required, offsets, verdict, reward, failures, none):  # noqa: ANN001
        for i in range(len(offsets) - 1):
            good, failed, needed = 0, 0, 0
            for j in range(offsets[i], offsets[i + 1]):
                good += passed[j]
                needed += required[j]
                failed += required[j] and not passed[j]
            verdict[i] = needed > 0 and failed == 0
            reward[i] = good / (offsets[i + 1] - offsets[i]) if needed else np.nan
            failures[i] = failed
            none[i] = needed == 0
        return verdict, reward, failures, none

    rows = len(offsets) - 1
    out = [np.empty(rows, dtype) for dtype in (bool, float, np.uint32, bool)]
    return lambda: grade(passed, required, offsets, *out)


def _polars(passed: np.ndarray, required: np.ndarray, offsets: np.ndarray) -> Callable[[], object]:
    import polars as pl
    import pyarrow as pa

    lists = lambda values: pl.from_arrow(pa.LargeListArray.from_arrays(offsets, pa.array(values)))
    # Which required checks failed is given free.
    frame = pl.DataFrame({"passed": lists(passed), "failed": lists((required & ~passed).astype(np.uint8))})
    reward, failed = pl.col("passed").list.mean(), pl.col("failed").list.sum()

    def grade() -> Columns:
        found = frame.select(reward.alias("reward"), failed.alias("failed"))
        return (found["failed"] == 0).to_numpy(), found["reward"].to_numpy(), found["failed"].to_numpy()

    return grade
