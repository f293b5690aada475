"""What the driver learns of a DataFrame: the different values of each column that counts, and how many rows have each.

One aggregation for each quasi-identifier and each sensitive attribute, those of one type in one job; no row comes to
the driver.
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
from anonymize.judging.judge import check_protected
from anonymize.privacy import Requirement
from anonymize.recoding.window import Tails, Window
from anonymize.spark.codes import CodeBook, hashed_key, number_key
from anonymize.spark.counts import COUNT, NAME, VALUE, below
from anonymize.spark.engine import WHOLE, DataFrame, collected
from anonymize.spec import Spec
from anonymize.table import Attribute, SensitiveColumn, Table
from anonymize.table.read import code_distinct

if TYPE_CHECKING:
    from anonymize.table import Source

MOST_VALUES = 1_000_000
"""Different values of a column that the driver takes."""


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
        """The columns of the DataFrame that have codes."""
        return list(dict.fromkeys(book.column for book in self.books))

    @property
    def keys(self) -> list[str]:
        """The columns of their keys: workers are sent no others to find codes."""
        return list(dict.fromkeys(book.name for book in self.books))

    def keyed(self, df: DataFrame, *others: str) -> DataFrame:
        """Some `others` of the columns of the DataFrame, or expressions of them, and the keys."""
        return df.selectExpr(*others, *dict.fromkeys(book.expression for book in self.books))

    def codes(self, keys: Sequence[Ints]) -> tuple[Codes, ...]:
        """(rows,) of each book, by the columns of keys (rows,) in their order."""
        of_name = dict(zip(self.keys, keys, strict=True))
        return tuple(book.codes(of_name[book.name]) for book in self.books)

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
    df: DataFrame,
    places: Mapping[str, str],
    spec: Spec,
    requirements: Sequence[Requirement],
    most: int = MOST_VALUES,
    *,
    at_levels: bool = False,
) -> Learned:
    """Counts the values. `df`: its columns by their places; `places`: the place of each name; `most`: how many
    different values the driver takes of a column; `at_levels`: see `table.read.read`.

    Raises DataError for no rows, for a column of more values, for one of numbers that has others,
    and for protected values that do not occur.
    """
    names = [*spec.quasi_identifiers, *spec.sensitive]
    kinds = {name: dict(df.dtypes)[places[name]] for name in names}
    counted = _counted(df, {name: places[name] for name in names}, kinds, most)
    rows = int(counted[names[0]]["count"].sum())
    if not rows:
        raise DataError("no rows: the DataFrame is empty")
    attributes, sensitive = code_distinct(
        spec, {name: frame["value"] for name, frame in counted.items()}, at_levels=at_levels
    )
    columns: list[tuple[Codes, int]] = [(each.codes, each.domain.size) for each in attributes]
    columns += [(each.codes, each.size) for each in sensitive]
    books, counts = [], []
    for name, (codes, size) in zip(names, columns, strict=True):
        frame = counted[name]
        books.append(_book(places[name], kinds[name], frame, codes, size))
        counts.append(np.bincount(codes, frame["count"].to_numpy(), minlength=size).astype(np.int64))
    attributes = tuple(
        replace(each, counts=counted[each.name]["count"].to_numpy().astype(np.int64)) for each in attributes
    )
    learned = Learned(rows, attributes, sensitive, tuple(books), tuple(counts), (), spec.largest_k)
    check_protected(learned.table([a.codes for a in attributes], [s.codes for s in sensitive], 0), requirements)
    return replace(learned, windows=tuple(map(_window, attributes, counts, [learned.largest_k] * len(attributes))))


def _counted(df: DataFrame, places: Mapping[str, str], kinds: Mapping[str, str], most: int) -> dict[str, pl.DataFrame]:
    """The different values of each column, `value`, `count` and, where they are no whole numbers, `key`, in an order
    that does not depend on the engine's. Columns of one type are counted in one job."""
    counted = {}
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name, own in kinds.items() if own == kind]
        key = [] if kind in WHOLE else [f"{hashed_key('value', kind)} as key"]
        of_each = below({places[name]: df.groupBy(places[name]).count() for name in names})
        together = collected(of_each.selectExpr("*", *key).limit(len(names) * (most + 1)))
        for name in names:
            own = together.filter(pl.col(NAME) == places[name]).drop(NAME)
            _check_few(name, len(own), most)
            counted[name] = own.with_columns(pl.col(COUNT).cast(pl.Int64)).sort(VALUE, nulls_last=True)
    return counted


def _check_few(name: str, values: int, most: int) -> None:
    """Raises DataError for a column of more different values than the driver takes."""
    if values > most:
        hint = "round it, or give it a bottom and a top code, before it comes here; or make the release on one machine"
        message = f"column {name!r} has more than {most:,} different values, which is more than the driver takes"
        raise DataError(Problem(message, hint=hint))


def _book(place: str, kind: str, counted: pl.DataFrame, codes: Codes, size: int) -> CodeBook:
    """The codes of a column. `counted`: its different values."""
    if kind in WHOLE:
        key, keys = number_key(place, counted["value"])
    else:
        key, keys = hashed_key(place, kind), counted["key"].to_numpy()
    return CodeBook.of(place, key, keys, codes, size)


def _window(attribute: Attribute, counts: Ints, largest_k: int | None) -> Window | None:
    """The ends of a numeric attribute that may be shown, by the rows of each code."""
    domain = attribute.domain
    if not isinstance(domain, Numeric):
        return None
    numbers = counts[: len(domain.values)]
    return Tails.of_k(largest_k).of_counts(numbers, numbers)
