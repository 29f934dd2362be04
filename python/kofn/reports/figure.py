"""One figure of a report, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FEW: Final = 30
"""Over fewer tasks (or clusters) than this an interval is rough."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Where the spread of the tasks' values comes from: how different tasks are, and what the rollouts of each add.

    Attributes
    ----------
    between : float
        Variance between tasks, which stays however often each is run. Below 0 where chance made it so.
    within : float
        Variance within tasks: that of a task's value over repeated runs of it, averaged over the tasks.
    approximate : bool
        Whether `within` is more than an unbiased estimate can tell (n < 2 k).

    Examples
    --------
    >>> split = Decomposition(0.03, 0.01)
    >>> split.icc, split.removable
    (0.75, 0.25)
    """

    between: float
    within: float
    approximate: bool = False

    @property
    def icc(self) -> float:
        """Share of the variance that lies between tasks, from 0 to 1 (the intraclass correlation)."""
        return 1.0 - self.removable

    @property
    def removable(self) -> float:
        """Share of the variance, and so of independent tasks' squared standard error, that more rollouts could remove."""
        # What is within may be so much more that it hides the sum of both in its rounding.
        return 1.0 if self.between <= 0 else self.within / (self.between + self.within)


@dataclass(frozen=True, slots=True)
class Figure:
    """One named figure of a report: the unweighted mean over the tasks that produced it (spec 6.4).

    Attributes
    ----------
    value : float
        The figure, in the unit of its label (a share in [0, 1], a score, seconds, tokens).
    n_tasks : int
        How many tasks produced it.
    interval : tuple of float or None
        Lower and upper end of its interval within the figure's range; None where there is none, `no_interval` says why.
    standard_error : float or None
        Standard error behind the interval: that of the mean over the population the tasks are a sample of.
    confidence : float or None
        The share of reports whose interval holds the true figure.
    method : str or None
        `"wilson"` (every task's value is 0 or 1), `"skew_t"` (Student's t over tasks, corrected for skewness),
        `"student_t"`, `"bca_bootstrap"` or `"percentile_bootstrap"`.
    replicates, seed : int or None
        How many resamples of the tasks the interval rests on, and the seed that draws them again.
    estimand : str or None
        What the interval is of: `"population"`, the mean over all tasks that these are a sample of.
    noise : float or None
        Standard error of `value` over repeated runs of these very tasks; None where it is not known, `no_noise` says
        why.
    decomposition : Decomposition or None
        Where the spread of the tasks' values comes from.
    n_clusters : int or None
        How many clusters of tasks the interval rests on; None where tasks are independent.
    no_interval, no_noise : str or None
        Why they are absent.

    Examples
    --------
    >>> figure = Figure(0.25, 8)
    >>> float(figure), figure.n_tasks, figure.low
    (0.25, 8, None)
    """

    value: float
    n_tasks: int
    interval: tuple[float, float] | None = None
    standard_error: float | None = None
    confidence: float | None = None
    method: str | None = None
    estimand: str | None = None
    noise: float | None = None
    decomposition: Decomposition | None = None
    n_clusters: int | None = None
    no_interval: str | None = None
    no_noise: str | None = None
    replicates: int | None = None
    seed: int | None = None

    def __float__(self) -> float:
        return self.value

    @property
    def low(self) -> float | None:
        """Lower end of the interval, None without one."""
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> float | None:
        """Upper end of the interval, None without one."""
        return None if self.interval is None else self.interval[1]

    @property
    def rough(self) -> bool:
        """Whether the interval rests on fewer than 30 tasks or clusters, and may cover less than it says."""
        return self.interval is not None and (self.n_clusters or self.n_tasks) < FEW
