"""Where the real runs lie, when they do: beside the repository, or beside one of the folders that hold it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOUND = [
    folder
    for parent in Path(__file__).resolve().parents[1:]
    if (folder := parent / "shared" / "data").is_dir()
]
DATA = FOUND[0] if FOUND else Path()
needs_data = pytest.mark.skipif(not FOUND, reason="the real runs are not distributed with the tests")

TERMINAL_BENCH = ("terminal-bench-qwen3-coder", "terminal-bench-sonnet-4")
TAU_BENCH = "tau-bench/gpt-4o-airline"


def expected(name: str) -> dict[str, Any]:
    """Published and exact figures of a run."""
    return dict(json.loads((DATA / "expected.json").read_text(encoding="utf-8"))[name])


def terminal_bench(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and records of a native file."""
    header, *records = map(json.loads, (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    return header["run"], records


def tau_bench() -> list[dict[str, Any]]:
    """The recorded trials as native records."""
    rows = json.loads((DATA / f"{TAU_BENCH}.json").read_text(encoding="utf-8"))
    return [{"task": row["task_id"], "rollout": row["trial"], "score": row["reward"]} for row in rows]
