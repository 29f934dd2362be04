"""Measure kofn beside its peers: `python benches/run.py [--quick] [--job NAME]...`."""

from __future__ import annotations

import os

# BLAS threads spin while they wait, and would count as work.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import harness
import limits
from jobs import JOBS, PEERS


def main() -> int:
    """Run the jobs, print a table a job, and fail if a gate is missed at full size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small inputs, for which no gate is meant")
    parser.add_argument("--job", action="append", choices=JOBS, help="only this one; repeatable")
    arguments = parser.parse_args()
    scale, seconds = (0.1, 0.7) if arguments.quick else (1.0, 5.0)
    found = limits.measure()
    print(found)
    missed: list[str] = []
    for name in arguments.job or JOBS:
        for job in JOBS[name](scale):
            result = harness.run(job, found, seconds)
            print(result, flush=True)
            missed += result.missed()
    absent = [name for name in PEERS if not find_spec(name)]
    if absent:
        print(f"\nnot installed: {', '.join(absent)}")
    if missed:
        print("\ngates not reached:", *missed, sep="\n  ")
    return 0 if arguments.quick or not missed else 1


if __name__ == "__main__":
    raise SystemExit(main())
