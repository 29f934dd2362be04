"""Clause 6: the statistics of a task and of a run."""

from __future__ import annotations

import math
from math import comb
from typing import Any

import pytest
from native import check, errors, passes, report_of, run_of, scored, value_of


def read_metric(
    value: Any, *, metric: str = "m", verifier: str = "v", subject: str = "", task: str = "t"
) -> Any:
    reading = {"subject": subject, "metric": metric, "value": value}
    return {"task": task, "verifiers": [{"name": verifier, "readings": [reading]}]}


def only(records: list[Any], label: str, **options: Any) -> float:
    return value_of(report_of(records, statistics=[label], **options), label)


@pytest.mark.spec("6")
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_pass_at_k_and_pass_hat_k(k: int) -> None:
    n, c = 5, 3
    report = report_of(passes(1, 1, 1, 0, 0), statistics=["pass@k", "pass^k"], k=[k])
    assert value_of(report, f"pass@{k}") == (comb(n, k) - comb(n - c, k)) / comb(n, k)
    assert value_of(report, f"pass^{k}") == comb(c, k) / comb(n, k)


@pytest.mark.spec("6")
def test_every_other_label() -> None:
    records = [
        {"task": "t", "passed": True, "duration_s": 2, "usage": {"input_tokens": 10, "output_tokens": 5}},
        {"task": "t", "passed": False, "duration_s": 4.0, "usage": {"total_tokens": 25}},
        {"task": "t", "status": "errored", "score": 0.25},
        {"task": "t", "score": 1.0, "verdict": "pass"},
    ]
    records[0]["verifiers"] = [{"name": "v", "verdict": "pass", "readings": [{"metric": "m", "value": 1}]}]
    records[1]["verifiers"] = [{"name": "v", "verdict": "fail", "readings": [{"metric": "m", "value": 4}]}]
    del records[0]["passed"], records[1]["passed"]
    expected = {
        "pass_rate": 0.5,
        "learnability": 1.0,
        "coverage": 0.75,
        "mean_score": 0.625,
        "best_of_2": 1.0,
        "worst_of_2": 0.25,
        "mean_duration": 3.0,
        "mean_total_tokens": 20.0,
        "metric_mean:m": 2.5,
        "metric_variance:m": 2.25,
        "agreement:m": 0.5,
    }
    report = report_of(records, statistics=list(expected))
    assert {label: value_of(report, label) for label in expected} == expected


@pytest.mark.spec("6")
def test_best_and_worst_of_k_are_expected_extremes() -> None:
    scores = (0.0, 1.0, 2.0, 4.0)
    pairs = [(a, b) for i, a in enumerate(scores) for b in scores[:i]]
    assert only(scored(*scores), "best_of_2") == sum(map(max, pairs)) / 6
    assert only(scored(*scores), "worst_of_2") == sum(map(min, pairs)) / 6


@pytest.mark.spec("6.1")
@pytest.mark.parametrize("label", ["pass@3", "pass^3", "best_of_3", "worst_of_3"])
def test_k_above_n(label: str) -> None:
    rows = {"a": (1.0, 1.0, 0.0), "b": (1.0, 0.0)}
    records = [
        {"task": task, "score": score, "passed": score == 1.0}
        for task, scores in rows.items()
        for score in scores
    ]
    with pytest.raises(errors.RefusedError) as error:
        report_of(records, statistics=[label], denominator="recorded")
    assert error.value.label == label
    assert all(part in str(error.value) for part in ("b", "2", "3", "omit"))
    report = report_of(records, statistics=[label], denominator="recorded", on_short="omit")
    assert report["statistics"][label]["n_tasks"] == 1
    assert any(label in note for note in report["notes"]), report["notes"]
    assert [label in row["statistics"] for row in report["tasks"]] == [True, False]


@pytest.mark.spec("6.1")
def test_too_few_scores_are_omitted_in_any_case() -> None:
    records = [*scored(0.0, 1.0, task="a"), *scored(1.0, None, task="b")]
    report = report_of(records, statistics=["best_of_2"])
    assert report["statistics"]["best_of_2"].items() >= {"value": 1.0, "n_tasks": 1}.items()


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("name", ["m", "s/m", "v/s/m"])
def test_a_series_has_three_names(name: str) -> None:
    assert only([read_metric(3.0, subject="s")], f"metric_mean:{name}") == 3.0


@pytest.mark.spec("6.2")
def test_more_than_one_match_is_refused() -> None:
    records = [read_metric(1.0, verifier="v"), read_metric(2.0, verifier="w")]
    with pytest.raises(errors.RefusedError) as error:
        report_of(records, statistics=["metric_mean:m"])
    assert error.value.label == "metric_mean:m"
    assert "v//m" in str(error.value)
    assert "w//m" in str(error.value)
    assert only(records, "metric_mean:w//m") == 2.0
    apart = [read_metric(1.0, verifier="v", task="a"), read_metric(2.0, verifier="w", task="b")]
    assert only(apart, "metric_mean:m") == 1.5


@pytest.mark.spec("6.2")
def test_several_readings_in_one_rollout_are_refused() -> None:
    twice = [{"metric": "m", "value": 1}, {"metric": "m", "value": 2}]
    records = [{"task": "t", "verifiers": [{"name": "v", "verdict": "pass", "readings": twice}]}]
    with pytest.raises(errors.RefusedError, match="metric_mean:m"):
        report_of(records, statistics=["metric_mean:m"])
    assert only(records, "pass_rate") == 1.0


@pytest.mark.spec("6.2")
def test_a_series_that_is_not_there_is_no_missing_data() -> None:
    with pytest.raises(errors.RefusedError) as error:
        report_of([read_metric(1.0, metric="latency_s")], statistics=["metric_mean:latency"])
    assert "latency_s" in str(error.value)


@pytest.mark.spec("6.3")
def test_missing_is_not_zero() -> None:
    records = [{"task": "a", "passed": True, "duration_s": 4.0}, {"task": "b", "passed": True}]
    labels = ["mean_score", "mean_duration", "mean_total_tokens", "best_of_1"]
    report = report_of(records, statistics=labels)
    assert list(report["statistics"]) == ["mean_duration"]
    assert report["statistics"]["mean_duration"].items() >= {"value": 4.0, "n_tasks": 1}.items()
    assert [row["statistics"] for row in report["tasks"]] == [{"mean_duration": 4.0}, {}]
    assert set(report["omitted"]) == {"mean_score", "mean_total_tokens", "best_of_1"}
    assert all(len(reason) > 5 for reason in report["omitted"].values())


@pytest.mark.spec("6.3")
def test_an_omitted_label_is_a_key_error_with_its_reason() -> None:
    report = run_of(passes(1)).report(["pass@1", "mean_duration"])
    with pytest.raises(KeyError, match="duration") as error:
        report["mean_duration"]
    assert isinstance(error.value, errors.OmittedError)


@pytest.mark.spec("6.3")
def test_a_refused_default_is_only_omitted() -> None:
    report = report_of(scored(0.5, 1.0))
    assert "threshold" in report["omitted"]["pass@1"]
    with pytest.raises(errors.RefusedError):
        report_of(scored(0.5, 1.0), statistics=["pass@1"])


@pytest.mark.spec("6.4")
def test_the_run_is_the_mean_over_tasks_never_pooled() -> None:
    records = [*passes(1, task="a"), *passes(0, 0, 0, task="b")]
    report = report_of(records, statistics=["pass_rate", "pass@1"], denominator="recorded")
    assert value_of(report, "pass_rate") == value_of(report, "pass@1") == 0.5
    assert report["statistics"]["pass_rate"]["n_tasks"] == 2
    assert (report["counts"]["successes"], report["counts"]["recorded"]) == (1, 4)


@pytest.mark.spec("6.4")
def test_different_task_sets_are_noted() -> None:
    records = [{"task": "a", "passed": True, "duration_s": 4.0}, {"task": "b", "passed": True}]
    both = report_of(records, statistics=["pass@1", "mean_duration"])
    assert any("mean_duration" in note for note in both["notes"]), both["notes"]
    assert report_of(records, statistics=["pass@1", "pass^1"])["notes"] == []


@pytest.mark.spec("6.5")
def test_resources_count_whatever_the_status() -> None:
    used = {"duration_s": 6.0, "usage": {"total_tokens": 8}, "score": 0.5}
    records = [{"task": "t", "status": status, **used} for status in ("errored", "cancelled", "unfinished")]
    report = report_of(records, statistics=["mean_score", "mean_duration", "mean_total_tokens", "best_of_3"])
    assert [value_of(report, label) for label in report["statistics"]] == [0.5, 6.0, 8.0, 0.5]


@pytest.mark.spec("6.6")
def test_nan_is_not_recorded() -> None:
    records = [
        {"task": "t", "score": math.nan, "duration_s": math.nan},
        {"task": "t", "score": 1, "duration_s": 3},
    ]
    records.append(read_metric(math.nan))
    records.append(read_metric(None))
    records.append(read_metric(2.0))
    report = report_of(records, statistics=["mean_score", "mean_duration", "metric_mean:m"])
    assert [value_of(report, label) for label in report["statistics"]] == [1.0, 3.0, 2.0]
    assert report["counts"]["scored"] == 1


@pytest.mark.spec("6.6")
@pytest.mark.parametrize("literal", ["Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize("field", ["score", "duration_s", "value"])
def test_infinities_are_errors(literal: str, field: str) -> None:
    line = f'{{"task": "t", "{field}": {literal}}}'
    if field == "value":
        line = f'{{"task": "t", "verifiers": [{{"name": "v", "readings": [{{"metric": "m", "value": {literal}}}]}}]}}'
    with pytest.raises(errors.InputError) as error:
        report_of([*passes(1), line])
    assert error.value.line == 2
    assert field in (error.value.field or "")


@pytest.mark.spec("6.6")
def test_scores_are_numbers_or_bools_never_text() -> None:
    assert only([*scored(True), *scored(False), *scored(0.5)], "mean_score") == 0.5
    for text in ("1", "abc", ""):
        with pytest.raises(errors.InputError) as error:
            report_of([{"task": "t", "score": text}])
        assert error.value.field == "score"


@pytest.mark.spec("6.6")
@pytest.mark.parametrize(
    "fields", [{"duration_s": -1.5}, {"usage": {"input_tokens": -1, "output_tokens": 2}}], ids=str
)
def test_negative_resources_are_errors(fields: dict[str, Any]) -> None:
    with pytest.raises(errors.InputError) as error:
        report_of([{"task": "t", **fields}], statistics=["mean_duration", "mean_total_tokens"])
    assert next(iter(fields)) in (error.value.field or "")


@pytest.mark.spec("6.6")
def test_a_little_below_zero_is_clock_skew() -> None:
    report = report_of([{"task": "t", "duration_s": seconds} for seconds in (-0.5, -1.0, 8.0)])
    assert value_of(report, "mean_duration") == 8.0
    assert any("2" in note for note in report["notes"]), report["notes"]


@pytest.mark.spec("6.6")
def test_a_declared_score_range_is_kept() -> None:
    assert only(scored(-7.0, 85.0), "mean_score") == 39.0
    assert value_of(report_of(scored(0.0, 1.0), {"score_range": [0, 1]}), "mean_score") == 0.5
    with pytest.raises(errors.InputError) as error:
        report_of(scored(0.85, 85.0), {"score_range": [0, 1]})
    assert (error.value.line, error.value.field) == (3, "score")


@pytest.mark.spec("6.7")
@pytest.mark.parametrize(
    ("usage", "total"),
    [
        ({"input_tokens": 100, "output_tokens": 20}, 120.0),
        ({"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}, 120.0),
        ({"total_tokens": 50}, 50.0),
        ({"input_tokens": 100, "total_tokens": 150}, 150.0),
        ({"input_tokens": 100}, None),
        ({"output_tokens": 100}, None),
        ({}, None),
    ],
    ids=str,
)
def test_tokens(usage: dict[str, int], total: float | None) -> None:
    report = report_of([{"task": "t", "passed": True, "usage": usage}])
    assert report["statistics"].get("mean_total_tokens", {}).get("value") == total
    half = len(usage) == 1 and "total_tokens" not in usage
    assert any("token" in note for note in report["notes"]) == half


@pytest.mark.spec("6.7")
def test_tokens_must_add_up() -> None:
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 121}
    with pytest.raises(errors.InputError, match="121"):
        report_of([{"task": "t", "usage": usage}])


@pytest.mark.spec("6.8")
def test_agreement_knows_kinds() -> None:
    assert only([read_metric(value) for value in (1, 1.0, -0.0, 0)], "agreement:m") == 0.5
    assert only([read_metric(value) for value in (1, True, "1", "true")], "agreement:m") == 0.25
    assert only([read_metric(value) for value in ("a", "a", "b")], "agreement:m") == 2 / 3
    assert "agreement:m" in report_of([read_metric("a")], statistics=["agreement:m"])["omitted"]


@pytest.mark.spec("6.8")
def test_means_take_numbers_and_bools_not_text() -> None:
    assert only([read_metric(value) for value in (True, False, 0.5)], "metric_mean:m") == 0.5
    for label in ("metric_mean:m", "metric_variance:m"):
        with pytest.raises(errors.RefusedError, match="text"):
            only([read_metric(1.0), read_metric("1")], label)


@pytest.mark.spec("6.9")
@pytest.mark.parametrize(
    ("records", "diagnosis"),
    [
        ([{"task": "t", "status": "errored"}, {"task": "t"}], "unscorable"),
        ([{"task": "t", "verdict": "indeterminate"}] * 2, "unscorable"),
        ([{"task": "t", "verdict": "indeterminate"}, *passes(0)], "incapable"),
        ([{"task": "t", "verdict": "indeterminate", "score": 1.0}] * 2, "incapable"),
        (passes(1, 1, 1), "reliable"),
        (passes(1, 0, 1), "unreliable"),
        ([*passes(1), {"task": "t", "status": "errored"}], "unreliable"),
        (passes(1), None),
        (passes(0), None),
    ],
    ids=str,
)
def test_diagnosis(records: list[Any], diagnosis: str | None) -> None:
    report = report_of(records, policy="verifier_verdict.v1")
    assert report["tasks"][0].get("diagnosis") == diagnosis
    words = ("reliable", "unreliable", "incapable", "unscorable")
    assert report["counts"]["diagnosis"] == {word: int(word == diagnosis) for word in words}


@pytest.mark.spec("6.9")
def test_scores_of_a_task_are_compared() -> None:
    checks = [check("a", True), check("b", False, required=False)]
    report = report_of([{"task": "t", "checks": checks}, *scored(1.0, 0.2, None)])
    expected = {"scored": 3, "mean": (0.5 + 1.0 + 0.2) / 3, "best": 1.0, "worst": 0.2, "spread": 0.8}
    assert report["tasks"][0]["scores"] == expected


@pytest.mark.spec("6.10")
def test_labels_in_ascii_and_with_the_letter_k() -> None:
    asked = ["pass_at_2", "pass_hat_2", "best@2", "worst@2"]
    records = [{"task": "t", "score": score, "verdict": "pass"} for score in (0.0, 1.0)]
    assert set(report_of(records, statistics=asked)["statistics"]) == {
        "pass@2",
        "pass^2",
        "best_of_2",
        "worst_of_2",
    }
    report = report_of(records, statistics=["pass@k", "mean_score"], k=[1, 2])
    assert set(report["statistics"]) == {"pass@1", "pass@2", "mean_score"}
    for wrong in (["pass@0"], ["pass@x"], ["passk"], ["best_of_-1"], [""]):
        with pytest.raises(errors.ArgumentError):
            report_of(records, statistics=wrong)


@pytest.mark.spec("6.10")
def test_defaults_are_what_can_be_computed() -> None:
    records = [*passes(1, 0, 1, task="a"), *passes(1, 1, 0, task="b")]
    assert set(report_of(records)["statistics"]) == {"pass@1", "pass@3", "pass^3"}
    records[0] |= {"duration_s": 1.0, "usage": {"total_tokens": 3}}
    assert set(report_of(records)["statistics"]) >= {"mean_duration", "mean_total_tokens"}
    report = report_of(passes(1))
    assert set(report["statistics"]) == {"pass@1"}


@pytest.mark.spec("6.11")
def test_by_a_tag_reports_each_value_and_all() -> None:
    records = [
        *({**one, "tags": {"suite": "math"}} for one in passes(1, 1, task="a")),
        *({**one, "tags": {"suite": "code"}} for one in passes(0, 0, task="b")),
        *passes(1, 0, task="c"),
    ]
    report = report_of(records, by="suite", statistics=["pass@1"])
    assert value_of(report, "pass@1") == 0.5
    groups = report["groups"]
    assert set(groups) == {"math", "code"}
    assert value_of(groups["math"], "pass@1") == 1.0
    assert value_of(groups["code"], "pass@1") == 0.0
    assert [row["task"] for row in report["untagged"]["tasks"]] == ["c"]


@pytest.mark.spec("6.11")
def test_a_tag_must_be_constant_within_a_task() -> None:
    records = [{**one, "tags": {"suite": suite}} for one, suite in zip(passes(1, 1), ("x", "y"), strict=True)]
    with pytest.raises(errors.InputError, match="suite"):
        report_of(records, by="suite")
    assert report_of(records)["counts"]["recorded"] == 2
