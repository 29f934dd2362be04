"""One figure of two runs: how far apart they are, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kofn.views import numbers

Verdict = Literal["better", "worse", "different", "not shown", "identical", "cannot tell"]

# Labels of which more is better; of all others only what they are can be said.
_BETTER = ("pass@", "pass^", "pass_rate", "mean_score", "best_of_", "worst_of_")
_WORDS = {"mean_duration": ("longer", "shorter"), "mean_total_tokens": ("more", "fewer")}


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of the second run minus that of the first, over the tasks that have it in both.

    Attributes
    ----------
    label : str
    value : float
        Mean of b - a over the tasks: new minus baseline.
    a, b : float
        The figure of each run over those tasks.
    n_tasks : int
        How many tasks have it in both runs.
    left_out : int
        Common tasks that lack it in either.
    low, high : float or None
        Interval of `value` for other tasks of the same kind; None where there is none, and `no_interval` says why.
    standard_error : float or None
        Of `value`, each task against itself.
    unpaired_standard_error : float or None
        What it would be if the runs had had different tasks.
    p_value : float or None
        Sign-flip test: how often chance alone gives a difference as large. None for one task.
    p_method : str or None
        How it was found: by convolution, enumeration, or Monte Carlo.
    exact_p_value : float or None
        Stratified exact test of successes on these very tasks; for `pass@1` and `pass_rate`.
    exact_method : str or None
        `"exact"` or `"normal"`, the approximation of Cochran, Mantel and Haenszel for very large runs.
    noise : float or None
        Standard error of `value` over repeated runs of these very tasks; None where some task cannot tell it.
    method : str or None
        How the interval was made.
    replicates : int or None
        How many resamples of the tasks it rests on; the comparison's settings hold their seed.
    no_interval : str or None
        Why there is no interval.
    confidence : float
        Of the interval.
    units : int
        Tasks, or clusters of tasks, that the standard error rests on.
    adjusted_p_value : float or None
        `p_value` beside the other pairs of `compare_many` (Holm).
    """

    label: str
    value: float
    a: float
    b: float
    n_tasks: int
    left_out: int = 0
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    unpaired_standard_error: float | None = None
    p_value: float | None = None
    p_method: str | None = None
    exact_p_value: float | None = None
    exact_method: str | None = None
    noise: float | None = None
    method: str | None = None
    no_interval: str | None = None
    confidence: float = 0.95
    units: int = 0
    adjusted_p_value: float | None = None
    replicates: int | None = None

    def __float__(self) -> float:
        return self.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, None without one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def is_share(self) -> bool:
        """Whether the figure is a share, and the difference so many points of a hundred."""
        return numbers.is_share(self.label)

    @property
    def more_is_better(self) -> bool | None:
        """True where a larger figure is a better one; None where that is not known, as for durations."""
        return True if self.label.startswith(_BETTER) else None

    @property
    def verdict(self) -> Verdict:
        """What can be said: a difference is shown where its interval excludes 0 and no test contradicts it."""
        if self.n_tasks < 2 or self.units < 2:
            return "cannot tell"
        # A p-value of 1 with a difference of 0 is also that of gains and losses in balance, which have a spread.
        if self.value == 0 and self.standard_error is None:
            return "identical"
        if not self.is_shown:
            return "not shown"
        if self.more_is_better is None:
            return "different"
        return "better" if self.value > 0 else "worse"

    @property
    def is_shown(self) -> bool:
        """Whether the difference is beyond what chance gives at this confidence."""
        p = self.p_value if self.adjusted_p_value is None else self.adjusted_p_value
        if p is not None and p > 1 - self.confidence:
            return False
        if self.interval is None:
            return p is not None and self.value != 0
        return not self.interval[0] <= 0 <= self.interval[1]

    def amount(self, value: float, *, sign: bool = False) -> str:
        """Return a difference with its unit: points for shares, seconds for durations.

        >>> Difference("pass@1", 0.031, 0.5, 0.531, 80).amount(0.031)
        '3.1 points'
        >>> Difference("mean_duration", -2.0, 5.0, 3.0, 80).amount(-2.0, sign=True)
        '-2.000 s'
        """
        return self.bare(value, sign=sign) + self.unit

    @property
    def unit(self) -> str:
        """The unit of the difference, with a space before it; empty for plain numbers."""
        return " points" if self.is_share else numbers.unit(self.label)

    def bare(self, value: float, *, sign: bool = False) -> str:
        """Return a difference without its unit; an end of an interval goes no further than shares can be apart."""
        text = numbers.points(min(max(value, -1.0), 1.0)) if self.is_share else numbers.number(value)
        return f"+{text}" if sign and value > 0 else text

    def sentence(self, name: str) -> str:
        """Return what the difference says, in one line; `name` is that of the second run."""
        verdict = self.verdict
        many = "1 task" if self.n_tasks == 1 else f"{numbers.whole(self.n_tasks)} tasks"
        if verdict == "cannot tell":
            apart = f"{self.label} {self.amount(self.value, sign=True)}"
            where = many if self.n_tasks == 1 else f"all of {many} are in one cluster"
            return f"cannot tell: {where} ({apart})"
        if verdict == "identical":
            return f"no difference: {self.label} is the same in each of {many}"
        interval, level = self.interval, f"{100 * self.confidence:g} %"
        p = self.p_value if self.adjusted_p_value is None else self.adjusted_p_value
        tail = (
            "" if p is None else f", {'adjusted ' if self.adjusted_p_value is not None else ''}{numbers.p(p)}"
        )
        about = f"({self.label}, {many}{tail})"
        if verdict == "not shown":
            ends = (
                "" if interval is None else f", {level} {self.bare(interval[0])} to {self.bare(interval[1])}"
            )
            return f"no difference shown: {self.amount(self.value, sign=True)}{ends} {about}"
        more, less = (
            ("better", "worse") if self.more_is_better else _WORDS.get(self.label, ("higher", "lower"))
        )
        ends = ""
        if interval is not None:
            low, high = interval if self.value > 0 else (-interval[1], -interval[0])
            ends = f", {level} {self.bare(low)} to {self.bare(high)}"
        word = more if self.value > 0 else less
        return f"{name} is {word} by {self.amount(abs(self.value))}{ends} {about}"
