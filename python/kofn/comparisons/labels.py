"""The columns that two reports can be compared on: what they hold, and what their counts give."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn import _core, _values
from kofn._metrics import k_list, label_list
from kofn.errors import RefusedError
from kofn.reports.tasks import ABSENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kofn.reports import Report

_COUNTED = re.compile(r"pass([@^])([0-9]+)")
_OF_COUNTS = ("pass@", "pass^", "pass_rate", "learnability")
# What a policy or a denominator decides; of all other labels two reports may be compared whatever theirs were.
_DECIDED = (*_OF_COUNTS, "coverage")


class MissingError(Exception):
    """A report cannot give a label."""


def asked(statistics: str | Sequence[str] | None, k: int | Sequence[int] | None) -> list[str] | None:
    """Return the labels that were asked for, in their canonical spelling; None for the default."""
    if statistics is None:
        return None
    return _core.labels(label_list(statistics) or [], k_list(k))


def is_decided(label: str) -> bool:
    """Whether a label depends on the policy and the denominator."""
    return label.startswith(_DECIDED)


def common(reports: Sequence[Report]) -> list[str]:
    """Return the labels that every report can give, those of the first one first."""
    found = []
    for label in dict.fromkeys(label for report in reports for label in report):
        try:
            for report in reports:
                column(report, label, None, omit_short=False)
        except MissingError:
            continue
        found.append(label)
    return found


def column(
    report: Report, label: str, rows: NDArray[np.int64] | None, *, omit_short: bool
) -> NDArray[np.float64]:
    """Return the label's value of each task, or of those at `rows`, NaN for none.

    Raises
    ------
    MissingError
        The report neither holds the label nor the counts that give it; the message says what it has.
    """
    tasks = report.per_task
    found = tasks.statistics.get(label)
    if found is not None:
        return found if rows is None else found[rows]
    n, c = (tasks.n, tasks.successes) if rows is None else (tasks.n[rows], tasks.successes[rows])
    return _of_counts(report, label, n, c, rows, omit_short=omit_short)


def _of_counts(
    report: Report,
    label: str,
    n: NDArray[np.int64],
    c: NDArray[np.int64],
    rows: NDArray[np.int64] | None,
    *,
    omit_short: bool,
) -> NDArray[np.float64]:
    from kofn import estimators  # noqa: PLC0415  (reports mostly hold what is asked)

    counted = _COUNTED.fullmatch(label)
    if (counted is None and label not in {"pass_rate", "learnability"}) or (
        (n == ABSENT).any() or (c == ABSENT).any()
    ):
        raise MissingError(_has(report, label))
    k = int(counted[2]) if counted else 1
    enough = n >= k
    if counted and not omit_short and not enough.all():
        at = int(np.argmin(enough))
        task = report.per_task.task[at if rows is None else int(rows[at])]
        raise MissingError(
            f'task {_values.shown(task)} has n = {n[at]}, fewer than k = {k} (on_short="omit", at the command line --on-short omit, leaves such tasks out)'
        )
    values = np.full(len(n), np.nan)
    function: Any = estimators.pass_at_k if counted else estimators.learnability
    if counted and counted[2] and counted[1] == "^":
        function = estimators.pass_hat_k
    if label == "pass_rate":
        function, k = estimators.pass_at_k, 1
    arguments = (n[enough], c[enough]) if label == "learnability" else (n[enough], c[enough], k)
    values[enough] = function(*arguments)
    return values


def _has(report: Report, label: str) -> str:
    reason = report.omitted.get(label)
    there = ", ".join(report) or "no figure"
    return reason or f"it has {there}"


def disagreement(a: Report, b: Report, names: tuple[str, str]) -> str | None:
    """Return why figures of successes in two reports are not of one kind, None if they are."""
    policies = [report.policy for report in (a, b)]
    # Where a run has no policy it has no figures of successes either, which is said of each label.
    if None not in policies and policies[0] != policies[1]:
        shown = [" ".join([it.id, *(f"{k}={v}" for k, v in it.parameters.items())]) for it in policies if it]
        return f"{names[0]} was judged by {shown[0]}, {names[1]} by {shown[1]}; report both by one policy"
    if a.denominator != b.denominator:
        return (
            f"in {names[0]} n counts {a.denominator} rollouts, in {names[1]} {b.denominator} ones; "
            "report both with one denominator"
        )
    return None


def refused(label: str, reason: str) -> RefusedError:
    """Return the error of a label that was asked for and cannot be compared."""
    error = RefusedError(f"{label}: {reason}")
    error.label = label
    return error
