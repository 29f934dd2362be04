"""What a prior and the counts of a report say together: model-based figures, kept apart from the unbiased ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from kofn import _values
from kofn.errors import ArgumentError, RefusedError
from kofn.reports.tasks import ABSENT

if TYPE_CHECKING:
    from kofn.reports.report import Report

_LABELS = {"pass@k": "pass@k", "pass_at_k": "pass@k", "pass^k": "pass^k", "pass_hat_k": "pass^k"}


@dataclass(frozen=True, slots=True)
class PosteriorFigure:
    """pass@k or pass^k of a report's tasks under a Beta prior: model-based, for any k.

    Attributes
    ----------
    label : str
        Such as `"pass@64"`.
    k : int
    value : float
        Mean over the tasks of each one's posterior mean.
    standard_deviation : float
        Of `value`: how far the chances of *these* tasks are known. It says nothing of other tasks.
    prior : (float, float)
        Shapes of the Beta prior on each task's chance of success.
    beyond : int
        Tasks with fewer than k rollouts, where no unbiased estimate exists and the prior decides much.
    tasks : list of str
    mean, variance : ndarray of float64
        The posterior of each task.
    model_based : bool
        Always true.
    """

    label: str
    k: int
    value: float
    standard_deviation: float
    prior: tuple[float, float]
    beyond: int
    tasks: list[str] = field(repr=False)
    mean: NDArray[np.float64] = field(repr=False)
    variance: NDArray[np.float64] = field(repr=False)
    model_based: Literal[True] = True

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return where the mean of these tasks' chances lies with this probability: normal, cut to 0 and 1."""
        half = NormalDist().inv_cdf(0.5 + _values.confidence(confidence) / 2) * self.standard_deviation
        return max(self.value - half, 0.0), min(self.value + half, 1.0)


def posterior(report: Report, k: int, label: str, prior: Any) -> PosteriorFigure:
    """Compute the posterior of a report; see `Report.posterior`."""
    from kofn import estimators  # noqa: PLC0415  (only a posterior needs it)

    kind = _LABELS.get(label)
    if kind is None:
        raise ArgumentError(
            f'label: there is a posterior of "pass@k" and "pass^k", not of {_values.shown(label)}'
        )
    tasks = report.per_task
    if not len(tasks) or (tasks.n == ABSENT).any() or (tasks.successes == ABSENT).any():
        error = RefusedError(
            f"{kind}: a posterior takes n and the successes of each task, which this report lacks"
        )
        error.label = kind
        raise error
    function = estimators.pass_at_k_posterior if kind == "pass@k" else estimators.pass_hat_k_posterior
    mean, variance = function(tasks.n, tasks.successes, k, prior=prior)
    a, b = prior
    return PosteriorFigure(
        label=kind.replace("k", str(k)),
        k=int(k),
        value=math.fsum(mean) / len(tasks),
        standard_deviation=math.sqrt(math.fsum(variance)) / len(tasks),
        prior=(float(a), float(b)),
        beyond=int((tasks.n < k).sum()),
        tasks=tasks.task,
        mean=mean,
        variance=variance,
    )
