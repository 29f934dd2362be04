"""Measure kofn beside its peers: `python benches/run.py [--quick] [--job NAME]...`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from harness import bandwidth, measure, table
from jobs import arrays, files


def main() -> int:
    """Run the jobs and print a table a job."""
    jobs = arrays.JOBS | files.JOBS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small inputs, a second a job")
    parser.add_argument("--job", action="append", choices=jobs, help="only this one; repeatable")
    arguments = parser.parse_args()
    rows, seconds = (100_000, 1.0) if arguments.quick else (1_000_000, 8.0)
    rate = bandwidth()
    print(f"one thread reads {rate / 1e9:.1f} GB/s here")
    absent = set()
    for name in arguments.job or jobs:
        for job in jobs[name](rows):
            print(table(job, measure(job, seconds), rate), flush=True)
            absent.update(job.absent)
    if absent:
        print(f"\nnot installed: {', '.join(sorted(absent))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
