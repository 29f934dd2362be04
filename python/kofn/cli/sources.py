"""Runs and saved reports as the commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kofn.reports import Report

_SUFFIXES = {".json", ".jsonl", ".ndjson", ".gz", ".zst", ".parquet", ".report"}


def names(paths: Sequence[str]) -> list[str]:
    """Return what to call the runs: their files' names without endings, if these differ.

    >>> names(["old/run.jsonl.gz", "new.report.json"]), names(["old/run.jsonl", "new/run.jsonl"]), names(["a", "a"])
    (['run', 'new'], ['old/run.jsonl', 'new/run.jsonl'], ['A', 'B'])
    """
    for found in ([_stem(path) for path in paths], list(paths)):
        if len(set(found)) == len(found):
            return found
    return [chr(ord("A") + at) if len(paths) <= 26 else str(at + 1) for at in range(len(paths))]


def _stem(path: str) -> str:
    from kofn.runs.sources import name_of  # noqa: PLC0415  (help needs none of it)

    name = Path(path).name
    while Path(name).suffix in _SUFFIXES:
        name = Path(name).stem
    return name_of(name or path)


def is_saved(path: str) -> bool:
    """Return whether a path is that of a saved report."""
    from kofn.comparisons.sources import is_saved_report  # noqa: PLC0415

    return path != "-" and Path(path).is_file() and is_saved_report(path)


def report(
    path: str,
    arguments: argparse.Namespace,
    statistics: str | Sequence[str] | None,
    also: Sequence[str] = (),
    *,
    by: str | None = None,
    **certainty: Any,
) -> Report:
    """Return a saved report as it is, or report on a run that is read and forgotten."""
    from kofn.reports import Report  # noqa: PLC0415

    if is_saved(path):
        return Report.from_json(Path(path))
    return read([path], arguments, statistics, also, by=by, **certainty)


def read(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    statistics: str | Sequence[str] | None,
    also: Sequence[str] = (),
    *,
    by: str | None,
    **certainty: Any,
) -> Report:
    """Return the report on a run that is read and forgotten, by the options that all commands share."""
    from kofn.runs import report_files  # noqa: PLC0415  (a bad command line should not wait for NumPy)

    return report_files(
        paths,
        input_format=arguments.input_format,
        statistics=statistics,
        also=also,
        k=arguments.k,
        policy=arguments.policy,
        threshold=arguments.threshold,
        requested=arguments.requested,
        denominator=arguments.denominator,
        on_short=arguments.on_short,
        on_error=arguments.on_error,
        on_duplicate=arguments.on_duplicate,
        on_ungradable=arguments.on_ungradable,
        by=by,
        **certainty,
    )
