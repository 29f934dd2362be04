"""The package as a whole: its version, its names, what importing it costs, and that a forked child can use it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kofn

ROOT = Path(__file__).parents[1]
IMPORT_BUDGET_S = 0.030

PUBLIC_NAMES = {
    "kofn": """
        Check required optional grade Grade grade_batch GradeBatch Reading Verification Verdict Verifier
        read read_runs Run Rollout RunWriter VerifierVerdict ScoreThreshold Report Figure
        pass_at_k pass_hat_k g_pass_at_k learnability best_of_k worst_of_k counts TaskIndex
        metrics Accumulator KofnError
    """,
    "kofn.estimators": """
        pass_at_k pass_hat_k g_pass_at_k learnability best_of_k worst_of_k at_least_m_of_k exactly_m_of_k
        mg_pass_at_k expected_attempts order_statistic_of_k median_of_k quantile_of_k
    """,
    "kofn.errors": "KofnError",
}


def run_python(code: str, *arguments: str) -> str:
    """Run code in a fresh interpreter with warnings as errors and return what it printed."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_version_has_one_home() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    assert kofn.__version__ == workspace["package"]["version"]


def test_the_changelog_names_the_version() -> None:
    assert f"## [{kofn.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_type_marker_ships() -> None:
    assert Path(kofn.__file__).with_name("py.typed").is_file()


def public_modules() -> list[str]:
    found = pkgutil.walk_packages(kofn.__path__, "kofn.")
    return ["kofn", *(module.name for module in found if not module.name.rpartition(".")[2].startswith("_"))]


@pytest.mark.parametrize("module", public_modules())
def test_all_is_sorted_and_importable(module: str) -> None:
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", [])
    assert len(names) == len(set(names))
    assert list(names) == sorted(names, key=isort_key)
    for name in names:
        assert getattr(loaded, name) is not None, name


def isort_key(name: str) -> tuple[int, str]:
    """Order CONSTANTS, then Classes, then functions: the order that the linter keeps."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in PUBLIC_NAMES.items() for name in names.split()]
)
def test_every_public_name_exists(module: str, name: str) -> None:
    loaded = importlib.import_module(module)
    assert hasattr(loaded, name)
    if module == "kofn":
        assert name in kofn.__all__


def test_modules_do_not_hide_names() -> None:
    # Importing a submodule puts it into the package's namespace, over a public name that is spelled the same.
    code = """
import importlib, sys, types
import kofn
for module in sys.argv[1:]:
    importlib.import_module(module)
print([name for name in kofn.__all__ if isinstance(getattr(kofn, name), types.ModuleType)])
"""
    assert run_python(code, *public_modules()) == "[]\n"


def test_importing_costs_numpy_and_little_more() -> None:
    code = """
import time, numpy
start = time.perf_counter()
import kofn
print(time.perf_counter() - start)
"""
    # The least of several: a busy machine adds time, nothing takes it away.
    assert min(float(run_python(code)) for _ in range(5)) < IMPORT_BUDGET_S


def test_the_base_install_imports_numpy_alone() -> None:
    code = """
import sys
import kofn
for name in kofn.__all__:
    getattr(kofn, name)
print(sorted({"pyarrow", "pandas", "polars", "ray", "torch", "matplotlib"} & set(sys.modules)))
"""
    assert run_python(code) == "[]\n"


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["grade", "--help"], ["--version"]])
def test_help_needs_no_numpy(arguments: list[str]) -> None:
    code = """
import sys
from kofn.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as stop:
    status = stop.code
assert not status, status
assert "numpy" not in sys.modules, "numpy was imported"
"""
    assert "kofn" in run_python(code, *arguments)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")
def test_a_forked_child_can_use_what_its_parent_used() -> None:
    # Data loaders fork. A thread pool that the parent started would not exist in the child, and the first call
    # there would wait for it for ever.
    code = """
import os, signal, sys, warnings
import numpy as np
import kofn

def work():
    passed = np.arange(3_000_000) % 3 == 0
    graded = kofn.grade_batch(passed.reshape(-1, 3), np.array([True, False, True]))
    groups = np.arange(1_000_000) // 4
    figures = kofn.metrics(groups=groups, passed=graded.passed, scores=graded.reward, statistics=["pass@k", "mean_score"], k=[1, 4])
    report = kofn.read(sys.argv[1]).report()
    return figures, report.to_json()

expected = work()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Python >= 3.12 warns where threads run
    child = os.fork()
if child == 0:
    signal.alarm(60)  # a child that hangs is ended, and so fails
    os._exit(0 if work() == expected else 3)
assert os.waitpid(child, 0)[1] == 0
"""
    run_python(code, str(ROOT / "examples" / "agents.jsonl"))


def tracked_files() -> list[Path]:
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [path for name in done.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


FOREIGN = {
    "an absolute path of a machine": re.compile(r"(?<![\w./~*-])/(?:root|home|work|Users)/\w"),
    "the host of a package registry": re.compile(
        r"pypi\.org|pythonhosted\.org|crates\.io(?!-index)|npmjs\.org"
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_holds(what: str) -> None:
    files = tracked_files()
    if not files:
        pytest.skip("not a git checkout")
    found = []
    for path in files:
        text = path.read_bytes().decode("utf-8", "ignore")
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in FOREIGN[what].finditer(text)]
    assert not found
