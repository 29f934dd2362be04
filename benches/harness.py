"""Times contenders in turn, after checking that they agree."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

OURS = "kofn"


@dataclass
class Job:
    """One piece of work and those who do it."""

    name: str
    unit: str
    """What the work is counted in, and `units` how many there are."""
    units: float
    moves: float
    """Bytes that must be read and written at the least."""
    contenders: dict[str, Callable[[], object]]
    agree: Callable[[object, object], bool] = lambda a, b: bool(np.allclose(np.asarray(a), np.asarray(b)))
    absent: list[str] = field(default_factory=list)


@dataclass
class Row:
    """What one contender took."""

    job: str
    contender: str
    cpu: float
    wall: float


def bandwidth() -> float:
    """Return bytes a second that one thread reads."""
    block = np.ones(1 << 25)
    best = min(_time(block.sum)[0] for _ in range(7))
    return block.nbytes / best


def _time(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(job: Job, seconds: float) -> list[Row]:
    """Check that all agree with kofn, then time them in turn for about `seconds`."""
    ours = job.contenders[OURS]()
    for name, work in job.contenders.items():
        if not job.agree(ours, work()):
            raise SystemExit(f"{job.name}: {name} gives another answer than kofn")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in job.contenders}
    began = time.perf_counter()
    while time.perf_counter() - began < seconds or len(times[OURS]) < 3:
        for name, work in job.contenders.items():
            times[name].append(_time(work))
    return [
        Row(job.name, name, statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken))
        for name, taken in times.items()
    ]


def table(job: Job, rows: list[Row], rate: float) -> str:
    """Return a job's rows, fastest first, as text."""
    cpu = {row.contender: row.cpu for row in rows}
    limit = job.moves / rate
    lines = [f"\n{job.name}: {job.units:.0e} {job.unit}, limit {1e3 * limit:.2f} ms"]
    for row in sorted(rows, key=lambda row: row.cpu):
        ratio = row.cpu / cpu[OURS]
        each = 1e9 * row.cpu / job.units
        lines.append(
            f"  {row.contender:<22} {1e3 * row.cpu:>10.3f} ms cpu {1e3 * row.wall:>10.3f} ms wall"
            f" {each:>9.1f} ns each {ratio:>8.1f} x kofn {row.cpu / limit:>8.1f} x limit"
        )
    return "\n".join(lines)
