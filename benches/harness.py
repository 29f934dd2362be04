"""Times contenders in turn, after checking that they agree, and holds the result against its goals."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from limits import Limits

OURS = "kofn"


@dataclass(frozen=True)
class Contender:
    """Someone who does the work, or the first `share` of it where all of it would take too long."""

    work: Callable[[], object]
    share: float = 1.0


@dataclass(frozen=True)
class Goal:
    """A peer to beat by a factor, nanoseconds a unit, or a multiple of the memory limit."""

    value: float
    peer: str | None = None
    of: str = "ratio"
    """What `value` is: "ratio" to the peer, "ns" a unit, or "limit"."""

    def judge(self, result: Result) -> tuple[str, bool] | None:
        """Return the goal beside what was reached; none if the peer was not there."""
        if self.of == "ns":
            each = result.each(OURS)
            return f"<= {self.value:g} ns each: {each:.3g}", each <= self.value
        if self.of == "limit":
            times = result.rows[OURS].cpu / result.limit
            return f"<= {self.value:g} x limit: {times:.2f}", times <= self.value
        if self.peer not in result.rows:
            return None
        ratio = result.each(str(self.peer)) / result.each(OURS)
        return f">= {self.value:g} x {self.peer}: {ratio:.3g}", ratio >= self.value


def ratio(value: float, peer: str) -> Goal:
    """At least that many times as fast as a peer."""
    return Goal(value, peer)


def nanoseconds(value: float) -> Goal:
    """At most that many nanoseconds of process time a unit."""
    return Goal(value, of="ns")


def limits(value: float) -> Goal:
    """At most that many times what moving the bytes takes."""
    return Goal(value, of="limit")


def _close(ours: object, theirs: object) -> bool:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return bool(np.allclose(ours[: len(theirs)] if theirs.ndim else ours, theirs))


@dataclass
class Job:
    """One piece of work and those who do it."""

    name: str
    unit: str
    """What the work is counted in, and `units` how many there are."""
    units: float
    reads: float
    """Bytes that must be read at the least, and `writes` written."""
    writes: float
    contenders: dict[str, Contender | Callable[[], object]]
    gates: tuple[Goal, ...] = ()
    """The least: a run that misses one fails."""
    aims: tuple[Goal, ...] = ()
    agree: Callable[[object, object], bool] = _close


@dataclass
class Row:
    """What one contender took: seconds, and bytes beyond what stood before."""

    cpu: float
    wall: float
    peak: float | None
    share: float


@dataclass
class Result:
    """What a job's contenders took."""

    job: Job
    limit: float
    rows: dict[str, Row] = field(default_factory=dict)

    def each(self, name: str) -> float:
        """Return nanoseconds of process time a unit."""
        row = self.rows[name]
        return 1e9 * row.cpu / (self.job.units * row.share)

    def missed(self) -> list[str]:
        """Return the gates that were not reached."""
        judged = (gate.judge(self) for gate in self.job.gates)
        return [f"{self.job.name}: {found[0]}" for found in judged if found and not found[1]]

    def __str__(self) -> str:
        job = self.job
        lines = [f"\n{job.name}: {job.units:,.0f} {job.unit}, limit {1e3 * self.limit:.3g} ms"]
        lines.append(
            f"  {'':<26}{'cpu ms':>10}{'wall ms':>10}{'ns each':>11}{'x kofn':>9}{'x limit':>10}{'peak MB':>9}"
        )
        for name in sorted(self.rows, key=self.each):
            row, each = self.rows[name], self.each(name)
            part = "" if row.share == 1 else f"  ({100 * row.share:.2g} % of the work)"
            peak = "-" if row.peak is None else f"{row.peak / 1e6:.0f}"
            lines.append(
                f"  {name:<26}{1e3 * row.cpu:>10.3f}{1e3 * row.wall:>10.3f}{each:>11.2f}"
                f"{each / self.each(OURS):>9.3g}{row.cpu / row.share / self.limit:>10.3g}{peak:>9}{part}"
            )
        for word, goals in (("gate", job.gates), ("aim", job.aims)):
            judged = filter(None, (goal.judge(self) for goal in goals))
            lines += [f"  {word:<4} {text}{'' if reached else '   not reached'}" for text, reached in judged]
        return "\n".join(lines)


def run(job: Job, limits: Limits, seconds: float) -> Result:
    """Check that all agree with kofn, then time them in turn for about `seconds`."""
    contenders = {
        name: each if isinstance(each, Contender) else Contender(each)
        for name, each in job.contenders.items()
    }
    answer = contenders[OURS].work()
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    peaks = {}
    for name, contender in contenders.items():
        before = _start_of_peak()
        found = contender.work()
        peaks[name] = None if before is None else max(_status("VmHWM") - before, 0)
        if not job.agree(answer, found):
            raise SystemExit(f"{job.name}: {name} gives another answer than kofn")
        del found
        took[name].append(_time(contender.work))
    # Once is enough for those that one call keeps busy for long.
    quick = [name for name, times in took.items() if times[0][1] < seconds / 3]
    began = time.perf_counter()
    while quick and (time.perf_counter() - began < seconds or len(took[quick[0]]) < 5):
        for name in quick:
            took[name].append(_time(contenders[name].work))
    result = Result(job, limits.seconds(job.reads, job.writes))
    for name, times in took.items():
        cpu, wall = (statistics.median(column) for column in zip(*times, strict=True))
        result.rows[name] = Row(cpu, wall, peaks[name], contenders[name].share)
    return result


def _time(work: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def _start_of_peak() -> float | None:
    """Let Linux measure the peak of resident memory anew, and return what is resident now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return None


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return 1024 * float(line.split()[1])
    return 0.0
