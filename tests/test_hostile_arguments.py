"""Arguments of every wrong kind, values at the ends of floats, and clusters of one mean: a value or one clear line."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kofn
from kofn.cli import main
from kofn.errors import ArgumentError, ArgumentTypeError, KofnError
from kofn.estimators import bootstrap_mean

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN = kofn.Run.from_arrays(groups=list("aabbcc"), passed=[1, 0, 1, 1, 0, 0], scores=[1, 2, 3, 4, 5, 6])
REPORT = RUN.report(["pass@1", "pass@2", "pass^2", "mean_score"])
BAD: list[Any] = [["x"], {"a": 1}, {1}, object(), b"x", "no\nname", np.array([1, 2]), (), float("inf"), -1]
CALLS: dict[str, Callable[[Any], Any]] = {
    "interval of a report": lambda bad: RUN.report(interval=bad),
    "interval of a comparison": lambda bad: kofn.compare(RUN, RUN, interval=bad),
    "on_mismatch": lambda bad: kofn.compare(RUN, RUN, on_mismatch=bad),
    "confidence": lambda bad: kofn.compare(RUN, RUN, confidence=bad),
    "seed": lambda bad: kofn.compare(RUN, RUN, seed=bad),
    "names": lambda bad: kofn.compare(RUN, RUN, names=bad),
    "names, one": lambda bad: kofn.compare(RUN, RUN, names=("a", bad)),
    "confidence of many": lambda bad: kofn.compare_many({"a": RUN, "b": RUN}, confidence=bad),
    "label of a curve": REPORT.curve,
    "k of a gap": REPORT.reliability_gap,
    "method": lambda bad: bootstrap_mean([0, 0.5, 1], method=bad),
    "clusters": lambda bad: bootstrap_mean([0, 0.5, 1], clusters=bad),
    "half_width": lambda bad: kofn.plan(RUN, half_width=bad),
    "detect": lambda bad: kofn.plan(RUN, detect=bad),
    "power": lambda bad: kofn.plan(RUN, detect=0.1, power=bad),
    "confidence of a plan": lambda bad: kofn.plan(RUN, half_width=0.1, confidence=bad),
    "tasks": lambda bad: kofn.plan(RUN, half_width=0.1, tasks=bad),
    "cost_task": lambda bad: kofn.plan(RUN, half_width=0.1, cost_task=bad),
    "cost_rollout": lambda bad: kofn.plan(RUN, half_width=0.1, cost_rollout=bad),
    "baseline": lambda bad: kofn.compare_many({"a": RUN, "b": RUN}, baseline=bad),
    "form": REPORT.render,
    "form of a comparison": lambda bad: kofn.compare(RUN, RUN).render(bad),
    "style of a report": lambda bad: REPORT.metrics(style=bad),
    "style": lambda bad: kofn.metrics(passed=[1, 0], style=bad),
}
# Any text is a prefix.
PREFIXED: dict[str, Callable[[Any], Any]] = {
    "report": lambda bad: REPORT.metrics(prefix=bad),
    "arrays": lambda bad: kofn.metrics(passed=[[1, 0]], prefix=bad),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_kind_is_refused_in_one_line_that_names_it(call: str) -> None:
    for bad in BAD:
        if call == "names, one" and isinstance(bad, str):
            continue
        with pytest.raises(KofnError) as error:
            CALLS[call](bad)
        assert "\n" not in str(error.value)
        assert "groups" not in str(error.value)


@pytest.mark.parametrize("call", PREFIXED)
def test_a_prefix_is_text(call: str) -> None:
    for bad in BAD:
        if not isinstance(bad, str):
            with pytest.raises(ArgumentTypeError, match=r"prefix: .*; it must be text"):
                PREFIXED[call](bad)
    assert all(key.startswith(("a/pass", "a/mean")) for key in PREFIXED[call]("a/"))


def test_lists_are_no_ids() -> None:
    pa = pytest.importorskip("pyarrow")
    for bad in (pa.array([[1], [2]]), [np.array([1]), np.array([2, 3])]):
        with pytest.raises(ArgumentError, match="groups: ") as error:
            kofn.TaskIndex(bad)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("confidence", [1e-300, 1e-9, 0.5, 1 - 1e-9, math.nextafter(1, 0)])
@pytest.mark.parametrize("interval", ["default", "student", "bootstrap"])
def test_every_confidence_has_its_interval(confidence: float, interval: Any) -> None:
    def ends(confidence: float) -> tuple[float, float]:
        found = RUN.report("mean_score", confidence=confidence, interval=interval)["mean_score"].interval
        assert found is not None
        return found

    (low, high), (lower, higher) = ends(confidence / 2), ends(confidence)
    assert lower <= low <= high <= higher
    assert lower < low or confidence < 0.9


def test_numpy_integers_are_seeds() -> None:
    values = [0.1, 0.5, 0.9, 0.3]
    assert bootstrap_mean(values, seed=np.int64(3)) == bootstrap_mean(values, seed=3)  # type: ignore[arg-type]
    assert bootstrap_mean(values, seed=np.uint64(2**64 - 1)) == bootstrap_mean(values, seed=2**64 - 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values", [[0.0, 0.0, 1.0], [0.1, 0.7, 0.3], [1e300, 3e299, -7e299], [1e-310, 0, 3e-310]]
)
def test_clusters_of_one_mean_do_not_look_certain(values: list[float]) -> None:
    clusters = np.repeat(np.arange(10), 3)
    found = bootstrap_mean(values * 10, clusters=clusters)
    assert (found.method, math.isnan(found.low)) == (None, True)
    assert "all clusters have the same value" in found.no_interval
    records = [
        {"task": f"t{i}", "score": value, "tags": {"repo": f"r{i // 3}"}}
        for i, value in enumerate(values * 10)
    ]
    run = kofn.Run.from_records(records)
    for interval in ("default", "student", "bootstrap"):
        figure = run.report("mean_score", cluster="repo", interval=interval, denominator="recorded")[
            "mean_score"
        ]
        assert (figure.low, figure.method) == (None, None)
        assert "all clusters" in str(figure.no_interval)
    # One task less in one cluster, and they differ.
    assert bootstrap_mean((values * 10)[:-1], clusters=clusters[:-1]).method == "bca_bootstrap"


def test_verdicts_that_clusters_share_alike_have_no_interval_off_their_mean() -> None:
    found = bootstrap_mean([0, 1] * 3, clusters=[0, 0, 1, 1, 2, 2])
    assert (found.mean, found.method) == (0.5, None)
    # All solved or none: Wilson's on the clusters, as before.
    assert bootstrap_mean([1] * 6, clusters=[0, 0, 1, 1, 2, 2]).method == "wilson"


def test_differences_of_huge_scores_over_clusters() -> None:
    def run(factor: float) -> kofn.Run:
        scores = [1.0, 0.9, -0.5, 0.8, 0.7, 0.6, -0.2, 0.4]
        return kofn.Run.from_records(
            [
                {"task": f"t{i}", "score": factor * score, "tags": {"repo": f"r{i // 2}"}}
                for i, score in enumerate(scores)
            ]
        )

    huge = kofn.compare(run(0.0), run(2.0**1023), "mean_score", cluster="repo")["mean_score"]
    plain = kofn.compare(run(0.0), run(1.0), "mean_score", cluster="repo")["mean_score"]
    assert (huge.p_value, huge.value / 2.0**1023) == (plain.p_value, plain.value)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--half-width", "0"], "half_width: 0"),
        (["--detect", "-1"], "detect: -1"),
        (["--detect", ".1", "--power", "1e-300"], "power: "),
        (["--detect", ".1", "--power", "0.05"], "chance alone"),
        (["--half-width", ".1", "--confidence", ".9999999999999999"], "confidence: "),
        (["--half-width", ".1", "--cost-task", "1e308", "--cost-rollout", "1e308"], "cost_task: "),
        (["--half-width", ".1", "--statistic", "mean_score"], "pilot: the variance"),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_plan_at_the_ends_of_floats(
    arguments: list[str], part: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pilot.jsonl"
    rows = [{"task": f"t{i % 6}", "passed": i % 5 < 2, "score": 1.7e308 * (-1) ** (i % 6)} for i in range(24)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["plan", str(path), "--format", form, *arguments]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1


def test_a_plan_takes_numpy_numbers() -> None:
    pilot = kofn.Run.from_arrays(passed=[[0, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]] * 5)
    assert kofn.plan(pilot, half_width=np.float64(0.1)) == kofn.plan(pilot, half_width=0.1)
    with pytest.raises(ArgumentError, match="one of the two"):
        kofn.plan(pilot)
