"""Date shifting: all dates of a person move by the same number of days, which a key decides.

What it does. The columns under `by` identify a person. The HMAC-SHA-256 of their cells, under the secret key of
`--key`, chooses a number of days from 1 to `days`, and whether dates move forward or back by it; it is never 0. All
dates of the person, in all columns of the step, move by it; times of day stay. Missing dates stay.

What it guarantees. The days between any two dates of one person, their order and their times of day are exact: this is
measured in the written file. A date moves by at most `days`. Without the key, nobody can find out by how many days a
person's dates were shifted: no file contains it.

What it does not. A person's dates all move together: an attacker who knows one of them knows the others, and unusual
intervals are as recognizable as before. `days` is published: a shifted date reveals the true one to within that many
days. Weekdays, seasons and holidays move; ages change by up to `days`. The method has no epsilon, and one real date in
an unshifted column undoes it.

With the same key a person gets the same number of days in every file: tables can be linked, and an attacker cannot
average the shift out over several releases. A key that becomes known undoes it for everyone in any of the files: the
number follows from the key and the cells that identify the person, which have to be written the same in all tables.

What else it discloses. The manifest contains `days`.

Cost. One HMAC for each person, and one text for each different date.

Reference. Hripcsak, Mirhaji, Low, Malin: Preserving temporal relations in clinical data while maintaining privacy,
JAMIA 23(6), 2016; Krawczyk, Bellare, Canetti: HMAC, RFC 2104, 1997.
"""

from __future__ import annotations

import hmac

import numpy as np
import polars as pl

from anonymize.classes import Bools, Ints
from anonymize.errors import DataError, Problem, UsageError
from anonymize.spec.treatments import DateShift
from anonymize.table.encode import is_text
from anonymize.table.kept import KeptColumn
from anonymize.table.named import unnamed
from anonymize.treatments import Change, InputColumn, Step, wrong_rows

ID = "date-shift"
DAY = 86_400_000_000
"""Microseconds."""
YEARS = (-62_135_596_800_000_000, 253_402_300_800_000_000)
"""From the first microsecond of the year 1 to behind the last one of 9999, since 1970: what has four digits."""


def run(entry: DateShift, step: Step) -> Change:
    """The columns with their dates moved. Raises UsageError without a key, DataError for cells that are no dates, and
    for dates of nobody."""
    if step.key is None:
        raise UsageError(Problem("date-shift needs --key", hint="`anonymize key make shift.key` makes one"))
    columns = [step.columns[name] for name in entry.columns]
    dated: Bools = np.logical_or.reduce([~column.missing for column in columns])
    people = [step.columns[name] for name in entry.by]
    for column in people:
        nobody = np.flatnonzero(column.missing & dated)
        if len(nobody):
            raise wrong_rows(column, nobody, "a date without whose it is", "leave such rows out before")
    persons = step.parts(entry.by)
    first = np.unique(persons, return_index=True)[1]
    days = _offsets(step.key, entry.days, people, first)[persons]
    changed = {column.name: _shifted(column, days, entry.format) for column in columns}
    return Change(changed, {"days": entry.days, "by": list(entry.by)})


def _offsets(key: bytes, most: int, people: list[InputColumn], rows: Ints) -> Ints:
    """(rows,) the days by which the persons of some rows are moved: from -most to most, and never 0."""
    texts = [column.series.gather(rows).cast(pl.String).fill_null("").to_list() for column in people]
    offsets = np.empty(len(rows), np.int64)
    for place, cells in enumerate(zip(*texts, strict=True)):
        person = b"".join(len(each).to_bytes(8, "big") + each for each in (cell.encode() for cell in cells))
        drawn = int.from_bytes(hmac.digest(key, person, "sha256")[:16], "big") % (2 * most)
        offsets[place] = drawn - most if drawn < most else drawn - most + 1
    return offsets


def _shifted(column: InputColumn, days: Ints, form: str) -> KeptColumn:
    kept, present, dtype = column.kept, np.flatnonzero(~column.missing), column.field.dtype
    textual = is_text(dtype)
    if not textual and not (dtype == pl.Date or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None)):
        message = f"column {column.name!r}: no dates, or dates with a time zone, in the input's own type"
        raise DataError(Problem(message, column.source.name, hint="text in the `format` of the step"))
    moments, wrong = _moments(kept.cells, form if textual else None)
    own = kept.codes[present]
    if wrong[own].any():
        hint = "`format` says how dates are written, and `input: {missing: [...]}` what is none"
        raise wrong_rows(column, present[wrong[own]], f"no date in the format {form}", hint)
    moved = moments[own] + days[present] * DAY
    beyond = (moved < YEARS[0]) | (moved >= YEARS[1])
    if beyond.any():
        raise wrong_rows(column, present[beyond], "a date that would leave the years from 1 to 9999")
    values, inverse = np.unique(moved, return_inverse=True)
    moments_after = pl.Series(values, dtype=pl.Int64).cast(pl.Datetime("us"))
    places = np.full(len(days), -1)
    places[present] = inverse
    return column.with_cells(moments_after.dt.strftime(form) if textual else moments_after.cast(dtype), places)


def _moments(cells: pl.Series, form: str | None) -> tuple[Ints, Bools]:
    """(cells,) the microseconds of each since 1970, and whether a cell is none that is written in the format. `form`:
    None for a typed column."""
    named = unnamed(cells)
    if form is None:
        parsed = named.cast(pl.Datetime("us"))
    else:
        text = named.cast(pl.String)
        parsed = text.str.strptime(pl.Datetime("us"), form, strict=False)
        again = parsed.dt.strftime(form)
        parsed = pl.select(pl.when(again == text).then(parsed)).to_series()
    return parsed.cast(pl.Int64).fill_null(0).to_numpy(), parsed.is_null().to_numpy()
