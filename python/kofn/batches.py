"""Grading millions of rollouts given as arrays; the arithmetic is that of `kofn.grade` (spec 2.7).

NumPy is imported where it is used: the command line shows its help without it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from kofn import _core, _values
from kofn.errors import ArgumentTypeError

if TYPE_CHECKING:
    import numpy as np  # noqa: TC004
    from numpy.typing import ArrayLike, NDArray  # noqa: TC004


@dataclass(frozen=True, slots=True, eq=False)
class GradeBatch:
    """Grades of R rollouts as arrays; made by `grade_batch`.

    Attributes
    ----------
    passed : ndarray of bool, shape (R,)
        Every required check passed.
    reward : ndarray of float64, shape (R,)
        Checks passed / checks recorded; NaN where indeterminate.
    n_failed_required : ndarray of uint32, shape (R,)
        How many required checks failed.
    indeterminate : ndarray of bool, shape (R,)
        The rollout has no required check (only with ``on_ungradable="indeterminate"``).
    """

    passed: NDArray[np.bool_]
    reward: NDArray[np.float64]
    n_failed_required: NDArray[np.uint32]
    indeterminate: NDArray[np.bool_]
    # What failed_required() looks at: flat flags, and offsets or the number of checks a row. Borrowed, not copied.
    _flags: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[Any] | int] = field(repr=False)

    def __len__(self) -> int:
        return len(self.passed)

    def failed_required(self, i: SupportsIndex) -> NDArray[np.intp]:
        """Return the positions, among the checks of rollout `i`, of the required ones that failed.

        It looks at the arrays that were graded, which are borrowed: do not change them before. Negative `i` count
        from the end.

        Raises
        ------
        IndexError
            There is no rollout `i`.
        """
        import numpy as np  # noqa: PLC0415

        at = operator.index(i)
        rows = len(self)
        if not -rows <= at < rows:
            raise IndexError(f"rollout {at} of {rows}")
        at %= rows
        passed, required, layout = self._flags
        start, end = (
            (at * layout, (at + 1) * layout) if isinstance(layout, int) else map(int, layout[at : at + 2])
        )
        first = 0 if len(required) < len(passed) else start
        positions = _core.failed_required(
            passed[start:end].tobytes(), required[first : first + end - start].tobytes()
        )
        return np.asarray(positions, dtype=np.intp)


def grade_batch(
    passed: ArrayLike,
    required: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    on_ungradable: Literal["raise", "indeterminate"] = "raise",
    out: GradeBatch | Mapping[str, NDArray[Any]] | None = None,
) -> GradeBatch:
    """Grade R rollouts at once; the same answers as `grade`, millions a second.

    Parameters
    ----------
    passed : array_like of bool, shape (N,) or (R, C)
        Whether each check passed. With `offsets` one entry a check, rollout after rollout; without, one row a
        rollout. Contiguous arrays of bool or uint8 are borrowed as they are; other types are copied, and refused
        unless every value is exactly 0 or 1.
    required : array_like of bool, shape (N,), (C,) or (R, C)
        Whether each check is required. With a matrix one row may stand for all rollouts.
    offsets : array_like of int, shape (R + 1,), optional
        Rollout ``i`` owns the checks ``offsets[i]:offsets[i + 1]``. They rise from 0 to N.
    on_ungradable : {"raise", "indeterminate"}
        What to do with a rollout that has no required check.
    out : GradeBatch or dict of arrays, optional
        Arrays ``passed``, ``reward``, ``n_failed_required``, ``indeterminate`` to write to instead of new ones.
        A `GradeBatch` given here is overwritten. After an error their content is unspecified.

    Raises
    ------
    GradingError
        A rollout has no required check; `index` names it.
    ArgumentError, ArgumentTypeError
        Shapes, offsets, values or types do not fit; the message names the argument and the position.

    Examples
    --------
    Two rollouts, of two checks and of one:

    >>> batch = grade_batch([True, False, True], [True, False, True], offsets=[0, 2, 3])
    >>> batch.passed, batch.reward
    (array([ True,  True]), array([0.5, 1. ]))

    Rows of two checks each, the first one required:

    >>> batch = grade_batch([[0, 1], [1, 1]], [1, 0])
    >>> batch.passed, batch.n_failed_required, batch.failed_required(0)
    (array([False,  True]), array([1, 0], dtype=uint32), array([0]))
    """
    if not isinstance(on_ungradable, str) or on_ungradable not in {"raise", "indeterminate"}:
        raise _values.outside(
            "on_ungradable", f'{_values.shown(on_ungradable)}; it is "raise" or "indeterminate"'
        )
    keep = on_ungradable == "indeterminate"
    flags, needs = _flags(passed, "passed"), _flags(required, "required")
    if offsets is None:
        return _grade_rows(flags, needs, keep, out)
    ends = _offsets(offsets)
    if flags.ndim != 1 or needs.ndim != 1:
        raise _values.outside(
            "passed",
            f"it is {flags.ndim}-D and required {needs.ndim}-D: with offsets both must be 1-D, one entry a check",
        )
    batch, arrays = _outputs(out, max(len(ends) - 1, 0), (flags, needs, ends))
    _core.grade_csr(flags, needs, ends, keep, arrays)
    return batch


def _grade_rows(
    flags: NDArray[np.uint8],
    needs: NDArray[np.uint8],
    keep: bool,
    out: GradeBatch | Mapping[str, NDArray[Any]] | None,
) -> GradeBatch:
    if flags.ndim != 2:
        raise _values.outside(
            "passed",
            f"it is {flags.ndim}-D: without offsets it must be 2-D, one row a rollout; with offsets 1-D",
        )
    rows, columns = flags.shape
    if needs.shape not in {(columns,), (rows, columns)}:
        raise _values.outside(
            "required",
            f"it has shape {needs.shape} beside passed {flags.shape}; it must be {(columns,)} or {(rows, columns)}",
        )
    flags, needs = flags.reshape(-1), needs.reshape(-1)
    batch, arrays = _outputs(out, rows, (flags, needs, columns))
    _core.grade_rows(flags, needs, columns, keep, arrays)
    return batch


def _flags(values: ArrayLike, what: str) -> NDArray[np.uint8]:
    """Return flags as contiguous uint8, without a copy where they are contiguous bools or uint8 already.

    The kernel refuses bytes other than 0 and 1 itself, those of a bool array made by `view` included.
    """
    import numpy as np  # noqa: PLC0415

    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{what} is a masked array; a check passed or not: fill it, or leave the checks out"
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise _values.outside(
            what,
            f"this is no rectangular array ({error}); give rollouts of different length as 1-D arrays with offsets",
        ) from None
    if array.dtype in {np.dtype(np.bool_), np.dtype(np.uint8)}:
        return np.ascontiguousarray(array).reshape(array.shape).view(np.uint8)
    if array.dtype.kind in "iuf":
        wrong = np.flatnonzero((array != 0) & (array != 1))  # NaN is neither
        if wrong.size:
            raise _values.outside(
                what, f"entry {_at(wrong[0], array)} is {array.flat[wrong[0]]}; a check is 0 or 1"
            )
        return array.astype(np.uint8, order="C")
    if array.dtype.kind == "O":
        flags = [_values.truth(value, f"{what}[{_at(i, array)}]") for i, value in enumerate(array.flat)]
        return np.array(flags, dtype=np.uint8).reshape(array.shape)
    raise ArgumentTypeError(f"{what} has dtype {array.dtype}; it must hold bools, or 0 and 1")


def _at(flat: int, array: NDArray[Any]) -> str:
    """Return a flat position as the index a user would write."""
    import numpy as np  # noqa: PLC0415

    return ", ".join(str(i) for i in np.unravel_index(flat, array.shape))


def _offsets(values: ArrayLike) -> NDArray[Any]:
    import numpy as np  # noqa: PLC0415

    if isinstance(values, np.ma.MaskedArray):
        raise ArgumentTypeError("offsets is a masked array; each rollout has a first and a last check")
    array = np.asarray(values)
    if array.ndim != 1:
        raise _values.outside(
            "offsets", f"the array is {array.ndim}-D; it must be 1-D, R + 1 entries for R rollouts"
        )
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"offsets has dtype {array.dtype}; it must hold integers")
    native = array.dtype.newbyteorder("=")
    kept = native if native in {np.dtype(t) for t in (np.int64, np.int32, np.uint64, np.uint32)} else np.int64
    return np.ascontiguousarray(array, dtype=kept)


def _outputs(
    out: GradeBatch | Mapping[str, NDArray[Any]] | None,
    rows: int,
    graded: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[Any] | int],
) -> tuple[GradeBatch, tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.uint32], NDArray[np.uint8]]]:
    """Return the batch to be, and its arrays as the kernel takes them."""
    import numpy as np  # noqa: PLC0415

    dtypes: dict[str, type[np.generic]] = {
        "passed": np.bool_,
        "reward": np.float64,
        "n_failed_required": np.uint32,
        "indeterminate": np.bool_,
    }
    if out is None:
        arrays = {name: np.empty(rows, dtype) for name, dtype in dtypes.items()}
    elif isinstance(out, GradeBatch):
        arrays = {name: getattr(out, name) for name in dtypes}
    elif isinstance(out, Mapping) and set(out) == set(dtypes):
        arrays = dict(out)
    else:
        raise ArgumentTypeError(f"out must be a GradeBatch or a dict of the arrays {', '.join(dtypes)}")
    for name, dtype in dtypes.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != (rows,):
            found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise _values.outside(
                "out", f"{name} is {found}; it must be an array of {np.dtype(dtype)} {(rows,)}"
            )
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise _values.outside("out", f"{name} is not contiguous, or read-only; give a plain array")
    batch = GradeBatch(**arrays, _flags=graded)
    views = (
        batch.passed.view(np.uint8),
        batch.reward,
        batch.n_failed_required,
        batch.indeterminate.view(np.uint8),
    )
    return batch, views
