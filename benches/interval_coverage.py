"""How often intervals hold the true figure: `python benches/interval_coverage.py [--runs 2000] [docs/coverage.md]`.

Tasks are drawn from a law of their pass probabilities, rollouts from the tasks, and each simulated run is reported as
any other. The true figure is that of the law: what a benchmark of infinitely many such tasks would show.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kofn

Law = Callable[[np.random.Generator, int], np.ndarray]
LAWS: dict[str, Law] = {
    "uniform": lambda random, size: random.random(size),
    "bimodal": lambda random, size: np.where(
        random.random(size) < 0.5, random.beta(2, 18, size), random.beta(18, 2, size)
    ),
    "30 % impossible": lambda random, size: np.where(random.random(size) < 0.3, 0.0, random.random(size)),
    "near 1": lambda random, size: random.beta(20, 1, size),
}
Z = 1.959963984540054


@dataclass
class Cell:
    """Shares of simulated runs whose interval holds the truth, for one figure of one design."""

    law: str
    tasks: int
    rollouts: int
    label: str
    differing: float
    """Tasks that differ from the commonest value, on average."""
    ours: float
    none: float
    """Runs without an interval, which count as misses nowhere."""
    student: float
    normal: float


def main() -> int:
    """Simulate, print, and write the table if a path is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--most", type=int, default=1000, help="tasks of the largest runs")
    arguments = parser.parse_args()
    cells = [
        cell
        for law in LAWS
        for tasks in (10, 30, 100, 1000)
        if tasks <= arguments.most
        for rollouts in (1, 4, 16)
        for cell in simulate(law, tasks, rollouts, arguments.runs)
    ]
    text = table(cells, arguments.runs)
    print(text)
    if arguments.page:
        arguments.page.write_text(text)
    return 0


def simulate(law: str, tasks: int, rollouts: int, runs: int) -> Iterator[Cell]:
    """Report `runs` simulated runs; a cell for each k and for pass^k."""
    ks = [k for k in (1, 4, 16) if k <= rollouts]
    labels = [f"pass@{k}" for k in ks] + [f"pass^{k}" for k in ks if k > 1]
    truth = true_figures(law, labels)
    random = np.random.default_rng([tasks, rollouts, *law.encode()])
    groups = kofn.TaskIndex(np.repeat(np.arange(tasks), rollouts))
    t = student_quantile(tasks - 1)
    held = {label: np.zeros(5) for label in labels}
    for _ in range(runs):
        rates = LAWS[law](random, tasks)
        passed = random.random((tasks, rollouts)) < rates[:, None]
        report = kofn.Run.from_arrays(groups=groups, passed=passed.reshape(-1)).report(labels)
        for label in labels:
            figure = report[label]
            values = report.per_task.statistics[label]
            _, counts = np.unique(values, return_counts=True)
            off = abs(figure.value - truth[label])
            error = figure.standard_error or 0.0
            none = figure.low is None
            inside = not none and figure.low <= truth[label] <= figure.high
            held[label] += [inside, none, off <= t * error, off <= Z * error, tasks - counts.max()]
    for label, sums in held.items():
        inside, none, by_t, by_z, differing = sums
        share = inside / (runs - none) if none < runs else math.nan
        yield Cell(
            law, tasks, rollouts, label, differing / runs, share, none / runs, by_t / runs, by_z / runs
        )


def true_figures(law: str, labels: list[str]) -> dict[str, float]:
    """Return the law's figures, from four million tasks: to some 0.0002."""
    rates = LAWS[law](np.random.default_rng(1), 4_000_000)
    figure = lambda label, k: np.mean(rates**k if "^" in label else 1 - (1 - rates) ** k)
    return {label: float(figure(label, int(label[5:]))) for label in labels}


def student_quantile(degrees: int) -> float:
    """Return Student's t that 95 % lie within; SciPy is in the same group as the other peers."""
    from scipy.stats import t

    return float(t.ppf(0.975, degrees))


def table(cells: list[Cell], runs: int) -> str:
    """Return the cells as a Markdown table, those that the promise is about marked."""
    lines = [
        "# How often intervals hold",
        "",
        f"Shares of {runs:,} simulated runs whose 95 % interval holds the true figure. *Differ*: tasks that differ from",
        "the commonest value, on average; the promise of 93 to 97 % is for 30 tasks or more of which 25 differ. *None*:",
        "runs in which all tasks agree, so that no interval is given. Plain t and z (the standard error of most tools",
        "times 1.96) beside it.",
        "",
        "| law of p | tasks | rollouts | figure | differ | kofn | none | plain t | z | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        promised = cell.tasks >= 30 and cell.differing >= 25
        kept = 0.93 <= cell.ours <= 0.97
        mark = ("" if kept else "**missed**") if promised else "not promised"
        shares = (cell.ours, cell.none, cell.student, cell.normal)
        lines.append(
            f"| {cell.law} | {cell.tasks:,} | {cell.rollouts} | {cell.label} | {cell.differing:.0f} | "
            + " | ".join("-" if math.isnan(share) else f"{100 * share:.1f}" for share in shares)
            + f" | {mark} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
