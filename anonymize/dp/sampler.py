"""Rows from the marginals of a model, specified so that whoever has these and the seed draws the same rows again.

The model is a list of cliques of a junction tree, each the counts over the cells of some columns, the last of which
runs fastest; of a clique and all before it, the columns that they share are together in one of these. `weights` are
whole numbers, counts in millionths: `round(count * 10**6)`.

Random numbers are hashes of counters. All arithmetic is on unsigned whole numbers of 64 bits, which wrap:

    G       = 0x9E3779B97F4A7C15
    mix(z)  = z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^ (z >> 31)
    draw(stream, i)    = mix(mix(seed + G * (stream + 1)) + G * (i + 1))
    uniform(stream, i) = float(draw(stream, i) >> 11) * 2.0**-53

Rows are numbered from 0 to n - 1, and cliques from 0 to T - 1. Clique t is drawn in one step, its new columns together:

1. The separator of a row is the code of its cell in the columns of the clique that have been drawn before, in the order
   of the clique, the last running fastest; 0 where there are none.
2. Rows are ordered by separator, then by their leaves in all columns drawn before, in the order in which these were
   drawn, then by row; p = 0 .. n - 1 is the place of a row in that order. The m rows of a separator s are ordered by
   spread(p) = draw(2 t, 0) + G * p; r = 0 .. m - 1 is the place of a row in that order.
3. The cells of the clique with that separator, over the new columns in the order of the clique, the last running
   fastest, have the weights w[j]; where their sum is 0, the weights of all separators are summed. C[j] is the running
   sum w[0] + .. + w[j], and C the last of them.
4. k = floor(((r + uniform(2 t + 1, s)) / m) * C) in float64, in this order, at most C - 1. The row gets the first cell
   j with C[j] > k.

So each cell has its share of the rows of its separator, rounded down or up. As multiples of the golden ratio lie evenly
between 0 and 1, whatever the place where one begins, rows of a separator that are alike in further columns have about
their share of each cell as well, and marginals over several cliques are nearer to those of the model than with rows in
random order.

A number in a bin of the c-th column of the table (from 0), whose places run from first to last, is then at the place
`first + min(floor(uniform(2 T + c, row) * (last - first + 1)), last - first)`, times 10 ** -digits.

Rows stand in the order of their leaves and numbers, column by column of the table, those with missing values last,
unless the order of rows is another than `sorted`: then they stand by their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from anonymize.domain import Floats, Ints
from anonymize.records import dataclass

# --- junction trees ---------------------------------------------------------------------------------------------------
# The columns are a graph, in which those that a marginal has are joined. Columns are eliminated one after the other:
# those around the one that goes are joined, and with it they are a part, unless one before contains them (Lauritzen and
# Spiegelhalter 1988). Which goes next decides how large the parts become, and the best order is hard to find, so that
# three greedy ones are tried and the smallest tree is taken. A column whose neighbours are all joined is a part of any
# tree, and may go first. A spanning tree of the parts by what they share, the most first, is a junction tree (Jensen
# and Jensen 1994): a part shares with all before it what it shares with one of them.

Columns = tuple[str, ...]
Graph = tuple[int, ...]
"""Of each column the set of its neighbours, a bit for each."""
_KEPT = 1 << 14
"""Trees, and sets of columns, whose sizes are kept."""
BYTES, MB = 8, 1 << 20
"""Of a cell; and those in which models are computed."""


def junction_tree(sizes: Mapping[str, int], marginals: Collection[Columns]) -> list[Columns]:
    """The parts of a junction tree, of which each marginal is in one, and so is each column of `sizes`. Each stands
    after one that has all the columns that it shares with any before; its columns are in the order of `sizes`."""
    names = tuple(sizes)
    parts = _parts(_graph(names, marginals), tuple(sizes.values()))
    return [tuple(names[place] for place in _members(part)) for part in parts]


def size_in_mb(sizes: Mapping[str, int], marginals: Collection[Columns]) -> float:
    """The cells of the junction tree of some marginals, in units of 2^20 bytes of 8 to a cell."""
    leaves = tuple(sizes.values())
    return sum(_cells(part, leaves) for part in _parts(_graph(tuple(sizes), marginals), leaves)) * BYTES / MB


def _graph(names: Sequence[str], marginals: Collection[Columns]) -> Graph:
    bits = {name: 1 << place for place, name in enumerate(names)}
    neighbours = dict.fromkeys(names, 0)
    for columns in marginals:
        together = sum(bits[name] for name in set(columns))
        for name in columns:
            neighbours[name] |= together & ~bits[name]
    return tuple(neighbours.values())


def _members(columns: int) -> Iterator[int]:
    """The places of the bits of a set."""
    while columns:
        lowest = columns & -columns
        yield lowest.bit_length() - 1
        columns ^= lowest


@lru_cache(_KEPT)
def _cells(columns: int, sizes: tuple[int, ...]) -> int:
    return prod(sizes[place] for place in _members(columns))


@lru_cache(_KEPT)
def _parts(graph: Graph, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The parts of the smallest tree, in the order in which a spanning tree of them grows from the first."""
    trees = [_eliminated(graph, sizes, cost) for cost in (_simplicial_first, _smallest_part, _least_fill)]
    left = sorted(min(trees, key=lambda parts: sum(_cells(part, sizes) for part in parts)))
    parts = [left.pop(0)]
    shared = [(part & parts[0]).bit_count() for part in left]
    while left:
        place = shared.index(max(shared))
        parts.append(left.pop(place))
        shared.pop(place)
        shared = [max(before, (part & parts[-1]).bit_count()) for before, part in zip(shared, left, strict=True)]
    return tuple(parts)


def _eliminated(graph: Graph, sizes: tuple[int, ...], cost: Callable[..., tuple[int, ...]]) -> list[int]:
    """The parts that are left when the column of least cost goes first, of equals the first one."""
    left, parts = dict(enumerate(graph)), list[int]()
    costs = {place: cost(place, left, sizes) for place in left}
    while left:
        chosen = min(costs, key=costs.__getitem__)
        around = left.pop(chosen)
        del costs[chosen]
        whole = around | 1 << chosen
        if not any(part & whole == whole for part in parts):
            parts.append(whole)
        changed = around
        for place in _members(around):
            left[place] = (left[place] | around) & ~(1 << place) & ~(1 << chosen)
            changed |= left[place]
        costs |= {place: cost(place, left, sizes) for place in _members(changed)}
    return parts


def _smallest_part(place: int, left: Mapping[int, int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The cells of a column and its neighbours."""
    return (_cells(left[place] | 1 << place, sizes),)


def _simplicial_first(place: int, left: Mapping[int, int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """A column whose neighbours are all joined; then the one with the smallest part."""
    around = left[place]
    return any(around & ~left[one] != 1 << one for one in _members(around)), *_smallest_part(place, left, sizes)


def _least_fill(place: int, left: Mapping[int, int], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The cells of the pairs of neighbours that are not joined; then the smallest part."""
    around = left[place]
    fill = sum(
        sizes[one] * sum(sizes[other] for other in _members(around & ~left[one] & ~(1 << one)))
        for one in _members(around)
        if around & ~left[one] != 1 << one
    )
    return fill, *_smallest_part(place, left, sizes)


MILLION = 10**6
Words = NDArray[np.uint64]
_GOLDEN, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True)
class Clique:
    """`weights` (cells,) of the cells of some columns, the last of which runs fastest; `sizes`: leaves of each."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    weights: Ints

    @classmethod
    def of_counts(cls, columns: Sequence[str], sizes: Sequence[int], counts: Floats) -> Clique:
        """The clique of counts, none of them below 0."""
        return cls(tuple(columns), tuple(sizes), np.rint(np.maximum(counts, 0) * MILLION).astype(np.int64).ravel())

    @property
    def counts(self) -> Floats:
        return self.weights / MILLION


def _mix(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def draws(seed: int, stream: int, places: Ints) -> Words:
    """(n,) the hashes of some counters."""
    with np.errstate(over="ignore"):
        start = _mix(np.array([seed], np.uint64) + _GOLDEN * np.uint64(stream + 1))
        return _mix(start + _GOLDEN * (places.astype(np.uint64) + np.uint64(1)))


def uniforms(seed: int, stream: int, places: Ints) -> Floats:
    """(n,) numbers from 0 to below 1."""
    return (draws(seed, stream, places) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sample(cliques: Sequence[Clique], rows: int, seed: int) -> dict[str, Ints]:
    """(rows,) the leaf of each row in each column."""
    drawn: dict[str, Ints] = {}
    alike = np.zeros(rows, np.int64)
    for number, clique in enumerate(cliques):
        new = _step(clique, number, drawn, alike, seed)
        drawn |= new
        for name, leaves in new.items():
            alike = alike * clique.sizes[clique.columns.index(name)] + leaves
        alike = np.unique(alike, return_inverse=True)[1]
    return drawn


def _step(clique: Clique, number: int, drawn: Mapping[str, Ints], alike: Ints, seed: int) -> dict[str, Ints]:
    """The new columns of a clique. `alike`: the place of each row's leaves among all that were drawn."""
    rows = len(alike)
    before = [place for place, name in enumerate(clique.columns) if name in drawn]
    new = [place for place, name in enumerate(clique.columns) if name not in drawn]
    sizes = clique.sizes
    separator = np.zeros(rows, np.int64)
    for place in before:
        separator = separator * sizes[place] + drawn[clique.columns[place]]
    of_separator = clique.weights.reshape(sizes).transpose([*before, *new])
    of_separator = of_separator.reshape(int(np.prod([sizes[place] for place in before])), -1)
    order = np.argsort(separator * (alike.max(initial=0) + 1) + alike, kind="stable")
    with np.errstate(over="ignore"):
        spread = draws(seed, 2 * number, np.zeros(1, np.int64)) + _GOLDEN * np.arange(rows, dtype=np.uint64)
    order = order[ordered(separator[order], of_separator.shape[0], spread)]
    codes, starts, counts = np.unique(separator[order], return_index=True, return_counts=True)
    weights = of_separator[codes]
    empty = weights.sum(axis=1) == 0
    if empty.any():
        weights[empty] = of_separator.sum(axis=0)
    totals = weights.sum(axis=1)
    group = np.repeat(np.arange(len(codes)), counts)
    place_in = np.arange(rows) - starts[group]
    share = (place_in + uniforms(seed, 2 * number + 1, codes)[group]) / counts[group]
    wanted = np.minimum(np.floor(share * totals[group]).astype(np.int64), totals[group] - 1)
    # Running sums of all separators in one list: each begins where the one before ends.
    ends = weights.ravel().cumsum()
    begins = np.append(0, totals.cumsum()[:-1])
    cells = np.empty(rows, np.int64)
    cells[order] = np.searchsorted(ends, begins[group] + wanted, side="right") - group * weights.shape[1]
    codes_of = np.unravel_index(cells, [sizes[place] for place in new])
    return {clique.columns[place]: np.asarray(own) for place, own in zip(new, codes_of, strict=True)}


def ordered(separator: Ints, separators: int, spread: Words) -> Ints:
    """(rows,) the rows by separator and spread: by one sort of words that begin with the separator, where no two are
    alike."""
    bits = np.uint64((separators - 1).bit_length())
    if not bits:
        return np.argsort(spread)
    words = (separator.astype(np.uint64) << (np.uint64(64) - bits)) | (spread >> bits)
    order = np.argsort(words)
    words = words[order]
    return order if (words[1:] > words[:-1]).all() else np.lexsort((spread, separator))


def within(first: Ints, last: Ints, seed: int, stream: int) -> Ints:
    """(n,) a whole number of each row from `first` to `last`, both included."""
    width = last - first + 1
    steps = np.floor(uniforms(seed, stream, np.arange(len(first))) * width).astype(np.int64)
    return np.asarray(first + np.minimum(steps, width - 1))
