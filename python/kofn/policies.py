"""Success policies: versioned rules that say which rollouts are successes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kofn import _values
from kofn.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from kofn.runs import Run

__all__ = ["Policy", "ScoreThreshold", "VerifierVerdict"]


@runtime_checkable
class Policy(Protocol):
    """What any success policy offers: your own is an object with these three.

    A rollout that did not succeed (errored, cancelled, unfinished) is never a success, whatever `outcomes` says.
    """

    @property
    def id(self) -> str:
        """A versioned id, such as ``"all_judges.v2"``."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What it was made with, as JSON values; written into the report."""

    def outcomes(self, run: Run, /) -> npt.ArrayLike:
        """Return a bool for each rollout of `run`: is it a success? Shape (R,)."""


@dataclass(frozen=True, slots=True)
class VerifierVerdict:
    """At least one verdict was recorded and every recorded verdict is ``pass`` (`verifier_verdict.v1`).

    Indeterminate verdicts and an empty set are not successes. This is the default policy.

    Examples
    --------
    >>> VerifierVerdict().id
    'verifier_verdict.v1'
    """

    @property
    def id(self) -> str:
        """The versioned id."""
        return "verifier_verdict.v1"

    @property
    def parameters(self) -> dict[str, Any]:
        """It has none."""
        return {}

    def outcomes(self, run: Run, /) -> npt.NDArray[np.bool_]:
        """Return which rollouts are successes: bool, shape (R,)."""
        return run._outcomes(self)  # noqa: SLF001 - the run's own door for built-in policies


@dataclass(frozen=True, slots=True)
class ScoreThreshold:
    """The mean of a rollout's scores reaches `threshold` (`score_threshold.v1`).

    No verdict may be indeterminate, and at least one score must exist. The mean reaches the threshold when it is at
    least ``threshold - 1e-12 * max(1, |threshold|)``, so that float noise at the boundary does not decide.

    Parameters
    ----------
    threshold : float
        A finite number. There is no default, and 0 is a threshold.

    Raises
    ------
    ArgumentError
        If the threshold is not finite.

    Examples
    --------
    >>> ScoreThreshold(0.8).parameters
    {'threshold': 0.8}
    """

    threshold: float

    def __post_init__(self) -> None:
        """Refuse what is no finite number."""
        value = self.threshold
        if (
            isinstance(value, (bool, str))
            or not hasattr(value, "__float__")
            or getattr(value, "ndim", 0) != 0
        ):
            raise ArgumentTypeError(f"threshold: {_values.shown(value)} is not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ArgumentError(f"threshold: {_values.shown(value)} is not a finite number")
        object.__setattr__(self, "threshold", number)

    @property
    def id(self) -> str:
        """The versioned id."""
        return "score_threshold.v1"

    @property
    def parameters(self) -> dict[str, Any]:
        """The threshold."""
        return {"threshold": self.threshold}

    def outcomes(self, run: Run, /) -> npt.NDArray[np.bool_]:
        """Return which rollouts are successes: bool, shape (R,)."""
        return run._outcomes(self)  # noqa: SLF001 - the run's own door for built-in policies


def resolve(policy: Policy | str | None, threshold: float | None) -> tuple[Policy, bool]:
    """Return the policy meant by the two arguments, and whether it was chosen or is the default."""
    if isinstance(policy, str):
        if policy == "verifier_verdict.v1":
            policy = VerifierVerdict()
        elif policy == "score_threshold.v1":
            if threshold is None:
                raise ArgumentError("threshold: policy score_threshold.v1 needs one; there is no default")
            return ScoreThreshold(threshold), True
        else:
            known = "verifier_verdict.v1, score_threshold.v1"
            raise ArgumentError(f"policy: {policy!r} is not one of {known}; pass your own as an object")
    if policy is None:
        return (VerifierVerdict(), False) if threshold is None else (ScoreThreshold(threshold), True)
    if not isinstance(policy, Policy):
        raise ArgumentTypeError(
            f"policy: {policy!r} is no policy; one has an id, parameters and a method outcomes(run)"
        )
    if threshold is not None and policy != ScoreThreshold(threshold):
        raise ArgumentError(
            f"threshold: given beside policy {policy.id}, which does not take it; give one of the two"
        )
    return policy, True


def parts(policy: Policy) -> tuple[str, float | None, str | None]:
    """Return a policy as the core takes it: id, threshold, a user's parameters as JSON text."""
    if isinstance(policy, VerifierVerdict):
        return policy.id, None, None
    if isinstance(policy, ScoreThreshold):
        return policy.id, policy.threshold, None
    name = _values.name(policy.id, "the id of a policy")
    if name in {"verifier_verdict.v1", "score_threshold.v1"}:
        raise ArgumentError(f"policy: {name} is kofn's own id; give yours another")
    try:
        named = dict(policy.parameters)
        parameters = json.dumps(named, allow_nan=False)
        json.dumps(named, ensure_ascii=False).encode()  # lone surrogates: no report could be read back
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"policy {name}: its parameters are no JSON object: {error}") from None
    if "id" in named:
        # Reports keep the parameters beside the id.
        raise ArgumentError(f'policy {name}: a parameter cannot be called "id"')
    return name, None, parameters


def mask(policy: Policy, run: Run) -> npt.NDArray[np.bool_] | None:
    """Return a user's successes, checked; None for a built-in policy, which the core applies itself."""
    if isinstance(policy, (VerifierVerdict, ScoreThreshold)):
        return None
    from kofn import _columns  # noqa: PLC0415 - only users' policies need it here

    outcomes = _columns.array(f"policy {policy.id}: outcomes(run)", policy.outcomes(run))
    if outcomes.dtype != bool or outcomes.shape != (len(run),):
        raise ArgumentTypeError(
            f"policy {policy.id}: outcomes(run) gave {outcomes.dtype} of shape {outcomes.shape}, "
            f"not bool of shape ({len(run)},)"
        )
    return _columns.truths(outcomes)
