"""`kofn grade`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kofn.cli import output, status
from kofn.errors import InputError, KofnError

if TYPE_CHECKING:
    import argparse

    from kofn.checks import Grade


def run(arguments: argparse.Namespace) -> int:
    """Grade one list of checks and print its result.json."""
    path = arguments.checks
    output.spare(arguments.output, [path])
    if path == "-":
        if sys.stdin is None:
            raise InputError("standard input: it is closed")
        data = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    source = "standard input" if path == "-" else path
    try:
        result = _grade(data)
    except KofnError as error:
        placed = InputError(f"{source}: {error}")
        placed.source, placed.field = source, getattr(error, "field", None)
        raise placed from None
    output.write([result.to_json(indent=1), "\n"], arguments.output)
    return status.FELL_SHORT if arguments.gate and not result.passed else status.DONE


def _grade(data: bytes) -> Grade:
    from kofn._fields import bad, parse  # noqa: PLC0415  (help needs none of it)
    from kofn._result_json import read_checks  # noqa: PLC0415
    from kofn.checks import grade  # noqa: PLC0415

    document = parse(data)
    if isinstance(document, Mapping):
        if document.get("checks") is None:
            raise bad("checks", "it is missing; give a list of checks, or an object that holds one")
        return grade(
            read_checks(document["checks"], "checks"),
            tool_calls=_either(document, "toolCalls", "tool_calls"),
            tool_errors=_either(document, "toolErrors", "tool_errors"),
        )
    return grade(read_checks(document, "checks"))


def _either(document: Mapping[str, Any], name: str, spelling: str) -> Any:
    if document.get(name) is not None and document.get(spelling) is not None:
        from kofn._fields import bad  # noqa: PLC0415

        raise bad(name, f"it stands twice, as {spelling} too")
    return document.get(spelling) if document.get(name) is None else document[name]
