"""Arguments that make no sense: each door says so in one line of kofn's own errors, and none counts them silently."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from native import errors, kofn

from kofn.estimators import pass_at_k

if TYPE_CHECKING:
    from collections.abc import Callable

PASSED = [True, False, True, False]
GROUPS = [0, 0, 1, 1]
MASK = [False, False, True, True]
LONE = "\ud800"
HUGE = 10**5000


class Number(int, enum.Enum):
    """Integers that show themselves as something else."""

    ONE = 1
    TWO = 2


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(errors.KofnError) as caught:
        call()
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 4000
    return message


def metrics(**arguments: Any) -> dict[str, float]:
    found: dict[str, float] = kofn.metrics(**{"passed": PASSED, "groups": GROUPS, **arguments})
    return found


# -- columns


@pytest.mark.parametrize("column", ["passed", "scores", "durations", "tokens"])
@pytest.mark.parametrize("missing", [None, float("nan"), "masked", "NA"])
def test_what_a_column_misses_is_not_recorded(column: str, missing: Any) -> None:
    values: Any = [1, 0, missing, missing]
    if missing == "masked":
        values = np.ma.array([1, 0, 1, 1], mask=MASK)
    elif missing == "NA":
        values[2:] = [pytest.importorskip("pandas").NA] * 2
    arguments: dict[str, Any] = {"groups": GROUPS, "threshold": 0.5 if column == "scores" else None}
    assert kofn.metrics(**{column: values}, **arguments) == kofn.metrics(
        **{column: [1, 0, None, None]}, **arguments
    )


def test_a_mask_that_hides_nothing_changes_nothing() -> None:
    assert metrics(passed=np.ma.array(PASSED)) == metrics()


def test_what_cannot_be_missing_may_not_be_masked() -> None:
    assert "valid: entry 2 is None" in refused(lambda: metrics(valid=np.ma.array(PASSED, mask=MASK)))
    assert "groups: entry 2 is None" in refused(lambda: metrics(groups=np.ma.array(GROUPS, mask=MASK)))
    masked = np.ma.array([0, 2, 4], mask=[False, True, False])
    assert "offsets" in refused(lambda: kofn.grade_batch(PASSED, PASSED, masked))
    assert "None at position 1" in refused(lambda: pass_at_k(np.ma.array([4, 4], mask=[False, True]), 1, 1))


@pytest.mark.parametrize("column", ["passed", "scores", "durations", "tokens", "valid"])
@pytest.mark.parametrize(
    "value",
    [10**400, np.complex128(1), "1", b"1", object(), np.datetime64("2020-01-01"), "x" * 10**6, "a\nb"],
    ids=["huge", "complex", "text", "bytes", "object", "date", "long", "lines"],
)
def test_an_entry_that_is_no_number_is_named(column: str, value: Any) -> None:
    assert column in refused(lambda: metrics(**{column: np.array([value, 0, None, 1], object)}))


@pytest.mark.parametrize("values", [[2**53 + 1, None, 0, 0], np.array([2**53 + 1, 0, 0, 0])])
def test_tokens_are_never_rounded(values: Any) -> None:
    assert "9007199254740993" in refused(lambda: metrics(tokens=values))
    assert metrics(tokens=[2**53, None, None, None])["mean_total_tokens"] == 2**53


def test_half_precision_and_long_doubles_are_numbers() -> None:
    halves = np.array([1, 0, np.nan, 1], np.float16)
    assert metrics(tokens=halves)["mean_total_tokens"] == 0.75
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        beyond = np.full(4, np.finfo(np.longdouble).max)
        assert "scores" in refused(lambda: metrics(scores=beyond))


@pytest.mark.parametrize("column", ["passed", "valid"])
def test_bools_of_other_bytes_than_one_are_true_as_in_numpy(column: str) -> None:
    odd = np.array([2, 0, 255, 1], np.uint8).view(np.bool_)
    assert metrics(**{column: odd}) == metrics(**{column: odd.tolist()})


# -- groups


def test_kinds_of_integers_are_their_digits() -> None:
    ids = [Number.ONE, Number.TWO, np.int64(1), 1]
    assert kofn.TaskIndex(ids).ids == [1, 2]


@pytest.mark.parametrize(
    "groups",
    [[HUGE] * 4, ([1], [1, 2]), [LONE] * 4, [""] * 4, [[1] * 10**5] * 4, [None] * 4, "aaaa", [1.0] * 4],
)
def test_ids_that_are_none_are_refused(groups: Any) -> None:
    assert "groups" in refused(lambda: metrics(groups=groups))
    assert refused(lambda: metrics(by=groups)).startswith("by: ")


@pytest.mark.parametrize("size", [0, -1, 2**70, 1.5, "2", True, [2], 3])
def test_a_group_size_that_fits_nothing_is_refused(size: Any) -> None:
    assert "group_size" in refused(lambda: kofn.metrics(passed=PASSED, group_size=size))
    assert "group_size" in refused(lambda: kofn.best_of_k([1.0] * 4, 1, group_size=size))


# -- what is asked


@pytest.mark.parametrize(
    "k", [np.int64(2), np.array(2), Number.TWO, [2], (2,), {2}, np.array([2]), iter([2])]
)
def test_k_may_be_any_whole_number_or_a_list_of_them(k: Any) -> None:
    assert list(metrics(statistics=["pass@k"], k=k)) == ["pass_at_2"]


@pytest.mark.parametrize(
    "k", [0, -1, 1.5, True, "2", [True], [0], [[1]], 2**53 + 1, [HUGE], object(), float("nan")]
)
def test_a_k_that_is_none_is_refused(k: Any) -> None:
    assert "k: " in refused(lambda: metrics(statistics=["pass@k"], k=k))


@pytest.mark.parametrize("statistics", [5, [5], [None], b"pass@1", LONE, [LONE], object(), "x" * 10**6])
def test_labels_that_are_none_are_refused(statistics: Any) -> None:
    assert "statistics" in refused(lambda: metrics(statistics=statistics))


@pytest.mark.parametrize(
    "requested",
    [
        0,
        -1,
        1.5,
        True,
        "2",
        2**53 + 1,
        [2, 2],
        {True: 2},
        {1.0: 2},
        {None: 2},
        {"": 2},
        {LONE: 2},
        {0: 2, "0": 2},
    ],
)
def test_requested_counts_that_are_none_are_refused(requested: Any) -> None:
    assert "requested" in refused(lambda: metrics(requested=requested))
    assert "requested" in refused(lambda: kofn.Run.from_records([{"task": "a"}], requested=requested))


@pytest.mark.parametrize(
    "threshold", [float("nan"), float("inf"), 10**400, "0.5", True, [0.5], np.array([0.5]), 1j]
)
def test_a_threshold_that_is_none_is_refused(threshold: Any) -> None:
    assert "threshold" in refused(lambda: kofn.ScoreThreshold(threshold))


@pytest.mark.parametrize("argument", ["denominator", "on_short", "style"])
@pytest.mark.parametrize("value", ["x", 5, [], LONE])
def test_words_that_are_none_are_refused(argument: str, value: Any) -> None:
    assert argument in refused(lambda: metrics(**{argument: value}))


@pytest.mark.parametrize("argument", ["on_error", "on_duplicate", "on_ungradable", "format"])
@pytest.mark.parametrize("value", ["x", 5, [], LONE])
def test_options_of_reading_that_are_none_are_refused(argument: str, value: Any) -> None:
    if argument != "format":
        assert argument in refused(lambda: kofn.Run.from_records([{"task": "a"}], **{argument: value}))
    assert argument in refused(lambda: kofn.read("nowhere.jsonl", **{argument: value}))


def test_names_that_no_run_can_hold_are_refused() -> None:
    run = kofn.Run.from_records([{"task": "a", "passed": True}])
    for call in (
        lambda: run.report(by=LONE),
        lambda: run.report(by=5),
        lambda: run.rollouts(task=LONE),
        lambda: run.select(tasks=LONE),
        lambda: run.select(tasks=[LONE]),
        lambda: run.select(tags={5: "x"}),
        lambda: kofn.Accumulator(part=5),
        lambda: kofn.Accumulator(part=LONE),
        lambda: run.report()[LONE],
        lambda: kofn.grade_batch([1], [1], [0, 1], on_ungradable=[]),
        lambda: kofn.grade([kofn.required("a", True, HUGE)]),
    ):
        refused(call)


@pytest.mark.parametrize("data", [5, 10**12, "abc", None, [1, 2], b"", b"abc", memoryview(b"abc")])
def test_an_accumulator_is_restored_from_its_bytes_alone(data: Any) -> None:
    refused(lambda: kofn.Accumulator.from_bytes(data))


# -- policies of users


class Mine:
    """A policy with one thing wrong."""

    def __init__(self, outcomes: Any = (True,), id_: Any = "mine.v1", parameters: Any = None) -> None:
        self.id, self.parameters, self.answer = id_, {} if parameters is None else parameters, outcomes

    def outcomes(self, _run: Any, /) -> Any:
        return self.answer


@pytest.mark.parametrize(
    "policy",
    [
        Mine(id_=""),
        Mine(id_=5),
        Mine(id_=LONE),
        Mine(parameters={"id": "another"}),
        Mine(parameters={"text": LONE}),
        Mine(parameters={"number": float("nan")}),
        Mine(outcomes=np.ma.array([True], mask=[True])),
        Mine(outcomes=[[True], [True, False]]),
        Mine(outcomes=None),
        Mine(outcomes=[1]),
        Mine(outcomes=[True, True]),
    ],
)
def test_a_policy_that_cannot_stand_in_a_report_is_refused(policy: Mine) -> None:
    run = kofn.Run.from_records([{"task": "a", "passed": True}])
    refused(lambda: run.report(policy=policy))
