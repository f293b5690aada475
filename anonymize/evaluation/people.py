"""The people whom attackers know: those of the original, and of a control group that is not in the release.

People held out of the release, where there are some, are read with those of the original as one table, so that a value
that only they have is a value like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Ints
from anonymize.errors import Caution, DataError, Problem, UsageError
from anonymize.reading import as_text
from anonymize.records import dataclass
from anonymize.report.passing import PASSING
from anonymize.spec import Spec
from anonymize.table import Source, Table, read
from anonymize.table.kept import as_released, units_of
from anonymize.table.roles import refuse_lacking
from anonymize.table.source import copied

REPEATED = "every row of the original is there {0} times, or a multiple of that, and rates count rows"
SAME_PEOPLE = "{} of its individuals ({}) are in the original, too: a control group must not be in the release"
ALIKE = (
    "{:.1%} of the control's rows equal a row of one half of the original, drawn at random, and {:.1%} of the other "
    "half do: the control may be about the same people, and what is learned of them is not counted then"
)

SMALL_CONTROL = "the control has {:,} rows and the original {:,}: what is compared with so few has wide intervals"
REPEATED_PEOPLE = (
    "the control's {:,} rows are about {:,} people, or about as many, who are there several times: rates count them as "
    "others, and their intervals are too narrow"
)


@dataclass(frozen=True)
class Known:
    """The original, and behind its rows those of the control. `table` has both, `rows` are of the original alone, of
    which `sha256` is the hash. `remarks`: what makes rates of these people doubtful; `doubt`: that the control may be
    about the same people, or about few, compared with whom nothing can be shown to be within a limit."""

    spec: Spec
    table: Table
    rows: int
    sha256: str
    path: str
    remarks: tuple[Caution, ...] = ()
    doubt: Caution | None = None

    def codes(self) -> Ints:
        """(people, attributes) the codes of the quasi-identifiers, -1 where missing."""
        columns = []
        for attribute in self.table.attributes:
            codes = attribute.codes.astype(np.int64)
            missing = attribute.domain.missing
            columns.append(codes if missing is None else np.where(codes == missing, -1, codes))
        return np.stack([np.zeros(self.table.rows, np.int64), *columns], axis=1)[:, 1:]

    @cached_property
    def texts(self) -> pl.DataFrame:
        """The sensitive attributes, null where missing."""
        return self.columns(list(self.spec.sensitive))

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Columns as text, null where missing."""
        parts = list(self.table.source.batches(names)) if names else []
        whole = as_released(self.spec, pl.concat(parts).lazy()).collect() if parts else pl.DataFrame()
        return whole.select(as_text(column, self.spec, self.table.source.format) for column in whole.iter_columns())

    @property
    def kept(self) -> list[str]:
        """The columns that a release keeps as they are, or sampling weights as it has them."""
        roles = self.spec.roles()
        return [name for name in self.table.columns if roles.get(name) in PASSING]


@contextmanager
def known_people(spec: Spec, path: str | None, control: str | None) -> Iterator[Known]:
    """The original, with the control behind it. Raises DataError for tables that cannot be read or have other
    columns, UsageError for a control of the same people."""
    with Source.open(spec, path) as source:
        if control is None:
            people = of_table(spec, read(spec, source))
            yield replace(people, remarks=repeated(spec, source))
            return
        source.check()
        with with_control(spec, source, control) as people:
            yield people


def of_table(spec: Spec, table: Table) -> Known:
    """The people of a table that has been read."""
    return Known(spec, table, table.rows, table.source.sha256, table.source.name)


@contextmanager
def with_control(spec: Spec, source: Source, control: str) -> Iterator[Known]:
    """The people of a checked original, with those of the control behind them."""
    with Source.open(spec, control) as further:
        further.check()
        small, doubt = _outside(spec, source, further)
        remarks = (*repeated(spec, source), *(each for each in (doubt, small) if each is not None))
        with _together(spec, source, further) as both:
            table = _read_together(spec, both, (source, further))
            yield Known(spec.of_copy(), table, source.rows or 0, source.sha256, source.name, remarks, doubt)


def _read_together(spec: Spec, both: Source, parts: Sequence[Source]) -> Table:
    """The table of all parts. Raises DataError, which names the part and its line."""
    try:
        return read(spec.of_copy(), both)
    except DataError as error:
        for part in parts:
            read(spec, part)
        name = " with ".join(part.name for part in parts)
        raise DataError([Problem(p.message, name, column=p.column, hint=p.hint) for p in error.problems]) from None


def repeated(spec: Spec, source: Source) -> tuple[Caution, ...]:
    """That every row of a checked table is there several times, where no `unit` says whom rows are about: then several
    may be about one individual, and the chance of picking the right one of them says nothing."""
    if spec.unit is not None:
        return ()
    times = math.gcd(*row_keys(source).value_counts()["count"].to_list())
    column = "if these are about one individual, name the column that says so: `unit: COLUMN`"
    return (Caution.of(REPEATED.format(times), column),) if times > 1 else ()


def row_keys(source: Source) -> pl.Series:
    """(rows,) a number of 64 bits for each row, equal where all columns read alike."""
    parts = source.batches(sorted(source.columns))
    hashed = [part.select(pl.all().cast(pl.String)).hash_rows(0) for part in parts]
    return pl.concat(hashed) if hashed else pl.Series(dtype=pl.UInt64)


def _outside(spec: Spec, source: Source, control: Source) -> tuple[Caution | None, Caution | None]:
    """What there is to say of a control: that it is small; and that its rows equal those of a half of the original more
    often than the other half does, or are about few people. Raises UsageError where it is about the same people:
    nothing would be an excess."""
    if source.sha256 == control.sha256:
        raise UsageError(Problem("is the original itself, whose people are in the release", file=control.name))
    rows, others = row_keys(source), row_keys(control)
    people, of_original = _different(rows, others), len(rows)
    if spec.unit is not None and spec.unit in control.columns and spec.unit in source.columns:
        own, theirs = (
            units_of(each.scan(), spec.unit, spec.missing(each.format)).drop_nulls().unique()
            for each in (source, control)
        )
        both = int(theirs.is_in(own.implode()).sum())
        if both:
            raise UsageError(Problem(SAME_PEOPLE.format(both, spec.unit), file=control.name))
        people, of_original = len(theirs), len(own)
    more = "hold out a quarter of the people or more"
    if len(others) * 10 < len(rows):
        return Caution.of(SMALL_CONTROL.format(len(others), len(rows)), more), _alike(rows, others)
    few = Caution.of(REPEATED_PEOPLE.format(len(others), people), more) if people * 10 < of_original else None
    return None, _alike(rows, others) or few


def _alike(rows: pl.Series, others: pl.Series) -> Caution | None:
    """That rows of a control equal those of a half of the original more often than the other half does."""
    drawn = rows.shuffle(seed=0)
    half = len(drawn) // 2
    share, among = (
        float(each.is_in(drawn[:half].implode()).mean() or 0.0)  # type: ignore[arg-type]
        for each in (others, drawn[half:])
    )
    spread = math.sqrt(among * (1 - among) / max(len(others), 1) + among * (1 - among) / max(len(drawn) - half, 1))
    others_only = "take a `--control` of people who are not in the original"
    return Caution.of(ALIKE.format(share, among), others_only) if share > among + 3 * spread else None


def _different(rows: pl.Series, others: pl.Series) -> int:
    """About how many people a control has that does not say whom its rows are about, up to as many as the original has
    rows: its different rows, each as often as rows recur among as many of the original."""
    many = min(len(rows), len(others))
    own, theirs = (each.shuffle(seed=0)[:many].n_unique() for each in (rows, others))
    return min(many, round(theirs * many / max(own, 1)))


@contextmanager
def _together(spec: Spec, source: Source, further: Source) -> Iterator[Source]:
    """Both tables as one file that nobody else can read, and that is gone afterwards."""
    names = source.columns
    refuse_lacking(names, further.columns, further.name)
    if (source.format == "csv") != (further.format == "csv"):
        raise DataError(
            Problem("has another format than the original: both must be CSV, or neither", file=further.name)
        )
    try:
        both = pl.concat([*source.batches(names), *further.batches(names)], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise DataError(Problem("has columns with other types than the original", file=further.name)) from None
    with copied(both.lazy(), source) as path, Source.open(spec.of_copy(), path) as opened:
        yield opened
