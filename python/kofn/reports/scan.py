"""The outer levels of a report's JSON, walked by hand so that tasks are met one at a time."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from kofn.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kofn.reports.tasks import PerTask

_SPACE = re.compile(r"[ \t\r\n]*")


def refuse(problem: str) -> NoReturn:
    """Raise the error of a text that is no report."""
    raise EncodingError(f"not a kofn report: {problem}")


def _constant(token: str) -> NoReturn:
    refuse(f"it holds {token}, which is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        refuse(f"it holds {text}, which no float can hold")
    return value


class Parser:
    """The outer levels by hand, everything within by the standard decoder."""

    def __init__(self, text: str, columns: Callable[[Iterable[Any], str], PerTask]) -> None:
        self.text = text
        self.columns = columns
        self.decoder = json.JSONDecoder(parse_constant=_constant, parse_float=_float)

    def document(self) -> tuple[dict[str, Any], int]:
        """Read the whole report; return it and where it ends."""
        return self.section(self.space(0), "")

    def space(self, at: int) -> int:
        """Return where the next character that is no white space stands."""
        return _SPACE.match(self.text, at).end()  # type: ignore[union-attr]

    def section(self, at: int, where: str) -> tuple[dict[str, Any], int]:
        """Read a report or a group: an object whose `tasks` become columns and whose `groups` are sections."""
        found: dict[str, Any] = {}
        for key, start in (members := _Walk(self, at, "{", "}")):
            if key in found:
                refuse(f"{where}{key} stands twice")
            opener = self.text[start : start + 1]
            if key == "tasks" and opener == "[":
                elements = _Walk(self, start, "[", "]")
                found[key] = self.columns(elements.values(), where)
                members.at = elements.at
            elif key == "untagged" and opener == "{" and not where:
                found[key], members.at = self.section(start, "untagged.")
            elif key == "groups" and opener == "{" and not where:
                found[key] = {}
                for value, group in (groups := _Walk(self, start, "{", "}")):
                    if self.text[group : group + 1] != "{":
                        refuse(f"groups[{value!r}] is not an object")
                    found[key][value], groups.at = self.section(group, f"groups[{value!r}].")
                members.at = groups.at
            else:
                found[key], members.at = self.decoder.raw_decode(self.text, start)
        return found, members.at


class _Walk:
    """The members of one object or array; whoever iterates puts `at` behind each value it has read."""

    def __init__(self, parser: Parser, at: int, opener: str, closer: str) -> None:
        self.parser, self.at, self.opener, self.closer = parser, at, opener, closer

    def values(self) -> Iterator[Any]:
        """Yield the elements of an array."""
        for _, start in self:
            value, self.at = self.parser.decoder.raw_decode(self.parser.text, start)
            yield value

    def __iter__(self) -> Iterator[tuple[str, int]]:
        text, space = self.parser.text, self.parser.space
        if text[self.at : self.at + 1] != self.opener:
            raise json.JSONDecodeError(f"Expecting '{self.opener}'", text, self.at)
        at = space(self.at + 1)
        if text[at : at + 1] == self.closer:
            self.at = at + 1
            return
        while True:
            key = ""
            if self.opener == "{":
                if text[at : at + 1] != '"':
                    raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
                key, at = self.parser.decoder.raw_decode(text, at)
                at = space(at)
                if text[at : at + 1] != ":":
                    raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
                at = space(at + 1)
            self.at = at
            yield key, at
            at = space(self.at)
            if text[at : at + 1] == self.closer:
                self.at = at + 1
                return
            if text[at : at + 1] != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
            at = space(at + 1)
