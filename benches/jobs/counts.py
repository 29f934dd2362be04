"""Count rollouts and successes of each task, from ids of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import generate
import numpy as np
from harness import OURS, Contender, Goal, Job, nanoseconds, ratio

import kofn

Contenders = dict[str, Contender | Callable[[], object]]


def counting(scale: float) -> Iterator[Job]:
    """Integers, Arrow text, and a list of Python strings; ids in random order, grouped, and a few tasks with most."""
    for rows, tasks in ((int(1e6 * scale), int(1e4 * scale)), (int(1e7 * scale), int(1e5 * scale))):
        for order in ("random", "grouped", "skewed"):
            data = generate.rollouts(rows, tasks, order, discrete=True)
            where = f"{order} {rows:.0e}/{tasks:.0e}"
            yield _integers(f"count, integers, {where}", data["groups"], data["passed"], tasks)
            if find_spec("pyarrow"):
                yield _arrow(f"count, Arrow text, {where}", data["groups"], data["passed"], order)
    rows, tasks = int(1e6 * scale), int(1e4 * scale)
    data = generate.rollouts(rows, tasks, "random", discrete=True)
    yield _strings(f"count, Python strings, random {rows:.0e}/{tasks:.0e}", data["groups"], data["passed"])


def _total(n: Any, c: Any) -> list[int]:
    n = np.asarray(n)
    return [int(n[n > 0].size), int(n.max()), int(n.sum()), int(np.asarray(c).sum())]


def _job(name: str, passed: np.ndarray, size: float, contenders: Contenders, *goals: tuple[Goal, ...]) -> Job:
    gates, aims = goals
    return Job(
        name,
        "rollouts",
        passed.size,
        size + passed.nbytes,
        0,
        contenders,
        gates,
        aims,
        agree=lambda a, b: a == b,
    )


def _integers(name: str, groups: np.ndarray, passed: np.ndarray, tasks: int) -> Job:
    contenders: Contenders = {OURS: lambda: _total(*kofn.counts(passed, groups=groups))}
    if find_spec("numba"):
        import numba

        @numba.njit
        def count(groups, passed, n, c):  # noqa: ANN001
            for i in range(len(groups)):
                n[groups[i]] += 1
                c[groups[i]] += passed[i]

        def by_loop() -> object:
            # That ids are dense, and how many there are, is told it.
            n, c = np.zeros(tasks, np.int64), np.zeros(tasks, np.int64)
            count(groups, passed, n, c)
            return _total(n, c)

        contenders["numba, dense ids"] = by_loop
    _tables(contenders, groups, passed)
    if find_spec("pandas"):
        contenders["pandas factorize"] = _factorize(groups, passed)
    peers = (*(ratio(8, peer) for peer in ("pyarrow", "duckdb", "polars")), ratio(0.9, "numba, dense ids"))
    gates = peers if passed.size > 5e6 else ()
    return _job(name, passed, groups.nbytes, contenders, gates, (nanoseconds(3),))


def _arrow(name: str, groups: np.ndarray, passed: np.ndarray, order: str) -> Job:
    import pyarrow as pa

    ids = pa.array(np.char.add("task-", groups.astype(str)))
    contenders: Contenders = {OURS: lambda: _total(*kofn.counts(passed, groups=ids))}
    _tables(contenders, ids, passed)
    gates = (ratio(8, "pyarrow"), ratio(15, "polars")) if passed.size > 5e6 else ()
    return _job(name, passed, ids.nbytes, contenders, gates, (nanoseconds(5 if order == "grouped" else 12),))


def _strings(name: str, groups: np.ndarray, passed: np.ndarray) -> Job:
    ids = [f"task-{i}" for i in groups.tolist()]
    contenders: Contenders = {OURS: lambda: _total(*kofn.counts(passed, groups=ids))}
    if find_spec("pandas"):
        contenders["pandas factorize"] = _factorize(np.array(ids, object), passed)
    return _job(name, passed, 80 * len(ids), contenders, (ratio(1.5, "pandas factorize"),), ())


def _factorize(ids: np.ndarray, passed: np.ndarray) -> Callable[[], object]:
    import pandas as pd

    def count() -> object:
        codes, unique = pd.factorize(ids)
        return _total(np.bincount(codes, minlength=len(unique)), np.bincount(codes, passed))

    return count


def _tables(contenders: Contenders, ids: Any, passed: np.ndarray) -> None:
    if find_spec("polars"):
        import polars as pl

        frame = pl.DataFrame({"g": ids, "p": passed})
        grouped = frame.lazy().group_by("g").agg(pl.len().alias("n"), pl.col("p").sum().alias("c"))

        def by_polars() -> object:
            found = grouped.collect()
            return _total(found["n"], found["c"])

        contenders["polars"] = by_polars
    if find_spec("pyarrow"):
        import pyarrow as pa

        table = pa.table({"g": ids, "p": passed})

        def by_arrow() -> object:
            found = table.group_by("g").aggregate([("p", "count"), ("p", "sum")])
            return _total(found["p_count"], found["p_sum"])

        contenders["pyarrow"] = by_arrow
        if find_spec("duckdb"):
            import duckdb

            connection = duckdb.connect()
            # In DuckDB's own storage, as it would be queried.
            connection.register("given", table)
            connection.execute("create table rollouts as select * from given")

            def by_duckdb() -> object:
                query = "select count(*) n, count(*) filter (p) c from rollouts group by g"
                return _total(*connection.execute(query).fetchnumpy().values())

            contenders["duckdb"] = by_duckdb
