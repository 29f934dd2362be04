"""Clause 5: which rollouts are successes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native import as_json, check, errors, kofn, passes, report_of, run_of, scored, value_of


def judged(*verdicts: str | None, score: float | None = None, **fields: Any) -> dict[str, Any]:
    entries = [{"name": f"v{i}", "verdict": verdict, "score": score} for i, verdict in enumerate(verdicts)]
    return {"task": "t", "verifiers": entries, **fields}


def successes(record: dict[str, Any], **options: Any) -> int:
    return int(report_of([record], statistics=["pass_rate"], **options)["counts"]["successes"])


@pytest.mark.spec("5.1")
@pytest.mark.parametrize(
    ("record", "success"),
    [
        (judged("pass"), True),
        (judged("pass", "pass", None), True),
        (judged("pass", "fail"), False),
        (judged("pass", "indeterminate"), False),
        (judged(None, None), False),
        (judged(), False),
        (judged("pass", status="errored"), False),
        (judged("pass", status="unfinished"), False),
    ],
    ids=str,
)
def test_verifier_verdict(record: dict[str, Any], success: bool) -> None:
    assert successes(record, policy="verifier_verdict.v1") == success
    assert successes(record, policy=kofn.VerifierVerdict()) == success


@pytest.mark.spec("5.2")
@pytest.mark.parametrize(
    ("record", "threshold", "success"),
    [
        (judged(None, score=0.5), 0.5, True),
        (judged(None, score=0.5), 0.6, False),
        (judged("fail", score=0.5), 0.5, True),
        (judged("indeterminate", score=0.5), 0.5, False),
        (judged("pass"), 0.0, False),
        (judged(None, score=0.0), 0.0, True),
        (judged(None, score=-0.1), 0.0, False),
        (judged(None, score=0.9, status="errored"), 0.5, False),
        (judged(None, score=0.1 + 0.2 - 0.1), 0.2, True),
        (judged(None, score=0.7999999999999999), 0.8, True),
        (judged(None, score=0.79999999), 0.8, False),
        (judged(None, score=1e6 - 1e-7), 1e6, True),
        (judged(None, score=1e6 - 1e-5), 1e6, False),
    ],
    ids=str,
)
def test_score_threshold(record: dict[str, Any], threshold: float, success: bool) -> None:
    assert successes(record, threshold=threshold) == success
    assert successes(record, policy=kofn.ScoreThreshold(threshold)) == success


@pytest.mark.spec("5.2")
def test_the_mean_of_the_scores_is_exact() -> None:
    entries = [{"name": name, "score": score} for name, score in (("a", 1e16), ("b", 1.0), ("c", -1e16))]
    assert successes({"task": "t", "verifiers": entries}, threshold=1 / 3) == 1
    assert successes({"task": "t", "verifiers": entries}, threshold=0.34) == 0


@pytest.mark.spec("5.2")
def test_there_is_no_default_threshold() -> None:
    with pytest.raises((errors.KofnError, TypeError)):
        report_of(scored(0.5), policy="score_threshold.v1", statistics=["pass_rate"])


@pytest.mark.spec("5.3")
def test_scores_without_verdicts_need_a_choice() -> None:
    records = scored(0.2, 0.9)
    with pytest.raises(errors.RefusedError) as error:
        report_of(records, statistics=["mean_score", "pass@1"])
    assert error.value.label == "pass@1"
    assert "threshold" in str(error.value)
    assert "verifier_verdict.v1" in str(error.value)
    report = report_of(records)
    assert report["policy"] is None
    assert not {"successes", "scorable", "diagnosis"} & set(report["counts"])
    assert all(row.get("successes") is row.get("diagnosis") is None for row in report["tasks"])
    assert "pass@1" in report["omitted"]
    assert value_of(report, "mean_score") == 0.55
    assert value_of(report_of(records, statistics=["pass@1"], threshold=0.5), "pass@1") == 0.5
    assert value_of(report_of(records, statistics=["pass@1"], policy="verifier_verdict.v1"), "pass@1") == 0.0


@pytest.mark.spec("5.3")
def test_one_verdict_is_enough_to_choose() -> None:
    report = report_of([*scored(0.2, 0.9), *passes(1)], statistics=["pass_rate"])
    assert value_of(report, "pass_rate") == 1 / 3
    assert report["policy"] == {"id": "verifier_verdict.v1"}
    report = report_of([{"task": "t", "status": "errored"}])
    assert report["policy"] == {"id": "verifier_verdict.v1"}


@pytest.mark.spec("5.4")
def test_policies_are_frozen_values_written_into_the_report() -> None:
    policy = kofn.ScoreThreshold(0.8)
    assert policy == kofn.ScoreThreshold(0.8)
    assert (policy.id, dict(policy.parameters)) == ("score_threshold.v1", {"threshold": 0.8})
    assert (kofn.VerifierVerdict().id, dict(kofn.VerifierVerdict().parameters)) == ("verifier_verdict.v1", {})
    with pytest.raises((AttributeError, TypeError)):
        policy.threshold = 0.1
    assert report_of(scored(0.9), policy=policy)["policy"] == {"id": "score_threshold.v1", "threshold": 0.8}


class Lenient:
    """A user's policy: a score above 0.1 is enough, whatever else."""

    id = "lenient.v2"
    parameters = {"floor": 0.1}  # noqa: RUF012 -- as a user would write it

    def outcomes(self, run: Any) -> Any:
        return np.array([(rollout.score or 0) > 0.1 for rollout in run.rollouts()])


@pytest.mark.spec("5.4")
def test_a_policy_of_ones_own() -> None:
    report = run_of(scored(0.05, 0.2, 0.9, None)).report(["pass_rate"], policy=Lenient())
    assert report["pass_rate"].value == 0.5
    written = as_json(report)
    assert written["policy"] == {"id": "lenient.v2", "floor": 0.1}
    assert as_json(kofn.Report.from_json(report.to_json())) == written


@pytest.mark.spec("5.5")
@pytest.mark.parametrize(
    ("record", "outcome"),
    [
        (judged("pass"), "passed"),
        (judged("fail", "indeterminate"), "failed"),
        (judged("pass", "fail"), "failed"),
        (judged("pass", "indeterminate"), "unscorable"),
        (judged(), "unscorable"),
        (judged("fail", status="errored"), "unscorable"),
        (judged("pass", status="cancelled"), "unscorable"),
        (judged("pass", status="unfinished"), None),
    ],
    ids=str,
)
def test_registry_projection(record: dict[str, Any], outcome: str | None) -> None:
    anchor = {"task": "u", "passed": True}
    found = report_of([record, anchor], {"requested_rollouts": 2})["counts"]["registry"]
    expected = dict.fromkeys(("passed", "failed", "unscorable"), 0)
    for word in ("passed", outcome):
        if word is not None:
            expected[word] += 1
    assert found == expected


@pytest.mark.spec("5.5")
def test_no_registry_without_verdicts() -> None:
    assert "registry" not in report_of(scored(0.5, 1.0))["counts"]


@pytest.mark.spec("5.6")
def test_projection_and_policy_may_disagree() -> None:
    """A failed required check with a high score: failed for the registry, a success for the threshold."""
    checks = [check("a", False), *(check(f"c{i}", True) for i in range(9))]
    counts = report_of([{"task": "t", "checks": checks}], threshold=0.8)["counts"]
    assert counts["successes"] == 1
    assert counts["registry"] == {"passed": 0, "failed": 1, "unscorable": 0}
