"""One fault in a random run is an error through every door, and a copied record is dropped or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import doors
import oracle
import pytest
from agreement import SAME_BITS, differences
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from native import as_json, kofn
from strategies import Case, runs

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

few = settings(max_examples=30, deadline=None)

FAULTS: dict[str, dict[str, Any]] = {
    "status": {"status": "failed"},
    "infinite score": {"verifiers": [{"name": "v", "score": float("inf")}]},
    "text score": {"verifiers": [{"name": "v", "score": "0.5"}]},
    "verdict": {"verifiers": [{"name": "v", "verdict": "PASS"}]},
    "two of a name": {"verifiers": [{"name": "v"}, {"name": "v"}]},
    "ungradable": {
        "verifiers": [{"name": "v", "checks": [{"label": "a", "required": False, "passed": True}]}]
    },
    "truthy check": {"verifiers": [{"name": "v", "checks": [{"label": "a", "required": True, "passed": 2}]}]},
    "score against checks": {
        "verifiers": [
            {"name": "v", "score": 0.5, "checks": [{"label": "a", "required": True, "passed": True}]}
        ]
    },
    "verdict against checks": {
        "verifiers": [
            {"name": "v", "verdict": "fail", "checks": [{"label": "a", "required": True, "passed": True}]}
        ]
    },
    "short form beside verifiers": {"verifiers": [{"name": "v"}], "score": 1.0},
    "negative duration": {"duration_s": -1.5},
    "infinite duration": {"duration_s": float("inf")},
    "negative tokens": {"usage": {"input_tokens": -1, "output_tokens": 2}},
    "tokens that do not add up": {"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 4}},
    "infinite reading": {"verifiers": [{"name": "v", "readings": [{"metric": "m", "value": float("-inf")}]}]},
    "negative index": {"rollout": -1},
    "empty id": {"task": ""},
    "bool id": {"task": True},
}
SHORT = ("checks", "score", "reward", "verdict", "passed")


@st.composite
def plain_cases(draw: DrawFn) -> Case:
    header, records = draw(runs())
    return Case(header, records, oracle.Options())


@pytest.mark.spec("7.4")
@pytest.mark.parametrize("fault", FAULTS)
@settings(max_examples=4, deadline=None)
@given(case=plain_cases(), data=st.data())
def test_one_fault_is_an_error(fault: str, case: Case, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(case.records) - 1))
    kept = {key: value for key, value in case.records[place].items() if key not in SHORT}
    broken = [*case.records[:place], kept | FAULTS[fault], *case.records[place + 1 :]]
    bad = Case(case.header, broken, oracle.Options())
    assert doors.judged(bad) == ("error", None)
    assert doors.outcome(lambda: doors.through_bytes(bad)) == ("error", None)
    with pytest.raises(kofn.KofnError) as error:
        kofn.Run.from_records(bad.lines())
    assert f"record {place + 2}" in str(error.value)


@pytest.mark.spec("4.6")
@few
@given(plain_cases(), st.data())
def test_copies_are_dropped_or_refused(case: Case, data: st.DataObject) -> None:
    """Equal copies change nothing but a note, wherever they stand; without leave they are an error."""
    keyed = [record for record in case.records if record.get("rollout") is not None]
    assume(keyed)
    copies = data.draw(st.lists(st.sampled_from(keyed), min_size=1, max_size=3))
    records = data.draw(st.permutations([*case.records, *copies]))
    twice = Case(case.header, records, case.options)
    assert doors.outcome(lambda: doors.through_bytes(twice)) == doors.judged(twice) == ("error", None)
    run = kofn.Run.from_records(twice.lines(), on_duplicate="identical")
    right = oracle.report(records, case.header, replace(case.options, on_duplicate="identical"))
    found = as_json(run.report())
    assert differences(found, right) == []
    first = as_json(kofn.Run.from_records(case.lines()).report())
    assert doors.text_of(found, SAME_BITS) == doors.text_of(first, SAME_BITS)


@pytest.mark.spec("7.4", "4.4")
@few
@given(plain_cases(), st.integers(0, 2**32))
def test_skipped_lines_only_cost_the_inference(case: Case, seed: int) -> None:
    lines: list[Any] = [{"run": case.header}, *case.records]
    lines.insert(1 + seed % len(lines), {"task": "t", "status": "failed"})
    run = kofn.Run.from_records(lines, on_error="skip")
    right = oracle.report(case.records, case.header, replace(case.options, skipped=True))
    assert differences(as_json(run.report()), right) == []
