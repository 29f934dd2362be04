"""Exact tests, adjustments and posteriors: published values, and every case enumerated in fractions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import comparison as oracle

from kofn import _core, estimators
from kofn.errors import ArgumentError

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "reference" / "comparisons.json").read_text(encoding="utf-8")
)["cases"]


def columns(pairs: list[tuple[tuple[int, int], tuple[int, int]]]) -> Any:
    c_a, n_a, c_b, n_b = (
        np.array([pair[run][part] for pair in pairs], np.int64) for run in (0, 1) for part in (0, 1)
    )
    return c_a, n_a, c_b, n_b


def sign_flip(d: list[float]) -> float:
    return _core.sign_flip(np.array(d, np.float64), float(np.abs(d).max(initial=0.0)), 0)[0]


def stratified(**c: list[int]) -> float:
    return _core.stratified(tuple(np.array(c[name], np.int64) for name in ("cA", "nA", "cB", "nB")))[0]  # type: ignore[arg-type]


def fisher(cA: int, fA: int, cB: int, fB: int) -> float:
    return float(_core.fisher(columns([((cA, cA + fA), (cB, cB + fB))]))[0])


CALLS: dict[str, Any] = {
    "mcnemar_exact_two_sided": lambda b, c: _core.mcnemar(b, c, mid=False),
    "fisher_exact_two_sided": fisher,
    "stratified_exact_two_sided": stratified,
    "sign_flip_exact_two_sided": sign_flip,
    "holm": lambda p: _core.holm(np.array(p)).tolist(),
    "bh": lambda p: _core.benjamini_hochberg(np.array(p)).tolist(),
    "pass_at_k_posterior": lambda n, c, k, a, b: list(estimators.pass_at_k_posterior(n, c, k, prior=(a, b))),
    "posterior_prob_A_gt_B_uniform_prior": lambda nA, cA, nB, cB: estimators.probability_above(
        nA, cA, nB, cB, prior=(1, 1)
    ),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_published_values(case: dict[str, Any]) -> None:
    found = CALLS[case["estimator"]](**case["input"])
    expected = case["expected"]
    right = [it["float"] for it in expected] if isinstance(expected, list) else expected["float"]
    assert found == pytest.approx(right, rel=1e-13)


def test_every_family_of_values_is_used() -> None:
    assert {case["estimator"] for case in CASES} == set(CALLS)


# scipy 1.16: fisher_exact, false_discovery_control(method="bh"), binomtest; statsmodels: multipletests("holm"),
# StratifiedTable.test_null_odds(correction=True).
def test_values_of_other_libraries() -> None:
    assert fisher(10, 2, 3, 15) == pytest.approx(0.0005367241191434357, rel=1e-12)
    assert fisher(0, 12, 7, 993) == pytest.approx(1.0, rel=1e-12)
    p = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.9])
    assert _core.benjamini_hochberg(p).tolist() == pytest.approx([0.06, 0.06, 0.06, 0.06, 0.06, 0.9])
    assert _core.holm(p).tolist() == pytest.approx([0.06, 0.1, 0.12, 0.12, 0.12, 0.9])
    assert _core.mcnemar(60, 95, mid=False) == pytest.approx(0.006132892626972146, rel=1e-12)


counts = st.integers(1, 5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
pairs = st.lists(st.tuples(counts, counts), max_size=6)


@given(pairs)
def test_stratified_and_fisher_by_enumeration(found: list[Any]) -> None:
    p, exact = _core.stratified(columns(found))
    assert exact
    assert p == pytest.approx(float(oracle.stratified(found)), rel=1e-12)
    for p_value, (a, b) in zip(_core.fisher(columns(found)).tolist(), found, strict=True):
        assert p_value == pytest.approx(float(oracle.fisher(a, b)), rel=1e-12)


@given(st.lists(st.fractions(-1, 1, max_denominator=7), max_size=9))
def test_sign_flips_by_enumeration(found: list[Fraction]) -> None:
    assert sign_flip([float(d) for d in found]) == pytest.approx(float(oracle.sign_flip(found)), rel=1e-12)


@given(st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_mcnemar_by_its_sum(gained: int, lost: int, mid: bool) -> None:
    right = float(oracle.mcnemar(gained, lost, mid=mid))
    assert _core.mcnemar(gained, lost, mid=mid) == pytest.approx(right, rel=1e-12)


@given(st.lists(st.fractions(0, 1, max_denominator=100), max_size=8))
def test_adjustments_by_their_formulas(p: list[Fraction]) -> None:
    found = np.array([float(x) for x in p])
    assert _core.holm(found).tolist() == pytest.approx([float(x) for x in oracle.holm(p)])
    right = [float(x) for x in oracle.benjamini_hochberg(p)]
    assert _core.benjamini_hochberg(found).tolist() == pytest.approx(right)


halves = st.integers(1, 6).map(lambda x: Fraction(x, 2))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 7), st.integers(0, 7), halves, halves)
def test_posteriors_by_moments(c: int, more: int, k: int, m: int, a: Fraction, b: Fraction) -> None:
    n, m = c + more, min(m, k)
    prior = (float(a), float(b))
    found = estimators.at_least_m_of_k_posterior(n, c, k, m, prior=prior)
    right = [float(x) for x in oracle.posterior(n, c, k, a, b, m)]
    assert list(found) == pytest.approx(right, rel=1e-11, abs=1e-15)
    right = [float(x) for x in oracle.posterior(n, c, k, a, b, 1)]
    assert list(estimators.pass_at_k_posterior(n, c, k, prior=prior)) == pytest.approx(right, rel=1e-13)
    right = [float(x) for x in oracle.posterior(n, c, k, a, b, k)]
    assert list(estimators.pass_hat_k_posterior(n, c, k, prior=prior)) == pytest.approx(right, rel=1e-13)


shapes = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(shapes, shapes, st.integers(1, 3), st.integers(1, 3))
def test_probability_above_by_its_sum(a: tuple[int, int], b: tuple[int, int], alpha: int, beta: int) -> None:
    (n_a, c_a), (n_b, c_b) = ((sum(x), x[0]) for x in (a, b))
    right = oracle.probability_above((alpha + a[0], beta + a[1]), (alpha + b[0], beta + b[1]))
    found = estimators.probability_above(n_a, c_a, n_b, c_b, prior=(alpha, beta))
    assert found == pytest.approx(float(right), rel=1e-12)


def test_posteriors_take_arrays_and_refuse_nonsense() -> None:
    found = estimators.pass_at_k_posterior([[1, 2], [3, 4]], 1, 5)
    assert found.mean.shape == found.variance.shape == (2, 2)
    assert found.mean[1, 0] == estimators.pass_at_k_posterior(3, 1, 5).mean
    assert estimators.probability_above([4, 4], [1, 3], 4, 2).shape == (2,)
    for bad in (
        lambda: estimators.pass_at_k_posterior(1, 2, 1),
        lambda: estimators.pass_at_k_posterior(1, 1, 0),
        lambda: estimators.pass_at_k_posterior(1, 1, 1, prior=(0, 1)),
        lambda: estimators.pass_at_k_posterior(1, 1, 1, prior=1.0),  # type: ignore[arg-type]
        lambda: estimators.pass_at_k_posterior([1, 2], [1, 1, 1], 1),
        lambda: estimators.at_least_m_of_k_posterior(1, 1, 1, 2),
        lambda: estimators.probability_above(1, 2, 1, 1),
    ):
        with pytest.raises(ArgumentError):
            bad()


DRAWN = """
import numpy as np
from kofn import _core
rng = np.random.default_rng(5)
d = rng.normal(0.02, 1, 3000)
print(repr(_core.sign_flip(d, 4.0, 11)), repr(_core.sign_flip(d[::-1].copy(), 4.0, 11)[0]))
d = rng.integers(-3, 4, 20000) / 7
print(repr(_core.sign_flip(d, 1.0, 0)))
"""


def test_threads_levels_and_order_change_no_bit() -> None:
    printed = set()
    for environment in (
        {},
        {"KOFN_THREADS": "1"},
        {"KOFN_THREADS": "3", "KOFN_ARCH": "baseline"},
        {"KOFN_ARCH": "v3"},
    ):
        done = subprocess.run(
            [sys.executable, "-c", DRAWN],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    (text,) = printed
    first = text.splitlines()[0]
    assert "monte carlo" in first
    assert first.split(",")[0].lstrip("(") == first.rsplit(" ", 1)[1]
