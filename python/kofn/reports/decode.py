"""A report from JSON (spec 9), in one pass: tasks go straight into columns, never all into Python objects."""

from __future__ import annotations

import json
import math
import os
import re
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kofn.errors import EncodingError, SourceError
from kofn.reports.encode import CERTAINTY, SCHEMA
from kofn.reports.figure import Decomposition, Figure
from kofn.reports.report import Body, Context, PolicyRecord
from kofn.reports.scan import Parser, refuse
from kofn.reports.tasks import ABSENT, COUNTS, DIAGNOSES, NO_DIAGNOSIS, SCORES, PerTask
from kofn.views import numbers

Source = str | bytes | bytearray | Mapping[str, Any] | os.PathLike[str]
Parts = tuple[Context, Body, str | None, dict[str | None, Body]]

_HEAD = (
    "schema",
    "run",
    "policy",
    "denominator",
    "requested_from",
    "notes",
    "provenance",
    "cluster",
    "by",
    "groups",
    "untagged",
)
_FIGURE = {"value", "n_tasks", "low", "high", *CERTAINTY}
_BODY = ("counts", "statistics", "reliability_gap", "omitted", "tasks")
_NESTED = {"registry", "diagnosis"}
_COUNTED = {
    *("tasks", "requested", "recorded", "missing", "succeeded", "errored", "cancelled", "unfinished"),
    *("scored", "indeterminate", "scorable", "successes"),
    *_NESTED,
}
_TASK = {"task", "diagnosis", "scores", "statistics", "intervals", "noise", "cluster", *COUNTS}
# Escapes as a JSON reader meets them: a pair, a half, any other.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.",
    re.DOTALL,
)
_NAN = math.nan


def decode(source: Source) -> Parts:
    """Read a report; see `Report.from_json`."""
    try:
        return _parts(_document(_read(source)))
    except RecursionError:
        problem = "not a kofn report: it is nested too deeply"
    except EncodingError as error:
        problem = str(error)
    where = f"{os.fspath(source)}: " if isinstance(source, os.PathLike) else ""
    raise EncodingError(where + problem)


def _parts(document: Mapping[str, Any]) -> Parts:
    schema = document.get("schema")
    if schema != SCHEMA:
        refuse(f"its schema is {schema!r}, this version reads {SCHEMA!r}" if schema else 'it has no "schema"')
    policy = _typed(document, "policy", dict)
    if policy is not None and not isinstance(policy.get("id"), str):
        refuse('"policy" has no "id"')
    run = _typed(document, "run", dict) or {}
    sources = _typed(run, "sources", list, "run.") or []
    if not all(isinstance(name, str) for name in sources) or not isinstance(run.get("id"), str | None):
        refuse("run.id and run.sources must be text")
    context = Context(
        run={"id": None, "sources": sources}
        | {key: value for key, value in run.items() if value is not None},
        policy=None if policy is None else PolicyRecord(policy),
        denominator=_needed(document, "denominator", str),
        requested_from=_needed(document, "requested_from", str),
        provenance=_typed(document, "provenance", dict) or {},
        cluster=_typed(document, "cluster", str),
    )
    groups: dict[str | None, Body] = {}
    for value, group in (_typed(document, "groups", dict) or {}).items():
        if not isinstance(group, Mapping):
            refuse(f"groups[{value!r}] is not an object")
        groups[value] = _body(group, f"groups[{value!r}].")
    if (untagged := _typed(document, "untagged", dict)) is not None:
        groups[None] = _body(untagged, "untagged.")
    by = _typed(document, "by", str)
    if groups and by is None:
        refuse('"groups" stand without "by", the tag they belong to')
    return context, _body(document, "", known=_HEAD), by, groups


def _body(part: Mapping[str, Any], at: str, known: Iterable[str] = ()) -> Body:
    figures, figure_extras = {}, {}
    for label, figure in _needed(part, "statistics", dict, at).items():
        where = f"{at}statistics[{label!r}]"
        figures[label] = _figure(figure, where, label)
        if extra := {key: value for key, value in figure.items() if key not in _FIGURE}:
            figure_extras[label] = extra
    gaps = {
        _gap(k, at): _figure(figure, f"{at}reliability_gap[{k!r}]")
        for k, figure in (_typed(part, "reliability_gap", dict, at) or {}).items()
    }
    omitted = _typed(part, "omitted", dict, at) or {}
    notes = _typed(part, "notes", list) or [] if known else []
    if not all(isinstance(text, str) for text in (*omitted.values(), *notes)):
        refuse(f"{at}omitted and {at}notes must hold text")
    tasks = part.get("tasks")
    if not isinstance(tasks, PerTask):
        refuse(f"{at}tasks is missing" if tasks is None else f"{at}tasks is not an array")
    return Body(
        counts=_counts(_needed(part, "counts", dict, at), f"{at}counts"),
        figures=figures,
        omitted=omitted,
        tasks=tasks,
        notes=tuple(notes),
        extras={key: value for key, value in part.items() if key not in {*known, *_BODY}},
        figure_extras=figure_extras,
        gaps=gaps,
    )


def _gap(k: str, at: str) -> int:
    if not (k.isascii() and k.isdigit() and len(k) < 17):
        refuse(f"{at}reliability_gap: {k!r} is not a number of rollouts")
    return int(k)


def _figure(figure: Any, where: str, label: str | None = None) -> Figure:
    if not isinstance(figure, Mapping):
        refuse(f"{where} is not an object")

    def number(key: str) -> float | None:
        value = figure.get(key)
        return None if value is None else _number(value, f"{where}.{key}")

    def text(key: str) -> str | None:
        value: str | None = _typed(figure, key, str, f"{where}.")
        return value

    low, high = number("low"), number("high")
    if (low is None) != (high is None):
        refuse(f"{where} has one end of an interval and not the other")
    split = _typed(figure, "decomposition", dict, f"{where}.")

    def whole(key: str) -> int | None:
        value = figure.get(key)
        return None if value is None else _whole(value, f"{where}.{key}")

    value = _number(figure.get("value"), f"{where}.value")
    if label is not None and numbers.is_share(label) and not 0 <= value <= 1:
        refuse(f"{where}.value is no share from 0 to 1")
    return Figure(
        value,
        _whole(figure.get("n_tasks"), where),
        interval=None if low is None or high is None else (low, high),
        standard_error=number("standard_error"),
        confidence=number("confidence"),
        method=text("method"),
        estimand=text("estimand"),
        noise=number("noise"),
        decomposition=None if split is None else _decomposition(split, f"{where}.decomposition"),
        n_clusters=whole("n_clusters"),
        no_interval=text("no_interval"),
        no_noise=text("no_noise"),
        replicates=whole("replicates"),
        seed=whole("seed"),
    )


def _decomposition(split: Mapping[str, Any], where: str) -> Decomposition:
    between, within = (_number(split.get(key), f"{where}.{key}") for key in ("between", "within"))
    if within < 0 or (between <= 0 and not within):
        refuse(f"{where} holds no variances")
    return Decomposition(between, within, approximate=split.get("approximate") is True)


def _counts(counts: dict[str, Any], at: str) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name, value in counts.items():
        if value is not None and name in _COUNTED and isinstance(value, dict) != (name in _NESTED):
            refuse(f"{at}.{name} is not {'an object' if name in _NESTED else 'a whole number from 0'}")
        if isinstance(value, dict):
            known[name] = _counts(value, f"{at}.{name}")
        elif value is not None:
            known[name] = _whole(value, f"{at}.{name}")
    return known


# -- tasks


def _columns(tasks: Iterable[Any], at: str) -> PerTask:
    """Turn task objects into columns, one at a time."""
    ids: list[str] = []
    counts = {name: array("q") for name in (*COUNTS, "scored")}
    scores = {name: array("d") for name in SCORES}
    statistics: dict[str, array[float]] = {}
    intervals: dict[str, tuple[array[float], array[float]]] = {}
    noise: dict[str, array[float]] = {}
    clusters: list[str | None] = []
    codes = bytearray()
    extras: dict[int, dict[str, Any]] = {}
    for i, task in enumerate(tasks):
        where = f"{at}tasks[{i}]"
        if not isinstance(task, Mapping):
            refuse(f"{where} is not an object")
        ids.append(_id(task.get("task"), where))
        for name in COUNTS:
            value = task.get(name)
            counts[name].append(ABSENT if value is None else _whole(value, f"{where}.{name}"))
        if 0 <= counts["n"][-1] < counts["successes"][-1]:
            refuse(f"{where} has more successes than rollouts")
        codes.append(_code(task.get("diagnosis"), where))
        found = _typed(task, "scores", dict, f"{where}.") or {}
        counts["scored"].append(_whole(found.get("scored", 0), f"{where}.scores.scored"))
        for name in SCORES:
            value = found.get(name)
            scores[name].append(_NAN if value is None else _number(value, f"{where}.scores.{name}"))
        for key, columns in (("statistics", statistics), ("noise", noise)):
            for label, value in (_typed(task, key, dict, f"{where}.") or {}).items():
                column = columns.setdefault(label, array("d"))
                column.extend([_NAN] * (i - len(column)))
                column.append(_number(value, f"{where}.{key}[{label!r}]"))
        clusters.append(_typed(task, "cluster", str, f"{where}."))
        for label, ends in (_typed(task, "intervals", dict, f"{where}.") or {}).items():
            if not isinstance(ends, list) or len(ends) != 2:
                refuse(f"{where}.intervals[{label!r}] is not a pair of numbers")
            for column, end in zip(intervals.setdefault(label, (array("d"), array("d"))), ends, strict=True):
                column.extend([_NAN] * (i - len(column)))
                column.append(_number(end, f"{where}.intervals[{label!r}]"))
        extra = {
            "": {key: value for key, value in task.items() if key not in _TASK},
            "scores": {key: value for key, value in found.items() if key not in SCORES and key != "scored"},
        }
        if any(extra.values()):
            extras[i] = extra
    if len(set(ids)) < len(ids):
        refuse(f"{at}tasks names a task twice")
    for label, column in statistics.items():
        if numbers.is_share(label) and column and not 0 <= min(column) <= max(column) <= 1:
            _refuse_share(column, label, at)
    for column in (
        *statistics.values(),
        *noise.values(),
        *(end for ends in intervals.values() for end in ends),
    ):
        column.extend([_NAN] * (len(ids) - len(column)))
    return PerTask(
        ids,
        diagnosis=np.frombuffer(codes, np.uint8) if codes else np.empty(0, np.uint8),
        statistics=_arrays(statistics, np.float64),
        intervals={
            label: (np.array(low, np.float64), np.array(high, np.float64))
            for label, (low, high) in intervals.items()
        },
        noise=_arrays(noise, np.float64),
        cluster=clusters,
        extras=extras,
        **_arrays(counts, np.int64),
        **_arrays(scores, np.float64),
    )


def _refuse_share(column: array[float], label: str, at: str) -> None:
    for i, value in enumerate(column):
        if value < 0 or value > 1:
            refuse(f"{at}tasks[{i}].statistics[{label!r}] is no share from 0 to 1")


def _arrays(columns: Mapping[str, array[Any]], kind: type) -> dict[str, Any]:
    return {name: np.array(column, kind) for name, column in columns.items()}


def _id(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        refuse(f"{where}.task is not a text")
    return value


def _code(value: Any, where: str) -> int:
    if value is None:
        return NO_DIAGNOSIS
    if value not in DIAGNOSES:
        refuse(f"{where}.diagnosis is {value!r}, not one of {', '.join(DIAGNOSES)}")
    return DIAGNOSES.index(value)


# -- values


def _typed(part: Mapping[str, Any], key: str, kind: type, at: str = "") -> Any:
    value = part.get(key)
    if value is not None and not isinstance(value, kind):
        refuse(
            f"{at}{key} is not {'an object' if kind is dict else 'an array' if kind is list else 'a text'}"
        )
    return value


def _needed(part: Mapping[str, Any], key: str, kind: type, at: str = "") -> Any:
    value = _typed(part, key, kind, at)
    if value is None:
        refuse(f"{at}{key} is missing")
    return value


def _number(value: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        refuse(f"{where} is not a finite number")
    return number


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        refuse(f"{where} is not a whole number from 0")
    return value


# -- text


def contents(path: os.PathLike[str]) -> bytes:
    """Return the bytes of a saved file; SourceError names one that cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  (any os.PathLike)
            return file.read()
    except OSError as error:
        refusal = SourceError(f"{error.filename}: {error.strerror}")
        refusal.source = str(error.filename)
        raise refusal from None


def _read(source: Source) -> str:
    if isinstance(source, Mapping):
        try:
            source = json.dumps(source)
        except (TypeError, ValueError) as error:
            refuse(str(error))
    if isinstance(source, os.PathLike):
        source = contents(source)
    if isinstance(source, (bytes, bytearray)):
        try:
            return source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            refuse(f"byte {error.start} is not UTF-8")
    if not isinstance(source, str):
        raise EncodingError(
            f"a report is read from JSON text, a dict or a pathlib.Path, not {type(source).__name__}"
        )
    if not source.lstrip().startswith("{"):
        refuse("the text is no JSON object (to read a file, give a pathlib.Path)")
    if _lone_surrogate(source):
        refuse("it holds half of a surrogate pair, which is no character")
    return source


def _lone_surrogate(text: str) -> bool:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return True
    if not _SURROGATE.search(text):
        return False
    return any(match[0].startswith("\\u") and len(match[0]) == 6 for match in _ESCAPE.finditer(text))


def _document(text: str) -> dict[str, Any]:
    """Parse the text; each `tasks` array of the report or of a group comes back as columns."""
    try:
        document, end = Parser(text, _columns).document()
        if text[end:].strip(" \t\r\n"):
            raise json.JSONDecodeError("Extra data", text, end)  # noqa: TRY301  (one place words all of them)
    except json.JSONDecodeError as error:
        refuse(f"{error.msg} at line {error.lineno}, column {error.colno}")
    except EncodingError:
        raise
    except ValueError as error:  # a whole number of more digits than Python reads
        refuse(str(error).partition(";")[0])
    return document
