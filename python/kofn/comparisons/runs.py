"""`kofn.compare`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from kofn import _core, _values
from kofn.comparisons import labels as label_columns
from kofn.comparisons.clusters import cluster_codes, cluster_sums, n_clusters
from kofn.comparisons.comparison import Comparison, Content, Settings, Side
from kofn.comparisons.difference import Difference
from kofn.comparisons.join import Joined, OnMismatch, join, listed
from kofn.comparisons.sources import Reading, report_of
from kofn.comparisons.tasks import ComparedTasks
from kofn.errors import ArgumentTypeError
from kofn.reports.intervals import Interval

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kofn.accumulators import Denominator, OnShort
    from kofn.policies import Policy
    from kofn.reports import Report
    from kofn.runs import Run

    Ints = NDArray[np.int64]
    Counts = tuple[Ints, Ints, Ints, Ints]
    Comparable = Run | Report | str | os.PathLike[str]

_STRATIFIED = {"pass@1", "pass^1", "pass_rate"}


def compare(
    a: Comparable,
    b: Comparable,
    statistics: str | Sequence[str] | None = None,
    *,
    k: int | Sequence[int] | None = None,
    policy: Policy | str | None = None,
    threshold: float | None = None,
    requested: int | Mapping[Any, int] | None = None,
    denominator: Denominator = "requested",
    on_short: OnShort = "raise",
    on_mismatch: OnMismatch = "raise",
    cluster: str | Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    interval: Interval = "default",
    seed: int = 0,
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Compare two runs on their common tasks: each task against itself, the second run minus the first.

    Parameters
    ----------
    a, b : Run, Report or path
        The baseline and the new run. A path is that of a saved report, or of whatever `kofn.read` takes as one run.
        A report is enough: it holds each task's values, and n and successes, from which figures that it lacks are
        computed where they suffice.
    statistics : str or sequence of str, optional
        Labels; the first decides the conclusion. Default: what both have.
    k, policy, threshold, requested, denominator, on_short
        As in `Run.report`, where a run is given.
    on_mismatch : {"raise", "intersect"}
        What to do where the runs have different tasks: stop, or compare the common ones and count the others.
    cluster : str or mapping of task to a value, optional
        Tasks that are not independent of each other: a tag (of the runs; or of a report made with it as `by`), or what
        each task belongs to. Whole clusters then count as one.
    confidence : float
        Of the intervals.
    interval : {"default", "student", "bootstrap", "percentile"}
        Student's t over tasks, corrected for skewness or not; or quantiles of the mean differences of 10,000 resamples
        of the tasks, moved for bias and skewness (BCa) or as they are.
    seed : int
        Of the resamples, and of the sign-flip test where signs have to be drawn.
    names : tuple of str
        What to call the runs.

    Returns
    -------
    Comparison
        A mapping from labels to differences, with `conclusion`, `tasks`, `gained`, `lost`.

    Raises
    ------
    InputError
        The runs have different tasks, or none in common.
    RefusedError
        A label that was asked for cannot be compared: a run lacks it, or the runs were judged by different policies.
    ArgumentError, ArgumentTypeError
        An argument is outside its domain.

    Notes
    -----
    The interval and the sign-flip test ask about tasks like these; `noise` and the stratified exact test ask about
    these very tasks. `docs/comparing.md` says which question is whose.

    Examples
    --------
    >>> import kofn
    >>> old = kofn.Run.from_arrays(groups=list("abcdef"), passed=[0, 0, 0, 0, 0, 1])
    >>> new = kofn.Run.from_arrays(groups=list("abcdef"), passed=[1, 1, 1, 1, 0, 1])
    >>> kofn.compare(old, new, "pass@1")["pass@1"].exact_p_value
    0.125
    """
    tag = cluster if isinstance(cluster, str) else None
    reading = Reading(statistics, k, policy, threshold, requested, denominator, on_short, tag)
    return compare_reports(
        report_of(a, reading, "a"),
        report_of(b, reading, "b"),
        label_columns.asked(statistics, k),
        omit_short=on_short == "omit",
        on_mismatch=on_mismatch,
        cluster=cluster,
        confidence=confidence,
        interval=interval,
        seed=seed,
        names=_two(names),
    )


def compare_reports(
    a: Report,
    b: Report,
    asked: list[str] | None,
    *,
    also: Sequence[str] = (),
    omit_short: bool = False,
    on_mismatch: OnMismatch = "raise",
    cluster: str | Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    interval: Interval = "default",
    seed: int = 0,
    names: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Compare two reports; see `compare`. `asked` and `also` are canonical labels; `also` stands beside the default ones too."""
    _word("on_mismatch", on_mismatch, ("raise", "intersect"))
    _word("interval", interval, get_args(Interval))
    confidence, seed = _values.confidence(confidence), _values.seed(seed)
    joined = join(a, b, on_mismatch, names)
    clusters, notes = cluster_codes(cluster, (a, b), joined.tasks)
    make = _Maker(a, b, joined, clusters, confidence, interval, seed)
    disagreement = label_columns.disagreement(a, b, names)
    found: dict[str, Difference] = {}
    omitted: dict[str, str] = {}
    columns: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    usual = label_columns.common([a, b]) if asked is None else asked
    for label in dict.fromkeys([*usual, *also]):
        reason = disagreement if label_columns.is_decided(label) else None
        if reason is None:
            try:
                columns[label] = _columns(a, b, label, joined, names, omit_short=omit_short)
                difference = make.difference(label, *columns[label])
            except label_columns.MissingError as error:
                reason = str(error)
            else:
                if difference is not None:
                    found[label] = difference
                    continue
                del columns[label]
                reason = "no common task has it in both runs"
                omitted[label] = reason
                continue
        if asked is not None or label in also:
            raise label_columns.refused(label, reason)
        omitted[label] = reason
    if asked is None:
        lacking = [label for label in dict.fromkeys([*a, *b]) if label not in {*found, *omitted}]
        omitted |= dict.fromkeys(lacking, "it is in one run alone")
    tasks = make.tasks(columns, comparable=disagreement is None)
    sides = tuple(
        Side(name, report.run, report.policy, report.denominator, len(only))
        for name, report, only in zip(names, (a, b), joined.only, strict=True)
    )
    settings = Settings(
        confidence, interval, seed, None if clusters is None else n_clusters(clusters), on_mismatch
    )
    return Comparison(
        Content(
            sides=(sides[0], sides[1]),
            settings=settings,
            differences=found,
            omitted=omitted,
            tasks=tasks,
            notes=(*_notes(joined, names, found, tasks), *notes),
            provenance={"kofn": _core.__version__},
        )
    )


class _Maker:
    """Differences and tasks of two joined reports."""

    def __init__(
        self,
        a: Report,
        b: Report,
        joined: Joined,
        clusters: NDArray[np.uint32] | None,
        confidence: float,
        interval: Interval,
        seed: int,
    ) -> None:
        self.joined, self.clusters = joined, clusters
        self.tables = a.per_task, b.per_task
        self.confidence, self.interval, self.seed = confidence, interval, seed
        picked = [
            (tasks.n, tasks.successes) if rows is None else (tasks.n[rows], tasks.successes[rows])
            for tasks, rows in zip((a.per_task, b.per_task), joined.rows, strict=True)
        ]
        (self.n_a, self.c_a), (self.n_b, self.c_b) = picked

    def counts(self, rows: NDArray[np.bool_]) -> Counts | None:
        """Return c, n, c, n of some tasks; None where one of them is not known."""
        found = self.c_a[rows], self.n_a[rows], self.c_b[rows], self.n_b[rows]
        return None if any((column < 0).any() for column in found) else found

    def difference(self, label: str, a: NDArray[np.float64], b: NDArray[np.float64]) -> Difference | None:
        """Return the difference of a label; None where no task has it in both runs."""
        found = _core.paired(a, b, self.clusters, self.confidence, self.interval, self.seed)
        if found is None:
            return None
        both = ~np.isnan(b - a)
        n_tasks, units = found["n_tasks"], found["units"]
        p, how = self._sign_flip(a[both], b[both], both) if min(n_tasks, units) > 1 else (None, None)
        exact, approximate = None, None
        noise = self._observed_noise(label, both)
        if label_columns.is_decided(label) and label != "coverage" and (counts := self.counts(both)):
            noise = _core.difference_noise(label, counts)
            if label in _STRATIFIED:
                exact, is_exact = _core.stratified(counts)
                approximate = "exact" if is_exact else "normal"
        low, high = found["interval"] or (None, None)
        return Difference(
            label=label,
            value=found["value"],
            a=found["a"],
            b=found["b"],
            n_tasks=n_tasks,
            left_out=len(both) - n_tasks,
            low=low,
            high=high,
            standard_error=_positive(found["standard_error"]),
            unpaired_standard_error=_positive(found["unpaired"]),
            p_value=p,
            p_method=how,
            exact_p_value=exact,
            exact_method=approximate,
            noise=noise,
            method=found["method"],
            replicates=found.get("replicates"),
            no_interval=found.get("why"),
            confidence=self.confidence,
            units=units,
        )

    def _observed_noise(self, label: str, both: NDArray[np.bool_]) -> float | None:
        """Return the standard error over repeated runs, from what the rollouts of each task recorded."""
        found = []
        for table, rows in zip(self.tables, self.joined.rows, strict=True):
            column = table.noise.get(label)
            if column is None:
                return None
            found.append((column if rows is None else column[rows])[both])
        errors = np.concatenate(found)
        largest = errors.max(initial=0.0)
        if not np.isfinite(largest) or not largest:
            return None if not np.isfinite(largest) else 0.0
        # Scaled, for the square of a large error may be more than a float holds; summed exactly, in any order.
        return float(largest * math.sqrt(math.fsum((errors / largest) ** 2)) / int(both.sum()))

    def _sign_flip(
        self, a: NDArray[np.float64], b: NDArray[np.float64], both: NDArray[np.bool_]
    ) -> tuple[float, str]:
        differences, scale = b - a, float(max(np.abs(a).max(), np.abs(b).max()))
        if self.clusters is not None:
            # Tasks of one cluster are not independent: their signs turn together.
            differences, scale = cluster_sums(differences, self.clusters[both], scale)
        p, how, replicates = _core.sign_flip(np.ascontiguousarray(differences), scale, self.seed)
        return p, f"{how}, {replicates} replicates" if replicates else how

    def tasks(
        self,
        columns: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
        *,
        comparable: bool,
    ) -> ComparedTasks:
        """Return the table of tasks, with Fisher's test of each where both runs count successes alike."""
        unknown = np.full(len(self.n_a), -1, np.int64)
        n, c = (
            ((self.n_a, self.n_b), (self.c_a, self.c_b)) if comparable else ((unknown,) * 2, (unknown,) * 2)
        )
        tasks = ComparedTasks(self.joined.tasks, n=n, successes=c, statistics=columns)
        counted = tasks.counted
        if counted.any() and (counts := self.counts(counted)):
            p, adjusted = np.full(len(tasks), np.nan), np.full(len(tasks), np.nan)
            p[counted] = _core.fisher(counts)
            adjusted[counted] = _core.benjamini_hochberg(p[counted])
            tasks.p_value, tasks.adjusted_p_value = p, adjusted
        return tasks


def _columns(
    a: Report, b: Report, label: str, joined: Joined, names: tuple[str, str], *, omit_short: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    found = []
    for report, rows, name in zip((a, b), joined.rows, names, strict=True):
        try:
            found.append(label_columns.column(report, label, rows, omit_short=omit_short))
        except label_columns.MissingError as error:
            raise label_columns.MissingError(f"in {name}: {error}") from None
    return found[0], found[1]


def _notes(
    joined: Joined, names: tuple[str, str], found: Mapping[str, Difference], tasks: ComparedTasks
) -> list[str]:
    notes = [
        f"{len(only)} {'task' if len(only) == 1 else 'tasks'} only in {name} left out: {listed(only)}"
        for only, name in zip(joined.only, names, strict=True)
        if only
    ]
    for difference in found.values():
        if difference.left_out:
            notes.append(f"{difference.label}: {difference.left_out} common tasks lack it in one of the runs")
        if difference.n_tasks > 1 and difference.value and difference.interval is None:
            notes.append(f"{difference.label}: no interval: {difference.no_interval}")
    counted = tasks.counted
    if (tasks.n[0][counted] != tasks.n[1][counted]).any():
        notes.append("the runs counted different numbers of rollouts: more tries make a task easier to gain")
    return notes


def _positive(value: float) -> float | None:
    return value if value > 0 and value - value == 0 else None


def _two(names: object) -> tuple[str, str]:
    if not isinstance(names, (tuple, list)) or len(names) != 2:
        raise ArgumentTypeError(f"names: {_values.shown(names)}; give two names, the baseline's first")
    return _values.name(names[0], "names"), _values.name(names[1], "names")


def _word(argument: str, value: object, words: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in words:
        raise _values.outside(argument, f"{_values.shown(value)} is not {' or '.join(map(repr, words))}")
