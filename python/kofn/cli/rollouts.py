"""`kofn rollouts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.cli import listing, output, reading, status
from kofn.cli.parser import UsageError

if TYPE_CHECKING:
    import argparse

    from kofn.runs import RecordedRollout, Run

_NAMES = (
    *("task", "rollout", "status", "success", "registry", "score", "failed_required"),
    *("tool_calls", "tool_errors", "error"),
)
_HEADS = {
    "rollout": "#",
    "failed_required": "failed required",
    "tool_calls": "tools",
    "tool_errors": "tool errors",
}
# Columns that say nothing when no rollout has them; a screen has better use for the room.
_OPTIONAL = {"score", "failed_required", "tool_calls", "tool_errors", "error"}
_MOST_MISSING = 1_000_000


def run(arguments: argparse.Namespace) -> int:
    """List rollouts, or the missing ones."""
    if arguments.missing and arguments.outcome is not None:
        raise UsageError("--missing and --outcome: a missing rollout has no outcome; give one of the two")
    output.spare(arguments.output, arguments.runs)
    found = reading.run(arguments)
    rows, names = _missing(found, arguments) if arguments.missing else _recorded(found, arguments)
    if not rows:
        status.say("no rollout is missing" if arguments.missing else "no rollout matches")
    text = listing.text(rows, names, arguments.format, output.style(arguments.output), _HEADS)
    output.write(text, arguments.output)
    return status.DONE


def _missing(found: Run, arguments: argparse.Namespace) -> tuple[list[listing.Row], list[str]]:
    missing = found.missing()
    total = sum(missing.counts.values())
    if total > _MOST_MISSING:
        raise UsageError(
            f"{total} rollouts are missing, too many to list; kofn report --per-task counts them"
        )
    pairs = ((task, index) for task, index in missing if arguments.task in {None, task})
    return [{"task": task, "rollout": index} for task, index in pairs], ["task", "rollout"]


def _recorded(found: Run, arguments: argparse.Namespace) -> tuple[list[listing.Row], list[str]]:
    chosen = found.rollouts(
        task=arguments.task,
        outcome=arguments.outcome,
        policy=arguments.policy,
        threshold=arguments.threshold,
    )
    rows = [_row(rollout) for rollout in chosen]
    empty = {name for name in _OPTIONAL if all(row[name] in (None, []) for row in rows)}
    return rows, [name for name in _NAMES if name not in empty or arguments.format != "table"]


def _row(rollout: RecordedRollout) -> listing.Row:
    error = rollout.error
    return {
        "task": rollout.task,
        "rollout": rollout.index,
        "status": str(rollout.status),
        "success": rollout.success,
        "registry": rollout.registry,
        "score": rollout.score,
        "failed_required": list(rollout.failed_required),
        "tool_calls": rollout.tool_calls,
        "tool_errors": rollout.tool_errors,
        "error": None if error is None else str(error),
    }
