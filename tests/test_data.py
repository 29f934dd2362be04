"""Published and exact figures of real runs, through every door."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from native import as_json, kofn
from shared_data import DATA, TAU_BENCH, TERMINAL_BENCH, expected, needs_data, tau_bench, terminal_bench

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = needs_data

LABELS = ("pass@k", "pass^k", "mean_score", "learnability", "mean_total_tokens", "best_of_k", "worst_of_k")
KS = (1, 2, 3, 4, 5)


def agrees(values: Mapping[str, float], exact: dict[str, Any]) -> None:
    for label, fraction in exact.items():
        if not label.endswith("_tasks"):
            right = float(Fraction(fraction))
            assert values[label] == pytest.approx(right, rel=1e-12, abs=0), label


def check_report(report: dict[str, Any], name: str) -> None:
    exact, published = expected(name)["exact"], expected(name)
    figures = report["statistics"]
    agrees({label: figure["value"] for label, figure in figures.items()}, exact)
    for key, n_tasks in exact.items():
        if key.endswith("_tasks"):
            label = key.removesuffix("_tasks")
            assert figures[label]["n_tasks"] == n_tasks
            assert figures[label.replace("best", "worst")]["n_tasks"] == n_tasks
    assert figures["pass@1"]["value"] == pytest.approx(published["accuracy"], abs=1e-12)
    for k, value in published["pass_at_k"].items():
        assert figures[f"pass@{k}"]["value"] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", TERMINAL_BENCH)
def test_terminal_bench_from_its_file(name: str) -> None:
    run = kofn.read(DATA / f"{name}.jsonl")
    check_report(as_json(run.report(LABELS, k=KS)), name)


@pytest.mark.parametrize("name", TERMINAL_BENCH)
def test_terminal_bench_from_the_command_line(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    cli: Any = import_module("kofn.cli")
    words = [word for label in LABELS for word in ("--statistic", label)]
    path = str(DATA / f"{name}.jsonl")
    assert cli.main(["report", path, *words, "--k", "1,2,3,4,5", "--format", "json"]) == 0
    check_report(json.loads(capfd.readouterr().out), name)


@pytest.mark.parametrize("name", TERMINAL_BENCH)
def test_terminal_bench_from_merged_accumulators(name: str, tmp_path: Path) -> None:
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    total = None
    for part in range(3):
        path = tmp_path / f"{part}.jsonl"
        path.write_text(lines[0] + "".join(lines[1 + part :: 3]), encoding="utf-8")
        shard = kofn.Accumulator(LABELS, k=KS, requested=5, part=f"shard-{part}")
        shard.update(kofn.read(path))
        shard = kofn.Accumulator.from_bytes(shard.to_bytes())
        if total is None:
            total = shard
        else:
            total.merge(shard)
    assert total is not None
    check_report(as_json(total.report()), name)


@pytest.mark.parametrize("name", TERMINAL_BENCH)
def test_terminal_bench_from_arrays(name: str) -> None:
    _, records = terminal_bench(name)
    passed, scores, tokens = [], [], []
    for record in records:
        checks = [check for verifier in record.get("verifiers") or [] for check in verifier["checks"]]
        passed.append(
            bool(checks) and record["status"] == "succeeded" and all(one["passed"] for one in checks)
        )
        scores.append(sum(one["passed"] for one in checks) / len(checks) if checks else np.nan)
        usage = record.get("usage")
        tokens.append(usage["input_tokens"] + usage["output_tokens"] if usage else np.nan)
    groups = [record["task"] for record in records]
    found = kofn.metrics(
        groups=groups,
        passed=passed,
        scores=scores,
        tokens=tokens,
        statistics=LABELS,
        k=KS,
        requested=5,
        style="symbols",
    )
    agrees(found, expected(name)["exact"])


def test_tau_bench() -> None:
    run = kofn.Run.from_records(tau_bench())
    report = run.report(["pass^k", "pass@k"], k=[1, 2, 3, 4], threshold=1.0)
    agrees({label: figure.value for label, figure in report.items()}, expected(TAU_BENCH)["exact"])
    for k, value in expected(TAU_BENCH)["published_pass_hat_k"].items():
        assert round(report[f"pass^{k}"].value, 3) == value
