"""The command line: statuses and their precedence, gates, destinations, and what happens when things break."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapshots import from_snapshot, snapshot

import kofn.runs
from kofn import Report, __version__
from kofn.cli import gates, main, parser, status
from kofn.errors import InputError, RefusedError
from kofn.reports import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CHECKS = [
    {"label": "a", "required": True, "passed": True},
    {"label": "b", "required": False, "passed": False, "detail": "answered 3"},
]


class Call:
    """What `report_files` was called with, and what it answers."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.options: dict[str, Any] = {}
        self.answer: Callable[[], Report] = lambda: from_snapshot(snapshot())

    def report_files(self, paths: Sequence[str], **options: Any) -> Report:
        self.paths, self.options = list(paths), options
        return self.answer()


@pytest.fixture(name="runs")
def fixture_runs(monkeypatch: pytest.MonkeyPatch) -> Call:
    """Stand in for the reading of files: these tests are about the program around it."""
    call = Call()
    monkeypatch.setattr(kofn.runs, "report_files", call.report_files)
    return call


def raising(error: BaseException) -> Callable[[], Report]:
    def answer() -> Report:
        raise error

    return answer


# -- usage


def test_every_option_arrives(runs: Call, capsys: pytest.CaptureFixture[str]) -> None:
    words = "report a.jsonl b.jsonl --input-format native --statistic pass@k --statistic coverage --k 1,2,4"
    words += (
        " --policy score_threshold.v1 --threshold -0.5 --requested 5 --denominator scorable --on-short omit"
    )
    words += (
        " --on-error skip --on-duplicate last --on-ungradable indeterminate --by suite --fail-under pass^5=0"
    )
    words += " --confidence 0.9 --interval bootstrap --seed 7 --cluster repo"
    assert main(words.split()) == 0
    assert runs.paths == ["a.jsonl", "b.jsonl"]
    assert runs.options == {
        "input_format": "native",
        "statistics": ["pass@k", "coverage"],
        "also": ["pass^5"],
        "k": [1, 2, 4],
        "policy": "score_threshold.v1",
        "threshold": -0.5,
        "requested": 5,
        "denominator": "scorable",
        "on_short": "omit",
        "on_error": "skip",
        "on_duplicate": "last",
        "on_ungradable": "indeterminate",
        "by": "suite",
        "cluster": "repo",
        "confidence": 0.9,
        "interval": "bootstrap",
        "seed": 7,
    }
    assert capsys.readouterr().err == ""


def test_what_was_not_said_is_the_default(runs: Call) -> None:
    assert main(["report", "-"]) == 0
    assert runs.paths == ["-"]
    changed = {key: value for key, value in runs.options.items() if value not in (None, "raise", [])}
    assert changed == {"denominator": "requested", "confidence": 0.95, "interval": "default"}


@pytest.mark.parametrize(
    "words",
    [
        "",
        "report",
        "repotr run.jsonl",
        "report run.jsonl --format pdf",
        "report run.jsonl --form csv",
        "report run.jsonl --k 1,x",
        "report run.jsonl --k 0",
        "report run.jsonl --requested 0",
        "report run.jsonl --threshold nan",
        "report run.jsonl --threshold 1e999",
        "report run.jsonl --fail-under pass@1",
        "report run.jsonl --fail-under =1",
        "report run.jsonl --fail-under pass@1=nan",
        "report run.jsonl --fail-under pass@k=0.5",
        "report run.jsonl --fail-under pass^k=0.5",
        "report run.jsonl --fail-under pass_at_k=0.5",
        "report run.jsonl --on-error ignore",
        "grade",
        "rollouts run.jsonl --outcome lucky",
    ],
)
def test_a_bad_command_line_is_one_line_and_two(
    runs: Call, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kofn: ")
    assert len(err.splitlines()) == 1
    assert runs.paths == []


@pytest.mark.parametrize(
    "words", [["--help"], ["report", "--help"], ["grade", "-h"], ["rollouts", "-h"], ["checks", "-h"]]
)
def test_help_fits_a_screen_and_teaches(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "exit status" in text
    assert "kofn " in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kofn {__version__}\n"


# -- forms and destinations


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "html", "latex"])
@pytest.mark.usefixtures("runs")
def test_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "x", "--format", form, "--per-task"]) == 0
    report = from_snapshot(snapshot())
    expected = report.to_json() if form == "json" else report.render(form, per_task=True)  # type: ignore[arg-type]
    assert capsys.readouterr() == (expected, "")


def test_a_file_is_written_whole_or_not_at_all(
    runs: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.json"
    words = ["report", "x", "--format", "json", "--output", str(target)]
    assert main(words) == 0
    assert Report.from_json(target) == from_snapshot(snapshot())
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~current_umask()
    target.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(target)
    runs.answer = lambda: from_snapshot(snapshot(notes=[]))
    assert main([*words[:-1], str(link)]) == 0
    assert link.is_symlink()
    assert Report.from_json(target).notes == ()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    before = target.read_bytes()
    monkeypatch.setattr(os, "fsync", fail)
    runs.answer = lambda: from_snapshot(snapshot())
    assert main(words) == 2
    assert target.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "link.json"}


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.usefixtures("runs")
def test_a_device_is_written_to_not_replaced() -> None:
    assert main(["report", "x", "--output", os.devnull]) == 0
    assert not stat.S_ISREG(Path(os.devnull).stat().st_mode)


@pytest.mark.usefixtures("runs")
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "nowhere" / "r.txt"
    assert main(["report", "x", "--output", str(target)]) == 2
    assert capsys.readouterr().err == f"kofn: {target}: No such file or directory\n"


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_no_control_characters(runs: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.answer = lambda: from_snapshot(snapshot(notes=["\x1b[2J gone", "日本"]))
    for form, encoding in (("csv", "utf-8"), ("markdown", "latin-1"), ("table", "ascii"), ("json", "ascii")):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", Terminal(raw, encoding, write_through=True))
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(["report", "x", "--format", form]) == 0
        assert b"\x1b" not in raw.getvalue()
        assert b"gone" in raw.getvalue()


@pytest.mark.usefixtures("runs")
def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(raw, "utf-8", write_through=True))
    assert main(["report", "x"]) == 0
    assert b"\x1b[1mkofn report: r1\x1b[0m" in raw.getvalue()


# -- gates and statuses


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["pass@1=0.3333333333333333"], 0),
        (["pass_at_1=0.33"], 0),
        (["pass@1=0.34"], 1),
        (["pass^5=0"], 0),
        (["mean_duration=1"], 3),
        (["mean_duration=1", "pass@1=0.9"], 1),
        (["pass@1=0.9", "mean_duration=1"], 1),
        (["pass@1=0.1", "mean_duration=1"], 3),
        (["pass@1=-1e300"], 0),
    ],
)
@pytest.mark.usefixtures("runs")
def test_gates(given: list[str], expected: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for gate in given for word in ("--fail-under", gate)]
    assert main(["report", "x", *words]) == expected
    out, err = capsys.readouterr()
    assert out.startswith("kofn report: r1")
    assert (err == "") is (expected == 0)
    assert all(line.startswith("kofn: gate ") for line in err.splitlines())


@pytest.mark.usefixtures("runs")
def test_a_gate_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "x", "--fail-under", "pass@1=0.5", "--fail-under", "mean_duration=1"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "kofn: gate pass@1=0.5 fell short: pass@1 is 0.3333333333333333 over 3 tasks",
        "kofn: gate mean_duration=1 could not be decided: no rollout recorded a duration",
    ]


@pytest.mark.parametrize(
    ("text", "label", "least"),
    [
        ("pass^5=0.6", "pass^5", 0.6),
        ("metric_mean:a=b=-1", "metric_mean:a=b", -1.0),
        ("coverage = 1e-3", "coverage", 1e-3),
        ("metric_mean:a@k=1", "metric_mean:a@k", 1.0),
    ],
)
def test_a_gate_is_split_at_its_last_equals_sign(text: str, label: str, least: float) -> None:
    assert gates.parse([text]) == [gates.Gate(label, least, text)]


@pytest.mark.parametrize(
    ("interval", "least", "strict", "expected"),
    [
        ((0.2, 0.8), 0.4, False, 0),
        ((0.2, 0.8), 0.6, False, 1),
        ((0.2, 0.8), 0.4, True, 3),
        ((0.2, 0.8), 0.6, True, 3),
        ((0.2, 0.8), 0.2, True, 0),
        ((0.2, 0.8), 0.8, True, 3),
        ((0.2, 0.8), 0.9, True, 1),
        (None, 0.4, True, 0),
        (None, 0.6, True, 1),
    ],
)
def test_strict_gates_look_at_the_interval(
    interval: tuple[float, float] | None, least: float, strict: bool, expected: int
) -> None:
    report = from_snapshot(snapshot())
    report.body.figures["pass@1"] = Figure(0.5, 3, interval=interval)
    assert gates.judge(report, gates.parse([f"pass@1={least}"]), strict=strict) == expected


def test_a_gate_on_a_label_that_is_not_there_says_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    report = from_snapshot(snapshot())
    assert gates.judge(report, gates.parse(["coverage=0.5"]), strict=False) == status.UNDECIDED
    assert (
        "could not be decided: coverage: not asked for in this report, which has pass@1"
        in capsys.readouterr().err
    )


@pytest.mark.usefixtures("runs")
def test_strict_says_when_there_is_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "x", "--fail-under", "pass@1=0.1", "--strict"]) == 0
    assert "no interval" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "expected", "line"),
    [
        (InputError("run.jsonl, line 3, field verdict: no"), 2, "kofn: run.jsonl, line 3, field verdict: no"),
        (RefusedError("pass@9: too few"), 2, "kofn: pass@9: too few"),
        (InputError("two\nlines \x1b[31m"), 2, "kofn: two lines \\x1b[31m"),
        (FileNotFoundError(2, "No such file or directory", "x"), 2, "kofn: x: No such file or directory"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("oops"), 4, "kofn: internal error: ZeroDivisionError: oops"),
        (MemoryError(), 4, "kofn: internal error: MemoryError"),
    ],
)
def test_errors_are_one_line(
    runs: Call, error: BaseException, expected: int, line: str,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("KOFN_DEBUG", raising=False)
    runs.answer = raising(error)
    assert main(["report", "x", "--fail-under", "pass@1=0.9"]) == expected
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert len(err.splitlines()) == (1 if line else 0)


def test_debugging_shows_where(
    runs: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOFN_DEBUG", "1")
    runs.answer = raising(ZeroDivisionError("oops"))
    assert main(["report", "x"]) == 4
    assert "Traceback" in capsys.readouterr().err


# -- grade


@pytest.mark.parametrize("document", [CHECKS, {"checks": CHECKS, "toolCalls": 4, "toolErrors": 0}])
def test_grade(document: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "checks.json"
    path.write_text(json.dumps(document))
    assert main(["grade", str(path), "--gate"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["passed"], result["reward"], result["failedRequired"]) == (True, 0.5, [])
    assert (result.get("toolCalls"), result.get("toolErrors")) == (
        (4, 0) if isinstance(document, dict) else (None, None)
    )
    # A result.json holds its checks, and so can be graded again.
    path.write_text(json.dumps(result))
    assert main(["grade", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == result


def test_grade_gates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "checks.json"
    path.write_text(json.dumps([CHECKS[0] | {"passed": False}]))
    assert main(["grade", str(path)]) == 0
    assert main(["grade", str(path), "--gate"]) == 1
    assert '"passed": false' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "required"),
        ("{}", "checks"),
        ("3", "list"),
        ('[{"label": "a"}]', "checks[0].passed"),
        ('[{"label": "a", "passed": "false", "required": true}]', "checks[0]"),
        ('[{"label": "a", "passed": true, "passed": false}]', "twice"),
        ('{"checks": [], "toolCalls": 1, "tool_calls": 2}', "toolCalls"),
        ('[{"label": "a"', "JSON"),
        ("", "JSON"),
    ],
)
def test_what_cannot_be_graded_is_named(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "checks.json"
    path.write_text(text)
    assert main(["grade", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"kofn: {path}: ")
    assert says in err
    assert len(err.splitlines()) == 1


# -- a run, from its file


RUN = [
    {"run": {"id": "r", "requested_rollouts": 2}},
    {
        "task": "a",
        "rollout": 0,
        "verifiers": [
            {"name": "tests", "checks": [{"label": "total", "required": True, "passed": False}]},
            {"name": "judge", "score": 0.25},
        ],
        "tool_calls": 7,
    },
    {"task": "a", "rollout": 1, "passed": True, "score": 1.0},
    {"task": "b", "rollout": 1, "error": "out of memory\x1b[31m"},
]


@pytest.fixture(name="path")
def fixture_path(tmp_path: Path) -> str:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in RUN))
    return str(path)


def test_a_report_of_a_file_is_that_of_its_run(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", path, "--format", "json"]) == 0
    report = Report.from_json(capsys.readouterr().out)
    assert report == kofn.read(path).report()
    assert report["pass@2"].value == 0.5
    assert report.counts["missing"] == 1


def test_gated_labels_stand_beside_the_defaults(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", path, "--format", "json", "--fail-under", "coverage=0.5"]) == 0
    figures = json.loads(capsys.readouterr().out)["statistics"]
    assert {"pass@1", "pass@2", "coverage"} <= set(figures)
    assert main(["report", path, "--fail-under", "pass@3=0.5"]) == 2
    assert "pass@3" in capsys.readouterr().err


def test_rollouts_in_json_and_csv(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollouts", path, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {
        "task": "a", "rollout": 0, "status": "succeeded", "success": False, "registry": "failed", "score": 0.125,
        "failed_required": ["tests: total"], "tool_calls": 7,
    }  # fmt: skip
    assert rows[2]["error"] == "out of memory\x1b[31m"
    assert main(["rollouts", path, "--format", "csv", "--outcome", "success"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "task,rollout,status,success,registry,score,failed_required,tool_calls,tool_errors,error",
        "a,1,succeeded,true,passed,1.0,,,,",
    ]
    assert main(["rollouts", path, "--threshold", "0.1", "--outcome", "success", "--format", "json"]) == 0
    assert [row["rollout"] for row in json.loads(capsys.readouterr().out)] == [0, 1]


def test_rollouts_on_a_screen(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollouts", path]) == 0
    out = capsys.readouterr().out
    assert "tests: total" in out
    assert "out of memory\\x1b[31m" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert main(["rollouts", path, "--task", "nobody"]) == 2
    assert main(["rollouts", path, "--outcome", "cancelled"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "kofn: no rollout matches"


def test_missing_rollouts(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollouts", path, "--missing", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"task": "b", "rollout": 0}]
    assert main(["rollouts", path, "--missing", "--task", "a"]) == 0
    assert capsys.readouterr().err == "kofn: no rollout is missing\n"
    assert main(["rollouts", path, "--missing", "--outcome", "failed"]) == 2
    assert main(["rollouts", path, "--missing", "--requested", "9000000000"]) == 2


def test_checks(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checks", path, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"verifier": "tests", "label": "total", "required": True, "ran": 1, "passed": 0, "blocked": 1}
    ]
    assert main(["checks", path]) == 0
    assert "tests     total  yes         1       0        1" in capsys.readouterr().out


def test_what_a_read_skipped_is_said(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(path).open("a") as file:
        file.write('{"task": 3.5}\n')
    assert main(["checks", path]) == 2
    assert main(["checks", path, "--on-error", "skip"]) == 0
    assert "line 5" in capsys.readouterr().err


# -- the whole program


def program(*words: str, code: str = "", **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", code, *words] if code else [sys.executable, "-m", "kofn", *words]
    environment = dict(os.environ) | options.pop("env", {})
    return subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment, **options)


def test_help_needs_no_numpy() -> None:
    code = (
        "import sys; from kofn.cli import main; main(['report', '--help']); sys.exit('numpy' in sys.modules)"
    )
    done = program(code=code)
    assert (done.returncode, done.stderr) == (0, b"")


def test_standard_input_and_a_locale_without_unicode() -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    checks = json.dumps([CHECKS[0] | {"label": "größer"}], ensure_ascii=False).encode()
    done = program("grade", "-", input=checks, env=locale)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["checks"][0]["label"] == "größer"
    done = program("grade", "größer.json", env=locale)
    assert done.returncode == 2
    assert done.stderr.startswith(b"kofn: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt", reason="pipes close differently there")
@pytest.mark.parametrize(("gate", "expected"), [("pass@1=0.1", 0), ("pass@1=0.9", 1)])
def test_a_closed_pipe_is_silent_and_keeps_the_verdict(gate: str, expected: int) -> None:
    code = (
        "import sys, types; sys.path.insert(0, sys.argv.pop(1)); from snapshots import from_snapshot, snapshot\n"
        "report = from_snapshot(snapshot(notes=['x' * 60] * 20000))\n"
        "sys.modules['kofn.runs'] = types.SimpleNamespace(report_files=lambda *a, **k: report)\n"
        "from kofn.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), "report", "x", "--fail-under", gate]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(60) == expected
    assert b"Traceback" not in err
    assert b"Broken" not in err
    assert len(err.splitlines()) == expected


@pytest.mark.skipif(os.name == "nt", reason="signals differ there")
def test_ctrl_c_is_quiet() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "kofn", "grade", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in {status.INTERRUPTED, -signal.SIGINT}
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == b""
        if process.returncode == status.INTERRUPTED:
            assert process.stderr.read() == b""


def test_the_parser_knows_every_command() -> None:
    for words in (["report", "x"], ["grade", "x"], ["rollouts", "x"], ["checks", "x"]):
        command = parser.build().parse_args(words).command
        assert callable(__import__(f"kofn.cli.{command}", fromlist=["run"]).run)


# -- places and streams that bite


@pytest.mark.parametrize("command", ["report", "rollouts", "checks"])
@pytest.mark.parametrize("way", ["itself", "its directory", "a pattern", "a link"])
def test_an_output_never_replaces_what_is_read(
    command: str, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text('{"task": "a", "passed": true}\n')
    link = tmp_path / "link"
    link.symlink_to(run)
    read = {"its directory": str(tmp_path), "a pattern": str(tmp_path / "*.jsonl")}.get(way, str(run))
    assert main([command, read, "--output", str(link if way == "a link" else run)]) == 2
    assert "would be replaced" in capsys.readouterr().err
    assert run.read_text() == '{"task": "a", "passed": true}\n'


def test_an_output_may_replace_what_stands_beside_the_runs(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"task": "a", "passed": true}\n')
    old = tmp_path / "report.txt"
    old.write_text("old")
    assert main(["report", str(tmp_path), "--output", str(old)]) == 0
    assert "pass@1" in old.read_text()


def test_a_grade_never_replaces_its_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "checks.json"
    path.write_text(json.dumps(CHECKS))
    assert main(["grade", str(path), "--output", str(path)]) == 2
    assert "would be replaced" in capsys.readouterr().err
    assert json.loads(path.read_text()) == CHECKS


@pytest.mark.parametrize(
    "words",
    [["--statistic", "\udc80"], ["--by", "\udc80"], ["--fail-under", "\udc80=1"], ["--policy", "\udc80"]],
)
def test_arguments_that_are_no_text_are_bad_usage(
    words: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", path, *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_more_missing_rollouts_than_python_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = {"requested_rollouts": 2**53, "tasks": [f"t{i}" for i in range(2000)]}
    run = tmp_path / "run.jsonl"
    run.write_text(json.dumps({"run": header}) + "\n")
    assert main(["rollouts", str(run), "--missing"]) == 2
    assert "too many to list" in capsys.readouterr().err
    assert repr(kofn.read(run).missing()).startswith(f"<{2**53 * 2000} missing: ('t0', None)")


@pytest.mark.parametrize(
    ("words", "closed", "said"),
    [
        (["--version"], None, b""),
        (["report", "{}"], "stdout", b"standard output: it is closed"),
        (["report", "-"], "stdin", b"standard input is closed"),
        (["report", "-", "{}"], "stdin", b"standard input is closed"),
        (["grade", "-"], "stdin", b"standard input: it is closed"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="descriptors differ there")
def test_closed_streams_are_said(words: list[str], closed: str | None, said: bytes, path: str) -> None:
    number = {"stdin": 0, "stdout": 1, None: None}[closed]
    done = subprocess.run(
        [sys.executable, "-m", "kofn", *(word.format(path) for word in words)],
        capture_output=True, check=False, timeout=60,
        preexec_fn=None if number is None else lambda: os.close(number),
    )  # fmt: skip
    assert done.returncode == (0 if closed is None else 2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk")  # noqa: PTH110
def test_a_full_disk_is_named(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", path, "--output", "/dev/full"]) == 2
    assert "/dev/full: " in capsys.readouterr().err


def test_a_saved_report_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, saved = tmp_path / "run.jsonl", tmp_path / "saved.json"
    run.write_text('{"task": "a", "passed": true}\n')
    assert main(["report", str(run), "--format", "json", "--output", str(saved)]) == 0
    assert main(["report", str(saved)]) == 2
    assert "a saved report, not a run" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "plan"])
def test_unknown_options_point_to_the_help_of_their_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = ["--detect", "0.1"] if command == "plan" else []
    assert main([command, "run.jsonl", *goal, "--colour", "red"]) == 2
    assert f"(see kofn {command} --help)" in capsys.readouterr().err


def test_one_rollout_a_task_tells_neither_diagnosis_nor_what_rollouts_add(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(
        "".join(f'{{"task": "t{i}", "passed": {"true" if i % 3 else "false"}}}\n' for i in range(40))
    )
    assert main(["report", str(run)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "diagnosis none: one rollout of a task" in out
    assert "roughly: of so few rollouts of each" in out
    assert "could remove" not in out


def test_figures_without_an_interval_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run.jsonl"
    lines = (f'{{"task": "t{i}", "passed": {passed}}}\n' for i in range(9) for passed in ("true", "false"))
    run.write_text("".join(lines))
    assert main(["report", str(run), "--statistic", "pass@1", "--statistic", "pass@2"]) == 0
    assert "none of pass@1: all tasks have the same value" in " ".join(capsys.readouterr().out.split())
