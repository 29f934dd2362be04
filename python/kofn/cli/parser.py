"""Arguments and help."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from kofn._core import __version__


class UsageError(Exception):
    """The command line cannot be understood."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_args(
        self, args: Any = None, namespace: Any = None
    ) -> Any:  # what a command does not know is its own
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(found, "command", None)
            raise UsageError(
                f"unrecognized arguments: {' '.join(unknown)} (see kofn {f'{command} ' if command else ''}--help)"
            )
        return found


_TOP = """\
kofn ("k of n") grades agent rollouts and reports how good, how reliable and
how sure.

  kofn report run.jsonl     the figures of a run, with what they rest on
  kofn compare old new      what a new run does better or worse, task by task
  kofn plan pilot.jsonl     how many tasks and rollouts an answer takes
  kofn rollouts run.jsonl   the rollouts one by one
  kofn checks run.jsonl     which check fails most, which one alone blocks
  kofn grade checks.json    grade one list of checks
"""
_STATUSES = """\
exit status
  0 done                           1 a gate fell short
  2 bad input or usage             3 a gate could not be decided
  4 an internal error
"""
_REPORT = """\
Report a run: one figure a statistic, with the counts it rests on. What was not
recorded is left out with a reason, and never counted as 0.

what a figure means
  pass@k        chance that at least one of k rollouts of a task passes:
                can it solve the task?
  pass^k        chance that all of k rollouts of a task pass:
                can it be relied on?
  pass_rate     passed / n
  learnability  4 p (1 - p), p = passed / n: highest where half pass
  coverage      rollouts that could be decided / requested
  mean_score    mean of the rollouts' scores
  best_of_k, worst_of_k             expected best, worst score of k rollouts
  mean_duration, mean_total_tokens  over the rollouts that recorded them
  metric_mean:S, metric_variance:S, agreement:S
                of one recorded series S: metric, subject/metric or
                verifier/subject/metric
Each is computed per task, then averaged over the tasks that produced it; the
report says over how many.
The interval beside it says where the average over all tasks like these may lie:
were the run made with other such tasks, 95 of 100 reports would hold it within
theirs. More tasks make it shorter; more rollouts of the same tasks hardly do.
Below 30 tasks it is rough. The noise is what a mere repetition moves.
"""
_REPORT_EXAMPLES = """\
examples
  kofn report run.jsonl
  kofn report run.jsonl --statistic pass@k --statistic pass^k --k 1,2,4
  kofn report shard-*.jsonl.gz --by suite --per-task --format markdown
  kofn report scores.jsonl --threshold 0.8 --format json --output r.json
  generate | kofn report - --requested 5
  kofn report run.jsonl --fail-under pass^5=0.6 --fail-under coverage=0.95

"""
_INTERVALS = ("default", "student", "bootstrap", "percentile")
_COMPARE = """\
Compare a new run with a baseline on their common tasks, each task against
itself: how far apart they are (new minus baseline), how sure that is, which
tasks were gained and lost. The interval says how large the difference may be on
tasks like these: one that holds 0 shows none. Each of A, B, C is a file, a
directory or a quoted pattern of one run, or a report that `kofn report --format
json` wrote. With more than two, each is compared with A, and p-values are
adjusted (Holm).
"""
_COMPARE_EXAMPLES = """\
examples
  kofn compare old.jsonl new.jsonl
  kofn compare baseline.report.json new.jsonl --statistic pass@1
  kofn compare old.jsonl new.jsonl --fail-if-worse pass@1=0.02 --strict

"""
_PLAN = """\
Say how many tasks and rollouts an answer takes, from a pilot run: for an
interval of a given half-width, or to detect a difference. With two pilots of
the same tasks, for the difference between them.
"""
_PLAN_EXAMPLES = """\
examples
  kofn plan pilot.jsonl --half-width 0.03
  kofn plan old.jsonl new.jsonl --detect 0.02 --cost-task 5 --cost-rollout 1

"""
_GRADE = """\
Grade a list of checks, or an object with `checks` and perhaps `toolCalls` and
`toolErrors`, and print its result.json: passed = every required check passed;
reward = checks passed / checks recorded, required and optional alike.
"""
_GRADE_EXAMPLES = """\
examples
  kofn grade checks.json --gate
  echo '[{"label": "total", "required": true, "passed": true}]' | kofn grade -

"""
_ROLLOUTS = """\
List rollouts: what the policy says, what the registry says (Passed, Failed,
Unscorable), score, failed required checks, tool calls and errors, and why a
rollout broke.
"""
_ROLLOUTS_EXAMPLES = """\
examples
  kofn rollouts run.jsonl --task sum-1000
  kofn rollouts run.jsonl --outcome failure --format csv
  kofn rollouts run.jsonl --missing

"""
_CHECKS = """\
Show, per check label, how often it ran, how often it passed, and how often it
blocked: was the only failed required check of its rollout.
"""
_CHECKS_EXAMPLES = """\
examples
  kofn checks run.jsonl
  kofn checks run.jsonl --format json

"""


_OUTCOMES = (
    *("success", "failure", "passed", "failed", "unscorable"),
    *("succeeded", "errored", "cancelled", "unfinished"),
)


def build() -> argparse.ArgumentParser:
    """Return the parser of the whole program."""
    layout: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    top = _Parser(prog="kofn", description=_TOP, epilog=_STATUSES, **layout)
    top.add_argument("--version", action="version", version=f"kofn {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    for name, fill, summary, description, examples in (
        ("report", _report, "figures of a run", _REPORT, _REPORT_EXAMPLES),
        ("compare", _compare, "a new run against a baseline", _COMPARE, _COMPARE_EXAMPLES),
        ("plan", _plan, "how many tasks and rollouts to ask for", _PLAN, _PLAN_EXAMPLES),
        ("grade", _grade, "grade one list of checks", _GRADE, _GRADE_EXAMPLES),
        ("rollouts", _rollouts, "rollouts one by one", _ROLLOUTS, _ROLLOUTS_EXAMPLES),
        ("checks", _checks, "how each check fared", _CHECKS, _CHECKS_EXAMPLES),
    ):
        fill(
            commands.add_parser(
                name, help=summary, description=description, epilog=examples + _STATUSES, **layout
            )
        )
    return top


def _report(it: argparse.ArgumentParser) -> None:
    _reading(it)
    asked = it.add_argument_group("what to report")
    asked.add_argument("--statistic", action="append", metavar="L", help="a label; repeat for more (default: pass@1, pass@n, pass^n, mean score, duration, tokens)")  # fmt: skip
    _figures(asked)
    asked.add_argument("--by", metavar="TAG", help="a report for each value of this tag too")
    sure = it.add_argument_group("how sure")
    sure.add_argument("--confidence", type=_confidence, default=0.95, metavar="C", help="how many of 100 intervals hold the true figure, as a share; a larger one makes them longer (default: 0.95)")  # fmt: skip
    sure.add_argument("--cluster", metavar="TAG", help="tasks with the same value of this tag are not independent: intervals are then over its values")  # fmt: skip
    sure.add_argument("--interval", choices=_INTERVALS, default="default", help="Wilson where tasks are 0 or 1, else t corrected for skewness; plain t; or resampled tasks, BCa or percentile")  # fmt: skip
    sure.add_argument("--seed", type=_seed, metavar="N", help="of the resamples (default: 0)")
    gates = it.add_argument_group("gates")
    gates.add_argument("--fail-under", action="append", default=[], metavar="L=V", help="exit with 1 if the figure is below V; repeat for more")  # fmt: skip
    gates.add_argument("--strict", action="store_true", help="a gate passes if the whole interval reaches V, falls short if all of it is below, else is not decided: exit with 3")  # fmt: skip
    _output(it, ("table", "json", "csv", "markdown", "html", "latex"))
    it.add_argument("--per-task", action="store_true", help="add a row for each task (JSON always has them)")


def _compare(it: argparse.ArgumentParser) -> None:
    _reading(it, "runs or saved reports, the baseline first", "A B [C ...]")
    asked = it.add_argument_group("what to compare")
    asked.add_argument("--statistic", action="append", metavar="L", help="a label; repeat for more, the first decides the conclusion (default: what all have)")  # fmt: skip
    _figures(asked)
    asked.add_argument("--on-mismatch", choices=("raise", "intersect"), default="raise", help="runs with different tasks: an error, or compare the common ones")  # fmt: skip
    asked.add_argument("--cluster", metavar="TAG", help="tasks with the same value of this tag count as one")
    asked.add_argument("--confidence", type=_confidence, default=0.95, metavar="C", help="of the intervals (default: 0.95)")  # fmt: skip
    asked.add_argument("--interval", choices=_INTERVALS, default="default", help="Student's t over tasks corrected for skewness; plain t; or resampled tasks, BCa or percentile")  # fmt: skip
    asked.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="of signs and resamples that have to be drawn"
    )
    gates = it.add_argument_group("gates on the new runs")
    gates.add_argument("--fail-if-worse", action="append", default=[], metavar="L[=M]", help="exit with 1 if the run is shown to be worse by more than M: the whole interval of the difference lies below -M, and its test agrees (default 0; 2 points are 0.02); repeat for more")  # fmt: skip
    gates.add_argument("--fail-under", action="append", default=[], metavar="L=V", help="exit with 1 if the figure is below V; repeat for more")  # fmt: skip
    gates.add_argument(
        "--strict", action="store_true", help="exit with 3 if an interval straddles the gate's value"
    )
    _output(it, ("table", "json", "csv", "markdown", "html", "latex"))
    it.add_argument("--per-task", action="store_true", help="add a row for each task (JSON always has them)")


def _plan(it: argparse.ArgumentParser) -> None:
    _reading(it, "one pilot, or two of the same tasks; runs or saved reports", "PILOT")
    asked = it.add_argument_group("what to plan")
    asked.add_argument(
        "--statistic", default="pass@1", metavar="L", help="the label to plan for (default: pass@1)"
    )
    _figures(asked)
    goal = asked.add_mutually_exclusive_group(required=True)
    goal.add_argument(
        "--half-width",
        type=_number,
        metavar="W",
        help="half the width of the interval, in the figure's unit (3 points are 0.03)",
    )
    goal.add_argument("--detect", type=_number, metavar="D", help="a difference between two runs of the same tasks, in the same unit")  # fmt: skip
    asked.add_argument("--power", type=_number, default=0.8, metavar="P", help="the chance to detect it (default: 0.8)")  # fmt: skip
    asked.add_argument("--confidence", type=_confidence, default=0.95, metavar="C", help="of the interval or test (default: 0.95)")  # fmt: skip
    asked.add_argument(
        "--tasks", type=_count, metavar="N", help="tasks that there are (default: the pilot's)"
    )
    asked.add_argument("--cost-task", type=_number, default=0.0, metavar="X", help="what a task costs beside its rollouts")  # fmt: skip
    asked.add_argument("--cost-rollout", type=_number, default=1.0, metavar="Y", help="what a rollout costs (default: 1)")  # fmt: skip
    asked.add_argument("--on-mismatch", choices=("raise", "intersect"), default="raise", help="pilots with different tasks: an error, or use the common ones")  # fmt: skip
    _output(it, ("table", "json"))


def _grade(it: argparse.ArgumentParser) -> None:
    it.add_argument("checks", metavar="CHECKS.json", help="a file, or - for standard input")
    it.add_argument("--gate", action="store_true", help="exit with 1 if it did not pass")
    it.add_argument("--output", metavar="FILE", help="write there instead of standard output")


def _rollouts(it: argparse.ArgumentParser) -> None:
    _reading(it)
    chosen = it.add_argument_group("which rollouts")
    chosen.add_argument("--task", metavar="ID", help="those of one task")
    chosen.add_argument("--outcome", choices=_OUTCOMES, metavar="WHICH", help="success or failure (by the policy); passed, failed or unscorable (in the registry); succeeded, errored, cancelled or unfinished (status)")  # fmt: skip
    chosen.add_argument("--missing", action="store_true", help="requested rollouts without a record instead")
    _policy(chosen)
    _output(it, ("table", "json", "csv"))


def _checks(it: argparse.ArgumentParser) -> None:
    _reading(it)
    _output(it, ("table", "json", "csv"))


def _figures(asked: argparse._ArgumentGroup) -> None:
    asked.add_argument(
        "--k", type=_ks, metavar="1,2,4", help="values for the letter k in labels such as pass@k"
    )
    _policy(asked)
    asked.add_argument("--denominator", choices=("requested", "recorded", "scorable"), default="requested", help="which rollouts n counts (default: requested; those without a record then count as not passed)")  # fmt: skip
    asked.add_argument("--on-short", choices=("raise", "omit"), default="raise", help="tasks with fewer than k rollouts: an error, or left out of that label")  # fmt: skip


def _reading(
    it: argparse.ArgumentParser,
    help: str = "files, directories or globs of one run; - is standard input",  # noqa: A002  # as argparse names it
    name: str = "RUN",
) -> None:
    it.add_argument("runs", nargs="+", metavar=name, help=help)
    reading = it.add_argument_group("how to read it")
    reading.add_argument(
        "--input-format", metavar="NAME", help="the format of the input (default: recognised)"
    )
    reading.add_argument("--requested", type=_count, metavar="N", help="rollouts requested for each task")
    reading.add_argument("--on-error", choices=("raise", "skip"), default="raise", help="bad lines: stop, or read on and count them")  # fmt: skip
    reading.add_argument("--on-duplicate", choices=("raise", "identical", "first", "last"), default="raise", help="the same rollout twice: stop, drop equal copies, keep the first or the last")  # fmt: skip
    reading.add_argument("--on-ungradable", choices=("raise", "indeterminate"), default="raise", help="checks that cannot be graded: stop, or keep the rollout as indeterminate")  # fmt: skip


def _policy(it: argparse._ArgumentGroup) -> None:
    it.add_argument("--policy", metavar="ID", help="verifier_verdict.v1 (default), or score_threshold.v1")
    it.add_argument(
        "--threshold", type=_number, metavar="X", help="a score that passes; means score_threshold.v1"
    )


def _output(it: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    it.add_argument(
        "--format", choices=formats, default="table", help="the form of the output (default: table)"
    )
    it.add_argument(
        "--output", metavar="FILE", help="write there, all or nothing, instead of standard output"
    )


def _ks(text: str) -> list[int]:
    return [_count(part) for part in text.split(",")]


def _count(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit()) or not 1 <= int(text) <= 1 << 53:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _confidence(text: str) -> float:
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.95")
    return value


def _seed(text: str) -> int:
    if not (text.strip().isascii() and text.strip().isdigit()) or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^64 - 1")
    return int(text)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:  # NaN or infinite
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value
