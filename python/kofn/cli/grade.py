"""`kofn grade`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from kofn.cli import output, status
from kofn.errors import InputError, KofnError

if TYPE_CHECKING:
    import argparse

    from kofn.checks import Check


def run(arguments: argparse.Namespace) -> int:
    """Grade one list of checks and print its result.json."""
    from kofn.checks import grade  # noqa: PLC0415

    source = "standard input" if arguments.checks == "-" else arguments.checks
    document = _document(arguments.checks, source)
    tool_calls = tool_errors = None
    if isinstance(document, dict):
        tool_calls = _either(document, "toolCalls", "tool_calls", source)
        tool_errors = _either(document, "toolErrors", "tool_errors", source)
        document = document.get("checks")
        if document is None:
            _bad(source, "checks", "is missing")
    if not isinstance(document, list):
        _bad(source, "", "is neither a list of checks nor an object with `checks`")
    checks = [_check(item, f"checks[{i}]", source) for i, item in enumerate(document)]
    try:
        result = grade(checks, tool_calls=tool_calls, tool_errors=tool_errors)
    except KofnError as error:
        raise type(error)(f"{source}: {error}") from None
    output.write([result.to_json().rstrip("\n"), "\n"], arguments.output)
    return status.FELL_SHORT if arguments.gate and not result.passed else status.DONE


def _check(item: Any, field: str, source: str) -> Check:
    from kofn.checks import Check  # noqa: PLC0415

    if not isinstance(item, dict):
        _bad(source, field, "is not an object")
    for key in ("label", "passed"):
        if item.get(key) is None:
            _bad(source, f"{field}.{key}", "is missing")
    required = item.get("required")
    try:
        return Check(item["label"], item["passed"], required=required if required is not None else False,
                     detail=item.get("detail"))  # fmt: skip
    except KofnError as error:
        _bad(source, field, f": {error}")


def _document(path: str, source: str) -> Any:
    if path == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError as error:
        _bad(source, "", f"is not UTF-8 (byte {error.start})")
    except json.JSONDecodeError as error:
        _bad(source, "", f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")
    except RecursionError:
        _bad(source, "", "is nested too deeply")
    except ValueError as error:
        _bad(source, "", f"cannot be read: {str(error).partition(';')[0]}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is no JSON value")


def _either(document: dict[str, Any], name: str, spelling: str, source: str) -> Any:
    if document.get(name) is not None and document.get(spelling) is not None:
        _bad(source, name, f"stands twice, as {spelling} too")
    value = document.get(name)
    return document.get(spelling) if value is None else value


def _bad(source: str, field: str, problem: str) -> NoReturn:
    where = f"{source}, field {field}" if field else source
    error = InputError(f"{where}{problem}" if problem.startswith(":") else f"{where} {problem}")
    error.source, error.field = source, field or None
    raise error
