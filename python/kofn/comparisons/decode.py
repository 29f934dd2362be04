"""A comparison from JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from kofn.comparisons.comparison import Content, Settings, Side
from kofn.comparisons.difference import Difference
from kofn.comparisons.encode import SCHEMA
from kofn.comparisons.tasks import ComparedTasks
from kofn.errors import EncodingError
from kofn.reports.decode import contents
from kofn.reports.tasks import ABSENT

_KNOWN = {
    *("schema", "conclusion", "a", "b", "difference", "settings", "statistics", "omitted"),
    *("gained", "lost", "tasks", "notes", "provenance"),
}
_TASK = {"task", "n", "successes", "statistics", "p_value", "adjusted_p_value"}
_FIELDS = {field.name: str(field.type) for field in dataclasses.fields(Difference) if field.name != "label"}


def decode(source: str | bytes | bytearray | Mapping[str, Any] | os.PathLike[str]) -> Content:
    """Read a comparison; see `Comparison.from_json`."""
    whole = document(source)
    schema = whole.get("schema")
    if schema != SCHEMA:
        _refuse(
            f"its schema is {schema!r}, this version reads {SCHEMA!r}" if schema else 'it has no "schema"'
        )
    differences, extras = {}, {}
    for label, found in _object(whole, "statistics").items():
        differences[label], extras[label] = _difference(label, found)
    notes, omitted = _list(whole, "notes"), _object(whole, "omitted")
    if not all(isinstance(text, str) for text in (*notes, *omitted.values())):
        _refuse("omitted and notes must hold text")
    return Content(
        sides=(_side(whole, "a"), _side(whole, "b")),
        settings=_settings(_object(whole, "settings")),
        differences=differences,
        omitted=omitted,
        tasks=_tasks(_list(whole, "tasks"), list(differences)),
        notes=tuple(notes),
        provenance=_object(whole, "provenance"),
        extras={key: value for key, value in whole.items() if key not in _KNOWN},
        difference_extras={label: extra for label, extra in extras.items() if extra},
    )


def document(source: object) -> Mapping[str, Any]:
    """Read a JSON object from text, a file, or as it is."""
    if isinstance(source, os.PathLike):
        source = contents(source)
    if isinstance(source, (str, bytes, bytearray)):
        try:
            source = json.loads(source, parse_constant=lambda token: _refuse(f"it holds {token}"))
        except (ValueError, RecursionError) as error:
            _refuse(str(error))
    if not isinstance(source, Mapping):
        _refuse("it is no JSON object")
    return source


def _side(document: Mapping[str, Any], key: str) -> Side:
    found = _object(document, key)
    policy = found.get("policy")
    name, denominator = found.get("name"), found.get("denominator")
    if not isinstance(name, str) or not isinstance(denominator, str):
        _refuse(f"{key}.name and {key}.denominator must be text")
    if policy is not None and not (isinstance(policy, Mapping) and isinstance(policy.get("id"), str)):
        _refuse(f'{key}.policy has no "id"')
    run = _object(found, "run", f"{key}.")
    sources = run.get("sources")
    if sources is not None and not (isinstance(sources, list) and all(isinstance(s, str) for s in sources)):
        _refuse(f"{key}.run.sources must hold text")
    return Side(
        name,
        run,
        None if policy is None else dict(policy),
        denominator,
        _whole(found.get("only", 0), f"{key}.only"),
    )


def _settings(found: Mapping[str, Any]) -> Settings:
    clusters = found.get("clusters")
    confidence = _number(found.get("confidence"), "settings.confidence")
    if not 0 < confidence < 1:
        _refuse("settings.confidence is not between 0 and 1")
    return Settings(
        confidence=confidence,
        interval=str(found.get("interval", "")),
        seed=_whole(found.get("seed", 0), "settings.seed"),
        clusters=None if clusters is None else _whole(clusters, "settings.clusters"),
        on_mismatch=str(found.get("on_mismatch", "")),
    )


def _difference(label: str, found: Any) -> tuple[Difference, dict[str, Any]]:
    where = f"statistics[{label!r}]"
    if not isinstance(found, Mapping):
        _refuse(f"{where} is not an object")
    values: dict[str, Any] = {}
    for name, kind in _FIELDS.items():
        value = found.get(name)
        if value is None:
            if "None" not in kind and name in {"value", "a", "b", "n_tasks"}:
                _refuse(f"{where}.{name} is missing")
        elif kind.startswith("int"):
            values[name] = _whole(value, f"{where}.{name}")
        elif kind.startswith("float"):
            values[name] = _number(value, f"{where}.{name}")
        elif not isinstance(value, str):
            _refuse(f"{where}.{name} is not a text")
        else:
            values[name] = value
    return Difference(label, **values), {key: value for key, value in found.items() if key not in _FIELDS}


def _tasks(rows: list[Any], labels: list[str]) -> ComparedTasks:
    size = len(rows)
    ids: list[str] = []
    counts = {name: np.full((2, size), ABSENT, np.int64) for name in ("n", "successes")}
    statistics = {label: np.full((2, size), np.nan) for label in labels}
    p, adjusted = np.full(size, np.nan), np.full(size, np.nan)
    extras: dict[int, dict[str, Any]] = {}
    for i, row in enumerate(rows):
        where = f"tasks[{i}]"
        if not isinstance(row, Mapping) or not isinstance(row.get("task"), str):
            _refuse(f"{where}.task is not a text")
        ids.append(row["task"])
        for name, both in counts.items():
            if row.get(name) is not None:
                both[:, i] = [_whole(value, f"{where}.{name}") for value in _pair(row, name, where)]
        values = _object(row, "statistics", f"{where}.")
        for label in values:
            if label not in statistics:
                _refuse(f"{where}.statistics[{label!r}] is compared nowhere")
            pair = _pair(values, label, f"{where}.statistics")
            statistics[label][:, i] = [_number(value, f"{where}.statistics[{label!r}]") for value in pair]
        for name, column in (("p_value", p), ("adjusted_p_value", adjusted)):
            if row.get(name) is not None:
                column[i] = _number(row[name], f"{where}.{name}")
        if extra := {key: value for key, value in row.items() if key not in _TASK}:
            extras[i] = extra
    if len(set(ids)) < len(ids):
        _refuse("tasks names a task twice")
    return ComparedTasks(
        ids,
        n=(counts["n"][0], counts["n"][1]),
        successes=(counts["successes"][0], counts["successes"][1]),
        statistics={label: (columns[0], columns[1]) for label, columns in statistics.items()},
        p_value=p,
        adjusted_p_value=adjusted,
        extras=extras,
    )


def _pair(part: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = part[key]
    if not isinstance(value, list) or len(value) != 2:
        _refuse(f"{where}.{key} is not a pair")
    return value


def _object(part: Mapping[str, Any], key: str, at: str = "") -> dict[str, Any]:
    value = part.get(key)
    if not isinstance(value, Mapping):
        _refuse(f"{at}{key} is {'missing' if value is None else 'not an object'}")
    return dict(value)


def _list(part: Mapping[str, Any], key: str) -> list[Any]:
    value = part.get(key)
    if not isinstance(value, list):
        _refuse(f"{key} is {'missing' if value is None else 'not an array'}")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        _refuse(f"{where} is not a finite number")
    return float(value)


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        _refuse(f"{where} is not a whole number from 0")
    return value


def _refuse(problem: str) -> NoReturn:
    raise EncodingError(f"not a kofn comparison: {problem}")
