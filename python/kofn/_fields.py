"""Taking JSON apart: each complaint names the field it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kofn import _values
from kofn.errors import ArgumentError, ArgumentTypeError, InputError

T = TypeVar("T")


def bad(field: str, problem: str) -> InputError:
    """Return the error for a field of what is read."""
    error = InputError(f"field {field}: {problem}" if field else problem)
    error.field = field or None
    return error


def at(field: str, make: Callable[[], T]) -> T:
    """Run `make`, and turn kofn's complaint about a value into one about the field it stood in."""
    try:
        return make()
    except (ArgumentError, ArgumentTypeError) as error:
        raise bad(field, str(error).removeprefix(f"{field}: ")) from None


def parse(text: str | bytes) -> Any:
    """Parse JSON; a key that stands twice in an object is refused."""
    import json  # noqa: PLC0415

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise bad(twice, "the key stands twice in one object")
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # ValueError: syntax, UTF-8, and integers of absurd length
        raise bad("", f"this is not JSON: {error}") from None


def mapping(value: object, field: str) -> Mapping[str, Any]:
    """Return a JSON object, or say that there is none."""
    if not isinstance(value, Mapping):
        raise bad(field, f"{_values.shown(value)} stands where an object must")
    return value


def array(value: object, field: str) -> list[Any]:
    """Return a JSON array, or say that there is none."""
    if not isinstance(value, (list, tuple)):
        raise bad(field, f"{_values.shown(value)} stands where a list must")
    return list(value)
