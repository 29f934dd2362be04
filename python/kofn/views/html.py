"""The report as one self-contained HTML page, and as a fragment for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from kofn.views import content, numbers
from kofn.views.text import Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kofn.reports import Report

_STYLE = Style()
CSS = """
.kofn-report { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; }
.kofn-report table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
.kofn-report caption { text-align: left; font-weight: 600; }
.kofn-report th, .kofn-report td { padding: .2rem .8rem .2rem 0; text-align: left; white-space: nowrap; }
.kofn-report .number { text-align: right; font-variant-numeric: tabular-nums; }
.kofn-report thead th { border-bottom: 1px solid; }
.kofn-report tbody th { font-weight: normal; }
.kofn-report dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
.kofn-report dt { opacity: .75; }
.kofn-report dd { margin: 0; overflow-wrap: anywhere; }
.kofn-report meter { width: 12rem; }
"""


def escape(text: str) -> str:
    r"""Return text that HTML shows as it is, control characters as escapes.

    >>> print(escape("<script>\x00"))
    &lt;script&gt;\x00
    """
    return html.escape(_STYLE.show(text))


def render(report: Report, *, per_task: bool = False) -> str:
    """Return a page: no script, nothing loaded from elsewhere, readable in light and dark."""
    return page(content.title(report), fragment(report, per_task=per_task))


def page(title: str, body: str) -> str:
    """Return a whole page around a fragment."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n</head>\n<body>\n<main>\n"
        f"{body}</main>\n</body>\n</html>\n"
    )


def fragment(report: Report, *, per_task: bool = False) -> str:
    """Return the report as one `div`, as notebooks show it."""
    parts = [f'<div class="kofn-report">\n<style>{CSS}</style>\n<h1>{escape(content.title(report))}</h1>']
    if report:
        parts.append(table(content.statistics(report), "Statistics", _meters(report)))
    else:
        parts.append("<p>No statistics.</p>")
    parts += ["<h2>What the figures rest on</h2>", pairs(content.facts(report))]
    if report.groups:
        parts.append(table(content.groups(report), f"By {escape(report.by or '')}"))
    if per_task:
        parts.append(table(content.tasks(report.per_task), "Tasks"))
    if omitted := content.omitted(report):
        parts += ["<h2>Omitted</h2>", pairs(omitted)]
    if report.notes:
        items = "\n".join(f"<li>{escape(note)}</li>" for note in report.notes)
        parts += ["<h2>Notes</h2>", f"<ul>\n{items}\n</ul>"]
    return "\n".join([*parts, "</div>"]) + "\n"


def _meters(report: Report) -> list[str]:
    return [
        f'<meter min="0" max="1" value="{figure.value!r}" aria-hidden="true"></meter>'
        if numbers.is_share(label)
        else ""
        for label, figure in report.body.figures.items()
    ]


def pairs(named: Sequence[tuple[str, str]]) -> str:
    """Return names with their texts as a list of terms."""
    return (
        "<dl>\n"
        + "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in named)
        + "\n</dl>"
    )


def table(grid: Sequence[content.Column], caption: str, drawn: Sequence[str] | None = None) -> str:
    """Return a table; its first column heads the rows, `drawn` is a last column of HTML."""
    kinds = [' class="number"' if column.right else "" for column in grid]
    head = "".join(
        f'<th scope="col"{kind}>{escape(c.head)}</th>' for c, kind in zip(grid, kinds, strict=True)
    )
    rows = []
    for i, (first, *rest) in enumerate(zip(*(column.cells for column in grid), strict=True)):
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(rest, kinds[1:], strict=True))
        picture = "" if drawn is None else f"<td>{drawn[i]}</td>"
        rows.append(f'<tr><th scope="row">{escape(first)}</th>{cells}{picture}</tr>')
    if drawn is not None:
        head += "<td></td>"
    body = "\n".join(rows)
    return f"<table>\n<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
