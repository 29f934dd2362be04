"""The report on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.views import content, grid, numbers
from kofn.views.text import Style
from kofn.views.text import columns as width_of

if TYPE_CHECKING:
    from kofn.reports import Report

_BAR = 20
_LEAST_BAR = 8
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def render(report: Report, *, per_task: bool = False, style: Style | None = None) -> str:
    """Return the report as a table for a screen, ending in a newline."""
    style = style or Style.plain()
    lines = [
        style.paint("strong", style.fit(style.show(content.title(report)), style.width)),
        "",
    ]
    lines += _statistics(report, style)
    lines += ["", *grid.paragraphs(content.facts(report), style)]
    if report.groups:
        lines += ["", *grid.lay_out(content.groups(report), style)]
    if per_task:
        lines += ["", *grid.lay_out(content.tasks(report.per_task), style)]
    if omitted := content.omitted(report):
        lines += ["", style.paint("warn", "omitted"), *grid.paragraphs(omitted, style, indent=2)]
    if report.notes:
        lines += ["", style.paint("warn", "notes")]
        for note in report.notes:
            first, *rest = style.wrap(style.show(note), style.width - 4)
            lines += [f"  - {first}", *(f"    {line}" for line in rest)]
    return "\n".join(lines) + "\n"


def _statistics(report: Report, style: Style) -> list[str]:
    if not report:
        return [style.show("no statistics")]
    columns = content.statistics(report)
    # What the figures leave of a line; none for less than tells shares apart.
    room = style.width - sum(max(map(width_of, (it.head, *it.cells))) + grid.GAP for it in columns)
    width = min(room, _BAR)
    if width >= _LEAST_BAR and any(map(numbers.is_share, report)):
        bars = [
            bar(f.value, style, width) if numbers.is_share(label) else ""
            for label, f in report.body.figures.items()
        ]
        columns.append(content.Column("0" + "1".rjust(width - 1), bars, right=False))
    return grid.lay_out(columns, style)


def bar(value: float, style: Style, width: int = _BAR) -> str:
    """Return a share as a bar: empty only for exactly 0, full only for exactly 1 (spec 8.4)."""
    steps = len(_EIGHTHS) - 1 if style.unicode else 1
    most = width * steps
    filled = most if value >= 1 else 0 if value <= 0 else min(max(round(value * most), 1), most - 1)
    if not style.unicode:
        return "#" * filled + "." * (width - filled)
    full, part = divmod(filled, steps)
    drawn = "█" * full + (_EIGHTHS[part] if part else "")
    return drawn + "·" * (width - len(drawn))
