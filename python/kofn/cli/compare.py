"""`kofn compare`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from kofn.cli import gates, output, sources
from kofn.cli.parser import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from kofn.comparisons import Comparison, Comparisons


def run(arguments: argparse.Namespace) -> int:
    """Read both runs, compare, write, then judge the gates."""
    under = gates.parse(arguments.fail_under)
    worse = gates.parse_worse(arguments.fail_if_worse)
    if len(arguments.runs) < 2:
        raise UsageError("give a baseline and a new run: kofn compare A B (see kofn compare --help)")
    output.spare(arguments.output, arguments.runs)
    from kofn.comparisons.labels import asked  # noqa: PLC0415  (a bad command line should not wait for NumPy)
    from kofn.comparisons.many import compare_all  # noqa: PLC0415
    from kofn.comparisons.runs import compare_reports  # noqa: PLC0415

    statistics = arguments.statistic or None
    labels = asked(statistics, arguments.k)
    wanted = (asked([gate.label for gate in worse], None) or []) if worse else []
    names = sources.names(arguments.runs)
    also = [*wanted, *(gate.label for gate in under)]
    certainty: dict[str, Any] = {
        "cluster": arguments.cluster,
        "confidence": arguments.confidence,
        "interval": arguments.interval,
        "seed": arguments.seed,
    }
    # Only gates ask how sure a run's own figures are.
    own = _of_one(certainty) if under else {}
    reports = {
        name: sources.report(path, arguments, statistics, also, by=arguments.cluster, **own)
        for name, path in zip(names, arguments.runs, strict=True)
    }
    options: dict[str, Any] = {
        "also": wanted,
        "omit_short": arguments.on_short == "omit",
        "on_mismatch": arguments.on_mismatch,
        **certainty,
    }
    found: Comparison | Comparisons
    if len(names) == 2:
        first, second = names
        found = compare_reports(reports[first], reports[second], labels, names=(first, second), **options)
        pairs = [found]
    else:
        found = compare_all(reports, labels, baseline=names[0], **options)
        pairs = list(found.values())
    output.write(_text(found, arguments), arguments.output)
    judged = [gates.judge_worse(pair, worse, strict=arguments.strict) for pair in pairs]
    judged += [gates.judge(reports[name], under, strict=arguments.strict, name=name) for name in names[1:]]
    return gates.worst(judged)


def _of_one(certainty: dict[str, Any]) -> dict[str, Any]:
    """Return the same for a report, which wants no seed where it draws nothing."""
    drawn = certainty["interval"] in {"bootstrap", "percentile"}
    return certainty | {"seed": certainty["seed"] if drawn else None}


def _text(found: Comparison | Comparisons, arguments: argparse.Namespace) -> Iterable[str]:
    from kofn.comparisons import Comparison  # noqa: PLC0415

    if arguments.format == "json":
        if isinstance(found, Comparison):
            from kofn.comparisons.encode import pieces  # noqa: PLC0415

            return chain(pieces(found), "\n")
        return [found.to_json()]
    if arguments.format == "table":
        from kofn.views import comparison as view  # noqa: PLC0415

        style = output.style(arguments.output)
        if isinstance(found, Comparison):
            return [view.render(found, "table", per_task=arguments.per_task, style=style)]
        return [view.render_many(found, "table", per_task=arguments.per_task, style=style)]
    return [found.render(arguments.format, per_task=arguments.per_task)]
