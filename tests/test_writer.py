"""Writing runs: whole lines from threads and processes, resumed after a kill, declared once (spec 7)."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import kofn
from kofn import Rollout, RunWriter, Verification, optional, required
from kofn.errors import ArgumentError, ArgumentTypeError, InputError, KofnError, SourceError

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = b'{"task":"a","rollout":0,"status":"succeeded"}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    def refuse(token: str) -> None:
        raise AssertionError(token)

    text = path.read_bytes().decode()
    assert text.endswith("\n")
    return [json.loads(line, parse_constant=refuse) for line in text.split("\n")[:-1]]


def test_header_once_then_rollouts(path: Path) -> None:
    declared: dict[str, Any] = {"requested": 2, "tasks": ["a", "b"], "id": "r1", "score_range": (0, 1)}
    verification = Verification("answer", [required("total", True), optional("saved", False)])
    with RunWriter(path, **declared) as run:
        run.write(Rollout("a", 0, verifications=[verification]))
        run.write({"task": "a", "rollout": 1, "passed": True})
    with RunWriter(path, **declared) as run:
        run.write(task="b", index=0, error="boom")
    header, *rollouts = lines(path)
    assert header == {
        "run": {"id": "r1", "requested_rollouts": 2, "tasks": ["a", "b"], "score_range": [0.0, 1.0]}
    }
    assert [(r["task"], r["rollout"], r["status"]) for r in rollouts] == [
        ("a", 0, "succeeded"),
        ("a", 1, "succeeded"),
        ("b", 0, "errored"),
    ]
    assert rollouts[0]["verifiers"][0]["score"] == 0.5


def test_nothing_declared_is_no_header(path: Path) -> None:
    with RunWriter(path) as run:
        assert path.read_bytes() == b""
        run.write(Rollout("a", 0))
    assert path.read_bytes() == WHOLE


def test_floats_keep_their_last_bit_and_nan_is_absent(path: Path) -> None:
    values = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 1e16, 2 / 3]
    with RunWriter(path) as run:
        for i, value in enumerate(values):
            run.write(task="a", index=i, verifications=[Verification("v", score=value)])
        run.write(task="a", index=9, verifications=[Verification("v", score=math.nan)], duration_s=math.nan)
    *scored, last = lines(path)
    assert [r["verifiers"][0]["score"].hex() for r in scored] == [value.hex() for value in values]
    assert last == {"task": "a", "rollout": 9, "status": "succeeded", "verifiers": [{"name": "v"}]}


def test_equal_input_is_equal_bytes(tmp_path: Path) -> None:
    def write(name: str) -> bytes:
        with RunWriter(tmp_path / name, requested={"a": 1, "b": 2}) as run:
            run.write(task="b", index=0, tags={"z": "ü", "a": "\u2028"}, meta={"x": [1.5, None]})
        return (tmp_path / name).read_bytes()

    assert write("one") == write("two")
    assert write("three").count(b"\n") == 2


@pytest.mark.parametrize(
    "rollout",
    [
        None,
        3,
        "a",
        {"rollout": 1},
        {"task": "a", "status": "failed"},
        {"task": "z"},
        {"task": 1},
        {"task": "a", "score": 1.5},
        {"task": "a", "score": math.inf},
        {"task": "a", "meta": {"x": math.inf}},
    ],
    ids=str,
)
def test_what_is_not_valid_is_not_written(path: Path, rollout: Any) -> None:
    with RunWriter(path, tasks=["a"], score_range=(0, 1)) as run:
        before = path.read_bytes()
        with pytest.raises((ArgumentError, ArgumentTypeError, InputError)):
            run.write(rollout)
        assert path.read_bytes() == before
        run.write({"task": "a", "score": 1})


def test_ids_of_both_kinds_are_refused(path: Path) -> None:
    with RunWriter(path) as run:
        run.write(task=1)
        with pytest.raises(ArgumentError, match="text"):
            run.write(task="1")


@pytest.mark.parametrize(
    "arguments",
    [
        {"requested": 0},
        {"requested": 1.5},
        {"requested": True},
        {"requested": {}},
        {"requested": {"a": 0}},
        {"requested": {"a": None}},
        {"tasks": "abc"},
        {"tasks": ["a", "a"]},
        {"tasks": ["a", 1]},
        {"tasks": [None]},
        {"id": ""},
        {"score_range": (1, 0)},
        {"score_range": (0, math.inf)},
        {"score_range": 1},
    ],
    ids=str,
)
def test_declarations_are_checked_before_the_file_is_made(path: Path, arguments: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        RunWriter(path, **arguments)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"requested": 3}, "requested_rollouts"),
        ({"tasks": ["b"]}, "tasks"),
        ({"id": "r2"}, "id"),
        ({"score_range": (0, 2)}, "score_range"),
    ],
    ids=str,
)
def test_a_run_is_continued_as_it_was_declared(path: Path, change: Any, field: str) -> None:
    RunWriter(path, requested=2, tasks=["a"]).close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=field) as error:
        RunWriter(path, **change)
    assert (error.value.line, error.value.field) == (1, field)
    assert path.read_bytes() == before
    # Declaring nothing continues it, and what the file declares still holds.
    with RunWriter(path) as run, pytest.raises(ArgumentError, match="task"):
        run.write(task="b")


@pytest.mark.parametrize("cut", [*range(1, len(WHOLE) - 1, 7), len(WHOLE) - 2])
def test_a_cut_line_is_removed_and_said_so(path: Path, cut: int) -> None:
    path.write_bytes(WHOLE + WHOLE[:cut])
    with pytest.warns(RuntimeWarning, match="cut"):
        run = RunWriter(path)
    with run:
        assert run.removed == cut
        run.write(task="a", index=1)
    assert [r["rollout"] for r in lines(path)] == [0, 1]


def test_a_cut_header_is_written_anew(path: Path) -> None:
    path.write_bytes(b'{"run": {"requested_rol')
    with pytest.warns(RuntimeWarning, match="cut"), RunWriter(path, requested=2) as run:
        run.write(task="a")
    assert lines(path)[0] == {"run": {"requested_rollouts": 2}}


def test_a_line_that_lacks_only_its_end_is_kept(path: Path) -> None:
    path.write_bytes(WHOLE.rstrip(b"\n"))
    with RunWriter(path) as run:
        run.write(task="a", index=1)
        assert run.removed == 0
    assert [r["rollout"] for r in lines(path)] == [0, 1]


def test_a_long_cut_line_is_removed_whole(path: Path) -> None:
    path.write_bytes(WHOLE + b'{"task":"' + b"x" * 200_000)
    with pytest.warns(RuntimeWarning, match="200009 bytes"):
        RunWriter(path).close()
    assert path.read_bytes() == WHOLE


def test_a_line_cut_while_the_file_is_open_is_removed_too(path: Path) -> None:
    with RunWriter(path) as run:
        run.write(Rollout("a", 0))
        with path.open("ab") as other:
            other.write(b'{"task":"b"')
        with pytest.warns(RuntimeWarning, match="cut"):
            run.write(task="a", index=1)
    assert [r["rollout"] for r in lines(path)] == [0, 1]


@pytest.mark.parametrize(
    "content",
    [
        b"name,score\na,1",
        b"no newline",
        b"[1, 2]\n",
        b"\x1f\x8b\x08\x00rest",
        b"\x28\xb5\x2f\xfdrest",
        b"\xff\xfe{",
    ],
    ids=repr,
)
def test_a_file_of_another_kind_is_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"run\.jsonl"):
        RunWriter(path)
    assert path.read_bytes() == content


def test_a_byte_order_mark_and_blank_lines_are_tolerated(path: Path) -> None:
    path.write_bytes(b'\xef\xbb\xbf\n\r\n{"run": {"tasks": ["a"]}}\n')
    with RunWriter(path, tasks=["a"]) as run:
        run.write(task="a")
    assert path.read_bytes().endswith(b'{"task":"a","status":"succeeded"}\n')


KILLED = """
import os, sys, kofn
run = kofn.RunWriter(sys.argv[1], requested=3)
run.write(task="a", index=0)
real, count = os.write, 0
def half(fd, data):
    real(fd, bytes(data)[: len(data) // 2])
    os._exit(9)
os.write = half
run.write(task="a", index=1)
"""


def test_a_killed_writer_loses_its_last_line_at_most(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 9, done.stderr
    assert not path.read_bytes().endswith(b"\n")
    with pytest.warns(RuntimeWarning, match="cut"), RunWriter(path, requested=3) as run:
        run.write(task="a", index=1)
    assert [r.get("rollout") for r in lines(path)] == [None, 0, 1]


def test_threads_share_a_writer(path: Path) -> None:
    with RunWriter(path, requested=50) as run:

        def work(task: int) -> None:
            for index in range(50):
                run.write(task=task, index=index, meta={"x": "y" * (index * 20)})

        threads = [threading.Thread(target=work, args=(task,)) for task in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rollouts = lines(path)[1:]
    assert sorted((r["task"], r["rollout"]) for r in rollouts) == [
        (t, i) for t in range(8) for i in range(50)
    ]


MANY = """
import sys, kofn
with kofn.RunWriter(sys.argv[1], requested=100, tasks=["0", "1", "2"]) as run:
    for index in range(100):
        run.write(task=sys.argv[2], index=index, meta={"x": "y" * (index * 100)})
"""


def test_processes_append_to_one_file(path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", MANY, str(path), str(task)]) for task in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    header, *rollouts = lines(path)
    assert header == {"run": {"requested_rollouts": 100, "tasks": ["0", "1", "2"]}}
    assert sorted((r["task"], r["rollout"]) for r in rollouts) == [
        (str(t), i) for t in range(3) for i in range(100)
    ]


FORKED = """
import os, sys, kofn
run = kofn.RunWriter(sys.argv[1])
run.write(task=0)
child = os.fork()
for index in range(200):
    run.write(task=1 if child else 2, index=index, meta={"x": "y" * 5000})
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_writes_beside_its_parent(path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, str(path)], check=True)
    assert len(lines(path)) == 401


def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "run.jsonl"):
        with pytest.raises(SourceError, match=str(path)) as error:
            RunWriter(path)
        assert error.value.source == str(path)
        assert error.value.errno is not None


def test_a_full_disk_is_a_source_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunWriter(path) as run:
        run.write(Rollout("a", 0))

        def full(*_: Any) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(SourceError, match="No space left"):
            run.write(task="a", index=1)
        monkeypatch.undo()
        run.write(task="a", index=2)
    assert [r["rollout"] for r in lines(path)] == [0, 2]


def test_a_closed_writer_says_so(path: Path) -> None:
    run = RunWriter(path)
    run.close()
    run.close()
    with pytest.raises(KofnError, match="closed"):
        run.write(task="a")


def test_a_rollout_or_its_fields(path: Path) -> None:
    with RunWriter(path) as run, pytest.raises(ArgumentTypeError, match="not both"):
        run.write(Rollout("a"), task="a")


@pytest.mark.parametrize("wrong", [5, None, ["a"], "a\0b"])
def test_a_path_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="path"):
        RunWriter(wrong)


def test_a_path_may_be_bytes(path: Path) -> None:
    with RunWriter(os.fsencode(path)) as run:  # type: ignore[arg-type]
        run.write(task="a", index=0)
    assert path.read_bytes() == WHOLE


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that ends nowhere")  # noqa: PTH110
def test_a_device_is_written_and_never_read() -> None:
    RunWriter("/dev/null").write(task="a")
    with pytest.raises(SourceError, match="/dev/full: "):
        RunWriter("/dev/full", id="r").close()


@pytest.mark.parametrize(
    "declared",
    [
        {"tasks": []},
        {"requested": 2**53 + 1},
        {"requested": {1: 1, "1": 1}},
        {"requested": {"a": 1}, "tasks": ["a", "b"]},
    ],
)
def test_a_header_that_no_reader_takes_is_refused(path: Path, declared: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        RunWriter(path, **declared)


@pytest.mark.parametrize("field", ["tool_calls", "tool_errors", "usage"])
def test_counts_go_as_far_as_files_do(path: Path, field: str) -> None:
    for count in (2**53, 2**53 + 1):
        with RunWriter(path) as run:
            value = {"input_tokens": count, "output_tokens": 0} if field == "usage" else count
            if count > 2**53:
                with pytest.raises(KofnError, match=str(count)):
                    run.write({"task": "a", field: value})
            else:
                run.write({"task": "a", field: value})
    assert len(kofn.read(path)) == 1
