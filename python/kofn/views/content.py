"""What every view of a report shows, as plain text in rows; the views escape it and lay it out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kofn.reports.tasks import COUNTS, SCORES
from kofn.views import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kofn.reports import Figure, Report
    from kofn.reports.tasks import PerTask

NONE = "-"
_REQUESTED_FROM = {
    "given": "given by the caller",
    "declared": "declared by the run",
    "inferred": "inferred from the records: the same number for every task",
    "unknown": "unknown",
}
_LINES = (
    ("rollouts", ("requested", "recorded", "missing")),
    ("status", ("succeeded", "errored", "cancelled", "unfinished")),
    ("evidence", ("scored", "indeterminate", "scorable")),
)
METHODS = {
    "wilson": "Wilson",
    "student_t": "Student's t",
    "skew_t": "Student's t corrected for skewness",
    "bca_bootstrap": "BCa bootstrap",
    "percentile_bootstrap": "percentile bootstrap",
}
_GAPS = 2
_NESTED = ("registry", "diagnosis")
_GROUP_COUNTS = ("tasks", *(key for _, keys in _LINES for key in keys), "successes")


@dataclass(slots=True)
class Column:
    """One column: its head, a text a row, and whether it is set to the right, as numbers are."""

    head: str
    cells: list[str] = field(default_factory=list)
    right: bool = True


def title(report: Report) -> str:
    """Return the title: the run's id, else its first source, else nothing more."""
    run = report.context.run
    name = run["id"] or next(iter(run["sources"]), "")
    return f"kofn report: {name}" if name else "kofn report"


def policy(report: Report) -> str:
    """Return the policy's id and parameters on one line."""
    record = report.context.policy
    if record is None:
        return "none chosen: nothing here says what a success is"
    parameters = ", ".join(f"{name} {_plain(value)}" for name, value in record.parameters.items())
    return f"{record.id} ({parameters})" if parameters else record.id


def facts(report: Report) -> list[tuple[str, str]]:
    """Return the denominators and what else the figures rest on (spec 4.7), by name."""
    counts = report.body.counts
    sources = report.context.run["sources"]
    found = [("source" if len(sources) == 1 else "sources", _listed(sources))] if sources else []
    found.append(("policy", policy(report)))
    origin = _REQUESTED_FROM.get(report.requested_from, report.requested_from)
    found.append(("denominator", f"{report.denominator} rollouts (how many were requested: {origin})"))
    if "tasks" in counts:
        found.append(("tasks", numbers.whole(counts["tasks"])))
    for name, keys in _LINES:
        if text := _joined(counts, keys):
            found.append((name, text))
    if "successes" in counts:
        found.append(("successes", _successes(counts)))
    found += [(name, _nested(counts, name)) for name in _NESTED if counts.get(name)]
    shown = {"tasks", "successes", *_NESTED, *(key for _, keys in _LINES for key in keys)}
    if more := _joined(
        counts, [key for key, value in counts.items() if key not in shown and isinstance(value, int)]
    ):
        found.append(("also", more))
    return found + reliability(report) + certainty(report)


def _nested(counts: Mapping[str, Any], name: str) -> str:
    """Return counts that stand together, or why none of them counts anything."""
    if name == "diagnosis" and counts.get("tasks") and not any(counts[name].values()):
        return "none: one rollout of a task does not tell how reliably it is solved"
    return _joined(counts[name], counts[name])


def statistics(report: Report) -> list[Column]:
    """Return label, value, its interval where there are any, and the number of tasks."""
    figures = report.body.figures
    total = report.body.counts.get("tasks", len(report.per_task))
    label, value, tasks = Column("statistic", list(figures), right=False), Column("value"), Column("tasks")
    for name, figure in figures.items():
        value.cells.append(numbers.figure(name, figure.value))
        whole = numbers.whole(figure.n_tasks)
        tasks.cells.append(whole if figure.n_tasks == total else f"{whole} of {numbers.whole(total)}")
    found = [label, value, tasks]
    if any(figure.interval for figure in figures.values()):
        level = {figure.confidence for figure in figures.values() if figure.interval}
        head = f"{_percent(level.pop())} interval" if len(level) == 1 else "interval"
        found.insert(2, Column(head, [_interval(name, figure.interval) for name, figure in figures.items()]))
    return found


def certainty(report: Report) -> list[tuple[str, str]]:
    """Return what the intervals mean, and for the headline what more tasks or rollouts would do."""
    figures = report.body.figures
    known = {label: figure for label, figure in figures.items() if figure.interval}
    if not known:
        reasons = dict.fromkeys(figure.no_interval for figure in figures.values() if figure.no_interval)
        return [("interval", f"none: {reason}") for reason in list(reasons)[:1]]
    text = "of the mean over all tasks that these are a sample of"
    methods = dict.fromkeys(METHODS.get(str(it.method), str(it.method)) for it in known.values())
    text += f" ({', '.join(methods)}{_over(report, known.values())}{_drawn(known.values())})"
    if any(figure.rough for figure in known.values()):
        text += f"; rough: fewer than 30 {'tasks' if report.cluster is None else 'clusters'}"
    without: dict[str, list[str]] = {}
    for label, figure in figures.items():
        if figure.no_interval:
            without.setdefault(figure.no_interval, []).append(label)
    for reason, labels in without.items():
        text += f"; none of {', '.join(labels)}: {reason}"
    found = [("interval", text)]
    for label, figure in figures.items():
        parts = []
        is_rough = figure.decomposition is not None and figure.decomposition.approximate
        if figure.noise is not None:
            parts.append(
                f"standard error {numbers.figure(label, figure.noise)} over repeated runs of these tasks"
                f"{', roughly: of so few rollouts of each' if is_rough else ''}"
            )
        # With clusters, what rollouts add is no fixed share of the squared error.
        if figure.decomposition is not None and not is_rough and figure.n_clusters is None:
            share = numbers.percent(round(1000 * figure.decomposition.removable), 1000)
            parts.append(f"more rollouts could remove {share} of the squared error, more tasks the rest")
        if parts:
            found.append(("noise", f"{label}: {'; '.join(parts)}"))
            break
    return found


def reliability(report: Report) -> list[tuple[str, str]]:
    """Return how far pass@k and pass^k lie apart, for the few largest k."""
    gaps = report.body.gaps
    shown = []
    for k in sorted(gaps)[-_GAPS:]:
        figure = gaps[k]
        text = f"pass@{k} - pass^{k} = {numbers.share(figure.value)}"
        if figure.interval is not None:
            text += f" ({_percent(figure.confidence)}: {_interval(f'pass@{k}', figure.interval)})"
        shown.append(text)
    return [("reliability", f"{'; '.join(shown)}: solved sometimes")] if shown else []


def _drawn(figures: Iterable[Figure]) -> str:
    """Return how to draw the resamples of intervals again."""
    for figure in figures:
        if figure.replicates is not None:
            return f"; {figure.replicates:,} resamples, seed {figure.seed}"
    return ""


def _over(report: Report, figures: Iterable[Figure]) -> str:
    """Return over which clusters intervals are."""
    counts = {figure.n_clusters for figure in figures} - {None}
    if report.cluster is None or not counts:
        return ""
    few, most = min(map(int, filter(None, counts))), max(map(int, filter(None, counts)))
    return f" over {numbers.whole(few) if few == most else f'{few} to {most}'} clusters of {report.cluster}"


def omitted(report: Report) -> list[tuple[str, str]]:
    """Return omitted labels with reasons; those of a group only where the whole differs."""
    found = list(report.body.omitted.items())
    for value, group in report.groups.items():
        name = heading(report, value)
        found += [
            (f"{label} ({name})", why)
            for label, why in group.body.omitted.items()
            if (label, why) not in found
        ]
    return found


def heading(report: Report, value: str | None) -> str:
    """Return the name of a group."""
    return f"no {report.by}" if value is None else value


def groups(report: Report) -> list[Column]:
    """Return a row a group and one for all: figures with their intervals first, then the denominators."""
    rows = [(heading(report, value), group) for value, group in report.groups.items()]
    rows.append(("all", report))
    found = [Column(report.by or "", [name for name, _ in rows], right=False)]
    labels = dict.fromkeys(label for _, group in reversed(rows) for label in group.body.figures)
    for label in labels:
        figures = [group.body.figures.get(label) for _, group in rows]
        levels = {figure.confidence for figure in figures if figure is not None and figure.interval}
        head = f"{label} [{_percent(levels.pop())}]" if len(levels) == 1 else label
        found.append(Column(head, [_of_group(group, label) for _, group in rows]))
    for key in _GROUP_COUNTS:
        counts = [group.body.counts.get(key) for _, group in rows]
        if any(count is not None for count in counts):
            found.append(Column(key, [NONE if count is None else numbers.whole(count) for count in counts]))
    return found


def tasks(tasks: PerTask) -> list[Column]:
    """Return a row a task: n, successes, diagnosis, its figures, its scores. "-" is none, never 0."""
    found = [Column("task", tasks.task, right=False)]
    available = tasks.columns()
    for name in COUNTS:
        column: Any = available.get(name)
        # The same numbers twice tell nothing.
        if column is None or (name in {"requested", "recorded"} and (tasks.n == column).all()):
            continue
        found.append(Column(name, [NONE if count < 0 else numbers.whole(count) for count in column.tolist()]))
    if "diagnosis" in available:
        found.append(Column("diagnosis", [text or NONE for text in tasks.diagnoses()], right=False))
    for label, values in tasks.statistics.items():
        found.append(Column(label, [_cell(label, value) for value in values.tolist()]))
    if any(f"score_{name}" in available for name in SCORES):
        found.append(Column("scored", [numbers.whole(count) for count in tasks.scored.tolist()]))
        names = ("best", "worst", "spread") if "mean_score" in tasks.statistics else SCORES
        found += [
            Column(name, [_cell(name, value) for value in getattr(tasks, name).tolist()]) for name in names
        ]
    return found


def _cell(label: str, value: float) -> str:
    return NONE if value != value else numbers.figure(label, value)  # noqa: PLR0124  (NaN alone differs from itself)


def _of_group(group: Report, label: str) -> str:
    figure = group.body.figures.get(label)
    if figure is None:
        return NONE
    total = group.body.counts.get("tasks", len(group.per_task))
    text = numbers.figure(label, figure.value)
    if figure.interval is not None:
        text += f" [{_interval(label, figure.interval)}]"
    return text if figure.n_tasks == total else f"{text} ({numbers.whole(figure.n_tasks)})"


def _interval(label: str, ends: tuple[float, float] | None) -> str:
    if ends is None:
        return NONE
    low, high = (
        (numbers.share if numbers.is_share(label) else numbers.number)(ends[0]),
        numbers.figure(label, ends[1]),
    )
    return f"{low} .. {high}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.10g} %"


def _successes(counts: dict[str, Any]) -> str:
    for key in ("requested", "recorded"):
        if counts.get(key):
            share = numbers.percent(counts["successes"], counts[key])
            return f"{numbers.whole(counts['successes'])} of {numbers.whole(counts[key])} {key} ({share})"
    return numbers.whole(counts["successes"])


def _joined(counts: dict[str, Any], keys: Iterable[str]) -> str:
    return ", ".join(
        f"{numbers.whole(counts[key])} {key}" for key in keys if isinstance(counts.get(key), int)
    )


def _listed(names: list[str]) -> str:
    if len(names) <= 4:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {numbers.whole(len(names) - 3)} more"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
