"""The table of clauses and the tests that hold kofn to them.

A test says which clauses it tests with `@pytest.mark.spec("4.6")`; a module may say it for all of its tests with
`pytestmark`. `python tests/clauses.py` writes `docs/clauses.md`.
"""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = TESTS.parent / "docs" / "clauses.md"

CLAUSES = {
    "1": "words: run, task, rollout, check, reading, verification, score, verdict",
    "2.1": "passed is every required check",
    "2.2": "reward is checks passed over checks recorded",
    "2.3": "gated reward stands beside the reward",
    "2.4": "no required check is an error",
    "2.5": "failed_required in recorded order; duplicate labels",
    "2.6": "passed is a bool, never truthiness",
    "2.7": "the batch form gives the same answers",
    "2.8": "tool counts change nothing",
    "2.9": "result.json",
    "3.1": "verifier: facts, projection, decision rule",
    "3.2": "checks give score and verdict",
    "3.3": "built-in projections and decision rules",
    "3.4": "a verifier that raises is indeterminate",
    "3.5": "advisory verifiers never record a verdict",
    "3.6": "what a stored verification names, and what must agree",
    "3.7": "verdict spellings",
    "3.8": "readings alone are neutral",
    "3.9": "two verifications of one name",
    "4.1": "status",
    "4.2": "missing and broken rollouts stay in the denominator",
    "4.3": "requested: given or declared",
    "4.4": "requested: inferred or unknown",
    "4.5": "denominator: requested, recorded, scorable",
    "4.6": "too many records, duplicates, indices",
    "4.7": "every report prints its denominators",
    "5.1": "verifier_verdict.v1",
    "5.2": "score_threshold.v1",
    "5.3": "scores without verdicts need a choice",
    "5.4": "policies are frozen, versioned values",
    "5.5": "the registry projection",
    "5.6": "projection and policy may disagree",
    "6": "the table of statistics",
    "6.1": "k above n",
    "6.2": "which series a name means",
    "6.3": "missing is not zero",
    "6.4": "the run is the unweighted mean over tasks",
    "6.5": "resources and scores count whatever the status",
    "6.6": "NaN, infinities, ranges, clock skew",
    "6.7": "tokens",
    "6.8": "agreement and kinds of values",
    "6.9": "scores and diagnosis of a task",
    "6.10": "labels and defaults",
    "6.11": "by a tag",
    "7.1": "JSON Lines, compressed or not",
    "7.2": "headers",
    "7.3": "records",
    "7.4": "bad lines",
    "7.5": "Arrow and Parquet",
    "7.6": "what is written",
    "7.7": "nothing to report on",
    "8.1": "kofn report",
    "8.2": "kofn grade, rollouts, checks",
    "8.3": "standard streams and exit status",
    "8.4": "rounding never reaches 0 or 1",
    "9": "the report as JSON",
}


def marked(node: ast.AST) -> list[str]:
    """Clauses that an expression names as `pytest.mark.spec("4.6", ...)`."""
    return [
        word.value
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "spec"
        for word in call.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    ]


def tests_in(path: Path) -> list[tuple[str, str]]:
    """List (clause, test) of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    everywhere = [
        clause
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)
        for clause in marked(node.value)
    ]
    return [
        (clause, f"{path.stem}::{node.name}")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for clause in [*everywhere, *(clause for mark in node.decorator_list for clause in marked(mark))]
    ]


def collected() -> dict[str, list[str]]:
    """Tests by clause, over all test files."""
    found: dict[str, list[str]] = {clause: [] for clause in CLAUSES}
    for path in sorted(TESTS.glob("**/test_*.py")):
        for clause, test in tests_in(path):
            found.setdefault(clause, []).append(test)
    return found


def table() -> str:
    """Render docs/clauses.md."""
    rows = [
        f"| {clause} | {CLAUSES.get(clause, '(no such clause)')} | {', '.join(f'`{test}`' for test in tests)} |"
        for clause, tests in collected().items()
    ]
    head = [
        "# Clauses of the semantics, and the tests that hold kofn to them",
        "",
        "Written by `python tests/clauses.py`. Every clause is also held by `test_whole_report`, which compares whole",
        "reports with an independent oracle (`tests/oracle`).",
        "",
        "| clause | what it settles | tests |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
