"""Every estimator against exact values: rational arithmetic and brute force, computed elsewhere."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kofn import estimators
from kofn.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

Case = dict[str, Any]

CASES: list[Case] = json.loads(
    (Path(__file__).parent / "reference" / "estimators.json").read_text(encoding="utf-8")
)["cases"]

# The names they go by there. The published learnability has no factor 4.
CALLS: dict[str, Callable[..., float]] = {
    "pass_at_k": estimators.pass_at_k,
    "pass_hat_k": estimators.pass_hat_k,
    "at_least_m_of_k": estimators.at_least_m_of_k,
    "exactly_m_of_k": estimators.exactly_m_of_k,
    "g_pass_at_k": estimators.g_pass_at_k,
    "mg_pass_at_k": estimators.mg_pass_at_k,
    "expected_attempts_at_k": estimators.expected_attempts,
    "best_of_k": estimators.best_of_k,
    "worst_of_k": estimators.worst_of_k,
    "order_stat_j_of_k": estimators.order_statistic_of_k,
    "median_of_k": estimators.median_of_k,
    "quantile_of_k_type7": estimators.quantile_of_k,
    "learnability_unbiased": lambda n, c: estimators.learnability(n, c, unbiased=True) / 4,
}
CORRECTLY_ROUNDED = {"pass_at_k", "pass_hat_k", "expected_attempts_at_k", "learnability_unbiased"}
SCORES = {"best_of_k", "worst_of_k", "order_stat_j_of_k", "median_of_k", "quantile_of_k_type7"}


def arguments(case: Case) -> dict[str, Any]:
    given = dict(case["input"])
    if given.pop("x_spec", None):
        given["scores"] = np.arange(1.0, 1e6 + 1)
    elif "x" in given:
        given["scores"] = [float(x) for x in given.pop("x")]
    return given


def exact(case: Case) -> Fraction:
    expected = case["expected"]
    return Fraction(expected["exact"] or expected["decimal"])


def value_of(case: Case) -> float:
    value = CALLS[case["estimator"]](**arguments(case))
    assert type(value) is float
    return value


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases])


VALUES = [case for case in CASES if "error" not in case]


def test_every_family_is_there() -> None:
    assert {case["estimator"] for case in VALUES} == set(CALLS)
    assert len(VALUES) >= 100


@named([case for case in VALUES if case["estimator"] in CORRECTLY_ROUNDED])
def test_correctly_rounded(case: Case) -> None:
    assert value_of(case) == case["expected"]["float"]


@named([case for case in VALUES if case["estimator"] not in CORRECTLY_ROUNDED | SCORES])
def test_tails_to_1e_14(case: Case) -> None:
    want, got = exact(case), Fraction(value_of(case))
    assert abs(got - want) <= want * Fraction(1, 10**14)


@named([case for case in VALUES if case["estimator"] in {"best_of_k", "worst_of_k"}])
def test_scores_to_4_units_of_the_largest(case: Case) -> None:
    size = float(np.max(np.abs(arguments(case)["scores"])))
    assert abs(Fraction(value_of(case)) - exact(case)) <= 4 * Fraction(math.ulp(size))


@named([case for case in VALUES if case["estimator"] in SCORES - {"best_of_k", "worst_of_k"}])
def test_order_statistics_to_1e_14_of_the_largest(case: Case) -> None:
    size = float(np.max(np.abs(arguments(case)["scores"])))
    assert abs(Fraction(value_of(case)) - exact(case)) <= Fraction(size) / 10**14


@named([case for case in CASES if "error" in case and "nan" not in str(case["input"])])
def test_outside_the_domain(case: Case) -> None:
    argument = {"k_gt_n": "k", "k_lt_1": "k", "c_out_of_range": "c", "non_finite": "scores", "n_lt_2": "n"}
    with pytest.raises(ArgumentError) as caught:
        value_of(case)
    assert caught.value.argument == argument[case["error"]]


def test_nan_is_not_scored_rather_than_an_error() -> None:
    assert estimators.best_of_k([math.nan, 1.0], 1) == 1.0
