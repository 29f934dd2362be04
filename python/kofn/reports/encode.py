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
    *("confidence", "method", "estimand", "standard_error", "n_clusters", "no_interval"),
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
    labels = [f"{_text(label)}: " for label in tasks.statistics]
    for start in range(0, len(tasks), _PIECE):
        part = slice(start, start + _PIECE)
        ids = tasks.task[part]
        counts = [getattr(tasks, name)[part].tolist() for name in COUNTS]
        codes = tasks.codes[part].tolist()
        scored = tasks.scored[part].tolist()
        scores = [getattr(tasks, name)[part].tolist() for name in SCORES]
        columns = [column[part].tolist() for column in tasks.statistics.values()]
        ends = [(_text(label), *(end[part].tolist() for end in it)) for label, it in tasks.intervals.items()]
        noise = [(_text(label), column[part].tolist()) for label, column in tasks.noise.items()]
        clusters = None if tasks.cluster is None else tasks.cluster[part]
        rows = []
        for i, task in enumerate(ids):
            row = f'{{"task": {_quoted(task)}'
            for name, column in zip(COUNTS, counts, strict=True):
                if column[i] != ABSENT:
                    row += f', "{name}": {column[i]}'
            if codes[i] < len(DIAGNOSES):
                row += f', "diagnosis": "{DIAGNOSES[codes[i]]}"'
            row += f', "scores": {{"scored": {scored[i]}'
            for name, column in zip(SCORES, scores, strict=True):
                if (value := column[i]) == value:
                    row += f', "{name}": {value!r}'
            unknown = tasks.unknown(start + i)
            row += _members(unknown["scores"], ", ") if unknown else ""
            values = [label + repr(v) for label, c in zip(labels, columns, strict=True) if (v := c[i]) == v]
            row += f'}}, "statistics": {{{", ".join(values)}}}'
            if known := [f"{label}: [{a[i]!r}, {b[i]!r}]" for label, a, b in ends if a[i] == a[i]]:
                row += f', "intervals": {{{", ".join(known)}}}'
            if known := [f"{label}: {column[i]!r}" for label, column in noise if column[i] == column[i]]:
                row += f', "noise": {{{", ".join(known)}}}'
            if clusters is not None and (cluster := clusters[i]) is not None:
                row += f', "cluster": {_quoted(cluster)}'
            row += _members(unknown[""], ", ") if unknown else ""
            rows.append(row + "}")
        yield ("\n  " if start == 0 else ",\n  ") + ",\n  ".join(rows)


def _members(extras: dict[str, Any], separator: str) -> str:
    return "".join(f"{separator}{_text(key)}: {_text(value)}" for key, value in extras.items())


def _text(value: Any) -> str:
    # ASCII output survives every locale and terminal, and holds whatever control characters an id may have.
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise EncodingError(f"the report cannot be written as JSON: {error}") from None
