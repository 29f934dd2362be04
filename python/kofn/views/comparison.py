"""Views of a comparison: what every form shows, and the forms."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn import _values
from kofn.errors import ArgumentError
from kofn.views import FORMS, grid, html, latex, markdown, numbers
from kofn.views.content import METHODS, NONE, Column
from kofn.views.text import Style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kofn.comparisons import Comparison, Comparisons, Difference
    from kofn.comparisons.comparison import Side

HEAD = (
    *("run_a", "run_b", "task", "kind", "name", "a", "b", "difference", "low", "high"),
    *("p_value", "adjusted_p_value", "n_tasks", "note"),
)
_LISTED = 12


def render(comparison: Comparison, form: str, *, per_task: bool = False, style: Style | None = None) -> str:
    """Return the comparison in one of the forms of a report; see `Comparison.render`."""
    if not isinstance(form, str) or form not in FORMS:
        raise ArgumentError(f"form: {_values.shown(form)} is none of {', '.join(FORMS)}")
    if form == "csv":
        return _csv(comparison, per_task=per_task)
    if form == "html":
        return html.page(title(comparison), fragment(comparison, per_task=per_task))
    if form == "markdown":
        return _markdown(comparison, per_task=per_task)
    if form == "latex":
        return _latex(comparison, per_task=per_task)
    return _table(comparison, style or Style.plain(), per_task=per_task)


def render_many(
    comparisons: Comparisons, form: str, *, per_task: bool = False, style: Style | None = None
) -> str:
    """Return several comparisons; CSV has the names of the runs in each row."""
    if form == "csv":
        return _csv(*comparisons.values(), per_task=per_task)
    if form == "html":
        parts = [fragment(it, per_task=per_task) for it in comparisons.values()]
        return html.page(f"kofn comparisons: {len(comparisons)} pairs", "".join(parts))
    return "\n".join(render(it, form, per_task=per_task, style=style) for it in comparisons.values())


# -- what there is to show


def title(comparison: Comparison) -> str:
    """Return which run is compared with which."""
    first, second = comparison.names
    return f"kofn comparison: {second} against {first}"


def statistics(comparison: Comparison) -> list[Column]:
    """Return label, both figures, difference, interval, p, tasks: a row a label."""
    differences = list(comparison.values())
    first, second = comparison.names
    level = f"{100 * comparison.content.settings.confidence:g} %"
    found = [
        Column("statistic", [it.label for it in differences], right=False),
        Column(first, [numbers.figure(it.label, it.a) for it in differences]),
        Column(second, [numbers.figure(it.label, it.b) for it in differences]),
        Column("difference", [it.amount(it.value, sign=True) for it in differences]),
        Column(level, [_interval(it) for it in differences]),
        Column("p", [_p(it.p_value) for it in differences]),
    ]
    if any(it.adjusted_p_value is not None for it in differences):
        found.append(Column("adjusted p", [_p(it.adjusted_p_value) for it in differences]))
    found.append(Column("tasks", [numbers.whole(it.n_tasks) for it in differences]))
    return found


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Return what the differences rest on, by name."""
    content, tasks = comparison.content, comparison.tasks
    first, second = content.sides
    found = [
        ("sign", f"{second.name} minus {first.name}: the new run minus the baseline"),
        *((side.name, _side(side)) for side in content.sides),
        ("tasks", _tasks(comparison)),
    ]
    if content.settings.clusters is not None:
        found.append(("clusters", numbers.whole(content.settings.clusters)))
    if text := _intervals(comparison):
        found.append(("interval", text))
    if tasks.counted.any():
        found += [("gained", _listed(comparison.gained)), ("lost", _listed(comparison.lost))]
        apart = int((tasks.adjusted_p_value <= 1 - content.settings.confidence).sum())
        found.append(
            (
                "screen",
                f"{numbers.whole(apart)} tasks differ by themselves (Fisher's test, Benjamini-Hochberg)",
            )
        )
    for it in comparison.values():
        if text := _certainty(it):
            found.append((it.label, text))
    return found


def _intervals(comparison: Comparison) -> str:
    """Return what the intervals are of, and how they were made."""
    known = [it for it in comparison.values() if it.interval]
    if not known:
        return ""
    text = ", ".join(dict.fromkeys(METHODS.get(str(it.method), str(it.method)) for it in known))
    if drawn := next((it.replicates for it in known if it.replicates is not None), None):
        text += f"; {drawn:,} resamples, seed {comparison.content.settings.seed}"
    return f"of the difference over all tasks that these are a sample of ({text})"


def _certainty(it: Difference) -> str:
    parts = []
    if it.standard_error is not None:
        text = f"standard error {it.amount(it.standard_error)}"
        if it.unpaired_standard_error is not None:
            text += f", with unpaired tasks {it.amount(it.unpaired_standard_error)}"
        parts.append(text)
    if it.noise is not None:
        parts.append(f"noise of these tasks' rollouts {it.amount(it.noise)}")
    if it.p_method is not None:
        parts.append(f"p by sign flips ({it.p_method})")
    if it.exact_p_value is not None:
        how = (
            "stratified exact test" if it.exact_method == "exact" else "stratified test, normal approximation"
        )
        parts.append(f"on these very tasks {numbers.p(it.exact_p_value)} ({how})")
    return "; ".join(parts)


def _side(side: Side) -> str:
    sources = side.run.get("sources") or []
    source = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    policy = "no policy" if side.policy is None else str(side.policy["id"])
    parameters = [f"{key} {value}" for key, value in (side.policy or {}).items() if key != "id"]
    return "; ".join(
        part
        for part in (
            source or side.run.get("id"),
            ", ".join([policy, *parameters]),
            f"n counts {side.denominator} rollouts",
        )
        if part
    )


def _tasks(comparison: Comparison) -> str:
    text = f"{numbers.whole(len(comparison.tasks))} in both"
    for side in comparison.content.sides:
        if side.only:
            text += f", {numbers.whole(side.only)} only in {side.name}"
    return text


def tasks(comparison: Comparison) -> list[Column]:
    """Return a row a task: successes of n in both runs, values, change, p."""
    table = comparison.tasks
    first, second = comparison.names
    found = [Column("task", table.task, right=False)]
    if (counted := table.counted).any():
        for name, n, c in zip((first, second), table.n, table.successes, strict=True):
            pairs = zip(c.tolist(), n.tolist(), counted.tolist(), strict=True)
            found.append(Column(name, [f"{c}/{n}" if known else NONE for c, n, known in pairs]))
    for label, (a, b) in table.statistics.items():
        it = comparison[label]
        values = (b - a).tolist()
        found.append(Column(label, [NONE if np.isnan(d) else it.bare(d, sign=True) for d in values]))
    if counted.any():
        words = {1: "gained", -1: "lost", 0: ""}
        found.append(Column("change", [words[change] for change in table.changed().tolist()], right=False))
        for name, column in (("p", table.p_value), ("adjusted p", table.adjusted_p_value)):
            found.append(Column(name, [_p(None if np.isnan(p) else p) for p in column.tolist()]))
    return found


def _interval(it: Difference) -> str:
    return NONE if it.interval is None else f"{it.bare(it.interval[0])} .. {it.bare(it.interval[1])}"


def _p(value: float | None) -> str:
    return NONE if value is None else numbers.p(value).removeprefix("p ").removeprefix("= ")


def _listed(names: list[str]) -> str:
    if len(names) <= _LISTED:
        return ", ".join(names) or "none"
    return f"{numbers.whole(len(names))}: {', '.join(names[:_LISTED])} and {len(names) - _LISTED} more"


# -- forms


def _table(comparison: Comparison, style: Style, *, per_task: bool) -> str:
    def wrapped(text: str) -> list[str]:
        return style.wrap(style.show(text), style.width)

    lines = [style.paint("strong", style.fit(style.show(title(comparison)), style.width)), ""]
    lines += [style.paint("strong", line) for line in wrapped(comparison.conclusion)]
    if comparison:
        lines += ["", *grid.lay_out(statistics(comparison), style)]
    lines += ["", *grid.paragraphs(facts(comparison), style)]
    if per_task:
        lines += ["", *grid.lay_out(tasks(comparison), style)]
    if comparison.omitted:
        omitted = list(comparison.omitted.items())
        lines += ["", style.paint("warn", "omitted"), *grid.paragraphs(omitted, style, indent=2)]
    if comparison.notes:
        lines += ["", style.paint("warn", "notes")]
        for note in comparison.notes:
            first, *rest = style.wrap(style.show(note), style.width - 4)
            lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return "\n".join(lines) + "\n"


def _markdown(comparison: Comparison, *, per_task: bool) -> str:
    escape = markdown.escape

    def listed(named: list[tuple[str, str]]) -> str:
        return "\n".join(f"- **{escape(name)}**: {escape(text)}" for name, text in named)

    parts = [f"## {escape(title(comparison))}", escape(comparison.conclusion)]
    if comparison:
        parts.append(markdown.table(statistics(comparison)))
    parts.append(listed(facts(comparison)))
    if per_task:
        parts += ["### Tasks", markdown.table(tasks(comparison))]
    if comparison.omitted:
        parts += ["### Omitted", listed(list(comparison.omitted.items()))]
    if comparison.notes:
        parts += ["### Notes", "\n".join(f"- {escape(note)}" for note in comparison.notes)]
    return "\n\n".join(parts) + "\n"


def fragment(comparison: Comparison, *, per_task: bool = False) -> str:
    """Return the comparison as one `div`, as notebooks show it."""
    escape = html.escape
    parts = [
        f'<div class="kofn-report">\n<style>{html.CSS}</style>\n<h1>{escape(title(comparison))}</h1>',
        f"<p>{escape(comparison.conclusion)}</p>",
    ]
    if comparison:
        parts.append(html.table(statistics(comparison), "Differences"))
    parts += ["<h2>What the differences rest on</h2>", html.pairs(facts(comparison))]
    if per_task:
        parts.append(html.table(tasks(comparison), "Tasks"))
    if comparison.omitted:
        parts += ["<h2>Omitted</h2>", html.pairs(list(comparison.omitted.items()))]
    if comparison.notes:
        items = "\n".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
        parts += ["<h2>Notes</h2>", f"<ul>\n{items}\n</ul>"]
    return "\n".join([*parts, "</div>"]) + "\n"


def _latex(comparison: Comparison, *, per_task: bool) -> str:
    escape = latex.escape
    said = [escape(comparison.conclusion)]
    said += [f"{escape(name)}: {escape(text)}" for name, text in facts(comparison)]
    said += [f"{escape(label)} omitted: {escape(reason)}" for label, reason in comparison.omitted.items()]
    said += [escape(note) for note in comparison.notes]
    parts = [
        latex.NEEDS,
        latex.floating(statistics(comparison), f"{escape(title(comparison))}. {'. '.join(said)}."),
    ]
    if per_task:
        parts.append(latex.long(tasks(comparison)))
    return "\n\n".join(parts) + "\n"


def _csv(*comparisons: Comparison, per_task: bool) -> str:
    """Return one row an observation, full precision, one header whatever is asked for."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEAD)
    for comparison in comparisons:
        for row in _csv_rows(comparison, per_task=per_task):
            writer.writerow((*comparison.names, *(row.get(name, "") for name in HEAD[2:])))
    return out.getvalue()


def _csv_rows(comparison: Comparison, *, per_task: bool) -> Iterator[dict[str, Any]]:
    yield {"kind": "conclusion", "note": comparison.conclusion}
    for it in comparison.values():
        numbers_ = {
            "a": it.a,
            "b": it.b,
            "difference": it.value,
            "low": it.low,
            "high": it.high,
            "p_value": it.p_value,
            "adjusted_p_value": it.adjusted_p_value,
        }
        known = {name: repr(value) for name, value in numbers_.items() if value is not None}
        yield {
            "kind": "statistic",
            "name": it.label,
            "n_tasks": it.n_tasks,
            "note": it.no_interval or "",
            **known,
        }
    for label, reason in comparison.omitted.items():
        yield {"kind": "omitted", "name": label, "note": reason}
    for note in comparison.notes:
        yield {"kind": "note", "note": note}
    for task in comparison.tasks if per_task else ():
        if task.n is not None and task.successes is not None:
            (n_a, n_b), (c_a, c_b) = task.n, task.successes
            yield {"task": task.task, "kind": "count", "name": "n", "a": n_a, "b": n_b}
            p = {} if task.p_value is None else {"p_value": repr(task.p_value)}
            if task.adjusted_p_value is not None:
                p["adjusted_p_value"] = repr(task.adjusted_p_value)
            counts = {"name": "successes", "a": c_a, "b": c_b, "note": task.change or "", **p}
            yield {"task": task.task, "kind": "count", **counts}
        for label, (a, b) in task.statistics.items():
            values = {"a": repr(a), "b": repr(b), "difference": repr(b - a)}
            yield {"task": task.task, "kind": "statistic", "name": label, **values}
