"""Large files: bounded memory, and a stop at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Runs a command as its only child and prints the child's peak memory in KiB after its output.
PEAK = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=False)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(done.returncode)
"""
KOFN = [sys.executable, "-m", "kofn"]


def line(task: int, rollout: int) -> str:
    """Return a rollout as real ones look: nested, some 500 bytes."""
    return json.dumps(
        {
            "task": f"repository-{task:05d}",
            "rollout": rollout,
            "status": "succeeded",
            "verifiers": [
                {
                    "name": "tests",
                    "checks": [
                        {
                            "label": f"test_{i}",
                            "required": i < 3,
                            "passed": (task + rollout + i) % 3 > 0,
                            "detail": "x" * 40,
                        }
                        for i in range(4)
                    ],
                    "readings": [{"metric": "latency_s", "value": (task * 7 + rollout) % 1000 / 1000}],
                }
            ],
            "duration_s": (task * 31 + rollout * 17) % 10007 / 100,
            "usage": {"input_tokens": 1000 + task, "output_tokens": 100 + rollout},
            "tags": {"suite": "s" + str(task % 5)},
        }
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a native file of 50 MB: 10,000 tasks, 8 rollouts each."""
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    with path.open("w") as file:
        file.write('{"run": {"requested_rollouts": 8}}\n')
        for task in range(10_000):
            file.writelines(line(task, rollout) + "\n" for rollout in range(8))
    assert path.stat().st_size > 50e6
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux alone")
def test_a_report_keeps_tasks_not_the_file(large: Path) -> None:
    command = [sys.executable, "-c", PEAK, *KOFN, "report", str(large), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)["counts"]
    assert (counts["tasks"], counts["recorded"], counts["missing"]) == (10_000, 80_000, 0)
    # Python with NumPy takes some 40 MB of it; the file alone would take 50.
    assert int(done.stderr.split()[-1]) < 130_000


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child")
def test_ctrl_c_stops_a_long_read_at_once(large: Path) -> None:
    command = [*KOFN, "report", *[str(large)] * 1, "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # Standard input never ends, so only the signal can stop the read.
        for rollout in range(100):
            process.stdin.write((line(20_000 + rollout, 0) + "\n").encode())
        process.stdin.flush()
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        process.wait(timeout=10)
        assert time.monotonic() - began < 2
        assert b"Traceback" not in process.stderr.read()
        assert process.returncode not in {0, 4}
