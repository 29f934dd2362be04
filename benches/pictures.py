"""Draw the pictures of docs/uncertainty.md: `python benches/pictures.py docs`.

The same bytes every time: runs are simulated from fixed seeds, and the shares of covered truths are those of the table in
docs/coverage.md, which `interval_coverage.py` writes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import kofn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, OTHER, TRUTH = "#1f5fa8", "#c2571a", "#444444"
LEVEL = 95


def main() -> int:
    """Draw all pictures into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    import matplotlib as mpl

    mpl.use("svg")
    # Text as text: a tenth of the size, and searchable. Numbered names for parts, so that the bytes are the same.
    mpl.rcParams.update({"svg.hashsalt": "kofn", "svg.fonttype": "none", "font.size": 10})
    for name, draw in (("tasks", draw_tasks), ("noise", draw_noise), ("coverage", draw_coverage)):
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        draw(axes[0], axes[1], folder)
        for axis in axes:
            axis.grid(alpha=0.25, linewidth=0.5)
            axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(folder / f"uncertainty-{name}.svg", metadata={"Date": None})
        plt.close(figure)
    return 0


def report(random: np.random.Generator, chances: np.ndarray, rollouts: int) -> Any:
    """Return pass@1 of a run in which each task passes with its own chance."""
    passed = random.random((len(chances), rollouts)) < chances[:, None]
    return kofn.Run.from_arrays(passed=passed).report("pass@1")["pass@1"]


def bars(axis: Axes, at: np.ndarray, figures: list[Any], color: str, label: str) -> None:
    """Draw figures with their intervals."""
    values = np.array([figure.value for figure in figures])
    ends = np.array([figure.interval for figure in figures])
    around = np.abs(ends - values[:, None]).T
    axis.errorbar(
        at, values, around, fmt="o", color=color, markersize=4, capsize=3, linewidth=1.4, label=label
    )


def draw_tasks(left: Axes, right: Axes, _: Path) -> None:
    """More tasks shorten the interval; more rollouts of the same tasks hardly do."""
    sizes, rollouts = [10, 30, 100, 300, 1000], [1, 2, 4, 8, 16, 32]
    random = np.random.default_rng(7)
    bars(left, np.arange(len(sizes)), [report(random, random.random(n), 4) for n in sizes], OURS, "pass@1")
    left.set(title="more tasks, 4 rollouts each", xlabel="tasks", ylabel=f"pass@1 and its {LEVEL} % interval")
    left.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
    chances = np.random.default_rng(3).random(50)
    bars(right, np.arange(len(rollouts)), [report(random, chances, n) for n in rollouts], OTHER, "pass@1")
    right.set(title="more rollouts, the same 50 tasks", xlabel="rollouts of each")
    right.set_xticks(range(len(rollouts)), list(map(str, rollouts)))
    for axis in (left, right):
        axis.axhline(0.5, color=TRUTH, linewidth=1, linestyle="--")
        axis.set_ylim(0.1, 0.9)
    left.text(
        0.97,
        0.06,
        "dashed: the average over all such tasks",
        transform=left.transAxes,
        ha="right",
        fontsize=8,
    )


def draw_noise(left: Axes, right: Axes, _: Path) -> None:
    """A repeated run of the same tasks moves by the noise; a run of other tasks by the standard error."""
    random = np.random.default_rng(11)
    laws = random.beta(0.8, 0.8, (21, 40))
    same = [report(random, laws[0], 8) for _ in range(20)]
    others = [report(random, law, 8) for law in laws[1:]]
    first, at = same[0], np.arange(1, 21)
    for axis, figures, color in ((left, same, OTHER), (right, others, OURS)):
        axis.plot(at, [figure.value for figure in figures], "o", color=color, markersize=4.5)
        axis.set(ylim=(0.2, 0.8), xlabel="run", xticks=[1, 5, 10, 15, 20])
    spread = 1.96 * first.noise
    left.axhspan(first.value - spread, first.value + spread, color=OTHER, alpha=0.15, linewidth=0)
    left.set(title="the same 40 tasks again: noise", ylabel="pass@1, 8 rollouts a task")
    right.axhspan(*first.interval, color=OURS, alpha=0.15, linewidth=0)
    right.set(title="40 other tasks each time: the interval")
    left.text(1, 0.23, "band: first run ± 1.96 noise", fontsize=8)
    right.text(1, 0.23, f"band: {LEVEL} % interval of the first run on the left", fontsize=8)


def draw_coverage(left: Axes, right: Axes, folder: Path) -> None:
    """How often intervals that say 95 % hold the true figure."""
    head, rows = coverage((folder / "coverage.md").read_text(encoding="utf-8"))
    shown = [name for name in ("kofn", "plain t", "two-level", "pooled") if name in head]
    colors = dict(zip(shown, (OURS, "#888888", "#8a6fb5", OTHER), strict=False))
    for axis, rollouts, label in ((left, "16", "pass@1"), (right, "16", "pass@4")):
        wanted = [row for row in rows if row["rollouts"] == rollouts and row["figure"] == label]
        laws = list(dict.fromkeys(row["law of p"] for row in wanted))
        sizes = list(dict.fromkeys(row["tasks"] for row in wanted))
        for offset, name in zip(np.linspace(-0.3, 0.3, len(shown)), shown, strict=True):
            points = [
                (
                    sizes.index(row["tasks"]) + offset + 0.03 * (laws.index(row["law of p"]) - 1.5),
                    float(row[name]),
                )
                for row in wanted
                if row[name] != "-"
            ]
            axis.plot(*zip(*points, strict=True), "o", color=colors[name], markersize=4, label=name)
        axis.axhspan(93, 97, color=OURS, alpha=0.12, linewidth=0)
        axis.set(title=f"{label}, {rollouts} rollouts a task", xlabel="tasks", ylim=(0, 103))
        axis.set_xticks(range(len(sizes)), sizes)
    left.set_ylabel(f"% of {LEVEL} % intervals that hold the truth")
    left.legend(fontsize=8, frameon=False, loc="lower right", ncols=2)


def coverage(page: str) -> tuple[list[str], list[dict[str, str]]]:
    """Return the heads and the rows of the page's table."""
    lines = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    head = [cell.strip() for cell in lines[0]]
    return head, [dict(zip(head, (cell.strip() for cell in line), strict=True)) for line in lines[2:]]


if __name__ == "__main__":
    raise SystemExit(main())
