"""Checks of single values: what a name, a flag, a number and a piece of JSON are, everywhere alike.

NumPy is looked at only where a value is none of Python's own, so that importing this costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kofn.errors import ArgumentError, ArgumentTypeError

# Python, like most readers of JSON, takes no integer of more than 4300 digits.
_MOST_BITS = 13_287
Scalar = bool | int | float | str | None
"""Any JSON scalar; what details hold."""


def outside(argument: str, problem: str) -> ArgumentError:
    """Return the error for an argument outside its domain."""
    error = ArgumentError(f"{argument}: {problem}")
    error.argument = argument
    return error


def shown(value: object) -> str:
    """Return a short picture of any value for a message, on one line."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # a broken __repr__ must not hide the message it stands in
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def line(text: str) -> str:
    """Return text that stands in a message on one line: what breaks a line or moves a cursor, as escapes."""
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _unshown(c) else c for c in text)


def _unshown(c: str) -> bool:
    return c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029" or "\ud800" <= c <= "\udfff"


def plain(value: object) -> object:
    """Turn a NumPy scalar into the Python one; leave everything else alone."""
    if type(value) in {bool, int, float, str, type(None)}:
        return value
    import numpy as np  # noqa: PLC0415  # see above

    return value.item() if isinstance(value, np.generic) else value


def name(value: object, what: str) -> str:
    """Return `value` if it is text that a file can hold and a report can show.

    Raises
    ------
    ArgumentTypeError
        It is not text.
    ArgumentError
        It is empty, or holds a lone surrogate, which UTF-8 cannot.
    """
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what}: {shown(value)}, {type(value).__name__}; it must be text")
    if not value:
        raise outside(what, "it is empty; it must be text that names it")
    return key(value, what)


def key(value: object, what: str) -> str:
    """Return `value` if it is text that UTF-8 can hold; it may be empty."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what}: {shown(value)}, {type(value).__name__}; it must be text")
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise outside(what, f"{value!r}: it holds a lone surrogate, which is no character")
    return str(value)


def prose(value: object, what: str) -> str:
    """Return text for people to read, with lone surrogates as U+FFFD: it must never stop a grader."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{what}: {shown(value)}, {type(value).__name__}; it must be text")
    if value.isascii():
        return str(value)
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def truth(value: object, what: str) -> bool:
    """Return a flag as a bool: True, False, 0, 1, 0.0, 1.0 and NumPy's; truthiness is never used (spec 2.6).

    Raises
    ------
    ArgumentError
        It is a number, but not 0 or 1.
    ArgumentTypeError
        It is not a number.
    """
    if value is True or value is False:
        return value
    value = plain(value)
    if isinstance(value, (bool, int, float)):
        if value in {0, 1}:
            return value == 1
        raise outside(what, f"{shown(value)}; it must be True or False (0 and 1 will do)")
    raise ArgumentTypeError(
        f"{what}: {shown(value)}, {type(value).__name__}; it must be True or False: compare explicitly, truthiness is never used"
    )


def flag(value: object, what: str) -> bool:
    """Return an option that is True or False and nothing else."""
    if value is True or value is False:
        return value
    raise ArgumentTypeError(f"{what}: {shown(value)}; it must be True or False")


def number(value: object, what: str) -> float | None:
    """Return a finite number, None for None and NaN ("not recorded", spec 6.6); bools and text are refused."""
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"{what}: {shown(value)}, {type(value).__name__}; it must be a number or None"
        )
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if math.isnan(result):
        return None
    if math.isinf(result):
        raise outside(what, f"{shown(value)}; it must be finite (None says that nothing was recorded)")
    return result


def score(value: object, what: str) -> float | None:
    """Return a score: a finite number, bools as 1 and 0, None for None and NaN; text never (spec 6.6)."""
    value = plain(value)
    return float(value) if isinstance(value, bool) else number(value, what)


def mean(values: Sequence[float]) -> float:
    """Return the exact mean, rounded once."""
    if len(values) == 1:
        return float(values[0])
    from fractions import Fraction  # noqa: PLC0415  # not needed to import kofn

    return float(sum(map(Fraction, values)) / len(values))


def count(value: object, what: str, *, least: int = 0, most: int = 2**53) -> int | None:
    """Return a whole number from `least` to `most`, or None; the default is the most that files take."""
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(
            f"{what}: {shown(value)}, {type(value).__name__}; it must be a whole number or None"
        )
    if not least <= value <= most:
        raise outside(what, f"{shown(value)}; it must be a whole number from {least} to {most}")
    return int(value)


def confidence(value: object) -> float:
    """Return a confidence: a number strictly between 0 and 1."""
    try:
        found = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 < found < 1:
        raise outside("confidence", f"{shown(value)} is not a number between 0 and 1, such as 0.95")
    return found


def seed(value: object) -> int:
    """Return a seed of random numbers: a whole number from 0 to 2^64 - 1, NumPy's among them."""
    whole = plain(value)
    if isinstance(whole, bool) or not isinstance(whole, int) or not 0 <= whole < 1 << 64:
        raise outside("seed", f"{shown(value)} is not a whole number from 0 to 2^64 - 1")
    return whole


def scalar(value: object, what: str) -> Scalar:
    """Return a JSON scalar: NaN becomes None, infinities and everything with parts are refused."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return prose(value, what)
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise outside(what, "it has more than 4000 digits; give it as text")
        return int(value)
    if isinstance(value, float):
        return number(value, what)
    raise ArgumentTypeError(
        f"{what}: {shown(value)}, {type(value).__name__}; it must be text, a number, a bool or None"
    )


def document(value: object, what: str) -> Any:
    """Return a copy of a JSON value: NumPy scalars and tuples become plain, NaN becomes None, infinities are refused."""
    if isinstance(value, Mapping):
        return {key(k, f"a key of {what}"): document(v, f"{what}.{k}") for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [document(item, f"{what}[{i}]") for i, item in enumerate(value)]
    try:
        return scalar(value, what)
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"{what}: {shown(value)}, {type(value).__name__}; JSON cannot hold that: give text, numbers, bools, lists or dicts"
        ) from None


def dumps(value: object, *, indent: int | None = None) -> str:
    """Write JSON: no NaN, floats to their last bit, the same text for the same value."""
    import json  # noqa: PLC0415  # not needed to import kofn

    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=separators, indent=indent)
