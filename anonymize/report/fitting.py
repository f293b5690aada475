"""Tables that fit a terminal without losing a figure: texts are folded, and a table that is too wide is parted.

Each part begins with the columns that name a row (`Section.names`), so that it can be read by itself. A cell is folded
where a terminal has no room for one column beside the names; nothing is ever cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from anonymize.report.section import Section

LEAST_TEXT = 16
"""Characters to which a column of texts is folded before a table is parted."""
GAP = 2


def tables(section: Section, width: int, right: frozenset[str]) -> Iterator[Table]:
    """The section's table, or its parts one after the other, each at most `width` characters wide.

    `right`: names of columns whose cells stand on the right.
    """
    rows = [row[: len(section.header)] for row in section.rows]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(section.header)
    least = [_least(name, cells) for name, cells in zip(section.header, columns, strict=True)]
    wanted = [max(map(cell_len, (name, *cells))) for name, cells in zip(section.header, columns, strict=True)]
    for part in _parts(least, section.names, width):
        widths = _widths([least[index] for index in part], [wanted[index] for index in part], width)
        yield _table(section, part, widths, right)


def _least(name: str, cells: Sequence[str]) -> int:
    """The narrowest that a column may be: figures stand on one line, texts may be folded, and headers between words."""
    word = max(map(cell_len, name.split()), default=1)
    figures = max(map(cell_len, cells), default=1)
    if any(" " in cell for cell in cells):
        figures = min(figures, LEAST_TEXT)
    return max(word, figures, 1)


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


def _table(section: Section, part: Sequence[int], widths: Sequence[int], right: frozenset[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for index, column in zip(part, widths, strict=True):
        name = section.header[index]
        table.add_column(name, justify="right" if name in right else "left", width=column, overflow="fold")
    for row in section.rows:
        table.add_row(*(Text(row[index]) for index in part))
    return table
