"""kofn ("k of n") grades agent rollouts and reports how good, how reliable and how sure."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kofn._core import __version__
from kofn.errors import KofnError

if TYPE_CHECKING:
    from kofn.reports import Figure, Report

# Public names live in their modules and load on first use, so that `import kofn` stays cheap and `kofn --help` needs
# no NumPy. A name that is also a module of the package (`metrics`) must be put in place by that module's import.
_HOMES = {
    "Figure": "kofn.reports",
    "Report": "kofn.reports",
}

__all__ = ["Figure", "KofnError", "Report", "__version__"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kofn' has no attribute {name!r}", name=name, obj=None)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
