"""The report as LaTeX for the `booktabs` and `longtable` packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.views import content
from kofn.views.text import Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kofn.reports import Report

NEEDS = "% needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs,longtable,textcomp}"
_STYLE = Style()
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "'": r"\textquotesingle{}",
        "`": r"\textasciigrave{}",
        "[": "{[}",  # after the end of a row these two would be read as its option
        "*": "{*}",
        **{char: "\\" + char for char in "{}#$%&_"},
    }
)


def escape(text: str) -> str:
    r"""Return text that LaTeX sets as it is.

    >>> print(escape("pass^5 & 100 %"))
    pass\textasciicircum{}5 \& 100 \%
    """
    return _STYLE.show(text).translate(_ESCAPES).replace("--", "-{}-").replace("--", "-{}-")


def render(report: Report, *, per_task: bool = False) -> str:
    r"""Return LaTeX to \input: a table of the figures with the denominators under it, groups and tasks after it."""
    parts = [NEEDS]
    # In the caption, so that no figure travels without its denominators.
    facts = [f"{escape(name)}: {escape(text)}" for name, text in content.facts(report)]
    facts += [f"{escape(label)} omitted: {escape(reason)}" for label, reason in content.omitted(report)]
    facts += [escape(note) for note in report.notes]
    caption = f"{escape(content.title(report))}. {'. '.join(facts)}."
    parts.append(floating(content.statistics(report), caption))
    if report.groups:
        parts.append(floating(content.groups(report), f"By {escape(report.by or '')}."))
    if per_task:
        parts.append(long(content.tasks(report.per_task)))
    return "\n\n".join(parts) + "\n"


def long(grid: Sequence[content.Column]) -> str:
    """Return columns as a table that breaks over pages."""
    rows = _rows(grid, after_head="\\endhead")
    return f"\\begin{{longtable}}{{{_format(grid)}}}\n{rows}\n\\end{{longtable}}"


def floating(grid: Sequence[content.Column], caption: str) -> str:
    """Return columns as a table with a caption."""
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{caption}}}\n"
        f"\\begin{{tabular}}{{{_format(grid)}}}\n{_rows(grid)}\n\\end{{tabular}}\n\\end{{table}}"
    )


def _format(grid: Sequence[content.Column]) -> str:
    return "".join("r" if column.right else "l" for column in grid)


def _rows(grid: Sequence[content.Column], *, after_head: str = "") -> str:
    head = " & ".join(escape(column.head) for column in grid) + " \\\\"
    lines = ["\\toprule", head, f"\\midrule{after_head}"]
    lines += [
        " & ".join(map(escape, row)) + " \\\\" for row in zip(*(column.cells for column in grid), strict=True)
    ]
    return "\n".join([*lines, "\\bottomrule"])
