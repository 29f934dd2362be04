"""A run in memory, and reading one from whatever it came in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kofn import _columns, _core, _values, formats
from kofn._metrics import requested_parts
from kofn.errors import ArgumentTypeError, RefusedError
from kofn.policies import Policy, mask, parts, resolve
from kofn.runs.missing import MissingRollouts
from kofn.runs.recorded import OUTCOMES, REGISTRY, STATUSES, Rollouts
from kofn.runs.sources import Source, named
from kofn.runs.sources import resolve as resolve_sources
from kofn.runs.tables import CheckRow, CheckTable

if TYPE_CHECKING:
    import numpy.typing as npt

    from kofn._core import Run as CoreRun
    from kofn.accumulators import Denominator, OnShort
    from kofn.reports import Report
    from kofn.reports.intervals import Interval
    from kofn.rollouts import Rollout

OnError = Literal["raise", "skip"]
OnDuplicate = Literal["raise", "identical", "first", "last"]
OnUngradable = Literal["raise", "indeterminate"]
Requested = int | Mapping[Any, int]


def read(
    source: object,
    *,
    format: str | None = None,  # noqa: A002  # its public name
    requested: Requested | None = None,
    on_error: OnError = "raise",
    on_duplicate: OnDuplicate = "raise",
    on_ungradable: OnUngradable = "raise",
) -> Run:
    r"""Read a run.

    Parameters
    ----------
    source : str, path-like, open file, DataFrame, Arrow object, or a list of these
        A file in JSON Lines (gzip and zstd are recognised by their contents) or Parquet; a directory, of which the
        files that end in ``.jsonl``, ``.ndjson`` (perhaps ``.gz``, ``.zst``) or ``.parquet`` are read, hidden ones and
        those of directories within it aside; a glob pattern (``runs/**/*.jsonl``) where no file of that name exists;
        ``-``, standard input; an open file, binary or text; a polars or pandas DataFrame, or anything with
        ``__arrow_c_stream__`` or ``__arrow_c_array__``. Sources are read sorted by name, so their order never matters.
    format : str, optional
        The name of the files' format; see `kofn.formats.FORMATS`. Default: kofn's own form.
    requested : int or mapping of task to int, optional
        How many rollouts were requested of each task. It wins over what the run declares.
    on_error : {"raise", "skip"}
        What to do about a bad record: stop at it, or read on, count it, and list the first twenty in `Run.notes`.
    on_duplicate : {"raise", "identical", "first", "last"}
        What to do where a (task, index) is recorded twice: stop, drop copies that are equal to the byte, or keep the
        first or the last in the order of the sources.
    on_ungradable : {"raise", "indeterminate"}
        What to do about checks that cannot be graded: stop, or keep the rollout as indeterminate.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        What was read cannot be understood: file, line, field and value are named.
    SourceError
        A source is not there, cannot be read or decompressed.
    ArgumentError, ArgumentTypeError
        An argument is none of the above.

    Examples
    --------
    >>> import io, kofn
    >>> lines = b'{"task": "sum", "passed": true}\n{"task": "sum", "passed": false}\n'
    >>> run = kofn.read(io.BytesIO(lines))
    >>> run
    <Run: 2 rollouts of 1 task from <file>>
    """
    formats.resolve(format)
    skip, keep = decisions(on_error, on_duplicate, on_ungradable)
    given = requested_parts(requested)
    return _read(resolve_sources(source), given, skip, keep, on_duplicate)


def read_runs(
    source: object,
    by: Literal["file"] = "file",
    *,
    format: str | None = None,  # noqa: A002  # as in read
    requested: Requested | None = None,
    on_error: OnError = "raise",
    on_duplicate: OnDuplicate = "raise",
    on_ungradable: OnUngradable = "raise",
) -> dict[str, Run]:
    r"""Read several runs, one a file.

    Parameters
    ----------
    source
        As in `read`; a list, a directory or a pattern gives one run for each of its files.
    by : {"file"}
        What makes a run.
    format, requested, on_error, on_duplicate, on_ungradable
        As in `read`.

    Returns
    -------
    dict of str to Run
        By the name of the source, sorted.

    Raises
    ------
    InputError, SourceError, ArgumentError, ArgumentTypeError
        As in `read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("a", "b"):
    ...     _ = (folder / f"{name}.jsonl").write_text('{"run": {"id": "%s"}}\n{"task": "t", "passed": true}\n' % name)
    >>> [run.id for run in read_runs(folder).values()]
    ['a', 'b']
    """
    _word("by", by, ("file",))
    formats.resolve(format)
    skip, keep = decisions(on_error, on_duplicate, on_ungradable)
    given = requested_parts(requested)
    return {one.name: _read([one], given, skip, keep, on_duplicate) for one in resolve_sources(source)}


def _read(
    sources: list[Source],
    given: int | list[tuple[str, int]] | None,
    skip_errors: bool,
    keep_ungradable: bool,
    on_duplicate: str,
) -> Run:
    with named(sources):
        core = _core.read(
            [source.parts() for source in sources],
            given=given,
            skip_errors=skip_errors,
            keep_ungradable=keep_ungradable,
            on_duplicate=on_duplicate,
        )
    return Run._of(core)  # noqa: SLF001  # the constructor for what the core read


def decisions(on_error: str, on_duplicate: str, on_ungradable: str) -> tuple[bool, bool]:
    """Check the options of a read before anything is opened; return whether to skip errors and keep the ungradable."""
    _word("on_duplicate", on_duplicate, ("raise", "identical", "first", "last"))
    skip = _word("on_error", on_error, ("raise", "skip")) == "skip"
    return skip, _word("on_ungradable", on_ungradable, ("raise", "indeterminate")) == "indeterminate"


def _word(argument: str, value: object, words: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in words:
        raise _values.outside(argument, f"{_values.shown(value)} is not {' or '.join(map(repr, words))}")
    return value


class Run:
    """One evaluation in memory: tasks, and the rollouts recorded of them. Made by `kofn.read` and its class methods.

    A run never changes, and any number of threads may read it. ``len(run)`` is the number of recorded rollouts. It
    exports itself as an Arrow table in the native form (``pyarrow.table(run)``, ``polars.from_arrow(run)``), which
    `kofn.read` takes in again; `kofn.runs.SCHEMA` describes it.
    """

    __slots__ = ("_core",)

    _core: CoreRun

    def __init__(self) -> None:
        raise ArgumentTypeError("a Run is made by kofn.read, Run.from_records or Run.from_arrays")

    @classmethod
    def _of(cls, core: CoreRun) -> Run:
        run = object.__new__(cls)
        run._core = core
        return run

    @classmethod
    def from_records(
        cls,
        records: Iterable[Rollout | Mapping[str, Any]],
        *,
        requested: Requested | None = None,
        on_error: OnError = "raise",
        on_duplicate: OnDuplicate = "raise",
        on_ungradable: OnUngradable = "raise",
    ) -> Run:
        """Make a run of rollouts in memory.

        Parameters
        ----------
        records : iterable of Rollout or dict
            Rollouts, or records of the native form; a header (``{"run": {...}}``) may stand among them.
        requested, on_error, on_duplicate, on_ungradable
            As in `read`; messages count records from 1.

        Raises
        ------
        InputError
            A record cannot be understood.
        ArgumentTypeError
            Something is neither a rollout nor a dict, or holds what JSON cannot.

        Examples
        --------
        >>> run = Run.from_records([{"task": "sum", "rollout": 0, "score": 0.5}])
        >>> run.rollouts()[0].score
        0.5
        """
        from kofn.runs.records import lines  # noqa: PLC0415

        skip, keep = decisions(on_error, on_duplicate, on_ungradable)
        source = Source("records", "records", lines(records))
        return _read([source], requested_parts(requested), skip, keep, on_duplicate)

    @classmethod
    def from_arrays(
        cls,
        *,
        groups: Any = None,
        group_size: int | None = None,
        passed: Any = None,
        scores: Any = None,
        durations: Any = None,
        tokens: Any = None,
        valid: Any = None,
    ) -> Run:
        """Make a run of arrays, as a training loop has them; the arguments are those of `kofn.metrics`.

        Parameters
        ----------
        groups : array_like, shape (R,), or TaskIndex, optional
            The task of each rollout.
        group_size : int, optional
            Rollouts of one task stand together, this many each. 2-D columns (one row a task) need neither.
        passed, scores, durations, tokens, valid : array_like, shape (R,) or (T, n), optional
            Verdicts, scores, wall-clock seconds, input + output tokens, and whether a verdict or score was obtained at
            all. None and NaN mean "not recorded".

        Raises
        ------
        ArgumentError, ArgumentTypeError
            A column holds what it cannot, or shapes differ.
        InputError
            There are no rollouts.

        Examples
        --------
        >>> run = Run.from_arrays(groups=["a", "a", "b"], passed=[True, False, True])
        >>> run.report(["pass@1"], denominator="recorded")["pass@1"].value
        0.75
        """
        index, columns = _columns.grouped(
            groups,
            group_size,
            {"passed": passed, "scores": scores, "durations": durations, "tokens": tokens, "valid": valid},
        )
        return cls._of(_core.run_from_arrays(index, columns))

    @property
    def id(self) -> str | None:
        """The run's id, if it declares one."""
        header = self._core.header()
        return None if header is None else header["id"]

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks, those without a record included: declared ones in declared order, then others by id."""
        return tuple(self._core.tasks())

    @property
    def requested(self) -> int | dict[str, int] | None:
        """Rollouts requested of each task, as given to `read` or else as declared; None if neither was."""
        header = self._core.header()
        return self.given if self.given is not None else None if header is None else header["requested"]

    @property
    def given(self) -> int | dict[str, int] | None:
        """Rollouts requested of each task as given to `read`."""
        return self._core.given()

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of what it was read from, sorted."""
        return tuple(self._core.sources_and_notes()[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was passed over, cut off or dropped while it was read."""
        return tuple(self._core.sources_and_notes()[1])

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        sources, tasks = self.sources, len(self.tasks)
        origin = (
            f" from {sources[0]}" if len(sources) == 1 else f" from {len(sources)} sources" if sources else ""
        )
        rollouts = "1 rollout" if len(self) == 1 else f"{len(self)} rollouts"
        return f"<Run: {rollouts} of {tasks} {'task' if tasks == 1 else 'tasks'}{origin}>"

    def report(
        self,
        statistics: str | Sequence[str] | None = None,
        *,
        k: int | Sequence[int] | None = None,
        policy: Policy | str | None = None,
        threshold: float | None = None,
        requested: Requested | None = None,
        denominator: Denominator = "requested",
        by: str | None = None,
        on_short: OnShort = "raise",
        cluster: str | None = None,
        confidence: float | None = 0.95,
        interval: Interval = "default",
        seed: int | None = None,
    ) -> Report:
        """Compute the run's figures.

        Parameters
        ----------
        statistics : str or sequence of str, optional
            Labels such as ``"pass@5"``, ``"pass^5"``, ``"mean_score"``, or with the letter k: ``"pass@k"``. Default:
            pass@1, for the smallest n > 1 pass@n and pass^n, mean_score, mean_duration and mean_total_tokens, those of
            them that can be computed.
        k : int or sequence of int, optional
            Values for the letter k.
        policy : Policy or str, optional
            Which rollouts are successes; default: ``verifier_verdict.v1``, at least one verdict and all of them pass.
        threshold : float, optional
            The score that passes; alone it means ``score_threshold.v1``.
        requested : int or mapping of task to int, optional
            Rollouts requested of each task; wins over what was given to `read` and what the run declares.
        denominator : {"requested", "recorded", "scorable"}
            Which rollouts n counts.
        by : str, optional
            A tag; its values get the same report each.
        on_short : {"raise", "omit"}
            What to do about tasks with fewer than k rollouts.
        cluster : str, optional
            A tag whose values are clusters of tasks that are not independent of each other, such as their repository:
            intervals are then over clusters. Constant within a task; tasks without it are clusters of their own.
        confidence : float, optional
            The share of reports whose intervals hold the true figures; None for a report without intervals.
        interval : {"default", "student", "bootstrap", "percentile"}
            Over the tasks as a sample of many: Wilson's interval where every task's value is 0 or 1, else Student's t
            corrected for skewness; Student's t without correction; or quantiles of the means of 10,000 resamples of
            the tasks, moved for bias and skewness (BCa) or as they are.
        seed : int, optional
            Of the resamples, 0 by default. The same seed gives the same intervals to the last bit, for any order of
            the rollouts, number of threads and processor; each figure's do not depend on what else is asked for.

        Returns
        -------
        Report

        Raises
        ------
        RefusedError
            A label that was asked for cannot be given; the message says why, and how to go on.
        InputError
            The run contradicts itself: more records than requested, tasks that are not declared.
        ArgumentError, ArgumentTypeError
            An argument is outside its domain.

        Examples
        --------
        >>> run = Run.from_arrays(passed=[[True, True], [True, False]])
        >>> run.report(["pass@k", "pass^k"], k=2)["pass^2"].value
        0.5
        """
        from kofn.accumulators import report_run  # noqa: PLC0415  # it stands on runs

        return report_run(
            self,
            statistics,
            k=k,
            policy=policy,
            threshold=threshold,
            requested=requested,
            denominator=denominator,
            by=by,
            on_short=on_short,
            cluster=cluster,
            confidence=confidence,
            interval=interval,
            seed=seed,
        )

    def select(
        self,
        *,
        tasks: str | int | Iterable[str | int] | None = None,
        verifiers: str | Iterable[str] | None = None,
        tags: Mapping[str, str | Iterable[str]] | None = None,
    ) -> Run:
        """Return a part of the run.

        Parameters
        ----------
        tasks : str or iterable of str, optional
            Tasks to keep, by id. Their requested counts stay.
        verifiers : str or iterable of str, optional
            Verifiers to keep, by name. All rollouts stay, without what other verifiers recorded.
        tags : mapping of str to str or iterable of str, optional
            Tags with the value, or values, to keep; several tags must all agree. A tag selects whole tasks, and must be
            constant within each. Tasks without it, declared ones without any record among them, are left out.

        Raises
        ------
        ArgumentError
            The run has no such task, verifier, tag or value; the nearest is named.
        InputError
            A tag varies within a task.

        Examples
        --------
        >>> run = Run.from_arrays(groups=["a", "b", "b"], passed=[True, False, True])
        >>> run.select(tasks="b")
        <Run: 2 rollouts of 1 task>
        """
        if tags is not None and not isinstance(tags, Mapping):
            raise ArgumentTypeError(
                f"tags: {_values.shown(tags)}; it must be a dict of a tag's name to values"
            )
        return Run._of(
            self._core.select(
                tasks=_names("tasks", tasks),
                verifiers=_names("verifiers", verifiers),
                tags=[
                    (_values.key(name, "tags"), _names("tags", values) or [])
                    for name, values in (tags or {}).items()
                ],
            )
        )

    def rollouts(
        self,
        task: str | int | None = None,
        outcome: str | None = None,
        *,
        policy: Policy | str | None = None,
        threshold: float | None = None,
    ) -> Rollouts:
        """Return the rollouts in the order of their sources, as a sequence that reads details when asked.

        Parameters
        ----------
        task : str, optional
            Only this task's.
        outcome : str, optional
            Only ``"success"`` or ``"failure"`` (every recorded rollout that is none) under the policy; ``"passed"``,
            ``"failed"`` or ``"unscorable"`` in the registry's sense; or of a status: ``"succeeded"``, ``"errored"``,
            ``"cancelled"``, ``"unfinished"``.
        policy, threshold
            As in `report`.

        Raises
        ------
        ArgumentError
            The run has no such task, or there is no such outcome.
        RefusedError
            Successes are asked for, no policy was chosen, and the run holds scores and no verdict.

        Examples
        --------
        >>> run = Run.from_arrays(groups=["a", "a"], passed=[True, False])
        >>> [rollout.success for rollout in run.rollouts(task="a", outcome="failure")]
        [False]
        """
        if outcome is not None:
            _word("outcome", outcome, OUTCOMES)
        decided, chosen = resolve(policy, threshold)
        success, registry, score, scores_alone = self._core.classify(parts(decided), mask(decided, self))
        undecided = scores_alone and not chosen
        if undecided and outcome in {"success", "failure"}:
            error = RefusedError(
                f"outcome {outcome!r}: the run holds scores and no verdict, so nothing says what a success is; "
                'give threshold=X (a score that passes), or policy="verifier_verdict.v1"'
            )
            error.label = outcome
            raise error
        keep = np.ones(len(self), np.bool_)
        codes, _, statuses = self._core.keys()
        if task is not None:
            task = _values.key(str(task), "task")
            code = self._core.task_code(task)
            if code is None:
                # A declared task without a record has no rollouts; one that is unknown is a slip.
                self._core.select(tasks=[task], verifiers=None, tags=[])
                keep[:] = False
            else:
                keep &= codes == code
        if outcome in {"success", "failure"}:
            keep &= success == (outcome == "success")
        elif outcome in REGISTRY and outcome is not None:
            keep &= registry == REGISTRY.index(outcome)
        elif outcome is not None:
            keep &= statuses == STATUSES.index(outcome)
        return Rollouts(self._core, np.flatnonzero(keep), None if undecided else success, registry, score)

    def checks(self) -> CheckTable:
        """Return how each check fared: how often it ran, passed, and alone blocked a rollout; most blocking first.

        Examples
        --------
        >>> checks = [{"label": "total", "required": True, "passed": False}]
        >>> Run.from_records([{"task": "sum", "checks": checks}]).checks()[0].blocked
        1
        """
        return CheckTable([CheckRow(*row) for row in self._core.checks()])

    def missing(self, requested: Requested | None = None) -> MissingRollouts:
        """Return the requested rollouts that have no record, as (task, index) pairs.

        Parameters
        ----------
        requested : int or mapping of task to int, optional
            Wins over what was given to `read` and what the run declares.

        Raises
        ------
        ArgumentError
            How many rollouts were requested is neither given nor declared.
        InputError
            A task has more records than were requested, or is not among the tasks requested.

        Examples
        --------
        >>> run = Run.from_records([{"task": "a", "rollout": 1, "passed": True}], requested=3)
        >>> list(run.missing())
        [('a', 2), ('a', 3)]
        """
        return MissingRollouts(self._core.missing(requested_parts(requested)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the run as an Arrow table, one row a rollout; records are read again from their sources."""
        return self._core.__arrow_c_stream__(requested_schema)

    def _outcomes(self, policy: Policy) -> npt.NDArray[np.bool_]:
        """Return which rollouts are successes under a built-in policy."""
        return self._core.classify(parts(policy), None)[0]


def _names(argument: str, names: object) -> list[str] | None:
    """Return one name or several as a list of text; ids may be integers."""
    if names is None:
        return None
    if isinstance(names, (str, int)):
        return [_values.key(str(names), argument)]
    if not isinstance(names, Iterable) or isinstance(names, (bytes, Mapping)):
        raise ArgumentTypeError(f"{argument}: {_values.shown(names)}; it must be a name or a list of names")
    found = []
    for name in names:
        plain = _values.plain(name)
        if isinstance(plain, bool) or not isinstance(plain, (str, int)):
            raise ArgumentTypeError(f"{argument}: {_values.shown(name)}; it must be text")
        found.append(_values.key(str(plain), argument))
    return found
