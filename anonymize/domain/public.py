"""The public domain of a column: the values that there may be, as the spec and the files that it names say, whatever
the table holds.

What is released under differential privacy is counted over it. That a value does not occur in a table is then no more
than a count of zero with noise, and nothing of the domain is learned from the rows: a value outside it is an error.

A domain is an ordered list of leaves. Those of texts are the values; those of numbers are values as well where they are
listed, else bins. A missing value is a leaf of its own, the last, unless the spec says that no value may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.domain import Domain, Ints, files
from anonymize.domain.numeric import Numeric
from anonymize.errors import Problem, RowsError, SpecError
from anonymize.records import dataclass
from anonymize.spec import blocks, columns, hierarchy, model, notation

BINS = 32
"""Into which numbers fall, where the spec does not say how many there are."""
SINGLE = 100
"""Whole numbers of at most so many values are a bin each."""
FINEST = 100
"""Decimals that are drawn from a bin, at least."""


@dataclass(frozen=True)
class NumberBins:
    """Bins of numbers. `edges` (bins + 1,): where each begins, and behind it where the last one ends, which is no part
    of it unless numbers are decimals. `digits`: of the decimals that are drawn, 0 of whole numbers. `places` (bins,):
    the first and the last multiple of 10 ** -digits that a bin has."""

    edges: tuple[float, ...]
    digits: int
    places: tuple[tuple[int, int], ...]
    whole: bool
    open: bool = False
    """Whether the first and the last bin have all numbers below and above as well."""

    @classmethod
    def over(cls, edges: Sequence[float], *, whole: bool, open: bool = False) -> NumberBins:
        """Of numbers between the first and the last of some edges, both included."""
        if whole:
            starts = sorted({math.ceil(edge) for edge in edges[:-1]})
            ends = [*starts, math.floor(edges[-1]) + 1]
            places = tuple((first, after - 1) for first, after in pairwise(ends))
            return cls(tuple(map(float, ends)), 0, places, True, open)
        narrowest = min(after - before for before, after in pairwise(edges))
        digits = max(0, math.ceil(-math.log10(narrowest / FINEST)))
        steps = [math.ceil(Decimal(repr(float(edge))).scaleb(digits)) for edge in edges]
        last = math.floor(Decimal(repr(float(edges[-1]))).scaleb(digits))
        places = tuple((first, after - 1) for first, after in pairwise([*steps[:-1], last + 1]))
        return cls(tuple(map(float, edges)), digits, places, False, open)

    def codes(self, numbers: Any) -> Ints:
        """(n,) the bin of each number, -1 of those outside."""
        values = np.asarray(numbers, np.float64)
        codes = np.searchsorted(np.array(self.edges[1:-1]), values, side="right").astype(np.int64)
        below = values < self.edges[-1] if self.whole else values <= self.edges[-1]
        within = ((values >= self.edges[0]) & below) | self.open
        return np.where(within & ((values == np.floor(values)) | (not self.whole)), codes, -1)

    @property
    def labels(self) -> list[str]:
        """How bins read: from the first to the last number of whole ones, else from an end to below the next one."""
        scale = 10.0**-self.digits
        if self.whole:
            ends = [(f"{first * scale:g}", f"{last * scale:g}") for first, last in self.places]
            labels = [low if low == high else f"[{low}-{high}]" for low, high in ends]
        else:
            labels = [f"[{low:g}-{high:g})" for low, high in pairwise(self.edges)]
        if self.open and len(labels) > 1:
            labels[0], labels[-1] = f"<{self.edges[1]:g}", f">={self.edges[-2]:g}"
        return labels


def fractions(values: Any) -> NDArray[np.bool_]:
    """(n,) which of some values are numbers with a fraction; no texts are."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "fiu":
        return np.zeros(len(numbers), np.bool_)
    return np.asarray(numbers != np.floor(numbers))


def leaves_of(column: Domain, codes: Callable[[Any], Ints], missing: int) -> Ints:
    """(column.size,) the public leaf of each leaf of a table's column, -1 of one outside. `codes`: says it of (n,)
    numbers or texts; `missing`: that of a missing value."""
    values: Any = column.values if isinstance(column, Numeric) else column.leaf_text()
    if column.missing is not None and not isinstance(column, Numeric):
        values = [value for code, value in enumerate(values) if code != column.missing]
    leaves = codes(values)
    return leaves if column.missing is None else np.insert(leaves, column.missing, missing)


@dataclass(frozen=True)
class PublicDomain:
    """The leaves of a column that is called `name`: `values` as they are written, or `bins`, and one for missing values
    where there may be any. `numeric`: the values are numbers."""

    name: str
    values: tuple[str, ...] = ()
    bins: NumberBins | None = None
    missing: bool = True
    numeric: bool = False
    normalize: bool = True

    @property
    def size(self) -> int:
        """Number of leaves, the one for missing values included."""
        return len(self.values if self.bins is None else self.bins.places) + self.missing

    @property
    def compared(self) -> tuple[Any, ...]:
        """The values as they are compared, in their order."""
        return tuple(self._codes)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        """The code of each value, as it is compared."""
        compared = float if self.numeric else notation.normalized if self.normalize else str
        return {compared(value): code for code, value in enumerate(self.values)}

    def codes(self, values: Any) -> Ints:
        """(n,) the leaf of each of some numbers, or texts as they are compared; -1 of those outside."""
        if self.bins is not None:
            return self.bins.codes(values)
        known = self._codes
        return np.array([known.get(value, -1) for value in np.asarray(values).tolist()], np.int64)

    def check(self, codes: NDArray[np.signedinteger[Any]], broken: NDArray[np.bool_] | None = None) -> None:
        """(n,) of a table's rows. Raises RowsError where one is -1, so that the row's value is outside. `broken`: (n,)
        which values are numbers with a fraction."""
        outside = np.flatnonzero(codes < 0)
        if not len(outside):
            return
        rows = "1 row has a value" if len(outside) == 1 else f"{len(outside):,} rows have values"
        said = f"column {self.name!r}: {rows} outside its public domain"
        hint = "a domain is what there may be, as it is known without the table; nothing is learned from its rows"
        if self.bins is not None and self.bins.whole and broken is not None and (many := int(broken[outside].sum())):
            said += f" of whole numbers, and {many:,} of these have a fraction"
            ends = "" if self.bins.open else f"low: {self.bins.edges[0]:g}, high: {self.bins.edges[-1] - 1:g}, "
            hint = f"numbers with a fraction: `domains: {{{self.name}: {{{ends}whole: false}}}}`"
        raise RowsError(Problem(said, hint=hint), int(outside[0]))

    def entry(self) -> list[str | None] | dict[str, Any]:
        """Its entry in a manifest: the values, null last where one may be missing; or the bins."""
        if self.bins is None:
            return [*self.values, *([None] if self.missing else [])]
        return {
            "bins": list(self.bins.edges),
            "whole": self.bins.whole,
            "digits": self.bins.digits,
            "places": [list(pair) for pair in self.bins.places],
            "missing": self.missing,
        }


def public_domain(spec: model.Spec, name: str) -> PublicDomain:
    """The domain of a column that is released: what `domains` says of it, else the leaves of its hierarchy's file, else
    its own `domain` and `bins`. Open bins at either end of `bins` without a `domain` are as wide as the bins beside
    them, and do not begin below 0 where those do not.

    Raises SpecError for a column without a domain, and what reading a hierarchy raises.
    """
    own, definition = spec.domain_of(name), spec.quasi_identifiers.get(name) or spec.sensitive.get(name)
    numeric, normalize = definition is not None and definition.type == "numeric", spec.normalizes(name)
    values = own.values
    if values is None and own.low is None and definition is not None and isinstance(definition.hierarchy, Path):
        leaves = files.read(definition.hierarchy, name, normalize=normalize).leaves
        written = files.labels_written(definition.hierarchy) if normalize else {}
        values = tuple(written.get(leaf, leaf) for leaf in leaves)
    if values is not None:
        means_missing = spec.missing("csv", name)
        present = tuple(notation.trimmed(value) for value in values if value not in means_missing)
        return PublicDomain(name, present, None, own.missing, numeric, normalize)
    edges, is_open = _edges(own, definition)
    if not edges:
        raise SpecError(_undeclared(spec, name, definition))
    declared = (*edges, *(own.bins if isinstance(own.bins, tuple) else ()))
    whole = all(float(edge).is_integer() for edge in declared) if own.whole is None else own.whole
    bins = NumberBins.over(_divided(own, edges, whole=whole), whole=whole, open=is_open)
    return PublicDomain(name, (), bins, own.missing, True)


def _undeclared(spec: model.Spec, name: str, definition: columns.Definition | None) -> Problem:
    """That a column has no public domain, and how to write one."""
    hint = f"what there may be, and not what there is: `domains: {{{name}: [VALUE, ...]}}`, or `{{low: 0, high: 120}}`"
    if definition is not None and isinstance(definition.hierarchy, hierarchy.Dates):
        hint = (
            "dates have no range: `hierarchy` of a file with a line for every day that there may be "
            f"(`2024-01-31;2024-01;2024;*`), or `identifiers: [{name}]`, which leaves them out"
        )
    elif definition is not None and definition.type == "numeric":
        hint = f"what there may be, and not what there is: `domains: {{{name}: {{low: 0, high: 120}}}}`"
        hint += "; with `whole: false` beside them numbers may have a fraction"
    section = next((each for each in ("quasi_identifiers", "sensitive") if name in getattr(spec, each)), None)
    path = ("domains",) if section is None else (section, name)
    return spec.problem(path, f"column {name!r} has no public domain", hint)


def _edges(own: blocks.ColumnDomain, definition: object) -> tuple[tuple[float, ...], bool]:
    """The ends of the numbers that there may be, and where bins begin between them; none where nothing is declared. And
    whether there may be numbers beyond the ends."""
    given = definition if isinstance(definition, columns.QuasiIdentifier) else columns.QuasiIdentifier()
    ends = given.domain if own.low is None or own.high is None else (own.low, own.high)
    bins = own.bins if isinstance(own.bins, tuple) else given.bins if own.bins is None else ()
    if ends is None and bins and len(bins) > 1:
        low, high = bins[0] - (bins[1] - bins[0]), bins[-1] + (bins[-1] - bins[-2])
        return (max(low, 0.0) if bins[0] > 0 else low, *bins, high), True
    if ends is None:
        return (), False
    return (ends[0], *(edge for edge in bins or () if ends[0] < edge < ends[1]), ends[1]), False


def _divided(own: blocks.ColumnDomain, edges: Sequence[float], *, whole: bool) -> tuple[float, ...]:
    """The edges of all bins: those that are declared, or of bins of equal width."""
    if len(edges) > 2 or isinstance(own.bins, tuple):
        return tuple(edges)
    low, high = edges
    width = high - low + whole
    single = whole and width <= SINGLE
    count = own.bins if isinstance(own.bins, int) else int(width) if single else BINS
    if whole:
        count = min(count, int(width))
        return (*(low + math.ceil(number * width / count) for number in range(count)), high)
    return (*(low + number * (width / count) for number in range(count)), high)
