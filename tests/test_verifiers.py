"""Verifiers: facts, projections, decisions, and what happens when they break (spec 3)."""

from __future__ import annotations

import asyncio
import functools
import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from kofn import Check, Reading, Verdict, Verification, Verifier, grade, optional, required
from kofn.errors import ArgumentError, ArgumentTypeError, GradingError
from kofn.verifiers import (
    AtLeast,
    Facts,
    ReadingMean,
    ReadingValue,
    RecordedError,
    RequiredChecks,
    Reward,
    Within,
    averify,
    verify,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PASSING = [required("a", True), optional("b", False)]
FAILING = [required("a", False), optional("b", True)]


def constant(value: Any) -> Any:
    return lambda _: value


def raising(error: BaseException) -> Any:
    def fails(*_: Any) -> Any:
        raise error

    return fails


@pytest.mark.parametrize(
    ("returned", "score", "verdict"),
    [
        (PASSING, 0.5, "pass"),
        (tuple(FAILING), 0.5, "fail"),
        (PASSING[0], 1.0, "pass"),
        (grade(FAILING), 0.5, "fail"),
        ([Reading("m", 1), *PASSING], 0.5, "pass"),
        (Reading("m", 1), None, None),
        ([Reading("m", None)], None, None),
        (None, None, None),
    ],
    ids=str,
)
def test_what_record_may_return(returned: Any, score: float | None, verdict: str | None) -> None:
    async def late(_: Any) -> Any:
        await asyncio.sleep(0)
        return returned

    for found in (
        Verifier("v", constant(returned))(None),
        Verifier("v", late)(None),
        asyncio.run(Verifier("v", late).acall(None)),
        asyncio.run(Verifier("v", constant(returned)).acall(None)),
    ):
        assert (found.score, found.verdict, found.error) == (score, verdict, None)
        assert (found.projection, found.decision) == (None, None)


def test_record_may_yield() -> None:
    def plain(subject: int) -> Iterator[Check]:
        yield required("a", subject == 1)
        yield optional("b", True)

    async def late(subject: int) -> AsyncIterator[Check]:
        await asyncio.sleep(0)
        for check in plain(subject):
            yield check

    for record in (plain, late):
        assert Verifier("v", record)(1).score == 1.0
        assert asyncio.run(Verifier("v", record).acall(0)).verdict == "fail"


@pytest.mark.parametrize(
    "returned",
    [
        True,
        "pass",
        0.5,
        {"a": True},
        {required("a", True)},
        [True],
        [[required("a", True)]],
        [None],
        object(),
    ],
    ids=repr,
)
def test_wrong_returns_name_the_verifier(returned: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="verifier 'v': record returned"):
        Verifier("v", constant(returned))(None)


@pytest.mark.parametrize(
    "returned",
    [[], (), [optional("a", True)], [required("a", True)] * 2, [Reading("m", 1), optional("a", True)]],
    ids=str,
)
@pytest.mark.parametrize(
    "rules", [{}, {"decision": AtLeast(0)}, {"projection": ReadingValue("m")}, {"advisory": True}], ids=str
)
def test_checks_that_cannot_be_graded_propagate_whatever_the_rules(returned: Any, rules: Any) -> None:
    with pytest.raises(GradingError, match="verifier 'v'"):
        Verifier("v", constant(returned), **rules)(None)


def test_complaints_from_within_record_propagate() -> None:
    records: list[Any] = [
        lambda _: required("a", cast("bool", None)),
        lambda _: grade([]),
        lambda _: Reading("m", math.inf),
    ]
    for record in records:
        with pytest.raises((ArgumentError, ArgumentTypeError, GradingError), match="verifier 'v': "):
            Verifier("v", record)(None)


@pytest.mark.parametrize(
    ("broken", "advisory"),
    # An advisory verifier does not ask its decision.
    [("record", False), ("projection", False), ("decision", False), ("record", True), ("projection", True)],
)
def test_raising_is_indeterminate_and_keeps_the_error(broken: str, advisory: bool) -> None:
    functions = {"record": constant(PASSING)} | {broken: raising(TimeoutError("60 s"))}
    found = Verifier("v", **functions, advisory=advisory)(None)
    assert found.verdict == (None if advisory else "indeterminate")
    assert found.error == RecordedError("60 s", "TimeoutError")
    assert found.checks == (() if broken == "record" else tuple(PASSING))
    assert found.score == (0.5 if broken == "decision" else None)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()], ids=repr)
@pytest.mark.parametrize("broken", ["record", "projection", "decision"])
def test_requests_to_stop_are_no_verdict(error: BaseException, broken: str) -> None:
    functions = {"record": constant(PASSING)} | {broken: raising(error)}
    with pytest.raises(type(error)):
        Verifier("v", **functions)(None)


def test_an_error_that_cannot_be_shown_is_an_error() -> None:
    class Mute(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError

    found = Verifier("v", raising(Mute()))(None)
    assert found.verdict == "indeterminate"
    assert found.error is not None
    assert found.error.type == "Mute"


def test_an_advisory_verifier_scores_and_never_decides() -> None:
    decisions: list[int] = []

    def decide(*_: Any) -> str:
        decisions.append(1)
        return "fail"

    verifier = Verifier("v", constant(FAILING), decision=decide, advisory=True)
    found = verifier(None)
    assert (found.score, found.verdict, decisions) == (0.5, None, [])
    # Stored with a decision's name, so that a file does not derive a verdict from its checks.
    assert found.decision == "advisory"


def test_async_under_a_running_loop_is_refused_with_the_way_on() -> None:
    async def late(_: Any) -> Any:
        return PASSING

    async def main() -> None:
        with pytest.raises(ArgumentTypeError, match="acall"):
            Verifier("v", late)(None)

    asyncio.run(main())


@pytest.mark.parametrize("score", ["1", b"1", [1], object()], ids=repr)
def test_scores_are_never_text(score: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="verifier 'v': the score"):
        Verifier("v", constant(PASSING), projection=constant(score))(None)


@pytest.mark.parametrize("score", [math.inf, -math.inf, 10**400], ids=["inf", "-inf", "huge"])
def test_scores_are_finite(score: Any) -> None:
    with pytest.raises(ArgumentError, match="finite"):
        Verifier("v", constant(PASSING), projection=constant(score))(None)


@pytest.mark.parametrize(
    ("returned", "score"),
    [(math.nan, None), (None, None), (True, 1.0), (np.float32(0.5), 0.5), (3, 3.0), (-2.5, -2.5)],
    ids=repr,
)
def test_scores_a_projection_may_return(returned: Any, score: float | None) -> None:
    found = Verifier("v", constant(PASSING), projection=constant(returned))(None)
    assert (found.score, found.verdict) == (score, "pass")


@pytest.mark.parametrize(
    ("returned", "verdict"),
    [
        (True, "pass"),
        (np.False_, "fail"),
        ("passed", "pass"),
        (Verdict.INDETERMINATE, "indeterminate"),
        ("timeout", "indeterminate"),
        (None, None),
    ],
    ids=repr,
)
def test_verdicts_a_decision_may_return(returned: Any, verdict: str | None) -> None:
    assert Verifier("v", constant(FAILING), decision=lambda *_: returned)(None).verdict == verdict


@pytest.mark.parametrize("returned", [1, 0.0, "Pass", "yes", [], object()], ids=repr)
def test_other_verdicts_are_refused(returned: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="verifier 'v': "):
        Verifier("v", constant(FAILING), decision=lambda *_: returned)(None)


def own_rule(_: Facts, score: float | None = None) -> Any:
    return None if score is None else score > 0.4


def test_rules_are_named_as_they_are_stored() -> None:
    def names(**rules: Any) -> tuple[str | None, str | None]:
        found = Verifier("v", constant([*PASSING, Reading("m", 1, subject="s")]), **rules)(None)
        return found.projection, found.decision

    assert names() == names(projection=Reward(), decision=RequiredChecks()) == (None, None)
    assert names(projection=ReadingValue("m"), decision=AtLeast(0.7)) == ("reading:m", "at_least:0.7")
    assert names(projection=ReadingMean("m", subject="s"), decision=Within(0, 1.5)) == (
        "mean:s/m",
        "within:0:1.5",
    )
    assert names(projection=own_rule, decision=own_rule) == ("own_rule", "own_rule")
    assert names(decision=functools.partial(own_rule)) == (None, "own_rule")
    assert AtLeast(0.1 + 0.2).name == "at_least:0.30000000000000004"


@pytest.mark.parametrize(
    ("threshold", "score", "verdict"),
    [
        (0.7, 0.7, "pass"),
        (0.3, 0.1 + 0.2, "pass"),
        (0.1 + 0.2, 0.3, "pass"),
        (0.7, 0.69, "fail"),
        (0, 0.0, "pass"),
        (0, -0.1, "fail"),
        (1e6, 1e6 - 1e-7, "pass"),
        (0.5, None, "indeterminate"),
    ],
)
def test_at_least(threshold: float, score: float | None, verdict: str) -> None:
    assert AtLeast(threshold)(Facts(), score) == verdict


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(0.2, "pass"), (0.8, "pass"), (0.5, "pass"), (0.19, "fail"), (0.81, "fail"), (None, "indeterminate")],
)
def test_within(score: float | None, verdict: str) -> None:
    assert Within(0.2, 0.8)(Facts(), score) == verdict


@pytest.mark.parametrize(
    "make",
    [
        lambda: AtLeast(cast("float", None)),
        lambda: AtLeast(math.nan),
        lambda: AtLeast(math.inf),
        lambda: AtLeast(cast("float", "0.7")),
        lambda: Within(1, 0),
        lambda: ReadingValue(""),
    ],
)
def test_rules_check_their_parameters(make: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        make()


def test_reading_projections() -> None:
    facts = Facts(
        readings=(Reading("m", 0.1, subject="a"), Reading("m", True, subject="b"), Reading("t", "good"))
    )
    assert ReadingValue("m", subject="a")(facts) == 0.1
    assert ReadingMean("m")(facts) == 0.55
    # Missing is not zero.
    assert ReadingValue("absent")(facts) is None
    assert ReadingMean("absent")(facts) is None
    with pytest.raises(ArgumentError, match="2 readings"):
        ReadingValue("m")(facts)
    for rule in (ReadingValue("t"), ReadingMean("t")):
        with pytest.raises(ArgumentTypeError, match="number"):
            rule(facts)


def test_means_are_exact() -> None:
    values = [1e16, 1.0, -1e16]
    facts = Facts(readings=tuple(Reading("m", value) for value in values))
    assert ReadingMean("m")(facts) == 1 / 3


@pytest.mark.parametrize("value", [None, math.nan, np.float64("nan")], ids=repr)
def test_readings_without_a_value_are_not_recorded(value: Any) -> None:
    reading = Reading("m", value)
    assert reading.value is None
    assert Verifier("v", constant([reading, Reading("n", 0)]))(None).readings == (Reading("n", 0),)


@pytest.mark.parametrize(
    ("value", "subject"), [(math.inf, ""), (10**400, ""), ([1], ""), (1, None), (1, "\ud800")], ids=repr
)
def test_readings_check_their_parts(value: Any, subject: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="reading 'm': "):
        Reading("m", value, subject=subject)


def test_verify_runs_all_and_keeps_their_order() -> None:
    async def late(_: Any) -> Any:
        await asyncio.sleep(0.01)
        return PASSING

    verifiers = [
        Verifier("late", late),
        Verifier("broken", raising(OSError("gone"))),
        Verifier("plain", constant(FAILING)),
    ]
    expected = [("late", "pass"), ("broken", "indeterminate"), ("plain", "fail")]
    assert [(v.name, v.verdict) for v in verify(None, verifiers)] == expected
    assert [(v.name, v.verdict) for v in asyncio.run(averify(None, verifiers))] == expected


def test_two_verifiers_of_one_name_are_refused_before_any_runs() -> None:
    ran: list[int] = []
    verifiers = [Verifier("v", ran.append), Verifier("w", ran.append), Verifier("v", ran.append)]
    with pytest.raises(ArgumentError, match="0 and 2 both have the name 'v'"):
        verify(1, verifiers)
    with pytest.raises(ArgumentError, match="0 and 2"):
        asyncio.run(averify(1, verifiers))
    assert ran == []


def test_averify_ends_the_others_before_it_complains() -> None:
    ended: list[str] = []

    async def late(_: Any) -> None:
        await asyncio.sleep(0.01)
        ended.append("late")

    with pytest.raises(GradingError, match="verifier 'bad'"):
        asyncio.run(averify(None, [Verifier("bad", constant([])), Verifier("late", late)]))
    assert ended == ["late"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": ""},
        {"name": 3},
        {"record": None},
        {"record": PASSING},
        {"projection": 0.7},
        {"decision": "at_least:0.7"},
        {"decision": AtLeast},
        {"advisory": 1},
    ],
    ids=str,
)
def test_verifiers_check_their_parts(arguments: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        Verifier(**({"name": "v", "record": constant(PASSING)} | arguments))


class TestStored:
    """Verifications as files hold them (spec 3.6)."""

    def test_derived_values_are_used(self) -> None:
        checks = [required("a", True), required("b", True), optional("c", False)]
        for given in ({}, {"score": 0.67}, {"score": 0.67, "verdict": "passed"}, {"verdict": "pass"}):
            found = Verification("v", checks, **given)
            assert (found.score, found.verdict) == (2 / 3, "pass")

    @pytest.mark.parametrize(("given", "word"), [({"score": 0.66}, "0.66"), ({"verdict": "fail"}, "fail")])
    def test_contradictions_name_both(self, given: Any, word: str) -> None:
        with pytest.raises(ArgumentError, match=word):
            Verification("v", [required("a", True), required("b", True), optional("c", False)], **given)

    def test_indeterminate_always_stands(self) -> None:
        assert Verification("v", PASSING, verdict=Verdict.INDETERMINATE).verdict == "indeterminate"

    def test_named_rules_stand(self) -> None:
        found = Verification("v", PASSING, score=9, verdict=Verdict.FAIL, projection="p", decision="d")
        assert (found.score, found.verdict) == (9, "fail")
        assert Verification("v", PASSING, projection="p", decision="d").verdict is None

    def test_an_error_implies_no_verdict(self) -> None:
        assert Verification("v", error=RecordedError("m")).verdict is None
