"""Jobs on files: a native file to n and c of each task."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import generate
from harness import OURS, Job

from kofn.runs import report_files


def reading(rows: int) -> Iterator[Job]:
    """Report a native file; peers parse it and count passes by task, which is less."""
    path = generate.native(Path(tempfile.gettempdir()) / f"kofn-bench-{rows}.jsonl", max(rows // 20_000, 5))
    size = path.stat().st_size

    def passes(record: dict[str, object]) -> bool:
        checks = record["verifiers"][0]["checks"]  # type: ignore[index]
        return all(check["passed"] for check in checks if check["required"])

    def by_lines(loads: object) -> tuple[int, int]:
        tasks, passed = set(), 0
        with path.open("rb") as file:
            next(file)
            for line in file:
                record = loads(line)  # type: ignore[operator]
                tasks.add(record["task"])
                passed += passes(record)
        return len(tasks), passed

    def ours() -> tuple[int, int]:
        counts = report_files([str(path)], statistics=["pass@1"]).counts
        return counts["tasks"], counts["successes"]

    contenders = {OURS: ours}
    import json

    contenders["json, Python loop"] = lambda: by_lines(json.loads)
    if find_spec("orjson"):
        import orjson

        contenders["orjson, Python loop"] = lambda: by_lines(orjson.loads)
    if find_spec("msgspec"):
        import msgspec

        contenders["msgspec, Python loop"] = lambda: by_lines(msgspec.json.decode)
    if find_spec("duckdb"):
        import duckdb

        query = (
            "select count(distinct task), count(*) filter (where len(list_filter(verifiers[1].checks, "
            "c -> c.required and not c.passed)) = 0) from read_json(?, format='newline_delimited', "
            "columns={task: 'varchar', verifiers: 'struct(checks struct(required boolean, passed boolean)[])[]'}) "
            "where task is not null"
        )
        contenders["duckdb read_json"] = lambda: duckdb.execute(query, [str(path)]).fetchone()
    agree = lambda a, b: tuple(a) == tuple(b)
    absent = [name for name in ("orjson", "msgspec", "duckdb") if not find_spec(name)]
    yield Job("native file to report", "bytes", size, size, contenders, agree, absent)


JOBS = {"file": reading}
