"""The statistics of one task, exact (spec 6)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from oracle.errors import OracleError
from oracle.records import Rollout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oracle.records import Series

SUCCESS_LABELS = ("pass@", "pass^", "pass_rate", "learnability")
PLAIN = ("pass_rate", "learnability", "coverage", "mean_score", "mean_duration", "mean_total_tokens")
SERIES = ("metric_mean:", "metric_variance:", "agreement:")
WITH_K = {
    "pass@": ("pass@", "pass_at_"),
    "pass^": ("pass^", "pass_hat_"),
    "best_of_": ("best_of_", "best@"),
    "worst_of_": ("worst_of_", "worst@"),
}


class RefusedHereError(Exception):
    """The task makes the label refuse."""


class ShortError(RefusedHereError):
    """The task has n < k (spec 6.1): the one refusal that `on_short="omit"` turns into an omission."""


@dataclass(frozen=True)
class Task:
    """What the statistics of a task need."""

    name: str
    rollouts: tuple[Rollout, ...]
    n: int | None
    requested: int | None
    successes: int | None
    scorable: int | None

    @property
    def scores(self) -> list[float]:
        """Scores of every rollout that has one, whatever its status (spec 6.5)."""
        return [one.score for one in self.rollouts if one.score is not None]


def labels(asked: Sequence[str], ks: Sequence[int]) -> list[str]:
    """Labels in their canonical spelling, the letter k replaced by each of `ks` (spec 6.10)."""
    canonical: list[str] = []
    for label in asked:
        if label in PLAIN or any(label.startswith(prefix) and label != prefix for prefix in SERIES):
            canonical.append(label)
            continue
        for name, spellings in WITH_K.items():
            rest = next((label.removeprefix(s) for s in spellings if label.startswith(s)), None)
            if rest is None:
                continue
            if rest == "k":
                if not ks:
                    raise OracleError(f"{label} needs k")
                canonical.extend(f"{name}{k}" for k in ks)
            elif re.fullmatch(r"[0-9]+", rest) and int(rest) >= 1:
                canonical.append(f"{name}{int(rest)}")
            else:
                raise OracleError(f"{label}: k")
            break
        else:
            raise OracleError(f"no statistic {label}")
    return list(dict.fromkeys(canonical))


def split_k(label: str) -> tuple[str, int | None]:
    """`pass@5` -> (`pass@`, 5)."""
    for name in WITH_K:
        if label.startswith(name):
            return name, int(label.removeprefix(name))
    return label, None


def mean(values: Iterable[Fraction | float]) -> Fraction | None:
    """The exact mean, or none of nothing."""
    exact = [Fraction(value) for value in values]
    return sum(exact, Fraction()) / len(exact) if exact else None


def order_mean(scores: Sequence[float], k: int, *, largest: bool) -> Fraction | None:
    """Expected maximum or minimum of k scores drawn without replacement (spec 6, best_of_k)."""
    if len(scores) < k:
        return None
    ranked = sorted(map(Fraction, scores), reverse=not largest)
    weights = [comb(place, k - 1) for place in range(len(ranked))]
    return sum((w * x for w, x in zip(weights, ranked, strict=True)), Fraction()) / comb(len(ranked), k)


def matches(name: str, series: Series) -> bool:
    """Whether a name means a series (spec 6.2)."""
    verifier, subject, metric = series
    return name in (metric, f"{subject}/{metric}", f"{verifier}/{subject}/{metric}")


def readings(task: Task, name: str) -> list[float | bool | str]:
    """The values of the one series of a task that a name means (spec 6.2)."""
    found = {series for one in task.rollouts for series, _ in one.readings if matches(name, series)}
    if len(found) > 1:
        raise RefusedHereError(f"{task.name}: {name} may be any of {sorted(found)}")
    values: list[float | bool | str] = []
    for one in task.rollouts:
        here = [value for series, value in one.readings if series in found]
        if len(here) > 1:
            raise RefusedHereError(f"{task.name}: {name} twice in one rollout")
        values.extend(here)
    return values


def series_statistic(label: str, task: Task) -> Fraction | None:
    """metric_mean, metric_variance, agreement (spec 6, 6.8)."""
    kind, _, name = label.partition(":")
    values = readings(task, name)
    if kind == "agreement":
        kinds = Counter(
            (type(value), value) if isinstance(value, bool | str) else (float, Fraction(value))
            for value in values
        )
        return Fraction(max(kinds.values()), len(values)) if len(values) >= 2 else None
    if any(isinstance(value, str) for value in values):
        raise RefusedHereError(f"{task.name}: {name} holds text")
    numbers = [Fraction(value) for value in values if not isinstance(value, str)]
    centre = mean(numbers)
    if kind == "metric_mean" or centre is None:
        return centre
    return mean((value - centre) ** 2 for value in numbers)


def statistic(label: str, task: Task) -> Fraction | None:
    """The value of a label on a task; none where it lacks observations; RefusedHereError where it is short."""
    name, k = split_k(label)
    n, c = task.n, task.successes
    if name in SUCCESS_LABELS and (n is None or c is None):
        raise RefusedHereError(label)
    if k is not None and n is not None and k > n:
        raise ShortError(f"{task.name}: n = {n}, k = {k}")
    if name in SUCCESS_LABELS:
        assert n is not None
        assert c is not None
        if k is not None:
            lost = comb(n - c, k) if name == "pass@" else comb(n, k) - comb(c, k)
            return 1 - Fraction(lost, comb(n, k))
        rate = Fraction(c, n) if n else None
        return rate if name == "pass_rate" or rate is None else 4 * rate * (1 - rate)
    if name == "coverage":
        if task.requested is None or task.scorable is None:
            raise RefusedHereError(label)
        return Fraction(task.scorable, task.requested)
    if name == "mean_score":
        return mean(task.scores)
    if k is not None:
        return order_mean(task.scores, k, largest=name == "best_of_")
    if name == "mean_duration":
        return mean(one.duration for one in task.rollouts if one.duration is not None)
    if name == "mean_total_tokens":
        return mean(one.tokens for one in task.rollouts if one.tokens is not None)
    return series_statistic(label, task)
