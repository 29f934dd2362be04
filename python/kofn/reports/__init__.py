"""Reports: a snapshot of figures with their denominators, how sure they are, and what was omitted and why."""

from kofn.reports.figure import Decomposition, Figure
from kofn.reports.report import Report

__all__ = ["Decomposition", "Figure", "Report"]
