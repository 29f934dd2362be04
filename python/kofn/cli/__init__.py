"""The command line: `kofn report`, `compare`, `plan`, `grade`, `rollouts`, `checks` (spec 8).

Nothing here needs NumPy until a command runs, so that help is quick.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kofn.cli import parser, status
from kofn.errors import KofnError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status; errors are one line on standard error.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.
    """
    try:
        arguments = parser.build().parse_args(argv)
        command = import_module(f"kofn.cli.{arguments.command}")
        return int(command.run(arguments))
    except SystemExit as done:  # --help, --version
        return done.code if isinstance(done.code, int) else status.DONE
    except KeyboardInterrupt:
        return status.INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        status.silence_output()
        return status.DONE
    except (parser.UsageError, KofnError) as error:
        return _fail(str(error), status.BAD_INPUT)
    except OSError as error:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return _fail(f"{name}{error.strerror or error}", status.BAD_INPUT)
    except Exception as error:  # noqa: BLE001  (the last resort: a line and a status instead of a traceback)
        if os.environ.get("KOFN_DEBUG"):
            sys.excepthook(type(error), error, error.__traceback__)
        hint = "a fault of kofn, please report it; KOFN_DEBUG=1 shows where"
        return _fail(f"internal error: {type(error).__name__}: {error} ({hint})", status.INTERNAL)


def _fail(message: str, code: int) -> int:
    status.say(message)
    return code
