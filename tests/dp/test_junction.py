"""Junction trees of random marginals: valid by the definition, and nearly as small as the best elimination order."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import prod
from random import Random

import pytest

from anonymize.dp.junction import Columns, junction_tree, size_in_mb

SIZES = {"a": 2, "b": 5, "c": 41, "d": 16, "e": 7, "f": 3, "g": 74, "h": 4, "i": 2}


def drawn(seed: int, columns: int, most: int) -> tuple[dict[str, int], list[Columns]]:
    """Sizes of so many columns, and marginals of up to three of them."""
    random = Random(seed)
    names = random.sample(list(SIZES), columns)
    marginals = [tuple(random.sample(names, random.randint(1, 3))) for _ in range(random.randint(0, most))]
    return {name: SIZES[name] for name in names}, marginals


def cells(sizes: dict[str, int], part: Columns) -> int:
    return prod(sizes[name] for name in part)


def by_order(sizes: dict[str, int], marginals: list[Columns], order: Columns) -> int:
    """The cells of the parts that are left by eliminating columns in some order."""
    joined = {name: {other for own in marginals if name in own for other in own} - {name} for name in sizes}
    parts: list[set[str]] = []
    for name in order:
        around = joined.pop(name)
        parts.append(around | {name})
        for one, other in product(around, around):
            joined[one] |= {other} - {one}
        for own in joined.values():
            own.discard(name)
    largest = [own for own in parts if not any(own < other for other in parts)]
    return sum(cells(sizes, tuple(own)) for own in largest)


@pytest.mark.parametrize("seed", range(60))
def test_each_marginal_is_in_a_part_and_each_part_meets_those_before_in_one_of_them(seed: int) -> None:
    sizes, marginals = drawn(seed, 9 if seed % 2 else 6, 14)
    parts = [set(part) for part in junction_tree(sizes, marginals)]
    for wanted in (*marginals, *((name,) for name in sizes)):
        assert any(part.issuperset(wanted) for part in parts)
    for number, part in enumerate(parts[1:], 1):
        shared = part & set().union(*parts[:number])
        assert any(shared <= before for before in parts[:number])
    assert not any(one <= other or other <= one for one, other in combinations(parts, 2))


def test_trees_are_nearly_as_small_as_by_the_best_of_all_orders() -> None:
    excess = []
    for seed in range(30):
        sizes, marginals = drawn(seed, 5, 7)
        best = min(by_order(sizes, marginals, order) for order in permutations(sizes))
        own = sum(cells(sizes, part) for part in junction_tree(sizes, marginals))
        assert size_in_mb(sizes, marginals) == own * 8 / 2**20
        excess.append(own / best)
    assert min(excess) == 1 and max(excess) < 1.2 and sum(excess) / len(excess) < 1.01


def test_a_tree_of_pairs_is_its_own_junction_tree_even_where_the_middle_is_small() -> None:
    sizes = {"p": 100, "q": 2, "r": 2, "s": 2, "t": 100}
    pairs = list(zip(sizes, list(sizes)[1:], strict=False))
    assert sorted(junction_tree(sizes, pairs)) == pairs


def test_the_columns_of_a_part_are_in_the_order_of_the_table_and_a_column_alone_is_a_part() -> None:
    assert sorted(junction_tree({"b": 2, "a": 3, "c": 4}, [("a", "b")])) == [("b", "a"), ("c",)]
