"""Columns of text laid out on a screen: cut where they are too wide, in several blocks where they are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kofn.views.text import columns as width_of
from kofn.views.text import pad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kofn.views.content import Column
    from kofn.views.text import Style

GAP = 2
# The first column names the row; it keeps at least this much when others need room.
_LEAST = 16


def lay_out(grid: Sequence[Column], style: Style, *, keys: int = 1) -> list[str]:
    """Return the lines of a table; every line fits `style.width`, and every block repeats the first `keys` columns."""
    room = style.width
    heads = [style.show(column.head) for column in grid]
    cells = [[style.show(cell) for cell in column.cells] for column in grid]
    natural = [
        max(map(width_of, (head, *column)), default=0) for head, column in zip(heads, cells, strict=True)
    ]
    # A number of which a part is cut off is another number.
    least = [
        width if column.right else min(width, _LEAST) for width, column in zip(natural, grid, strict=True)
    ]
    widths = _widths(natural, least, room, keys)
    lines: list[str] = []
    for block in _blocks(widths, room, keys):
        if lines:
            lines.append("")
        lines += _block([(heads[i], cells[i], widths[i], grid[i].right) for i in block], style)
    return lines


def _widths(natural: list[int], least: list[int], room: int, keys: int) -> list[int]:
    """Cut the widest columns first until all fit, none below its least."""
    widths = [min(width, room) for width in natural]
    excess = sum(widths) + GAP * (len(widths) - 1) - room
    while excess > 0:
        widest = max(range(len(widths)), key=lambda i: widths[i] - least[i])
        if widths[widest] <= least[widest]:
            # There will be several blocks: each column gets what it wants, as far as one block holds it.
            first = min(natural[0], max(_LEAST, room * 3 // 8))
            rest = room - first - GAP * keys - sum(natural[1:keys])
            return [first, *natural[1:keys], *(min(width, rest) for width in natural[keys:])]
        widths[widest] -= 1
        excess -= 1
    return widths


def _blocks(widths: list[int], room: int, keys: int) -> list[list[int]]:
    key = list(range(min(keys, len(widths))))
    start = sum(widths[i] for i in key) + GAP * (len(key) - 1)
    blocks, used = [[*key]], start
    for i in range(len(key), len(widths)):
        if used + GAP + widths[i] > room and len(blocks[-1]) > len(key):
            blocks.append([*key])
            used = start
        blocks[-1].append(i)
        used += GAP + widths[i]
    return blocks


def _block(block: list[tuple[str, list[str], int, bool]], style: Style) -> list[str]:
    gap = " " * GAP
    head = gap.join(pad(style.fit(text, width), width, right=right) for text, _, width, right in block)
    rule = gap.join(("─" if style.unicode else "-") * width for _, _, width, _ in block)
    shown = [
        [pad(style.fit(cell, width), width, right=right) for cell in column]
        for _, column, width, right in block
    ]
    rows = [gap.join(row).rstrip() for row in zip(*shown, strict=True)]
    return [style.paint("strong", head.rstrip()), style.paint("faint", rule), *rows]


def paragraphs(pairs: Sequence[tuple[str, str]], style: Style, *, indent: int = 0) -> list[str]:
    """Return `name  text` lines, the texts aligned and wrapped."""
    if not pairs:
        return []
    shown = [(style.show(name), style.show(text)) for name, text in pairs]
    width = min(max(width_of(name) for name, _ in shown), style.width // 3)
    room = style.width - indent - width - GAP
    lines = []
    for name, text in shown:
        for i, line in enumerate(style.wrap(text, room)):
            left = pad(style.fit(name, width) if i == 0 else "", width)
            lines.append((" " * indent + style.paint("faint", left) + " " * GAP + line).rstrip())
    return lines
