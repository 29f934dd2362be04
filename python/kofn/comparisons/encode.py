"""A comparison as JSON text: one key a line, one task a line, the same bytes for the same comparison."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn.errors import EncodingError
from kofn.reports.tasks import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kofn.comparisons.comparison import Comparison, Side
    from kofn.comparisons.tasks import ComparedTasks

SCHEMA = "kofn.comparison/1"
# Tasks are written in pieces, so that a million of them never stand in memory as Python objects at once.
_PIECE = 4096


def pieces(comparison: Comparison) -> Iterator[str]:
    """Yield the JSON text piece by piece; there is no final newline.

    Raises
    ------
    EncodingError
        If something in it cannot be written as JSON.
    """
    content = comparison.content
    settings = {
        key: value for key, value in dataclasses.asdict(content.settings).items() if value is not None
    }
    yield f'{{"schema": {_text(SCHEMA)}'
    yield f',\n "conclusion": {_text(comparison.conclusion)}'
    yield f',\n "a": {_text(_side(content.sides[0]))},\n "b": {_text(_side(content.sides[1]))}'
    yield f',\n "difference": "b - a",\n "settings": {_text(settings)}'
    differences = {
        label: {
            **{
                key: value
                for key, value in dataclasses.asdict(it).items()
                if value is not None and key != "label"
            },
            **content.difference_extras.get(label, {}),
        }
        for label, it in content.differences.items()
    }
    yield f',\n "statistics": {_text(differences)},\n "omitted": {_text(content.omitted)}'
    if content.tasks.counted.any():
        yield f',\n "gained": {_text(comparison.gained)},\n "lost": {_text(comparison.lost)}'
    yield ',\n "tasks": ['
    yield from _tasks(content.tasks)
    yield f'],\n "notes": {_text(list(content.notes))},\n "provenance": {_text(content.provenance)}'
    for key, value in content.extras.items():
        yield f",\n {_text(key)}: {_text(value)}"
    yield "}"


def _side(side: Side) -> dict[str, Any]:
    return dataclasses.asdict(side)


def _tasks(tasks: ComparedTasks) -> Iterator[str]:
    for start in range(0, len(tasks), _PIECE):
        part = slice(start, start + _PIECE)
        n, c = ([column[part].tolist() for column in pair] for pair in (tasks.n, tasks.successes))
        values = [(label, a[part].tolist(), b[part].tolist()) for label, (a, b) in tasks.statistics.items()]
        p, adjusted = tasks.p_value[part].tolist(), tasks.adjusted_p_value[part].tolist()
        rows = []
        for i, task in enumerate(tasks.task[part]):
            row: dict[str, Any] = {"task": task}
            for name, (a, b) in (("n", n), ("successes", c)):
                if ABSENT not in {a[i], b[i]}:
                    row[name] = [a[i], b[i]]
            row["statistics"] = {label: [a[i], b[i]] for label, a, b in values if not np.isnan(b[i] - a[i])}
            if not np.isnan(p[i]):
                row |= {"p_value": p[i], "adjusted_p_value": adjusted[i]}
            row |= tasks.extras.get(start + i, {})
            rows.append(_text(row))
        yield ("\n  " if start == 0 else ",\n  ") + ",\n  ".join(rows)


def _text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodingError(f"the comparison cannot be written as JSON: {error}") from None
