"""Gates: `--fail-under L=V` (spec 8.1, 8.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kofn.cli import status
from kofn.cli.parser import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        if label.endswith(("@k", "^k", "_k")) and ":" not in label:
            raise UsageError(f"--fail-under {text}: write a number for the k, as in pass^5=0.6")
        gates.append(Gate(label, least, text))
    return gates


def judge(report: Report, gates: Sequence[Gate], *, strict: bool) -> int:
    """Say which gates fell short or could not be decided, and return the exit status: 1 wins over 3."""
    found = {status.DONE}
    for gate in gates:
        figure = report.get(gate.label)
        if figure is None:
            reason = report.omitted.get(gate.label, "") or _reason(report, gate.label)
            status.say(f"gate {gate.text} could not be decided: {reason}")
            found.add(status.UNDECIDED)
        elif strict and figure.interval is not None and figure.interval[0] < gate.least <= figure.interval[1]:
            low, high = figure.interval
            status.say(
                f"gate {gate.text} could not be decided: the interval {low!r} .. {high!r} straddles it"
            )
            found.add(status.UNDECIDED)
        elif figure.value < gate.least:
            status.say(
                f"gate {gate.text} fell short: {gate.label} is {figure.value!r} over {figure.n_tasks} tasks"
            )
            found.add(status.FELL_SHORT)
    if strict and gates and all(figure.interval is None for figure in report.values()):
        status.say("--strict: these figures carry no intervals, so the gates compare values alone")
    return next(code for code in (status.FELL_SHORT, status.UNDECIDED, status.DONE) if code in found)


def _reason(report: Report, label: str) -> str:
    try:
        report[label]
    except KeyError as error:
        return str(error)
    return ""
