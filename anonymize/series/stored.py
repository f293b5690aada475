"""People as they were last in an input: kept in the state where departures are deferred, and put behind the rows of the
next input.

A frame of them has a row a person: `person` (Binary), `release` (UInt32, the number from 0 of the release of whose
input the row was one), `row` (UInt32, which one it was there, from 0), and for each column that a release is made of
`cell NAME`, as it came. Columns that name people are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from anonymize.classes import Bools
from anonymize.errors import DataError, Problem, WriteError
from anonymize.spec import Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Source
from anonymize.table.copies import copied
from anonymize.table.files import reason
from anonymize.table.named import column
from anonymize.table.spool import Opened

KEYS = {"person": pl.Binary, "release": pl.UInt32, "row": pl.UInt32}
_CELL = "cell "


def is_sound(frame: pl.DataFrame) -> bool:
    """Whether a frame is one of people as they were last."""
    names = frame.columns
    fine = all(frame.schema.get(name) == kind() for name, kind in KEYS.items())
    return fine and all(name.startswith(_CELL) for name in names[len(KEYS) :])


def cells_of(spec: Spec, source: Source) -> pl.DataFrame:
    """The rows of a source that has been read, without what names people."""
    roles = spec.roles()
    names = [name for name in source.columns if roles[name] not in WITHHELD]
    chosen = [column(name).alias(f"{_CELL}{name}") for name in names]
    return source.scan().select(chosen).collect(engine="streaming")


def next_rows(
    cells: pl.DataFrame, person: pl.Series, released: Bools, number: int, departed: pl.DataFrame | None
) -> pl.DataFrame:
    """Those who are `released` (rows,) at release `number`. `cells`: of all rows, of which the last are of people
    who have `departed`."""
    row_numbers = pl.int_range(cells.height, dtype=pl.UInt32, eager=True).alias("row")
    number_of = pl.repeat(number, cells.height, dtype=pl.UInt32, eager=True).alias("release")
    frame = pl.DataFrame([person.alias("person"), number_of, row_numbers]).hstack(cells)
    if departed is not None:
        others = departed.select(list(KEYS)).hstack(cells.tail(departed.height))
        frame = pl.concat([frame.head(frame.height - departed.height), others])
    return frame.filter(pl.Series(released)).sort("person")


@contextmanager
def continued(source: Source, naming: Sequence[str], departed: pl.DataFrame, inputs: Sequence[str]) -> Iterator[Source]:
    """A checked source with people behind it who are not in it, as a copy without a name, as long as the block; it is
    called what the source is, and has its hash. They are named by their pseudonyms, in hexadecimal digits. `inputs`:
    the hash of the input of each release.

    Raises DataError where columns are not of the types that they were of, WriteError where there is no room.
    """
    named = departed["person"].bin.encode("hex")
    columns = [named.alias(name) if name in naming else _column(source, name, departed) for name in source.columns]
    texts = [column(name).cast(pl.String) if name in naming else column(name) for name in source.columns]
    earlier = tuple((inputs[number], row) for number, row in departed.select("release", "row").iter_rows())
    both_tables = pl.concat([source.scan().select(texts), pl.LazyFrame(columns)])
    try:
        with copied(both_tables, source) as path:
            form = source.format if source.format == "csv" else "arrow"
            source.unchanged()
            both = Source(Opened(path, source.name, form, sha256=source.sha256), source.separator)
            both.earlier = earlier
            yield both
    except OSError as error:
        raise WriteError(f"the input cannot be copied to a temporary file: {reason(error)}") from None


def _column(source: Source, name: str, departed: pl.DataFrame) -> pl.Series:
    """What a column has for people who are not in the source; missing where it had none then."""
    kind = source.schema[name]
    if f"{_CELL}{name}" not in departed.columns:
        return pl.Series(name, [None] * departed.height, dtype=kind)
    try:
        return departed[f"{_CELL}{name}"].cast(kind).alias(name)
    except pl.exceptions.PolarsError:
        message = f"column {name!r} is of another type than it was of at earlier releases"
        raise DataError(Problem(message, source.name)) from None
