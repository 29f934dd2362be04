"""The formats that `kofn.read` knows, by name."""

from __future__ import annotations

from typing import Final

from kofn.errors import ArgumentError

NATIVE: Final = "native"
"""kofn's own form: JSON Lines, or the same as a table (spec 7)."""

FORMATS: Final = (NATIVE,)
"""Every name that `read(..., format=...)` takes."""


def resolve(name: str | None) -> str:
    """Return the format to read with; None is the native one.

    Raises
    ------
    ArgumentError
        There is no such format; the message lists those there are.
    """
    if name is None:
        return NATIVE
    if name not in FORMATS:
        error = ArgumentError(f"format: {name!r} is not known; there is {', '.join(map(repr, FORMATS))}")
        error.argument = "format"
        raise error
    return name
