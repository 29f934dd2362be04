"""Count the instructions of each kernel and hold them against those on record: `python tools/instructions.py`.

Instructions, unlike seconds, are the same on a busy machine. They change with the compiler and with every change of
a kernel: `--update` puts the new counts on record, and the commit says why they changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "benches" / "instructions.json"
ALLOWED = 0.03
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = TARGET / "release" / "examples" / "kernels"
# Valgrind knows no AVX-512, and several threads would add their waiting.
SETTINGS = {"KOFN_ARCH": "v3", "KOFN_THREADS": "1"}


def main() -> int:
    """Count, compare and print; 1 if a kernel takes more than the record allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="put what is counted on record")
    arguments = parser.parse_args()
    build = ["cargo", "build", "--quiet", "--locked", "--release", "-p", "kofn-core", "--example", "kernels"]
    # The names of functions tell where to count.
    subprocess.run(build, cwd=ROOT, env=os.environ | {"CARGO_PROFILE_RELEASE_STRIP": "none"}, check=True)
    names = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.splitlines()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(names, pool.map(count, names), strict=True))
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    worse = False
    for name, found in counts.items():
        known = record.get(name)
        change = "new" if known is None else f"{100 * (found / known - 1):+.2f} %"
        over = known is None or found > known * (1 + ALLOWED)
        worse |= over
        print(f"{name:<52}{found:>15,} {change:>10}{'   more than on record' if over and known else ''}")
    gone = sorted(record.keys() - counts.keys())
    if gone:
        print("on record, but not a kernel:", ", ".join(gone))
    if arguments.update:
        RECORD.write_text(json.dumps(counts, indent=2) + "\n")
        return 0
    if worse or gone:
        print("if that is meant: python tools/instructions.py --update", file=sys.stderr)
    return int(worse or bool(gone))


def count(name: str) -> int:
    """Return the instructions within `measured` when a kernel runs."""
    callgrind = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=*measured*",
    ]
    result = subprocess.run(
        [*callgrind, PROGRAM, name], capture_output=True, text=True, env=os.environ | SETTINGS, check=False
    )
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode or not found or not int(found[1]):
        raise SystemExit(f"{name}: nothing was counted\n{result.stderr}")
    return int(found[1])


if __name__ == "__main__":
    raise SystemExit(main())
