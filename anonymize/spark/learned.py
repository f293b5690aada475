"""What the driver learns of a DataFrame: the different values of each column that counts, and how many rows have each.

One aggregation for each quasi-identifier and each sensitive attribute; no row comes to the driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonymize.classes import Codes, Ints
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError, Problem
from anonymize.judging.protected import check_protected
from anonymize.privacy import Requirement
from anonymize.recoding.window import Tails, Window
from anonymize.spark.engine import DataFrame, collected, read_otherwise
from anonymize.spec import Spec
from anonymize.table import Attribute, SensitiveColumn, Table
from anonymize.table.encode import code_type
from anonymize.table.read import code_distinct

if TYPE_CHECKING:
    import pyarrow as pa

    from anonymize.table import Source

MOST_VALUES = 1_000_000
"""Different values of a column that the driver takes."""
WIDEST = 1 << 22
"""How far it may be from the least to the most of integers for each to have a place in a table of codes, which takes a
third of the time of a join."""


@dataclass(frozen=True)
class CodeBook:
    """The code of each value of a column: `frame` has `value` and `code`; `size`: what codes are below."""

    column: str
    frame: pl.DataFrame
    size: int

    def codes(self, rows: pa.Table) -> Codes:
        """(rows,) of some rows of the DataFrame, by the column's place. Raises DataError for a value that was not there
        when values were counted."""
        if self.frame["value"].dtype == pl.String:
            return self._of_texts(rows[self.column])
        values = pl.Series("value", rows[self.column])
        codes = None if values.null_count() else self._looked_up(values)
        if codes is not None:
            return codes
        joined = values.to_frame().join(self.frame, on="value", how="left", nulls_equal=True, maintain_order="left")
        if joined["code"].null_count():
            raise read_otherwise()
        return joined["code"].to_numpy().astype(code_type(self.size), copy=False)

    def _of_texts(self, texts: pa.ChunkedArray) -> Codes:
        """The same of texts, looked up where they are: a join takes three times as long, with what it takes to copy
        them for it."""
        import pyarrow.compute as pc

        places = pc.index_in(texts, self.frame["value"].to_arrow(compat_level=pl.CompatLevel.oldest()).cast(texts.type))
        if places.null_count:
            raise read_otherwise()
        codes = self.frame["code"].to_numpy().astype(code_type(self.size), copy=False)
        return np.asarray(codes[places.to_numpy()])

    def _looked_up(self, values: pl.Series) -> Codes | None:
        """The same of integers by a table of places, which takes a third of a join. None where values have none, or one
        of them is not known."""
        known = self.frame.filter(pl.col("value").is_not_null())
        own, others = _places(known["value"], values), _places(known["value"], known["value"])
        if own is None or others is None:
            return None
        table = np.full(int(others.max()) + 1, -1, np.int64)
        table[others] = known["code"].to_numpy()
        codes = table[own]
        return None if (codes < 0).any() else codes.astype(code_type(self.size))


def _places(known: pl.Series, values: pl.Series) -> Ints | None:
    """(n,) a place of each value, the least known value at 0: of integers of no wide range. None of others, and where a
    value lies outside."""
    if not len(known) or values.dtype != known.dtype or not values.dtype.is_integer():
        return None
    least, most = known.min(), known.max()
    assert isinstance(least, int)
    assert isinstance(most, int)
    if most - least > WIDEST or most >= 2**63 or not values.is_between(least, most).all():
        return None
    return (values.cast(pl.Int64) - least).to_numpy()


@dataclass(frozen=True)
class Learned:
    """A DataFrame of `rows` rows, of which only counts are known.

    `attributes`, `sensitive`: their codes are those of the different values; the attributes have `counts` of the rows
    with each. `books`: the codes of each, the attributes first. `counts`: (size,) rows of each code. `windows`: of each
    attribute, the ends that may be shown; None: of a category.
    """

    rows: int
    attributes: tuple[Attribute, ...]
    sensitive: tuple[SensitiveColumn, ...]
    books: tuple[CodeBook, ...]
    counts: tuple[Ints, ...]
    windows: tuple[Window | None, ...]
    largest_k: int | None

    @property
    def columns(self) -> list[str]:
        """The columns of the DataFrame that have codes: workers are sent no others to count rows."""
        return list(dict.fromkeys(book.column for book in self.books))

    @property
    def sizes(self) -> list[int]:
        """What the codes of each column are below, those of sensitive attributes last."""
        return [book.size for book in self.books]

    def table(self, codes: Sequence[Codes], sensitive: Sequence[Codes], rows: int) -> Table:
        """Some rows of the DataFrame as a table, of their codes (rows,)."""
        return Table(
            rows=rows,
            attributes=tuple(
                replace(own, codes=each, counts=None) for own, each in zip(self.attributes, codes, strict=True)
            ),
            sensitive=tuple(replace(own, codes=each) for own, each in zip(self.sensitive, sensitive, strict=True)),
            columns=(),
            source=_NO_SOURCE,
            warnings=(),
            largest_k=self.largest_k,
        )

    @property
    def everywhere(self) -> list[SensitiveColumn]:
        """The sensitive attributes, as those of any part of the DataFrame: they know how often each value occurs in
        all of it."""
        counts = self.counts[len(self.attributes) :]
        return [replace(own, everywhere=each) for own, each in zip(self.sensitive, counts, strict=True)]

    def part(self, codes: Sequence[Codes], sensitive: Sequence[Codes], rows: int) -> Table:
        """As `table`, of rows that are judged as part of the whole DataFrame."""
        whole = replace(self, sensitive=tuple(self.everywhere))
        return whole.table(codes, sensitive, rows)

    def without_codes(self) -> Learned:
        """What workers need of it."""
        none: Codes = np.zeros(0, np.uint8)
        return replace(
            self,
            attributes=tuple(replace(each, codes=none, counts=None) for each in self.attributes),
            sensitive=tuple(replace(each, codes=none) for each in self.sensitive),
        )


_NO_SOURCE: Source = None  # type: ignore[assignment]  # nothing that works on codes reads the input again


def learn(
    df: DataFrame, places: Mapping[str, str], spec: Spec, requirements: Sequence[Requirement], most: int = MOST_VALUES
) -> Learned:
    """Counts the values. `df`: its columns by their places; `places`: the place of each name; `most`: how many
    different values the driver takes of a column.

    Raises DataError for no rows, for a column of more values, for one of numbers that has others,
    and for protected values that do not occur.
    """
    names = [*spec.quasi_identifiers, *spec.sensitive]
    counted = {name: _counted(df, name, places[name], most) for name in names}
    rows = int(counted[names[0]]["count"].sum())
    if not rows:
        raise DataError("no rows: the DataFrame is empty")
    attributes, sensitive = code_distinct(spec, {name: frame["value"] for name, frame in counted.items()})
    columns: list[tuple[Codes, int]] = [(each.codes, each.domain.size) for each in attributes]
    columns += [(each.codes, each.size) for each in sensitive]
    books, counts = [], []
    for name, (codes, size) in zip(names, columns, strict=True):
        frame = counted[name]
        books.append(CodeBook(places[name], pl.DataFrame([frame["value"], pl.Series("code", codes)]), size))
        counts.append(np.bincount(codes, frame["count"].to_numpy(), minlength=size).astype(np.int64))
    attributes = tuple(
        replace(each, counts=counted[each.name]["count"].to_numpy().astype(np.int64)) for each in attributes
    )
    learned = Learned(rows, attributes, sensitive, tuple(books), tuple(counts), (), spec.largest_k)
    check_protected(learned.table([a.codes for a in attributes], [s.codes for s in sensitive], 0), requirements)
    return replace(learned, windows=tuple(map(_window, attributes, counts, [learned.largest_k] * len(attributes))))


def _counted(df: DataFrame, name: str, place: str, most: int) -> pl.DataFrame:
    """The different values of a column, `value` and `count`, in an order that does not depend on the engine's."""
    frame = collected(df.groupBy(place).count().limit(most + 1))
    if len(frame) > most:
        hint = "round it, or give it a bottom and a top code, before it comes here; or make the release on one machine"
        message = f"column {name!r} has more than {most:,} different values, which is more than the driver takes"
        raise DataError(Problem(message, hint=hint))
    value, count = frame[place].alias("value"), frame["count"].cast(pl.Int64)
    return pl.DataFrame([value, count.alias("count")]).sort("value", nulls_last=True)


def _window(attribute: Attribute, counts: Ints, largest_k: int | None) -> Window | None:
    """The ends of a numeric attribute that may be shown, by the rows of each code."""
    domain = attribute.domain
    if not isinstance(domain, Numeric):
        return None
    numbers = counts[: len(domain.values)]
    return Tails.of_k(largest_k).of_counts(numbers, numbers)
