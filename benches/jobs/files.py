"""Jobs on files: a native file to n and c of each task."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import generate
import numpy as np
from harness import OURS, Job, nanoseconds, ratio

from kofn.runs import report_files


def reading(scale: float) -> Iterator[Job]:
    """Report a native file; peers parse it into the columns that the report needs, or count, which is less."""
    megabytes = int(100 * scale)
    path = generate.native(Path(tempfile.gettempdir()) / f"kofn-bench-{megabytes}.jsonl", megabytes)
    size = path.stat().st_size

    def by_lines(loads: Callable[[bytes], Any]) -> tuple[int, int]:
        tasks, rollouts, verdicts, rewards, durations, tokens = [], [], [], [], [], []
        with path.open("rb") as file:
            next(file)
            for line in file:
                record = loads(line)
                checks = record["verifiers"][0]["checks"]
                tasks.append(record["task"])
                rollouts.append(record["rollout"])
                verdicts.append(all(check["passed"] for check in checks if check["required"]))
                rewards.append(sum(check["passed"] for check in checks) / len(checks))
                durations.append(record["duration_s"])
                tokens.append(sum(record["usage"].values()))
        columns = [np.array(column) for column in (rollouts, verdicts, rewards, durations, tokens)]
        return len(set(tasks)), int(columns[1].sum())

    def ours() -> tuple[int, int]:
        # The default report: verdicts, scores, durations and tokens.
        counts = report_files([str(path)]).counts
        return counts["tasks"], counts["successes"]

    contenders = {OURS: ours}
    import json

    contenders["json, columns"] = lambda: by_lines(json.loads)
    if find_spec("orjson"):
        import orjson

        contenders["orjson, columns"] = lambda: by_lines(orjson.loads)
    if find_spec("msgspec"):
        import msgspec

        contenders["msgspec, columns"] = lambda: by_lines(msgspec.json.decode)
    if find_spec("duckdb"):
        import duckdb

        query = """
            with rollouts as (
                select task, len(list_filter(verifiers[1].checks, lambda c: c.required and not c.passed)) = 0 as passed,
                    len(list_filter(verifiers[1].checks, lambda c: c.passed)) / len(verifiers[1].checks) as reward,
                    duration_s, usage.input_tokens + usage.output_tokens as tokens
                from read_json(?, format = 'newline_delimited', columns = {
                    task: 'varchar', rollout: 'bigint', duration_s: 'double',
                    usage: 'struct(input_tokens bigint, output_tokens bigint)',
                    verifiers: 'struct(checks struct(required boolean, passed boolean)[])[]'})
                where task is not null),
            tasks as (
                select count(*) n, count(*) filter (passed) c, avg(reward) reward, avg(duration_s) as duration,
                    avg(tokens) tokens
                from rollouts group by task)
            select count(*), sum(c), avg(reward), avg(duration), avg(tokens) from tasks
            """
        contenders["duckdb read_json"] = lambda: duckdb.execute(query, [str(path)]).fetchone()[:2]
    agree = lambda a, b: tuple(a) == tuple(b)
    gates = (ratio(5, "duckdb read_json"), ratio(8, "orjson, columns"))
    # 0.8 GB/s of process time.
    yield Job("native file to report", "bytes", size, size, 0, contenders, gates, (nanoseconds(1.25),), agree)
