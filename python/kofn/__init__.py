"""kofn ("k of n") grades agent rollouts and reports how good, how reliable and how sure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kofn._core import __version__
from kofn.errors import KofnError

if TYPE_CHECKING:
    from kofn._metrics import metrics
    from kofn.accumulators import Accumulator
    from kofn.batches import GradeBatch, grade_batch
    from kofn.checks import Check, Grade, grade, optional, required
    from kofn.comparisons import Comparison, Comparisons, Difference, compare, compare_many
    from kofn.estimators import best_of_k, g_pass_at_k, learnability, pass_at_k, pass_hat_k, worst_of_k
    from kofn.planning import Plan, plan
    from kofn.policies import ScoreThreshold, VerifierVerdict
    from kofn.reports import Figure, Report
    from kofn.rollouts import Rollout
    from kofn.runs import Run, read, read_runs
    from kofn.tasks import TaskIndex, counts
    from kofn.verifications import Reading, Verdict, Verification
    from kofn.verifiers import Verifier
    from kofn.writer import RunWriter

# Public names live in their modules and load on first use, so that `import kofn` stays cheap and `kofn --help` needs
# no NumPy. A name that is also a module of the package (`metrics`) must be put in place by that module's import.
_HOMES = {
    "Accumulator": "kofn.accumulators",
    "Check": "kofn.checks",
    "Comparison": "kofn.comparisons",
    "Comparisons": "kofn.comparisons",
    "Difference": "kofn.comparisons",
    "Figure": "kofn.reports",
    "Grade": "kofn.checks",
    "GradeBatch": "kofn.batches",
    "Plan": "kofn.planning",
    "Reading": "kofn.verifications",
    "Report": "kofn.reports",
    "Rollout": "kofn.rollouts",
    "Run": "kofn.runs",
    "RunWriter": "kofn.writer",
    "ScoreThreshold": "kofn.policies",
    "TaskIndex": "kofn.tasks",
    "Verdict": "kofn.verifications",
    "Verification": "kofn.verifications",
    "Verifier": "kofn.verifiers",
    "VerifierVerdict": "kofn.policies",
    "best_of_k": "kofn.estimators",
    "compare": "kofn.comparisons",
    "compare_many": "kofn.comparisons",
    "counts": "kofn.tasks",
    "g_pass_at_k": "kofn.estimators",
    "grade": "kofn.checks",
    "grade_batch": "kofn.batches",
    "learnability": "kofn.estimators",
    "metrics": "kofn._metrics",
    "optional": "kofn.checks",
    "pass_at_k": "kofn.estimators",
    "pass_hat_k": "kofn.estimators",
    "plan": "kofn.planning",
    "read": "kofn.runs",
    "read_runs": "kofn.runs",
    "required": "kofn.checks",
    "worst_of_k": "kofn.estimators",
}
# Modules whose own names are public too: `kofn.estimators.median_of_k` needs no import of its own.
_MODULES = ("errors", "estimators", "verifiers")

__all__ = [
    "Accumulator",
    "Check",
    "Comparison",
    "Comparisons",
    "Difference",
    "Figure",
    "Grade",
    "GradeBatch",
    "KofnError",
    "Plan",
    "Reading",
    "Report",
    "Rollout",
    "Run",
    "RunWriter",
    "ScoreThreshold",
    "TaskIndex",
    "Verdict",
    "Verification",
    "Verifier",
    "VerifierVerdict",
    "__version__",
    "best_of_k",
    "compare",
    "compare_many",
    "counts",
    "g_pass_at_k",
    "grade",
    "grade_batch",
    "learnability",
    "metrics",
    "optional",
    "pass_at_k",
    "pass_hat_k",
    "plan",
    "read",
    "read_runs",
    "required",
    "worst_of_k",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"kofn.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kofn' has no attribute {name!r}", name=name, obj=None)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
