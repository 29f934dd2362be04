"""Rollouts that were requested and never recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

SHOWN: Final = 10
"""How many a representation lists."""


class MissingRollouts(Iterable[tuple[str, int | None]]):
    """Requested rollouts without a record, as (task, index) pairs, in the order of the report's tasks.

    The index is None where the rollouts are not numbered, or where records have other indices than the requested ones,
    so that nothing says which are missing. Pairs are made while they are looped over: a run may have requested more
    than fits into memory.
    """

    def __init__(self, rows: list[tuple[str, int, list[tuple[int, int]] | None]]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[str, int | None]]:
        for task, count, gaps in self._rows:
            if gaps is None:
                yield from ((task, None) for _ in range(count))
            else:
                yield from ((task, index) for start, end in gaps for index in range(start, end))

    def __len__(self) -> int:
        return sum(count for _, count, _ in self._rows)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, SHOWN)))
        # Python's len() ends at 2^63; declared counts need not.
        total = sum(self.counts.values())
        return f"<{total} missing: {shown}{', …' if total > SHOWN else ''}>"

    @property
    def counts(self) -> dict[str, int]:
        """How many are missing, by task; tasks without a missing rollout have no entry."""
        return {task: count for task, count, _ in self._rows}
