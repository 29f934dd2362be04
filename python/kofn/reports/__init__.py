"""Reports: a snapshot of figures with their denominators, and what was omitted and why."""

from kofn.reports.figure import Figure
from kofn.reports.report import Report

__all__ = ["Figure", "Report"]
