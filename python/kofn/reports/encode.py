"""A report as JSON text (spec 9): one key a line, one task a line, the same bytes for the same report."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn.errors import EncodingError
from kofn.reports.tasks import ABSENT, COUNTS, DIAGNOSES, SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kofn.reports.figure import Figure
    from kofn.reports.report import Report
    from kofn.reports.tasks import PerTask

SCHEMA = "kofn.report/1"
CERTAINTY = (
    *(
        "confidence",
        "method",
        "replicates",
        "seed",
        "estimand",
        "standard_error",
        "n_clusters",
        "no_interval",
    ),
    *("noise", "no_noise", "decomposition"),
)
DECOMPOSITION = ("between", "within", "icc", "removable", "approximate")
# Tasks are written in pieces, so that a million of them never stand in memory as Python objects at once.
_PIECE = 4096


def pieces(report: Report) -> Iterator[str]:
    """Yield the JSON text of a report piece by piece; there is no final newline.

    Raises
    ------
    EncodingError
        If something in the report (a policy's parameters, say) cannot be written as JSON.
    """
    body = report.body
    yield "{" + f'"schema": {_text(SCHEMA)},\n "run": {_text(report.run)},\n "policy": {_text(report.policy)}'
    yield f',\n "denominator": {_text(report.denominator)}, "requested_from": {_text(report.requested_from)}'
    yield ",\n "
    yield from _section(report)
    yield f',\n "notes": {_text(list(body.notes))},\n "provenance": {_text(report.provenance)}'
    if report.cluster is not None:
        yield f',\n "cluster": {_text(report.cluster)}'
    if report.by is not None:
        yield f',\n "by": {_text(report.by)},\n "groups": {{'
        separator = ""
        for value, group in report.groups.items():
            if value is not None:
                yield f"{separator}\n {_text(value)}: {{"
                yield from _group(group)
                separator = ","
        yield "}"
        if (untagged := report.groups.get(None)) is not None:
            yield ',\n "untagged": {'
            yield from _group(untagged)
    yield _members(body.extras, ",\n ") + "}"


def _group(group: Report) -> Iterator[str]:
    yield from _section(group)
    yield _members(group.body.extras, ",\n ") + "}"


def _section(report: Report) -> Iterator[str]:
    """Yield the keys that a report and each of its groups have."""
    body = report.body
    figures = ", ".join(
        f"{_text(label)}: {_text(_figure(figure) | body.figure_extras.get(label, {}))}"
        for label, figure in body.figures.items()
    )
    yield f'"counts": {_text(body.counts)},\n "statistics": {{{figures}}},\n '
    if body.gaps:
        gaps = {str(k): _figure(figure) for k, figure in body.gaps.items()}
        yield f'"reliability_gap": {_text(gaps)},\n '
    yield f'"omitted": {_text(body.omitted)},\n '
    yield '"tasks": ['
    yield from _tasks(body.tasks)
    yield "]"


def _figure(figure: Figure) -> dict[str, Any]:
    known: dict[str, Any] = {
        "value": figure.value,
        "n_tasks": figure.n_tasks,
        "low": figure.low,
        "high": figure.high,
    }
    known |= {name: getattr(figure, name) for name in CERTAINTY}
    if (split := figure.decomposition) is not None:
        known["decomposition"] = {name: getattr(split, name) for name in DECOMPOSITION}
    return {name: value for name, value in known.items() if value is not None}


def _tasks(tasks: PerTask) -> Iterator[str]:
    for name, column in tasks.columns().items():
        if isinstance(column, np.ndarray) and np.isinf(column).any():
            raise EncodingError(f"the report cannot be written as JSON: {name} of a task is infinite")
    for start in range(0, len(tasks), _PIECE):
        part = slice(start, start + _PIECE)
        # Column by column: a value that many tasks share is written once.
        heads = [[f'{{"task": {_quoted(task)}' for task in tasks.task[part]]]
        heads += [_column(f', "{name}": ', getattr(tasks, name)[part]) for name in COUNTS]
        diagnoses = [*(f', "diagnosis": "{word}"' for word in DIAGNOSES), *[""] * (256 - len(DIAGNOSES))]
        heads.append([diagnoses[code] for code in tasks.codes[part].tolist()])
        heads.append(_column(', "scores": {"scored": ', tasks.scored[part], absent=None))
        heads += [_column(f', "{name}": ', getattr(tasks, name)[part]) for name in SCORES]
        none = [[""] * len(heads[0])]
        figures = [_column(f", {_text(label)}: ", column[part]) for label, column in tasks.statistics.items()]
        ends = [_pairs(f", {_text(label)}: ", a[part], b[part]) for label, (a, b) in tasks.intervals.items()]
        noise = [_column(f", {_text(label)}: ", column[part]) for label, column in tasks.noise.items()]
        clusters = [
            "" if cluster is None else f', "cluster": {_quoted(cluster)}'
            for cluster in (tasks.cluster[part] if tasks.cluster is not None else [None] * len(none[0]))
        ]
        columns = (_joined(heads), *(_joined(known or none) for known in (figures, ends, noise)), clusters)
        rows = []
        for i, (head, values, intervals, noises, cluster) in enumerate(zip(*columns, strict=True)):
            unknown = tasks.unknown(start + i)
            row = head + (_members(unknown["scores"], ", ") if unknown else "")
            row += f'}}, "statistics": {{{values[2:]}}}'
            row += f', "intervals": {{{intervals[2:]}}}' if intervals else ""
            row += f', "noise": {{{noises[2:]}}}' if noises else ""
            row += cluster + (_members(unknown[""], ", ") if unknown else "")
            rows.append(row + "}")
        yield ("\n  " if start == 0 else ",\n  ") + ",\n  ".join(rows)


def _column(before: str, column: np.ndarray[Any, Any], *, absent: int | None = ABSENT) -> list[str]:
    """Return `before` and the value for each value, counts or floats; nothing for one that is absent."""
    if column.dtype.kind == "f":
        absent = None

    def written(value: float) -> str:
        return "" if value != value or value == absent else f"{before}{value!r}"  # noqa: PLR0124  (NaN alone)

    values = column.tolist()
    # By bits, which tell 0.0 from -0.0.
    bits = column.view(np.int64).tolist()
    distinct = dict(zip(bits, values, strict=True))
    if 2 * len(distinct) > len(values):
        return [written(value) for value in values]
    texts = {key: written(value) for key, value in distinct.items()}
    return [texts[key] for key in bits]


def _pairs(before: str, low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> list[str]:
    """Return the text of each interval."""
    lows, highs = _column(f"{before}[", low), _column(", ", high)
    return [f"{a}{b}]" if a else "" for a, b in zip(lows, highs, strict=True)]


def _joined(columns: list[list[str]]) -> Iterator[str]:
    return map("".join, zip(*columns, strict=True))


def _members(extras: dict[str, Any], separator: str) -> str:
    return "".join(f"{separator}{_text(key)}: {_text(value)}" for key, value in extras.items())


def _text(value: Any) -> str:
    # ASCII output survives every locale and terminal, and holds whatever control characters an id may have.
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodingError(f"the report cannot be written as JSON: {error}") from None
