"""Runs as the listing commands read them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from kofn.runs import Run


def run(arguments: argparse.Namespace) -> Run:
    """Read the run that the arguments name; `-` is standard input."""
    from kofn.runs import read  # noqa: PLC0415  (a bad command line should not wait for NumPy)

    sources = [sys.stdin.buffer if name == "-" else name for name in arguments.runs]
    return read(
        sources[0] if len(sources) == 1 else sources,
        format=arguments.input_format,
        requested=arguments.requested,
        on_error=arguments.on_error,
        on_duplicate=arguments.on_duplicate,
        on_ungradable=arguments.on_ungradable,
    )
