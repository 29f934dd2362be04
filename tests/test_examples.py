"""The example run: it is what its script makes, and its figures are those that a reader works out by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kofn

if TYPE_CHECKING:
    from types import ModuleType

EXAMPLES = Path(__file__).parents[1] / "examples"

# Successes of the five requested rollouts of each task, counted by eye in make_run.py.
SUCCESSES = {
    "rename-photos": 5,
    "sum-invoices": 3,
    "fix-flaky-test": 2,
    "migrate-schema": 0,
    "summarise-thread": 3,
    "deploy-site": 4,
    "book-meeting": 3,
    "collect-prices": 2,
}


@pytest.fixture(scope="module")
def make_run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_run", EXAMPLES / "make_run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up while the class is made.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "make_run", module)
        spec.loader.exec_module(module)
    return module


def test_the_committed_run_is_what_its_script_makes(make_run: ModuleType) -> None:
    made = "".join(line + "\n" for line in make_run.lines())
    assert (EXAMPLES / "agents.jsonl").read_bytes().decode() == made


def test_the_example_reports_what_a_reader_counts() -> None:
    report = kofn.read(EXAMPLES / "agents.jsonl").report()
    n_tasks = len(SUCCESSES)
    assert report["pass@1"].value == pytest.approx(sum(SUCCESSES.values()) / (5 * n_tasks))
    assert report["pass@5"].value == pytest.approx(sum(c > 0 for c in SUCCESSES.values()) / n_tasks)
    assert report["pass^5"].value == pytest.approx(sum(c == 5 for c in SUCCESSES.values()) / n_tasks)
    counts = report.counts
    assert counts["requested"] == 40
    assert counts["recorded"] == 39
    assert counts["missing"] == 1
    assert counts["errored"] == 1
    assert counts["unfinished"] == 1
    assert counts["indeterminate"] == 1
    assert counts["successes"] == sum(SUCCESSES.values())
    assert counts["diagnosis"] == {"reliable": 1, "unreliable": 6, "incapable": 1, "unscorable": 0}
