"""Processors and threads: the same bits whatever the machine offers, the interpreter free while kernels run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kofn
from kofn import _columns, _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Prints a digest of what each public function gives, on data large enough for several threads.
DIGESTS = """
import hashlib, json, sys
import numpy as np, pyarrow as pa
import kofn
from kofn.runs import report_files

random = np.random.default_rng(11)
R = 280_000
found = {}

def note(name, *results):
    digest = hashlib.sha256()
    for result in results:
        if isinstance(result, np.ndarray):
            digest.update(str((result.dtype, result.shape)).encode() + result.tobytes())
        elif isinstance(result, dict):
            digest.update(repr(sorted((key, value.hex()) for key, value in result.items())).encode())
        else:
            digest.update(result if isinstance(result, bytes) else repr(result).encode())
    found[name] = digest.hexdigest()

# Checks: rollouts of a few, some of many, some without a required one.
lengths = random.integers(0, 9, R)
lengths[random.integers(0, R, 40)] = 80
offsets = np.concatenate([[0], np.cumsum(lengths)])
passed, required = random.random(offsets[-1]) < 0.7, random.random(offsets[-1]) < 0.5
for kind in (np.int64, np.int32, np.uint64, np.uint32):
    g = kofn.grade_batch(passed, required, offsets.astype(kind), on_ungradable="indeterminate")
    note(f"grade {kind.__name__}", g.passed, g.reward, g.n_failed_required, g.indeterminate)
matrix = random.random((R, 6)) < 0.8
for name, needs in (("one", np.arange(6) < 3), ("each", random.random((R, 6)) < 0.6)):
    g = kofn.grade_batch(matrix, needs, on_ungradable="indeterminate")
    note(f"grade rows, required {name}", g.passed, g.reward, g.n_failed_required, g.indeterminate)

# Tasks and counts: dense, sparse and text ids, grouped and not.
tasks = random.integers(0, 30_000, R)
verdicts = random.random(R) < 0.4
words = pa.array([f"task-{number}" for number in range(30_000)])
for name, ids in (("random", tasks), ("grouped", np.sort(tasks)), ("sparse", tasks * 982_451_653), ("few", tasks % 7)):
    text = words.take(pa.array(ids % 30_000))
    for kind, groups in (("int", ids), ("text", text.to_pylist()), ("arrow", text), ("coded", text.dictionary_encode())):
        note(f"counts {kind} {name}", *kofn.counts(verdicts, groups=groups))
        index = kofn.TaskIndex(groups)
        note(f"index {kind} {name}", index.codes, index.ids)

# Estimators: few cells, many cells, large n.
for name, n in (("small", random.integers(8, 33, R)), ("many", random.integers(128, 1000, R // 4)), ("large", random.integers(5_000, 90_000, 3_000))):
    c = (n * random.random(len(n)) ** 3).astype(np.int64)
    ks = [1, 2, 5, 8] if name == "small" else [1, 2, 4, 8, 16, 32, 64, 128]
    for function in (kofn.pass_at_k, kofn.pass_hat_k, kofn.estimators.expected_attempts):
        note(f"{function.__name__} {name}", function(n, c, ks))
    note(f"learnability {name}", kofn.learnability(n, c))
    few = slice(0, 20_000)
    note(f"g_pass_at_k {name}", kofn.g_pass_at_k(n[few], c[few], ks, 0.5))

# Scores: rows and groups, wide and narrow, with ties and missing ones.
scores = np.where(random.random(R) < 0.1, np.nan, random.normal(size=R)).reshape(-1, 16)
scores[::3] = np.round(scores[::3])
for function in (kofn.best_of_k, kofn.worst_of_k):
    note(f"{function.__name__} rows", function(scores, [1, 2, 4, 8]))
    note(f"{function.__name__} groups", function(scores.reshape(-1)[: len(tasks)], [1, 2, 4], groups=tasks))

# The loop's call and a report, all statistics.
ALL = ["pass@k", "pass^k", "pass_rate", "learnability", "coverage", "mean_score", "best_of_k", "worst_of_k"]
ALL += ["mean_duration", "mean_total_tokens"]
columns = dict(
    groups=tasks, scores=scores.reshape(-1), durations=random.exponential(30, R), tokens=random.integers(0, 9999, R),
    valid=random.random(R) < 0.97,
)
options = dict(statistics=ALL, k=[1, 2, 8], denominator="recorded", requested=99)
note("metrics", kofn.metrics(**columns, **options, threshold=0.2))
note("metrics of verdicts", kofn.metrics(passed=verdicts, **columns, **options))
narrow = columns | {"scores": columns["scores"].astype(np.float32)}
note("metrics of float32", kofn.metrics(**narrow, threshold=0.2))
note("metrics by", kofn.metrics(**columns, **options, threshold=0.2, by=tasks % 3))
total = kofn.Accumulator(**options, threshold=0.2, on_short="omit")
for part in np.array_split(np.arange(R), 5):
    total.update(**{name: column[part] for name, column in columns.items()})
note("accumulator", total.to_bytes(), total.report().to_json())

# Resamples: many values, few, in clusters, and a report's.
from kofn.estimators import bootstrap_mean
for name, values in (("many", random.gamma(2, size=3_000)), ("few", verdicts[:50_000] * 0.5), ("small", np.arange(9) ** 2.0)):
    for method in ("bca", "percentile"):
        note(f"bootstrap {name} {method}", bootstrap_mean(values, seed=7, method=method))
    note(f"bootstrap {name} clusters", bootstrap_mean(values, clusters=np.arange(len(values)) // 3))
note("bootstrap columns", *bootstrap_mean(random.gamma(2, size=(500, 3))))
resampled = total.report(interval="bootstrap", seed=3)
note("bootstrap report", resampled.to_json())
small = kofn.Run.from_arrays(groups=np.arange(3_200) // 8, passed=verdicts[:3_200]).report("pass@1")
note("band", small.curve("pass@k").low, small.curve("pass^k").high)

# A file.
note("file", report_files([sys.argv[1]], denominator="recorded", on_short="omit").to_json())
note("run", kofn.read(sys.argv[1]).report(denominator="recorded", on_short="omit").to_json())
print(json.dumps(found))
"""
SETTINGS = [("baseline", 1), ("v3", 2), ("v4", 16), ("baseline", 16)]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a native file of several MB, in which no two lines are alike."""
    random = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("machine") / "run.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(12_000):
            flags = random.random(6) < 0.8
            record = {
                "task": f"täsk-{number % 900}",
                "status": "succeeded" if number % 31 else "errored",
                "verifiers": [
                    {
                        "name": "tests",
                        "checks": [
                            {"label": f'check "{i}"', "required": i < 3, "passed": bool(flag)}
                            for i, flag in enumerate(flags)
                        ][: int(random.integers(1, 7))],
                    }
                ],
                "duration_s": float(random.exponential(40)),
                "usage": {"input_tokens": int(random.integers(9999)), "output_tokens": number},
                "meta": {"note": "x" * int(random.integers(0, 300))},
            }
            file.write(json.dumps(record, ensure_ascii=bool(number % 2)) + "\n")
    return path


def test_processor_and_threads_change_no_bit(native: Path) -> None:
    pytest.importorskip("pyarrow")

    def digests(setting: tuple[str, int]) -> dict[str, str]:
        environment = os.environ | {"KOFN_ARCH": setting[0], "KOFN_THREADS": str(setting[1])}
        command = [sys.executable, "-c", DIGESTS, str(native)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    with ThreadPoolExecutor(2) as pool:
        first, *others = pool.map(digests, SETTINGS)
    assert len(first) > 50
    for setting, found in zip(SETTINGS[1:], others, strict=True):
        assert {name for name in first if found[name] != first[name]} == set(), setting


@pytest.fixture
def patient() -> Iterator[None]:
    """Let no thread take the interpreter from another: a thread runs when another lets go by itself."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e4)
    yield
    sys.setswitchinterval(interval)


def lets_go(work: Callable[[], object], calls: int = 200) -> bool:
    """Whether another thread gets to run during `work`, which may need several calls on a busy machine."""
    ran = threading.Event()
    gate = threading.Lock()
    with gate:
        waiting = threading.Event()

        def other() -> None:
            waiting.set()
            with gate:
                ran.set()

        thread = threading.Thread(target=other)
        thread.start()
        waiting.wait()
    # The other thread is past the gate, or waits for it: what it needs now is the interpreter.
    for _ in range(calls):
        if ran.is_set():
            break
        work()
    found = ran.is_set()
    thread.join()
    return found


ROWS = 200_000
PASSED = np.random.default_rng(2).random((ROWS, 8)) < 0.6
SCORES = np.random.default_rng(2).random((ROWS, 8))
REQUIRED = np.arange(8) < 4
OUT = kofn.grade_batch(PASSED, REQUIRED, on_ungradable="indeterminate")
INDEX = kofn.TaskIndex(np.arange(8 * ROWS) // 8)
IDS, FLAT = _columns.ungrouped(INDEX, None, {"passed": PASSED.reshape(-1)})
N = np.random.default_rng(2).integers(200, 900, ROWS)
KERNELS: dict[str, Callable[[], object]] = {
    "grade_batch": lambda: kofn.grade_batch(PASSED, REQUIRED, out=OUT),
    "counts": lambda: _core.count(IDS, FLAT["passed"]),
    "TaskIndex": lambda: kofn.TaskIndex(N),
    "pass_at_k": lambda: kofn.pass_at_k(N, N // 3, [1, 8]),
    "best_of_k": lambda: kofn.best_of_k(SCORES, [1, 2]),
    "metrics": lambda: kofn.metrics(groups=INDEX, scores=SCORES.reshape(-1), threshold=0.5),
    "update": lambda: kofn.Accumulator(threshold=0.5).update(groups=INDEX, scores=SCORES.reshape(-1)),
}


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is nothing to let go")
@pytest.mark.usefixtures("patient")
def test_kernels_run_while_other_threads_hold_the_interpreter() -> None:
    assert not lets_go(lambda: sum(range(10_000)), 20), "the test would show nothing"
    for name, work in KERNELS.items():
        assert lets_go(work), name


def test_threads_that_add_merge_and_look_lose_nothing() -> None:
    options: dict[str, Any] = {
        "statistics": ["pass@1", "mean_score"],
        "threshold": 0.5,
        "denominator": "recorded",
        "on_short": "omit",
    }
    total = kofn.Accumulator(**options)
    total.update(groups=[0], scores=[1.0])
    each, size = 40, 64
    faults: list[BaseException] = []
    start = threading.Barrier(10)
    adding = threading.Event()

    def columns(thread: int, step: int) -> dict[str, Any]:
        random = np.random.default_rng([thread, step])
        return {"groups": random.integers(0, 50, size), "scores": random.random(size).astype(np.float32)}

    def add(thread: int) -> None:
        start.wait()
        for step in range(each):
            if step % 4:
                total.update(**columns(thread, step))
            else:
                shard = kofn.Accumulator(**options)
                shard.update(**columns(thread, step))
                total.merge(shard)

    def look() -> None:
        start.wait()
        before = 0
        while not adding.is_set():
            report, length = total.report(), len(total)
            assert before <= report.counts["recorded"] <= length
            assert len(kofn.Accumulator.from_bytes(total.to_bytes())) >= length
            assert report.counts["recorded"] % size == 1, "half an update was seen"
            before = report.counts["recorded"]

    def guarded(work: Callable[..., None], *arguments: int) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001  # told by the test itself
            faults.append(error)

    adders = [threading.Thread(target=guarded, args=(add, thread)) for thread in range(8)]
    lookers = [threading.Thread(target=guarded, args=(look,)) for _ in range(2)]
    for thread in adders + lookers:
        thread.start()
    for thread in adders:
        thread.join()
    adding.set()
    for thread in lookers:
        thread.join()
    assert not faults, faults
    alone = kofn.Accumulator(**options)
    alone.update(groups=[0], scores=[1.0])
    for number in range(8):
        for step in range(each):
            alone.update(**columns(number, step))
    assert len(total) == 8 * each * size + 1
    assert total.to_bytes() == alone.to_bytes()
    assert total.report().to_json() == alone.report().to_json()
