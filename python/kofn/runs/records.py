"""Rollouts in memory as lines of the native form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kofn import _values
from kofn.errors import ArgumentTypeError
from kofn.rollouts import Rollout


def lines(records: Iterable[Rollout | Mapping[str, Any]]) -> bytes:
    """Return one line a record; the core's reader judges them.

    Raises
    ------
    ArgumentTypeError
        Something is neither a rollout nor a dict, or holds what JSON cannot.
    """
    if isinstance(records, (str, bytes, Mapping, Rollout)) or not isinstance(records, Iterable):
        raise ArgumentTypeError(f"records: {_values.shown(records)}; it must be a list of Rollout or dict")
    found = []
    for number, record in enumerate(records, 1):
        if isinstance(record, Rollout):
            plain = record.to_dict()
        elif isinstance(record, Mapping):
            plain = dict(record)
        else:
            raise ArgumentTypeError(
                f"record {number}: {_values.shown(record)} is neither a Rollout nor a dict"
            )
        try:
            # NaN is written as such: what it means is the reader's to say. Lone surrogates pass as escapes likewise.
            found.append(json.dumps(plain, separators=(",", ":"), default=_plain))
        except (TypeError, ValueError, RecursionError) as error:
            raise ArgumentTypeError(f"record {number}: JSON cannot hold it: {error}") from None
    return "\n".join([*found, ""]).encode()


def _plain(value: object) -> object:
    """Turn what `json` does not know into what it does: NumPy scalars and arrays, mappings, rollouts' parts."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{_values.shown(value)} is {type(value).__name__}")
