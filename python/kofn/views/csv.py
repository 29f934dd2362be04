"""The report as tidy CSV: one row an observation, full precision, one header whatever is asked for."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kofn.reports import Report
    from kofn.reports.tasks import TaskResult

HEAD = (
    *("group", "task", "kind", "name", "value", "n_tasks", "note"),
    *("low", "high", "confidence", "method", "standard_error", "noise"),
)
_CERTAINTY = ("confidence", "method", "standard_error", "noise")

_TASK_COUNTS = ("n", "requested", "recorded", "successes", "scored")
_SCORES = ("mean", "best", "worst", "spread")


def render(report: Report, *, per_task: bool = False) -> str:
    """Return CSV text (RFC 4180 quoting, lines end in a newline).

    `kind` is `context` (policy, denominator, requested_from, run), `count`, `statistic`, `reliability_gap` (`name` is
    its k), `omitted` (the reason stands under `note`), or `note`; with `per_task`, also `score` and `diagnosis`. `group` is empty for the whole run and
    `tag=value` for a group (`tag` alone: the tasks without it); `task` is empty but in per-task rows.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows(_filled(_context(report)))
    writer.writerows(_filled(_rows("", report, per_task=per_task)))
    for value, group in report.groups.items():
        name = f"{report.by}" if value is None else f"{report.by}={value}"
        writer.writerows(_filled(_rows(name, group, per_task=per_task)))
    writer.writerows(_filled(("", "", "note", "", "", "", note) for note in report.notes))
    return out.getvalue()


def _filled(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    return (row + ("",) * (len(HEAD) - len(row)) for row in rows)


def _context(report: Report) -> Iterator[tuple[Any, ...]]:
    context = report.context
    policy = "" if context.policy is None else context.policy.id
    parameters = json.dumps(context.policy.parameters) if context.policy and context.policy.parameters else ""
    yield "", "", "context", "run", context.run["id"] or "", "", ""
    yield "", "", "context", "policy", policy, "", parameters
    yield "", "", "context", "denominator", context.denominator, "", ""
    yield "", "", "context", "requested_from", context.requested_from, "", ""


def _rows(group: str, report: Report, *, per_task: bool) -> Iterator[tuple[Any, ...]]:
    for name, value in report.body.counts.items():
        if isinstance(value, dict):
            yield from (
                (group, "", "count", f"{name}.{part}", count, "", "") for part, count in value.items()
            )
        else:
            yield group, "", "count", name, value, "", ""
    figures = [("statistic", label, figure) for label, figure in report.body.figures.items()]
    figures += [("reliability_gap", str(k), figure) for k, figure in report.body.gaps.items()]
    for kind, name, figure in figures:
        known = (figure.low, figure.high, *(getattr(figure, name) for name in _CERTAINTY))
        shown = ("" if it is None else it if isinstance(it, str) else repr(it) for it in known)
        note = figure.no_interval or ""
        yield group, "", kind, name, repr(figure.value), figure.n_tasks, note, *shown
    for label, reason in report.body.omitted.items():
        yield group, "", "omitted", label, "", "", reason
    if per_task:
        for result in report.per_task:
            yield from _task(group, result)


def _task(group: str, result: TaskResult) -> Iterator[tuple[Any, ...]]:
    task = result.task
    for name in _TASK_COUNTS:
        if (count := getattr(result, name)) is not None:
            yield group, task, "count", name, count, "", ""
    if result.diagnosis is not None:
        yield group, task, "diagnosis", "diagnosis", result.diagnosis, "", ""
    for name in _SCORES:
        if (value := getattr(result, name)) is not None:
            yield group, task, "score", name, repr(value), "", ""
    for label, value in result.statistics.items():
        ends = map(repr, result.intervals.get(label, ()))
        yield group, task, "statistic", label, repr(value), "", "", *ends
