"""`kofn report`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kofn.cli import gates, output, sources
from kofn.cli.parser import UsageError
from kofn.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kofn.reports import Report


def run(arguments: argparse.Namespace) -> int:
    """Read, report, write, then judge the gates."""
    asked = gates.parse(arguments.fail_under)
    output.spare(arguments.output, arguments.runs)
    try:
        report = sources.read(
            arguments.runs,
            arguments,
            arguments.statistic,
            [gate.label for gate in asked],
            by=arguments.by,
            cluster=arguments.cluster,
            confidence=arguments.confidence,
            interval=arguments.interval,
            seed=arguments.seed,
        )
    except InputError:
        if saved := next(filter(sources.is_saved, arguments.runs), None):
            raise UsageError(
                f"{saved}: a saved report, not a run; `kofn compare` and `kofn plan` read it"
            ) from None
        raise
    output.write(_text(report, arguments), arguments.output)
    return gates.judge(report, asked, strict=arguments.strict)


def _text(report: Report, arguments: argparse.Namespace) -> Iterable[str]:
    if arguments.format == "json":
        from kofn.reports.encode import pieces  # noqa: PLC0415

        return chain(pieces(report), "\n")
    if arguments.format == "table":
        from kofn.views import table  # noqa: PLC0415

        return [table.render(report, per_task=arguments.per_task, style=output.style(arguments.output))]
    return [report.render(arguments.format, per_task=arguments.per_task)]
