"""The tasks of a comparison: what each did in both runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kofn.reports.tasks import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

Change = Literal["gained", "lost"]


@dataclass(frozen=True, slots=True)
class ComparedTask:
    """One task in both runs; None stands for what is not known (never 0).

    Attributes
    ----------
    task : str
    n, successes : tuple of int, or None
        Of the first and the second run.
    change : "gained", "lost" or None
        Solved in the second run alone, or in the first alone: by at least one success, against none.
    statistics : dict of str to (float, float)
        The label's value in both runs, where both have it.
    p_value, adjusted_p_value : float or None
        Fisher's exact test of the successes, as such and beside all other tasks (Benjamini and Hochberg).
    """

    task: str
    n: tuple[int, int] | None
    successes: tuple[int, int] | None
    change: Change | None
    statistics: dict[str, tuple[float, float]]
    p_value: float | None
    adjusted_p_value: float | None


class ComparedTasks:
    """The common tasks, in the order of the first run: columns inside, one `ComparedTask` a task outside.

    `n` and `successes` hold a column a run (-1 where it is not known), `statistics` two columns a label (NaN where a
    run lacks it); `p_value` and `adjusted_p_value` are NaN where no successes are known.
    """

    def __init__(
        self,
        task: list[str],
        *,
        n: tuple[NDArray[np.int64], NDArray[np.int64]],
        successes: tuple[NDArray[np.int64], NDArray[np.int64]],
        statistics: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
        p_value: NDArray[np.float64] | None = None,
        adjusted_p_value: NDArray[np.float64] | None = None,
        extras: Mapping[int, dict[str, Any]] | None = None,
    ) -> None:
        none = np.full(len(task), np.nan)
        self.task = task
        self.n, self.successes = n, successes
        self.statistics = dict(statistics)
        self.p_value = none if p_value is None else p_value
        self.adjusted_p_value = none if adjusted_p_value is None else adjusted_p_value
        # Keys this version does not know, by the task's position.
        self.extras = dict(extras or {})
        self._positions: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.task)

    def __iter__(self) -> Iterator[ComparedTask]:
        return map(self._at, range(len(self)))

    def __contains__(self, task: object) -> bool:
        return task in self._index()

    def __getitem__(self, task: str) -> ComparedTask:
        try:
            return self._at(self._index()[task])
        except KeyError:
            raise KeyError(f"the comparison has no task {task!r}") from None

    def __repr__(self) -> str:
        return f"<ComparedTasks: {len(self)} tasks, columns {', '.join(self.columns())}>"

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which tasks have n and successes in both runs."""
        known: NDArray[np.bool_] = np.ones(len(self), np.bool_)
        for column in (*self.n, *self.successes):
            known &= column != ABSENT
        return known

    def changed(self) -> NDArray[np.int8]:
        """Return 1 for each task gained, -1 for each lost, else 0."""
        solved = [column > 0 for column in self.successes]
        change: NDArray[np.int8] = solved[1].astype(np.int8) - solved[0].astype(np.int8)
        return np.where(self.counted, change, 0).astype(np.int8)

    def probability_better(self, *, prior: tuple[float, float] = (0.5, 0.5)) -> NDArray[np.float64]:
        """Return, of each task, how probable it is that the second run's chance of success is above the first's.

        **Model-based**: it rests on a Beta prior, Jeffreys' by default, and is no p-value; 1/2 says that nothing is
        known. NaN where n or successes are not known. The same holds for pass@k and pass^k of any k.

        Parameters
        ----------
        prior : (float, float)
            Shapes of the prior that both runs share.
        """
        from kofn.estimators import probability_above  # noqa: PLC0415  (seldom needed)

        found = np.full(len(self), np.nan)
        if (known := self.counted).any():
            (n_a, n_b), (c_a, c_b) = ([column[known] for column in pair] for pair in (self.n, self.successes))
            found[known] = probability_above(n_b, c_b, n_a, c_a, prior=prior)
        return found

    def columns(self) -> dict[str, list[str] | NDArray[Any]]:
        """Return the columns that hold something, by name, as `pyarrow.table(comparison.tasks)` shows them."""
        found: dict[str, list[str] | NDArray[Any]] = {"task": self.task}
        for name, pair in (("n", self.n), ("successes", self.successes)):
            for run, column in zip("ab", pair, strict=True):
                if (column != ABSENT).any():
                    found[f"{name}_{run}"] = column
        for label, (a, b) in self.statistics.items():
            found |= {f"{label}_a": a, f"{label}_b": b, f"{label}_difference": b - a}
        for name in ("p_value", "adjusted_p_value"):
            if not np.isnan(column := getattr(self, name)).all():
                found[name] = column
        return found

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export `columns()` as an Arrow table."""
        from kofn import _core  # noqa: PLC0415  (only an export needs it)

        return _core.arrow_stream([*self.columns().items()], requested_schema)

    def _index(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = {task: position for position, task in enumerate(self.task)}
        return self._positions

    def _at(self, position: int) -> ComparedTask:
        def pair(columns: tuple[NDArray[Any], NDArray[Any]]) -> tuple[Any, Any] | None:
            first, second = (column[position].item() for column in columns)
            return None if ABSENT in {first, second} else (first, second)

        def number(value: float) -> float | None:
            return None if value != value else value  # noqa: PLR0124  (NaN alone differs from itself)

        n, successes = pair(self.n), pair(self.successes)
        change: Change | None = None
        if n and successes and (successes[0] > 0) != (successes[1] > 0):
            change = "gained" if successes[1] else "lost"
        values = {
            label: (a[position].item(), b[position].item())
            for label, (a, b) in self.statistics.items()
            if not np.isnan(b[position] - a[position])
        }
        return ComparedTask(
            task=self.task[position],
            n=n,
            successes=successes,
            change=change,
            statistics=values,
            p_value=number(self.p_value[position].item()),
            adjusted_p_value=number(self.adjusted_p_value[position].item()),
        )
