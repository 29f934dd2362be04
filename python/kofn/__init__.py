"""kofn ("k of n") grades agent rollouts and reports how good, how reliable and how sure."""

from kofn._core import __version__
from kofn.errors import KofnError

__all__ = ["KofnError", "__version__"]
