"""Where results go: standard output as it is, or a file all at once."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kofn.cli.parser import UsageError
from kofn.cli.status import silence_output
from kofn.views.text import Style

if TYPE_CHECKING:
    from collections.abc import Iterable


def style(path: str | None) -> Style:
    """Return the style of text for this destination."""
    return Style.of(sys.stdout) if path in {None, "-"} else Style()


def spare(path: str | None, inputs: Iterable[str]) -> None:
    """Refuse an output that would replace what is read.

    Raises
    ------
    UsageError
        The file is one of the inputs, or among those that a directory or pattern stands for.
    """
    if path is None or path == "-" or not Path(path).is_file():
        return
    from kofn.runs.sources import DIRECTORY_SUFFIXES  # noqa: PLC0415  (help needs none of it)

    for name in inputs:
        place = Path(name)
        if place.is_dir():
            # It is read without the reports and logs that stand beside its runs.
            files = [file for file in place.iterdir() if file.name.endswith(DIRECTORY_SUFFIXES)]
        else:
            files = [place, *map(Path, glob.glob(name, recursive=True))]  # noqa: PTH207  (as the reader does)
        if any(file.is_file() and file.samefile(path) for file in files):
            raise UsageError(f"--output {path}: this file is read too, and would be replaced")


def write(pieces: Iterable[str], path: str | None) -> None:
    """Write text to a file, or to standard output if there is no path or it is `-`.

    Files and pipes get UTF-8, whatever the locale; a terminal gets no control character but the newline. A reader
    that has closed its end is no error.
    """
    if path is not None and path != "-":
        try:
            _to_file(pieces, path)
        except OSError as error:
            error.filename, error.filename2 = path, None  # as the user wrote it
            raise
        return
    try:
        _to_screen(pieces)
    except BrokenPipeError:
        silence_output()
    except OSError as error:
        error.filename = "standard output"
        raise


def _to_screen(pieces: Iterable[str]) -> None:
    stream = sys.stdout
    if stream is None:
        raise OSError(errno.EBADF, "it is closed")
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
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".tmp", dir=folder)
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
