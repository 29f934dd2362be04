"""Where results go: standard output as it is, or a file all at once."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from typing import TYPE_CHECKING

from kofn.cli.status import silence_output
from kofn.views.text import Style

if TYPE_CHECKING:
    from collections.abc import Iterable


def style(path: str | None) -> Style:
    """Return the style of text for this destination."""
    return Style.of(sys.stdout) if path in {None, "-"} else Style()


def write(pieces: Iterable[str], path: str | None) -> None:
    """Write text to a file, or to standard output if there is no path or it is `-`.

    Files and pipes get UTF-8, whatever the locale; a terminal gets no control character but the newline. A reader
    that has closed its end is no error.
    """
    if path is not None and path != "-":
        _to_file(pieces, path)
        return
    try:
        _to_screen(pieces)
    except BrokenPipeError:
        silence_output()


def _to_screen(pieces: Iterable[str]) -> None:
    stream = sys.stdout
    binary = getattr(stream, "buffer", None)
    if binary is None or stream.isatty():
        shown = Style.of(stream)
        for piece in pieces:
            # Lines that carry our own colours are made of shown text already.
            lines = piece.split("\n")
            stream.write(
                "\n".join(line if "\x1b[0m" in line and shown.color else shown.show(line) for line in lines)
            )
    else:
        stream.flush()
        for piece in pieces:
            binary.write(piece.encode())
    stream.flush()


def _to_file(pieces: Iterable[str], path: str) -> None:
    target = os.path.realpath(path)
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        # A device or a pipe cannot be replaced, only written to.
        with open(target, "wb") as file:  # noqa: PTH123
            file.writelines(piece.encode() for piece in pieces)
        return
    folder, name = os.path.split(target)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".tmp", dir=folder)
    except OSError as error:
        error.filename = path  # the name the user gave, not that of the temporary file
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(piece.encode() for piece in pieces)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask() if mode is None else stat.S_IMODE(mode))  # noqa: PTH101
        os.replace(temporary, target)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except FileNotFoundError:
        return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
