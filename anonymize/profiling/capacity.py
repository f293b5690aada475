"""What anonymity is up against in a table: what columns give away together, and the loss of a quick Mondrian for
several k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize import files
from anonymize.algorithms import ALGORITHMS, Context
from anonymize.errors import AnonymizeError, WriteError
from anonymize.privacy import requirements
from anonymize.profiling.measure import Hashes, Pieces
from anonymize.recoding import Recoding
from anonymize.records import dataclass
from anonymize.spec import Spec, override
from anonymize.table import Source, named, read
from anonymize.table.files import spooled

# --- columns together -------------------------------------------------------------------------------------------------
# How many rows are alone with what they say in several columns, by hashes of these that are mixed into one.

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
COLUMNS_SHOWN = 4
"""So many columns are in the largest set that is shown."""
ROWS_SORTED = 12_000_000
"""So many rows are sorted, of all sets together; but three columns are tried in any case."""
BLOCK = 1 << 15
"""So many rows at a time are mixed: what fits into a processor's cache."""


@dataclass(frozen=True)
class Singled:
    """A set of columns, and the share of the rows that are alone in it."""

    columns: tuple[str, ...]
    share: float


def together(hashes: Mapping[str, Pieces], columns: Sequence[str], *further: Sequence[str]) -> tuple[float, ...]:
    """The share of the rows that are alone with what they say in some columns; in these and the first of further ones;
    and so on."""
    mixed = _mixed([hashes[name] for name in columns])
    shares = [_alone(mixed)]
    for more in further:
        mixed = _mixed([hashes[name] for name in more], mixed) if more else mixed
        shares.append(_alone(mixed) if more else shares[-1])
    return tuple(shares)


def growing(hashes: Mapping[str, Pieces], columns: Sequence[str]) -> list[Singled]:
    """Sets of one column, two, and more, each the one before and the column with which most rows are alone;
    sets with which no more are than with the one before are left out.

    Where there are many columns, the first are tried, as many as `ROWS_SORTED` allows.
    """
    sets: list[Singled] = []
    chosen: list[str] = []
    mixed: Pieces | None = None
    rows = max(sum(map(len, hashes[columns[0]])), 1) if columns else 1
    left = list(columns[: min(max(ROWS_SORTED // rows // COLUMNS_SHOWN, 3), 12)])
    while left and len(chosen) < COLUMNS_SHOWN and (not sets or sets[-1].share < 0.9):
        tried = {name: _mixed([hashes[name]], mixed) for name in left}
        shares = {name: _alone(each) for name, each in tried.items()}
        best = max(left, key=lambda name: shares[name])
        chosen.append(best)
        left.remove(best)
        mixed = tried[best]
        sets.append(Singled(tuple(chosen), shares[best]))
    return [each for before, each in zip([None, *sets], sets, strict=False) if not before or each.share > before.share]


def constant_within(hashes: Mapping[str, Pieces], by: str, columns: Sequence[str]) -> tuple[list[str], bool]:
    """The columns that say the same in all rows with one value of `by`; and whether such rows follow each other."""
    keys = np.concatenate(hashes[by])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    alike = ordered[1:] == ordered[:-1]
    together_in_file = np.count_nonzero(keys[1:] != keys[:-1]) == np.count_nonzero(~alike)
    constant = []
    for name in columns:
        values = np.concatenate(hashes[name])[order]
        if not (alike & (values[1:] != values[:-1])).any():
            constant.append(name)
    return constant, bool(together_in_file)


def _mixed(columns: Sequence[Pieces], before: Pieces | None = None) -> Pieces:
    """One hash of several for each row, and of those `before` them; the order of columns counts, so that two equal
    columns do not cancel."""
    first = [np.zeros_like(piece) for piece in columns[0]] if before is None else [piece.copy() for piece in before]
    for number, mixed in enumerate(first):
        for start in range(0, len(mixed), BLOCK):
            block = mixed[start : start + BLOCK]
            for each in columns:
                block ^= each[number][start : start + BLOCK]
                block *= _ODD
                block ^= block >> _SHIFT
    return first


def _alone(hashes: Pieces) -> float:
    """The share of values that stand once: those that differ from both neighbours in order."""
    ordered: Hashes = np.concatenate(hashes)
    ordered.sort()
    changes = np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))
    return float((changes[1:] & changes[:-1]).sum() / max(len(ordered), 1))


# --- the loss for several k -------------------------------------------------------------------------------------------
# A sample loses more than the table that it is of, so that the figures of one are bounds.

KS = (3, 5, 10, 20)
"""The k that are tried; of a sample, which a larger table stands behind, those from `LEAST` on."""
USUAL_K = 5
"""The k that is proposed where no larger one is cheap, if there are so many rows."""
NO_LESS = 2
"""What k is at least: one hides nobody. A table that cannot have that cannot be released."""
CHEAP = 0.25
"""The gcp up to which a larger k is proposed."""


@dataclass(frozen=True)
class LossAtK:
    """What k costs: the share of the quasi-identifiers' precision that is lost."""

    k: int
    gcp: float


def costs(spec: Spec, sample: pl.DataFrame, ks: Sequence[int] = KS) -> list[LossAtK]:
    """The cost of each k that the rows allow. Raises what `read` raises where the spec does not fit the rows.

    `sample`: rows as text, of which the quasi-identifiers are read with their hierarchies, and the unit; nothing else.
    """
    rest: dict[str, Any] = {"identifiers": (), "sensitive": {}, "insensitive": (), "undecided": (), "others": "error"}
    rest |= {"sampling_weight": None}
    reduced = spec.reading(path=None, encoding="utf8", header=True, separator=",").model_copy(update=rest)
    sampled = sample.select(named.column(name) for name in [*spec.quasi_identifiers, *filter(None, [spec.unit])])
    with _as_file(sampled) as path, Source.open(reduced, path) as source:
        table = read(reduced, source)
    algorithm, costs_by_k = ALGORITHMS["mondrian"], []
    for k in [k for k in ks if k <= table.rows] or ([NO_LESS] if table.rows >= NO_LESS else []):
        required = requirements(override(reduced, k=k))
        result = algorithm.run(table, required, algorithm.Options(), Context(threads=1))
        assert isinstance(result, Recoding)
        sizes = result.partition.sizes
        lost = sum(
            float(attribute.domain.cost(*result.partition.boxes(attribute.codes)) @ sizes)
            for attribute in table.attributes
        )
        suppressed = len(result.suppressed) * len(table.attributes)
        costs_by_k.append(LossAtK(k, (lost + suppressed) / (table.rows * len(table.attributes))))
    return costs_by_k


def proposed(costs_by_k: Sequence[LossAtK], rows: int) -> int:
    """The largest k that is cheap; where none of `LEAST` or more is, or none was tried, that, or what `rows` allow, and
    `NO_LESS` at least."""
    cheap = [cost.k for cost in costs_by_k if cost.gcp <= CHEAP and cost.k >= USUAL_K]
    tried_most = max((cost.k for cost in costs_by_k), default=rows)
    return max(cheap) if cheap else max(min(tried_most, USUAL_K), NO_LESS)


@contextmanager
def _as_file(sample: pl.DataFrame) -> Iterator[Path]:
    """The rows as a CSV that nobody else can read and that has no name, where the system allows it."""
    path = spooled(sample.write_csv, ".csv")
    try:
        yield path
    finally:
        files.remove(path)


def tried(spec: Spec, sample: pl.DataFrame, *, whole: bool = True) -> list[LossAtK]:
    """The costs; none where the rows do not fit the spec, which a sample, being not the `whole` table, may not."""
    try:
        return costs(spec, sample, KS if whole else [k for k in KS if k >= USUAL_K])
    except WriteError:
        raise
    except AnonymizeError:
        return []
