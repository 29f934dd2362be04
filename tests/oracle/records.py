"""Native records as plain dicts -> rollouts (spec 1, 3.6-3.8, 4.1, 4.6, 6.6, 6.7, 7.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from oracle.errors import OracleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json = dict[str, Any]
Series = tuple[str, str, str]
"""verifier, subject, metric"""

STATUSES = {
    "succeeded": "succeeded",
    "completed": "succeeded",
    "errored": "errored",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "unfinished": "unfinished",
}
VERDICTS = {
    "pass": "pass",
    "passed": "pass",
    "fail": "fail",
    "failed": "fail",
    **dict.fromkeys(
        ("indeterminate", "error", "errored", "timeout", "skipped", "unknown", "inconclusive"),
        "indeterminate",
    ),
}
SHORTHAND = ("checks", "score", "reward", "verdict", "passed")


@dataclass(frozen=True)
class Rollout:
    """One attempt, graded."""

    task: str
    index: int | None
    status: str
    verdicts: tuple[str, ...]
    scores: tuple[float, ...]
    readings: tuple[tuple[Series, float | bool | str], ...]
    duration: float | None
    tokens: int | None
    tags: Mapping[str, str]

    @property
    def score(self) -> float | None:
        """The mean of the verifiers' scores, rounded once (spec 1)."""
        if not self.scores:
            return None
        return float(self.exact_score())

    def exact_score(self) -> Fraction:
        """The same, not rounded: what a threshold is compared with (spec 5.2)."""
        return sum(map(Fraction, self.scores), Fraction()) / len(self.scores)


def number(value: Any, field: str, *, bools: bool) -> float | None:
    """A finite number, or none for null and NaN; infinities are errors (spec 6.6)."""
    if value is None:
        return None
    if isinstance(value, bool):
        if bools:
            return float(value)
        raise OracleError(f"{field} is a bool")
    if not isinstance(value, int | float):
        raise OracleError(f"{field} is no number: {value!r}")
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise OracleError(f"{field} is infinite")
    return float(value)


def task_id(value: Any) -> str:
    """Text as it is, an integer as its decimal text (spec 1)."""
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise OracleError(f"task id {value!r}")
    return str(value)


def check_passed(value: Any) -> bool:
    """A bool, or a number that is 0 or 1; truthiness never (spec 2.6)."""
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    raise OracleError(f"check passed is {value!r}")


def graded(checks: Sequence[Json], *, on_ungradable: str) -> tuple[float | None, str]:
    """Score and verdict of checks (spec 2.1, 2.2, 2.4, 2.7)."""
    facts = [(bool(check.get("required")), check_passed(check.get("passed"))) for check in checks]
    if not any(required for required, _ in facts):
        if on_ungradable == "indeterminate":
            return None, "indeterminate"
        raise OracleError("no required check")
    passed = all(passed for required, passed in facts if required)
    reward = float(Fraction(sum(passed for _, passed in facts), len(facts)))
    return reward, "pass" if passed else "fail"


def verification(
    entry: Json, *, on_ungradable: str, score_range: Sequence[float] | None
) -> tuple[float | None, str | None]:
    """Score and verdict of one stored verification (spec 3.2, 3.6-3.8)."""
    score = number(entry.get("score"), "score", bools=True)
    if score is not None and score_range is not None and not score_range[0] <= score <= score_range[1]:
        raise OracleError(f"score {score} outside {score_range}")
    text = entry.get("verdict")
    if text is not None and text not in VERDICTS:
        raise OracleError(f"verdict {text!r}")
    verdict = None if text is None else VERDICTS[text]
    checks = entry.get("checks")
    if checks is None:
        return score, verdict
    reward, decided = graded(checks, on_ungradable=on_ungradable)
    if reward is None:
        return None, decided
    if entry.get("projection") is None:
        if score is not None and abs(Fraction(score) - Fraction(reward)) > Fraction(5, 1000):
            raise OracleError(f"recorded score {score}, reward {reward}")
        score = reward
    if entry.get("decision") is None and verdict != "indeterminate":
        if verdict is not None and verdict != decided:
            raise OracleError(f"recorded verdict {verdict}, checks say {decided}")
        verdict = decided
    return score, verdict


def entries(record: Json) -> list[Json]:
    """The verifications of a record, the shorthand at the top level written out (spec 7.3)."""
    listed = list(record.get("verifiers") or [])
    # NaN is "not recorded" (spec 6.6), and so it makes no verification either.
    short = {key: value for key in SHORTHAND if (value := record.get(key)) is not None and value == value}  # noqa: PLR0124
    if not short:
        return listed
    if listed:
        raise OracleError(f"{sorted(short)} beside verifiers")
    if "reward" in short:
        short["score"] = short.pop("reward")
    if "passed" in short:
        passed = short.pop("passed")
        if not isinstance(passed, bool):
            raise OracleError(f"passed is {passed!r}")
        if VERDICTS.get(short.get("verdict", "pass" if passed else "fail")) != ("pass" if passed else "fail"):
            raise OracleError("passed contradicts verdict")
        short["verdict"] = "pass" if passed else "fail"
    return [{"name": "verifier", **short}]


def total_tokens(usage: Json | None) -> int | None:
    """Input + output, else the total; one half alone is not recorded (spec 6.7)."""
    given = {key: (usage or {}).get(f"{key}_tokens") for key in ("input", "output", "total")}
    if any(value is not None and value < 0 for value in given.values()):
        raise OracleError(f"negative tokens {given}")
    if given["input"] is None or given["output"] is None:
        return given["total"]
    total: int = given["input"] + given["output"]
    if given["total"] not in (None, total):
        raise OracleError(f"tokens do not add up: {given}")
    return total


def duration(value: Any) -> float | None:
    """Seconds; a little below 0 is clock skew, more is an error (spec 6.6)."""
    seconds = number(value, "duration_s", bools=False)
    if seconds is not None and seconds < -1:
        raise OracleError(f"duration {seconds}")
    return None if seconds is None or seconds < 0 else seconds


def rollout(
    record: Json, *, on_ungradable: str = "raise", score_range: Sequence[float] | None = None
) -> Rollout:
    """Decode one record."""
    index = record.get("rollout")
    if index is not None and (isinstance(index, bool) or not isinstance(index, int) or index < 0):
        raise OracleError(f"rollout {index!r}")
    listed = entries(record)
    names = Counter(entry["name"] for entry in listed)
    if any(count > 1 for count in names.values()):
        raise OracleError(f"verifiers {names}")
    graded_entries = [
        verification(entry, on_ungradable=on_ungradable, score_range=score_range) for entry in listed
    ]
    readings: list[tuple[Series, float | bool | str]] = []
    for entry in listed:
        for reading in entry.get("readings") or []:
            value = reading.get("value")
            kept = value if isinstance(value, bool | str) else number(value, "value", bools=False)
            if kept is not None:
                readings.append(((entry["name"], reading.get("subject") or "", reading["metric"]), kept))
    status = record.get("status")
    if status is None:
        status = "errored" if record.get("error") is not None and not listed else "succeeded"
    if status not in STATUSES:
        raise OracleError(f"status {status!r}")
    return Rollout(
        task=task_id(record.get("task")),
        index=index,
        status=STATUSES[status],
        verdicts=tuple(verdict for _, verdict in graded_entries if verdict is not None),
        scores=tuple(score for score, _ in graded_entries if score is not None),
        readings=tuple(readings),
        duration=duration(record.get("duration_s")),
        tokens=total_tokens(record.get("usage")),
        tags={name: text for name, text in (record.get("tags") or {}).items() if text is not None},
    )


def rollouts(
    records: Iterable[Json],
    *,
    on_ungradable: str = "raise",
    on_duplicate: str = "raise",
    score_range: Sequence[float] | None = None,
) -> list[Rollout]:
    """Decode records and check what only all of them together can show (spec 1, 4.6)."""
    records = list(records)
    if len({isinstance(record.get("task"), str) for record in records}) > 1:
        raise OracleError("integer and text ids mixed")
    kept: dict[object, Json] = {}
    for place, record in enumerate(records):
        index = record.get("rollout")
        key: object = ("no index", place) if index is None else (task_id(record.get("task")), index)
        if key in kept:
            if on_duplicate == "raise" or (on_duplicate == "identical" and kept[key] != record):
                raise OracleError(f"{key} twice")
            if on_duplicate != "last":
                continue
        kept[key] = record
    decoded = [
        rollout(record, on_ungradable=on_ungradable, score_range=score_range) for record in kept.values()
    ]
    explicit: dict[str, set[bool]] = {}
    for one in decoded:
        explicit.setdefault(one.task, set()).add(one.index is not None)
    if any(len(kinds) > 1 for kinds in explicit.values()):
        raise OracleError("records with and without an index in one task")
    return decoded
