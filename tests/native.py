"""Runs in the native form, from objects in a test to kofn's answer."""

from __future__ import annotations

import io
import json
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Tests hand over what the types forbid, on purpose.
kofn: Any = import_module("kofn")
errors: Any = import_module("kofn.errors")

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
READ_OPTIONS = ("format", "on_error", "on_duplicate", "on_ungradable")


def jsonl(*objects: Any) -> bytes:
    """Write objects a line each; NaN and infinities as bare tokens (spec 7.1); text is taken as a raw line."""
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in objects)
    return "".join(f"{line}\n" for line in lines).encode()


def run_of(records: Iterable[Any], header: Json | None = None, **options: Any) -> Any:
    """Read records as a native file; without a header none is written."""
    objects = [*([] if header is None else [{"run": header}]), *records]
    return kofn.read(io.BytesIO(jsonl(*objects)), **options)


def report_of(records: Iterable[Any], header: Json | None = None, **options: Any) -> Json:
    """Report on records as a native file: the report's JSON."""
    reading = {key: value for key, value in options.items() if key in READ_OPTIONS}
    asking = {key: value for key, value in options.items() if key not in READ_OPTIONS}
    return as_json(run_of(records, header, **reading).report(**asking))


def as_json(report: Any) -> Json:
    """Parse a report's JSON as strictly as the standard demands: no NaN, no Infinity."""

    def refuse(token: str) -> float:
        raise AssertionError(f"{token} is not JSON")

    return dict(json.loads(report.to_json(), parse_constant=refuse))


def value_of(report: Json, label: str) -> float:
    """Take a run-level figure."""
    value = report["statistics"][label]["value"]
    assert isinstance(value, float)
    assert math.isfinite(value)
    return value


def passes(*flags: bool | int, task: str = "t") -> list[Json]:
    """Rollouts of a task that passed or not."""
    return [{"task": task, "passed": bool(flag)} for flag in flags]


def scored(*scores: float | None, task: str = "t") -> list[Json]:
    """Rollouts of a task that have a score or null."""
    return [{"task": task, "score": score} for score in scores]


def check(label: str, passed: Any, *, required: bool = True) -> Json:
    """A check as it stands in a file."""
    return {"label": label, "required": required, "passed": passed}
