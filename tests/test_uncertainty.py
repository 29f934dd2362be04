"""How sure figures are beside the plain interval: clusters, noise of what rollouts record, gaps, posteriors."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native import as_json, errors, jsonl, kofn, passes, run_of

from kofn import Accumulator
from kofn.cli import main
from kofn.estimators import bayes_at_n, pass_at_k, pass_at_k_posterior, pass_hat_k, pass_hat_k_posterior
from kofn.views import FORMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def tagged(tasks: Mapping[str, Sequence[int]], repos: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    """Rollouts of tasks that are in a repository, or in none."""
    return [
        {"task": task, "passed": bool(passed), "tags": {"repo": repos[task]} if task in repos else {}, **more}
        for task, outcomes in tasks.items()
        for passed in outcomes
    ]


TASKS: dict[str, list[int]] = {
    f"t{i:02}": [(i * 7 + j * j) % 5 < 1 + i % 4 for j in range(4)] for i in range(24)
}
REPOS = {task: f"r{i // 3}" for i, task in enumerate(TASKS)}

# -- clusters


def by_hand(report: Any, label: str, tasks: list[str], repos: dict[str, str]) -> tuple[float, int]:
    """The standard error over clusters, by the formula, and their number."""
    values = {task: report.per_task[task].statistics[label] for task in tasks}
    mean = statistics.fmean(values.values())
    sums: dict[str, float] = defaultdict(float)
    for task, value in values.items():
        sums[repos.get(task, f"alone {task}")] += value - mean
    g = len(sums)
    return math.sqrt(g / (g - 1) * math.fsum(s * s for s in sums.values())) / len(values), g


@pytest.mark.parametrize("missing", [0, 5])
def test_intervals_over_clusters(missing: int) -> None:
    repos = dict(list(REPOS.items())[missing:])
    run = run_of(tagged(TASKS, repos))
    report = run.report(["pass@1", "pass@2"], cluster="repo", interval="student")
    for label, figure in report.items():
        error, units = by_hand(report, label, list(TASKS), repos)
        assert figure.standard_error == pytest.approx(error, rel=1e-12)
        assert figure.n_clusters == units
        plain = run.report([label], interval="student")[label]
        assert (figure.value, figure.noise) == (plain.value, plain.noise)
        assert plain.n_clusters is None
        assert figure.standard_error != plain.standard_error
    t = {8: 2.364624251592785, 12: 2.200985160091638}[report["pass@1"].n_clusters]
    low, high = report["pass@1"].interval
    assert high - low == pytest.approx(2 * t * report["pass@1"].standard_error)
    assert report.cluster == "repo"
    few = [note for note in report.notes if "few" in note]
    assert few == [
        f"{report['pass@1'].n_clusters} clusters of repo are few: intervals over clusters are rough"
    ]
    alone = [note for note in report.notes if "of its own" in note]
    assert alone == (['5 tasks carry no tag "repo": each is a cluster of its own'] if missing else [])
    assert report["pass@1"].rough


def test_clusters_and_groups_together() -> None:
    records = tagged(TASKS, REPOS)
    for record in records:
        record["tags"]["suite"] = "even" if int(record["task"][1:]) % 2 == 0 else "odd"
    report = run_of(records).report("pass@1", by="suite", cluster="repo")
    for group in report.groups.values():
        error, units = by_hand(group, "pass@1", group.per_task.task, REPOS)
        assert group["pass@1"].standard_error == pytest.approx(error, rel=1e-12)
        assert group["pass@1"].n_clusters == units
    one = run_of(records).report("pass@1", by="repo", cluster="repo").groups["r0"]
    assert one["pass@1"].no_interval == "one cluster says nothing of others"


def test_a_tag_that_nobody_carries_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(errors.ArgumentError, match='no rollout carries the tag "nothing"'):
        run_of(tagged(TASKS, REPOS)).report(cluster="nothing")
    path = tmp_path / "run.jsonl"
    path.write_bytes(jsonl(*tagged(TASKS, REPOS)))
    assert main(["report", str(path), "--cluster", "nothing"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_cluster_is_constant_within_a_task() -> None:
    records = [
        {"task": "a", "passed": True, "tags": {"repo": "x"}},
        {"task": "a", "passed": True, "tags": {"repo": "y"}},
    ]
    with pytest.raises(errors.InputError, match="a tag to cluster by is constant within a task"):
        run_of(records).report("pass@1", cluster="repo")


def test_clusters_travel_with_an_accumulator() -> None:
    records = tagged(TASKS, dict(list(REPOS.items())[4:]))
    whole = run_of(records).report("pass@1", cluster="repo")
    parts = []
    for part in range(3):
        shard = Accumulator("pass@1", cluster="repo")
        shard.update(run_of([r for i, r in enumerate(records) if i % 3 == part]))
        parts.append(Accumulator.from_bytes(shard.to_bytes()))
    total = Accumulator("pass@1", cluster="repo")
    total.merge(*parts)
    merged = as_json(total.report())
    assert merged["statistics"] == as_json(whole)["statistics"]
    assert [task.get("cluster") for task in merged["tasks"]] == [
        task.get("cluster") for task in as_json(whole)["tasks"]
    ]
    with pytest.raises(errors.MergeError, match="cluster"):
        total.merge(Accumulator("pass@1"))
    with pytest.raises(errors.ArgumentError, match="columns carry no tag 'repo'"):
        total.update(groups=["a"], passed=[True])
    other = Accumulator("pass@1", cluster="repo")
    other.update(run_of([{"task": "t09", "passed": True, "tags": {"repo": "elsewhere"}}]))
    with pytest.raises(errors.InputError, match="in one part"):
        total.merge(other)


def test_the_command_line_takes_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(jsonl(*tagged(TASKS, REPOS)))
    assert main(["report", str(path), "--cluster", "repo", "--statistic", "pass@1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "over 8 clusters of repo" in text
    assert "rough: fewer than 30 clusters" in text


def test_a_saved_report_knows_its_clusters() -> None:
    report = run_of(tagged(TASKS, dict(list(REPOS.items())[4:]))).report("pass@1", cluster="repo")
    again = kofn.Report.from_json(report.to_json())
    assert again.to_json() == report.to_json()
    assert again.cluster == "repo"
    assert again.per_task.cluster == report.per_task.cluster
    found = kofn.compare(again, report, "pass@1", cluster="repo")
    assert found.content.settings.clusters == report["pass@1"].n_clusters


# -- noise of durations and tokens

amounts = st.lists(st.integers(0, 2**20), min_size=2, max_size=6)


@given(st.lists(amounts, min_size=1, max_size=5), st.booleans())
@settings(max_examples=60)
def test_the_noise_of_resources_is_that_of_their_means(tasks: list[list[int]], halves: bool) -> None:
    scale = 0.5 if halves else 1.0
    records = [
        {"task": f"t{i}", "passed": True, "duration_s": scale * x, "usage": {"total_tokens": x}}
        for i, xs in enumerate(tasks)
        for x in xs
    ]
    report = run_of(records).report(["mean_duration", "mean_total_tokens"], denominator="recorded")
    variances = [statistics.variance(xs) / len(xs) for xs in tasks]
    noise = math.sqrt(math.fsum(variances)) / len(tasks)
    assert report["mean_total_tokens"].noise == pytest.approx(noise, rel=1e-12)
    assert report["mean_duration"].noise == pytest.approx(scale * noise, rel=1e-12)
    for i, variance in enumerate(variances):
        found = report.per_task[f"t{i}"].noise["mean_total_tokens"]
        assert found == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_durations_have_an_interval_a_task() -> None:
    records = [{"task": "a", "duration_s": x} for x in (1.0, 2.0, 6.0)] + [{"task": "b", "duration_s": 4.0}]
    report = run_of(records).report("mean_duration")
    low, high = report.per_task["a"].intervals["mean_duration"]
    half = 4.302652729749464 * math.sqrt(7 / 3)
    assert (low, high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert "mean_duration" not in report.per_task["b"].intervals
    assert report["mean_duration"].no_noise == "a task has a single observation, which tells no spread"


def test_observations_too_far_apart_have_no_noise() -> None:
    records = [{"task": "a", "duration_s": x, "score": x} for x in (0.0, 1e300)]
    report = run_of(records).report(["mean_duration", "mean_score"])
    for figure in report.values():
        assert (figure.value, figure.noise) == (5e299, None)
        assert figure.no_noise == "observations of a task lie further apart than can be computed with"
    assert kofn.Report.from_json(report.to_json()).to_json() == report.to_json()


# -- noise of differences

RESOURCES = ["mean_score", "mean_duration", "mean_total_tokens", "metric_mean:m", "best_of_2"]


def recorded(seed: int, tasks: int = 12, rollouts: int = 5) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    return [
        {
            "task": f"t{task}",
            "verifiers": [
                {
                    "name": "v",
                    "score": random.random(),
                    "readings": [{"metric": "m", "value": random.random()}],
                }
            ],
            "duration_s": random.random(),
            "usage": {"total_tokens": int(random.integers(1000))},
        }
        for task, _ in product(range(tasks), range(rollouts))
    ]


def test_the_noise_of_a_difference_is_that_of_both_runs() -> None:
    a, b = (run_of(recorded(seed)).report(RESOURCES) for seed in (1, 2))
    found = kofn.compare(a, b)
    saved = kofn.compare(kofn.Report.from_json(a.to_json()), kofn.Report.from_json(b.to_json()))
    for label in RESOURCES:
        assert found[label].noise == pytest.approx(math.hypot(a[label].noise, b[label].noise), rel=1e-12)
        assert saved[label].noise == found[label].noise
    single = run_of(recorded(3, rollouts=1)).report(RESOURCES[:4])
    assert kofn.compare(a, single, RESOURCES[:4])["mean_score"].noise is None


# -- the reliability gap


def test_the_gap_is_that_of_each_task() -> None:
    report = run_of(tagged(TASKS, {})).report(["pass@k", "pass^k"], k=[1, 2, 3])
    n, c = report.per_task.n, report.per_task.successes
    for k in (2, 3):
        gap = report.reliability_gap(k)
        values = pass_at_k(n, c, k) - pass_hat_k(n, c, k)
        assert gap.value == pytest.approx(values.mean(), rel=1e-15)
        assert gap.value == pytest.approx(report[f"pass@{k}"].value - report[f"pass^{k}"].value, abs=1e-15)
        assert gap.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))
        assert gap.low < gap.value < gap.high
        assert 0 < gap.noise < 0.1
    with pytest.raises(errors.OmittedError, match="both pass@1 and pass"):
        report.reliability_gap(1)  # one rollout solves a task or does not
    assert sorted(as_json(report)["reliability_gap"]) == ["2", "3"]
    again = kofn.Report.from_json(report.to_json())
    assert again.reliability_gap(3) == report.reliability_gap(3)
    assert again.to_json() == report.to_json()


def test_the_gap_stands_in_every_view_and_group() -> None:
    records = tagged(TASKS, REPOS)
    report = run_of(records).report(["pass@2", "pass^2"], by="repo")
    for form in FORMS:
        if form == "csv":
            assert "reliability_gap,2" in report.render(form)
        else:
            assert "solved sometimes" in " ".join(report.render(form).split())
    assert all(group.reliability_gap(2).n_tasks == 3 for group in report.groups.values())
    plain = run_of(records).report(["pass@2", "pass^2"], confidence=None).reliability_gap(2)
    assert (plain.interval, plain.value) == (None, report.reliability_gap(2).value)


def test_no_gap_without_both_figures() -> None:
    report = run_of(passes(1, 0)).report(["pass@2"])
    assert "reliability_gap" not in as_json(report)
    with pytest.raises(KeyError):
        report.reliability_gap(2)


# -- posteriors


@pytest.mark.parametrize("k", [1, 4, 64])
@pytest.mark.parametrize("prior", [(0.5, 0.5), (1, 1)])
def test_a_posterior_is_the_mean_of_the_tasks_posteriors(k: int, prior: tuple[float, float]) -> None:
    report = run_of(tagged(TASKS, {})).report()
    n, c = report.per_task.n, report.per_task.successes
    for label, function in (("pass@k", pass_at_k_posterior), ("pass^k", pass_hat_k_posterior)):
        found = report.posterior(k, label=label, prior=prior)
        mean, variance = function(n, c, k, prior=prior)
        assert found.value == pytest.approx(mean.mean())
        assert found.standard_deviation == pytest.approx(math.sqrt(variance.sum()) / len(n))
        assert found.label == label.replace("k", str(k))
        assert found.beyond == (24 if k > 4 else 0)
        assert found.model_based is True
        low, high = found.interval(0.9)
        assert low < found.value < high
    assert report.posterior(2).prior == (0.5, 0.5)


def test_a_posterior_is_bayes_at_n() -> None:
    scorio = pytest.importorskip("scorio")
    outcomes = np.array([list(map(int, values)) for values in TASKS.values()])
    mean, deviation = scorio.eval.bayes(outcomes, np.array([0.0, 1.0]))[:2]
    found = run_of(tagged(TASKS, {})).report().posterior(1, prior=(1, 1))
    assert found.value == pytest.approx(mean, rel=1e-12)
    assert found.standard_deviation == pytest.approx(deviation, rel=1e-12)


def test_outcomes_of_several_grades() -> None:
    grades, earlier = [[0, 1, 2, 2, 1], [1, 1, 0, 2, 2]], [[0, 2], [1, 2]]
    found = bayes_at_n(grades, (0, 0.5, 1), earlier=earlier)
    assert (found.mean, found.variance) == (pytest.approx(23 / 40), pytest.approx(5 / 704))
    found = bayes_at_n(grades, (0, 0.5, 1))
    assert (found.mean, found.variance) == (pytest.approx(9 / 16), pytest.approx(13 / 1536))
    for arguments, name in (
        (([0, 1],), "outcomes"),
        (([[0, 3]], (0, 1)), "outcomes"),
        (([[0, 1]], (0,)), "weights"),
    ):
        with pytest.raises(errors.ArgumentError, match=name):
            bayes_at_n(*arguments)
    with pytest.raises(errors.ArgumentError, match="earlier"):
        bayes_at_n([[0, 1]], earlier=[[0], [1]])


def test_a_posterior_takes_counts_and_sound_arguments() -> None:
    report = run_of(passes(1, 0)).report()
    for arguments, name in (((0,), "k"), ((2, "best_of_k"), "label"), ((2, "pass@k", (0, 1)), "prior")):
        k, *rest = arguments
        with pytest.raises(errors.ArgumentError, match=name):
            report.posterior(k, **dict(zip(("label", "prior"), rest, strict=False)))
    with pytest.raises(errors.ArgumentError, match="confidence"):
        report.posterior(2).interval(1.0)
    with pytest.raises(errors.RefusedError, match="posterior"):
        run_of([{"task": "a", "score": 0.5}]).report("mean_score").posterior(2)


def test_each_task_says_how_probable_an_improvement_is() -> None:
    found = kofn.compare(run_of(passes(0, 0, 0, 0)), run_of(passes(1, 1, 1, 1))).tasks
    better = found.probability_better()[0]
    assert better > 0.99
    back = kofn.compare(run_of(passes(1, 1, 1, 1)), run_of(passes(0, 0, 0, 0))).tasks
    assert back.probability_better()[0] == pytest.approx(1 - better)
    same = kofn.compare(run_of(passes(1, 0)), run_of(passes(0, 1))).tasks.probability_better(prior=(1, 1))
    assert same[0] == pytest.approx(0.5)


def test_bootstraps_draw_whole_clusters() -> None:
    # Clusters of tasks that are alike: as few independent values as there are clusters.
    tasks = {f"t{i:02}": [i // 8 % 2, int(i // 8 % 3 > 0)] for i in range(64)}
    repos = {task: f"r{i // 8}" for i, task in enumerate(tasks)}
    run = run_of(tagged(tasks, repos))
    alone, together = (
        run.report("pass@1", cluster=tag, interval="bootstrap")["pass@1"] for tag in (None, "repo")
    )
    assert (alone.n_clusters, together.n_clusters) == (None, 8)
    assert together.high - together.low > 2 * (alone.high - alone.low)
