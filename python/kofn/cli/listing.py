"""Rows of a list as a table, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from kofn.views import grid, numbers
from kofn.views.content import NONE, Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kofn.views.text import Style

Row = dict[str, Any]


def text(
    rows: Sequence[Row], names: Sequence[str], form: str, style: Style, heads: Mapping[str, str]
) -> Iterator[str]:
    """Yield the rows in a form; None is an empty cell, "-" on a screen, and absent in JSON."""
    if form == "json":
        yield "["
        for i, row in enumerate(rows):
            known = {name: row[name] for name in names if row[name] is not None}
            yield (",\n " if i else "\n ") + json.dumps(known, allow_nan=False)
        yield "\n]\n" if rows else "]\n"
    elif form == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_csv(row[name]) for name in names] for row in rows)
        yield out.getvalue()
    else:
        columns = [_column(rows, name, heads.get(name, name)) for name in names]
        yield "\n".join(grid.lay_out(columns, style, keys=2)) + "\n"


def _column(rows: Sequence[Row], name: str, head: str) -> Column:
    values = [row[name] for row in rows]
    right = all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values
    )
    return Column(head, list(map(_shown, values)), right=right)


def _shown(value: Any) -> str:
    match value:
        case None | []:
            return NONE
        case bool():
            return "yes" if value else "no"
        case float():
            return numbers.number(value)
        case int():
            return numbers.whole(value)
        case list():
            return ", ".join(value)
        case _:
            return str(value)


def _csv(value: Any) -> Any:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case list():
            return "; ".join(value)
        case _:
            return value
