"""`kofn compare` and `kofn plan` as whole programs, and plans by their formulas."""

from __future__ import annotations

import json
import math
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

import pytest
from native import jsonl, kofn

from kofn.cli import main

if TYPE_CHECKING:
    from pathlib import Path

TASKS = 40


def written(path: Path, lift: float, seed: int, rollouts: int = 4, tasks: int = TASKS) -> str:
    random = Random(seed)
    rates = [min(1.0, Random(task).random() + lift) for task in range(tasks)]
    records = [
        {
            "task": f"t{task:02}",
            "rollout": i,
            "passed": random.random() < rate,
            "tags": {"repo": f"r{task % 5}"},
        }
        for task, rate in enumerate(rates)
        for i in range(rollouts)
    ]
    path.write_bytes(jsonl({"run": {"requested_rollouts": rollouts}}, *records))
    return str(path)


@pytest.fixture(name="runs")
def fixture_runs(tmp_path: Path) -> dict[str, str]:
    return {
        "old": written(tmp_path / "old.jsonl", 0.0, 1),
        "new": written(tmp_path / "new.jsonl", 0.3, 2),
        "like": written(tmp_path / "like.jsonl", 0.0, 3),
        "few": written(tmp_path / "few.jsonl", 0.0, 3, tasks=TASKS - 2),
    }


def test_a_comparison_starts_with_its_conclusion(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", runs["old"], runs["new"]]) == 0
    out = capsys.readouterr().out
    assert out.startswith("kofn comparison: new against old\n\nnew is better by ")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "sign" in out
    assert "new minus old: the new run minus the baseline" in out
    assert "(Student's t corrected for skewness)" in " ".join(out.split())
    assert main(["compare", runs["old"], runs["new"], "--interval", "bootstrap", "--seed", "5"]) == 0
    assert "(BCa bootstrap; 10,000 resamples, seed 5)" in " ".join(capsys.readouterr().out.split())


def test_saved_reports_compare_as_their_runs_do(
    runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = []
    for name in ("old", "new"):
        saved.append(str(tmp_path / f"{name}.json"))
        assert main(["report", runs[name], "--format", "json", "--output", saved[-1]]) == 0
    for paths in ([runs["old"], runs["new"]], saved, [saved[0], runs["new"]]):
        assert main(["compare", *paths, "--format", "json", "--statistic", "pass@1"]) == 0
    texts = capsys.readouterr().out.replace(str(tmp_path), "").split('{"schema"')[1:]
    found = [json.loads('{"schema"' + text)["statistics"] for text in texts]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("a", "b", "words", "code"),
    [
        ("new", "old", ["--fail-if-worse", "pass@1"], 1),
        ("old", "new", ["--fail-if-worse", "pass@1"], 0),
        ("new", "old", ["--fail-if-worse", "pass@1=0.9"], 0),
        ("old", "like", ["--fail-if-worse", "pass@1"], 0),
        ("old", "like", ["--fail-if-worse", "pass@1=0.001", "--strict"], 3),
        ("old", "old", ["--fail-if-worse", "pass@1=0.01", "--strict"], 0),
        ("old", "new", ["--fail-under", "pass@1=0.99"], 1),
        ("old", "few", [], 2),
        ("old", "few", ["--on-mismatch", "intersect"], 0),
        ("old", "nowhere.jsonl", [], 2),
        ("old", "new", ["--statistic", "pass@9"], 2),
        ("old", "new", ["--fail-if-worse", "pass@1=x"], 2),
        ("old", "new", ["--cluster", "repo"], 0),
        ("old", "new", ["--cluster", "nothing"], 2),
    ],
)
def test_exit_statuses(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str], a: str, b: str, words: list[str], code: int
) -> None:
    assert main(["compare", runs[a], runs.get(b, b), *words]) == code
    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    assert bool(errors) == (code != 0 or "passes without --strict" in errors)


def test_several_runs_are_compared_with_the_first(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", runs["old"], runs["new"], runs["like"], "--statistic", "pass@1"]) == 0
    out = capsys.readouterr().out
    assert "new against old" in out
    assert "like against old" in out
    assert "adjusted p" in out


def test_what_is_no_report_is_named(
    runs: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema": "kofn.report/1"}')
    assert main(["compare", str(broken), runs["new"]]) == 2
    assert capsys.readouterr().err == f"kofn: {broken}: not a kofn report: denominator is missing\n"


@pytest.mark.parametrize("form", ["markdown", "csv", "html", "latex", "json"])
def test_every_form_holds_the_difference(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert main(["compare", runs["old"], runs["new"], "--format", form]) == 0
    assert "pass@1" in capsys.readouterr().out


def test_one_run_is_no_comparison(runs: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", runs["old"]]) == 2
    assert "give a baseline and a new run" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--half-width", "0.03"], ["--detect", "0.05", "--power", "0.9"]])
def test_plans_are_printed_and_written(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["plan", runs["old"], *words]) == 0
    assert "the pilot" in capsys.readouterr().out
    assert main(["plan", runs["old"], runs["new"], *words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "kofn.plan/1"
    assert found["more_tasks"]["reach"] <= found["size"]


@pytest.mark.parametrize(
    "words", [[], ["--half-width", "0"], ["--half-width", "-1"], ["--detect", "0.1", "--power", "2"]]
)
def test_plans_of_nothing_are_refused(
    runs: dict[str, str], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    try:
        code = main(["plan", runs["old"], *words])
    except SystemExit as stop:
        code = stop.code  # type: ignore[assignment]
    assert code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_half_width_needs_what_its_formula_says(runs: dict[str, str]) -> None:
    found = kofn.plan(runs["old"], half_width=0.05)
    assert found.between is not None
    assert found.within is not None
    z = NormalDist().inv_cdf(0.975)
    # The variance of one task's value, with n rollouts of each: between + within at the pilot's n, times that n / n.
    spread = found.between + found.within
    t = 2.02269092  # Student's, of 39 degrees of freedom
    assert found.pilot.reach == pytest.approx(t * math.sqrt(spread / TASKS))
    assert found.more_tasks is not None
    # Student's t asks for a few tasks more than the normal law.
    assert 0 <= found.more_tasks.tasks - math.ceil(spread * (z / 0.05) ** 2) <= 3
    if math.sqrt(found.between / TASKS) * z > 0.05:
        assert found.more_rollouts is None
    assert found.cheapest is not None
    assert found.cheapest.reach <= 0.05
    assert found.cheapest.cost is not None
    assert found.more_tasks.cost is not None
    assert found.cheapest.cost <= found.more_tasks.cost
