"""Clause 3: verifiers, and what they left in a file."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest
from native import check, errors, kofn, report_of, value_of

SAVED = [check("a", True), check("b", False), check("c", True, required=False)]
"""Reward 2/3, verdict fail."""
CHECKS = [kofn.required("a", True), kofn.required("a", False)]


def one(**entry: Any) -> list[dict[str, Any]]:
    return [{"task": "t", "verifiers": [{"name": "v", **entry}]}]


def outcome(**entry: Any) -> tuple[float | None, str | None]:
    """Score and verdict that a stored verification ends with, seen through a report."""
    statistics = ["mean_score"]
    report = report_of(one(**entry), statistics=statistics, policy="verifier_verdict.v1")
    counts = report["counts"]
    score = report["statistics"].get("mean_score", {}).get("value")
    if counts["indeterminate"]:
        return score, "indeterminate"
    registry = counts.get("registry")
    if registry is None:
        return score, None
    return score, "pass" if registry["passed"] else "fail" if registry["failed"] else None


@pytest.mark.spec("3.1")
def test_a_verifier_is_name_facts_projection_decision() -> None:
    verifier = kofn.Verifier(
        "length",
        lambda text: [kofn.Reading("words", len(text.split()))],
        projection=lambda facts: facts.readings[0].value / 10,
        decision=lambda _, score: "pass" if score >= 0.2 else "fail",
    )
    found = verifier("three short words")
    assert (found.name, found.score, str(found.verdict)) == ("length", 0.3, "pass")


@pytest.mark.spec("3.1")
def test_a_verifier_may_be_async() -> None:
    async def record(answer: int) -> list[Any]:
        await asyncio.sleep(0)
        return [kofn.required("right", answer == 4)]

    found = asyncio.run(kofn.Verifier("sum", record).acall(4))
    assert (found.score, str(found.verdict)) == (1.0, "pass")


@pytest.mark.spec("3.2")
def test_checks_give_score_and_verdict() -> None:
    verifier = kofn.Verifier("v", lambda _: [kofn.required("a", True), kofn.optional("b", False)])
    assert (verifier(None).score, str(verifier(None).verdict)) == (0.5, "pass")
    assert outcome(checks=SAVED) == (2 / 3, "fail")


@pytest.mark.spec("3.2")
@pytest.mark.parametrize("rules", [{}, {"projection": "p", "decision": "d", "verdict": "pass"}], ids=str)
@pytest.mark.parametrize("checks", [[], [check("a", True, required=False)]], ids=["empty", "optional alone"])
def test_checks_need_a_required_one(checks: list[Any], rules: dict[str, str]) -> None:
    with pytest.raises(errors.KofnError, match="required"):
        report_of(one(checks=checks, **rules))


@pytest.mark.spec("3.3")
def test_built_in_rules() -> None:
    rules: Any = import_module("kofn.verifiers")
    reading = kofn.Reading
    for projection, facts, score in (
        (rules.Reward(), [kofn.required("a", True), kofn.required("b", False)], 0.5),
        (rules.ReadingValue("m"), [reading("m", 0.3), reading("other", 9)], 0.3),
        (rules.ReadingValue("m", subject="s"), [reading("m", 1), reading("m", 2, subject="s")], 2.0),
        (rules.ReadingMean("m"), [reading("m", 0.1, subject="a"), reading("m", 0.4, subject="b")], 0.25),
        (rules.ReadingMean("m"), [reading("other", 1)], None),
    ):
        found = kofn.Verifier("v", lambda facts: facts, projection=projection)(facts)
        assert found.score == score, projection
    for decision, scores in (
        (rules.AtLeast(0.7), {0.7: "pass", 0.7 - 1e-13: "pass", 0.69: "fail"}),
        (rules.Within(0.2, 0.8), {0.1: "fail", 0.2: "pass", 0.8: "pass", 0.81: "fail"}),
    ):
        verifier = kofn.Verifier(
            "v", lambda facts: facts, projection=rules.ReadingMean("m"), decision=decision
        )
        assert {score: str(verifier([reading("m", score)]).verdict) for score in scores} == scores
    verdicts = [
        kofn.Verifier("v", lambda facts: facts, decision=rules.RequiredChecks())([c]).verdict for c in CHECKS
    ]
    assert list(map(str, verdicts)) == ["pass", "fail"]


@pytest.mark.spec("3.4")
@pytest.mark.parametrize("broken", ["record", "projection", "decision"])
def test_a_verifier_that_raises_is_indeterminate(broken: str) -> None:
    def fails(*_: Any) -> Any:
        raise TimeoutError("60 s")

    functions: dict[str, Any] = {
        "record": lambda _: [kofn.required("a", True)],
        "projection": None,
        "decision": None,
    }
    found = kofn.Verifier("v", **(functions | {broken: fails}))(None)
    assert str(found.verdict) == "indeterminate"
    assert "TimeoutError" in str(found.error)
    assert "60 s" in str(found.error)


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    "facts",
    [
        lambda _: [],
        lambda _: [kofn.optional("a", True)],
        lambda _: [kofn.required("a", True), kofn.required("a", False)],
        lambda _: "pass",
    ],
    ids=["empty", "optional alone", "duplicate label", "wrong type"],
)
def test_complaints_of_kofn_are_not_swallowed(facts: Any) -> None:
    with pytest.raises(errors.KofnError):
        kofn.Verifier("v", facts)(None)


@pytest.mark.spec("3.5")
def test_an_advisory_verifier_never_records_a_verdict() -> None:
    def fails(_: Any) -> Any:
        raise RuntimeError("broke")

    assert kofn.Verifier("v", fails, advisory=True)(None).verdict is None
    found = kofn.Verifier(
        "v", lambda _: [kofn.required("a", False), kofn.required("b", True)], advisory=True
    )(None)
    assert (found.score, found.verdict) == (0.5, None)


@pytest.mark.spec("3.6")
def test_named_rules_let_the_record_stand() -> None:
    assert outcome(checks=SAVED, projection="p", decision="d", score=0.9, verdict="pass") == (0.9, "pass")


@pytest.mark.spec("3.6")
def test_unnamed_rules_are_derived_and_compared() -> None:
    assert outcome(checks=SAVED, score=0.67, verdict="fail") == (2 / 3, "fail")
    assert outcome(checks=SAVED, verdict="indeterminate") == (2 / 3, "indeterminate")
    with pytest.raises(errors.InputError, match=r"0\.7"):
        outcome(checks=SAVED, score=0.7)
    with pytest.raises(errors.InputError, match="verdict"):
        outcome(checks=SAVED, verdict="pass")


@pytest.mark.spec("3.7")
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        *[("pass", "pass"), ("passed", "pass"), ("fail", "fail"), ("failed", "fail")],
        *[
            (text, "indeterminate")
            for text in ("indeterminate", "error", "errored", "timeout", "skipped", "unknown", "inconclusive")
        ],
    ],
)
def test_verdict_spellings(text: str, verdict: str) -> None:
    assert outcome(verdict=text) == (None, verdict)


@pytest.mark.spec("3.7")
@pytest.mark.parametrize(
    ("text", "nearest"), [("Pass", "pass"), ("FAIL", "fail"), ("pased", "passed"), ("P", "pass")]
)
def test_other_verdicts_are_errors_with_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([{"task": "t"}, *one(verdict=text)])
    assert error.value.line == 2
    assert "verdict" in (error.value.field or "")
    assert text in str(error.value)
    assert nearest in str(error.value)


@pytest.mark.spec("3.8")
@pytest.mark.parametrize(
    "extra",
    [{}, {"readings": [{"metric": "m", "value": 3}]}, {"error": {"type": "E", "message": "m"}}],
    ids=str,
)
def test_readings_or_a_name_alone_are_neutral(extra: dict[str, Any]) -> None:
    assert outcome(**extra) == (None, None)
    beside = [
        {"task": "t", "verifiers": [{"name": "v", **extra}, {"name": "w", "verdict": "pass", "score": 1.0}]}
    ]
    for threshold in (None, 1.0):
        assert value_of(report_of(beside, statistics=["pass_rate"], threshold=threshold), "pass_rate") == 1.0


@pytest.mark.spec("3.9")
def test_two_verifications_of_one_name() -> None:
    twice = [
        {"task": "t", "verifiers": [{"name": "judge", "score": 1}, {"name": "judge", "verdict": "pass"}]}
    ]
    with pytest.raises(errors.InputError, match="judge"):
        report_of(twice)
