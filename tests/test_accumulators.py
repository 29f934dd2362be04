"""`Accumulator` on its own: what it takes, what it refuses, and what travels as bytes. Figures: `test_arrays_report`."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kofn
from kofn import Accumulator, Run
from kofn.errors import ArgumentError, ArgumentTypeError, DuplicateError, MergeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

RECORDS: list[dict[str, Any]] = [
    {"task": "a", "rollout": 0, "verdict": "pass", "score": 0.75},
    {"task": "a", "rollout": 1, "verdict": "fail", "score": 0.5},
    {"task": "b", "rollout": 0, "verdict": "pass", "score": 0.25},
    {"task": "b", "rollout": 1, "verdict": "pass", "score": 1.0},
]


class Last:
    """A user's policy: the last rollout of a run succeeds."""

    id = "last.v1"

    def __init__(self, weight: int = 1) -> None:
        self.parameters = {"weight": weight}

    def outcomes(self, run: Run, /) -> NDArray[np.bool_]:
        successes = np.zeros(len(run), np.bool_)
        successes[-1] = True
        return successes


@pytest.fixture(name="run")
def fixture_run() -> Run:
    return Run.from_records(RECORDS)


def test_runs_and_columns_add_up(run: Run) -> None:
    total = Accumulator("pass_rate", denominator="recorded")
    total.update(run)
    total.update(groups=["c"], passed=[False])
    assert len(total) == 5
    assert total.report()["pass_rate"].value == (0.5 + 1.0 + 0.0) / 3
    assert total.report().denominator == "recorded"


def test_no_columns_add_no_rollouts() -> None:
    total = Accumulator("pass_rate")
    total.update(groups=[], passed=[])
    assert len(total) == 0


@pytest.mark.parametrize(
    "columns",
    [
        {"groups": ["a"]},
        {"group_size": 1},
        {"passed": [True]},
        {"scores": [1.0]},
        {"durations": [1.0]},
        {"tokens": [1]},
        {"valid": [True]},
    ],
    ids=str,
)
def test_a_run_beside_columns_is_refused(run: Run, columns: dict[str, Any]) -> None:
    total = Accumulator()
    with pytest.raises(ArgumentError, match="a run or columns, not both"):
        total.update(run, **columns)
    assert len(total) == 0


def test_what_is_neither_a_run_nor_an_accumulator_is_named() -> None:
    total = Accumulator()
    with pytest.raises(ArgumentTypeError, match=r"list is no Run; read one with kofn\.read"):
        total.update(RECORDS)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="merge takes accumulators, not bytes"):
        total.merge(Accumulator(), b"bytes")  # type: ignore[arg-type]


def test_an_addition_that_is_refused_leaves_no_trace(run: Run) -> None:
    total = Accumulator()
    total.update(run)
    before = total.to_bytes()
    with pytest.raises(DuplicateError):
        total.update(run)
    other = Accumulator("mean_score")
    other.update(run)
    with pytest.raises(MergeError, match="statistics"):
        total.merge(other)
    assert total.to_bytes() == before


def test_parts_are_known_again(run: Run) -> None:
    total, shard = Accumulator(), Accumulator(part="s0")
    shard.update(run)
    assert (repr(total), repr(shard)) == (
        "<Accumulator of 0 rollouts>",
        "<Accumulator of 4 rollouts, part='s0'>",
    )
    total.merge(shard, pickle.loads(pickle.dumps(shard)))
    assert len(total) == 4
    assert any("skipped" in note for note in total.report().notes)


def test_tasks_leave_as_arrow(run: Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    total = Accumulator("pass_rate")
    total.update(run)
    assert pyarrow.table(total.to_arrow())["pass_rate"].to_pylist() == [0.5, 1.0]


def test_a_restored_accumulator_goes_on_with_its_threshold(run: Run) -> None:
    total = Accumulator("pass_rate", threshold=0.5)
    total.update(run)
    total = Accumulator.from_bytes(memoryview(total.to_bytes()))
    total.update(groups=["c", "c"], scores=[0.5, 0.4])
    report = total.report()
    assert report["pass_rate"].value == (1.0 + 0.5 + 0.5) / 3
    assert report.policy == {"id": "score_threshold.v1", "threshold": 0.5}


def test_a_users_policy_decides_on_runs_alone_and_no_longer_after_a_journey(run: Run) -> None:
    total = Accumulator("pass_rate", policy=Last(weight=7))
    with pytest.raises(ArgumentError, match=r"last\.v1 decides on runs"):
        total.update(groups=["a"], passed=[True])
    total.update(run)
    restored = Accumulator.from_bytes(total.to_bytes())
    assert restored.report() == total.report()
    assert restored.report().policy == {"id": "last.v1", "weight": 7}
    assert restored.report()["pass_rate"].value == 0.25
    with pytest.raises(ArgumentError, match=r"last\.v1: was read from bytes and cannot decide"):
        restored.update(Run.from_records([{"task": "c"}]))
    fresh = Accumulator("pass_rate", policy=Last(weight=7))
    fresh.update(Run.from_records([{"task": "c"}, {"task": "c"}]))
    restored.merge(fresh)
    assert restored.report()["pass_rate"].value == (0.0 + 0.5 + 0.5) / 3


def test_counts_that_came_with_a_run_are_the_requested_ones_of_its_report() -> None:
    run = kofn.Run.from_records(RECORDS, requested=4)
    report = run.report("pass_rate")
    assert (report.requested_from, report["pass_rate"].value) == ("given", (0.25 + 0.5) / 2)
    assert run.report("pass_rate", requested=8)["pass_rate"].value == (0.125 + 0.25) / 2
