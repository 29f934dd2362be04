"""Reading runs: sources of every kind, and what to do about records that are bad, copied or cannot be graded."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import kofn
from kofn.errors import ArgumentError, ArgumentTypeError, DuplicateError, InputError, SourceError

PASS = {"task": "a", "rollout": 0, "passed": True}
FAIL = {"task": "a", "rollout": 1, "passed": False}


def text(*records: object) -> str:
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records)


def file(*records: object) -> io.BytesIO:
    return io.BytesIO(text(*records).encode())


def successes(run: kofn.Run) -> list[bool | None]:
    return [rollout.success for rollout in run.rollouts()]


def zstd(contents: bytes) -> bytes:
    pa = pytest.importorskip("pyarrow")
    return bytes(pa.compress(contents, codec="zstd", asbytes=True))


# Sources


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, zstd, lambda b: gzip.compress(b[:40]) + gzip.compress(b[40:])]
)
@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz", "run.log"])
def test_compression_is_recognised_by_contents(tmp_path: Path, pack: Any, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(pack(text(PASS, FAIL).encode()))
    run = kofn.read(path)
    assert successes(run) == [True, False]
    # Details are read again, backwards too, through the compression.
    assert [rollout.rollout.index for rollout in reversed(run.rollouts())] == [1, 0]


@pytest.mark.parametrize(
    "opened", [io.BytesIO, lambda b: io.StringIO(b.decode()), lambda b: io.BufferedReader(io.BytesIO(b))]
)
def test_open_files(opened: Any) -> None:
    assert successes(kofn.read(opened(text(PASS, FAIL).encode()))) == [True, False]


def test_an_open_file_is_named_as_it_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("{")
    with path.open() as opened, pytest.raises(InputError, match=r"r\.jsonl"):
        kofn.read(opened)


@pytest.mark.parametrize("argument", ["-", None])
def test_standard_input(argument: str | None) -> None:
    code = f"""
import kofn, sys
run = kofn.read({"sys.stdin.buffer" if argument is None else repr(argument)})
print(len(run), run.sources, run.rollouts()[1].verifications[0].verdict, run.rollouts()[1].place)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text(PASS, FAIL),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "2 ('<stdin>',) fail <stdin>, line 2\n"


def test_a_pipe_by_its_path(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(text(PASS, FAIL)))
    writer.start()
    run = kofn.read(path)
    writer.join()
    assert run.rollouts()[1].verifications[0].verdict == "fail"


def write_many(folder: Path) -> list[Path]:
    names = ["b.jsonl", "a.ndjson", "c.jsonl.gz"]
    paths = [folder / name for name in names]
    for index, path in enumerate(paths):
        contents = text({"task": "a", "rollout": index, "score": index / 10}).encode()
        path.write_bytes(gzip.compress(contents) if path.suffix == ".gz" else contents)
    return paths


def test_directories_take_run_files_and_nothing_else(tmp_path: Path) -> None:
    write_many(tmp_path)
    for other in ("notes.txt", "report.json", ".hidden.jsonl"):
        (tmp_path / other).write_text("not a run")
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "d.jsonl").write_text(text({"task": "a", "rollout": 9}))
    run = kofn.read(tmp_path)
    assert [Path(source).name for source in run.sources] == ["a.ndjson", "b.jsonl", "c.jsonl.gz"]
    assert [rollout.index for rollout in run.rollouts()] == [1, 0, 2]


def test_patterns_and_their_order(tmp_path: Path) -> None:
    paths = write_many(tmp_path)
    pattern = kofn.read(str(tmp_path / "*json*"))
    assert [rollout.index for rollout in pattern.rollouts()] == [1, 0, 2]
    for order in permutations(paths):
        run = kofn.read([str(path) for path in order])
        assert run.sources == pattern.sources
        assert run.report(["mean_score"]).to_json() == pattern.report(["mean_score"]).to_json()


@pytest.mark.parametrize(
    "name", ["run[1].jsonl", "a b*.jsonl", "ünïcode-日本.jsonl", "-", "tab\there.jsonl", "q?.jsonl"]
)
def test_unusual_file_names_mean_themselves(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(text(PASS, FAIL))
    run = kofn.read(path)
    assert run.sources == (str(path),)
    assert run.rollouts()[0].rollout.task == "a"


def test_file_names_that_are_no_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/run-\xff.jsonl"
    try:
        with open(path, "wb") as opened:  # noqa: PTH123
            opened.write(text(PASS, "{").encode())
    except OSError:
        pytest.skip("this file system holds text names only")
    with pytest.raises(InputError, match=r"run-\\xff\.jsonl, line 2") as caught:
        kofn.read(os.fsdecode(path), on_duplicate="first")
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("no/such.jsonl", SourceError, "no/such.jsonl: there is no such file"),
        ("no/such-*.jsonl", SourceError, "no file matches"),
        ([], ArgumentError, "empty"),
        (b"run.jsonl", ArgumentTypeError, "BytesIO"),
        ({"task": "a"}, ArgumentTypeError, "from_records"),
        (None, ArgumentTypeError, "None"),
        (3.5, ArgumentTypeError, "3.5"),
        ([["a"]], ArgumentTypeError, "list"),
        ("nul\0byte", SourceError, "null"),
    ],
)
def test_what_cannot_be_a_source(source: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kofn.read(source)


def test_an_empty_directory_and_one_twice(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no file that ends in"):
        kofn.read(tmp_path)
    path = tmp_path / "a.jsonl"
    path.write_text(text({"task": "a", "passed": True}))
    link = tmp_path / "b.jsonl"
    link.symlink_to(path)
    with pytest.raises(ArgumentError, match="twice"):
        kofn.read([path, path])
    with pytest.raises(ArgumentError, match="twice"):
        kofn.read(tmp_path)


def test_damaged_compression_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(text(PASS, FAIL).encode())[:-9])
    with pytest.raises(SourceError, match=r"a\.jsonl\.gz"):
        kofn.read(path)


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(text(PASS).encode() + b'{"task": "\xff"}\n')
    with path.open(encoding="utf-8") as opened, pytest.raises(InputError, match="UTF-8"):
        kofn.read(opened)
    with pytest.raises(InputError, match="line 2"):
        kofn.read(path)


# Words


@pytest.mark.parametrize(
    "arguments",
    [{"on_error": "ignore"}, {"on_duplicate": "latest"}, {"on_ungradable": "skip"}, {"format": "nonsense"}],
)
def test_unknown_words_are_refused_with_those_there_are(arguments: dict[str, Any]) -> None:
    ((name, word),) = arguments.items()
    with pytest.raises(ArgumentError, match=rf"{name}: .*{word}") as caught:
        kofn.read(file(PASS), **arguments)
    assert {"on_error": "raise", "on_duplicate": "identical", "on_ungradable": "raise", "format": "native"}[
        name
    ] in str(caught.value)


@pytest.mark.parametrize("requested", [0, -1, True, 2.5, {"a": 0}])
def test_requested_counts_are_whole_and_at_least_one(requested: Any) -> None:
    with pytest.raises(ArgumentError, match="requested"):
        kofn.read(file(PASS), requested=requested)


def test_what_is_given_wins_over_what_is_declared() -> None:
    declared = {"run": {"requested_rollouts": 2, "id": "r1"}}
    run = kofn.read(file(declared, PASS), requested=4)
    assert (run.requested, run.given, run.id) == (4, 4, "r1")
    assert kofn.read(file(declared, PASS)).requested == 2
    assert kofn.read(file(PASS), requested={"a": 3}).requested == {"a": 3}
    assert kofn.read(file(PASS)).requested is None
    assert run.report(["pass_rate"])["pass_rate"].value == 0.25


# Nothing to report on


@pytest.mark.parametrize("contents", ["", "\n\n", '{"run": {"id": "r"}}\n', '{"task": "a", "pas'])
def test_no_rollouts(contents: str) -> None:
    with pytest.raises(InputError, match="no rollouts in <file>"):
        kofn.read(io.StringIO(contents))


def test_declared_tasks_without_a_record_count() -> None:
    run = kofn.read(file({"run": {"tasks": ["b", "a"], "requested_rollouts": 2}}))
    assert (len(run), run.tasks) == (0, ("b", "a"))
    assert run.report(["pass@1"])["pass@1"].value == 0.0


# Bad records


def test_a_bad_record_stops_the_read_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        kofn.read(file(PASS, {"task": "a", "rollout": 1, "verdict": "Pass"}))
    assert (caught.value.source, caught.value.line, caught.value.field) == ("<file>", 2, "verdict")
    assert "did you mean" in str(caught.value) or "pass" in str(caught.value)


def test_skipped_records_are_counted_and_twenty_listed() -> None:
    run = kofn.read(file(PASS, *["nonsense"] * 25, FAIL), on_error="skip")
    assert len(run) == 2
    assert run.notes[0].startswith("25 bad records skipped")
    assert sum(note.startswith("skipped: <file>, line") for note in run.notes) == 20


def test_a_half_written_last_line_is_noted() -> None:
    run = kofn.read(io.StringIO(text(PASS) + '{"task": "a", "rol'))
    assert (len(run), run.notes) == (1, ("<file>, line 2 is cut off: its rollout is missing",))


@pytest.mark.parametrize("checks", [[], [{"label": "x", "required": False, "passed": True}]])
def test_ungradable_checks(checks: list[Any]) -> None:
    record = {"task": "a", "rollout": 1, "checks": checks}
    with pytest.raises(InputError, match="line 2"):
        kofn.read(file(PASS, record))
    run = kofn.read(file(PASS, record), on_ungradable="indeterminate")
    assert [rollout.registry for rollout in run.rollouts()] == ["passed", "unscorable"]


# Copies


COPY = {"task": "a", "rollout": 0, "passed": True}
OTHER = {"task": "a", "rollout": 0, "passed": False}


@pytest.mark.parametrize(("second", "word"), [(COPY, "equal"), (OTHER, "differ")])
def test_a_copy_is_refused_with_both_places(tmp_path: Path, second: dict[str, Any], word: str) -> None:
    (tmp_path / "a.jsonl").write_text(text(FAIL, PASS))
    (tmp_path / "b.jsonl").write_text(text({"run": {}}, second))
    with pytest.raises(
        DuplicateError, match=rf"a\.jsonl, line 2 and .*b\.jsonl, line 2 \(the records(?: are)? {word}"
    ):
        kofn.read(tmp_path)


def test_identical_drops_equal_copies_and_refuses_others() -> None:
    run = kofn.read(file(PASS, COPY, FAIL, COPY), on_duplicate="identical")
    assert successes(run) == [True, False]
    assert run.notes == ("2 copies of rollouts dropped, as on_duplicate says",)
    with pytest.raises(DuplicateError, match="line 1 and <file>, line 3"):
        kofn.read(file(PASS, COPY, OTHER), on_duplicate="identical")


@pytest.mark.parametrize(("how", "expected"), [("first", [True, False]), ("last", [False, False])])
def test_first_and_last_in_source_order(how: Any, expected: list[bool]) -> None:
    run = kofn.read(file(PASS, FAIL, OTHER), on_duplicate=how)
    assert sorted(successes(run), key=str) == sorted(expected, key=str)
    assert {rollout.index: rollout.success for rollout in run.rollouts()}[0] is expected[0]
    assert run.notes == ("1 copy of rollouts dropped, as on_duplicate says",)
    # Details belong to the record that was kept.
    assert all(rollout.rollout.index == rollout.index for rollout in run.rollouts())


def test_records_without_an_index_never_collide(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(text({"task": "a", "passed": True}))
    assert kofn.read(tmp_path).report(["pass^2"])["pass^2"].value == 1.0


@pytest.mark.parametrize("order", [1, -1])
def test_numbered_and_unnumbered_records_of_a_task_do_not_mix(order: int) -> None:
    records = [PASS, {"task": "b", "passed": True}, {"task": "a", "passed": True}][::order]
    with pytest.raises(InputError, match="number all of a task's rollouts or none") as caught:
        kofn.read(file(*records))
    assert caught.value.task == "a"


@pytest.mark.parametrize("index", [0, 63, 64, 10**6, 2**53 - 1])
def test_copies_of_any_index_are_noticed(index: int) -> None:
    records = [{"task": "a", "rollout": i, "passed": True} for i in (index, 5, index)]
    with pytest.raises(DuplicateError, match=f"rollout {index} is recorded twice"):
        kofn.read(file(*records))


# One run a file


def test_read_runs_gives_one_a_file(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_text(text({"run": {"id": name}}, PASS))
    with pytest.raises(InputError, match="report them apart"):
        kofn.read(tmp_path)
    runs = kofn.read_runs(tmp_path)
    assert [(Path(name).name, run.id) for name, run in runs.items()] == [("a.jsonl", "a"), ("b.jsonl", "b")]
    with pytest.raises(ArgumentError, match="by"):
        kofn.read_runs(tmp_path, by="task")  # type: ignore[arg-type]


# Memory


def test_from_records_counts_records_and_takes_rollouts() -> None:
    rollout = kofn.Rollout("a", 0, verifications=[kofn.Verification("v", [kofn.required("x", True)])])
    run = kofn.Run.from_records(
        [rollout, {"task": "a", "rollout": 1, "score": float("nan"), "passed": False}]
    )
    assert successes(run) == [True, False]
    assert run.rollouts()[0].rollout == rollout
    with pytest.raises(InputError, match="records, record 2, field score") as caught:
        kofn.Run.from_records([rollout, {"task": "a", "rollout": 1, "score": float("inf")}])
    assert caught.value.line == 2


@pytest.mark.parametrize("records", ["text", {"task": "a"}, 3, [1], [{"task": object()}]])
def test_from_records_refuses_what_is_no_record(records: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="record"):
        kofn.Run.from_records(records)


def test_from_records_takes_numpy_values() -> None:
    np = pytest.importorskip("numpy")
    record = {
        "task": np.int64(3),
        "rollout": np.uint8(1),
        "score": np.float32(0.5),
        "tags": {"x": np.str_("y")},
    }
    rollout = kofn.Run.from_records([record]).rollouts()[0]
    assert (rollout.task, rollout.index, rollout.score, rollout.tags) == ("3", 1, 0.5, {"x": "y"})


def test_from_arrays_agrees_with_metrics() -> None:
    columns: dict[str, Any] = {
        "groups": ["a", "a", "b", "b"],
        "passed": [True, None, False, True],
        "scores": [1.0, float("nan"), 0.25, 0.5],
        "valid": [True, True, False, True],
        "durations": [1.0, -0.5, float("nan"), 3.0],
        "tokens": [10, None, 5, 7],
    }
    labels = ["pass@1", "pass^2", "mean_score", "mean_duration", "mean_total_tokens"]
    run = kofn.Run.from_arrays(**columns)
    report = run.report(labels, denominator="recorded")
    assert report.metrics() == kofn.metrics(**columns, statistics=labels)
    assert run.notes == ("1 duration in [-1, 0) s not recorded: clock skew",)


@pytest.mark.parametrize(
    "columns", [{"scores": [float("inf")]}, {"durations": [-2.0], "passed": [True]}, {"passed": [0.5]}]
)
def test_from_arrays_refuses_what_a_column_cannot_hold(columns: dict[str, Any]) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="entry 0"):
        kofn.Run.from_arrays(groups=["a"], **columns)


def test_from_arrays_of_nothing() -> None:
    with pytest.raises(InputError, match="no rollouts"):
        kofn.Run.from_arrays(groups=[], passed=[])


def test_standard_input_without_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text(PASS, FAIL)))
    assert len(kofn.read("-")) == 2


def test_a_class_is_no_open_file() -> None:
    with pytest.raises(ArgumentTypeError, match="source"):
        kofn.read(io.BytesIO)


@pytest.mark.parametrize(
    "name", ["nowhere\n.jsonl", "nowhere\x1b[31m", "nowhere\u2028", "nowhere\ud800", "\0"]
)
@pytest.mark.parametrize("content", [None, b"{\n{}\n"])
def test_a_message_is_one_line_whatever_the_file_is_called(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    path = os.path.join(tmp_path, name)  # noqa: PTH118
    if content is not None:
        try:
            Path(path).write_bytes(content)
        except (OSError, ValueError):
            pytest.skip("no such name here")
    with pytest.raises((SourceError, InputError)) as caught:
        kofn.read(path)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).isprintable()


def test_a_message_about_a_very_long_id_keeps_both_ends() -> None:
    record = {"task": "x" * 10**6, "rollout": 0, "passed": True}
    with pytest.raises(DuplicateError) as caught:
        kofn.read(io.StringIO(text(record, record)))
    message = str(caught.value)
    assert len(message) < 4000
    assert message.startswith('task "xxx')
    assert "on_duplicate" in message
    assert caught.value.task == record["task"]


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b'{"task": "a", "pas', {}, "line 1 is cut off"),
        (b"{\n{\n", {"on_error": "skip"}, "2 bad records skipped"),
    ],
)
def test_a_file_without_rollouts_says_what_it_holds(
    content: bytes, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match="no rollouts in <file>") as caught:
        kofn.read(io.BytesIO(content), **options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"task": "a", "rollout": 2**63}, "an integer from 0 to 2^63 - 1"),
        ({"task": "a", "usage": {"input_tokens": 2**53 + 1, "output_tokens": 0}}, "up to 2^53"),
        ({"task": "a", "tool_calls": 2**53 + 1}, "up to 2^53"),
        ({"task": "a", "checks": [{"label": "", "required": True, "passed": True}]}, "label is empty"),
    ],
)
def test_bounds_are_named(record: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        kofn.read(io.StringIO(text(record)))
    assert said in str(caught.value)


def test_bounds_themselves_are_read() -> None:
    usage = {"input_tokens": 2**53, "output_tokens": 0}
    record = {"task": "a", "rollout": 2**63 - 1, "usage": usage, "tool_calls": 2**53}
    rollout = kofn.read(io.StringIO(text(record))).rollouts()[0]
    assert (rollout.index, rollout.total_tokens, rollout.tool_calls) == (2**63 - 1, 2**53, 2**53)
