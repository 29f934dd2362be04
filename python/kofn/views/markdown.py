"""The report as GitHub Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kofn.views import content
from kofn.views.text import Style, columns, pad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kofn.reports import Report

_STYLE = Style()
# An underscore or @ within a word stands for itself; before one it would start emphasis or call a user.
_SPECIAL = re.compile(r"[\\`*{}\[\]<>#|~$&!]|(?<![^\W_])_|_(?![^\W_])|(?<!\w)@")


def escape(text: str) -> str:
    r"""Return text that Markdown shows as it is, on one line.

    >>> print(escape("mean_score a|b <i> _x"))
    mean_score a\|b \<i\> \_x
    """
    return _SPECIAL.sub(lambda found: "&#64;" if found[0] == "@" else "\\" + found[0], _STYLE.show(text))


def render(report: Report, *, per_task: bool = False) -> str:
    """Return the report as Markdown: headline, denominators, groups, tasks on request, omissions and notes."""
    parts = [f"## {escape(content.title(report))}"]
    if report:
        parts.append(table(content.statistics(report)))
    else:
        parts.append("No statistics.")
    parts.append("\n".join(f"- **{escape(name)}**: {escape(text)}" for name, text in content.facts(report)))
    if report.groups:
        parts += [f"### By {escape(report.by or '')}", table(content.groups(report))]
    if per_task:
        parts += ["### Tasks", table(content.tasks(report.per_task))]
    if omitted := content.omitted(report):
        parts += [
            "### Omitted",
            "\n".join(f"- **{escape(label)}**: {escape(reason)}" for label, reason in omitted),
        ]
    if report.notes:
        parts += ["### Notes", "\n".join(f"- {escape(note)}" for note in report.notes)]
    return "\n\n".join(parts) + "\n"


def table(grid: Sequence[content.Column]) -> str:
    """Return columns as a Markdown table."""
    cells = [[escape(text) for text in (column.head, *column.cells)] for column in grid]
    widths = [max(3, *map(columns, column)) for column in cells]
    rules = [("-" * (w - 1) + ":") if c.right else "-" * w for c, w in zip(grid, widths, strict=True)]
    rows = [
        [pad(text, w, right=c.right) for text, c, w in zip(row, grid, widths, strict=True)]
        for row in zip(*cells, strict=True)
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:]))
