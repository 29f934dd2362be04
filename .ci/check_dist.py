"""Uses what `make wheel` built where a user would: in a clean environment that holds NumPy and nothing else.

usage: check_dist.py DIST...

A wheel is looked into, installed for the running interpreter and used; of a source distribution the contents are
checked. It needs the standard library alone, so that each platform's wheel is checked by the same file.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LARGEST = 2_200_000  # bytes; docs/performance.md says what weighs
SOURCES = ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "tests", "examples", "python", "rust", "Cargo.lock"]
# Ends of the paths in a wheel. The first is the bill of materials: which crates are compiled into the extension.
WHEEL = [
    ".dist-info/sboms/kofn-py.cyclonedx.json",
    "/LICENSE-MIT",
    "/LICENSE-APACHE",
    "kofn/py.typed",
    "kofn/_core.pyi",
]

USE = """
import importlib.metadata, importlib.util, pathlib, sys
import kofn

assert pathlib.Path(kofn.__file__).is_relative_to(sys.prefix), kofn.__file__
assert kofn.__version__ == importlib.metadata.version("kofn")
for extra in ("pyarrow", "pandas", "polars"):
    assert importlib.util.find_spec(extra) is None, f"{extra} is here: this environment proves nothing"
# A free-threaded interpreter turns its lock on when a module does not declare that it does without.
if "free-threading" in sys.version:
    assert not sys._is_gil_enabled(), "importing kofn turned the interpreter's lock on"

report = kofn.read("examples/agents.jsonl").report()
assert kofn.Report.from_json(report.to_json()).to_json() == report.to_json()
figures = kofn.metrics(groups=[0, 0, 1, 1], passed=[True, False, True, True], statistics=["pass@1"])
assert figures == {"pass_at_1": 0.75}, figures
"""


def missing(names: list[str], endings: list[str]) -> list[str]:
    """Those of `endings` that no name has."""
    return [end for end in endings if not any(name.endswith(end) for name in names)]


def check_source(sdist: Path) -> None:
    """Check that a user can build and test from the source distribution."""
    with tarfile.open(sdist) as archive:
        present = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    if absent := [name for name in SOURCES if name not in present]:
        sys.exit(f"{sdist.name} lacks {', '.join(absent)}")


def check_wheel(wheel: Path) -> None:
    """Look into the wheel, install it and use it, as a module and as a command."""
    with zipfile.ZipFile(wheel) as archive:
        if absent := missing(archive.namelist(), WHEEL):
            sys.exit(f"{wheel.name} lacks {', '.join(absent)}")
    if wheel.stat().st_size >= LARGEST:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size} bytes, and should stay under {LARGEST}")

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        work = Path(folder)
        venv.create(work / "env", with_pip=True)
        programs = work / "env" / ("Scripts" if os.name == "nt" else "bin")
        python, command = str(programs / "python"), str(programs / "kofn")
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", str(wheel)], check=True
        )
        examples = work / "examples"
        examples.mkdir()
        for file in EXAMPLES.iterdir():
            if file.is_file():
                (examples / file.name).write_bytes(file.read_bytes())
        subprocess.run([python, "-"], input=USE, text=True, check=True, cwd=work)
        table = subprocess.check_output([command, "report", "examples/agents.jsonl"], cwd=work)
        again = subprocess.check_output([python, "-m", "kofn", "report", "examples/agents.jsonl"], cwd=work)
        if not table or table != again:
            sys.exit(f"{wheel.name}: kofn and python -m kofn differ")
        subprocess.run(
            [command, "grade", "examples/checks.json"], check=True, cwd=work, stdout=subprocess.DEVNULL
        )


def main() -> None:
    """Check each distribution that is named."""
    if not sys.argv[1:]:
        sys.exit("usage: check_dist.py DIST...")
    for name in sys.argv[1:]:
        dist = Path(name).resolve()
        (check_wheel if dist.suffix == ".whl" else check_source)(dist)
        print(f"{dist.name}: {dist.stat().st_size // 1024} KiB, works")


if __name__ == "__main__":
    main()
