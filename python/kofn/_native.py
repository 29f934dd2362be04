"""Reading one record of the native form into a `Rollout` (spec 7.3); files are read by the core."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from kofn import _values
from kofn._fields import array, at, bad, mapping
from kofn._result_json import read_checks
from kofn.errors import ArgumentTypeError, GradingError
from kofn.rollouts import Rollout, Status, Usage, task_id
from kofn.verifications import Reading, RecordedError, Verdict, Verification

TOP = "verifier"
"""The name of the verification that fields at the top level form."""

OUTCOMES = ("checks", "score", "reward", "verdict", "passed")
LOOKALIKES = {
    *(
        "success",
        "successful",
        "correct",
        "is_correct",
        "resolved",
        "result",
        "outcome",
        "solved",
        "pass",
        "grade",
    ),
    *("scores", "rewards", "task_id", "taskId", "trial", "failed"),
}


def read_rollout(record: Mapping[str, Any]) -> Rollout:
    """Read one record; see `Rollout.from_dict`."""
    if not isinstance(record, Mapping):
        raise ArgumentTypeError(f"a rollout is read from a dict, not from {type(record).__name__}")
    if record.get("task") is None:
        _without(record, "task", "the record names no task")
    task = at("task", lambda: task_id(record["task"]))
    found = verifications(record)
    known = ("status", "error", "verifiers", *OUTCOMES)
    if not any(record.get(key) is not None for key in known) and LOOKALIKES & record.keys():
        _without(record, "", "the record holds no outcome")
    usage = {} if record.get("usage") is None else mapping(record["usage"], "usage")
    error = recorded_error(record.get("error"), "error")
    status = record.get("status")
    return at(
        "",
        lambda: Rollout(
            task,
            at("rollout", lambda: _values.count(record.get("rollout"), "rollout", most=2**63 - 1)),
            status=None if status is None else at("status", lambda: Status(status)),  # type: ignore[arg-type]
            verifications=found,
            duration_s=record.get("duration_s"),
            usage=_usage(usage),
            tool_calls=_either(record, "tool_calls", "toolCalls"),
            tool_errors=_either(record, "tool_errors", "toolErrors"),
            stop_reason=record.get("stop_reason"),
            error=error,
            tags={} if record.get("tags") is None else record["tags"],
            meta=_meta(record.get("meta")),
        ),
    )


def _without(record: Mapping[str, Any], field: str, problem: str) -> NoReturn:
    near = sorted(LOOKALIKES & record.keys())
    keys = f"; it has {', '.join(map(repr, near))}" if near else ""
    raise bad(
        field,
        f"{problem}{keys}: write task, and checks, score, verdict or passed (or read it as its tool's format)",
    )


def _either(record: Mapping[str, Any], key: str, spelling: str) -> Any:
    if record.get(key) is not None and record.get(spelling) is not None:
        raise bad(key, f"it is recorded a second time as {spelling}")
    return record.get(key) if record.get(key) is not None else record.get(spelling)


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    tokens = [usage.get(key) for key in ("input_tokens", "output_tokens", "total_tokens")]
    return None if tokens == [None, None, None] else at("usage", lambda: Usage(*tokens))


def _meta(meta: object) -> Mapping[str, Any]:
    # Kept, never interpreted: files may hold any JSON here.
    if meta is None:
        return {}
    return meta if isinstance(meta, Mapping) else {"meta": meta}


def recorded_error(value: object, field: str) -> RecordedError | None:
    """Read why something broke: text, or an object with type and message."""
    if value is None or isinstance(value, str):
        return None if value is None else RecordedError(value)
    error = mapping(value, field)
    message, kind = error.get("message"), error.get("type")
    text = "" if message is None else message if isinstance(message, str) else _values.dumps(message)
    return at(field, lambda: RecordedError(text, kind))


def _items(value: object, field: str) -> list[Any]:
    return [] if value is None else array(value, field)


def verifications(record: Mapping[str, Any]) -> list[Verification]:
    """Read the verifications of a record, its short forms included."""
    items = _items(record.get("verifiers"), "verifiers")
    top = {key: record[key] for key in OUTCOMES if record.get(key) is not None}
    if not top:
        return [
            _verification(mapping(item, f"verifiers[{i}]"), f"verifiers[{i}].")
            for i, item in enumerate(items)
        ]
    if items:
        raise bad(next(iter(top)), "it stands at the top level beside verifiers; put it into one of them")
    return [_verification({"name": TOP, **top}, "")]


def _verification(fields: Mapping[str, Any], path: str) -> Verification:
    if fields.get("name") is None:
        raise bad(f"{path}name", "it is missing; a verifier has a name")
    checks = fields.get("checks")
    if checks is not None and not array(checks, f"{path}checks"):
        raise bad(
            f"{path}checks",
            "no checks were recorded, so they cannot be graded; leave the key out if there are none",
        )
    readings = _items(fields.get("readings"), f"{path}readings")

    def build() -> Verification:
        return Verification(
            fields["name"],
            () if checks is None else read_checks(checks, f"{path}checks"),
            tuple(_reading(item, f"{path}readings[{i}]") for i, item in enumerate(readings)),
            score=_score(fields, path),
            verdict=_verdict(fields, path),
            error=recorded_error(fields.get("error"), f"{path}error"),
            projection=fields.get("projection"),
            decision=fields.get("decision"),
        )

    try:
        return at(path.removesuffix("."), build)
    except GradingError as error:
        raise bad(f"{path}checks", str(error)) from None


def _score(fields: Mapping[str, Any], path: str) -> float | None:
    score, reward = (
        at(f"{path}{key}", partial(_values.score, fields.get(key), key)) for key in ("score", "reward")
    )
    if score is not None and reward is not None and score != reward:
        raise bad(f"{path}score", f"score is {score!r}, reward {reward!r}; they are two words for one thing")
    return reward if score is None else score


def _verdict(fields: Mapping[str, Any], path: str) -> Verdict | None:
    word, passed = fields.get("verdict"), fields.get("passed")
    verdict = None if word is None else at(f"{path}verdict", lambda: Verdict(word))
    if passed is None:
        return verdict
    short = Verdict.PASS if at(f"{path}passed", lambda: _values.truth(passed, "passed")) else Verdict.FAIL
    if verdict not in {None, short}:
        raise bad(f"{path}passed", f"passed is {passed!r}, the verdict {str(verdict)!r}")
    return short


def _reading(value: object, field: str) -> Reading:
    reading = mapping(value, field)
    subject = reading.get("subject")
    if reading.get("metric") is None:
        raise bad(f"{field}.metric", "it is missing; a reading has a metric and a value")
    return at(
        field,
        lambda: Reading(reading["metric"], reading.get("value"), subject="" if subject is None else subject),
    )
