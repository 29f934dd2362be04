"""The README says what is true: its snippets run, and the report that it shows is the report that kofn prints.

In Python snippets, an expression's trailing comment is its value. In shell snippets, `# exit status N` is the status.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

BLOCKS = re.findall(
    r"^(?:<!-- report: (?P<report>.+) -->\n)?```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL
)
PYTHON = [text for _, language, text in BLOCKS if language == "python"]
COMMANDS = [line for _, language, text in BLOCKS if language == "sh" for line in text.splitlines()]
SHOWN = [(command, text) for command, _, text in BLOCKS if command]


@pytest.fixture(autouse=True)
def a_copy_of_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)


def kofn(command: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command, comments=True)
    assert program == "kofn", f"the README shows a command that nothing tests: {command}"
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "kofn", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_the_readme_has_what_is_tested_here() -> None:
    assert len(PYTHON) == 5
    assert len(COMMANDS) >= 5
    assert len(SHOWN) == 1
    assert len(README.splitlines()) < 146


def test_python_snippets() -> None:
    # One after the other in one namespace, as a reader would paste them.
    namespace: dict[str, object] = {}
    for snippet in PYTHON:
        lines = snippet.splitlines()
        for node in ast.parse(snippet).body:
            code = ast.unparse(node)
            if not isinstance(node, ast.Expr):
                exec(code, namespace)
                continue
            value = eval(code, namespace)
            _, mark, comment = lines[(node.end_lineno or 1) - 1].partition("  # ")
            if mark:
                assert repr(value) == comment, code


@pytest.mark.parametrize("command", COMMANDS)
def test_shell_snippet(command: str) -> None:
    status = re.search(r"# exit status (\d)", command)
    done = kofn(command)
    assert done.returncode == (int(status[1]) if status else 0), done.stderr


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_the_shown_report_is_the_real_one(command: str, shown: str) -> None:
    done = kofn(command)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
