"""`kofn checks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.cli import listing, output, reading, status

if TYPE_CHECKING:
    import argparse

_NAMES = ("verifier", "label", "required", "ran", "passed", "blocked")


def run(arguments: argparse.Namespace) -> int:
    """Show how each check fared."""
    output.spare(arguments.output, arguments.runs)
    rows = [{name: getattr(check, name) for name in _NAMES} for check in reading.run(arguments).checks()]
    if not rows:
        status.say("the run recorded no checks")
    text = listing.text(rows, _NAMES, arguments.format, output.style(arguments.output), {})
    output.write(text, arguments.output)
    return status.DONE
