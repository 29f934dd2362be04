"""Gates: `--fail-under L=V` and `--fail-if-worse L=MARGIN` (spec 8.1, 8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kofn.cli import status
from kofn.cli.parser import UsageError
from kofn.views import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kofn.comparisons import Comparison
    from kofn.reports import Report


@dataclass(frozen=True, slots=True)
class Gate:
    """The least value that a label's figure may have."""

    label: str
    least: float
    text: str


def parse(texts: Iterable[str]) -> list[Gate]:
    """Read gates; the value stands after the last `=`, because the name of a series may hold one."""
    gates = []
    for text in texts:
        label, equals, number = text.rpartition("=")
        label = label.strip()
        try:
            least = float(number)
        except ValueError:
            least = float("nan")
        if not equals or not label or least - least != 0:
            raise UsageError(f"--fail-under {text}: write a label and a finite number, as in pass^5=0.6")
        _check(label, least, f"--fail-under {text}")
        gates.append(Gate(label, least, text))
    return gates


def _check(label: str, value: float, where: str) -> None:
    if numbers.is_share(label) and value > 1:
        raise UsageError(f"{where}: {label} is a share from 0 to 1; 3 points are 0.03")
    if label.endswith(("@k", "^k", "_k")) and ":" not in label:
        raise UsageError(f"{where}: write a number for the k, as in pass^5=0.6")


@dataclass(frozen=True, slots=True)
class WorseGate:
    """How much worse a label's figure may be than the baseline's."""

    label: str
    margin: float
    text: str


def parse_worse(texts: Iterable[str]) -> list[WorseGate]:
    """Read gates on differences, with a margin or without."""
    gates = []
    for text in texts:
        # The name of a series may hold a = too; then what follows it is no number.
        label, equals, number = text.rpartition("=")
        margin = 0.0
        if equals:
            try:
                margin = float(number)
            except ValueError:
                label = text
        else:
            label = text
        label = label.strip()
        if not label or not 0 <= margin < float("inf"):
            raise UsageError(
                f"--fail-if-worse {text}: write a label, and perhaps a margin from 0, as in pass@1=0.02"
            )
        _check(label, margin, f"--fail-if-worse {text}")
        gates.append(WorseGate(label, margin, text))
    return gates


def judge_worse(comparison: Comparison, gates: Sequence[WorseGate], *, strict: bool) -> int:
    """Say which differences fell short or are not decided, and return the exit status: 1 wins over 3."""
    found = {status.DONE}
    name = comparison.names[1]
    for gate in gates:
        difference = comparison.get(gate.label)
        where = f"gate {gate.text} of {name}"
        if difference is None:
            status.say(f"{where} could not be decided: {_reason(comparison, gate.label)}")
            found.add(status.UNDECIDED)
            continue
        if difference.more_is_better is None:
            raise UsageError(f"--fail-if-worse {gate.text}: whether more of it is worse is not known")
        sentence = difference.sentence(name)
        if difference.verdict == "cannot tell":
            status.say(f"{where} could not be decided: {sentence}")
            found.add(status.UNDECIDED)
            continue
        # Without a spread every task differs by the same.
        low, high = difference.interval or (difference.value, difference.value)
        # What is not shown to be worse at all does not fall short: the interval and the test must agree.
        if high < -gate.margin and difference.verdict == "worse":
            status.say(f"{where} fell short: {sentence}")
            found.add(status.FELL_SHORT)
        elif low < -gate.margin:
            passes = "" if strict else ", and passes without --strict"
            status.say(f"{where} could not be decided{passes}: {sentence}")
            if strict:
                found.add(status.UNDECIDED)
    return worst(found)


def worst(found: Iterable[int]) -> int:
    """Return the status that wins: 1 over 3 over 0."""
    known = set(found)
    return next(code for code in (status.FELL_SHORT, status.UNDECIDED, status.DONE) if code in known)


def judge(report: Report, gates: Sequence[Gate], *, strict: bool, name: str = "") -> int:
    """Say which gates fell short or could not be decided, and return the exit status: 1 wins over 3.

    `name` tells the run apart from others.

    With `strict` a gate passes where the whole interval reaches it, falls short where the whole interval lies below, and
    is not decided in between.
    """
    found = {status.DONE}
    for gate in gates:
        where = f"gate {gate.text}{f' of {name}' if name else ''}"
        figure = report.get(gate.label)
        if figure is None:
            reason = report.omitted.get(gate.label, "") or _reason(report, gate.label)
            status.say(f"{where} could not be decided: {reason}")
            found.add(status.UNDECIDED)
            continue
        if strict and figure.interval is None:
            why = f" ({figure.no_interval})" if figure.no_interval else ""
            status.say(f"{where}: there is no interval{why}, so --strict looks at the value alone")
        if strict and figure.interval is not None and figure.interval[0] < gate.least <= figure.interval[1]:
            low, high = (numbers.figure(gate.label, end) for end in figure.interval)
            status.say(f"{where} could not be decided: the interval {low} .. {high} straddles it")
            found.add(status.UNDECIDED)
        elif figure.value < gate.least:
            status.say(f"{where} fell short: {gate.label} is {figure.value!r} over {figure.n_tasks} tasks")
            found.add(status.FELL_SHORT)
    return worst(found)


def _reason(report: Report | Comparison, label: str) -> str:
    try:
        report[label]
    except KeyError as error:
        return str(error)
    return ""
