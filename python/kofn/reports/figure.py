"""One figure of a report."""

from __future__ import annotations

from dataclasses import dataclass


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
        Lower and upper end of its interval, None where none was computed.
    standard_error : float or None
        Standard error of `value`, None where none was computed.

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
