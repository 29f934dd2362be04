"""Clause 7: the native file form."""

from __future__ import annotations

import gzip
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from native import as_json, check, errors, jsonl, kofn, passes, report_of, run_of, value_of

if TYPE_CHECKING:
    from pathlib import Path

HALVES = passes(1, 0)


def reported(data: bytes, **options: Any) -> dict[str, Any]:
    return as_json(kofn.read(io.BytesIO(data)).report(**options))


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(a[key] == b[key] for key in ("counts", "statistics", "omitted", "tasks"))


@pytest.mark.spec("7.1")
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\n\n\r\n  \n"),
        lambda data: data.rstrip(b"\n"),
        gzip.compress,
        lambda data: b"".join(gzip.compress(line + b"\n") for line in data.splitlines()),
    ],
    ids=["crlf", "byte-order mark", "blank lines", "no last newline", "gzip", "gzip members"],
)
def test_tolerated_forms(change: Any) -> None:
    data = jsonl({"run": {"requested_rollouts": 3}}, *HALVES)
    assert same(reported(change(data)), reported(data))


@pytest.mark.spec("7.1")
def test_zstd_is_recognised() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    data = jsonl(*HALVES)
    packed = pyarrow.compress(data, codec="zstd", asbytes=True)
    assert same(reported(packed), reported(data))
    assert same(reported(packed + packed), reported(data + data))


@pytest.mark.spec("7.1")
@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_lines_end_at_newlines_only(separator: str) -> None:
    text = separator if separator > "\x7f" else json.dumps(separator)[1:-1]
    line = f'{{"task": "t", "passed": true, "meta": "a{text}b"}}'
    assert report_of([line, line])["counts"]["recorded"] == 2


@pytest.mark.spec("7.1")
def test_bare_tokens_are_read_never_written() -> None:
    report = report_of(
        ['{"task": "t", "score": NaN, "meta": [Infinity, -Infinity]}', {"task": "t", "score": 1}]
    )
    assert value_of(report, "mean_score") == 1.0


@pytest.mark.spec("7.2")
def test_a_header_may_stand_on_any_line() -> None:
    header = {"run": {"id": "r1", "requested_rollouts": 4, "tasks": ["t"]}}
    first, last = jsonl(header, *HALVES), jsonl(*HALVES, header)
    assert same(reported(first), reported(last))
    assert reported(last)["run"]["id"] == "r1"
    assert reported(last)["counts"]["requested"] == 4


@pytest.mark.spec("7.2")
def test_headers_of_several_files_merge(tmp_path: Path) -> None:
    def write(name: str, *objects: Any) -> Path:
        path = tmp_path / name
        path.write_bytes(jsonl(*objects))
        return path

    a = write("a.jsonl", {"run": {"id": "r1", "tasks": ["a"], "requested_rollouts": 1}}, *passes(1, task="a"))
    b = write("b.jsonl", {"run": {"tasks": ["b"], "requested_rollouts": 1}}, *passes(0, task="b"))
    report = as_json(kofn.read([b, a]).report())
    assert [row["task"] for row in report["tasks"]] == ["a", "b"]
    assert report["run"]["id"] == "r1"
    c = write("c.jsonl", {"run": {"requested_rollouts": 2}}, *passes(0, task="a"))
    with pytest.raises(errors.KofnError) as error:
        kofn.read([a, c]).report()
    assert "a.jsonl" in str(error.value)
    assert "c.jsonl" in str(error.value)
    d = write("d.jsonl", {"run": {"id": "r2"}}, *passes(0, task="a"))
    with pytest.raises(errors.KofnError, match="r2"):
        kofn.read([a, d]).report()


@pytest.mark.spec("7.2")
def test_a_score_range_must_stand_first() -> None:
    data = jsonl({"task": "t", "score": 0.5}, {"run": {"score_range": [0, 1]}})
    with pytest.raises(errors.KofnError, match="score_range"):
        kofn.read(io.BytesIO(data))


@pytest.mark.spec("7.3")
def test_the_whole_form() -> None:
    """The record that the description of the form shows."""
    record = {
        "task": "sum-1000", "rollout": 3, "status": "succeeded",
        "verifiers": [
            {"name": "answer",
             "checks": [{"label": "total is 507500", "required": True, "passed": False, "detail": "answered 507499"},
                        {"label": "file saved", "required": False, "passed": True}],
             "score": 0.5, "verdict": "fail",
             "readings": [{"subject": "final", "metric": "latency_s", "value": 1.25}]},
            {"name": "judge", "decision": "at_least:0.7", "error": {"type": "TimeoutError", "message": "60 s"},
             "verdict": "indeterminate"}],
        "duration_s": 12.5, "usage": {"input_tokens": 1200, "output_tokens": 340}, "tool_calls": 3, "tool_errors": 0,
        "stop_reason": "max_turns", "tags": {"suite": "math"}, "meta": {"transcript": "s3://bucket/…"},
    }  # fmt: skip
    labels = [
        "pass_rate",
        "mean_score",
        "mean_duration",
        "mean_total_tokens",
        "metric_mean:answer/final/latency_s",
    ]
    report = report_of([record], {"requested_rollouts": 5}, statistics=labels, by="suite")
    assert [value_of(report, label) for label in labels] == [0.0, 0.5, 12.5, 1540.0, 1.25]
    assert report["counts"]["indeterminate"] == 1
    assert report["counts"]["registry"] == {"passed": 0, "failed": 1, "unscorable": 0}
    assert set(report["groups"]) == {"math"}


@pytest.mark.spec("7.3")
def test_the_short_form_is_one_verification() -> None:
    checks = [check("a", True), check("b", False, required=False)]
    for short in ({"checks": checks}, {"score": 0.5, "verdict": "pass"}, {"reward": 0.5, "passed": True}):
        report = report_of([{"task": "t", **short}], statistics=["pass_rate", "mean_score"])
        assert (value_of(report, "pass_rate"), value_of(report, "mean_score")) == (1.0, 0.5)
        with pytest.raises(errors.InputError, match="top level"):
            report_of([{"task": "t", "verifiers": [{"name": "v", "score": 1}], **short}])
        assert report_of([{"task": "t", "verifiers": [], **short}])["counts"]["scored"] == 1


@pytest.mark.spec("7.3")
@pytest.mark.parametrize("key", ["success", "correct", "resolved", "result", "is_correct"])
def test_a_line_without_outcome_that_seems_to_have_one(key: str) -> None:
    with pytest.raises(errors.InputError, match=key):
        report_of([{"task": "t", key: True}])
    assert report_of([{"task": "t", key: True, "passed": False}])["counts"]["recorded"] == 1
    with pytest.raises(errors.InputError, match="task_id"):
        report_of([{"task_id": "t", "passed": True}])


@pytest.mark.spec("7.4")
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('{"task": "t", "passed": "yes"}', "passed"),
        ('{"task": "t", "verdict": 1}', "verdict"),
        ('{"task": "t", "verifiers": [{"name": "a"}, {"name": "v", "score": "high"}]}', "verifiers[1].score"),
        ('{"task": "t", "checks": [{"label": "a", "required": true, "passed": 0.3}]}', "checks[0].passed"),
        ('{"task": "t", "status": "done"}', "status"),
        ('{"task": "t", "passed": true, "passed": false}', "passed"),
        ('{"task": "\\ud800", "passed": true}', "task"),
        ('{"task": "t", "passed": tru}', None),
        ('{"task": "t", "passed": true} x', None),
        ('["t"]', None),
        ('{"task": "t", "meta": {"a": 1,}}', None),
    ],
)
def test_a_bad_line_names_its_place(line: str, field: str | None) -> None:
    records = [*passes(1), line, *passes(1)]
    with pytest.raises(errors.InputError) as error:
        report_of(records)
    assert error.value.line == 2
    assert field is None or error.value.field == field
    report = report_of(records, on_error="skip")
    assert report["counts"]["recorded"] == 2
    assert any("line 2" in note for note in report["notes"]), report["notes"]


@pytest.mark.spec("7.4")
def test_ungradable_checks_can_be_kept() -> None:
    records = [*passes(1), {"task": "t", "checks": [check("a", True, required=False)]}]
    with pytest.raises(errors.InputError, match="required"):
        report_of(records)
    counts = report_of(records, on_ungradable="indeterminate")["counts"]
    assert (counts["recorded"], counts["indeterminate"], counts["scorable"]) == (2, 1, 1)


@pytest.mark.spec("7.4")
def test_skipped_lines_are_counted_and_twenty_listed() -> None:
    report = report_of([*passes(1), *["{"] * 30, *passes(1)], on_error="skip")
    text = " ".join(report["notes"])
    assert "30" in text
    assert "line 21" in text
    assert "line 22" not in text


@pytest.mark.spec("7.4")
def test_a_half_written_last_line_is_a_note() -> None:
    data = jsonl({"run": {"requested_rollouts": 3}}, *HALVES) + b'{"task": "t", "pas'
    report = reported(data)
    assert (report["counts"]["recorded"], report["counts"]["missing"]) == (2, 1)
    assert any("line 4" in note for note in report["notes"]), report["notes"]


@pytest.mark.spec("7.4")
def test_a_cut_gzip_stream_is_an_error() -> None:
    with pytest.raises(errors.KofnError):
        kofn.read(io.BytesIO(gzip.compress(jsonl(*HALVES * 500))[:-20]))


@pytest.mark.spec("7.4")
def test_invalid_utf8_is_found_anywhere() -> None:
    data = jsonl(*HALVES) + b'{"task": "t", "passed": true, "meta": {"a": "\xff"}}\n'
    with pytest.raises(errors.InputError) as error:
        kofn.read(io.BytesIO(data))
    assert error.value.line == 3


@pytest.mark.spec("7.5")
def test_arrow_and_parquet_say_the_same(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [
        *HALVES,
        {"task": "u", "verifiers": [{"name": "v", "score": 0.5}], "duration_s": 2.5, "rollout": 0},
    ]
    run = run_of(records, {"requested_rollouts": 3, "id": "r1"})
    table = pyarrow.table(run)
    assert json.loads(table.schema.metadata[b"kofn"]) == {"run": {"id": "r1", "requested_rollouts": 3}}
    parquet.write_table(table, tmp_path / "run.parquet")
    for again in (kofn.read(table), kofn.read(tmp_path / "run.parquet")):
        assert same(as_json(again.report()), as_json(run.report()))


@pytest.mark.spec("7.6")
def test_written_json_is_the_same_bytes_and_keeps_floats() -> None:
    records = [{"task": "t", "score": score} for score in (0.1 + 0.2, 1e-300, 5e-324, 1e22)]
    texts = {run_of(records).report(["mean_score", "best_of_2"]).to_json() for _ in range(3)}
    assert len(texts) == 1
    report = run_of(records[:1]).report(["mean_score"])
    assert as_json(report)["statistics"]["mean_score"]["value"] == 0.1 + 0.2


@pytest.mark.spec("7.7")
@pytest.mark.parametrize(
    "lines", [[], [{"run": {"id": "r1"}}], [{"run": {"requested_rollouts": 3}}]], ids=str
)
def test_nothing_to_report_on(lines: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(jsonl(*lines))
    with pytest.raises(errors.KofnError, match=r"no rollouts in .*empty\.jsonl"):
        kofn.read(path).report()


@pytest.mark.spec("7.7")
def test_declared_tasks_alone_give_zeros() -> None:
    report = report_of([], {"tasks": ["a", "b"], "requested_rollouts": 4}, statistics=["pass@1", "pass^4"])
    assert [value_of(report, label) for label in report["statistics"]] == [0.0, 0.0]
    assert (report["counts"]["requested"], report["counts"]["missing"]) == (8, 8)
