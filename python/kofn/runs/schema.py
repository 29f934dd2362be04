"""The native form as a table: the schema, as data (spec 7.5)."""

from __future__ import annotations

from typing import Any, Final

_ERROR: Final = {"type": "large_string", "message": "large_string"}

SCHEMA: Final[dict[str, Any]] = {
    "task": "large_string",
    "rollout": "int64",
    "status": "large_string",
    "verifiers": [
        {
            "name": "large_string",
            "checks": [
                {
                    "label": "large_string",
                    "required": "bool",
                    "passed": "bool",
                    "detail": "large_string",
                    "detail_json": "large_string",
                }
            ],
            "score": "double",
            "verdict": "large_string",
            "projection": "large_string",
            "decision": "large_string",
            "readings": [
                {
                    "subject": "large_string",
                    "metric": "large_string",
                    "value": "double",
                    "value_text": "large_string",
                    "value_bool": "bool",
                }
            ],
            "error": _ERROR,
            "error_json": "large_string",
        }
    ],
    "duration_s": "double",
    "usage": {"input_tokens": "int64", "output_tokens": "int64", "total_tokens": "int64"},
    "tool_calls": "int64",
    "tool_errors": "int64",
    "error": _ERROR,
    "error_json": "large_string",
    "stop_reason": "large_string",
    "tags": [{"name": "large_string", "value": "large_string"}],
    "meta": "large_string",
    "meta_json": "large_string",
}
"""Columns of a run as an Arrow table, one row a rollout: name to Arrow type, a list as a list of its one item, a struct
as a dict.

Everything may be null but `task`, which is int64 in runs that name their tasks by integers. A value that no column
type holds stands as JSON text in the column that ends in `_json`; readings have one of `value`, `value_text` and
`value_bool`. The run's header is JSON in the schema's metadata, key `kofn`.

A table to be read needs none of this exactly: any string, dictionary, integer, float, list and struct types do, null
and NaN both say that nothing was recorded, the short forms (`passed`, `score`, `checks` as columns) are read, and other
columns are ignored.
"""

COLUMNS: Final = frozenset(SCHEMA) | {
    *("checks", "score", "reward", "verdict", "passed"),
    *("toolCalls", "toolErrors"),
}
"""Columns that a reader looks at."""

OUTCOMES: Final = frozenset(
    {"verifiers", "checks", "score", "reward", "verdict", "passed", "status", "error"}
)
"""Columns that say how a rollout went."""
