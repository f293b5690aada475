"""What the driver learns of a DataFrame: the values of each column that counts, as whole numbers; how many rows have
each; and its distinct rows, the frequency set, in one aggregation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonymize.classes import Codes, Ints
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError, Problem
from anonymize.judging import check_protected
from anonymize.privacy import Requirement
from anonymize.recoding.spans import Tails, Window
from anonymize.records import dataclass
from anonymize.spark.engine import WHOLE, DataFrame, Tables, collected, mapped, read_otherwise
from anonymize.spark.measured import COUNT, NAME, VALUE, below
from anonymize.spec import Spec
from anonymize.table import Attribute, SensitiveColumn, Table, encode
from anonymize.table.read import code_distinct

if TYPE_CHECKING:
    from anonymize.table import Source


# --- values as whole numbers ------------------------------------------------------------------------------------------
# The values of a column as whole numbers: keys, by which an engine hands rows to workers, and codes, by which these
# work on them.
#
# A number crosses the border between the JVM and a worker for a fraction of what a text takes, so that workers are sent
# whole numbers as they are and hashes of all other values. What a hash stands for is known from the different values,
# which come to the driver with theirs.

WIDEST = 1 << 22
"""How far it may be from the least to the most of keys for each to have a place in a table of codes, which takes a
fraction of the time of looking them up."""
HASHED = frozenset({"string", "boolean", "date", "timestamp", "timestamp_ntz", "float", "double"})
"""Types, in addition to decimals, of which every engine makes a hash; of others it is that of their text."""


def hashed_key(column: str, kind: str) -> str:
    """An expression: the key of the values of a column that are no whole numbers, nulls among them. `kind`: its type,
    as `DataFrame.dtypes` has it."""
    direct = kind in HASHED or kind.startswith("decimal")
    return f"xxhash64({column if direct else f'cast({column} as string)'})"


def number_key(column: str, known: pl.Series) -> tuple[str, Ints]:
    """The key of whole numbers, which are their own keys, and (n,) the keys of the different values. A null gets a
    number that is free, next to the others where there is one."""
    numbers = known.cast(pl.Int64)
    present = numbers.drop_nulls().to_numpy()
    nothing = (int(present.min()) if len(present) else 0) - 1
    if nothing < -(2**63):
        taken = set(present.tolist())
        nothing = next(number for number in count(nothing + 1) if number not in taken)
    return f"coalesce(cast({column} as bigint), cast('{nothing}' as bigint))", numbers.fill_null(nothing).to_numpy()


@dataclass(frozen=True)
class CodeBook:
    """The codes of the values of a column, by its place.

    `key`: the expression by which the engine makes the keys that workers are sent. `keys` (n,): of the different
    values, ascending; `own` (n,): the code of each; `size`: what codes are below.
    """

    column: str
    key: str
    keys: Ints
    own: Codes
    size: int

    @classmethod
    def of(cls, column: str, key: str, keys: Ints, codes: Codes, size: int) -> CodeBook:
        """The codes of a column. Raises DataError where two values with different codes have the same key."""
        different, first, which = np.unique(keys, return_index=True, return_inverse=True)
        own = codes[first].astype(encode.code_type(size), copy=False)
        if (own[which] != codes).any():
            hint = "make the release on one machine, or change one of the two values slightly"
            raise DataError(Problem("two values of a column have the same hash of 64 bits", hint=hint))
        return cls(column, key, different, own, size)

    @property
    def name(self) -> str:
        """The column of keys."""
        return f"k{self.column}"

    @property
    def expression(self) -> str:
        """What the engine makes the column of keys by."""
        return f"{self.key} as {self.name}"

    def codes(self, keys: Ints) -> Codes:
        """(n,) of some rows, by their keys. Raises DataError for a value that was not there when values were
        counted."""
        if not len(keys):
            return self.own[:0]
        least, most = int(self.keys[0]), int(self.keys[-1])
        if keys.min() < least or keys.max() > most:
            raise read_otherwise()
        places = self._table[keys - least] if most - least <= WIDEST else self._places(keys)
        if (places < 0).any():
            raise read_otherwise()
        return np.asarray(self.own[places])

    @cached_property
    def _table(self) -> Ints:
        """The place of each key, from the least to the most; -1: no value has it."""
        table = np.full(int(self.keys[-1]) - int(self.keys[0]) + 1, -1, np.int64)
        table[self.keys - self.keys[0]] = np.arange(len(self.keys))
        return table

    def _places(self, keys: Ints) -> Ints:
        """The place of each of some keys; -1: it is none of these."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return np.asarray(pc.index_in(pa.array(keys), pa.array(self.keys)).fill_null(-1).to_numpy())


# --- columns ----------------------------------------------------------------------------------------------------------
# One aggregation for each quasi-identifier and each sensitive attribute, those of one type in one job; no row comes to
# the driver.

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
        """Some rows as a table that is judged as part of the whole DataFrame."""
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


# --- distinct rows ----------------------------------------------------------------------------------------------------
# A DataFrame as a table of its distinct rows, each of which stands for several: the frequency set, in one aggregation.
#
# A search that looks at combinations of values, and at no row by itself, finds on this table what it finds on all rows.

MOST_COMBINATIONS = 2_000_000
"""Different combinations of values that the driver takes, and hands to every worker."""
ROWS = "n"
"""How many rows have a combination."""


def distinct_rows(
    rows: DataFrame,
    learned: Learned,
    looked_at: Sequence[str | None],
    most: int,
    taken_as: Mapping[int, Codes] = MappingProxyType({}),
) -> Table:
    """The combinations of the quasi-identifiers with the sensitive attributes that are `looked_at`, as a table whose
    attributes have `counts`. Of other sensitive attributes it has the first code alone. `taken_as`: of a
    quasi-identifier, by its place, (size,) the code that each is counted as.

    Raises DataError for more than `most` combinations.
    """
    count = len(learned.attributes)
    wanted = [place for place, column in enumerate(learned.sensitive) if column.name in looked_at]
    columns = [*range(count), *(count + place for place in wanted)]
    frame = _combinations(rows, learned, columns, most, dict(taken_as))
    counts = frame[ROWS].to_numpy().astype(np.int64)
    kinds = {place: encode.code_type(learned.sizes[place]) for place in columns}
    codes: dict[int, Codes] = {place: frame[f"b{place}"].to_numpy().astype(kind) for place, kind in kinds.items()}
    none: Codes = np.zeros(len(frame), np.uint8)
    sensitive = [codes.get(count + place, none) for place in range(len(learned.sensitive))]
    table = learned.table([codes[place] for place in range(count)], sensitive, len(frame))
    return replace(table, attributes=tuple(replace(each, counts=counts) for each in table.attributes))


def _combinations(
    rows: DataFrame, learned: Learned, columns: Sequence[int], most: int, taken_as: Mapping[int, Codes]
) -> pl.DataFrame:
    """How many rows (`ROWS`) have each combination of codes of some columns, in an order that is not the engine's."""
    names = [f"b{place}" for place in columns]
    work = partial(_count, [(learned.books[place], taken_as.get(place)) for place in columns], names)
    counted = (
        mapped(learned.keyed(rows), work, {**dict.fromkeys(names, "int"), ROWS: "long"})
        .groupBy(*names)
        .agg({ROWS: "sum"})
    )
    frame = collected(counted.limit(most + 1)).rename({f"sum({ROWS})": ROWS})
    if len(frame) > most:
        message = f"there are more than {most:,} different combinations of values, which is more than the driver takes"
        hint = "round numbers, or take coarser values before they come here; mondrian needs no combinations"
        raise DataError(Problem(message, hint=hint))
    return frame.sort(names)


def _count(
    books: Sequence[tuple[CodeBook, Codes | None]], names: Sequence[str], tables: Tables
) -> Iterator[pl.DataFrame]:
    """The combinations of one partition of the rows."""
    counted = []
    for rows in tables:
        known = ((book.codes(rows[book.name].to_numpy()), taken) for book, taken in books)
        own = (codes if taken is None else taken[codes] for codes, taken in known)
        frame = pl.DataFrame([pl.Series(name, each) for name, each in zip(names, own, strict=True)])
        counted.append(frame.group_by(names).agg(pl.len().cast(pl.Int64).alias(ROWS)))
    if counted:
        yield pl.concat(counted).group_by(names).agg(pl.col(ROWS).sum()).select(*names, ROWS)
