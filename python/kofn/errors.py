"""The exceptions of kofn: one base, and beside it the built-in class that a Python user expects.

Each message is one line that says what is wrong, where, and what to do.
"""

from __future__ import annotations


class KofnError(Exception):
    """Base of every exception that kofn raises on purpose."""


class ArgumentError(KofnError, ValueError):
    """An argument lies outside its domain; `argument` names it."""

    argument: str | None = None


class ArgumentTypeError(KofnError, TypeError):
    """An argument, or what a user's function returned, has the wrong type."""


class GradingError(KofnError, ValueError):
    """Checks that cannot be graded; `index` is the rollout's position in a batch, if it stood in one."""

    index: int | None = None


class InputError(KofnError, ValueError):
    """What was read cannot be understood; `source`, `line`, `field` and `task` say where, as far as they apply."""

    source: str | None = None
    line: int | None = None
    field: str | None = None
    task: str | None = None


class DuplicateError(InputError):
    """The same (task, index) was recorded twice."""


class SourceError(KofnError, OSError):
    """A source cannot be opened, read or decompressed; `source` names it."""

    source: str | None = None


class RefusedError(KofnError, ValueError):
    """A statistic was asked for and cannot be given; `label` names it, the message says how to go on."""

    label: str | None = None


class OmittedError(KofnError, KeyError):
    """A report does not hold this label; `reason` says why."""

    label: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        """Return the message itself (KeyError would quote it)."""
        return str(self.args[0]) if self.args else ""


class MergeError(KofnError, ValueError):
    """Two accumulators that cannot be merged."""


class EncodingError(KofnError, ValueError):
    """Bytes or JSON that do not hold what they should."""
