"""The per-task columns of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

DIAGNOSES: Final = ("reliable", "unreliable", "incapable", "unscorable")
NO_DIAGNOSIS: Final = 255
ABSENT: Final = -1
COUNTS: Final = ("n", "requested", "recorded", "successes")
SCORES: Final = ("mean", "best", "worst", "spread")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a report says of one task; None stands for what was not recorded or not asked for (never 0).

    Attributes
    ----------
    task : str
        The task's id.
    n, requested, recorded, successes : int or None
        Rollouts counted under the report's denominator, requested, recorded, and successes under its policy.
    diagnosis : str or None
        `"reliable"`, `"unreliable"`, `"incapable"` or `"unscorable"` (spec 6.9).
    scored : int
        Rollouts with a score.
    mean, best, worst, spread : float or None
        Of the scores of the task's rollouts; spread is best - worst.
    statistics : dict of str to float
        The labels that this task produced.
    intervals : dict of str to tuple of float
        Lower and upper end for each label whose rollouts tell them. Of shares: Wilson's interval on the probability to
        pass, its ends put into the label's formula. Of scores, durations and tokens: Student's t, rough for few
        rollouts.
    noise : dict of str to float
        Standard error over repeated runs of the task, for labels that n and successes do not give.
    cluster : str or None
        The value of the tag that names clusters of tasks.
    """

    task: str
    n: int | None
    requested: int | None
    recorded: int | None
    successes: int | None
    diagnosis: str | None
    scored: int
    mean: float | None
    best: float | None
    worst: float | None
    spread: float | None
    statistics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    noise: dict[str, float]
    cluster: str | None = None


class PerTask:
    """The tasks of a report, in its order: columns inside, one `TaskResult` a task outside.

    Examples
    --------
    >>> import numpy as np
    >>> tasks = PerTask(["a", "b"], recorded=np.array([4, 5]), statistics={"pass@1": np.array([0.5, np.nan])})
    >>> len(tasks), tasks["a"].statistics, tasks["b"].statistics
    (2, {'pass@1': 0.5}, {})
    >>> [result.task for result in tasks]
    ['a', 'b']
    >>> list(tasks.columns())
    ['task', 'recorded', 'scored', 'pass@1']
    """

    def __init__(
        self,
        task: list[str],
        *,
        n: Ints | None = None,
        requested: Ints | None = None,
        recorded: Ints | None = None,
        successes: Ints | None = None,
        diagnosis: NDArray[np.uint8] | None = None,
        scored: Ints | None = None,
        mean: Floats | None = None,
        best: Floats | None = None,
        worst: Floats | None = None,
        spread: Floats | None = None,
        statistics: Mapping[str, Floats] | None = None,
        intervals: Mapping[str, tuple[Floats, Floats]] | None = None,
        noise: Mapping[str, Floats] | None = None,
        cluster: list[str | None] | None = None,
        extras: Mapping[int, dict[str, Any]] | None = None,
    ) -> None:
        size = len(task)

        def counts(column: Ints | None, absent: int = ABSENT) -> Ints:
            return (
                np.full(size, absent, np.int64) if column is None else np.ascontiguousarray(column, np.int64)
            )

        def floats(column: Floats | None) -> Floats:
            return np.full(size, np.nan) if column is None else np.ascontiguousarray(column, np.float64)

        self.task = task
        self.n = counts(n)
        self.requested = counts(requested)
        self.recorded = counts(recorded)
        self.successes = counts(successes)
        self.codes = (
            np.full(size, NO_DIAGNOSIS, np.uint8) if diagnosis is None else np.asarray(diagnosis, np.uint8)
        )
        self.scored = counts(scored, 0)
        self.mean, self.best, self.worst, self.spread = map(floats, (mean, best, worst, spread))
        columns = {label: floats(column) for label, column in (statistics or {}).items()}
        # A label that no task produced has no column: JSON could not tell it from one that was not asked for.
        self.statistics = {label: column for label, column in columns.items() if not np.isnan(column).all()}
        # Likewise an interval that no task has.
        self.intervals = {
            label: (low, high)
            for label, ends in (intervals or {}).items()
            if label in self.statistics
            and not (np.isnan(low := floats(ends[0])) | np.isnan(high := floats(ends[1]))).all()
        }
        self.noise = {
            label: column
            for label, values in (noise or {}).items()
            if label in self.statistics and not np.isnan(column := floats(values)).all()
        }
        self.cluster = cluster if cluster and any(name is not None for name in cluster) else None
        # Keys this version does not know, by the task's position; they survive a round trip through JSON.
        self._extras = dict(extras or {})
        self._positions: dict[str, int] | None = None
        sized: list[NDArray[Any]] = [self.n, self.requested, self.recorded, self.successes, self.codes]
        sized += [self.scored, self.mean, self.best, self.worst, self.spread, *columns.values()]
        sized += [end for ends in self.intervals.values() for end in ends]
        sized += self.noise.values()
        if any(column.shape != (size,) for column in sized) or len(self.cluster or task) != size:
            raise ValueError("the columns of a report's tasks must have one entry a task")

    def __len__(self) -> int:
        return len(self.task)

    def __iter__(self) -> Iterator[TaskResult]:
        return map(self._result, range(len(self)))

    def __contains__(self, task: object) -> bool:
        return task in self._index()

    def __getitem__(self, task: str) -> TaskResult:
        try:
            return self._result(self._index()[task])
        except KeyError:
            raise KeyError(f"the report has no task {task!r}") from None

    def __repr__(self) -> str:
        return f"<PerTask: {len(self)} tasks, columns {', '.join(self.columns())}>"

    def columns(self) -> dict[str, list[str] | list[str | None] | NDArray[Any]]:
        """Return the columns that hold something, by name.

        Returns
        -------
        dict
            `task` (list of str), `n`, `requested`, `recorded`, `successes`, `scored` (int64; -1 where a task lacks a
            count), `diagnosis` (list of str or None), `score_mean`, `score_best`, `score_worst`, `score_spread`
            (float64, NaN where no score was recorded), then for each label a float64 column, NaN where the task did
            not produce it, its `_low` and `_high`, NaN where there is no interval, and its `_noise`, the standard error
            over repeated runs, where n and successes do not give it; last `cluster` (list of str or None). A column
            without any entry is left out.
        """
        found: dict[str, list[str] | list[str | None] | NDArray[Any]] = {"task": self.task}
        for name in COUNTS:
            column = getattr(self, name)
            if (column != ABSENT).any():
                found[name] = column
        if (self.codes != NO_DIAGNOSIS).any():
            found["diagnosis"] = self.diagnoses()
        found["scored"] = self.scored
        for name in SCORES:
            column = getattr(self, name)
            if not np.isnan(column).all():
                found[f"score_{name}"] = column
        for label, column in self.statistics.items():
            found[label] = column
            if label in self.intervals:
                found[f"{label}_low"], found[f"{label}_high"] = self.intervals[label]
            if label in self.noise:
                found[f"{label}_noise"] = self.noise[label]
        if self.cluster is not None:
            found["cluster"] = self.cluster
        return found

    def diagnoses(self) -> list[str | None]:
        """Return each task's diagnosis, None where it has none."""
        return [DIAGNOSES[code] if code < len(DIAGNOSES) else None for code in self.codes.tolist()]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export `columns()` as an Arrow table: `pyarrow.table(report.per_task)`, `polars.from_arrow(...)`."""
        from kofn import _core  # noqa: PLC0415  (only an export needs it)

        return _core.arrow_stream([*self.columns().items()], requested_schema)

    def order_labels(self, labels: Iterable[str]) -> None:
        """Put the label columns in the order of the run's labels, others after them by name."""
        first = [label for label in labels if label in self.statistics]
        rest = sorted(set(self.statistics).difference(first))
        self.statistics = {label: self.statistics[label] for label in (*first, *rest)}
        self.intervals = {
            label: self.intervals[label] for label in self.statistics if label in self.intervals
        }
        self.noise = {label: self.noise[label] for label in self.statistics if label in self.noise}

    def unknown(self, position: int) -> dict[str, Any]:
        """Return the keys of the task at `position` that this version does not know."""
        return self._extras.get(position, {})

    def _index(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = {task: position for position, task in enumerate(self.task)}
        return self._positions

    def _result(self, position: int) -> TaskResult:
        def count(column: Ints) -> int | None:
            value = int(column[position])
            return None if value == ABSENT else value

        def score(column: Floats) -> float | None:
            value = float(column[position])
            return None if value != value else value  # noqa: PLR0124  (NaN alone differs from itself)

        code = self.codes[position]
        return TaskResult(
            task=self.task[position],
            n=count(self.n),
            requested=count(self.requested),
            recorded=count(self.recorded),
            successes=count(self.successes),
            diagnosis=DIAGNOSES[code] if code < len(DIAGNOSES) else None,
            scored=int(self.scored[position]),
            mean=score(self.mean),
            best=score(self.best),
            worst=score(self.worst),
            spread=score(self.spread),
            statistics={
                label: value
                for label, column in self.statistics.items()
                if (value := score(column)) is not None
            },
            intervals={
                label: (low, high)
                for label, ends in self.intervals.items()
                if (low := score(ends[0])) is not None and (high := score(ends[1])) is not None
            },
            noise={
                label: value for label, column in self.noise.items() if (value := score(column)) is not None
            },
            cluster=None if self.cluster is None else self.cluster[position],
        )
