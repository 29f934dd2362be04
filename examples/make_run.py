"""Makes `agents.jsonl`, the example run: eight tasks of an office agent, five rollouts asked for of each.

The run is invented, but everything in it happens in real ones: a task that always works and one that never does,
several that work sometimes, a judge that timed out, a sandbox that broke, a rollout still going when the run was
collected, and one that left no record. The same file comes out every time.

    python examples/make_run.py            # writes agents.jsonl beside this file
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTED = 5
JUDGE_THRESHOLD = 0.7


@dataclass(frozen=True)
class Ran:
    """A rollout that ran to its end: the checks that failed with what was seen, and what a judge or answer gave."""

    failed: dict[str, str]
    judge: float | None = None
    answer: float | str | None = None
    stop_reason: str = "done"


@dataclass(frozen=True)
class Errored:
    """A rollout that broke for reasons of its own, before anything could be verified."""

    error: str


@dataclass(frozen=True)
class Unfinished:
    """A rollout that was still going when the run was collected."""


@dataclass(frozen=True)
class Missing:
    """A rollout that was asked for and left no record."""


@dataclass(frozen=True)
class Task:
    """One problem: what is checked, how long it usually takes, and how each rollout went."""

    id: str
    suite: str
    seconds: float
    required: list[str]
    optional: list[str]
    rollouts: list[Ran | Errored | Unfinished | Missing]
    judged: bool = False


TASKS = [
    Task(
        "rename-photos",
        "files",
        40,
        ["every photo named by its date", "no photo lost"],
        ["originals kept"],
        [Ran({}), Ran({"originals kept": "folder is gone"}), Ran({}), Ran({}), Ran({})],
    ),
    Task(
        "sum-invoices",
        "data",
        75,
        ["total is 507500", "one row an invoice"],
        ["currency named"],
        [
            Ran({}, answer=507500),
            Ran({"total is 507500": "answered 507499, expected 507500"}, answer=507499),
            Ran({"currency named": "no unit in the answer"}, answer=507500),
            Ran({}, answer=507500),
            Ran(
                {
                    "total is 507500": "answered 50750, expected 507500",
                    "currency named": "no unit in the answer",
                },
                answer=50750,
            ),
        ],
    ),
    Task(
        "fix-flaky-test",
        "code",
        310,
        ["test passes 50 times in a row", "test still runs the worker", "other tests pass"],
        ["diff under 40 lines"],
        [
            Ran({}),
            Ran({"test passes 50 times in a row": "failed 3 of 50"}),
            Ran({"test still runs the worker": "worker is mocked", "diff under 40 lines": "112 lines"}),
            Ran({"diff under 40 lines": "57 lines"}),
            Ran({"test passes 50 times in a row": "failed 1 of 50"}, stop_reason="max_turns"),
        ],
    ),
    Task(
        "migrate-schema",
        "code",
        620,
        ["migration runs", "rows kept", "rollback restores the old schema"],
        ["no table locked over 1 s"],
        [
            Ran({"rollback restores the old schema": "index idx_owner missing"}),
            Ran(
                {
                    "rollback restores the old schema": "column type differs",
                    "no table locked over 1 s": "4.2 s",
                }
            ),
            Ran(
                {"rows kept": "9,998 of 10,000", "rollback restores the old schema": "not attempted"},
                stop_reason="max_turns",
            ),
            Ran({"rollback restores the old schema": "index idx_owner missing"}),
            Ran(
                {
                    "migration runs": "syntax error near line 14",
                    "rows kept": "no table",
                    "rollback restores the old schema": "no table",
                }
            ),
        ],
    ),
    Task(
        "summarise-thread",
        "office",
        55,
        ["names the decision", "under 150 words"],
        ["lists open questions"],
        [
            Ran({}, judge=0.92),
            Ran({}, judge=0.78),
            Ran({}, judge=None),
            Ran({"under 150 words": "184 words"}, judge=0.81),
            Ran({"lists open questions": "none listed, 2 expected"}, judge=0.74),
        ],
        judged=True,
    ),
    Task(
        "deploy-site",
        "code",
        180,
        ["site answers", "certificate is valid"],
        ["old release removed"],
        [
            Ran({}),
            Ran({}),
            Errored("sandbox lost its disk"),
            Ran({"old release removed": "2 releases on disk"}),
            Ran({}),
        ],
    ),
    Task(
        "book-meeting",
        "office",
        90,
        ["all five invited", "slot is free for everyone"],
        ["agenda attached"],
        [
            Ran({}),
            Ran({"slot is free for everyone": "overlaps with 'standup'"}),
            Ran({"agenda attached": "no attachment"}),
            Missing(),
            Ran({}),
        ],
    ),
    Task(
        "collect-prices",
        "data",
        240,
        ["all 20 shops", "prices in one currency"],
        ["source linked for each price"],
        [
            Ran({"all 20 shops": "17 of 20"}),
            Ran({}),
            Ran({"all 20 shops": "19 of 20", "source linked for each price": "3 without a link"}),
            Ran({}),
            Unfinished(),
        ],
    ),
]


def check_rows(task: Task, ran: Ran) -> list[dict[str, Any]]:
    """Return the checks as recorded: a detail stands with those that failed."""
    rows = []
    for label in [*task.required, *task.optional]:
        row: dict[str, Any] = {
            "label": label,
            "required": label in task.required,
            "passed": label not in ran.failed,
        }
        if label in ran.failed:
            row["detail"] = ran.failed[label]
        rows.append(row)
    return rows


def judge_row(score: float | None) -> dict[str, Any]:
    """Return what the judge recorded; one that did not answer leaves its rollout undecided."""
    row: dict[str, Any] = {"name": "judge", "decision": f"at_least:{JUDGE_THRESHOLD}"}
    if score is None:
        return row | {
            "verdict": "indeterminate",
            "error": {"type": "TimeoutError", "message": "no answer in 60 s"},
        }
    return row | {"score": score, "verdict": "pass" if score >= JUDGE_THRESHOLD else "fail"}


def rollout_row(task: Task, index: int) -> dict[str, Any] | None:
    """Return one line of the run, or none where the rollout left no record."""
    rollout = task.rollouts[index]
    random_source = random.Random(f"{task.id}/{index}")
    row: dict[str, Any] = {"task": task.id, "rollout": index}
    tags = {"tags": {"suite": task.suite}}
    if isinstance(rollout, Missing):
        return None
    if isinstance(rollout, Unfinished):
        return row | {"status": "unfinished"} | tags
    seconds = round(task.seconds * random_source.uniform(0.7, 1.6), 1)
    if isinstance(rollout, Errored):
        return row | {"status": "errored", "error": rollout.error, "duration_s": seconds} | tags
    turns = random_source.randint(4, 20)
    checks: dict[str, Any] = {"name": "checks", "checks": check_rows(task, rollout)}
    if rollout.answer is not None:
        checks["readings"] = [{"subject": "final", "metric": "answer", "value": rollout.answer}]
    row["status"] = "succeeded"
    row["verifiers"] = [checks, judge_row(rollout.judge)] if task.judged else [checks]
    row["duration_s"] = seconds
    row["usage"] = {
        "input_tokens": turns * random_source.randint(900, 1800),
        "output_tokens": turns * random_source.randint(60, 240),
    }
    row["tool_calls"] = turns - 1
    row["tool_errors"] = random_source.randint(0, 2)
    row["stop_reason"] = rollout.stop_reason
    return row | tags


def lines() -> Iterator[str]:
    """Yield the lines of the run: its header, then its rollouts."""
    header = {
        "id": "office-agent",
        "requested_rollouts": REQUESTED,
        "tasks": [task.id for task in TASKS],
        "score_range": [0, 1],
    }
    yield json.dumps({"run": header})
    for task in TASKS:
        for index in range(REQUESTED):
            row = rollout_row(task, index)
            if row is not None:
                yield json.dumps(row)


def main() -> None:
    """Write the run beside this file."""
    path = Path(__file__).with_name("agents.jsonl")
    path.write_text("".join(line + "\n" for line in lines()), encoding="utf-8", newline="\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
