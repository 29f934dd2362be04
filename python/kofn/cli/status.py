"""Exit statuses (spec 8.3), and what is said beside the results."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Final

DONE: Final = 0
FELL_SHORT: Final = 1
BAD_INPUT: Final = 2
UNDECIDED: Final = 3
INTERNAL: Final = 4
INTERRUPTED: Final = 130  # as shells report a program that Ctrl-C stopped


def say(message: str) -> None:
    """Write one line to standard error, whatever characters the message holds."""
    line = "".join(char if char.isprintable() else _escaped(char) for char in message)
    # A closed or full standard error must not hide the exit status.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(f"kofn: {line}\n".encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()


def _escaped(char: str) -> str:
    return " " if char in "\r\n\t" else char.encode("unicode_escape").decode("ascii")


def silence_output() -> None:
    """Point standard output nowhere, so that the interpreter's last flush does not complain about a closed pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
