"""Columns of texts as numbers, in one streaming pass over a table that keeps the numbers alone.

A release is mostly in the order of what it shows, and rows that show the same stand side by side. Of columns that are
wanted together a batch is parted into runs of such rows, which takes a comparison of each text with the one above it,
and only the first row of a run is numbered. Where texts are numbered by their hashes, each is compared with the one
whose number it has. Nothing depends on the order: runs that come again have the same numbers,
and where hardly any neighbours are alike, every row is a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from anonymize.verify.looks import looking_alike
from anonymize.verify.numbering import Numbering, together, whole

_TYPES: tuple[tuple[int, pl.DataType], ...] = ((1 << 8, pl.UInt8()), (1 << 16, pl.UInt16()), (1 << 32, pl.UInt32()))
"""Types of numbers, and what these have to be below."""

BATCH = 100_000
"""Rows whose text is in memory at once."""
HELD = 1 << 20
"""Texts of runs that are held to be numbered at once, at most."""


@dataclass(frozen=True)
class NumberedColumn:
    """A column of texts: 0 for a null, else 1 + the position among `texts`."""

    numbers: Numbering
    texts: pl.Series

    @cached_property
    def looks(self) -> pl.Series:
        """For each text what stands for all that look alike; null for one that reads as unknown."""
        return looking_alike(self.texts, known=True)

    def gathered(self, rows: pl.Series) -> NumberedColumn:
        """The column of some rows."""
        return NumberedColumn(Numbering(self.numbers.of_row.gather(rows), self.numbers.span), self.texts)


@dataclass(frozen=True)
class ShownColumns:
    """Columns side by side, by runs of neighbouring rows that show the same in all of them.

    `of_runs`: the columns of the runs. `begins` (rows,): whether a run begins at a row; None: each row is one.
    """

    of_runs: Sequence[NumberedColumn]
    begins: pl.Series | None

    @cached_property
    def together(self) -> Numbering:
        """Dense numbers of what the rows show, with their counts."""
        numbering = together([column.numbers for column in self.of_runs])
        if self.begins is None or numbering.counts is None:
            return numbering
        lengths = self._starts.diff(null_behavior="drop").append(pl.Series([len(self.begins)]) - self._starts[-1])
        of_number = (
            pl.DataFrame({"number": numbering.of_row, "rows": lengths}).group_by("number").agg(pl.col("rows").sum())
        )
        counts = of_number.sort("number")["rows"].cast(pl.UInt32)
        return Numbering(numbering.of_row.gather(self._run_of_row), numbering.span, counts)

    @property
    def of_rows(self) -> list[NumberedColumn]:
        """The columns of the rows."""
        if self.begins is None:
            return list(self.of_runs)
        runs = self._run_of_row
        return [column.gathered(runs) for column in self.of_runs]

    def first(self, codes: Sequence[int]) -> int | None:
        """The first row that has these numbers in the columns; None where none has."""
        frame = pl.DataFrame([column.numbers.of_row.alias(str(place)) for place, column in enumerate(self.of_runs)])
        same = [pl.nth(place) == code for place, code in enumerate(codes)]
        run = frame.select(pl.all_horizontal(same)).to_series().index_of(True)
        return run if run is None or self.begins is None else whole(self._starts[run])

    @property
    def _run_of_row(self) -> pl.Series:
        assert self.begins is not None
        return self.begins.cum_sum() - 1

    @cached_property
    def _starts(self) -> pl.Series:
        assert self.begins is not None
        return self.begins.arg_true().cast(pl.Int64)


def read_columns(
    frame: pl.LazyFrame,
    neighbours: Sequence[pl.Expr],
    others: Sequence[pl.Expr],
    *,
    batch: int = BATCH,
    held: int = HELD,
) -> tuple[ShownColumns, list[NumberedColumn]]:
    """The texts of `neighbours` side by side, and each of the `others` by itself; `batch` rows are read at once.
    `held`: see `_RunTexts`."""
    categories = [pl.Categories.random() for _ in others]
    queries = [
        _codes(text, known).alias(f"{place}#")
        for place, (text, known) in enumerate(zip(others, categories, strict=True))
    ]
    texts = [text.alias(str(place)) for place, text in enumerate(neighbours)]
    pieces: list[list[pl.Series]] = [[] for _ in others]
    runs = _Runs(len(neighbours), held)
    for rows in frame.select([*texts, *queries]).collect_batches(chunk_size=batch):
        for own, codes in zip(pieces, rows.get_columns()[len(neighbours) :], strict=True):
            own.append(_narrow(codes))
        if neighbours:
            runs.add(rows[:, : len(neighbours)])
    return runs.columns(), [_column(own, known) for own, known in zip(pieces, categories, strict=True)]


class _Runs:
    """What takes the batches of columns that are shown side by side."""

    def __init__(self, columns: int, held: int) -> None:
        self._columns = [_RunTexts(place, held) for place in range(columns)]
        self._begins: list[pl.Series] = []
        self._alike = True

    def add(self, texts: pl.DataFrame) -> None:
        """Takes the next rows. Once hardly any neighbours are alike, no more are compared."""
        begins = _begins(texts) if self._alike else pl.repeat(True, texts.height, dtype=pl.Boolean, eager=True)
        self._alike = whole(begins.sum()) * 2 <= texts.height
        firsts = texts.filter(begins)
        for column in self._columns:
            if not self._begins and self._alike:
                column.hold_if_most_differ(firsts)
            elif not self._alike:
                column.let_go()
        for column, own in zip(self._columns, firsts.select(each.query for each in self._columns), strict=True):
            column.add(own)
        self._begins.append(begins)

    def columns(self) -> ShownColumns:
        """The columns, once all rows have been taken."""
        begins = pl.concat([pl.Series([], dtype=pl.Boolean), *self._begins]).rechunk()
        return ShownColumns([each.column() for each in self._columns], None if begins.all() else begins)


class _RunTexts:
    """What takes the texts of one column, a piece at a time.

    They are numbered as they come, by categories, which take some hundred bytes for each different text. Where nearly
    all texts differ, as those of intervals do from class to class, up to `held` of them are held instead, in a third of
    that, and numbered at once. `query`: what `add` is to be given of a piece.
    """

    def __init__(self, place: int, held: int) -> None:
        self._place, self._held, self._categories = place, held, pl.Categories.random()
        self._codes: list[pl.Series] = []
        self._texts: list[pl.Series] = []
        self.query = _codes(pl.nth(place), self._categories)
        self._number = _codes(pl.nth(0), self._categories)

    def hold_if_most_differ(self, first: pl.DataFrame) -> None:
        """Decides by the first rows whether texts are held."""
        if first.to_series(self._place).n_unique() * 2 > first.height:
            self.query = pl.nth(self._place) + ""  # new texts: the old ones are parts of the text of whole batches

    def add(self, piece: pl.Series) -> None:
        """Takes the next rows."""
        if piece.dtype == pl.String:
            self._texts.append(piece)
            if sum(map(len, self._texts)) > self._held:
                self.let_go()
        else:
            self._codes.append(_narrow(piece))

    def let_go(self) -> None:
        """Numbers what is held, and all that comes, by categories."""
        self.query = _codes(pl.nth(self._place), self._categories)
        self._codes += [_narrow(piece.to_frame().select(self._number).to_series()) for piece in self._texts]
        self._texts.clear()

    def column(self) -> NumberedColumn:
        """The column, once all have been taken; what it took is freed."""
        if self._texts:
            numbered = _at_once(pl.concat(self._texts).rechunk())
            if numbered is not None:
                self._texts.clear()
                return numbered
            self.let_go()
        column = _column(self._codes, self._categories)
        del self.query, self._number  # with which goes what the categories know
        return column


def _at_once(texts: pl.Series) -> NumberedColumn | None:
    """The column of texts, numbered in the order in which they first come: by their hashes, each of which is shown to
    be that of one text. None where one is not, or a text is null."""
    if texts.null_count():
        return None
    ranks = (texts.hash().rank("dense") - 1).alias("rank")
    rows = ranks.to_frame().with_row_index("row")
    first = rows.group_by("rank").agg(pl.col("row").min()).sort("rank")["row"]
    numbers = (first.rank("ordinal") - 1).gather(ranks)
    distinct = texts.gather(first.sort())
    if not distinct.gather(numbers).equals(texts):
        return None
    return NumberedColumn(Numbering(_narrow(numbers + 1), len(distinct) + 1), distinct)


def _begins(texts: pl.DataFrame) -> pl.Series:
    """Whether each row shows something else than the one before it, as the first one does."""
    differs = pl.any_horizontal(pl.all().ne_missing(pl.all().shift(1)))
    return texts.select(differs | (pl.int_range(pl.len()) == 0)).to_series()


def _codes(text: pl.Expr, categories: pl.Categories) -> pl.Expr:
    """The numbers of texts. What the categories know lasts as long as this does."""
    return (text.cast(pl.Categorical(categories)).to_physical() + 1).fill_null(0)


def _column(pieces: list[pl.Series], categories: pl.Categories) -> NumberedColumn:
    """The column of pieces, which are freed; every category is in one of them."""
    codes = _joined(pieces)
    pieces.clear()
    most = whole(codes.max()) if len(codes) else 0
    texts = pl.int_range(most, dtype=pl.UInt32, eager=True).cat.to(pl.Categorical(categories)).cast(pl.String)
    return NumberedColumn(Numbering(codes, most + 1), texts)


def _narrow(codes: pl.Series) -> pl.Series:
    """Numbers in as few bytes as they take."""
    most = whole(codes.max()) if len(codes) else 0
    return codes.cast(next(kind for size, kind in _TYPES if most < size))


def _joined(pieces: Sequence[pl.Series]) -> pl.Series:
    """The pieces one after the other, in the widest type among them."""
    types = [kind for _, kind in _TYPES]
    widest = max((types.index(piece.dtype) for piece in pieces), default=0)
    return pl.concat([pl.Series([], dtype=types[widest]), *(piece.cast(types[widest]) for piece in pieces)]).rechunk()
