"""`metrics` and `Accumulator.update` on arrays say what the oracle says of the same rollouts as records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import oracle
import pytest
from agreement import differences, run_level
from hypothesis import given, settings
from hypothesis import strategies as st
from native import as_json, kofn
from oracle import Options
from strategies import AWKWARD, EXTREME

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

LABELS = ("pass@k", "pass^k", "best_of_k", "worst_of_k", "pass_rate", "learnability", "mean_score")
RESOURCES = ("mean_duration", "mean_total_tokens")


@dataclass(frozen=True)
class Arrays:
    """Rollouts as columns, and what is asked of them."""

    columns: dict[str, Any]
    options: Options

    def records(self) -> list[dict[str, Any]]:
        """Write the rows as native records; where nothing is valid, no verdict and no score exist."""
        made = []
        for i, group in enumerate(self.columns["groups"]):
            row = {name: column[i] for name, column in self.columns.items()}
            record: dict[str, Any] = {"task": str(group)}
            if row.get("valid", True):
                record |= {"verdict": "pass" if row["passed"] else "fail"} if "passed" in row else {}
                record |= {"score": float(row["scores"])}
            if "durations" in row:
                record["duration_s"] = float(row["durations"])
            if "tokens" in row and not math.isnan(row["tokens"]):
                record["usage"] = {"total_tokens": int(row["tokens"])}
            made.append(record)
        return made

    def report(self) -> dict[str, Any]:
        """What the oracle says; without requested counts each group's own count is n."""
        return oracle.report(self.records(), options=self.options)


@st.composite
def arrays(draw: DrawFn) -> Arrays:
    """Columns of one to ten rollouts; those that are not asked for may be left out."""
    size = draw(st.integers(1, 10))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=size, max_size=size))

    numbers = st.one_of(st.sampled_from((0.0, 0.5, 1.0, math.nan)), st.sampled_from((*AWKWARD, *EXTREME)))
    groups: Any = column(st.sampled_from(("a", "b", "é")) if draw(st.booleans()) else st.integers(-1, 2))
    integer = isinstance(groups[0], int)
    columns: dict[str, Any] = {
        "groups": np.array(groups, draw(st.sampled_from(("i8", "i4"))) if integer else None)
    }
    threshold = draw(st.sampled_from((None, 0.0, 0.5, 1.0)))
    if threshold is None:
        columns["passed"] = np.array(column(st.booleans()))
    columns["scores"] = np.array(column(numbers))
    if draw(st.booleans()):
        columns["durations"] = np.array(column(st.sampled_from((0.0, 0.1, 12.5, math.nan))))
        columns["tokens"] = np.array(column(st.sampled_from((0.0, 10.0, 12345.0, math.nan))))
    if draw(st.booleans()):
        columns["valid"] = np.array(column(st.booleans()))
    labels = LABELS if "durations" not in columns else (*LABELS, *RESOURCES)
    chosen = draw(st.lists(st.sampled_from(labels), min_size=1, unique=True))
    most = max(groups.count(group) for group in groups)
    requested = draw(st.sampled_from((None, most, most + 2)))
    return Arrays(
        columns,
        Options(
            statistics=tuple(chosen),
            k=(1, 2, 3) if any(label.endswith("k") for label in chosen) else (),
            threshold=threshold,
            requested=requested,
            denominator=draw(st.sampled_from(("scorable", "recorded" if requested is None else "requested"))),
            on_short="omit",
        ),
    )


def asked(options: Options) -> dict[str, Any]:
    return {
        "statistics": list(options.statistics or ()),
        "k": list(options.k) or None,
        "threshold": options.threshold,
        "requested": options.requested,
        "denominator": options.denominator,
        "on_short": options.on_short,
    }


@settings(max_examples=80, deadline=None)
@given(arrays())
def test_metrics(case: Arrays) -> None:
    found = kofn.metrics(**case.columns, **asked(case.options), style="symbols")
    right = case.report()
    assert set(found) == set(right["statistics"])
    reach = float(np.nanmax(np.abs(case.columns["scores"]), initial=0.0))
    for label, value in right["statistics"].items():
        assert run_level(label, found[label], value, reach), (label, found[label], value)


@settings(max_examples=40, deadline=None)
@given(arrays(), st.integers(0, 10))
def test_accumulated_arrays(case: Arrays, cut: int) -> None:
    total = kofn.Accumulator(**asked(case.options))
    for part in (slice(0, cut), slice(cut, None)):
        if len(case.columns["groups"][part]):
            total.update(**{name: column[part] for name, column in case.columns.items()})
    assert differences(as_json(total.report()), case.report()) == []


@pytest.mark.spec("6.3")
def test_undefined_labels_are_left_out() -> None:
    found = kofn.metrics(
        groups=[1, 1, 2], scores=[math.nan] * 3, passed=[True, False, True], statistics=["mean_score"]
    )
    assert found == {}


@pytest.mark.spec("6.10")
def test_styles_of_keys() -> None:
    arguments: dict[str, Any] = {"groups": ["a", "a"], "passed": [True, False], "k": [2], "prefix": "val/"}
    arguments["statistics"] = ["pass@k", "pass^k"]
    assert kofn.metrics(**arguments) == {"val/pass_at_2": 1.0, "val/pass_hat_2": 0.0}
    assert kofn.metrics(**arguments, style="symbols") == {"val/pass@2": 1.0, "val/pass^2": 0.0}


@pytest.mark.spec("4.5")
def test_requested_counts_are_the_denominator_where_they_are_given() -> None:
    columns: dict[str, Any] = {"groups": [1, 1, 2], "passed": [True, False, True], "statistics": "pass_rate"}
    assert kofn.metrics(**columns) == {"pass_rate": 0.75}
    assert kofn.metrics(**columns, requested=4) == {"pass_rate": 0.25}
    assert kofn.metrics(**columns, requested={1: 4, 2: 2}) == {"pass_rate": 0.375}
    assert kofn.metrics(**columns, requested=4, denominator="recorded") == {"pass_rate": 0.75}


def test_no_rollouts_have_no_figures() -> None:
    assert kofn.metrics(groups=[], passed=[]) == {}


@pytest.mark.spec("6.11")
def test_a_value_of_by_stands_before_its_figures() -> None:
    found = kofn.metrics(
        passed=[[True, False], [True, True]],
        by=[["x", "x"], ["y", "y"]],
        statistics="pass_rate",
        prefix="val/",
    )
    assert found == {"val/pass_rate": 0.75, "val/x/pass_rate": 0.5, "val/y/pass_rate": 1.0}
