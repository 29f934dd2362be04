"""Tallies of rollouts that grow, merge and travel: one for a run, one a shard, one a training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from kofn import _values
from kofn._core import Tally
from kofn._metrics import new_tally
from kofn.errors import ArgumentError, ArgumentTypeError, EncodingError
from kofn.policies import ScoreThreshold, VerifierVerdict, mask, resolve
from kofn.reports.intervals import Interval, report_of
from kofn.runs import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kofn.policies import Policy
    from kofn.reports import Report

__all__ = ["Accumulator"]

Denominator = Literal["requested", "recorded", "scorable"]
OnShort = Literal["raise", "omit"]


class Accumulator:
    """Adds up rollouts exactly, in any order, and merges with others of its kind.

    Counts, multisets of scores and exact sums are kept, never rollouts: memory is the tasks and their distinct scores.
    Whatever the order of updates and the tree of merges, the report has the same bits. Several threads may update one
    accumulator.

    A rollout added twice can be noticed only by its key (task, index), or by its part: arrays have no keys, so
    without `part` an update that is repeated counts twice.

    Parameters
    ----------
    statistics, k, policy, threshold, requested, denominator, on_short, cluster
        As in `Run.report`; fixed from here on, since they say what must be kept. With `cluster`, runs alone can be
        added: columns carry no tags.
    part : str, optional
        The name of the shard that is added up here. A total that meets an equal part again skips and counts it; a
        part of that name with other content is an error.

    Examples
    --------
    >>> shards = []
    >>> for name, verdicts in [("s0", [True, False]), ("s1", [True, True])]:
    ...     shard = Accumulator(["pass@k"], k=[1, 2], part=name)
    ...     shard.update(passed=verdicts, groups=[name, name])
    ...     shards.append(shard.to_bytes())
    >>> total = Accumulator(["pass@k"], k=[1, 2])
    >>> total.merge(*map(Accumulator.from_bytes, shards))
    >>> total.report()["pass@1"].value
    0.75
    """

    __slots__ = ("_policy", "_tally")

    def __init__(
        self,
        statistics: str | Sequence[str] | None = None,
        *,
        k: int | Sequence[int] | None = None,
        policy: Policy | str | None = None,
        threshold: float | None = None,
        requested: int | Mapping[Any, int] | None = None,
        denominator: Denominator = "requested",
        on_short: OnShort = "raise",
        part: str | None = None,
        cluster: str | None = None,
    ) -> None:
        self._policy, chosen = resolve(policy, threshold)
        self._tally = new_tally(
            statistics,
            k=k,
            by=None,
            policy=self._policy,
            chosen=chosen,
            requested=requested,
            denominator=denominator,
            on_short=on_short,
            part=part,
            cluster=cluster,
        )

    def update(
        self,
        run: Run | None = None,
        *,
        groups: Any = None,
        group_size: int | None = None,
        passed: Any = None,
        scores: Any = None,
        durations: Any = None,
        tokens: Any = None,
        valid: Any = None,
    ) -> None:
        """Add a run, or columns of rollouts as `kofn.metrics` takes them.

        Raises
        ------
        DuplicateError
            If a (task, index) was added before.
        InputError, ArgumentError, ArgumentTypeError
            If the columns cannot be read, or contradict what was added before. Nothing was added then.
        """
        if run is not None:
            columns = (groups, group_size, passed, scores, durations, tokens, valid)
            if any(column is not None for column in columns):
                raise ArgumentError("run: give a run or columns, not both")
            if not isinstance(run, Run):
                raise ArgumentTypeError(f"run: {type(run).__name__} is no Run; read one with kofn.read")
            self._tally.add_run(run._core, mask(self._policy, run))  # noqa: SLF001 - the run's core is for this
            return
        if not isinstance(self._policy, (VerifierVerdict, ScoreThreshold)):
            raise ArgumentError(
                f"policy {self._policy.id} decides on runs; add a Run, or give passed with the default"
            )
        if self._tally.cluster is not None:
            raise ArgumentError(
                f"cluster: columns carry no tag {_values.shown(self._tally.cluster)}; add a Run, or leave cluster out"
            )
        self._tally.add_arrays(groups, group_size, passed, scores, durations, tokens, valid)

    def merge(self, *others: Accumulator) -> None:
        """Add the content of others, which stay as they are.

        Raises
        ------
        MergeError
            If one was made with other arguments, or its part was merged before with other content.
        DuplicateError
            If a (task, index) is in both.
        """
        for other in others:
            if not isinstance(other, Accumulator):
                raise ArgumentTypeError(f"merge takes accumulators, not {type(other).__name__}")
            self._tally.merge(other._tally)  # noqa: SLF001 - one of its own kind

    def report(
        self,
        *,
        confidence: float | None = 0.95,
        interval: Interval = "default",
        seed: int | None = None,
    ) -> Report:
        """Report on everything added so far.

        Parameters
        ----------
        confidence, interval, seed
            As in `Run.report`.

        Raises
        ------
        RefusedError
            If a statistic that was asked for cannot be given; the message names the ways on.
        InputError
            If nothing was added, or more rollouts of a task than were requested.
        """
        return report_of(self._tally, confidence, interval, seed)

    def to_bytes(self) -> bytes:
        """Return the content as bytes: the same for the same content, whatever the order it came in."""
        return self._tally.encode()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """Restore what `to_bytes` gave.

        Raises
        ------
        EncodingError
            If the bytes are cut off, damaged, or something else.
        ArgumentTypeError
            If it is not bytes.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError(f"from_bytes takes bytes, not {_values.shown(data)}")
        self = cls.__new__(cls)
        self._tally = Tally.decode(bytes(data))
        self._policy = _restored(self._tally.policy)
        return self

    def to_arrow(self) -> Any:
        """Return the per-task table as an object with ``__arrow_c_stream__`` (see `Report.per_task`)."""
        return self.report().per_task

    def __len__(self) -> int:
        """Return how many rollouts were added."""
        return self._tally.rollouts

    def __repr__(self) -> str:
        part = "" if self._tally.part is None else f", part={self._tally.part!r}"
        return f"<Accumulator of {len(self)} rollouts{part}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as bytes, so that workers can send accumulators home."""
        return type(self).from_bytes, (self.to_bytes(),)


class _Stored:
    """A user's policy as stored: it can be reported and merged, and no longer decide."""

    def __init__(self, id_: str, parameters: dict[str, Any]) -> None:
        self.id = id_
        self.parameters = parameters

    def outcomes(self, _run: Run, /) -> Any:
        raise ArgumentError(
            f"policy {self.id}: was read from bytes and cannot decide; make a new accumulator with it"
        )


def _restored(stored: tuple[str, float | None, str | None]) -> Policy:
    import json  # noqa: PLC0415 - only for users' policies

    id_, threshold, parameters = stored
    if parameters is not None:
        try:
            return _Stored(id_, json.loads(parameters))
        except (ValueError, RecursionError):
            raise EncodingError(
                f"the parameters of policy {id_} are no JSON; the bytes are damaged"
            ) from None
    return resolve(id_, threshold)[0]


def report_run(
    run: Run,
    statistics: str | Sequence[str] | None = None,
    *,
    k: int | Sequence[int] | None = None,
    policy: Policy | str | None = None,
    threshold: float | None = None,
    requested: int | Mapping[Any, int] | None = None,
    denominator: Denominator = "requested",
    by: str | None = None,
    on_short: OnShort = "raise",
    cluster: str | None = None,
    confidence: float | None = 0.95,
    interval: Interval = "default",
    seed: int | None = None,
) -> Report:
    """Report on a run; see `Run.report`."""
    decided, chosen = resolve(policy, threshold)
    tally = new_tally(
        statistics,
        k=k,
        by=by,
        policy=decided,
        chosen=chosen,
        requested=requested if requested is not None else run.given,
        denominator=denominator,
        on_short=on_short,
        cluster=cluster,
    )
    tally.add_run(run._core, mask(decided, run))  # noqa: SLF001 - the run's core is for this
    return report_of(tally, confidence, interval, seed)
