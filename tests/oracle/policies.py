"""Which rollouts are successes, which can be decided, and the registry projection (spec 4.5, 5)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oracle.records import Rollout

TOLERANCE = Fraction(1, 10**12)


@dataclass(frozen=True)
class Policy:
    """`verifier_verdict.v1` without a threshold, `score_threshold.v1` with one."""

    threshold: float | None = None

    def as_json(self) -> dict[str, object]:
        """As it stands in a report (spec 9)."""
        if self.threshold is None:
            return {"id": "verifier_verdict.v1"}
        return {"id": "score_threshold.v1", "threshold": self.threshold}

    def scorable(self, one: Rollout) -> bool:
        """Whether the policy can decide the rollout (spec 4.5)."""
        if one.status != "succeeded":
            return False
        open_ends = "indeterminate" in one.verdicts
        if self.threshold is None:
            return "fail" in one.verdicts or (bool(one.verdicts) and not open_ends)
        return bool(one.scores) and not open_ends

    def success(self, one: Rollout) -> bool:
        """Whether the rollout is a success (spec 5.1, 5.2)."""
        if one.status != "succeeded":
            return False
        if self.threshold is None:
            return bool(one.verdicts) and all(verdict == "pass" for verdict in one.verdicts)
        if "indeterminate" in one.verdicts or not one.scores:
            return False
        bar = Fraction(self.threshold)
        return one.exact_score() >= bar - TOLERANCE * max(Fraction(1), abs(bar))


def registry(one: Rollout) -> str | None:
    """`passed`, `failed`, `unscorable`, or none where the rollout is not terminal (spec 5.5)."""
    if one.status == "unfinished":
        return None
    if one.status == "succeeded" and "fail" in one.verdicts:
        return "failed"
    if one.status != "succeeded" or not one.verdicts or "indeterminate" in one.verdicts:
        return "unscorable"
    return "passed"
