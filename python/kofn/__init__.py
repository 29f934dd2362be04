"""kofn ("k of n") grades agent rollouts and reports how good, how reliable and how sure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kofn._core import __version__
from kofn.errors import KofnError

if TYPE_CHECKING:
    from kofn.batches import GradeBatch, grade_batch
    from kofn.checks import Check, Grade, grade, optional, required
    from kofn.reports import Figure, Report
    from kofn.rollouts import Rollout
    from kofn.verifications import Reading, Verdict, Verification
    from kofn.verifiers import Verifier
    from kofn.writer import RunWriter

# Public names live in their modules and load on first use, so that `import kofn` stays cheap and `kofn --help` needs
# no NumPy. A name that is also a module of the package (`metrics`) must be put in place by that module's import.
_HOMES = {
    "Check": "kofn.checks",
    "Figure": "kofn.reports",
    "Grade": "kofn.checks",
    "GradeBatch": "kofn.batches",
    "Reading": "kofn.verifications",
    "Report": "kofn.reports",
    "Rollout": "kofn.rollouts",
    "RunWriter": "kofn.writer",
    "Verdict": "kofn.verifications",
    "Verification": "kofn.verifications",
    "Verifier": "kofn.verifiers",
    "grade": "kofn.checks",
    "grade_batch": "kofn.batches",
    "optional": "kofn.checks",
    "required": "kofn.checks",
}

__all__ = [
    "Check",
    "Figure",
    "Grade",
    "GradeBatch",
    "KofnError",
    "Reading",
    "Report",
    "Rollout",
    "RunWriter",
    "Verdict",
    "Verification",
    "Verifier",
    "__version__",
    "grade",
    "grade_batch",
    "optional",
    "required",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kofn' has no attribute {name!r}", name=name, obj=None)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
