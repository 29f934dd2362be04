"""Rollouts as values, and the native form they are written in (spec 4.1, 5.5, 7.3)."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kofn
from kofn import Check, Reading, Rollout, RunWriter, Verdict, Verification
from kofn import _values as values
from kofn.errors import ArgumentError, ArgumentTypeError, InputError, KofnError
from kofn.rollouts import Status, Usage
from kofn.verifiers import RecordedError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | st.integers(-(2**63), 2**63) | FINITE | TEXT
JSON = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ERRORS = st.builds(RecordedError, TEXT, st.none() | TEXT)


@st.composite
def verifications(draw: st.DrawFn) -> tuple[Verification, ...]:
    names = draw(st.lists(TEXT, max_size=3, unique=True))
    found = []
    for name in names:
        checks = draw(
            st.lists(
                st.builds(Check, TEXT, st.booleans(), required=st.booleans(), detail=st.none() | SCALARS),
                max_size=4,
            )
        )
        if checks and not any(check.required for check in checks):
            checks.append(Check("needed", draw(st.booleans()), required=True))
        projection, decision = draw(st.none() | TEXT), draw(st.none() | TEXT)
        derived_score, derived_verdict = checks and projection is None, checks and decision is None
        found.append(
            Verification(
                name,
                checks,
                draw(
                    st.lists(
                        st.builds(
                            Reading,
                            TEXT,
                            st.none() | st.booleans() | FINITE | TEXT,
                            subject=st.just("") | TEXT,
                        ),
                        max_size=3,
                    )
                ),
                score=None if derived_score else draw(st.none() | FINITE),
                verdict=draw(
                    st.sampled_from([None, Verdict.INDETERMINATE] if derived_verdict else [None, *Verdict])
                ),
                error=draw(st.none() | ERRORS),
                projection=projection,
                decision=decision,
            )
        )
    return tuple(found)


ROLLOUTS = st.builds(
    Rollout,
    TEXT | st.integers(-5, 10**18),
    st.none() | st.integers(0, 2**40),
    status=st.none() | st.sampled_from(Status),
    verifications=verifications(),
    duration_s=st.none() | st.floats(-1, 1e9),
    usage=st.none() | st.builds(Usage, st.none() | st.integers(0, 10**9), st.none() | st.integers(0, 10**9)),
    tool_calls=st.none() | st.integers(0, 99),
    tool_errors=st.none() | st.integers(0, 99),
    stop_reason=st.none() | TEXT,
    error=st.none() | ERRORS,
    tags=st.dictionaries(TEXT, TEXT, max_size=3),
    meta=st.dictionaries(TEXT, JSON, max_size=3),
)


@given(ROLLOUTS)
def test_the_native_form_round_trips(rollout: Rollout) -> None:
    text = values.dumps(rollout.to_dict())
    again = Rollout.from_dict(json.loads(text))
    if rollout.usage == Usage():
        assert again.usage is None
        return
    assert again == rollout
    assert values.dumps(again.to_dict()) == text


@given(ROLLOUTS)
def test_the_reader_of_files_sees_the_same_rollout(rollout: Rollout) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        with RunWriter(path, requested=1) as run:
            run.write(rollout)
        report = kofn.read(path).report(["mean_score"], policy="verifier_verdict.v1")
    counts = report.counts
    assert counts[str(rollout.status)] == counts["recorded"] == 1
    assert counts["scored"] == (rollout.score is not None)
    assert counts["indeterminate"] == (Verdict.INDETERMINATE in rollout.verdicts)
    assert counts["successes"] == (rollout.registry == "passed")
    if rollout.score is not None:
        assert report["mean_score"].value == rollout.score


EXAMPLE = {
    "task": "sum-1000",
    "rollout": 3,
    "status": "succeeded",
    "verifiers": [
        {
            "name": "answer",
            "checks": [
                {
                    "label": "total is 507500",
                    "required": True,
                    "passed": False,
                    "detail": "answered 507499, expected 507500",
                },
                {"label": "file saved", "required": False, "passed": True},
            ],
            "score": 0.5,
            "verdict": "fail",
            "readings": [{"subject": "final", "metric": "latency_s", "value": 1.25}],
        },
        {
            "name": "judge",
            "decision": "at_least:0.7",
            "error": {"type": "TimeoutError", "message": "60 s"},
            "verdict": "indeterminate",
        },
    ],
    "duration_s": 12.5,
    "usage": {"input_tokens": 1200, "output_tokens": 340},
    "tool_calls": 3,
    "tool_errors": 0,
    "stop_reason": "max_turns",
    "tags": {"suite": "math"},
    "meta": {"transcript": "s3://…"},
}


def test_the_documented_line() -> None:
    rollout = Rollout.from_dict(EXAMPLE)
    assert rollout.to_dict() == EXAMPLE
    assert rollout.score == 0.5
    assert rollout.verdicts == ("fail", "indeterminate")
    assert rollout.failed_required == ("answer: total is 507500",)
    assert rollout.registry == "failed"
    assert rollout.usage is not None
    assert rollout.usage.total == 1540


@pytest.mark.parametrize(
    ("record", "score", "verdicts"),
    [
        ({"score": 0.3}, 0.3, ()),
        ({"reward": True}, 1.0, ()),
        ({"passed": 0}, None, ("fail",)),
        ({"verdict": "errored"}, None, ("indeterminate",)),
        ({"checks": [{"label": "a", "passed": True, "required": True}]}, 1.0, ("pass",)),
        ({"score": 0, "passed": True}, 0.0, ("pass",)),
        ({"score": math.nan}, None, ()),
        ({"verifiers": [], "score": 1}, 1.0, ()),
        ({}, None, ()),
    ],
    ids=str,
)
def test_short_forms(record: dict[str, Any], score: float | None, verdicts: tuple[str, ...]) -> None:
    rollout = Rollout.from_dict({"task": "t", **record, "toolCalls": 3})
    assert (rollout.score, rollout.verdicts, rollout.tool_calls) == (score, verdicts, 3)
    assert {v.name for v in rollout.verifications} <= {"verifier"}


@pytest.mark.parametrize(
    ("record", "field", "word"),
    [
        ({"task": None}, "task", "task"),
        ({"task": ""}, "task", "empty"),
        ({"task": 1.0}, "task", "integer"),
        ({"task": True}, "task", "integer"),
        ({"task": "a\ud800"}, "task", "surrogate"),
        ({"task": None, "task_id": "a"}, "task", "task_id"),
        ({"success": True}, None, "success"),
        ({"rollout": -1}, "rollout", "from 0"),
        ({"rollout": 1.5}, "rollout", "whole"),
        ({"rollout": True}, "rollout", "whole"),
        ({"status": "failed"}, "status", "errored"),
        ({"status": "suceeded"}, "status", "succeeded"),
        ({"verdict": "Pass"}, "verdict", "pass"),
        ({"score": "0.5"}, "score", "number"),
        ({"score": math.inf}, "score", "finite"),
        ({"score": 1, "reward": 0}, "score", "reward"),
        ({"verdict": "pass", "passed": False}, "passed", "pass"),
        ({"score": 1, "verifiers": [{"name": "v"}]}, "score", "verifiers"),
        ({"verifiers": [{"name": "v"}, {"name": "v"}]}, None, "0 and 1"),
        ({"verifiers": [{}]}, "verifiers[0].name", "missing"),
        ({"verifiers": {}}, "verifiers", "list"),
        ({"usage": 0}, "usage", "object"),
        ({"tags": []}, None, "tags"),
        ({"verifiers": "v"}, "verifiers", "list"),
        ({"verifiers": [3]}, "verifiers[0]", "object"),
        ({"checks": []}, "checks", "no checks"),
        ({"checks": [{"label": "a", "passed": True}]}, "checks", "optional"),
        (
            {"verifiers": [{"name": "v", "checks": [{"label": "a", "passed": "x", "required": True}]}]},
            "verifiers[0].checks[0]",
            "truthiness",
        ),
        (
            {"verifiers": [{"name": "v", "readings": [{"value": 1}]}]},
            "verifiers[0].readings[0].metric",
            "missing",
        ),
        ({"duration_s": -2}, None, "duration_s"),
        ({"duration_s": True}, None, "duration_s"),
        ({"usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 3}}, "usage", "total"),
        ({"usage": {"input_tokens": -1}}, "usage", "input_tokens"),
        ({"tool_calls": 1, "toolCalls": 1}, "tool_calls", "toolCalls"),
        ({"tags": {"a": 1}}, None, "tag"),
    ],
    ids=str,
)
def test_bad_records_name_the_field(record: dict[str, Any], field: str | None, word: str) -> None:
    record = {"task": "t", **record}
    with pytest.raises(InputError, match=word) as error:
        Rollout.from_dict(record)
    assert error.value.field == field
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({}, "succeeded"),
        ({"error": "boom"}, "errored"),
        ({"error": "boom", "verifications": [Verification("v")]}, "succeeded"),
        ({"status": "completed"}, "succeeded"),
        ({"status": "canceled"}, "cancelled"),
        ({"status": "errored"}, "errored"),
    ],
    ids=str,
)
def test_status(arguments: Any, status: str) -> None:
    assert Rollout("t", **arguments).status == status


P, F, U = Verdict.PASS, Verdict.FAIL, Verdict.INDETERMINATE


@pytest.mark.parametrize(
    ("status", "verdicts", "outcome"),
    [
        ("succeeded", [P, P], "passed"),
        ("succeeded", [P, F], "failed"),
        ("succeeded", [U, F], "failed"),
        ("succeeded", [P, U], "unscorable"),
        ("succeeded", [], "unscorable"),
        ("succeeded", [P, None], "passed"),
        ("errored", [P], "unscorable"),
        ("cancelled", [F], "unscorable"),
        ("unfinished", [P], None),
    ],
    ids=str,
)
def test_registry(status: str, verdicts: list[Verdict | None], outcome: str | None) -> None:
    stored = [Verification(str(i), verdict=verdict) for i, verdict in enumerate(verdicts)]
    assert Rollout("t", status=status, verifications=stored).registry == outcome


def test_the_score_is_the_exact_mean_of_those_recorded() -> None:
    stored = [Verification(str(i), score=score) for i, score in enumerate([0.1, None, 0.2, 0.3])]
    assert Rollout("t", verifications=stored).score == 0.2
    assert Rollout("t", verifications=stored[1:2]).score is None
    huge = [Verification(str(i), score=1.7e308) for i in range(3)]
    assert Rollout("t", verifications=huge).score == 1.7e308


def test_meta_and_numpy_become_plain_json() -> None:
    meta = {"a": np.float32(0.5), "b": (1, math.nan), "c": {"d": np.int64(3)}}
    rollout = Rollout(np.int64(5), np.int32(1), duration_s=np.float64(2), meta=meta)  # type: ignore[arg-type]
    assert rollout.to_dict() == {
        "task": 5,
        "rollout": 1,
        "status": "succeeded",
        "duration_s": 2.0,
        "meta": {"a": 0.5, "b": [1, None], "c": {"d": 3}},
    }
    meta["a"] = 7
    assert rollout.meta["a"] == 0.5


@pytest.mark.parametrize("meta", [{"a": math.inf}, {"a": object()}, {3: 1}, {"a": {1, 2}}, [1]], ids=str)
def test_meta_that_json_cannot_hold(meta: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="meta"):
        Rollout("t", meta=meta)


def test_meta_that_holds_itself() -> None:
    meta: dict[str, Any] = {}
    meta["meta"] = meta
    with pytest.raises(KofnError, match="meta"):
        Rollout("t", meta=meta)


def test_lone_surrogates_stop_no_rollout_but_name_no_task() -> None:
    rollout = Rollout("t", stop_reason="a\ud800", error=RecordedError("b\udfff"))
    assert (rollout.stop_reason, str(rollout.error)) == ("a\ufffd", "b\ufffd")
    for tags in ({"a\ud800": "b"}, {"a": "b\ud800"}):
        with pytest.raises(ArgumentError, match="surrogate"):
            Rollout("t", tags=tags)


@pytest.mark.parametrize("error", [ValueError("x"), RecordedError("x", "ValueError")], ids=repr)
def test_exceptions_are_recorded(error: Any) -> None:
    assert Rollout("t", error=error).to_dict()["error"] == {"type": "ValueError", "message": "x"}
