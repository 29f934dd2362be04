"""Tests of two runs against each other by their definitions: every case enumerated, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Counts = tuple[int, int]
"""c of n."""


def hypergeometric(n: int, c: int, k: int) -> dict[int, Fraction]:
    """How many of k rollouts drawn from n pass, of which c do."""
    return {
        j: Fraction(comb(c, j) * comb(n - c, k - j), comb(n, k))
        for j in range(max(0, k - n + c), min(k, c) + 1)
    }


def sign_flip(differences: Sequence[Fraction]) -> Fraction:
    """The share of sign patterns whose sum is at least as large."""
    observed = abs(sum(differences, Fraction(0)))
    sums = (
        sum((s * d for s, d in zip(signs, differences, strict=True)), Fraction(0))
        for signs in product((1, -1), repeat=len(differences))
    )
    return Fraction(sum(abs(total) >= observed for total in sums), 2 ** len(differences))


def convolved(laws: Iterable[Mapping[int, Fraction]]) -> dict[int, Fraction]:
    """The law of the sum."""
    total = {0: Fraction(1)}
    for law in laws:
        step: dict[int, Fraction] = {}
        for (a, p), (b, q) in product(total.items(), law.items()):
            step[a + b] = step.get(a + b, Fraction()) + p * q
        total = step
    return total


def stratified(pairs: Sequence[tuple[Counts, Counts]]) -> Fraction:
    """Twice the smaller tail of the first run's successes, given each task's total."""
    law = convolved(hypergeometric(n_a + n_b, c_a + c_b, n_a) for (c_a, n_a), (c_b, n_b) in pairs)
    observed = sum(a for (a, _), _ in pairs)
    lower = sum((p for value, p in law.items() if value <= observed), Fraction())
    upper = sum((p for value, p in law.items() if value >= observed), Fraction())
    return min(Fraction(1), 2 * min(lower, upper))


def fisher(a: Counts, b: Counts) -> Fraction:
    """Tables no likelier than this one, given all totals."""
    law = hypergeometric(a[1] + b[1], a[0] + b[0], a[1])
    return sum((p for p in law.values() if p <= law[a[0]]), Fraction())


def mcnemar(gained: int, lost: int, *, mid: bool) -> Fraction:
    """Twice the smaller tail of a fair coin; the mid-p form counts the observed value half."""
    n, least = gained + lost, min(gained, lost)
    tail = Fraction(sum(comb(n, i) for i in range(least + 1)), 2**n)
    at = Fraction(comb(n, least), 2**n)
    if not mid:
        return min(Fraction(1), 2 * tail)
    return 1 - at if gained == lost else 2 * tail - at


def holm(p: Sequence[Fraction]) -> list[Fraction]:
    """By the formula, each rank by itself."""
    ranked = sorted(p)
    adjusted = {
        value: max(min(Fraction(1), (len(p) - j) * ranked[j]) for j in range(i + 1))
        for i, value in enumerate(ranked)
    }
    return [adjusted[value] for value in p]


def benjamini_hochberg(p: Sequence[Fraction]) -> list[Fraction]:
    """By the formula, each rank by itself."""
    ranked = sorted(p)
    adjusted: dict[Fraction, Fraction] = {}
    for i, value in enumerate(ranked):
        least = min(min(Fraction(1), len(p) * ranked[j] / (j + 1)) for j in range(i, len(p)))
        adjusted[value] = min(least, adjusted.get(value, least))
    return [adjusted[value] for value in p]


def posterior(n: int, c: int, k: int, a: Fraction, b: Fraction, least: int) -> tuple[Fraction, Fraction]:
    """Mean and variance of P(at least `least` of k), by the moments of a Beta law."""

    def moment(passes: int, fails: int) -> Fraction:
        value = Fraction(1)
        shapes, done = [a + c, b + n - c], 0
        for shape, count in zip(shapes, (passes, fails), strict=True):
            for i in range(count):
                value *= (shape + i) / (a + b + n + done)
                done += 1
        return value

    ways = {j: comb(k, j) for j in range(least, k + 1)}
    mean = sum((w * moment(j, k - j) for j, w in ways.items()), Fraction())
    square = sum(
        (w * v * moment(i + j, 2 * k - i - j) for (i, w), (j, v) in product(ways.items(), ways.items())),
        Fraction(),
    )
    return mean, square - mean * mean


def probability_above(a: tuple[int, int], b: tuple[int, int]) -> Fraction:
    """P(X > Y) of Beta variables with whole shapes, by the number of one's successes before the other's."""
    (alpha, beta), (gamma, delta) = a, b
    total = Fraction()
    for i in range(alpha):
        # Evan Miller's sum: B(gamma + i, beta + delta) / ((beta + i) B(1 + i, beta) B(gamma, delta)).
        total += _beta(gamma + i, beta + delta) / ((beta + i) * _beta(1 + i, beta) * _beta(gamma, delta))
    return total


def _beta(a: int, b: int) -> Fraction:
    return Fraction(a + b, a * b * comb(a + b, a))
