"""`kofn rollouts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.cli import listing, output, reading, status

if TYPE_CHECKING:
    import argparse

    from kofn.runs import Rollout

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
_OPTIONAL = {"tool_calls", "tool_errors", "error"}


def run(arguments: argparse.Namespace) -> int:
    """List rollouts, or the missing ones."""
    found = reading.run(arguments)
    if arguments.missing:
        rows = [
            {"task": task, "rollout": index}
            for task, index in found.missing()
            if arguments.task is None or task == arguments.task
        ]
        names: list[str] = ["task", "rollout"]
        empty = "no rollout is missing"
    else:
        rows = [_row(rollout) for rollout in found.rollouts(task=arguments.task, outcome=arguments.outcome)]
        dropped = {
            name
            for name in _OPTIONAL
            if arguments.format == "table" and all(row[name] is None for row in rows)
        }
        names = [name for name in _NAMES if name not in dropped]
        empty = "no rollout matches"
    if not rows:
        status.say(empty)
    text = listing.text(rows, names, arguments.format, output.style(arguments.output), _HEADS)
    output.write(text, arguments.output)
    return status.DONE


def _row(rollout: Rollout) -> listing.Row:
    return {
        "task": rollout.task,
        "rollout": rollout.index,
        "status": rollout.status,
        "success": rollout.success,
        "registry": rollout.registry,
        "score": rollout.score,
        "failed_required": list(rollout.failed_required),
        "tool_calls": rollout.tool_calls,
        "tool_errors": rollout.tool_errors,
        "error": rollout.error,
    }
