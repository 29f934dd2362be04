"""Bootstrap intervals: against scipy, by order, split and seed, at the ends of what can come in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kofn
from kofn.cli import main
from kofn.estimators import bootstrap_mean
from kofn.reports import Report

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = np.random.default_rng(5)
SAMPLES = {
    "skewed": RANDOM.gamma(1.0, size=60),
    "many": RANDOM.normal(size=900),
    "few values": RANDOM.binomial(8, RANDOM.beta(1, 2, 800)) / 8,
    "verdicts": (RANDOM.random(400) < 0.1).astype(float),
    "small": np.array([0.0, 0.1, 0.1, 0.7, 2.0]),
}


def run_of(seed: int = 3, tasks: int = 40, rollouts: int = 6) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    chance = np.repeat(random.beta(0.6, 0.9, tasks), rollouts)
    return {
        "groups": [f"t{i:03}" for i in range(tasks) for _ in range(rollouts)],
        "passed": random.random(len(chance)) < chance,
        "scores": random.gamma(2.0, size=len(chance)),
    }


ASKED = ["pass@1", "pass@3", "pass^3", "mean_score", "best_of_2"]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_ends_are_those_of_scipy_up_to_the_draws(name: str, method: Any) -> None:
    stats = pytest.importorskip("scipy.stats")
    values = SAMPLES[name]
    found = bootstrap_mean(values, confidence=0.9, seed=1, method=method)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=40_000,
        batch=2000,
        confidence_level=0.9,
        method={"bca": "BCa"}.get(method, method),
        rng=np.random.default_rng(2),
    )
    # Of 10,000 resamples the 5 % quantile has an error of some 0.02 of the spread; BCa adds that of the bias.
    allowed = 0.13 * float(theirs.standard_error)
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=allowed)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=allowed)
    assert found.method == f"{method}_bootstrap"
    assert found.no_interval is None


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(-1e9, 1e9)), min_size=2, max_size=80
    ),
    st.integers(0, 2**64 - 1),
    st.randoms(use_true_random=False),
)
def test_order_and_neighbours_change_nothing(values: list[float], seed: int, random: Any) -> None:
    found = bootstrap_mean(values, seed=seed)
    turned = random.sample(values, len(values))
    beside = bootstrap_mean(np.array([turned, [float(i) for i in range(len(values))]]).T, seed=seed)
    assert repr(found) == repr(bootstrap_mean(turned, seed=seed))
    assert (repr(found.low), repr(found.high)) == (repr(float(beside.low[0])), repr(float(beside.high[0])))
    assert beside.method[0] == found.method


def test_another_seed_draws_other_resamples() -> None:
    ends = {tuple(bootstrap_mean(SAMPLES["many"], seed=seed)[1:3]) for seed in (0, 1, 2**32, 2**64 - 1)}
    assert len(ends) == 4
    assert bootstrap_mean(SAMPLES["many"]) == bootstrap_mean(SAMPLES["many"], seed=0)


def test_values_without_spread() -> None:
    for values in (np.zeros(1_000_000), np.ones(50)):
        found = bootstrap_mean(values)
        assert found.method == "wilson"
        assert found.low < found.high
        assert {found.low, found.high} & {0.0, 1.0}
    for equal, why in (([0.3] * 9, "same value"), ([1.0], "one task"), ([np.nan, 0.5], "one task")):
        found = bootstrap_mean(equal)
        assert found.method is None
        assert np.isnan([found.low, found.high]).all()
        assert why in found.no_interval
    both = bootstrap_mean([0.0, 1.0])
    assert (both.low, both.high, both.mean) == (0.0, 1.0, 0.5)


def test_large_numbers_and_small() -> None:
    for factor in (2.0**1020, 2.0**-1000):
        found = bootstrap_mean(SAMPLES["skewed"] * factor)
        plain = bootstrap_mean(SAMPLES["skewed"])
        assert (found.low / factor, found.high / factor) == (plain.low, plain.high)
    found = bootstrap_mean([1.7e308, -1.7e308, 1e308, 0.0])
    assert -1.7e308 <= found.low < found.high <= 1.7e308


def test_none_is_no_value() -> None:
    assert bootstrap_mean([0.5, None, 1.0, np.nan, 0.0]) == bootstrap_mean([0.5, 1.0, 0.0])
    columns = bootstrap_mean([[0.5, 1.0], [np.nan, 0.25], [0.0, 0.5]])
    assert columns.low[0] == bootstrap_mean([0.5, 0.0]).low
    assert columns.mean.tolist() == [0.25, 1.75 / 3]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"values": []}, "no value"),
        ({"values": [np.nan]}, "no value"),
        ({"values": np.zeros((3, 0))}, "no value"),
        ({"values": [1.0, np.inf]}, "inf at position 1"),
        ({"values": [[1.0, 2.0], [1.0, -np.inf]]}, "row 1, column 1"),
        ({"values": [[1.0, np.nan], [1.0, np.nan]]}, "column 1"),
        ({"values": np.zeros((2, 2, 2))}, "3 dimensions"),
        ({"values": [0, 1], "confidence": 1}, "confidence"),
        ({"values": [0, 1], "confidence": None}, "confidence"),
        ({"values": [0, 1], "seed": -1}, "seed"),
        ({"values": [0, 1], "seed": 2**64}, "seed"),
        ({"values": [0, 1], "seed": True}, "seed"),
        ({"values": [0, 1], "method": "BCa"}, "method"),
        ({"values": [0, 1], "clusters": [1]}, "clusters"),
    ],
)
def test_arguments_are_refused_in_one_line(arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(kofn.errors.ArgumentError) as error:
        bootstrap_mean(**arguments)
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_text_is_refused() -> None:
    with pytest.raises(kofn.errors.ArgumentTypeError):
        bootstrap_mean(["a", "b"])


def test_clusters_widen_the_interval() -> None:
    values = np.repeat(SAMPLES["skewed"], 4)
    names = np.repeat([f"repo {i}" for i in range(60)], 4)
    alone, together = bootstrap_mean(values), bootstrap_mean(values, clusters=names)
    assert together.high - together.low > 1.7 * (alone.high - alone.low)
    # Clusters that are all alike in number are tasks of their means.
    once = bootstrap_mean(SAMPLES["skewed"])
    assert (together.low, together.high) == pytest.approx((once.low, once.high), rel=1e-12)
    order = np.random.default_rng(0).permutation(len(values))
    assert bootstrap_mean(values[order], clusters=names[order])[1:3] == together[1:3]


# -- reports


@pytest.mark.parametrize(("interval", "method"), [("bootstrap", "bca"), ("percentile", "percentile")])
def test_a_report_says_how_to_draw_its_intervals_again(interval: Any, method: Any) -> None:
    run = kofn.Run.from_arrays(**run_of())
    report = run.report(ASKED, interval=interval, seed=7)
    assert run.report(ASKED, interval=interval, seed=7).to_json() == report.to_json()
    for label, figure in report.items():
        assert (figure.replicates, figure.seed, figure.method) == (10_000, 7, f"{method}_bootstrap")
        again = bootstrap_mean(report.per_task.statistics[label], seed=7, method=method)
        assert figure.interval == (again.low, again.high)
        # Alone it is the same.
        assert run.report(label, interval=interval, seed=7)[label] == figure
    stored = json.loads(report.to_json())["statistics"]["pass@1"]
    assert (stored["replicates"], stored["seed"]) == (10_000, 7)
    read = Report.from_json(report.to_json())
    assert read.to_json() == report.to_json()
    assert read["pass@1"] == report["pass@1"]
    assert "10,000 resamples, seed 7" in str(report)
    assert (
        run.report(ASKED, interval=interval).to_json()
        == run.report(ASKED, interval=interval, seed=0).to_json()
    )


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 99), st.integers(1, 5))
def test_shards_and_order_change_no_bit(order: int, parts: int) -> None:
    columns = run_of()
    whole = kofn.Run.from_arrays(**columns).report(ASKED, interval="bootstrap", denominator="recorded")
    turned = np.random.default_rng(order).permutation(len(columns["groups"]))
    total = kofn.Accumulator(ASKED, denominator="recorded")
    for part in np.array_split(turned, parts):
        shard = kofn.Accumulator(ASKED, denominator="recorded")
        taken: dict[str, Any] = {name: np.asarray(column)[part] for name, column in columns.items()}
        shard.update(**taken)
        total.merge(shard)
    found = total.report(interval="bootstrap")
    assert {label: figure.interval for label, figure in found.items()} == {
        label: figure.interval for label, figure in whole.items()
    }


def test_a_share_is_never_sure() -> None:
    run = kofn.Run.from_arrays(groups=list("abcdef") * 2, passed=[True] * 12)
    for interval in ("bootstrap", "percentile"):
        figure = run.report("pass@1", interval=interval)["pass@1"]
        assert figure.method == "wilson"
        assert figure.replicates is figure.seed is None
        assert figure.low is not None
        assert figure.high == 1.0
        assert 0.5 < figure.low < 1.0


def test_a_seed_needs_something_to_draw() -> None:
    run = kofn.Run.from_arrays(**run_of())
    for call in (run.report, kofn.Accumulator().report):
        with pytest.raises(kofn.errors.ArgumentError, match="seed: nothing is drawn"):
            call(seed=1)
    with pytest.raises(kofn.errors.ArgumentError, match="seed: -1"):
        run.report(interval="bootstrap", seed=-1)
    with pytest.raises(kofn.errors.ArgumentError, match="interval"):
        run.report(interval="bca")  # type: ignore[arg-type]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    columns = run_of(tasks=12)
    lines = [
        json.dumps({"task": task, "passed": bool(passed), "score": score})
        for task, passed, score in zip(columns["groups"], columns["passed"], columns["scores"], strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    arguments = ["report", str(path), "--statistic", "pass@1", "--format", "json", "--interval", "percentile"]
    outputs = []
    for seed in (["--seed", "3"], ["--seed", "3"], []):
        assert main([*arguments, *seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    assert Report.from_json(outputs[0])["pass@1"].seed == 3
    assert main(["report", str(path), "--seed", "3"]) == 2
    error = capsys.readouterr().err
    assert "seed" in error
    assert "Traceback" not in error


# -- the band of a curve


def test_a_curve_has_a_band() -> None:
    report = kofn.Run.from_arrays(**run_of()).report(["pass@k", "pass^k"], k=[1, 2, 6])
    for label in ("pass@k", "pass^k"):
        curve = report.curve(label)
        assert curve.low is not None
        assert curve.high is not None
        assert (curve.confidence, curve.no_band, curve.n_tasks) == (0.95, None, 40)
        assert ((curve.low < curve.value) & (curve.value < curve.high)).all()
        assert (curve.low >= 0).all()
        assert (curve.high <= 1).all()
        # Wider than each point's own interval, and read back the same.
        single = report.curve(label, k=[2])
        assert curve.high[1] - curve.low[1] > single.high[0] - single.low[0] > 0  # type: ignore[index]
        read = Report.from_json(report.to_json()).curve(label)
        assert np.array_equal(read.low, curve.low)  # type: ignore[arg-type]
        assert np.array_equal(read.high, curve.high)  # type: ignore[arg-type]
    other = report.curve("pass@k", seed=1, confidence=0.99)
    wide, usual = (float((it.high - it.low)[0]) for it in (other, report.curve("pass@k", seed=1)))  # type: ignore[operator]
    assert wide > usual


def test_where_there_is_no_band() -> None:
    report = kofn.Run.from_arrays(**run_of()).report("pass@1")
    assert report.curve("pass@k", confidence=None).low is None
    alone = kofn.Run.from_arrays(groups=["a"] * 4, passed=[1, 1, 0, 1]).report("pass@1").curve("pass@k")
    assert (alone.low, alone.high, alone.confidence) == (None, None, None)
    assert "one task" in str(alone.no_band)
    refused: list[dict[str, Any]] = [{"confidence": 2}, {"seed": -1}]
    for bad in refused:
        with pytest.raises(kofn.errors.ArgumentError):
            report.curve("pass@k", **bad)
    solved = kofn.Run.from_arrays(groups=list("abc") * 3, passed=[True] * 9).report("pass@1").curve("pass@k")
    assert solved.low is not None
    assert (solved.low < 0.9).all()
    assert np.array_equal(solved.high, np.ones(3))  # type: ignore[arg-type]
    many = kofn.Run.from_arrays(groups=np.arange(40_000) % 4, passed=np.arange(40_000) % 7 < 3).report(
        "pass@1"
    )
    assert many.curve("pass@k", k=[1, 10, 100]).low is not None
    tasks = np.repeat(np.arange(300), 4000)
    long = kofn.Run.from_arrays(
        groups=tasks, passed=np.random.default_rng(0).random(len(tasks)) < tasks / 300
    )
    assert "give some" in str(long.report("pass@1").curve("pass@k").no_band)


# -- comparisons


def test_differences_are_resampled_as_tasks_are() -> None:
    a, b = (kofn.Run.from_arrays(**run_of(seed)) for seed in (1, 2))
    found = kofn.compare(a, b, ["pass@1", "mean_score"], interval="bootstrap", seed=5)
    for label, difference in found.items():
        columns = [run.report(label).per_task.statistics[label] for run in (a, b)]
        again = bootstrap_mean(columns[1] - columns[0], seed=5)
        assert difference.interval == (again.low, again.high)
        assert (difference.method, difference.replicates) == ("bca_bootstrap", 10_000)
    assert (
        kofn.compare(a, b, interval="bootstrap", seed=5).to_json()
        == kofn.compare(a, b, interval="bootstrap", seed=5).to_json()
    )
    usual = kofn.compare(a, b, "pass@1")["pass@1"]
    assert usual.replicates is None
    assert usual.interval != found["pass@1"].interval
    read = kofn.Comparison.from_json(found.to_json())
    assert read.to_json() == found.to_json()
    assert read["pass@1"] == found["pass@1"]
    # A run against itself: nothing differs, and nothing is said of how far others may.
    assert kofn.compare(a, a, "pass@1", interval="bootstrap")["pass@1"].interval is None
