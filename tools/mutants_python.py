"""Mutation test of the Python layer: each mutant in a forked child, which imports the changed module and runs tests.

python tools/mutants_python.py --sample 60 kofn/cli/gates.py --tests "tests/test_cli.py -k gate"
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import shlex
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, ModuleType

ROOT = Path(__file__).parents[1]
TIMEOUT = 60
SWAPS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.Lt], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.And: [ast.Or], ast.Or: [ast.And],
    ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.FloorDiv], ast.FloorDiv: [ast.Mult], ast.Div: [ast.Mult],
    ast.LShift: [ast.RShift], ast.RShift: [ast.LShift],
}  # fmt: skip
# Annotations and what only words a message: no result depends on them.
PASSED_OVER = (ast.JoinedStr, ast.AnnAssign, ast.arg, ast.Raise)


def places(node: ast.AST, within: tuple[str, ...] = ()) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that can be changed, with the function they stand in."""
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "name", None)
        if isinstance(child, PASSED_OVER) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        ):
            if isinstance(child, ast.AnnAssign) and child.value is not None:
                yield from places(child.value, within)
            continue
        here = (*within, name) if isinstance(name, str) else within
        yield child, ".".join(here)
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in (*child.args.defaults, *filter(None, child.args.kw_defaults), *child.body):
                yield statement, ".".join(here)
                yield from places(statement, here)
        else:
            yield from places(child, here)


def changes(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """Return what a node may become, each with a name."""
    found: list[tuple[str, ast.AST]] = []
    if isinstance(node, ast.Compare) and len(node.ops) >= 1:
        for at, op in enumerate(node.ops):
            for other in SWAPS.get(type(op), []):
                new = copy.deepcopy(node)
                new.ops[at] = other()  # type: ignore[call-overload]
                found.append((f"{type(op).__name__} -> {other.__name__}", new))
    elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)):
        for other in SWAPS.get(type(node.op), []):
            new = copy.deepcopy(node)
            new.op = other()
            found.append((f"{type(node.op).__name__} -> {other.__name__}", new))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        found.append((f"delete {type(node.op).__name__}", node.operand))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        found.append((f"{node.value} -> {not node.value}", ast.Constant(not node.value)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        found.append((f"{node.value} -> {node.value + 1}", ast.Constant(node.value + 1)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        found.append((f"{node.value[:30]!r} -> 'xyzzy'", ast.Constant("xyzzy")))
    elif isinstance(node, ast.Return) and not (node.value is None or getattr(node.value, "value", 0) is None):
        found.append(("return None", ast.Return(ast.Constant(None))))
    elif isinstance(node, (ast.IfExp, ast.If)):
        for value in (True, False):
            new = copy.deepcopy(node)
            new.test = ast.Constant(value)
            found.append((f"condition {value}", new))
    return found


class Replace(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return ast.copy_location(self.new, node) if node is self.old else super().generic_visit(node)

    visit = generic_visit


def mutants(path: Path) -> list[tuple[str, str]]:
    """Return every mutant of a file: its name, and its source."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and isinstance(node.body[0], ast.Expr)
    }
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    found: dict[str, str] = {}
    for node, where in places(tree):
        if id(node) in docstrings:
            continue
        for name, new in changes(node):
            full = f"{path.name}:{node.lineno}:{node.col_offset} {where}: {name}"  # type: ignore[attr-defined]
            if full not in found:
                clone = copy.deepcopy(tree)
                old = next(
                    inner for number, inner in enumerate(ast.walk(clone)) if number == numbers[id(node)]
                )
                found[full] = ast.unparse(ast.fix_missing_locations(Replace(old, new).visit(clone)))
    return list(found.items())


class Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module from changed source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> object:  # noqa: ARG002
        return (
            importlib.util.spec_from_loader(name, self, origin=str(self.path)) if name == self.name else None
        )

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002
        return str(self.path)

    def get_data(self, path: str | bytes) -> bytes:  # noqa: ARG002
        return self.source.encode()

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return compile(self.source, str(self.path), "exec", dont_inherit=True)


def run(name: str, path: Path, source: str, tests: list[str]) -> str:
    """Run the tests with one changed module; return how it was noticed, or nothing."""
    child = os.fork()
    if child == 0:
        signal.alarm(TIMEOUT)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in () if os.environ.get("SHOW") else (0, 1, 2):
            os.dup2(null, descriptor)
        sys.meta_path.insert(0, Changed(name, path, source))
        import pytest

        os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", *tests])))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "timeout"
    return "" if os.WEXITSTATUS(status) == 0 else "caught"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="below python/, as kofn/cli/gates.py")
    parser.add_argument("--tests", type=shlex.split, required=True, help="what pytest is given")
    parser.add_argument("--sample", type=int, default=10**9)
    given = parser.parse_args()
    os.chdir(ROOT)
    import hypothesis
    import numpy as np  # noqa: F401 - what every child needs is imported once
    import pyarrow as pa  # noqa: F401
    import pytest  # noqa: F401

    hypothesis.settings.register_profile(
        "mutants", max_examples=20, deadline=None, database=None, derandomize=True
    )
    hypothesis.settings.load_profile("mutants")
    found = []
    for file in given.files:
        path = ROOT / "python" / file
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if how := run(module, path, path.read_text(), given.tests):
            sys.exit(f"the tests fail without a mutant ({how})")
        found += [(module, path, *mutant) for mutant in mutants(path)]
    chosen = random.Random(1).sample(found, min(given.sample, len(found)))
    results: Counter[str] = Counter()
    started = time.monotonic()
    for module, path, name, source in sorted(chosen, key=lambda mutant: mutant[2]):
        how = run(module, path, source, given.tests)
        results[how or "survived"] += 1
        if not how:
            print(name, flush=True)
    print(f"{len(chosen)} of {len(found)} mutants: {dict(results)}; {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
