"""Tables that fit a terminal without losing a figure: texts are folded, and a table that is too wide is parted.

Each part begins with the columns that name a row (`Section.names`), so that it can be read by itself. A cell is folded
where a terminal has no room for one column beside the names; nothing is ever cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from anonymize.errors import visible
from anonymize.report.section import Section

LEAST_TEXT = 16
"""Characters to which a column of texts is folded before a table is parted."""
GAP = 2


def tables(section: Section, width: int, right: frozenset[str]) -> Iterator[FittedTable]:
    """The section's table, or its parts one after the other, each at most `width` characters wide.

    `right`: names of columns whose cells stand on the right.
    """
    header = tuple(map(visible, section.header))
    rows = [
        tuple(visible(cell, lines=place >= section.names) for place, cell in enumerate(row[: len(header)]))
        for row in section.rows
    ]
    section = replace(section, header=header, rows=rows)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(section.header)
    least = [_least(name, cells) for name, cells in zip(section.header, columns, strict=True)]
    wanted = [max(map(cell_len, (name, *cells))) for name, cells in zip(section.header, columns, strict=True)]
    for part in _parts(least, section.names, width):
        widths = _widths([least[index] for index in part], [wanted[index] for index in part], width)
        yield _table(section, part, widths, right)


def _least(name: str, cells: Sequence[str]) -> int:
    """The narrowest that a column may be: figures stand on one line, texts may be folded, and headers between words."""
    figures = [cell_len(cell) for cell in cells]
    if any(" " in cell for cell in cells):
        figures = [min(each, LEAST_TEXT) for each in figures]
    return max([1, *figures, *map(cell_len, name.split())])


def _parts(least: Sequence[int], names: int, width: int) -> Iterator[list[int]]:
    """The columns of each part: those that name a row, and as many of the others as there is room for, at least one."""
    first = list(range(min(names, len(least))))
    part = first
    for index in range(len(first), len(least)):
        wider = [*part, index]
        if part is not first and sum(least[each] for each in wider) + GAP * (len(wider) - 1) > width:
            yield part
            wider = [*first, index]
        part = wider
    yield part


def _widths(least: Sequence[int], wanted: Sequence[int], width: int) -> list[int]:
    """What each column gets: what it wants, the narrow ones first, or at least its share of what there is."""
    widths, left = list(least), width - GAP * (len(least) - 1) - sum(least)
    for index in sorted(range(len(least)), key=lambda index: wanted[index]):
        more = min(wanted[index] - widths[index], max(left, 0))
        widths[index] += more
        left -= more
    while left < 0 and max(widths) > 1:
        widest = max(range(len(widths)), key=lambda index: widths[index])
        widths[widest] -= 1
        left += 1
    return widths


@dataclass(frozen=True)
class FittedTable:
    """A table whose widths are settled: `cells`, the header first, row by row, as many as there are `widths`; `right`:
    whether those of each column stand on the right.

    rich lays a table out anew and pads, crops and styles every cell, which takes longer than a small release; here all
    that is left to do is to fold.
    """

    cells: Sequence[Sequence[str]]
    widths: Sequence[int]
    right: Sequence[bool]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        header, plain = console.get_style("table.header"), Style.null()
        for number, row in enumerate(self.cells):
            for line in self._lines(console, row, bottom=not number):
                yield Segment(line, plain if number else header)
                yield Segment.line()

    def _lines(self, console: Console, row: Sequence[str], *, bottom: bool) -> list[str]:
        """A row, folded: one line where every cell fits its column. `bottom`: a cell of fewer lines stands there."""
        columns = list(zip(row, self.widths, self.right, strict=True))
        folded = [_folded(console, cell, width, right=right) for cell, width, right in columns]
        height = max(map(len, folded))
        blank = [[""] * (height - len(pieces)) for pieces in folded]
        full = [[*empty, *pieces] if bottom else [*pieces, *empty] for pieces, empty in zip(folded, blank, strict=True)]
        padded = (
            [piece + " " * (width - cell_len(piece)) for piece in pieces]
            for pieces, width in zip(full, self.widths, strict=True)
        )
        return [(" " * GAP).join(pieces) for pieces in zip(*padded, strict=True)]


def _folded(console: Console, cell: str, width: int, *, right: bool) -> list[str]:
    """The lines of a cell, each at most `width` wide, those on the right with blanks before them."""
    if not cell.isprintable() or cell_len(cell) > width:
        lines = Text(cell).wrap(console, width, justify="right" if right else "left", overflow="fold")
        return [line.plain for line in lines]
    return [" " * (width - cell_len(cell.rstrip())) + cell.rstrip() if right else cell]


def _table(section: Section, part: Sequence[int], widths: Sequence[int], right: frozenset[str]) -> FittedTable:
    rows = ([row[index] for index in part] for row in (section.header, *section.rows))
    return FittedTable(list(rows), widths, [section.header[index] in right for index in part])
