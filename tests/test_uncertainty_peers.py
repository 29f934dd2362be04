"""Where SciPy, statsmodels and inspect_ai compute the same thing, they say the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from native import kofn, run_of


def report_on(values: list[list[int]], clusters: list[str] | None = None, **options: Any) -> Any:
    records = [
        {"task": f"t{at:03}", "passed": bool(x), "tags": {"repo": clusters[at]} if clusters else {}}
        for at, row in enumerate(values)
        for x in row
    ]
    return run_of(records).report("pass@1", **options)


RANDOM = np.random.default_rng(5)
RATES = RANDOM.random(60)
ROWS: list[list[int]] = (RANDOM.random((60, 5)) < RATES[:, None]).astype(int).tolist()
CLUSTERS = [f"r{at}" for at in RANDOM.integers(9, size=60)]
VALUES = np.array([sum(row) / 5 for row in ROWS])


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_students_interval(confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    found = report_on(ROWS, interval="student", confidence=confidence)["pass@1"]
    assert found.standard_error == pytest.approx(stats.sem(VALUES), rel=1e-12)
    low, high = stats.t.interval(confidence, len(VALUES) - 1, VALUES.mean(), stats.sem(VALUES))
    assert found.interval == (pytest.approx(max(low, 0), rel=1e-9), pytest.approx(min(high, 1), rel=1e-9))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
@pytest.mark.parametrize("passed", [0, 1, 7, 39, 40])
def test_wilsons_interval(passed: int, confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    found = report_on([[int(i < passed)] for i in range(40)], confidence=confidence)["pass@1"]
    expected = stats.binomtest(passed, 40).proportion_ci(confidence, method="wilson")
    assert found.method == "wilson"
    assert found.interval == (
        pytest.approx(expected.low, rel=1e-9, abs=1e-15),
        pytest.approx(expected.high, rel=1e-9),
    )


def test_clusters_of_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    fit = api.OLS(VALUES, np.ones(len(VALUES))).fit(
        cov_type="cluster", cov_kwds={"groups": np.unique(CLUSTERS, return_inverse=True)[1]}, use_t=True
    )
    found = report_on(ROWS, CLUSTERS, cluster="repo", interval="student")["pass@1"]
    assert found.standard_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert found.interval == tuple(pytest.approx(end, rel=1e-9) for end in fit.conf_int()[0])


def test_clusters_of_inspect() -> None:
    scorer = pytest.importorskip("inspect_ai.scorer")
    scores = [
        scorer.SampleScore(score=scorer.Score(value=value), sample_metadata={"repo": cluster})
        for value, cluster in zip(VALUES.tolist(), CLUSTERS, strict=True)
    ]
    plain, together = (report_on(ROWS, CLUSTERS, cluster=tag)["pass@1"] for tag in (None, "repo"))
    assert plain.standard_error == pytest.approx(scorer.stderr()(scores), rel=1e-12)
    assert together.standard_error == pytest.approx(scorer.stderr(cluster="repo")(scores), rel=1e-12)


def test_paired_differences() -> None:
    stats = pytest.importorskip("scipy.stats")
    other = (np.random.default_rng(8).random((60, 5)) < (0.3 + 0.6 * RATES)[:, None]).astype(int)
    d = other.mean(axis=1) - VALUES
    runs = [
        kofn.Run.from_arrays(groups=np.repeat(np.arange(60), 5), passed=np.array(rows).reshape(-1))
        for rows in (ROWS, other)
    ]
    found = kofn.compare(*runs, "pass@1", interval="student")["pass@1"]
    low, high = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert found.interval == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))
    # The sign-flip test is exact; SciPy draws.
    drawn = stats.permutation_test(
        (d,), lambda x, axis: np.abs(np.sum(x, axis=axis)), permutation_type="samples", n_resamples=20_000,
        vectorized=True, alternative="greater", rng=np.random.default_rng(1),
    ).pvalue  # fmt: skip
    assert found.p_value == pytest.approx(drawn, abs=4 * math.sqrt(0.25 / 20_000))


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_adjusted_p_values(method: str) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    from kofn import _core

    p = np.array([0.001, 0.2, 0.03, 0.03, 0.9, 1.0, 0.0004])
    ours = _core.holm(p) if method == "holm" else _core.benjamini_hochberg(p)
    assert ours == pytest.approx(multitest.multipletests(p, method=method)[1], rel=1e-12)
