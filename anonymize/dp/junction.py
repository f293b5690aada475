"""Junction trees: the parts over which a model of some marginals is kept, and how many cells they take.

The columns are a graph, in which those that a marginal has are joined. Columns are eliminated one after the other:
those around the one that goes are joined, and with it they are a part, unless one before contains them (Lauritzen and
Spiegelhalter 1988). Which goes next decides how large the parts become, and the best order is hard to find, so that
three greedy ones are tried and the smallest tree is taken. A column whose neighbours are all joined is a part of any
tree, and may go first. A spanning tree of the parts by what they share, the most first, is a junction tree (Jensen and
Jensen 1994): a part shares with all before it what it shares with one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

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
    """Those of the smallest tree, in the order in which a spanning tree of them grows from the first."""
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
