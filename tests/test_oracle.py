"""The oracle itself, against published figures of real runs and exact values found another way."""

from __future__ import annotations

import itertools
from fractions import Fraction

import oracle
import pytest
from oracle import Options, OracleError, RefusalError
from shared_data import TAU_BENCH, TERMINAL_BENCH, expected, needs_data, tau_bench, terminal_bench


@needs_data
@pytest.mark.parametrize("name", TERMINAL_BENCH)
def test_terminal_bench(name: str) -> None:
    header, records = terminal_bench(name)
    exact = expected(name)["exact"]
    labels = tuple(label for label in exact if not label.endswith("_tasks"))
    found = oracle.report(records, header, Options(statistics=labels))
    for label in labels:
        n_tasks = exact.get(f"{label}_tasks") or exact.get(f"{label.replace('worst', 'best')}_tasks") or 80
        assert found["statistics"][label].n_tasks == n_tasks, label
        # Rewards such as 2/3 are floats before they are averaged; everything else is exact.
        from_rewards = label.startswith(("mean_score", "best_of", "worst_of"))
        off = abs(found["statistics"][label].exact - Fraction(exact[label]))
        assert off <= (Fraction(1, 10**15) if from_rewards else 0), label


@needs_data
def test_tau_bench() -> None:
    exact = expected(TAU_BENCH)["exact"]
    found = oracle.report(tau_bench(), options=Options(statistics=tuple(exact), threshold=1.0))
    assert {label: str(value.exact) for label, value in found["statistics"].items()} == exact
    assert found["requested_from"] == "inferred"


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_k_labels_are_means_over_subsets(k: int) -> None:
    """pass@k, pass^k, best and worst of k are what they say, by going through every subset."""
    scores = [0.25, -1.0, 0.25, 3.5]
    records = [{"task": "t", "score": score} for score in scores]
    found = oracle.report(
        records, options=Options(("pass@k", "pass^k", "best_of_k", "worst_of_k"), k=(k,), threshold=0.25)
    )
    subsets = list(itertools.combinations(scores, k))
    by_hand: dict[str, list[bool] | list[Fraction]] = {
        f"pass@{k}": [any(x >= 0.25 for x in subset) for subset in subsets],
        f"pass^{k}": [all(x >= 0.25 for x in subset) for subset in subsets],
        f"best_of_{k}": [Fraction(max(subset)) for subset in subsets],
        f"worst_of_{k}": [Fraction(min(subset)) for subset in subsets],
    }
    assert {label: value.exact for label, value in found["statistics"].items()} == {
        label: sum(map(Fraction, values), Fraction()) / len(subsets) for label, values in by_hand.items()
    }


def test_refusals_name_their_labels() -> None:
    records = [{"task": "a", "passed": True}, {"task": "b", "passed": True}, {"task": "b", "passed": False}]
    with pytest.raises(RefusalError) as refused:
        oracle.report(records, options=Options(("pass@1", "mean_score", "pass_rate")))
    assert refused.value.labels == {"pass@1", "pass_rate"}
    assert oracle.report(records)["omitted"] >= {"pass@1", "mean_score"}


def test_errors_are_not_refusals() -> None:
    with pytest.raises(OracleError):
        oracle.report([{"task": "a", "passed": "false"}])
