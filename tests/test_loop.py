"""The training loop's call: plain arrays are read as they lie, and give what converted ones give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kofn

ROLLOUTS = 24
RANDOM = np.random.default_rng(5)
COLUMNS: dict[str, Any] = {
    "passed": RANDOM.random(ROLLOUTS) < 0.5,
    "scores": RANDOM.random(ROLLOUTS).astype(np.float32),
    "durations": RANDOM.random(ROLLOUTS) * 90,
    "tokens": RANDOM.integers(0, 2000, ROLLOUTS),
    "valid": RANDOM.random(ROLLOUTS) < 0.8,
}
GROUPS = RANDOM.integers(0, 5, ROLLOUTS)
ALL = ["pass@k", "pass^k", "pass_rate", "learnability", "mean_score", "best_of_k", "worst_of_k"]
ALL += ["mean_duration", "mean_total_tokens"]


def lists(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the same columns as lists, which are converted."""
    return {name: column.tolist() for name, column in columns.items()}


@pytest.mark.parametrize("names", [[name] for name in COLUMNS if name != "valid"] + [list(COLUMNS)])
@pytest.mark.parametrize("options", [{}, {"threshold": 0.5}, {"statistics": ALL, "k": (1, 2)}])
def test_plain_arrays_give_what_lists_give(names: list[str], options: dict[str, Any]) -> None:
    columns: dict[str, Any] = {name: COLUMNS[name] for name in names}
    if options.get("statistics") and names == ["scores"]:
        options = options | {"threshold": 0.5}
    expected = kofn.metrics(groups=GROUPS.tolist(), **lists(columns), **options)
    assert expected
    assert kofn.metrics(groups=GROUPS, **columns, **options) == expected
    assert kofn.metrics(groups=kofn.TaskIndex(GROUPS), **columns, **options) == expected
    # What does not lie plainly: strided, big-endian, read-only and wide columns.
    strided: dict[str, Any] = {name: np.repeat(column, 2)[::2] for name, column in columns.items()}
    assert kofn.metrics(groups=np.repeat(GROUPS, 2)[::2], **strided, **options) == expected
    swapped: dict[str, Any] = {
        name: column.astype(column.dtype.newbyteorder()) for name, column in columns.items()
    }
    assert kofn.metrics(groups=GROUPS.astype(">i4"), **swapped, **options) == expected
    wide: dict[str, Any] = columns | (
        {"scores": columns["scores"].astype(np.float64)} if "scores" in columns else {}
    )
    for column in wide.values():
        column.flags.writeable = False
    assert kofn.metrics(groups=GROUPS, **wide, **options) == expected
    totals = []
    for given in (columns, lists(columns)):
        total = kofn.Accumulator(denominator="recorded", on_short="omit", **options)
        total.update(groups=GROUPS, **given)
        totals.append(total.to_bytes())
    assert totals[0] == totals[1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_tasks_whatever_lies_first_in_memory(order: Any) -> None:
    columns: dict[str, Any] = {
        name: np.asarray(column.reshape(4, 6), order=order) for name, column in COLUMNS.items()
    }
    expected = kofn.metrics(**lists(columns), statistics=ALL, k=[1, 3])
    assert kofn.metrics(**columns, statistics=ALL, k=[1, 3]) == expected
    assert kofn.metrics(**columns, group_size=6, statistics=ALL, k=[1, 3]) == expected
    flat: dict[str, Any] = {name: column.reshape(-1) for name, column in COLUMNS.items()}
    assert kofn.metrics(**flat, group_size=6, statistics=ALL, k=[1, 3]) == expected


def test_bools_that_are_no_bools_are_true() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert kofn.metrics(passed=odd, groups=[0, 0, 1, 1], statistics="pass_rate") == {"pass_rate": 0.75}
    valid = kofn.metrics(
        passed=np.ones(4, bool),
        valid=odd,
        groups=[0, 0, 1, 1],
        statistics="pass_rate",
        denominator="scorable",
    )
    assert valid == {"pass_rate": 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": np.array([1, np.inf], np.float32)}, "scores: entry 1 is inf"),
        ({"tokens": np.array([1, -2])}, "tokens: entry 1 is -2"),
        ({"tokens": np.array([1, 2**53 + 1])}, "tokens: entry 1 is 9007199254740993"),
        ({"scores": np.ones(3)}, "groups: has 2 entries, there are 3 rollouts"),
        ({"scores": np.ones(2), "passed": np.ones(3, bool)}, r"scores: has shape \(2,\), passed has \(3,\)"),
        ({"scores": np.ones(2), "group_size": 2}, "give one of the two"),
        ({"scores": np.ones(2), "k": [True]}, "k: True is not a whole number"),
        ({"scores": np.ones(2), "k": 0}, "k: 0 is not a whole number"),
        ({"scores": np.ones(2), "k": 2**53 + 1}, "is not a whole number"),
        ({"scores": np.ones(2), "statistics": ["pass@1", "\ud800"]}, "lone surrogate"),
        ({"scores": np.ones(2), "requested": True}, "requested: True is not a whole number"),
        ({"scores": np.ones(2), "requested": 0}, "requested: 0 is not a whole number"),
        ({"scores": np.ones(2), "denominator": "all"}, 'denominator: "all" is not one of'),
        ({"scores": np.ones(2), "on_short": 1}, "on_short: 1, int; it must be text"),
        ({"scores": np.ones(2), "threshold": np.nan}, "threshold: nan is not a finite number"),
        ({"scores": np.ones(2), "threshold": "1"}, "threshold: '1' is not a number"),
    ],
)
def test_what_is_wrong_with_plain_arguments_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises((kofn.errors.ArgumentError, kofn.errors.ArgumentTypeError), match=message):
        kofn.metrics(groups=np.arange(2), **options)


def test_masked_arrays_hide_what_is_masked() -> None:
    scores = np.ma.masked_array(np.array([1, 0, 5], np.float32), [False, False, True])
    assert kofn.metrics(groups=np.zeros(3, int), scores=scores, statistics="mean_score") == {
        "mean_score": 0.5
    }


def test_numbers_and_words_of_other_types() -> None:
    plain = kofn.metrics(
        groups=GROUPS, passed=COLUMNS["passed"], statistics=["pass@k"], k=[1, 2], requested=9
    )
    k: Any = np.array([1, 2])
    requested: Any = np.int64(9)
    labels: Any = np.array(["pass@k"])
    threshold: Any = np.float32(0.5)
    assert plain == kofn.metrics(
        groups=GROUPS, passed=COLUMNS["passed"], statistics=labels, k=k, requested=requested
    )
    half = kofn.metrics(groups=GROUPS, scores=COLUMNS["scores"], threshold=0.5)
    assert half == kofn.metrics(groups=GROUPS, scores=COLUMNS["scores"], threshold=threshold)
    assert {f"val/{key}" for key in plain} == set(
        kofn.metrics(
            groups=GROUPS,
            passed=COLUMNS["passed"],
            statistics=("pass@k",),
            k=(1, 2),
            prefix="val/",
            requested=9,
        )
    )
