"""The estimators' public functions against slow exact fractions, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.statistics import order_mean

import kofn
from kofn import (
    TaskIndex,
    best_of_k,
    g_pass_at_k,
    learnability,
    pass_at_k,
    pass_hat_k,
    worst_of_k,
)
from kofn.errors import ArgumentError, ArgumentTypeError
from kofn.estimators import (
    at_least_m_of_k,
    exactly_m_of_k,
    expected_attempts,
    median_of_k,
    mg_pass_at_k,
    order_statistic_of_k,
    quantile_of_k,
)

if TYPE_CHECKING:
    from collections.abc import Callable


# A busy machine is not a slow estimator.
relaxed = settings(deadline=None)


def exactly(n: int, c: int, k: int, j: int) -> Fraction:
    """P(j of k drawn rollouts pass), by its definition."""
    return Fraction(comb(c, j) * comb(n - c, k - j), comb(n, k))


@st.composite
def cells(draw: st.DrawFn, most: int = 60) -> tuple[int, int, int]:
    n = draw(st.integers(1, most))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


scores_of_a_task = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.integers(-999, 999).map(lambda x: x / 7)),
    min_size=1,
    max_size=12,
)


@relaxed
@given(cells())
def test_counts_are_the_fractions_rounded(cell: tuple[int, int, int]) -> None:
    n, c, k = cell
    assert pass_at_k(n, c, k) == float(1 - exactly(n, c, k, 0))
    assert pass_hat_k(n, c, k) == float(exactly(n, c, k, k))
    assert learnability(n, c) == float(Fraction(4 * c * (n - c), n * n))
    attempts = sum((Fraction(comb(n - c, j), comb(n, j)) for j in range(k)), Fraction(0))
    assert expected_attempts(n, c, k) == float(attempts)
    if n > 1:
        assert learnability(n, c, unbiased=True) == float(Fraction(4 * c * (n - c), n * (n - 1)))


@relaxed
@given(cells(), st.data())
def test_tails_are_the_fractions_nearly(cell: tuple[int, int, int], data: st.DataObject) -> None:
    n, c, k = cell
    m = data.draw(st.integers(0, k))
    tails = [sum((exactly(n, c, k, j) for j in range(i, k + 1)), Fraction(0)) for i in range(k + 2)]
    near: dict[float, Fraction] = {
        at_least_m_of_k(n, c, k, m): tails[m],
        exactly_m_of_k(n, c, k, m): exactly(n, c, k, m),
        g_pass_at_k(n, c, k, m / k): tails[max(m, 1)],
        mg_pass_at_k(n, c, k): Fraction(2, k) * sum(tails[(k + 1) // 2 + 1 :], Fraction(0)),
    }
    for got, want in near.items():
        assert got == pytest.approx(float(want), rel=1e-14, abs=0)


@relaxed
@given(scores_of_a_task, st.data())
def test_scores_are_the_mean_over_every_draw(scores: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(scores)))
    j = data.draw(st.integers(1, k))
    drawn = [sorted(map(Fraction, draw)) for draw in combinations(scores, k)]

    def mean(of: Callable[[list[Fraction]], Fraction]) -> float:
        return float(sum(map(of, drawn), Fraction(0)) / len(drawn))

    near: Callable[[float], Any] = lambda x: pytest.approx(x, rel=0, abs=1e-14 * max(map(abs, scores)))  # noqa: E731
    assert best_of_k(scores, k) == near(mean(max))
    assert worst_of_k(scores, k) == near(mean(min))
    assert order_statistic_of_k(scores, k, j) == near(mean(lambda draw: draw[j - 1]))
    assert median_of_k(scores, k) == near(mean(lambda draw: (draw[(k - 1) // 2] + draw[k // 2]) / 2))
    assert quantile_of_k(scores, k, 0.5) == near(mean(lambda draw: (draw[(k - 1) // 2] + draw[k // 2]) / 2))


@relaxed
@given(scores_of_a_task, st.randoms(use_true_random=False), st.data())
def test_order_shift_and_scale(scores: list[float], random: Any, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(scores)))
    shuffled = random.sample(scores, len(scores))
    for estimate in (best_of_k, worst_of_k, median_of_k):
        value = estimate(scores, k)
        assert estimate(shuffled, k) == value
        assert estimate(np.ldexp(scores, -700), k) == math.ldexp(value, -700)
        assert estimate(np.ldexp(scores, 1000), k) == math.ldexp(value, 1000)
        assert min(scores) <= value <= max(scores)
    whole = np.trunc(scores)
    assert best_of_k(whole + 1024.0, k) == pytest.approx(best_of_k(whole, k) + 1024.0, rel=0, abs=1e-12)
    assert worst_of_k(scores, k) == -best_of_k(np.negative(scores), k)
    assert best_of_k(scores, 1) == worst_of_k(scores, 1) == float(sum(map(Fraction, scores)) / len(scores))
    assert best_of_k(scores, len(scores)) == max(scores)


@pytest.mark.parametrize(
    ("n", "k"), [(4, 2), (16, 1), (16, 2), (16, 8), (16, 14), (30, 2), (64, 2), (64, 63), (300, 2)]
)
def test_values_in_the_middle_of_two_floats_go_to_the_even_one(n: int, k: int) -> None:
    ways, middles = comb(n, k), []
    for row in np.sort(np.random.default_rng(n).integers(1 << 53, size=(40, n))).tolist():
        # The score of rank k counts once in the sum that is divided by C(n, k).
        total = sum(comb(rank, k - 1) * score for rank, score in enumerate(row))
        row[k - 1] += (ways // 2 - total) % ways
        if row == sorted(row):
            middles.append([math.ldexp(score, -53) for score in row])
    assert len(middles) > 20
    expected = [float(order_mean(row, k, largest=True) or 0) for row in middles]
    assert best_of_k(middles, k).tolist() == [best_of_k(row, k) for row in middles] == expected
    assert worst_of_k(np.negative(middles), k).tolist() == [-value for value in expected]


@relaxed
@given(cells())
def test_scores_of_0_and_1_are_passes(cell: tuple[int, int, int]) -> None:
    n, c, k = cell
    scores = [True] * c + [False] * (n - c)
    assert best_of_k(scores, k) == pass_at_k(n, c, k)
    assert worst_of_k(scores, k) == pass_hat_k(n, c, k)


@relaxed
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 30), st.data())
def test_equal_scores_come_back(score: float, n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    for estimate in (best_of_k, worst_of_k, median_of_k):
        assert estimate([score] * n, k) == score


@settings(deadline=None, max_examples=40)
@given(st.lists(cells(), min_size=1, max_size=100), st.booleans())
def test_arrays_hold_the_single_values(tasks: list[tuple[int, int, int]], table: bool) -> None:
    if table:
        # Enough tasks for the tables of binomials.
        tasks = tasks + [(n, c, 1) for n in range(1, 12) for c in range(n + 1)]
    n, c, _ = (np.array(column) for column in zip(*tasks, strict=True))
    ks = [1, min(task[0] for task in tasks)]
    for estimate in (pass_at_k, pass_hat_k, mg_pass_at_k, expected_attempts):
        values = estimate(n, c, ks)
        assert values.shape == (len(tasks), 2)
        want = [[estimate(int(a), int(b), k) for k in ks] for a, b in zip(n, c, strict=True)]
        assert values.tolist() == want


def test_shapes() -> None:
    one = pass_at_k(5, 2, 3)
    assert type(one) is float
    assert type(pass_at_k(np.int64(5), np.uint8(2), np.int32(3))) is float
    assert type(pass_at_k(5.0, 2, 3.0)) is float  # type: ignore[call-overload]
    assert pass_at_k(5, 2, [1, 3]).shape == (2,)
    assert pass_at_k([5, 4], 2, 3).shape == (2,)
    assert pass_at_k([5, 4], [[2], [1], [0]], 3).shape == (3, 2)
    assert pass_at_k([5, 4], [[2], [1], [0]], [1, 2, 3, 4]).shape == (3, 2, 4)
    assert pass_at_k([[5]], [2, 3, 4], 3).shape == (1, 3)
    assert pass_at_k([], [], 3).shape == (0,)
    assert pass_at_k(np.zeros((0, 3), int), 0, [1, 2]).shape == (0, 3, 2)
    assert pass_at_k(np.array([[5, 5], [5, 5]]).T, np.array([[2, 1], [0, 5]]), 3)[1, 0] == 0.0
    assert learnability([[4, 2]], [1]).tolist() == [[0.75, 1.0]]
    assert best_of_k([1.0, 3.0], [1, 2]).tolist() == [2.0, 3.0]


def test_non_contiguous_and_unsigned_counts() -> None:
    n = np.full((3, 4), 6, np.uint16)[:, ::2]
    c = np.arange(6, dtype=np.int32).reshape(2, 3).T[:, ::-1]
    assert pass_at_k(n, c, 1).tolist() == (c / 6).tolist()


def test_inputs_are_left_alone() -> None:
    scores = np.array([3.0, -0.0, 1.0])
    best_of_k(scores, 2)
    assert scores.tolist() == [3.0, 0.0, 1.0]
    assert math.copysign(1, scores[1]) == -1


def test_one_row_a_task() -> None:
    nan = math.nan
    want = np.array([[0.75, 1.0], [0.5, nan], [nan, nan]])
    grouped = best_of_k([0.5, nan, 1.0, 0.5, nan], [1, 2], groups=["b", "c", "b", "a", "c"])
    assert np.array_equal(grouped, want[[0, 2, 1]], equal_nan=True)
    assert np.array_equal(best_of_k([[0.5, 1.0], [nan, 0.5], [nan, nan]], [1, 2]), want, equal_nan=True)
    flat = [0.5, 1.0, None, 0.5, None, None]
    assert np.array_equal(best_of_k(flat, [1, 2], group_size=2), want, equal_nan=True)
    assert np.array_equal(
        best_of_k(flat, 2, groups=TaskIndex([7, 7, 8, 8, 9, 9])), want[:, 1], equal_nan=True
    )
    assert worst_of_k([[0.5, 1.0]], 2).tolist() == [0.5]
    assert median_of_k([[1.0, 2.0, 4.0]], 3).tolist() == [2.0]
    assert np.isnan(best_of_k(np.zeros((2, 0)), 1)).tolist() == [True, True]
    assert best_of_k(np.array([[1, 2], [3, 4]], np.float32)[:, ::-1], 2).tolist() == [2.0, 4.0]


def test_order_by_numpy() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(50, 6))
    draws = np.array(list(combinations(range(6), 4)))
    want = np.quantile(scores[:, draws], 0.3, axis=2).mean(axis=1)
    np.testing.assert_allclose(quantile_of_k(scores, 4, 0.3), want, rtol=0, atol=1e-14)


HUGE = 2**53 + 1


@pytest.mark.parametrize(
    ("n", "c", "k", "argument", "words"),
    [
        (5, 2, 6, "k", ["k = 6", "n = 5"]),
        ([9, 5], 2, [1, 6], "k", ["k = 6", "n = 5", "position 1"]),
        (5, 2, 0, "k", ["k = 0"]),
        (5, 2, [1, -2], "k", ["k = -2"]),
        (5, 2, [], "k", ["empty"]),
        (5, 2, [[1]], "k", ["2 dimensions"]),
        (5, 2, True, "k", ["bool"]),
        (5, 2, 1.5, "k", ["1.5"]),
        (5, 2, "3", "k", ["'3'"]),
        (5, 2, None, "k", ["None"]),
        (5, 6, 1, "c", ["c = 6", "n = 5"]),
        ([5, 5], [2, 6], 1, "c", ["c = 6", "n = 5", "position 1"]),
        (5, -1, 1, "c", ["-1", "negative"]),
        (5, [1.0, 1.5], 1, "c", ["1.5", "position 1"]),
        (5, math.nan, 1, "c", ["nan"]),
        (math.inf, 1, 1, "n", ["inf"]),
        (5, [True, False], 1, "c", ["bool", "True at position 0"]),
        (5, [1, None], 1, "c", ["None", "position 1"]),
        (5, ["a"], 1, "c", ["'a'"]),
        (HUGE, 1, 1, "n", [str(HUGE), "2^53"]),
        (float(HUGE + 1), 1, 1, "n", ["2^53"]),
        (2**70, 1, 1, "n", [str(2**70), "2^53"]),
        (np.uint64(2**63 + 5), 1, 1, "n", ["2^53"]),
        ([-(2**70)], 1, 1, "n", [str(-(2**70))]),
        ([5, 5], [1, 1, 1], 1, "c", ["(3,)", "(2,)"]),
        ([[1, 2], [3]], 1, 1, "n", []),
    ],
)
@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k, expected_attempts])
def test_counts_outside_their_domain(
    estimate: Callable[..., Any], n: Any, c: Any, k: Any, argument: str, words: list[str]
) -> None:
    with pytest.raises(ArgumentError) as caught:
        estimate(n, c, k)
    message = str(caught.value)
    assert message.startswith(f"{argument}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: g_pass_at_k(5, 2, 3, 1.5), "tau"),
        (lambda: g_pass_at_k(5, 2, 3, math.nan), "tau"),
        (lambda: g_pass_at_k(5, 2, 3, "half"), "tau"),  # type: ignore[call-overload]
        (lambda: at_least_m_of_k(5, 2, 3, 4), "m"),
        (lambda: at_least_m_of_k(5, 2, 3, -1), "m"),
        (lambda: exactly_m_of_k(5, 2, [3, 4], 4), "m"),
        (lambda: mg_pass_at_k(5, 2, 1, normalize=True), "normalize"),
        (lambda: learnability(0, 0), "n"),
        (lambda: learnability([5, 1], 1, unbiased=True), "n"),
        (lambda: order_statistic_of_k([1.0, 2.0], 2, 3), "j"),
        (lambda: order_statistic_of_k([1.0, 2.0], 2, 0), "j"),
        (lambda: quantile_of_k([1.0, 2.0], 2, 1.5), "q"),
        (lambda: quantile_of_k([[1.0, 2.0]], 2, math.nan), "q"),
        (lambda: best_of_k([1.0, math.nan], 2), "k"),
        (lambda: best_of_k([], 1), "k"),
        (lambda: best_of_k([1.0], 0), "k"),
        (lambda: best_of_k([[1.0]], [1, 0]), "k"),
        (lambda: best_of_k([1.0, -math.inf], 1), "scores"),
        (lambda: best_of_k([[1.0, math.inf]], 1), "scores"),
        (lambda: best_of_k(0.5, 1), "scores"),
        (lambda: best_of_k(np.zeros((1, 1, 1)), 1), "scores"),
        (lambda: best_of_k([1.0, 2.0], 1, groups=["a"]), "groups"),
        (lambda: best_of_k([1.0, 2.0], 1, group_size=0), "group_size"),
        (lambda: best_of_k([1.0, 2.0, 3.0], 1, group_size=2), "group_size"),
    ],
)
def test_arguments_outside_their_domain(call: Callable[[], Any], argument: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{argument}: "):
        call()


@pytest.mark.parametrize("scores", [["1.0", "2.0"], [1.0, "x"], [1.0, {}], [1j]])
def test_text_is_no_score(scores: Any) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^scores: "):
        best_of_k(scores, 1)


def test_an_infinite_score_is_named_where_it_stands() -> None:
    with pytest.raises(ArgumentError, match="inf at position 2"):
        best_of_k([1.0, 2.0, math.inf, 3.0], 1, groups=[1, 2, 1, 2])


def test_public_names() -> None:
    for name in ("pass_at_k", "pass_hat_k", "g_pass_at_k", "learnability", "best_of_k", "worst_of_k"):
        assert getattr(kofn, name) is getattr(kofn.estimators, name)
        assert name in kofn.__all__


@pytest.mark.parametrize("k", [2, [1, 2]])
def test_results_go_where_they_are_wanted(k: int | list[int]) -> None:
    n, c = np.array([[5, 6, 7]] * 2), np.array([[0, 3, 7], [1, 1, 2]])
    for estimator in (pass_at_k, pass_hat_k):
        fresh = estimator(n, c, k)
        out = np.full(fresh.shape, np.inf)
        assert estimator(n, c, k, out=out) is out
        np.testing.assert_array_equal(out, fresh)
    scores = np.array([[0.5, 1.0, np.nan], [0.25, np.nan, np.nan]])
    groups = np.repeat([7, 3], 3)
    for order in (best_of_k, worst_of_k):
        fresh = order(scores, k)
        out = np.full(fresh.shape, np.inf)
        assert order(scores, k, out=out) is out
        np.testing.assert_array_equal(out, fresh)
        assert order(scores.reshape(-1), k, groups=groups, out=out) is out
        np.testing.assert_array_equal(out, fresh)


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        (np.zeros(3), r"it is float64 \(3,\); it must be an array of float64 \(2, 1\)"),
        (np.zeros((2, 1), np.float32), r"it is float32 \(2, 1\); it must be"),
        (np.zeros((2, 2))[:, :1], "it is not contiguous, or read-only"),
        ([0.0, 0.0], r"it is list; it must be an array of float64 \(2, 1\)"),
    ],
)
def test_results_go_to_an_array_that_can_take_them(out: Any, problem: str) -> None:
    for call in (
        lambda: pass_at_k([5, 5], [1, 2], [1], out=out),
        lambda: best_of_k([[1.0], [2.0]], [1], out=out),
    ):
        with pytest.raises(ArgumentError, match=problem):
            call()


def test_a_result_does_not_go_over_what_it_is_made_from() -> None:
    scores = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ArgumentError, match="out: the array is read-only, overlaps an input"):
        best_of_k(scores, [1, 2], out=scores)
    with pytest.raises(ArgumentError, match="the result is a single float"):
        pass_at_k(5, 2, 3, out=np.zeros(1))
    with pytest.raises(ArgumentError, match="one task has few values"):
        best_of_k([1.0, 2.0], [1], out=np.zeros(1))
