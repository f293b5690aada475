"""The text of a table, read once: its classes, and how often each sensitive value occurs in them.

A text becomes a number of 32 bits, the same for the same text of a column and for no other. The numbers of a row's
quasi-identifiers are put into one of 64 bits, without loss: where they need more, what there is so far is renumbered.
Classes are then runs of equal numbers in a sorted column, and nothing is told apart, or taken for the same, by a hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import polars as pl

from anonymize.errors import Caution, DataError, RowsError
from anonymize.records import dataclass
from anonymize.spec import UNKNOWN, Spec, remarks
from anonymize.verify.cells import with_point
from anonymize.verify.columns import NumberedColumn, ShownColumns, read_columns
from anonymize.verify.numbering import Numbering, pair, whole
from anonymize.verify.verdict import Subject

_CASELESS = r"^[ -@\[-`{-~]*$"
"""Texts of ASCII without letters, as most numbers and intervals are: they differ from others in more than case."""

LARGEST = 1e150
"""Beyond this, differences and squares of numbers are none any more."""

CSV = ("csv", "csv.gz")
"""The formats in which a null is an empty field."""


def text_of(path: Path, form: str, separator: str) -> pl.LazyFrame:
    """A table as it was written, by a plain reader; of a CSV, the text."""
    if form not in CSV:
        scan = pl.scan_parquet if form == "parquet" else pl.scan_ipc
        return scan(path, glob=False, hive_partitioning=False)
    return pl.scan_csv(
        path,
        infer_schema=False,
        separator=separator,
        with_column_names=lambda names: [name.replace('""', '"') for name in names],  # which polars leaves as they are
        glob=False,
    )


def with_suppressed(frame: pl.LazyFrame, spec: Spec, columns: Iterable[str]) -> pl.LazyFrame:
    """A release whose suppressed cells may be written as nothing, with the text that they read in a check; `columns`:
    of the quasi-identifiers."""
    if not spec.hides:
        return frame
    kinds, places = frame.collect_schema(), by_position(frame)
    texts = {name: places[name] for name in columns if kinds.get(name) == pl.String}
    blank = {name: text.is_null() | (plain(text) == "") for name, text in texts.items()}
    return frame.with_columns(
        pl.when(blank[name]).then(pl.lit(str(spec.output.suppressed))).otherwise(text).alias(name)
        for name, text in texts.items()
    )


def by_position(frame: pl.LazyFrame | pl.DataFrame) -> dict[str, pl.Expr]:
    """Each column of a table by its place. By its name it might be taken for a pattern, as `*` and `^a.*$` are."""
    return {name: pl.nth(place) for place, name in enumerate(frame.collect_schema())}


@dataclass(frozen=True)
class TextTable:
    """What is measured: rows, the quasi-identifiers' columns, what means missing, and what a null is read as.

    `units`: (rows,) whom each row is about; None: every row is about somebody else. `normalize`: texts are compared as
    `plain` has them. `numbers`: columns of numbers, in which a null is what a suppressed cell reads. `shared`: what has
    been read of the same frame already. `exact`: columns whose texts are compared as they stand all the same.
    """

    frame: pl.LazyFrame
    quasi_identifiers: tuple[str, ...]
    missing: tuple[str, ...]
    fill: str | None
    units: pl.Series | None = None
    normalize: bool = False
    numbers: frozenset[str] = frozenset()
    shared: SharedNumbers | None = None
    exact: frozenset[str] = frozenset()

    def text(self, column: str) -> pl.Expr:
        text = self._columns[column].cast(pl.String)
        return text if self.fill is None or column in self.numbers else text.fill_null(self.fill)

    def normalizes(self, column: str) -> bool:
        return self.normalize and column not in self.exact

    @cached_property
    def _columns(self) -> dict[str, pl.Expr]:
        kinds, columns = self.frame.collect_schema(), by_position(self.frame)
        return {
            name: pl.when(each == 0).then(each.abs()).otherwise(each) if kinds[name].is_float() else each  # -0 is 0
            for name, each in columns.items()
        }


def plain(text: pl.Expr) -> pl.Expr:
    """A text as it is compared: without what cannot be seen, any space being a space, none at the ends, in NFC."""
    visible = text.str.replace_all(r"[\t-\r\x{85}\x{2028}\x{2029}\p{Zs}]", " ")
    visible = visible.str.replace_all(r"[\p{Cc}\p{Default_Ignorable_Code_Point}\x{2800}]", "")
    return visible.str.strip_chars(" ").str.normalize("NFC")


def plain_texts(texts: Sequence[str]) -> list[str]:
    """Texts as `plain` has them, each once."""
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    return frame.select(plain(pl.col("text")).unique(maintain_order=True)).to_series().to_list()


@dataclass(frozen=True)
class TextRows:
    """The rows of a table as numbers.

    `classes`: of what the quasi-identifiers show together; `hidden`: that of the suppressed rows, None if there are
    none; `values`: the column of each sensitive attribute; `units`: see `TextTable`; `columns`: those of the
    quasi-identifiers, where they were asked for. `blank`: every row reads as suppressed ones do; then everything is
    generalized, and none of them is suppressed.
    """

    classes: Numbering
    hidden: int | None
    values: Mapping[str, NumberedColumn]
    units: Numbering | None
    columns: Sequence[NumberedColumn] = ()
    blank: bool = False
    remarks: Sequence[Caution] = ()
    """What looks like a mistake among the texts, where they are normalized."""

    @property
    def count(self) -> int:
        return len(self.classes.of_row)

    @property
    def together(self) -> TextRows:
        """The rows as one class."""
        return replace(self, classes=Numbering(pl.repeat(0, self.count, dtype=pl.UInt32, eager=True), 1))


def read(table: TextTable, attributes: Sequence[str], suppressed: str, keep: bool = False) -> TextRows:
    """Reads quasi-identifiers and sensitive attributes. Raises DataError for units that are not those of these rows.

    `keep`: the columns of the quasi-identifiers are asked for, too.
    """
    names = [*table.quasi_identifiers, *attributes]
    side_by_side, columns = _side_by_side(table, table.quasi_identifiers, attributes)
    classes, values = side_by_side.together, dict(zip(attributes, columns, strict=True))
    typed = [name in table.numbers for name in table.quasi_identifiers]
    hidden, units = _hidden(side_by_side, suppressed, typed, classes), units_of(table, len(classes.of_row))
    blank = hidden is not None and classes.span == 1
    every = zip(names, [*side_by_side.of_runs, *columns], strict=True)
    noted = [each for name, column in every for each in _remarks(name, column, table, counted=name in values)]
    kept = side_by_side.of_rows if keep else ()
    return TextRows(classes, None if blank else hidden, values, units, kept, blank, noted)


def _remarks(name: str, column: NumberedColumn, table: TextTable, *, counted: bool) -> list[Caution]:
    """What to say about the texts of a column that look alike, or read as unknown without being missing. `counted`:
    they are sensitive, and those are one, or none, where different values are counted."""
    if not table.normalizes(name):
        return []
    texts = pl.DataFrame({"text": column.texts}).filter(~pl.col("text").is_in(list(table.missing)))["text"]
    if counted:
        looks = column.looks.filter(~column.texts.is_in(list(table.missing)))
        known = looks.drop_nulls()
        return remarks(name, len(known) - known.n_unique(), len(looks) - len(known), counted=True)
    caseless = texts.str.contains(_CASELESS)
    unknown = int(texts.filter(caseless).is_in(list(UNKNOWN)).sum())
    if caseless.all():
        return remarks(name, 0, unknown)
    alike = texts.filter(~caseless).str.to_lowercase().value_counts(name="n")
    unknown += int(alike.filter(pl.col("text").is_in(list(UNKNOWN)))["n"].sum())
    return remarks(name, int(alike.filter(pl.col("n") > 1)["n"].sum()), unknown)


_ReadAs: TypeAlias = tuple[str, str | None, bool]
"""The name of a column, the text that a null is read as, whether texts are compared as `plain` has them."""


def _read_as(table: TextTable, name: str) -> _ReadAs:
    return name, None if name in table.numbers else table.fill, table.normalizes(name)


@dataclass(frozen=True)
class SharedNumbers:
    """The columns of one frame as numbers, each read once, however many measures look at it.

    `names`: columns that will all be looked at, and are read in the first pass. `columns`: those that have been read.
    """

    frame: pl.LazyFrame
    names: Sequence[str] = ()
    columns: dict[_ReadAs, NumberedColumn] = field(default_factory=dict)
    neighbouring: dict[tuple[_ReadAs, ...], ShownColumns] = field(default_factory=dict)
    """Several columns side by side, by how each is read."""

    def side_by_side(self, table: TextTable, names: Sequence[str], more: Sequence[str] = ()) -> ShownColumns:
        """Columns of a table of the same frame, side by side. `more`: those that are looked at by themselves."""
        read_as = tuple(_read_as(table, name) for name in names)
        if read_as not in self.neighbouring:
            others = [name for name in self.names if name not in names]
            self.neighbouring[read_as] = self._read(table, names, [*more, *others])
        return self.neighbouring[read_as]

    def of(self, table: TextTable, names: Sequence[str]) -> list[NumberedColumn]:
        """The columns of a table of the same frame."""
        keys = [_read_as(table, name) for name in names]
        if not self.columns.keys() >= set(keys):
            self._read(table, (), [*names, *self.names])
        return [self.columns[key] for key in keys]

    def texts_of(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The different texts of columns that have been read side by side, null among them where a cell is."""
        texts = {}
        for keys, columns in self.neighbouring.items():
            for (name, *_), column in zip(keys, columns.of_runs, strict=True):
                null = pl.Series([None] if 0 in column.numbers.of_row else [], dtype=pl.String)
                texts[name] = pl.concat([column.texts, null])
        return {name: texts[name] for name in names if name in texts}

    def _read(self, table: TextTable, neighbours: Sequence[str], names: Sequence[str]) -> ShownColumns:
        """Columns side by side, and in the same pass those of the names that have not been read."""
        lacking = list(dict.fromkeys(name for name in names if _read_as(table, name) not in self.columns))
        own, columns = _read(table, neighbours, lacking)
        self.columns.update({_read_as(table, name): column for name, column in zip(lacking, columns, strict=True)})
        return own


def numbered(table: TextTable, names: Sequence[str]) -> list[NumberedColumn]:
    """The columns' texts as numbers, in one streaming pass that keeps the numbers alone."""
    shared = _shared(table)
    return _read(table, (), names)[1] if shared is None else shared.of(table, names)


def numbered_together(table: TextTable, names: Sequence[str]) -> Numbering:
    """What the columns show together, as dense numbers with their counts."""
    return _side_by_side(table, names, ())[0].together


def _side_by_side(
    table: TextTable, names: Sequence[str], others: Sequence[str]
) -> tuple[ShownColumns, list[NumberedColumn]]:
    """Columns side by side, and others by themselves, read once."""
    shared = _shared(table)
    if shared is None:
        return _read(table, names, others)
    return shared.side_by_side(table, names, others), shared.of(table, others)


def _shared(table: TextTable) -> SharedNumbers | None:
    """What has been read of the table's own frame."""
    return None if table.shared is None or table.shared.frame is not table.frame else table.shared


def _read(
    table: TextTable, neighbours: Sequence[str], others: Sequence[str]
) -> tuple[ShownColumns, list[NumberedColumn]]:
    """Columns side by side, and others by themselves, in one pass."""
    own, columns = read_columns(table.frame, [*map(table.text, neighbours)], [*map(table.text, others)])

    def compared(names: Sequence[str], read: Sequence[NumberedColumn]) -> list[NumberedColumn]:
        return [_merged(each) if table.normalizes(name) else each for name, each in zip(names, read, strict=True)]

    return replace(own, of_runs=compared(neighbours, own.of_runs)), compared(others, columns)


def _merged(column: NumberedColumn) -> NumberedColumn:
    """The column with the texts that are compared as one under one number. Where each begins and ends with a visible
    ASCII character and has only ASCII characters and spaces in between, which a glance shows, none are."""
    if column.texts.str.contains(r"^(?:[!-~](?:[ -~]*[!-~])?)?$").all():
        return column
    texts = column.texts.to_frame("text").select(plain(pl.col("text"))).to_series()
    if texts.equals(column.texts):
        return column
    known = texts.unique(maintain_order=True)
    ranks = texts.replace_strict(known, range(1, len(known) + 1), return_dtype=pl.UInt32)
    number = pl.Series([0], dtype=pl.UInt32).append(ranks)
    return NumberedColumn(Numbering(number.gather(column.numbers.of_row), len(known) + 1), known)


def _hidden(side_by_side: ShownColumns, suppressed: str, blank: Sequence[bool], classes: Numbering) -> int | None:
    """The number of the class that shows nothing. `blank`: whether it is a null of a column that shows nothing."""
    pairs = zip(side_by_side.of_runs, blank, strict=True)
    places = [-1 if null else column.texts.index_of(suppressed) for column, null in pairs]
    codes = [place + 1 for place in places if place is not None]
    first = side_by_side.first(codes) if len(codes) == len(places) else None
    return None if first is None else whole(classes.of_row[first])


def units_of(table: TextTable, rows: int) -> Numbering | None:
    """Whom each row is about, as numbers. Raises DataError for units that are not those of these rows."""
    if table.units is None:
        return None
    if len(table.units) != rows:
        raise DataError(f"the table has {rows} rows, and the units are those of {len(table.units)}")
    codes = table.units.alias("")  # its methods would take its name for a pattern
    if not codes.dtype.is_unsigned_integer():
        text = plain(pl.first()).replace("", None) if table.normalize else pl.first()
        codes = codes.cast(pl.String).to_frame().select(text).to_series()
        codes = codes.cast(pl.Categorical(pl.Categories.random())).to_physical()
    if codes.null_count():
        raise DataError(f"{codes.null_count()} rows have no unit: every row needs one")
    return Numbering(codes, len(codes) and whole(codes.max()) + 1)


def classes_of(rows: TextRows) -> pl.DataFrame:
    """One row a class, in the order of their numbers: `class` (from 0), its `size`, its `rows` (more than its size
    where several are about one unit), whether it is `suppressed`."""
    runs = rows.classes.runs()
    count = pl.col("len").cast(pl.Int64)
    classes = runs.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("class"),
        size=count,
        rows=count,
        suppressed=pl.lit(False) if rows.hidden is None else pl.col("value") == rows.hidden,
    )
    return classes if rows.units is None else classes.with_columns(size=_units_of(rows.classes, rows.units)["len"])


def entries_of(rows: TextRows, subject: Subject, missing: Sequence[str]) -> pl.DataFrame:
    """How often each present value of a sensitive attribute occurs in each class: `class`, `value`, `count`.

    In the order of classes, then of values. A value is a number, or the rank of a text. Raises RowsError for texts of a
    numeric attribute that are not numbers.
    """
    column, values = numbered_values(rows, subject, missing)
    ranks = values["rank"].gather(column.numbers.of_row)
    joined, span = pair(rows.classes, Numbering(ranks, values.height))
    runs = joined.runs() if rows.units is None else _units_of(joined, rows.units)
    owner = pl.col("value") // span
    entries = runs.lazy().select(
        (owner != owner.shift()).fill_null(False).cum_sum().cast(pl.UInt32).alias("class"),
        rank=(pl.col("value") % span).cast(pl.UInt32),
        count=pl.col("len").cast(pl.Int64),
    )
    present = entries.filter(pl.col("rank") > 0).collect()
    if not subject.numeric:
        return present.rename({"rank": "value"})
    number_of = values.unique("rank").sort("rank")["number"]
    return present.with_columns(number_of.gather(present["rank"]).alias("value")).drop("rank")


def values_of(rows: TextRows, subject: Subject, missing: Sequence[str]) -> pl.Series:
    """(rows,) the `value` of a sensitive attribute that `entries_of` counts, null where it is missing."""
    column, values = numbered_values(rows, subject, missing)
    number = values["number"] if subject.numeric else values["rank"].replace(0, None)
    return number.gather(column.numbers.of_row).alias("value")


def _units_of(numbers: Numbering, units: Numbering) -> pl.DataFrame:
    """The different numbers, ascending (`value`), and how many units have each (`len`)."""
    joined, span = pair(numbers, units)
    owners = (joined.runs()["value"] // span).rle().struct.unnest()
    return owners.with_columns(numbers.runs()["value"])  # pair may have renumbered them


def numbered_values(rows: TextRows, subject: Subject, missing: Sequence[str]) -> tuple[NumberedColumn, pl.DataFrame]:
    """The column of a sensitive attribute, and the `rank` of each of its numbers: see `_ranks` and `_numbers`."""
    column = rows.values[subject.attribute or ""]
    if subject.numeric:
        return column, _numbers(column, missing, subject)
    return column, _ranks(column, missing, alike=subject.alike, with_missing=subject.with_missing)


def _ranks(
    column: NumberedColumn, missing: Sequence[str], *, alike: bool = False, with_missing: bool = False
) -> pl.DataFrame:
    """The `rank` of each number's text among the present ones of a column, from 1; 0 where it is missing. `alike`: the
    same for texts that look alike, and 0 where one reads as unknown. `with_missing`: all that are missing are one more
    value, which comes first."""
    text = column.by_number
    texts = pl.DataFrame({"text": text, "counted": text.head(1).append(column.looks) if alike else text})
    present: pl.Expr = pl.when(~pl.col("text").is_in(list(missing))).then(pl.col("counted"))
    if with_missing:
        absent = pl.col("text").is_null() | pl.col("text").is_in(list(missing))
        present = pl.when(absent).then(pl.lit("0")).otherwise("1" + present)
    return texts.select(rank=present.rank("dense").fill_null(0).cast(pl.UInt32))


def _numbers(column: NumberedColumn, missing: Sequence[str], subject: Subject) -> pl.DataFrame:
    """The `rank` of each text as a number, 0 where it is missing, and the `number` itself: a whole one if all are."""
    number = with_point(pl.col("text"), subject.notation).str.strip_chars()
    present = pl.when(~pl.col("text").is_in(list(missing))).then(number)
    bare = column.by_number.to_frame().select(present).to_series()
    whole_ones = bare.cast(pl.Int64, strict=False)
    numbers = bare.cast(pl.Float64, strict=False) + 0.0  # so that -0 is 0
    wrong = bare.is_not_null() & ~(numbers.abs() <= LARGEST).fill_null(False)
    if wrong.any():
        rows = wrong.gather(column.numbers.of_row)
        message = f"column {subject.attribute} is numeric, and {rows.sum()} of its values are not numbers"
        raise RowsError(message, rows.arg_max() or 0)
    chosen = whole_ones if whole_ones.null_count() == numbers.null_count() else numbers
    return pl.DataFrame({"rank": chosen.rank("dense").fill_null(0).cast(pl.UInt32), "number": chosen})
