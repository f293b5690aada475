"""The minimality attack (Wong, Fu, Wang, Pei, VLDB 2007): who knows the method and everybody's quasi-identifiers asks
in which worlds it would have released what was released."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from anonymize.algorithms import ALGORITHMS, Context
from anonymize.errors import InfeasibleError
from anonymize.privacy import Requirement
from anonymize.table import Table

World = tuple[Any, ...]
"""The sensitive value of each person."""


def arrangements(values: Sequence[Any]) -> Iterator[World]:
    """Every way to deal values out, each once."""
    if not values:
        yield ()
    for value in sorted(set(values)):
        rest = list(values)
        rest.remove(value)
        for others in arrangements(rest):
            yield (value, *others)


def released(name: str, table: Table, requirements: tuple[Requirement, ...], limit: int, mask: bool) -> Hashable:
    """Who is in which class, and the values of each: more than a release shows. None where nothing is released."""
    algorithm = ALGORITHMS[name]
    try:
        result: Any = algorithm.run(table, requirements, algorithm.Options(mask_minimality=mask), Context(limit))
    except InfeasibleError:
        return None
    codes, part = table.sensitive[0].codes, result.partition
    classes = np.split(part.order, part.starts[1:-1])
    return frozenset((tuple(sorted(rows.tolist())), tuple(sorted(codes[rows].tolist()))) for rows in classes)


def possible_worlds(
    name: str, table: Table, requirements: tuple[Requirement, ...], limit: int = 0, *, mask: bool = True
) -> list[list[World]]:
    """Of each release that there may be, the worlds with the same values in which it is made, as far as it shows them:
    of somebody who is left out, nothing is known but what all values are together, and that is not in the release."""
    worlds: dict[Hashable, list[World]] = defaultdict(list)
    (column,) = table.sensitive
    for world in arrangements(column.codes.tolist()):
        other = replace(column, codes=np.array(world, column.codes.dtype))
        worlds[released(name, replace(table, sensitive=(other,)), requirements, limit, mask)].append(world)
    return [_of_released(release, each) for release, each in worlds.items() if release is not None]


def _of_released(release: Any, worlds: list[World]) -> list[World]:
    people = sorted(person for rows, _ in release for person in rows)
    return [tuple(world[person] for person in people) for world in worlds]


def success(worlds: Sequence[World], values: Sequence[Any]) -> Fraction:
    """How sure the attacker is of one of the values of somebody, at most."""
    people = zip(*worlds, strict=True)
    return max(Fraction(max(map(person.count, values)), len(worlds)) for person in people)


def left(worlds: Sequence[World], missing: Any = None) -> int:
    """How many values are possible for everybody at least."""
    return min(len(set(person) - {missing}) for person in zip(*worlds, strict=True))
