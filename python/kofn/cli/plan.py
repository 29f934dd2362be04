"""`kofn plan`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from kofn.cli import output, sources, status
from kofn.cli.parser import UsageError

if TYPE_CHECKING:
    import argparse

    from kofn.planning import Design, Plan

_NAMES = {
    "pilot": "the pilot",
    "more_tasks": "tasks alone",
    "more_rollouts": "rollouts alone",
    "cheapest": "cheapest",
}


def run(arguments: argparse.Namespace) -> int:
    """Read one pilot or two, and say what an answer takes."""
    if len(arguments.runs) > 2:
        raise UsageError("give one pilot, or two of the same tasks (quote a pattern of several files)")
    output.spare(arguments.output, arguments.runs)
    from kofn.comparisons.labels import asked  # noqa: PLC0415  (a bad command line should not wait for NumPy)
    from kofn.planning import plan_reports  # noqa: PLC0415

    labels = asked([arguments.statistic], arguments.k) or []
    if len(labels) != 1:
        raise UsageError("--k: a plan is for one label, so give one k")
    found = plan_reports(
        [sources.report(path, arguments, labels) for path in arguments.runs],
        labels[0],
        half_width=arguments.half_width,
        detect=arguments.detect,
        power=arguments.power,
        confidence=arguments.confidence,
        tasks=arguments.tasks,
        costs=(arguments.cost_task, arguments.cost_rollout),
        on_mismatch=arguments.on_mismatch,
    )
    text = _json(found) if arguments.format == "json" else _table(found, arguments)
    output.write([text], arguments.output)
    return status.DONE


def _json(found: Plan) -> str:
    known = {key: value for key, value in dataclasses.asdict(found).items() if value is not None}
    return (
        json.dumps({"schema": "kofn.plan/1", "conclusion": found.conclusion, **known}, allow_nan=False) + "\n"
    )


def _table(found: Plan, arguments: argparse.Namespace) -> str:
    from kofn.comparisons.difference import Difference  # noqa: PLC0415
    from kofn.views import grid, numbers  # noqa: PLC0415
    from kofn.views.content import NONE, Column  # noqa: PLC0415

    style = output.style(arguments.output)
    unit = Difference(found.label, 0.0, 0.0, 0.0, 0)
    designs: dict[str, Design] = {name: it for name in _NAMES if (it := getattr(found, name)) is not None}
    rows = designs.values()
    columns = [
        Column("design", [_NAMES[name] for name in designs], right=False),
        Column("tasks", [numbers.whole(it.tasks) for it in rows]),
        Column("rollouts each", [NONE if it.rollouts is None else numbers.whole(it.rollouts) for it in rows]),
        Column("half-width" if found.power is None else "detects", [unit.amount(it.reach) for it in rows]),
    ]
    if any(it.cost is not None for it in rows):
        columns.append(Column("cost", [NONE if it.cost is None else numbers.number(it.cost) for it in rows]))
    facts: list[tuple[str, Any]] = [
        ("statistic", found.label),
        ("confidence", f"{100 * found.confidence:g} %"),
    ]
    if found.power is not None:
        facts.append(("power", f"{100 * found.power:g} %"))
    if found.between is not None and found.within is not None:
        share = found.within / (found.between + found.within) if found.between + found.within else 0.0
        facts.append(
            (
                "variance",
                f"{numbers.percent(round(1000 * share), 1000)} of the pilot's comes from its rollouts, the rest from its tasks",
            )
        )
    lines = [style.paint("strong", line) for line in style.wrap(style.show(found.conclusion), style.width)]
    lines += ["", *grid.lay_out(columns, style), "", *grid.paragraphs(facts, style)]
    if found.notes:
        lines += ["", style.paint("warn", "notes")]
        for note in found.notes:
            first, *rest = style.wrap(style.show(note), style.width - 4)
            lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return "\n".join(lines) + "\n"
