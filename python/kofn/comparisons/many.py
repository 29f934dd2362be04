"""`kofn.compare_many`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from kofn import _core, _values
from kofn.comparisons import labels as label_columns
from kofn.comparisons.comparison import Comparison
from kofn.comparisons.runs import compare_reports
from kofn.comparisons.sources import Reading, report_of
from kofn.errors import ArgumentTypeError, EncodingError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kofn.accumulators import Denominator, OnShort
    from kofn.comparisons.join import OnMismatch
    from kofn.comparisons.runs import Comparable
    from kofn.policies import Policy
    from kofn.reports import Report
    from kofn.reports.intervals import Interval
    from kofn.views import Form

SCHEMA = "kofn.comparisons/1"


class Comparisons(Mapping[tuple[str, str], Comparison]):
    """Several comparisons as one: a mapping from (first run, second run) to its `Comparison`.

    Each `p_value` has an `adjusted_p_value` beside it (Holm, over all pairs that have the label), and conclusions rest
    on that. Made by `kofn.compare_many`.
    """

    __slots__ = ("_pairs", "baseline")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, pairs: Mapping[tuple[str, str], Comparison], baseline: str | None) -> None:
        self._pairs = dict(pairs)
        self.baseline = baseline

    def __getitem__(self, pair: tuple[str, str]) -> Comparison:
        return self._pairs[pair]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Comparisons) else NotImplemented

    @property
    def conclusions(self) -> list[str]:
        """One line a pair, in order."""
        return [f"{b} against {a}: {it.conclusion}" for (a, b), it in self._pairs.items()]

    def to_json(self) -> str:
        """Return all of them as JSON text."""
        from kofn.comparisons.encode import pieces  # noqa: PLC0415  (seldom needed)

        head = f'{{"schema": "{SCHEMA}", "baseline": {_quoted(self.baseline)}, "comparisons": [\n'
        return head + ",\n".join("".join(pieces(it)) for it in self._pairs.values()) + "]}\n"

    @classmethod
    def from_json(cls, source: str | bytes | bytearray | Mapping[str, Any] | os.PathLike[str]) -> Comparisons:
        """Read what `to_json` gave.

        Raises
        ------
        EncodingError
            If it is something else.
        SourceError
            If the file cannot be read.
        """
        from kofn.comparisons.decode import document  # noqa: PLC0415  (seldom needed)

        found = document(source)
        parts = found.get("comparisons")
        if found.get("schema") != SCHEMA or not isinstance(parts, list):
            raise EncodingError(f"not kofn comparisons: the schema is not {SCHEMA!r}")
        read = [Comparison.from_json(part) for part in parts]
        return cls({it.names: it for it in read}, found.get("baseline"))

    def render(self, form: Form = "table", *, per_task: bool = False) -> str:
        """Return all of them as text, one after the other; see `Comparison.render`."""
        from kofn.views.comparison import render_many  # noqa: PLC0415  (seldom needed)

        return render_many(self, form, per_task=per_task)

    def __str__(self) -> str:
        return self.render("table")

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self)} pairs>"


def compare_many(
    runs: Mapping[str, Comparable],
    statistics: str | Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    k: int | Sequence[int] | None = None,
    policy: Policy | str | None = None,
    threshold: float | None = None,
    requested: int | Mapping[Any, int] | None = None,
    denominator: Denominator = "requested",
    on_short: OnShort = "raise",
    on_mismatch: OnMismatch = "raise",
    cluster: str | Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    interval: Interval = "default",
    seed: int = 0,
) -> Comparisons:
    """Compare several runs: each with a baseline, or all pairs.

    Parameters
    ----------
    runs : mapping of str to Run, Report or path
        At least two, by name.
    statistics, k, policy, threshold, requested, denominator, on_short, on_mismatch, cluster, confidence, interval, seed
        As in `compare`.
    baseline : str, optional
        The run that all others are compared with; default: every pair, the later one minus the earlier.

    Returns
    -------
    Comparisons
        By pair of names. Their p-values are adjusted for their number (Holm): with several runs, one of them soon looks
        better by chance alone.

    Raises
    ------
    InputError, RefusedError, ArgumentError, ArgumentTypeError
        As in `compare`, and for fewer than two runs or an unknown baseline.

    Examples
    --------
    >>> import kofn
    >>> runs = {
    ...     name: kofn.Run.from_arrays(groups=list("abcdef"), passed=passed)
    ...     for name, passed in [("old", [0, 0, 0, 0, 0, 1]), ("new", [1, 1, 1, 1, 0, 1]), ("other", [0, 1, 0, 0, 0, 1])]
    ... }
    >>> found = kofn.compare_many(runs, "pass@1", baseline="old")
    >>> [it["pass@1"].adjusted_p_value for it in found.values()]
    [0.25, 1.0]
    """
    if not isinstance(runs, Mapping):
        raise ArgumentTypeError(
            f"runs: {type(runs).__name__}; give a mapping of names to runs, reports or paths"
        )
    tag = cluster if isinstance(cluster, str) else None
    reading = Reading(statistics, k, policy, threshold, requested, denominator, on_short, tag)
    names = [_values.name(name, "runs") for name in runs]
    _check(names, baseline)
    return compare_all(
        {name: report_of(run, reading, f"runs[{name!r}]") for name, run in runs.items()},
        label_columns.asked(statistics, k),
        baseline=baseline,
        omit_short=on_short == "omit",
        on_mismatch=on_mismatch,
        cluster=cluster,
        confidence=confidence,
        interval=interval,
        seed=seed,
    )


def compare_all(
    reports: Mapping[str, Report], asked: list[str] | None, *, baseline: str | None, **options: Any
) -> Comparisons:
    """Compare reports; see `compare_many`."""
    names = list(reports)
    if baseline is None:
        pairs = list(combinations(names, 2))
    else:
        pairs = [(baseline, name) for name in names if name != baseline]
    found = {
        (a, b): compare_reports(reports[a], reports[b], asked, names=(a, b), **options) for a, b in pairs
    }
    return Comparisons(_adjusted(found), baseline)


def _adjusted(found: Mapping[tuple[str, str], Comparison]) -> dict[tuple[str, str], Comparison]:
    """Return the comparisons with Holm's adjustment of each label over the pairs that have a p-value of it."""
    differences = {pair: dict(it.content.differences) for pair, it in found.items()}
    for label in dict.fromkeys(label for it in found.values() for label in it):
        pairs = [
            (pair, p) for pair, it in found.items() if label in it and (p := it[label].p_value) is not None
        ]
        adjusted = _core.holm(np.array([p for _, p in pairs]))
        for (pair, _), p in zip(pairs, adjusted.tolist(), strict=True):
            differences[pair][label] = dataclasses.replace(differences[pair][label], adjusted_p_value=p)
    return {
        pair: Comparison(dataclasses.replace(it.content, differences=differences[pair]))
        for pair, it in found.items()
    }


def _check(names: Sequence[str], baseline: str | None) -> None:
    if len(names) < 2:
        raise _values.outside("runs", f"{len(names)} given; a comparison takes at least 2")
    if baseline is not None and (not isinstance(baseline, str) or baseline not in names):
        raise _values.outside(
            "baseline", f"{_values.shown(baseline)} is none of {', '.join(map(repr, names))}"
        )


def _quoted(text: str | None) -> str:
    import json  # noqa: PLC0415  (seldom needed)

    return json.dumps(text)
