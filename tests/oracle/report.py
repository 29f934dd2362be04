"""The whole report (spec 4, 6, 9)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from oracle.errors import OracleError, RefusalError
from oracle.policies import Policy, registry
from oracle.records import Json, Rollout, rollouts, task_id
from oracle.statistics import SERIES, RefusedHereError, ShortError, Task, labels, matches, mean, statistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REGISTRY = ("passed", "failed", "unscorable")
DIAGNOSES = ("reliable", "unreliable", "incapable", "unscorable")
STATUSES = ("succeeded", "errored", "cancelled", "unfinished")


@dataclass(frozen=True)
class Options:
    """What a report is asked for. `skipped` says that a read passed over something (spec 4.4)."""

    statistics: tuple[str, ...] | None = None
    k: tuple[int, ...] = ()
    policy: str | None = None
    threshold: float | None = None
    requested: int | None = None
    denominator: str = "requested"
    by: str | None = None
    on_short: str = "raise"
    on_duplicate: str = "raise"
    on_ungradable: str = "raise"
    skipped: bool = False


@dataclass(frozen=True)
class Value:
    """A run-level figure: exact, and as a float made from the tasks' floats in one rounding."""

    exact: Fraction
    rounded: float
    n_tasks: int


@dataclass(frozen=True)
class Plan:
    """Labels, and which of them were asked for by name."""

    labels: list[str]
    asked: frozenset[str]
    refused: frozenset[str] = frozenset()


def declared(header: Json) -> dict[str, int | None]:
    """Declared tasks in order, with what each declares (spec 4.3, 7.2)."""
    requested = header.get("requested_rollouts")
    per_task = requested if isinstance(requested, dict) else {}
    each = requested if isinstance(requested, int) else None
    names = [task_id(name) for name in header.get("tasks") or []]
    if len(set(names)) < len(names):
        raise OracleError("a task declared twice")
    counts = {name: per_task.get(name, each) for name in [*names, *(n for n in per_task if n not in names)]}
    if any(count is not None and count < 1 for count in [each, *counts.values()]):
        raise OracleError("a requested count of 0")
    return counts


def inferred(by_task: Mapping[str, list[Rollout]], *, skipped: bool) -> int | None:
    """The number of records each task has, where it can be trusted (spec 4.4)."""
    sizes = {len(found) for found in by_task.values()}
    if skipped or len(sizes) != 1 or sizes == {0}:
        return None
    indices = {
        task: sorted(one.index for one in found if one.index is not None) for task, found in by_task.items()
    }
    first = min((found[0] for found in indices.values() if found), default=0)
    if first > 1 or any(found != list(range(first, first + len(found))) for found in indices.values()):
        return None
    return sizes.pop()


def requested_counts(
    by_task: Mapping[str, list[Rollout]], header: Json, options: Options
) -> tuple[str, dict[str, int | None]]:
    """Where requested counts come from, and one a task (spec 4.3, 4.4)."""
    per_task = declared(header)
    named = header.get("tasks") is not None or isinstance(header.get("requested_rollouts"), dict)
    if named and any(task not in per_task for task in by_task):
        raise OracleError("a recorded task is not declared")
    counts: dict[str, int | None]
    each = header.get("requested_rollouts")
    if options.requested is not None:
        if options.requested < 1:
            raise OracleError("requested 0")
        source, counts = "given", dict.fromkeys(by_task, options.requested)
    elif each is not None:
        source = "declared"
        counts = {task: each if isinstance(each, int) else per_task[task] for task in by_task}
    else:
        number = inferred(by_task, skipped=options.skipped)
        return "unknown" if number is None else "inferred", dict.fromkeys(by_task, number)
    for task, count in counts.items():
        if count is None:
            raise OracleError(f"nothing requested of {task}")
        if len(by_task[task]) > count:
            raise OracleError(f"{task} has more records than requested")
    return source, counts


def chosen_policy(found: Sequence[Rollout], options: Options) -> Policy | None:
    """The policy, or none where nothing says what a success is (spec 5.3)."""
    if options.threshold is not None:
        return Policy(options.threshold)
    if options.policy is None and any(one.scores for one in found) and not any(one.verdicts for one in found):
        return None
    return Policy()


def diagnosis(task: Task) -> str | None:
    """What a task's rollouts say together, first match (spec 6.9)."""
    if task.n is None or task.successes is None or task.n == 1:
        return None
    if not any(one.scores or {"pass", "fail"} & set(one.verdicts) for one in task.rollouts):
        return "unscorable"
    if task.successes == 0:
        return "incapable"
    return "reliable" if task.successes == task.n else "unreliable"


def tasks_of(
    by_task: Mapping[str, list[Rollout]],
    counts: Mapping[str, int | None],
    policy: Policy | None,
    denominator: str,
) -> list[Task]:
    """Each task with its n and c (spec 4.5, 6)."""
    made = []
    for name, found in by_task.items():
        scorable = None if policy is None else sum(map(policy.scorable, found))
        n = {"requested": counts[name], "recorded": len(found), "scorable": scorable}[denominator]
        successes = None if policy is None else sum(map(policy.success, found))
        made.append(Task(name, tuple(found), n, counts[name], successes, scorable))
    return made


def planned(tasks: Sequence[Task], options: Options) -> Plan:
    """The labels to compute; without a list the defaults (spec 6.10)."""
    if options.statistics is not None:
        asked = labels(options.statistics, options.k)
        return Plan(asked, frozenset(asked))
    asked = [f"{name}{k}" for name in ("pass@", "pass^") for k in options.k]
    smallest = min((task.n for task in tasks if task.n is not None and task.n > 1), default=None)
    also = [] if smallest is None else [f"pass@{smallest}", f"pass^{smallest}"]
    defaults = ["pass@1", *also, "mean_score", "mean_duration", "mean_total_tokens"]
    return Plan(list(dict.fromkeys([*asked, *defaults])), frozenset(asked))


def refused(label: str, tasks: Sequence[Task], on_short: str) -> bool:
    """Whether a label cannot be given for this run (spec 4.4, 5.3, 6.1, 6.2)."""
    for task in tasks:
        try:
            statistic(label, task)
        except ShortError:
            if on_short == "raise":
                return True
        except RefusedHereError:
            return True
    if label.startswith(SERIES):
        name = label.partition(":")[2]
        return not any(
            matches(name, series) for task in tasks for one in task.rollouts for series, _ in one.readings
        )
    return False


def task_value(label: str, task: Task) -> Fraction | None:
    """A statistic of a task, none where it is short too."""
    try:
        return statistic(label, task)
    except ShortError:
        return None


def task_row(task: Task, produced: Sequence[str]) -> Json:
    """One task as it stands in a report (spec 9)."""
    scores = task.scores
    values = {label: task_value(label, task) for label in produced}
    return {
        "task": task.name,
        "n": task.n,
        "requested": task.requested,
        "recorded": len(task.rollouts),
        "successes": task.successes,
        "diagnosis": diagnosis(task),
        "scores": {"scored": len(scores)}
        if not scores
        else {
            "scored": len(scores),
            "mean": float(mean(scores) or 0),
            "best": max(scores),
            "worst": min(scores),
            "spread": max(scores) - min(scores),
        },
        "statistics": {label: value for label, value in values.items() if value is not None},
    }


def counts_of(tasks: Sequence[Task], *, policy: Policy | None, has_verdicts: bool) -> Json:
    """Denominators of a run or a group (spec 4.7, 9)."""
    found = [one for task in tasks for one in task.rollouts]
    counts: Json = {"tasks": len(tasks), "recorded": len(found)}
    requested = [task.requested for task in tasks if task.requested is not None]
    if len(requested) == len(tasks):
        counts["requested"] = sum(requested)
        counts["missing"] = sum(requested) - len(found)
    counts.update({status: sum(one.status == status for one in found) for status in STATUSES})
    counts["scored"] = sum(bool(one.scores) for one in found)
    counts["indeterminate"] = sum("indeterminate" in one.verdicts for one in found)
    if policy is not None:
        counts["scorable"] = sum(map(policy.scorable, found))
        counts["successes"] = sum(map(policy.success, found))
        if all(task.n is not None for task in tasks):
            diagnoses = [diagnosis(task) for task in tasks]
            counts["diagnosis"] = {word: diagnoses.count(word) for word in DIAGNOSES}
    if has_verdicts:
        projected = [registry(one) for one in found]
        counts["registry"] = {word: projected.count(word) for word in REGISTRY}
    return counts


def part(tasks: Sequence[Task], plan: Plan, *, policy: Policy | None, has_verdicts: bool) -> Json:
    """The four keys of spec 9, of a run or of a group."""
    statistics: dict[str, Value] = {}
    for label in plan.labels:
        if label in plan.refused:
            continue
        values = [value for task in tasks if (value := task_value(label, task)) is not None]
        if values:
            rounded = mean(float(value) for value in values)
            exact = mean(values)
            assert rounded is not None
            assert exact is not None
            statistics[label] = Value(exact, float(rounded), len(values))
    return {
        "counts": counts_of(tasks, policy=policy, has_verdicts=has_verdicts),
        "statistics": statistics,
        "omitted": {label for label in plan.labels if label not in statistics},
        "tasks": [task_row(task, list(statistics)) for task in tasks],
    }


def grouped(tasks: Sequence[Task], tag: str) -> dict[str | None, list[Task]]:
    """Tasks by the value of a tag; those without it under none (spec 6.11)."""
    groups: dict[str | None, list[Task]] = {}
    for task in tasks:
        values = {one.tags.get(tag) for one in task.rollouts} or {None}
        if len(values) > 1:
            raise OracleError(f"tag {tag} varies within {task.name}")
        groups.setdefault(values.pop(), []).append(task)
    return groups


def report(
    records: Sequence[Json], header: Json | None = None, options: Options | None = None
) -> dict[str, Any]:
    """Compute the report of a run."""
    options, header = options or Options(), header or {}
    found = rollouts(
        records,
        on_ungradable=options.on_ungradable,
        on_duplicate=options.on_duplicate,
        score_range=header.get("score_range"),
    )
    order = declared(header)
    if not found and not order:
        raise OracleError("no rollouts")
    names = [*order, *sorted({one.task for one in found} - set(order))]
    by_task = {name: [one for one in found if one.task == name] for name in names}
    requested_from, counts = requested_counts(by_task, header, options)
    policy = chosen_policy(found, options)
    tasks = tasks_of(by_task, counts, policy, options.denominator)
    plan = planned(tasks, options)
    no = frozenset(label for label in plan.labels if refused(label, tasks, options.on_short))
    groups = {} if options.by is None else grouped(tasks, options.by)
    if no & plan.asked:
        raise RefusalError(no & plan.asked)
    plan = Plan(plan.labels, plan.asked, no)
    has_verdicts = any(one.verdicts for one in found)
    whole = part(tasks, plan, policy=policy, has_verdicts=has_verdicts)
    whole.update(
        policy=None if policy is None else policy.as_json(),
        denominator=options.denominator,
        requested_from=requested_from,
        groups={
            value: part(members, plan, policy=policy, has_verdicts=has_verdicts)
            for value, members in groups.items()
        },
    )
    return whole
