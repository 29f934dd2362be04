"""How the checks of a run fared, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from kofn import _core


@dataclass(frozen=True, slots=True)
class CheckRow:
    """How one check fared over a run.

    Parameters
    ----------
    verifier, label : str
        Who recorded it, and what it is called.
    required : bool
        Whether it was required; a label that was recorded both ways has two rows.
    ran, passed : int
        In how many rollouts it was recorded, and passed.
    blocked : int
        In how many rollouts it was the only required check that failed: what fixing it alone would win.
    """

    verifier: str
    label: str
    required: bool
    ran: int
    passed: int
    blocked: int

    @property
    def failed(self) -> int:
        """In how many rollouts it failed."""
        return self.ran - self.passed


class CheckTable(Sequence[CheckRow]):
    """A run's checks, most blocking first, then most failing, then by name; any Arrow library reads it.

    Examples
    --------
    >>> from kofn import Rollout, Run, Verification, optional, required
    >>> checks = [required("total", False), optional("saved", True)]
    >>> run = Run.from_records([Rollout("sum", verifications=[Verification("answer", checks)])])
    >>> print(run.checks())
    verifier  label  required  ran  passed  failed  blocked
    answer    total  yes         1       0       1        1
    answer    saved  no          1       1       0        0
    """

    COLUMNS = ("verifier", "label", "required", "ran", "passed", "failed", "blocked")

    def __init__(self, rows: Sequence[CheckRow]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> CheckRow: ...
    @overload
    def __getitem__(self, position: slice) -> CheckTable: ...
    def __getitem__(self, position: int | slice) -> CheckRow | CheckTable:
        if isinstance(position, slice):
            return CheckTable(self._rows[position])
        return self._rows[position]

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, CheckTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows)

    def columns(self) -> dict[str, list[str] | npt.NDArray[Any]]:
        """Return the columns by name: lists of text, bool and int64 arrays."""
        found: dict[str, list[str] | npt.NDArray[Any]] = {}
        for name in self.COLUMNS:
            values = [getattr(row, name) for row in self._rows]
            kinds = {
                "required": np.bool_,
                "ran": np.int64,
                "passed": np.int64,
                "failed": np.int64,
                "blocked": np.int64,
            }
            found[name] = np.array(values, kinds[name]) if name in kinds else values
        return found

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export as an Arrow table: ``polars.from_arrow(run.checks())``."""
        return _core.arrow_stream([*self.columns().items()], requested_schema)

    def __str__(self) -> str:
        table = [self.COLUMNS, *(_shown(row) for row in self._rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(
                cell.ljust(width) if at < 3 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in table
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<CheckTable: {len(self)} checks>"


def _shown(row: CheckRow) -> tuple[str, ...]:
    """Return a row as text on one line, whatever its labels hold."""
    texts = (" ".join(text.split()) for text in (row.verifier, row.label))
    counts = (row.ran, row.passed, row.failed, row.blocked)
    return (*texts, "yes" if row.required else "no", *map(str, counts))
