"""Counts get noise that depends only on who is counted, so that a group shows the same count in every table.

Guarantees: No count is off by more than `maximum`, none is negative, and none lies between 1 and `smallest`. The same
individuals show the same count wherever they are counted: asking again, or in another table, reveals nothing more.
Noise has mean 0 and at most the declared variance. An empty group shows 0.

How: Every individual has a record key, drawn once. A cell's key is the sum of the keys of the individuals in it, modulo
their range. The perturbation table gives the change for a count with that key. Its probabilities have the highest
entropy among all with mean 0 and at most the declared variance, over the changes that lead to an allowed count; if a
table is given, its own probabilities are used.

Record keys: With --key they are the first four bytes of an HMAC-SHA256 under that key. It is computed from the `unit`,
or else from the whole row and its number among identical rows. Record keys are therefore the same in every run with the
same key, and anyone who has the key can undo the noise. Alternatively `cell_keys.record_key` names a column of record
keys: fractions from 0 to below 1, or whole numbers if a table of cell keys is given.

Individuals: With a `unit`, individuals are counted, each once in a group; with `counted: rows`, their rows are. Either
way a record key belongs to an individual.

Totals: They are changed separately, and are not the sums of the groups below them. Shares are of changed counts.

Table: A CSV with the columns `i`, `v` and `p` (a count, a change, its probability; the largest `i` stands for all
larger ones), as in R's ptable, or `pcv`, `ckey` and `pvalue`, as used by the UK's Office for National Statistics: there
counts beyond the largest `pcv` use the last 250 in turn.

Does not bound: An attacker who sees many groups that add up can average noise away, or find that only one true count is
possible: the noise is bounded, and a change of `maximum` reveals the count. A group that everybody knows to have one
individual shows 0 or more than `smallest`; that somebody is in it is not a secret.

Sums and means: They are refused (2). Noise of a fixed size hides no large contribution: it would have to grow with the
largest contributions of each group, and a table of parameters for that is not available. `suppression` protects sums by
the size of contributions, and `dp` adds noise by the most that one individual may contribute.

Reference: B. Fraser, J. Wooton, A proposed method for confidentialising tabular output to protect against differencing,
UNECE/Eurostat work session 2006. J. Marley, V. Leaver, A method for confidentialising user-defined tables, ISI 2011. G.
Thompson, S. Broadfoot, D. Elazar, Methodology for the automatic confidentialisation of statistical outputs, UNECE 2013.
S. Giessing, Computational issues in the design of transition probabilities, PSD 2016.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.errors import DataError, Problem, SpecError, UsageError
from anonymize.records import dataclass
from anonymize.spec import Spec, tabulation
from anonymize.table import Source, Table, encode
from anonymize.tabulating.cells import Bools, Floats, Ints, TableGrid
from anonymize.tabulating.counting import CellValues, count, key_sums, numbers_of
from anonymize.tabulating.written import Charging, ShownTable, Tabulated, ratios, rounded_table

ID: tabulation.Mechanism = "cell-keys"
MODULUS = 1 << 32
"""The range of record keys that are made."""
_HALVINGS = 80
_STEEPEST = 60.0
_LOOP = 250
"""So many of the last rows of a table of cell keys stand in turn for all larger counts."""


# --- the perturbation table -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PerturbationTable:
    """What a count is changed by. `changes` (counts, columns): of each count from 0 on the changes by the place of its
    cell key; `ends` (counts, columns): up to where, as a share of the range of keys, each of them goes, None where the
    cell key itself is the place; `loop`: how many of the last rows stand in turn for larger counts."""

    changes: Ints
    ends: Floats | None
    loop: int = 1

    @property
    def keys(self) -> int | None:
        """The range of the cell keys that are places themselves."""
        return self.changes.shape[1] if self.ends is None else None

    def row_of(self, counts: Ints) -> Ints:
        last = len(self.changes) - 1
        return np.where(counts <= last, counts, (counts - 1) % self.loop + last - self.loop + 1)

    def change(self, counts: Ints, keys: Ints, modulus: int) -> Ints:
        """(cells,) what each count is changed by; `keys`: the cell keys, below `modulus`."""
        rows = self.row_of(counts)
        if self.ends is None:
            return np.asarray(self.changes[rows, keys])
        place = (self.ends[rows] <= (keys / modulus)[:, None]).sum(axis=1)
        return np.asarray(self.changes[rows, np.minimum(place, self.changes.shape[1] - 1)])


@cache
def most_entropy(maximum: int, variance: float, smallest: int) -> PerturbationTable:
    """The table of these parameters. Raises UsageError where no noise of so small a variance avoids small counts."""
    rows = [_row(size, maximum, variance, smallest) for size in range(maximum + smallest + 2)]
    changes = np.tile(np.arange(-maximum, maximum + 1), (len(rows), 1))
    return PerturbationTable(changes, np.cumsum(np.array(rows), axis=1))


def _row(size: int, maximum: int, variance: float, smallest: int) -> Floats:
    """(2 maximum + 1,) the probabilities of the changes of a count, from -maximum on."""
    changes = np.arange(-maximum, maximum + 1)
    after = size + changes
    open_ = (after == 0) | (after > smallest) if size else changes == 0
    open_ &= after >= 0
    allowed = changes[open_].astype(np.float64)
    below, above = allowed[allowed <= 0], allowed[allowed >= 0]
    least = np.inf if not len(below) or not len(above) else -float(below.max()) * float(above.min())
    if least > variance:
        message = f"tabulate.cell_keys: counts of {size} cannot be changed to 0 or more than {smallest}"
        says = "within the `maximum`" if least == np.inf else f"with a variance below {least:g}"
        hint = "a smaller `smallest`, or a larger `variance` and `maximum`"
        raise UsageError(Problem(f"{message} {says}", hint=hint))

    def fits(curve: float) -> bool:
        return bool(allowed**2 @ _of_mean_zero(allowed, curve) <= variance)

    probabilities = np.zeros(len(changes))
    probabilities[open_] = _of_mean_zero(allowed, 0.0 if fits(0.0) else _largest(fits, -_STEEPEST, 0.0))
    return probabilities


def _largest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number that fits, of those from low on up to it, by halving."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _of_mean_zero(changes: Floats, curve: float) -> Floats:
    """The probabilities exp(slope x + curve x^2) of mean 0, which have the most entropy of all of that mean and
    variance."""
    steepest = _STEEPEST * (1 + abs(curve))
    slope = _largest(lambda slope: bool(changes @ _tilted(changes, slope, curve) <= 0), -steepest, steepest)
    return _tilted(changes, slope, curve)


def _tilted(changes: Floats, slope: float, curve: float) -> Floats:
    exponents = slope * changes + curve * changes**2
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def read_table(path: Path) -> PerturbationTable:
    """The table of a file. Raises SpecError for what is none."""
    try:
        frame = pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError):
        raise SpecError(Problem("cannot be read as a CSV", str(path))) from None
    names = {name.strip().lower(): name for name in frame.columns}

    def columns(**kinds: type[pl.DataType]) -> pl.DataFrame:
        return frame.select(pl.col(names[name]).cast(kind) for name, kind in kinds.items())

    if {"pcv", "ckey", "pvalue"} <= names.keys():
        return _of_cell_keys(path, columns(pcv=pl.Int64, ckey=pl.Int64, pvalue=pl.Int64))
    if {"i", "v", "p"} <= names.keys():
        return _of_probabilities(path, columns(i=pl.Int64, v=pl.Int64, p=pl.Float64))
    raise SpecError(Problem("has neither the columns i, v, p nor pcv, ckey, pvalue", str(path)))


def _of_probabilities(path: Path, frame: pl.DataFrame) -> PerturbationTable:
    i, v, p = (each.to_numpy() for each in frame.get_columns())
    if not len(i) or i.min() < 0 or len(set(zip(i.tolist(), v.tolist(), strict=True))) < len(i):
        raise SpecError(Problem("has a count and change twice, or a count below 0", str(path)))
    most = int(np.abs(v).max())
    shares = np.zeros((int(i.max()) + 1, 2 * most + 1))
    shares[i, v + most] = p
    if 0 not in i:
        shares[0, most] = 1.0
    _check_counts(path, np.asarray(shares.sum(axis=1) > 0), bool((p[(i + v) < 0] > 0).any()))
    if (p < 0).any() or not np.allclose(shares.sum(axis=1), 1, atol=1e-6):
        raise SpecError(Problem("probabilities of a count are below 0, or do not sum to 1", str(path)))
    changes = np.tile(np.arange(-most, most + 1), (len(shares), 1))
    return PerturbationTable(changes, np.cumsum(shares, axis=1))


def _of_cell_keys(path: Path, frame: pl.DataFrame) -> PerturbationTable:
    counts, keys, changes = (each.to_numpy() for each in frame.get_columns())
    size, span = int(counts.max(initial=0)) + 1, int(keys.max(initial=0)) + 1
    table, known = np.zeros((size, span), np.int64), np.zeros((size, span), np.bool_)
    known[0] = True
    table[counts, keys], known[counts, keys] = changes, True
    _check_counts(path, np.asarray(known.all(axis=1)), bool((counts + changes < 0).any()))
    return PerturbationTable(table, None, min(_LOOP, size - 1))


def _check_counts(path: Path, known: Bools, negative: bool) -> None:
    """Raises SpecError for a table without some of the counts, or by which one becomes negative."""
    if lacking := [str(each) for each in np.flatnonzero(~known)[:5]]:
        raise SpecError(Problem(f"does not say how counts of {', '.join(lacking)} are changed", str(path)))
    if negative:
        raise SpecError(Problem("changes a count to one below 0", str(path)))


# --- record keys ------------------------------------------------------------------------------------------------------


def made_keys(texts: Iterable[Sequence[str | None]], secret: bytes) -> Ints:
    """The record key of each individual or row, from the texts that say which it is."""
    messages = (json.dumps(list(each), ensure_ascii=False, separators=(",", ":")).encode() for each in texts)
    digests = (hmac.digest(secret, message, hashlib.sha256)[:4] for message in messages)
    return np.array([int.from_bytes(each, "big") for each in digests], np.int64)


def _identities(spec: Spec, source: Source) -> Iterator[Sequence[str | None]]:
    """By row, what says whom it is about: the `unit`, or all of the row and which of its like it is."""
    names = list(source.columns) if spec.unit is None else [spec.unit]
    fields = [encode.Field(name, source.schema[name], spec.missing(source.format, name)) for name in names]
    frame = source.scan().select(each.text_compared.alias(str(place)) for place, each in enumerate(fields)).collect()
    if spec.unit is not None:
        missing = fields[0].missing
        yield from ((None if text is None else missing.compared(text),) for text in frame.to_series())
        return
    like = frame.with_columns(pl.int_range(pl.len()).over(frame.columns).cast(pl.String).alias("like"))
    yield from like.iter_rows()


def _column_keys(table: Table, spec: Spec, name: str, span: int | None) -> tuple[Ints, int]:
    """The record keys of a column, and their range: `span`, where that is the table's. Raises DataError for what is no
    record key."""
    text = encode.Field(name, table.source.schema[name], spec.missing("csv", name)).text
    texts = table.source.scan().select(text.alias("key")).collect().to_series().cast(pl.String)
    numbers = texts.cast(pl.Float64, strict=False)
    digits = max(0, *(len(text.partition(".")[2]) for text in texts.drop_nulls().unique().to_list()))
    power = 1 if span is not None else 10 ** min(digits, 12)
    keys = numbers.fill_null(-1).to_numpy() * power
    wrong = numbers.is_null().to_numpy() | (keys < 0) | (keys >= (power if span is None else span))
    wrong |= np.abs(keys - np.rint(keys)) > 1e-3
    if wrong.any():
        range_ = "a number from 0 to below 1" if span is None else f"a whole number from 0 to {span - 1}"
        message = f"column {name!r} has {int(wrong.sum())} record keys that are not {range_}"
        raise DataError(Problem(message, table.source.name))
    return np.rint(keys).astype(np.int64), power if span is None else span


def record_keys(
    spec: Spec, noise: tabulation.CellKeyNoise, table: Table, secret: bytes | None, span: int | None
) -> tuple[Ints, int]:
    """(rows,) the record key of whom each row is about, and the range of keys.

    Raises UsageError where there is neither a key nor a column, or both.
    """
    if noise.record_key is not None:
        if secret is not None:
            raise UsageError("--key: record keys are in the column that `tabulate.cell_keys.record_key` names")
        return _column_keys(table, spec, noise.record_key, span)
    if secret is None:
        hint = "`anonymize key make KEY` makes one; or name a column as tabulate.cell_keys.record_key"
        raise UsageError(Problem("cell keys need --key", hint=hint))
    keys = made_keys(_identities(spec, table.source), secret)
    return (keys, MODULUS) if span is None else (keys % span, span)


def _of_units(keys: Ints, units: NDArray[np.integer] | None) -> Ints:
    """(rows,) the same key in all rows of one individual, whose texts may differ in how they are written: the least."""
    if units is None:
        return keys
    least = np.full(int(units.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, units, keys)
    return np.asarray(least[units])


# --- the tables -------------------------------------------------------------------------------------------------------


def check(spec: Spec, tabulate: tabulation.Tabulation, of: tuple[TableGrid, Table] | None) -> None:
    """Raises what `run` raises but for the key. `of`: the table and its groups; None: the spec alone is judged."""
    perturbation, column = _perturbation(tabulate.noise), tabulate.noise.record_key
    if of is not None and column is not None:
        _column_keys(of[1], spec, column, perturbation.keys)


def _perturbation(noise: tabulation.CellKeyNoise) -> PerturbationTable:
    """What counts are changed by. Raises what is wrong with the table, or with the parameters."""
    if noise.table is not None:
        return read_table(noise.table)
    return most_entropy(noise.maximum, noise.variance, noise.smallest)


def run(
    spec: Spec, tabulate: tabulation.Tabulation, grid: TableGrid, table: Table, secret: bytes | None, charge: Charging
) -> Tabulated:
    """The tables of a run, with changed counts."""
    noise = tabulate.noise
    perturbation, groups = _perturbation(noise), [each.by for each in tabulate.tables]
    keys, modulus = record_keys(spec, noise, table, secret, perturbation.keys)
    values = count(grid, groups, numbers_of(table, None), table.units, 1, once=tabulate.once(spec.unit))
    cell_keys = key_sums(grid, groups, values.cells, _of_units(keys, table.units), table.units) % modulus
    true = np.rint(values.value).astype(np.int64)
    change = np.where(true > 0, perturbation.change(true, cell_keys, modulus), 0)
    changed = true + change
    tables = tuple(rounded_table(_table(grid, each, values, changed), tabulate.digits) for each in tabulate.tables)
    details: dict[str, Any] = {"additive": False}
    if noise.table is None:
        details |= {"maximum": noise.maximum, "variance": noise.variance, "smallest": noise.smallest}
    moved = change[true > 0] if (true > 0).any() else np.zeros(1)
    private = {"changed": float((moved != 0).mean()), "mean": float(moved.mean())}
    return Tabulated(tables, details, private)


def _table(grid: TableGrid, measured: tabulation.TabulatedMeasure, values: CellValues, changed: Ints) -> ShownTable:
    """A table of changed counts, or of shares of the changed total."""
    own = changed[values.places(grid.cells(measured.by).ravel())]
    if measured.measure == "count":
        return ShownTable(measured, own.tolist())
    whole = float(changed[values.places(np.array([grid.whole]))][0])
    return ShownTable(measured, ratios(own.astype(np.float64), whole))
