"""Gates on real runs: passed, fell short, or not decided because the interval straddles the gate (spec 8.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from native import jsonl, kofn

from kofn.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, shares: list[float], rollouts: int = 10) -> str:
    """A run whose tasks pass these shares of their rollouts."""
    path.write_bytes(
        jsonl(
            *(
                {"task": f"t{task:03}", "rollout": i, "passed": i < round(share * rollouts)}
                for task, share in enumerate(shares)
                for i in range(rollouts)
            )
        )
    )
    return str(path)


SHARES = [0.1 * (i % 11) for i in range(66)]


@pytest.fixture(name="run")
def fixture_run(tmp_path: Path) -> str:
    return write(tmp_path / "run.jsonl", SHARES)


def interval(run: str, label: str = "pass@1", **options: Any) -> tuple[float, float]:
    low, high = kofn.read(run).report(label, **options)[label].interval
    return low, high


@pytest.mark.parametrize(
    ("place", "plain", "strict"),
    [
        ("below", 0, 0),
        ("low", 0, 0),
        ("above low", 0, 3),
        ("value", 0, 3),
        ("above value", 1, 3),
        ("high", 1, 3),
        ("above", 1, 1),
    ],
)
def test_a_gate_is_decided_by_the_interval_only_under_strict(
    run: str, place: str, plain: int, strict: int, capsys: pytest.CaptureFixture[str]
) -> None:
    low, high = interval(run)
    value = kofn.read(run).report("pass@1")["pass@1"].value
    assert low < value < high
    least = {
        "below": low - 0.01,
        "low": low,
        "above low": low + 1e-9,
        "value": value,
        "above value": value + 1e-9,
        "high": high,
        "above": high + 1e-9,
    }[place]
    words = ["report", run, "--statistic", "pass@1", "--fail-under", f"pass@1={least!r}"]
    assert main(words) == plain
    capsys.readouterr()
    assert main([*words, "--strict"]) == strict
    said = capsys.readouterr().err
    assert ("straddles" in said, "fell short" in said, said == "") == (strict == 3, strict == 1, strict == 0)


def test_what_decides_is_the_interval_that_was_asked_for(run: str) -> None:
    narrow, wide = interval(run, confidence=0.5), interval(run, confidence=0.999)
    assert wide[0] < narrow[0]
    least = (wide[0] + narrow[0]) / 2
    words = ["report", run, "--strict", "--fail-under", f"pass@1={least!r}"]
    assert main([*words, "--confidence", "0.5"]) == 0
    assert main([*words, "--confidence", "0.999"]) == 3


def test_one_gate_that_fell_short_wins_over_one_that_is_not_decided(run: str) -> None:
    value = kofn.read(run).report("pass@1")["pass@1"].value
    gates = ["--fail-under", f"pass@1={value!r}", "--fail-under", "pass^1=0.99"]
    assert main(["report", run, "--strict", *gates]) == 1
    assert main(["report", run, "--strict", *gates[:2]]) == 3


def test_a_gate_without_an_interval_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "one.jsonl", [0.5])
    words = ["report", one, "--strict", "--fail-under"]
    assert main([*words, "pass@1=0.4"]) == 0
    assert "no interval (one task says nothing of others)" in capsys.readouterr().err
    assert main([*words, "pass@1=0.6"]) == 1


def test_clusters_make_a_gate_harder_to_decide(tmp_path: Path) -> None:
    records = [
        {"task": f"t{i:02}", "rollout": j, "passed": (i // 10 + j) % 3 > 0, "tags": {"repo": f"r{i // 10}"}}
        for i in range(60)
        for j in range(2)
    ]
    path = tmp_path / "run.jsonl"
    path.write_bytes(jsonl(*records))
    tasks, clusters = (interval(str(path), cluster=cluster) for cluster in (None, "repo"))
    assert clusters[0] < tasks[0]
    words = ["report", str(path), "--strict", "--fail-under", f"pass@1={(clusters[0] + tasks[0]) / 2!r}"]
    assert main(words) == 0
    assert main([*words, "--cluster", "repo"]) == 3


@pytest.mark.parametrize(("margin", "plain", "strict"), [(0.5, 0, 0), (0.11, 0, 3), (0.02, 1, 1)])
def test_a_difference_is_gated_by_its_interval(
    tmp_path: Path, run: str, margin: float, plain: int, strict: int
) -> None:
    worse = write(tmp_path / "worse.jsonl", [max(share - 0.1 * (i % 3), 0) for i, share in enumerate(SHARES)])
    low, high = kofn.compare(run, worse, "pass@1")["pass@1"].interval
    assert low < -0.09 < high < -0.05
    margins = {0.11: (abs(low) + abs(high)) / 2}
    words = ["compare", run, worse, "--fail-if-worse", f"pass@1={margins.get(margin, margin)!r}"]
    assert main(words) == plain
    assert main([*words, "--strict"]) == strict


@pytest.mark.parametrize(("lost", "plain", "strict"), [(0, 0, 0), (4, 0, 3), (6, 1, 1)])
def test_what_the_test_contradicts_is_not_decided(
    tmp_path: Path, lost: int, plain: int, strict: int, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of forty tasks that passed four fail: the interval lies below 0, and p = 2 / 2^4.
    old = write(tmp_path / "old.jsonl", [1.0] * 40, rollouts=1)
    new = write(tmp_path / "new.jsonl", [0.0] * lost + [1.0] * (40 - lost), rollouts=1)
    words = ["compare", old, new, "--fail-if-worse", "pass@1"]
    assert main(words) == plain
    assert main([*words, "--strict"]) == strict
    said = capsys.readouterr().err
    assert ("could not be decided" in said, "fell short" in said) == (strict == 3, strict == 1)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "--fail-under", "pass@1=90"],
        ["compare", "{run}", "--fail-if-worse", "pass^2=3"],
        ["plan", "--detect", "3"],
        ["plan", "--half-width", "1.5"],
    ],
)
def test_points_given_for_shares_are_refused(
    run: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command, *rest = words
    assert main([command, run, *(word.format(run=run) for word in rest)]) == 2
    assert "3 points are 0.03" in capsys.readouterr().err


def test_seconds_may_be_more_than_1(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(jsonl(*({"task": f"t{i}", "passed": True, "duration_s": 5.0 + i} for i in range(9))))
    assert main(["report", str(path), "--fail-under", "mean_duration=3"]) == 0
    assert main(["compare", str(path), str(path), "--fail-under", "mean_duration=90"]) == 1


def test_gates_on_several_runs_name_them(
    tmp_path: Path, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write(tmp_path / "other.jsonl", SHARES)
    assert main(["compare", run, other, "--fail-under", "pass@1=0.99"]) == 1
    assert "gate pass@1=0.99 of other fell short" in capsys.readouterr().err


def test_clusters_judge_the_own_figures_of_compared_runs_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {"task": f"t{i:02}", "rollout": j, "passed": (i // 10 + j) % 3 > 0, "tags": {"repo": f"r{i // 10}"}}
        for i in range(60)
        for j in range(2)
    ]
    path = tmp_path / "run.jsonl"
    path.write_bytes(jsonl(*records))
    tasks, clusters = (interval(str(path), cluster=cluster) for cluster in (None, "repo"))
    gate = f"pass@1={(clusters[0] + tasks[0]) / 2!r}"
    words = ["compare", str(path), str(path), "--strict", "--fail-under", gate]
    assert main(words) == 0
    assert main([*words, "--cluster", "repo"]) == 3
    assert "straddles" in capsys.readouterr().err
