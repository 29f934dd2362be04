"""Whole reports of random runs: through every door what the oracle says, and the same bits."""

from __future__ import annotations

import doors
from agreement import SAME_BITS, differences
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Case, asking, cases

few = settings(max_examples=40, deadline=None)
many = settings(max_examples=200, deadline=None)
seeds = st.integers(0, 2**32)


def agrees(found: doors.Outcome, right: doors.Outcome) -> None:
    assert found[0] == right[0], f"{found} {right}"
    if right[0] == "refused":
        assert found[1] in right[1]
    elif right[0] == "report":
        assert differences(found[1], right[1]) == []


def same(found: doors.Outcome, first: doors.Outcome, keys: tuple[str, ...] = SAME_BITS) -> None:
    assert found[0] == first[0], f"{found} {first}"
    if first[0] == "report":
        assert doors.text_of(found[1], keys) == doors.text_of(first[1], keys)


@many
@given(cases())
def test_a_file(case: Case) -> None:
    agrees(doors.outcome(lambda: doors.through_bytes(case)), doors.judged(case))


@few
@given(cases())
def test_records(case: Case) -> None:
    first = doors.outcome(lambda: doors.through_bytes(case))
    same(doors.outcome(lambda: doors.through_records(case)), first)


@few
@given(cases(), seeds)
def test_files_in_any_order_and_split(case: Case, seed: int) -> None:
    first = doors.outcome(lambda: doors.through_bytes(case))
    same(doors.outcome(lambda: doors.through_files(case, seed)), first)


@few
@given(cases(), seeds)
def test_the_command_line(case: Case, seed: int) -> None:
    first = doors.outcome(lambda: doors.through_bytes(case))
    found = doors.outcome(lambda: doors.through_the_command_line(case, seed))
    same(found, ("error", None) if first[0] == "refused" else first)


@few
@given(cases(by=False), seeds)
def test_accumulators_merged_in_any_tree(case: Case, seed: int) -> None:
    first = doors.outcome(lambda: doors.through_bytes(case))
    same(doors.outcome(lambda: doors.through_accumulators(case, seed)), first)


@few
@given(cases(), seeds)
def test_the_oracle_does_not_mind_the_order_either(case: Case, seed: int) -> None:
    parts = [one for part in doors.parts_of(case, seed) for one in part]
    assert doors.judged(Case(case.header, parts, case.options)) == doors.judged(case)
    assert doors.judged(asking(case)) == doors.judged(case)
