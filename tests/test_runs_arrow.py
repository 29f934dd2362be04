"""The native form as a table: in from any Arrow library, out again, and nothing changed in between."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kofn
from kofn.errors import InputError, SourceError
from kofn.runs import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")

FIGURES = ["mean_score", "mean_duration", "mean_total_tokens", "pass_rate", "coverage", "metric_mean:m"]


def described(run: kofn.Run) -> dict[str, Any]:
    """A report without the names of its sources, and the remarks of the read."""
    labels = [label for label in FIGURES if label != "metric_mean:m" or any_reading(run)]
    # Not every table keeps the header.
    report = run.report(labels, policy="verifier_verdict.v1", requested=10)
    whole = json.loads(report.to_json())
    return {key: whole[key] for key in ("counts", "statistics", "omitted", "tasks", "notes")}


def any_reading(run: kofn.Run) -> bool:
    return any(
        reading.metric == "m" for one in run.rollouts() for v in one.verifications for reading in v.readings
    )


def read_lines(records: list[Any]) -> kofn.Run:
    return kofn.read(io.BytesIO("".join(json.dumps(one) + "\n" for one in records).encode()))


RICH: list[dict[str, Any]] = [
    {"run": {"id": "r1", "requested_rollouts": 3, "tasks": ["b", "a"], "score_range": [-1, 2]}},
    {
        "task": "a",
        "rollout": 0,
        "verifiers": [
            {
                "name": "v",
                "checks": [
                    {"label": "x", "required": True, "passed": True, "detail": "fine"},
                    {"label": "y", "required": False, "passed": False, "detail": 5},
                    {"label": "z", "required": False, "passed": True, "detail": True},
                ],
                "readings": [
                    {"metric": "m", "value": 0.1},
                    {"subject": "s", "metric": "b", "value": True},
                    {"subject": "s", "metric": "t", "value": "text"},
                ],
            },
            {
                "name": "judge",
                "decision": "at_least:0.7",
                "verdict": "indeterminate",
                "error": {"message": "slow", "type": "T"},
            },
            {"name": "odd", "projection": "mine", "score": 0.125, "error": {"message": "m", "code": 7}},
        ],
        "duration_s": 0.1,
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "tool_calls": 4,
        "tool_errors": 0,
        "stop_reason": "limit",
        "tags": {"suite": "math", "level": "3"},
        "meta": {"deep": [1, {"x": None}], "nl": "a\nb"},
    },
    {
        "task": "a",
        "rollout": 1,
        "passed": True,
        "duration_s": -0.5,
        "usage": {"input_tokens": 3},
        "meta": "text",
    },
    {"task": "b", "rollout": 0, "error": "boom"},
    {"task": "b", "rollout": 1, "status": "cancelled", "usage": {"total_tokens": 9}},
    {"task": "b", "rollout": 2, "score": 0.30000000000000004, "stop_reason": 5},
]


def transport_table(run: kofn.Run) -> Any:
    return pa.table(run)


def transport_parquet(run: kofn.Run) -> Any:
    out = io.BytesIO()
    pq.write_table(pa.table(run), out)
    out.seek(0)
    return out


def transport_polars(run: kofn.Run) -> Any:
    return pl.DataFrame(run)


def transport_pandas(run: kofn.Run) -> Any:
    return pa.table(run).to_pandas()


@pytest.mark.parametrize(
    "transport", [transport_table, transport_parquet, transport_polars, transport_pandas]
)
def test_a_run_survives_as_a_table(transport: Any) -> None:
    keeps_the_header = transport in {transport_table, transport_parquet}
    run = read_lines(RICH if keeps_the_header else RICH[1:])
    again = kofn.read(transport(run))
    assert described(again) == described(run)
    assert [one.rollout.verifications for one in again.rollouts()] == [
        one.verifications for one in run.rollouts()
    ]
    assert [one.meta for one in again.rollouts()] == [one.meta for one in run.rollouts()]
    assert [str(one.error) for one in again.rollouts()] == [str(one.error) for one in run.rollouts()]
    assert [one.stop_reason for one in again.rollouts()] == [one.stop_reason for one in run.rollouts()]
    if keeps_the_header:
        assert (again.id, again.tasks, again.requested) == ("r1", ("b", "a"), 3)
        assert pa.table(again).equals(pa.table(run))
        assert pa.table(again).schema.metadata == pa.table(run).schema.metadata


def test_the_schema_is_what_is_published() -> None:
    def description(kind: Any) -> Any:
        if pa.types.is_struct(kind):
            return {field.name: description(field.type) for field in kind}
        return [description(kind.value_type)] if pa.types.is_list(kind) else str(kind)

    schema = pa.table(read_lines(RICH)).schema
    assert {field.name: description(field.type) for field in schema} == SCHEMA
    assert list(SCHEMA) == schema.names
    numbered = pa.table(read_lines([{"task": 1, "passed": True}])).schema
    assert str(numbered.field("task").type) == "int64"


def test_parquet_files_beside_lines(tmp_path: Path) -> None:
    pq.write_table(
        pa.table(read_lines([{"task": "a", "rollout": 0, "passed": True}])), tmp_path / "b.parquet"
    )
    (tmp_path / "a.jsonl").write_text('{"task": "a", "rollout": 1, "passed": false}\n')
    run = kofn.read(tmp_path)
    assert [(one.index, one.place and one.place.rpartition("/")[2]) for one in run.rollouts()] == [
        (1, "a.jsonl, line 1"),
        (0, "b.parquet, row 0"),
    ]
    assert run.report(["pass@1"])["pass@1"].value == 0.5


def test_parquet_by_polars_keeps_the_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table(read_lines(RICH)), tmp_path / "r.parquet")
    by_arrow = kofn.read(tmp_path / "r.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    by_polars = kofn.read(tmp_path / "r.parquet")
    assert (by_polars.id, by_polars.requested) == ("r1", 3)
    assert described(by_polars) == described(by_arrow)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(SourceError, match=r"kofn\[formats\]"):
        kofn.read(tmp_path / "r.parquet")


def test_damaged_parquet_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    path.write_bytes(b"PAR1nonsense")
    with pytest.raises(SourceError) as caught:
        kofn.read(path)
    assert "\n" not in str(caught.value)


# Short tables, as people have them


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
)
def test_task_ids_of_every_text_type(kind: Any) -> None:
    ids = pa.array(["a", "b", "a", None], pa.string())[:3].cast(pa.string())
    column = ids.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else ids.cast(kind)
    run = kofn.read(pa.table({"task": column, "passed": [True, False, False]}))
    assert run.tasks == ("a", "b")
    assert run.report(["pass@1"], denominator="recorded")["pass@1"].value == 0.25


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_task_ids_of_every_integer_type(kind: str) -> None:
    run = kofn.read(pa.table({"task": pa.array([1, 2, 1], kind), "score": pa.array([0, 1, 1], "float32")}))
    assert run.tasks == ("1", "2")
    assert run.rollouts()[0].rollout.task == 1


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pd.DataFrame, pa.table, lambda c: pa.table(c).to_batches()[0]]
)
def test_every_library_and_missing_values(make: Any) -> None:
    columns = {
        "task": ["a", "a", "b"],
        "score": [0.5, math.nan, 1.0],
        "duration_s": [1.5, None, 2.5],
        "tool_calls": [1, None, 3],
        "note": ["free", "text", "here"],
    }
    run = kofn.read(make(columns))
    assert [one.score for one in run.rollouts()] == [0.5, None, 1.0]
    assert [one.duration_s for one in run.rollouts()] == [1.5, None, 2.5]
    # A column of integers with gaps is one of floats in pandas.
    assert [one.tool_calls for one in run.rollouts()] == [1, None, 3]


def test_slices_chunks_and_list_types() -> None:
    checks = [[{"label": "x", "required": True, "passed": i % 2 == 0}] for i in range(6)]
    struct = pa.struct({"label": pa.string(), "required": pa.bool_(), "passed": pa.bool_()})
    for kind in (pa.list_(struct), pa.large_list(struct), pa.list_(struct, 1), pa.list_view(struct)):
        table = pa.table({"task": ["a"] * 6, "checks": pa.array(checks, kind)})
        run = kofn.read(pa.concat_tables([table.slice(1, 2), table.slice(4, 2)]))
        assert [one.success for one in run.rollouts()] == [False, True, True, False], kind


def test_tags_as_a_map_a_list_or_a_struct() -> None:
    kinds = {
        "map": pa.array([[("suite", "math")], [("suite", None)]], pa.map_(pa.string(), pa.string())),
        "struct": pa.array([{"suite": "math"}, {"suite": None}]),
        "list": pa.array([[{"name": "suite", "value": "math"}], []]),
        "entries": pa.array([[{"key": "suite", "value": "math"}], None]),
    }
    for tags in kinds.values():
        run = kofn.read(pa.table({"task": ["a", "b"], "passed": [True, True], "tags": tags}))
        assert [one.tags for one in run.rollouts()] == [{"suite": "math"}, {}]


def test_columns_of_other_types_are_passed_over() -> None:
    table = pa.table(
        {
            "task": ["a"],
            "passed": [True],
            "when": pa.array([0], pa.timestamp("s")),
            "blob": [b"\xff"],
            "run": ["r"],
        }
    )
    assert kofn.read(table).rollouts()[0].success is True


def test_an_empty_table_with_a_header_declares_tasks() -> None:
    header = json.dumps({"run": {"tasks": ["a"], "requested_rollouts": 2}}, indent=2)
    table = pa.table({"task": pa.array([], "string")}).replace_schema_metadata({"kofn": header})
    assert kofn.read(table).report(["pass@1"])["pass@1"].value == 0.0
    bare = table.replace_schema_metadata({"kofn": '{"tasks": ["a"], "requested_rollouts": 2}'})
    assert kofn.read(bare).requested == 2
    with pytest.raises(InputError, match="no rollouts in Table"):
        kofn.read(pa.table({"task": pa.array([], "string")}))


# Bad tables: the row is named, and nothing slips in


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"task": ["a", "b"], "verdict": ["pass", "Fail"]}, "row 1, field verdict"),
        ({"task": ["a", None], "passed": [True, True]}, "row 1, field task"),
        ({"task": [1.5, 2.5], "passed": [True, True]}, "row 0, field task"),
        ({"task": ["a", "b"], "score": [0.5, math.inf]}, "row 1, field score"),
        ({"task": ["a", "b"], "score": ["0.5", "1"]}, "row 0, field score"),
        ({"task": ["a"], "success": [True]}, "success"),
        ({"name": ["a"]}, "field task"),
        ({"task": ["a"], "passed": pa.array([1], pa.timestamp("s"))}, "column .*passed.*timestamp|Timestamp"),
        ({"task": ["a", "b"], "meta_json": ["{}", '{}, "passed": true']}, "row 1: column meta"),
        ({"task": ["a"], "meta_json": [3]}, "JSON text is needed"),
        ({"task": ["a", "a"], "rollout": [3, 3], "passed": [True, True]}, "row 0 and Table, row 1"),
    ],
)
def test_bad_tables_name_row_and_column(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        kofn.read(pa.table(columns))


def test_a_bad_header_is_told() -> None:
    table = pa.table({"task": ["a"], "passed": [True]})
    for header in ("nonsense", "[]", "{}", '{"identity": "r"}'):
        with pytest.raises(InputError, match="is no header"):
            kofn.read(table.replace_schema_metadata({"kofn": header}))
    ranged = {"kofn": json.dumps({"run": {"score_range": [0, 1]}})}
    with pytest.raises(InputError, match="score_range"):
        kofn.read(pa.table({"task": ["a"], "score": [2.0]}).replace_schema_metadata(ranged))


def test_a_series_or_mixed_objects_are_no_table() -> None:
    with pytest.raises(InputError, match="Series"):
        kofn.read(pl.Series([1, 2]))
    with pytest.raises(InputError, match="DataFrame"):
        kofn.read(pd.DataFrame({"task": ["a", 1], "passed": [True, True]}))


def test_text_that_is_no_utf8_is_caught_before_it_is_read() -> None:
    buffers = [None, pa.array([0, 1], "int32").buffers()[1], pa.py_buffer(b"\xff")]
    broken = pa.StringArray.from_buffers(1, buffers[1], buffers[2])
    with pytest.raises(InputError, match=r"task.*valid Arrow"):
        kofn.read(pa.table({"task": broken, "passed": [True]}))


# Any run at all

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5)
floats = st.floats(-1e6, 1e6, allow_nan=False)
checks = st.lists(
    st.fixed_dictionaries(
        {"label": names, "required": st.booleans(), "passed": st.booleans(), "detail": scalars}
    ),
    max_size=3,
).map(lambda found: [*found, {"label": "last", "required": True, "passed": True}])
verifier = st.fixed_dictionaries(
    {},
    optional={
        "checks": checks,
        "readings": st.lists(
            st.fixed_dictionaries({"metric": names, "value": st.booleans() | floats | st.text(max_size=3)}),
            max_size=2,
        ),
        "error": st.text(max_size=4)
        | st.fixed_dictionaries({"message": st.text(max_size=4), "code": st.integers(0, 9)}),
    },
)
record = st.fixed_dictionaries(
    {"task": st.sampled_from(["a", "b", 'c\n,"{'])},
    optional={
        "status": st.sampled_from(["succeeded", "errored", "cancelled", "unfinished", "completed"]),
        "verifiers": st.lists(verifier, max_size=3).map(
            lambda found: [{"name": f"v{i}", **one} for i, one in enumerate(found)]
        ),
        "duration_s": st.floats(-1, 1e6, allow_nan=False),
        "usage": st.fixed_dictionaries(
            {}, optional={"input_tokens": st.integers(0, 10**9), "output_tokens": st.integers(0, 10**9)}
        ),
        "tool_calls": st.integers(0, 10**6),
        "error": st.text(max_size=4),
        "tags": st.dictionaries(names, st.text(st.characters(codec="utf-8"), max_size=3), max_size=2),
        "meta": st.recursive(
            scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2)
        ),
    },
)


@settings(max_examples=80, deadline=None)
@given(records=st.lists(record, min_size=1, max_size=6))
def test_lines_and_tables_say_the_same(records: list[dict[str, Any]]) -> None:
    run = read_lines(records)
    for again in (kofn.read(pa.table(run)), kofn.read(transport_parquet(run)), kofn.read(pl.DataFrame(run))):
        assert described(again) == described(run)
        assert [one.tags for one in again.rollouts()] == [one.tags for one in run.rollouts()]
        assert [one.meta for one in again.rollouts()] == [one.meta for one in run.rollouts()]
        assert list(again.checks()) == list(run.checks())
        for mine, theirs in zip(run.rollouts(), again.rollouts(), strict=True):
            assert [v.to_dict() for v in theirs.verifications] == [v.to_dict() for v in mine.verifications]


def test_a_stream_that_fails_midway_says_so_on_one_line() -> None:
    pa = pytest.importorskip("pyarrow")

    def batches() -> Any:
        yield pa.record_batch({"task": ["a"]})
        raise ValueError("the line\nwent dead")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("task", pa.string())]), batches())
    with pytest.raises(SourceError, match="the line went dead") as caught:
        kofn.read(reader)
    assert str(caught.value).isprintable()
    assert "Traceback" not in str(caught.value)
