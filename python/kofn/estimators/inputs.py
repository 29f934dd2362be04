"""What the estimators take: counts and k, as the arrays the core borrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kofn import _columns
from kofn._values import outside, plain, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Whole numbers are exact as floats up to here.
_MOST = 2**53


def _refuse(argument: str, array: NDArray[Any], wrong: NDArray[np.bool_], problem: str) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        raise outside(argument, f"{shown(plain(array.reshape(-1)[at]))} at position {at} {problem}")


def counts(argument: str, values: ArrayLike) -> NDArray[np.int64]:
    """Whole numbers as contiguous int64 of the same shape; the core checks what they mean."""
    array = _columns.array(argument, values)
    if array.dtype.kind == "O":
        # Integers beyond 64 bits come as objects, and so does everything that is no number.
        for at, item in enumerate(array.reshape(-1).tolist()):
            if not isinstance(item, int) or isinstance(item, bool):
                raise outside(argument, f"{shown(item)} at position {at} is not a whole number")
            if not 0 <= item <= _MOST:
                raise outside(argument, f"{shown(item)} at position {at} is not from 0 to 2^53")
    elif array.dtype.kind == "f":
        flat = array.reshape(-1)
        _refuse(argument, array, ~(np.isfinite(flat) & (flat == np.floor(flat))), "is not a whole number")
        _refuse(argument, array, flat > _MOST, "is more than 2^53")
        _refuse(argument, array, flat < 0, "is negative")
    elif array.dtype.kind == "u":
        # Beyond int64 they would wrap; everything else the core refuses itself.
        _refuse(argument, array, array.reshape(-1) > _MOST, "is more than 2^53")
    elif array.dtype.kind != "i":
        example = f" ({shown(plain(array.reshape(-1)[0]))} at position 0)" if array.size else ""
        raise outside(argument, f"whole numbers are needed, not {array.dtype}{example}")
    return np.ascontiguousarray(array, dtype=np.int64).reshape(array.shape)


def whole(argument: str, value: Any) -> int:
    """Return one whole number from 0 to 2^53."""
    array = counts(argument, value)
    if array.ndim:
        raise outside(argument, f"one whole number is needed, not {array.size}")
    number = int(array)
    if not 0 <= number <= _MOST:
        raise outside(argument, f"{argument} = {number} is not from 0 to 2^53")
    return number


def draws(k: Any) -> tuple[list[int], bool]:
    """Return the values of k as a list, and whether a single one was given."""
    array = counts("k", k)
    if array.ndim > 1:
        raise outside("k", f"one number or a list is needed, not {array.ndim} dimensions")
    ks: list[int] = array.reshape(-1).tolist()
    if not ks:
        raise outside("k", "the list is empty")
    for at, value in enumerate(ks):
        if value < 1:
            raise outside("k", f"k = {value} at position {at}: at least 1 rollout must be drawn")
    return ks, array.ndim == 0


def number(argument: str, value: Any) -> float:
    """Return one real number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise outside(argument, f"one number is needed, not {shown(value)}") from None


def output(out: NDArray[np.float64] | None, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return the caller's array of results as the core fills it: flat, on the same memory."""
    if out is None:
        return None
    if not shape:
        raise outside("out", "the result is a single float; leave it out")
    if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape:
        found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise outside("out", f"it is {found}; it must be an array of float64 {shape}")
    if not (out.flags.c_contiguous and out.flags.writeable and out.flags.aligned):
        raise outside("out", "it is not contiguous, or read-only; give a plain array")
    return out.reshape(-1)
