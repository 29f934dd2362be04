"""Text on a screen: what a terminal and its encoding can show, and how wide it is."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TextIO

WIDTH = 80
_BOX = "─·…█▏"
_CODES = {"strong": "1", "faint": "2", "warn": "33"}


@dataclass(frozen=True, slots=True)
class Style:
    """How text is shown: what the encoding can carry, whether colours are wanted, how many columns there are."""

    encoding: str = "utf-8"
    unicode: bool = True
    color: bool = False
    width: int = WIDTH

    @classmethod
    def of(cls, stream: TextIO | None, *, color: bool | None = None) -> Style:
        """Return the style for a stream; colour only on a terminal and without NO_COLOR, unless said otherwise."""
        encoding = getattr(stream, "encoding", None) or "utf-8"
        terminal = stream is not None and _is_terminal(stream)
        if color is None:
            color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        columns = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
        return cls(encoding, _can(encoding, _BOX), color, min(max(columns, 40), 120))

    @classmethod
    def plain(cls) -> Style:
        """Return the style of `str(report)`: for standard output, without colour, 80 columns."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return cls(encoding, _can(encoding, _BOX))

    def paint(self, kind: str, text: str) -> str:
        """Return `text` in bold, faint or warning colour, if colours are on."""
        return f"\x1b[{_CODES[kind]}m{text}\x1b[0m" if self.color and text else text

    def show(self, text: str) -> str:
        """Return `text` with everything escaped that would break a line, move a cursor or not encode."""
        if text.isascii() and text.isprintable():
            return text
        return "".join(_shown(char, self.encoding) for char in text)

    def fit(self, text: str, width: int) -> str:
        """Return shown text cut in the middle to at most `width` columns; ids differ at both ends."""
        if columns(text) <= width:
            return text
        mark = "…" if self.unicode else "..."
        room = width - len(mark)
        if room < 2:
            return _head(text, width)
        tail = _tail(text, room // 2)
        return _head(text, room - columns(tail)) + mark + tail

    def wrap(self, text: str, width: int) -> list[str]:
        """Return shown text in lines of at most `width` columns, broken at spaces where there are some."""
        lines, line = [], ""
        for word in text.split(" "):
            if columns(line) + columns(word) + (1 if line else 0) <= width:
                line = f"{line} {word}" if line else word
                continue
            if line:
                lines.append(line)
            while columns(word) > width:
                lines.append(head := _head(word, width) or word[0])
                word = word[len(head) :]  # noqa: PLW2901  (what is left of it)
            line = word
        return [*lines, line] if line or not lines else lines


def columns(text: str) -> int:
    """Return how many columns of a terminal shown text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill up to `width` columns, on the left for numbers."""
    space = " " * (width - columns(text))
    return space + text if right else text + space


@lru_cache(4096)
def _columns_of(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


@lru_cache(4096)
def _shown(char: str, encoding: str) -> str:
    # Control characters, line separators, bidirectional overrides and lone surrogates are none of them printable.
    if char.isprintable() and _can(encoding, char):
        return char
    return char.encode("unicode_escape").decode("ascii")


@lru_cache(4096)
def _can(encoding: str, text: str) -> bool:
    try:
        codecs.encode(text, encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # a closed stream, or none
        return False


def _head(text: str, width: int) -> str:
    used = 0
    for end, char in enumerate(text):
        used += _columns_of(char)
        if used > width:
            return text[:end]
    return text


def _tail(text: str, width: int) -> str:
    used = 0
    for start in range(len(text) - 1, -1, -1):
        used += _columns_of(text[start])
        if used > width:
            return text[start + 1 :]
    return text
