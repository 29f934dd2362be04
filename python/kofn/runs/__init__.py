"""Runs: reading them from whatever they came in, and looking into them."""

from kofn.runs.missing import MissingRollouts
from kofn.runs.recorded import RecordedRollout, Rollouts
from kofn.runs.run import Run, read, read_runs
from kofn.runs.schema import SCHEMA
from kofn.runs.streaming import report_files
from kofn.runs.tables import CheckRow, CheckTable

__all__ = [
    "SCHEMA",
    "CheckRow",
    "CheckTable",
    "MissingRollouts",
    "RecordedRollout",
    "Rollouts",
    "Run",
    "read",
    "read_runs",
    "report_files",
]
