"""Reports of files that are never held in memory: rollouts are read, counted and forgotten."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from kofn import _values, formats
from kofn._metrics import new_tally
from kofn.errors import ArgumentError
from kofn.policies import Policy, ScoreThreshold, VerifierVerdict, resolve
from kofn.runs.run import OnDuplicate, OnError, OnUngradable, decisions
from kofn.runs.sources import STANDARD_INPUT, Source, named, refuse
from kofn.runs.sources import resolve as resolve_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kofn.reports import Report
    from kofn.reports.intervals import Interval


def report_files(
    paths: Sequence[str],
    *,
    input_format: str | None = None,
    statistics: str | Sequence[str] | None = None,
    also: Sequence[str] = (),
    k: int | Sequence[int] | None = None,
    policy: Policy | str | None = None,
    threshold: float | None = None,
    requested: int | Mapping[Any, int] | None = None,
    denominator: Literal["requested", "recorded", "scorable"] = "requested",
    on_short: Literal["raise", "omit"] = "raise",
    on_error: OnError = "raise",
    on_duplicate: OnDuplicate = "raise",
    on_ungradable: OnUngradable = "raise",
    by: str | None = None,
    cluster: str | None = None,
    confidence: float | None = 0.95,
    interval: Interval = "default",
    seed: int | None = None,
) -> Report:
    """Report on files in memory that grows with the tasks and their distinct scores, not with the files.

    The figures are those of ``kofn.read(paths, ...).report(...)`` to the last bit. A user's own policy needs a run, so
    only the built-in ones are taken; `on_duplicate="last"` has to hold the run as well.

    Parameters
    ----------
    paths : sequence of str
        Files, directories, patterns, or ``-`` for standard input, which is read as it comes.
    also : sequence of str
        Labels to compute beside `statistics`, or beside the default ones: what gates rest on.
    input_format, statistics, k, policy, threshold, requested, denominator, on_short, on_error, on_duplicate, \
on_ungradable, by, cluster, confidence, interval, seed
        As in `kofn.read` and `Run.report`.

    Raises
    ------
    RefusedError, InputError, SourceError, ArgumentError
        As there.
    """
    from kofn.reports.intervals import check_seed, report_of  # noqa: PLC0415  # a bad path should not wait for it

    formats.resolve(input_format)
    skip, keep = decisions(on_error, on_duplicate, on_ungradable)
    decided, chosen = resolve(policy, threshold)
    if not isinstance(decided, (VerifierVerdict, ScoreThreshold)):
        raise ArgumentError(f"policy {decided.id}: decides on a run; use kofn.read(...).report(policy=...)")
    if confidence is not None:
        _values.confidence(confidence)
    check_seed(interval, seed)
    tally = new_tally(
        statistics,
        k=k,
        by=by,
        policy=decided,
        chosen=chosen,
        requested=requested,
        denominator=denominator,
        on_short=on_short,
        also=also,
        cluster=cluster,
    )
    sources = _sources(list(paths))
    with named(sources):
        tally.read(
            [source.parts() for source in sources],
            skip_errors=skip,
            keep_ungradable=keep,
            on_duplicate=on_duplicate,
        )
    return report_of(tally, confidence, interval, seed)


def _sources(paths: list[str]) -> list[Source]:
    """Return the sources sorted by name; standard input is not read here."""
    stdin = [Source("stdin", STANDARD_INPUT, None)] if "-" in paths else []
    rest = [path for path in paths if path != "-"]
    found = resolve_sources(rest) if rest or not stdin else []
    if paths.count("-") > 1:
        raise ArgumentError("source: - is given twice; standard input can be read once")
    if stdin and sys.stdin is None:
        # Whatever was opened first has its number now, and would be read in its place.
        refuse(STANDARD_INPUT, "standard input is closed")
    return sorted([*found, *stdin], key=lambda source: source.name)
