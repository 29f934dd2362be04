"""Runs as the listing commands read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.cli import status

if TYPE_CHECKING:
    import argparse

    from kofn.runs import Run


def run(arguments: argparse.Namespace) -> Run:
    """Read the run that the arguments name, and say what the read met beside rollouts."""
    from kofn.runs import read  # noqa: PLC0415  (a bad command line should not wait for NumPy)

    found = read(
        arguments.runs,
        format=arguments.input_format,
        requested=arguments.requested,
        on_error=arguments.on_error,
        on_duplicate=arguments.on_duplicate,
        on_ungradable=arguments.on_ungradable,
    )
    for note in found.notes:
        status.say(note)
    return found
