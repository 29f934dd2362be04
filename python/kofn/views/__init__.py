"""Views of a report: each takes the report and returns text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

from kofn import _values
from kofn.errors import ArgumentError

if TYPE_CHECKING:
    from kofn.reports import Report

Form = Literal["table", "markdown", "csv", "html", "latex"]
FORMS: tuple[Form, ...] = get_args(Form)


def render(report: Report, form: str, *, per_task: bool = False) -> str:
    """Return the report in one of `FORMS`; see `Report.render`."""
    if not isinstance(form, str) or form not in FORMS:
        raise ArgumentError(f"form: {_values.shown(form)} is none of {', '.join(FORMS)}")
    text: str = import_module(f"kofn.views.{form}").render(report, per_task=per_task)
    return text
