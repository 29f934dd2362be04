"""How many tasks and rollouts an answer takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kofn import _core, _values
from kofn.comparisons import labels as label_columns
from kofn.comparisons.difference import Difference
from kofn.comparisons.join import OnMismatch, join
from kofn.comparisons.sources import Reading, report_of
from kofn.views import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kofn.accumulators import Denominator, OnShort
    from kofn.comparisons.runs import Comparable
    from kofn.policies import Policy
    from kofn.reports import Report

# Beyond these, quantiles and sums of costs leave the range of floats.
_SUREST = 1 - 1e-15
_DEAREST = 1e200
_COUNTED = re.compile(r"pass([@^])([0-9]+)")


@dataclass(frozen=True, slots=True)
class Design:
    """So many tasks with so many rollouts of each, and what they reach.

    Attributes
    ----------
    tasks : int
    rollouts : int or None
        Of each task; None where the pilot cannot say what another number would do: as many as it had.
    reach : float
        The half-width of the interval, or the smallest difference that is detected, in the figure's unit.
    cost : float or None
        By the costs that were given.
    """

    tasks: int
    rollouts: int | None
    reach: float
    cost: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pilot says of larger runs.

    Attributes
    ----------
    label : str
    size : float
        The half-width or the difference that was asked for, in the figure's unit.
    confidence : float
    power : float or None
        The chance to detect the difference; None where a half-width was asked for.
    pilot : Design
        The pilot's own tasks and rollouts, and what they reach.
    more_tasks : Design or None
        Enough tasks, with the pilot's rollouts of each.
    more_rollouts : Design or None
        Enough rollouts, of the tasks that there are. None where that cannot be reached by rollouts alone.
    cheapest : Design or None
        The cheapest of all that reach it.
    between, within : float or None
        Variance of the figure (or difference) between tasks, which rollouts cannot reduce, and the part that they do
        reduce, at the pilot's number of them; None where the pilot cannot tell them apart.
    notes : tuple of str
        What was assumed.
    """

    label: str
    size: float
    confidence: float
    power: float | None
    pilot: Design
    more_tasks: Design | None
    more_rollouts: Design | None
    cheapest: Design | None
    between: float | None
    within: float | None
    notes: tuple[str, ...] = field(default=())

    @property
    def conclusion(self) -> str:
        """What it comes to, in one line."""
        amount = _amount(self.label, self.size)
        level = f"{100 * self.confidence:g} %"
        goal = f"a {level} half-width of {amount}" if self.power is None else f"to detect {amount}"
        if self.pilot.reach <= self.size:
            return f"{goal}: the pilot's {_design(self.pilot)} are enough"
        if self.more_tasks is None:
            return f"{goal}: cannot be reached"
        parts = [f"{_design(self.more_tasks)}"]
        if self.more_rollouts is not None:
            parts.append(f"or {_design(self.more_rollouts)}")
        elif self.between is not None:
            tasks = self.pilot.tasks
            parts.append(f"it cannot be reached by rollouts alone with {numbers.whole(tasks)} tasks")
        if self.cheapest is not None and self.cheapest not in {self.more_tasks, self.more_rollouts}:
            parts.append(f"cheapest: {_design(self.cheapest)}")
        return f"{goal}: {'; '.join(parts)}"


def plan(
    pilot: Comparable,
    other: Comparable | None = None,
    statistic: str = "pass@1",
    *,
    half_width: float | None = None,
    detect: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    tasks: int | None = None,
    cost_task: float = 0.0,
    cost_rollout: float = 1.0,
    k: int | None = None,
    policy: Policy | str | None = None,
    threshold: float | None = None,
    requested: int | Mapping[Any, int] | None = None,
    denominator: Denominator = "requested",
    on_short: OnShort = "raise",
    on_mismatch: OnMismatch = "raise",
) -> Plan:
    """Say how many tasks and rollouts a half-width, or the detection of a difference, takes.

    Parameters
    ----------
    pilot : Run, Report or path
        What was run already.
    other : Run, Report or path, optional
        A second pilot on the same tasks: then the plan is for the difference of the two, each task against itself.
    statistic : str
        The label. For `pass@k`, `pass^k` and `pass_rate` with at least 2k rollouts of each task, the plan says what
        other numbers of rollouts do; for all other labels, what other numbers of tasks do.
    half_width : float, optional
        Half the width of the interval, in the figure's unit (0.03 is 3 points).
    detect : float, optional
        The difference between two runs of the same tasks that is to be detected. One of the two must be given.
    power : float
        The chance to detect it.
    confidence : float
        Of the interval, or of the test.
    tasks : int, optional
        How many tasks there are, for the design that adds rollouts alone; default: the pilot's.
    cost_task, cost_rollout : float
        What a task costs beside its rollouts, and what one of these costs: for the cheapest design.
    k, policy, threshold, requested, denominator, on_short
        As in `Run.report`, where a run is given.
    on_mismatch
        As in `compare`, for two pilots.

    Returns
    -------
    Plan

    Raises
    ------
    RefusedError, InputError, ArgumentError, ArgumentTypeError
        As in `compare`; and for a pilot of fewer than two tasks.

    Notes
    -----
    The variance with another number of rollouts is estimated without bias, from how often draws that share rollouts
    agree. A pilot is small, so a plan is rough: half or twice as many are no surprise.

    Examples
    --------
    >>> import kofn
    >>> pilot = kofn.Run.from_arrays(passed=[[0, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]] * 5)
    >>> kofn.plan(pilot, half_width=0.1).conclusion  # doctest: +ELLIPSIS
    'a 95 % half-width of 10.0 points: 35 tasks with 4 rollouts each; or 20 tasks with 14 rollouts each; ...'
    """
    reading = Reading([statistic], k, policy, threshold, requested, denominator, on_short)
    labels = label_columns.asked([statistic], k) or []
    reports = [report_of(pilot, reading, "pilot")]
    if other is not None:
        reports.append(report_of(other, reading, "other"))
    return plan_reports(
        reports,
        labels[0],
        half_width=half_width,
        detect=detect,
        power=power,
        confidence=confidence,
        tasks=tasks,
        costs=(cost_task, cost_rollout),
        on_mismatch=on_mismatch,
    )


def plan_reports(
    reports: Sequence[Report],
    label: str,
    *,
    half_width: float | None,
    detect: float | None,
    power: float,
    confidence: float,
    tasks: int | None,
    costs: tuple[float, float],
    on_mismatch: OnMismatch = "raise",
) -> Plan:
    """Plan from one or two reports; see `plan`. `label` is canonical."""
    goal = _goal(half_width, detect, power, confidence)
    if numbers.is_share(label) and goal[0] > 1:
        name = "half_width" if detect is None else "detect"
        raise _values.outside(name, f"{goal[0]:g} is more than the whole range of {label}; 3 points are 0.03")
    costs = _costs(*costs)
    tasks = _values.count(tasks, "tasks", least=2)
    pilots, notes = _pilots(reports, label, on_mismatch)
    variance = _variance(pilots)
    if len(pilots) == 1 and detect is not None:
        # Nothing is known of how tasks move between runs: as if the new run's tasks were others.
        variance *= 2
        pilots = pilots * 2
        notes.append(
            "one pilot does not tell how much its tasks vary together with another run's: planned as if they did not, "
            "which asks for more than is needed; a second pilot of the same tasks tells"
        )
    counts, k, every, why = _counts(label, pilots)
    if why:
        notes.append(why)
    core = _core.Plan(counts, k, every, variance, goal)
    return _designs(core, label, pilots[0], variance, goal, tasks, costs, known=bool(counts), notes=notes)


def _goal(
    half_width: float | None, detect: float | None, power: float, confidence: float
) -> tuple[float, float, float | None]:
    if (half_width is None) == (detect is None):
        raise _values.outside("half_width", "give a half-width, or a difference to detect: one of the two")
    name, given = ("half_width", half_width) if detect is None else ("detect", detect)
    size, level = _values.number(given, name), _values.confidence(confidence)
    if size is None or size <= 0:
        raise _values.outside(name, f"{_values.shown(given)} is not a number above 0")
    if level > _SUREST:
        raise _values.outside("confidence", f"{_values.shown(confidence)} is too close to 1 to plan for")
    if detect is None:
        return size, level, None
    chance = _values.number(power, "power")
    # A test at this level says "different" as often as that where nothing is.
    if chance is None or not 1 - level < chance < 1:
        raise _values.outside(
            "power", f"{_values.shown(power)} is not between {1 - level:g}, which chance alone gives, and 1"
        )
    return size, level, chance


def _costs(task: float, rollout: float) -> tuple[float, float]:
    found = _values.number(task, "cost_task"), _values.number(rollout, "cost_rollout")
    for name, cost in zip(("cost_task", "cost_rollout"), found, strict=True):
        if cost is None or not 0 <= cost <= _DEAREST:
            raise _values.outside(name, f"costs are numbers from 0 to {_DEAREST:g}")
    if not any(found):
        raise _values.outside("cost_task", "costs are not both 0")
    return found[0] or 0.0, found[1] or 0.0


@dataclass(frozen=True, slots=True)
class _Pilot:
    values: NDArray[np.float64]
    n: NDArray[np.int64]
    c: NDArray[np.int64]


def _pilots(reports: Sequence[Report], label: str, on_mismatch: OnMismatch) -> tuple[list[_Pilot], list[str]]:
    rows: Sequence[NDArray[np.int64] | None] = [None]
    names, notes = ("the pilot", "the other"), []
    if len(reports) == 2:
        joined = join(reports[0], reports[1], on_mismatch, names)
        rows = joined.rows
        reason = label_columns.disagreement(reports[0], reports[1], names)
        if reason is not None and label_columns.is_decided(label):
            raise label_columns.refused(label, reason)
        if any(joined.only):
            notes.append(f"{sum(map(len, joined.only))} tasks of one pilot alone are left out")
    found = []
    for report, at in zip(reports, rows, strict=True):
        try:
            values = label_columns.column(report, label, at, omit_short=True)
        except label_columns.MissingError as error:
            raise label_columns.refused(label, str(error)) from None
        table = report.per_task
        n, c = (table.n, table.successes) if at is None else (table.n[at], table.successes[at])
        found.append(_Pilot(values, n, c))
    kept = ~np.isnan([pilot.values for pilot in found]).any(axis=0)
    if kept.sum() < 2:
        raise label_columns.refused(label, "a plan needs a pilot of at least 2 tasks that have it")
    if not kept.all():
        notes.append(f"{int((~kept).sum())} tasks lack {label} and are left out")
    return [_Pilot(it.values[kept], it.n[kept], it.c[kept]) for it in found], notes


def _variance(pilots: Sequence[_Pilot]) -> float:
    values = pilots[0].values if len(pilots) == 1 else pilots[1].values - pilots[0].values
    found = _core.paired(np.zeros(len(values)), np.ascontiguousarray(values), None, 0.95, "default", 0)
    error = 0.0 if found is None else float(found["standard_error"])
    return error * error * len(values)


def _counts(
    label: str, pilots: Sequence[_Pilot]
) -> tuple[list[tuple[NDArray[np.int64], NDArray[np.int64]]], int, bool, str | None]:
    """Return the counts that tell what rollouts reduce, or why nothing does."""
    counted = _COUNTED.fullmatch(label)
    if counted is None and label != "pass_rate":
        return [], 1, False, f"what rollouts do to {label} is not planned: the pilot's number of them is kept"
    k = int(counted[2]) if counted else 1
    least = min(int(pilot.n.min()) for pilot in pilots)
    if least < 2 * k:
        why = f"a task has n = {least}: what rollouts do to {label} takes {2 * k} of each task; the pilot's number is kept"
        return [], 1, False, why
    columns = [(np.ascontiguousarray(it.n), np.ascontiguousarray(it.c)) for it in pilots]
    return columns, k, bool(counted and counted[1] == "^"), None


def _designs(
    core: _core.Plan,
    label: str,
    pilot: _Pilot,
    variance: float,
    goal: tuple[float, float, float | None],
    tasks: int | None,
    costs: tuple[float, float],
    *,
    known: bool,
    notes: Sequence[str],
) -> Plan:
    rollouts = int(np.median(pilot.n)) if known or (pilot.n > 0).all() else 1
    there = len(pilot.values) if tasks is None else tasks

    def design(size: int | None, each: int | None) -> Design | None:
        if size is None or each is None:
            return None
        cost = size * (costs[0] + costs[1] * each) if known else None
        return Design(size, each if known else None, core.reach(size, each), cost)

    found = design(len(pilot.values), rollouts)
    assert found is not None  # noqa: S101  # both numbers are there
    cheapest = core.cheapest(*costs) if known else None
    return Plan(
        label=label,
        size=goal[0],
        confidence=goal[1],
        power=goal[2],
        pilot=found,
        more_tasks=design(core.tasks(rollouts), rollouts),
        more_rollouts=design(there, core.rollouts(there)) if known else None,
        cheapest=None if cheapest is None else design(*cheapest),
        between=core.between if known else None,
        within=max(variance - core.between, 0.0) if known else None,
        notes=tuple(notes),
    )


def _amount(label: str, value: float) -> str:
    return Difference(label, value, 0.0, 0.0, 0).amount(value)


def _design(it: Design) -> str:
    tasks = f"{numbers.whole(it.tasks)} tasks"
    if it.rollouts is None:
        return tasks
    each = "1 rollout" if it.rollouts == 1 else f"{numbers.whole(it.rollouts)} rollouts"
    return f"{tasks} with {each} each"
