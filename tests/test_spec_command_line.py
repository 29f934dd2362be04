"""Clause 8: the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from native import check, jsonl, passes, scored

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

cli: Any = import_module("kofn.cli")

Answer = tuple[int, str, str]


@pytest.fixture(name="command")
def fixture_command(capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*words: object) -> Answer:
        try:
            status = cli.main([str(word) for word in words])
        except SystemExit as stop:
            status = stop.code
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(status or 0), out, err

    return run


@pytest.fixture(name="path")
def fixture_path(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_bytes(
        jsonl({"run": {"requested_rollouts": 2}}, *passes(1, 0, task="a"), *passes(1, 1, task="b"))
    )
    return path


def written(tmp_path: Path, *objects: Any, name: str = "other.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(jsonl(*objects))
    return path


@pytest.mark.spec("8.1")
def test_report_in_every_form(command: Any, path: Path) -> None:
    status, out, err = command("report", path, "--statistic", "pass@k", "--k", "1,2", "--format", "json")
    assert (status, err) == (0, "")
    figures = json.loads(out)["statistics"]
    assert {label: figure["value"] for label, figure in figures.items()} == {"pass@1": 0.75, "pass@2": 1.0}
    for form in ("table", "csv", "markdown"):
        status, out, _ = command("report", path, "--statistic", "pass@1", "--format", form)
        assert status == 0
        assert "pass@1" in out
        assert "0.75" in out or "75" in out


@pytest.mark.spec("8.1")
@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--denominator", "recorded"], "denominator", "recorded"),
        (["--requested", "4"], "requested_from", "given"),
        (["--policy", "verifier_verdict.v1"], "policy", {"id": "verifier_verdict.v1"}),
        (["--threshold", "0.5"], "policy", {"id": "score_threshold.v1", "threshold": 0.5}),
    ],
    ids=str,
)
def test_report_options(command: Any, path: Path, words: list[str], key: str, value: Any) -> None:
    status, out, _ = command("report", path, *words, "--format", "json")
    assert status == 0
    assert json.loads(out)[key] == value


@pytest.mark.spec("8.1")
def test_reading_options(command: Any, tmp_path: Path) -> None:
    bad = written(
        tmp_path,
        {"task": "t", "rollout": 0, "passed": True},
        "{",
        {"task": "t", "rollout": 0, "passed": True},
    )
    assert command("report", bad)[0] == 2
    status, out, _ = command(
        "report", bad, "--on-error", "skip", "--on-duplicate", "identical", "--format", "json"
    )
    assert status == 0
    assert json.loads(out)["counts"]["recorded"] == 1
    ungradable = written(tmp_path, {"task": "t", "checks": [check("a", True, required=False)]})
    assert command("report", ungradable)[0] == 2
    assert command("report", ungradable, "--on-ungradable", "indeterminate")[0] == 0


@pytest.mark.spec("8.1")
def test_tasks_groups_and_output(command: Any, tmp_path: Path) -> None:
    records = [
        {**one, "tags": {"suite": one["task"]}} for task in "ab" for one in passes(1, 0, task=f"task-{task}")
    ]
    path, target = written(tmp_path, *records), tmp_path / "report.json"
    status, out, _ = command("report", path, "--by", "suite", "--format", "json", "--output", target)
    assert (status, out) == (0, "")
    assert set(json.loads(target.read_text())["groups"]) == {"task-a", "task-b"}
    assert "task-a" not in command("report", path, "--format", "csv")[1]
    assert "task-a" in command("report", path, "--format", "csv", "--per-task")[1]


@pytest.mark.spec("8.2")
def test_grade(command: Any, tmp_path: Path) -> None:
    path = tmp_path / "checks.json"
    path.write_text(
        json.dumps({"checks": [check("a", False), check("b", True, required=False)], "toolCalls": 2})
    )
    status, out, _ = command("grade", path)
    assert status == 0
    result = json.loads(out)
    assert (result["passed"], result["reward"], result["failedRequired"], result["toolCalls"]) == (
        False,
        0.5,
        ["a"],
        2,
    )
    assert command("grade", path, "--gate")[0] == 1
    path.write_text(json.dumps([check("a", True)]))
    assert command("grade", path, "--gate")[0] == 0
    path.write_text("[]")
    status, out, err = command("grade", path)
    assert (status, out) == (2, "")
    assert "required" in err


@pytest.mark.spec("8.2")
def test_rollouts(command: Any, tmp_path: Path) -> None:
    verifiers = [{"name": "tests", "checks": [check("total", False)]}, {"name": "judge", "verdict": "pass"}]
    records = [
        {"task": "a", "rollout": 0, "verifiers": verifiers},
        {"task": "b", "rollout": 0, "passed": True, "tool_calls": 37},
        {"task": "b", "rollout": 1, "error": "ran out of memory"},
    ]
    path = written(tmp_path, {"run": {"requested_rollouts": 2}}, *records)
    status, out, _ = command("rollouts", path)
    assert status == 0
    assert all(word in out for word in ("tests/total", "37", "ran out of memory")) or "tests: total" in out
    assert "tests" not in command("rollouts", path, "--task", "b")[1]
    assert "a" in command("rollouts", path, "--missing")[1]


@pytest.mark.spec("8.2")
def test_checks(command: Any, tmp_path: Path) -> None:
    rows = [(True, True), (False, True), (False, False), (True, False), (True, False)]
    records = [{"task": "t", "checks": [check("alpha", a), check("beta", b)]} for a, b in rows]
    status, out, _ = command("checks", written(tmp_path, *records))
    assert status == 0
    lines = {
        word: line.split() for line in out.splitlines() for word in ("alpha", "beta") if word in line.split()
    }
    assert [token for token in lines["alpha"] if token.isdigit()][:3] == ["5", "3", "1"]
    assert [token for token in lines["beta"] if token.isdigit()][:3] == ["5", "2", "2"]


def in_a_process(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = "import sys; from kofn.cli import main; sys.exit(main())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        input=stdin,
        capture_output=True,
        check=False,
        env=environment,
    )


@pytest.mark.spec("8.3")
def test_standard_input(path: Path) -> None:
    done = in_a_process("report", "-", "--format", "json", stdin=path.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["counts"]["recorded"] == 4


@pytest.mark.spec("8.3")
@pytest.mark.parametrize(
    ("gates", "status"),
    [
        (["pass@1=0.75"], 0),
        (["pass@1=0.76"], 1),
        (["pass@1=0.7", "mean_score=0.1"], 3),
        (["mean_score=0.1", "pass@1=0.9"], 1),
        (["pass@9=0.1"], 2),
        (["pass@1=0.9", "pass@9=0.1"], 2),
        (["no_such=0.1"], 2),
        (["pass@1=high"], 2),
        (["pass^2=0.5", "coverage=1"], 0),
    ],
    ids=str,
)
def test_exit_status(command: Any, path: Path, gates: list[str], status: int) -> None:
    words = [word for gate in gates for word in ("--fail-under", gate)]
    found, _, err = command("report", path, *words, "--format", "json")
    assert found == status
    assert (len(err.strip().splitlines()) >= 1) is (status != 0)


@pytest.mark.spec("8.3")
def test_bad_input_is_one_clear_line(command: Any, tmp_path: Path) -> None:
    for words in (
        ["report", tmp_path / "nowhere.jsonl"],
        ["report", written(tmp_path, *passes(1), '{"task": "t", "verdict": "Pass"}')],
        ["report", written(tmp_path, *scored(0.5), name="scores.jsonl"), "--statistic", "pass@1"],
    ):
        status, out, err = command(*words)
        assert (status, out) == (2, "")
        assert len(err.strip().splitlines()) == 1, err
    assert command("no-such-command")[0] == 2
    assert command("report")[0] == 2


@pytest.mark.spec("8.4")
def test_only_exactly_one_shows_as_one(command: Any, tmp_path: Path) -> None:
    nearly = [*({"task": f"t{i}", "passed": True} for i in range(4999)), {"task": "u", "passed": False}]
    rare = [{**one, "passed": not one["passed"]} for one in nearly]
    for records, forbidden in ((nearly, ("100 %", "100%", "1.000")), (rare, (" 0 %", " 0%", "0.000"))):
        _, out, _ = command("report", written(tmp_path, *records), "--statistic", "pass@1")
        (line,) = [line for line in out.splitlines() if line.startswith("pass@1")]
        assert not any(text in line for text in forbidden), line
    _, out, _ = command("report", written(tmp_path, *passes(1)), "--statistic", "pass@1")
    (line,) = [line for line in out.splitlines() if line.startswith("pass@1")]
    assert "1.000" in line or "100" in line
