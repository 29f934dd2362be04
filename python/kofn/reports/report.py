"""The report itself: a mapping from labels to figures."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, Self

from kofn import _values
from kofn.errors import ArgumentError, OmittedError
from kofn.reports.figure import Decomposition, Figure
from kofn.reports.labels import ascii_label, canonical
from kofn.reports.tasks import PerTask

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kofn.reports.curve import Curve
    from kofn.reports.posterior import PosteriorFigure
    from kofn.views import Form


class PolicyRecord(dict[str, Any]):
    """The policy of a report as data: `id` and its parameters; ids that this version does not know read back too."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The versioned id, such as `score_threshold.v1`."""
        return str(self["id"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything beside the id."""
        return {name: value for name, value in self.items() if name != "id"}


@dataclass(frozen=True, slots=True)
class Context:
    """What a report and its groups share."""

    run: dict[str, Any]
    policy: PolicyRecord | None
    denominator: str
    requested_from: str
    provenance: dict[str, Any]
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """What a report and each of its groups have of their own; extras are keys that this version does not know."""

    counts: dict[str, Any]
    figures: dict[str, Figure]
    omitted: dict[str, str]
    tasks: PerTask
    notes: tuple[str, ...] = ()
    extras: dict[str, Any] = field(default_factory=dict)
    figure_extras: dict[str, dict[str, Any]] = field(default_factory=dict)
    gaps: dict[int, Figure] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tasks.order_labels(self.figures)


class Report(Mapping[str, Figure]):
    """A snapshot of a run's figures, with their denominators and what was omitted and why.

    A mapping from labels to figures, in the order they were asked for. Labels are accepted in ASCII spellings too:
    `report["pass_at_5"]` is `report["pass@5"]`. A label that was omitted raises `OmittedError` (a `KeyError`) with its
    reason. Made by `Run.report`, `Accumulator.report` and `Report.from_json`; equal when their JSON is equal.

    Examples
    --------
    >>> report = Report.from_json(
    ...     '{"schema": "kofn.report/1", "denominator": "requested", "requested_from": "declared",'
    ...     ' "policy": {"id": "verifier_verdict.v1"},'
    ...     ' "counts": {"tasks": 2, "requested": 8, "recorded": 8, "missing": 0, "successes": 6},'
    ...     ' "statistics": {"pass@1": {"value": 0.75, "n_tasks": 2}},'
    ...     ' "omitted": {"mean_score": "no rollout recorded a score"},'
    ...     ' "tasks": [{"task": "a", "n": 4, "successes": 4}, {"task": "b", "n": 4, "successes": 2}]}'
    ... )
    >>> report["pass_at_1"].value, report["pass@1"].n_tasks, report.counts["successes"]
    (0.75, 2, 6)
    >>> report["mean_score"]
    Traceback (most recent call last):
        ...
    kofn.errors.OmittedError: mean_score: no rollout recorded a score
    >>> report.curve("pass@k").value.tolist()
    [0.75, 0.9166666666666667, 1.0, 1.0]
    >>> report.metrics(prefix="val/")
    {'val/pass_at_1': 0.75}
    """

    __slots__ = ("_groups", "body", "by", "context")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        context: Context,
        body: Body,
        *,
        by: str | None = None,
        groups: Mapping[str | None, Body] | None = None,
    ) -> None:
        self.context = context
        self.body = body
        self.by = by
        self._groups = {value: Report(context, group) for value, group in (groups or {}).items()}

    # -- figures

    def __getitem__(self, label: str) -> Figure:
        figures = self.body.figures
        found = figures.get(label)
        if found is None and isinstance(label, str):
            found = figures.get(canonical(label))
        if found is None:
            raise self._absent(label)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.body.figures)

    def __len__(self) -> int:
        return len(self.body.figures)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Report) else NotImplemented

    def _absent(self, label: str) -> OmittedError:
        label = canonical(label) if isinstance(label, str) else label
        reason = self.body.omitted.get(label)
        named = _values.line(label) if isinstance(label, str) else label
        if reason is None:
            there = ", ".join(self.body.figures) or "no figure"
            error = OmittedError(f"{named}: not asked for in this report, which has {there}")
        else:
            error = OmittedError(f"{named}: {reason}")
        error.label, error.reason = label, reason
        return error

    # -- what stands beside them

    @property
    def run(self) -> dict[str, Any]:
        """The run's `id` (None if it has none) and the names of its `sources`."""
        return copy.deepcopy(self.context.run)

    @property
    def policy(self) -> PolicyRecord | None:
        """Which rollouts are successes: `id` and parameters; None where no label needed it (spec 5.3)."""
        return copy.deepcopy(self.context.policy)

    @property
    def denominator(self) -> str:
        """Which rollouts n counts: `"requested"`, `"recorded"` or `"scorable"` (spec 4.5)."""
        return self.context.denominator

    @property
    def requested_from(self) -> str:
        """Where the requested counts come from: `"given"`, `"declared"`, `"inferred"` or `"unknown"` (spec 4.4)."""
        return self.context.requested_from

    @property
    def counts(self) -> dict[str, Any]:
        """The denominators, as in the JSON form; what is not known is absent, never 0."""
        return copy.deepcopy(self.body.counts)

    @property
    def omitted(self) -> dict[str, str]:
        """Labels that were left out, with the reason."""
        return dict(self.body.omitted)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures should know: skipped lines, dropped copies, labels over fewer tasks."""
        return self.body.notes

    @property
    def per_task(self) -> PerTask:
        """The tasks: `report.per_task["a"].statistics`, `pyarrow.table(report.per_task)`."""
        return self.body.tasks

    @property
    def provenance(self) -> dict[str, Any]:
        """The version of kofn, and the xxh3-64 of each source's bytes."""
        return copy.deepcopy(self.context.provenance)

    @property
    def groups(self) -> dict[str | None, Report]:
        """With `by`: a report for each value of the tag; None stands for the tasks without it. Else empty."""
        return dict(self._groups)

    @property
    def cluster(self) -> str | None:
        """The tag whose values are clusters of tasks, over which the intervals are; None where tasks are independent."""
        return self.context.cluster

    def reliability_gap(self, k: int) -> Figure:
        """Return pass@k - pass^k: the share of tasks that k rollouts solve some of the time and not every time.

        Its interval and noise are those of the tasks' own gaps, never put together from those of the two figures.

        Parameters
        ----------
        k : int
            At least 2; both pass@k and pass^k must have been reported.

        Raises
        ------
        OmittedError
            If the report lacks either.
        """
        k = _values.count(k, "k", least=1) or 1
        found = self.body.gaps.get(k)
        if found is None:
            error = OmittedError(
                f"reliability gap of k = {k}: this report has none; it takes both pass@{k} and pass^{k}, and k above 1"
            )
            error.label, error.reason = f"reliability gap of k = {k}", "not both figures are there"
            raise error
        return found

    def posterior(
        self,
        k: int,
        *,
        label: Literal["pass@k", "pass^k"] = "pass@k",
        prior: tuple[float, float] = (0.5, 0.5),
    ) -> PosteriorFigure:
        """Return what a Beta prior and each task's n and successes say of pass@k or pass^k, also for k above n.

        **Model-based**: not an unbiased estimate, and never to be mixed with the report's figures. Where k is large or
        n is small, the prior decides.

        Parameters
        ----------
        k : int
            From 1; may exceed n.
        label : {"pass@k", "pass^k"}
            Whether one of k passes, or all do.
        prior : (float, float)
            Shapes of the Beta prior on a task's chance of success: Jeffreys' (1/2, 1/2), or (1, 1), the uniform one.

        Returns
        -------
        PosteriorFigure
            The mean over these tasks and its standard deviation, and both of each task.

        Raises
        ------
        RefusedError
            If the report does not know n and the successes of each task.
        ArgumentError
            If k, the label or the prior is none of these.
        """
        from kofn.reports.posterior import posterior  # noqa: PLC0415  (seldom needed)

        return posterior(self, k, label, prior)

    def curve(
        self,
        label: str,
        *,
        k: Sequence[int] | None = None,
        confidence: float | None = 0.95,
        seed: int = 0,
    ) -> Curve:
        """Return pass@k or pass^k for k = 1 .. the smallest n of any task, over one fixed set of tasks.

        Parameters
        ----------
        label : str
            `"pass@k"` or `"pass^k"` (also `"pass_at_k"`, `"pass_hat_k"`).
        k : sequence of int, optional
            The values of k instead; each at least 1 and at most the smallest n.
        confidence : float, optional
            Of the band around all points at once; None for no band, which with hundreds of k takes seconds.
        seed : int
            Of the resamples of tasks behind the band.

        Returns
        -------
        Curve
            `.k`, `.value`, `.low`, `.high`, and the tasks it rests on: those with n >= 1, which all have n >= every k. Each point is the same value, to the last
            bit, as the figure of that label in a report over the same tasks.

        Raises
        ------
        RefusedError
            If the report does not know n and the successes of each task, or for `best_of_k` and `worst_of_k`: a
            report does not keep the scores. Ask the run for them by label.
        ArgumentError
            If a k is out of range.
        """
        from kofn.reports.curve import curve  # noqa: PLC0415  (seldom needed)

        return curve(self, label, k, confidence, seed)

    # -- out and in

    def to_json(self) -> str:
        """Return the report as JSON text (ASCII; spec 9), byte for byte the same for the same report.

        Raises
        ------
        EncodingError
            If a policy's parameters cannot be written as JSON.
        """
        from kofn.reports.encode import pieces  # noqa: PLC0415  (seldom needed)

        return "".join(pieces(self)) + "\n"

    @classmethod
    def from_json(cls, source: str | bytes | bytearray | Mapping[str, Any] | os.PathLike[str]) -> Self:
        """Read a report from JSON text, a parsed JSON object, or a file (as a `pathlib.Path`).

        Keys that this version does not know are kept and written again.

        Raises
        ------
        EncodingError
            If it is not a report, or not one of this schema.
        SourceError
            If the file cannot be read.
        """
        from kofn.reports.decode import decode  # noqa: PLC0415  (seldom needed)

        return cls(*(parts := decode(source))[:2], by=parts[2], groups=parts[3])

    @classmethod
    def _from_snapshot(cls, snapshot: Mapping[str, Any]) -> Self:
        """Make a report from what a tally hands over: plain dicts, lists and arrays, no copy of the columns."""
        from kofn._core import __version__  # noqa: PLC0415  (a leaf of the import graph)

        run = snapshot["run"]
        policy = snapshot["policy"]
        context = Context(
            run={"id": run["id"], "sources": [_utf8(name) for name in run["sources"]]},
            policy=None if policy is None else PolicyRecord(policy),
            denominator=snapshot["denominator"],
            requested_from=snapshot["requested_from"],
            provenance={
                "kofn": __version__,
                "xxh3": {_utf8(name): digest for name, digest in sorted(snapshot["xxh3"].items())},
            },
            cluster=snapshot["cluster"],
        )
        groups = {value: _body(part, ()) for value, part in snapshot["groups"] or ()}
        return cls(context, _body(snapshot, snapshot["notes"]), by=snapshot["by"], groups=groups)

    def metrics(self, prefix: str = "", style: Literal["ascii", "symbols"] = "ascii") -> dict[str, float]:
        """Return the figures as a flat dict for an experiment tracker.

        Parameters
        ----------
        prefix : str
            Put before every key, such as `"val/"`.
        style : {"ascii", "symbols"}
            `pass_at_5`, which every tracker takes, or `pass@5`.
        """
        if not isinstance(style, str) or style not in {"ascii", "symbols"}:
            raise ArgumentError(f"style: {_values.shown(style)} is not 'ascii' or 'symbols'")
        prefix = _values.key(prefix, "prefix")
        name = ascii_label if style == "ascii" else str
        return {prefix + name(label): figure.value for label, figure in self.body.figures.items()}

    def render(self, form: Form = "table", *, per_task: bool = False) -> str:
        """Return the report as text.

        Parameters
        ----------
        form : {"table", "markdown", "csv", "html", "latex"}
            A table for the screen (80 columns), GitHub Markdown, tidy CSV (one row a figure, full precision), one
            self-contained HTML page, or LaTeX for the `booktabs` package.
        per_task : bool
            Add a row for each task.
        """
        from kofn.views import render  # noqa: PLC0415  (seldom needed)

        return render(self, form, per_task=per_task)

    def __str__(self) -> str:
        return self.render("table")

    def __repr__(self) -> str:
        figures = ", ".join(
            f"{label}={figure.value:.4g}" for label, figure in list(self.body.figures.items())[:4]
        )
        more = ", ..." if len(self) > 4 else ""
        return f"<Report: {len(self.per_task)} tasks; {figures or 'no figures'}{more}>"

    def _repr_html_(self) -> str:
        from kofn.views.html import fragment  # noqa: PLC0415  (notebooks only)

        return fragment(self)


def _body(part: Mapping[str, Any], notes: Sequence[str]) -> Body:
    return Body(
        counts=part["counts"],
        figures={
            label: _figure(value, n_tasks, known)
            for (label, value, n_tasks), known in zip_longest(part["statistics"], part.get("certainty", ()))
        },
        omitted=dict(part["omitted"]),
        gaps={
            k: _figure(value, n_tasks, known)
            for (k, value, n_tasks), known in zip_longest(part["gaps"], part.get("certainty_of_gaps", ()))
        },
        tasks=PerTask(**part["tasks"]),
        notes=tuple(notes),
    )


def _figure(value: float, n_tasks: int, known: Mapping[str, Any] | None) -> Figure:
    if known is None:
        return Figure(value, n_tasks)
    split = known.get("decomposition")
    return Figure(
        value, n_tasks, **{**known, "decomposition": None if split is None else Decomposition(*split)}
    )


def _utf8(name: str) -> str:
    # A file name that is no UTF-8 reaches Python with lone surrogates, which no JSON reader must accept.
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
