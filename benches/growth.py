"""Draw how cost grows with size: `python benches/growth.py docs/growth.svg [--most 1e8]`.

Each point is the least process time of a few calls, divided by the size: a flat line is linear growth. Threads are
measured in a process each, in wall time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate
import numpy as np

import kofn
from kofn.runs import report_files

Curve = list[tuple[float, float]]
"""(size, nanoseconds a unit)."""


def main() -> int:
    """Measure, print and draw; or, in the process of one number of threads, time the threaded kernels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path, nargs="?")
    parser.add_argument("--most", type=float, default=1e8, help="the largest number of rollouts")
    parser.add_argument("--threaded", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.threaded:
        for name, seconds in threaded():
            print(f"{name}\t{seconds}")
        return 0
    sizes = [s for s in (1e4, 1e5, 1e6, 1e7, 1e8) if s <= arguments.most]
    panels = {
        "rollouts": ("ns of process time a rollout", by_rollouts(sizes)),
        "tasks": ("ns of process time a task", by_tasks([s for s in sizes if s <= 1e7])),
        "k and scores a task": ("ns of process time a task", by_k([2, 4, 8, 16, 32, 64, 128, 256])),
        "threads": ("wall time beside one thread", by_threads([1, 2, 4])),
    }
    for name, (unit, curves) in panels.items():
        print(f"\n{unit}, by {name}")
        for label, curve in curves.items():
            print(f"  {label:<34}", "  ".join(f"{size:.3g}: {value:.3g}" for size, value in curve))
    if arguments.picture:
        draw(panels, arguments.picture)
    return 0


def least(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the least seconds of a few calls, more of them where they are short."""
    best, began, calls = float("inf"), time.perf_counter(), 0
    while calls < 3 or (time.perf_counter() - began < 0.3 and calls < 1000):
        start = clock()
        work()
        best, calls = min(best, clock() - start), calls + 1
    return best


def by_rollouts(sizes: list[float]) -> dict[str, Curve]:
    """The number of rollouts; tasks of a hundred each."""
    curves: dict[str, Curve] = {}

    def add(name: str, rows: int, work: Callable[[], object]) -> None:
        curves.setdefault(name, []).append((rows, 1e9 * least(work) / rows))

    for rows in map(int, sizes):
        data = generate.checks(rows)
        out = kofn.grade_batch(data["passed"], data["required"], data["offsets"])
        add("grade, 5 checks", rows, lambda data=data, out=out: kofn.grade_batch(*data.values(), out=out))
        del data, out
        data = generate.rollouts(rows, max(rows // 100, 1), "random", discrete=True)
        add("counts, integer ids", rows, lambda data=data: kofn.counts(data["passed"], groups=data["groups"]))
        if rows <= 1e7:
            asked = {
                "threshold": 0.5,
                "statistics": ["pass@k", "mean_score"],
                "k": [1, 4],
                "on_short": "omit",
            }
            metrics = lambda data=data: kofn.metrics(groups=data["groups"], scores=data["scores"], **asked)
            add("metrics, scores", rows, metrics)
        if rows <= 1e6:
            ids = [f"task-{i}" for i in data["groups"].tolist()]
            add(
                "counts, Python strings",
                rows,
                lambda data=data, ids=ids: kofn.counts(data["passed"], groups=ids),
            )
            path = generate.native(Path(tempfile.gettempdir()) / f"kofn-growth-{rows}.jsonl", rows * 500e-6)
            lines = int(path.stat().st_size / 500)
            add("report of a native file", lines, lambda path=path: report_files([str(path)]))
            path.unlink()
    return curves


def by_tasks(sizes: list[float]) -> dict[str, Curve]:
    """The number of tasks."""
    curves: dict[str, Curve] = {}
    for tasks in map(int, sizes):
        random = np.random.default_rng(7)
        n, ks = random.integers(128, 1000, tasks), [1, 2, 4, 8, 16, 32, 64, 128]
        c = (n * random.random(tasks)).astype(np.int64)
        work = {"pass@k, 8 ks, n to 1,000": lambda n=n, c=c: kofn.pass_at_k(n, c, ks)}
        sixteen = np.full(tasks, 16)
        passes = random.binomial(16, random.random(tasks))
        work["pass@k, 5 ks, n = 16"] = lambda n=sixteen, c=passes: kofn.pass_at_k(n, c, [1, 2, 4, 8, 16])
        if tasks <= 1e6:
            scores = random.random((tasks, 16))
            work["best of k, 5 ks, 16 scores"] = lambda x=scores: kofn.best_of_k(x, [1, 2, 4, 8, 16])
        for name, call in work.items():
            curves.setdefault(name, []).append((tasks, 1e9 * least(call) / tasks))
    return curves


def by_k(sizes: list[int]) -> dict[str, Curve]:
    """n rollouts a task, and every k up to n."""
    curves: dict[str, Curve] = {"best of k, k = 1..n": [], "pass@k, k = 1..n": [], "best of k, k = n / 2": []}
    tasks = 2000
    for n in sizes:
        random, ks = np.random.default_rng(7), list(range(1, n + 1))
        scores, c = random.random((tasks, n)), random.integers(0, n + 1, tasks)
        work = (
            lambda: kofn.best_of_k(scores, ks),
            lambda: kofn.pass_at_k(n, c, ks),
            lambda: kofn.best_of_k(scores, [n // 2]),
        )
        for curve, call in zip(curves.values(), work, strict=True):
            curve.append((n, 1e9 * least(call) / tasks))
    return curves


def threaded() -> Iterator[tuple[str, float]]:
    """Wall seconds of what is split over threads."""
    data = generate.checks(10_000_000)
    out = kofn.grade_batch(data["passed"], data["required"], data["offsets"])
    yield "grade", least(lambda: kofn.grade_batch(*data.values(), out=out), time.perf_counter)
    random = np.random.default_rng(7)
    n = random.integers(128, 1000, 2_000_000)
    c = (n * random.random(n.size)).astype(np.int64)
    yield "pass@k", least(lambda: kofn.pass_at_k(n, c, [1, 4, 16, 64]), time.perf_counter)
    scores = random.random((500_000, 16))
    yield "best of k", least(lambda: kofn.best_of_k(scores, [1, 4, 16]), time.perf_counter)
    path = generate.native(Path(tempfile.gettempdir()) / "kofn-growth.jsonl", 200)
    yield "native file", least(lambda: report_files([str(path)]), time.perf_counter)


def by_threads(counts: list[int]) -> dict[str, Curve]:
    """The number of threads that a call may use."""
    curves: dict[str, Curve] = {}
    for count in counts:
        found = subprocess.run(
            [sys.executable, __file__, "--threaded"],
            env=os.environ | {"KOFN_THREADS": str(count)}, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        for name, seconds in (line.split("\t") for line in found.splitlines()):
            curve = curves.setdefault(name, [])
            curve.append((count, float(seconds)))
    return {
        name: [(count, seconds / curve[0][1]) for count, seconds in curve] for name, curve in curves.items()
    }


def draw(panels: dict[str, tuple[str, dict[str, Curve]]], path: Path) -> None:
    """Draw a panel each."""
    import matplotlib as mpl

    mpl.use("svg")
    # Text as text: a tenth of the size, and searchable.
    mpl.rcParams.update({"svg.hashsalt": "kofn", "svg.fonttype": "none"})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    for axis, (name, (unit, curves)) in zip(axes.flat, panels.items(), strict=True):
        for label, curve in curves.items():
            axis.plot(*zip(*curve, strict=True), marker="o", markersize=3.5, linewidth=1.4, label=label)
        axis.set(xscale="log", xlabel=name, ylabel=unit)
        if name == "threads":
            counts = sorted({count for curve in curves.values() for count, _ in curve})
            axis.set(xscale="linear", ylim=(0, None), xticks=counts)
        else:
            axis.set(yscale="log")
        axis.minorticks_off()
        axis.grid(alpha=0.25, linewidth=0.5)
        axis.legend(fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    raise SystemExit(main())
