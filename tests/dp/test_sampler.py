from __future__ import annotations

import math
from itertools import accumulate, combinations, permutations, product
from math import prod
from random import Random

import numpy as np
import pytest

from anonymize.domain import Ints
from anonymize.dp.sampler import Clique, Columns, junction_tree, ordered, sample, size_in_mb, uniforms, within

WORDS = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORDS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORDS
    return z ^ (z >> 31)


def draw(seed: int, stream: int, place: int) -> int:
    return mix((mix((seed + GOLDEN * (stream + 1)) & WORDS) + GOLDEN * (place + 1)) & WORDS)


def uniform(seed: int, stream: int, place: int) -> float:
    return float(draw(seed, stream, place) >> 11) * 2.0**-53


def by_the_words(cliques: list[Clique], rows: int, seed: int) -> dict[str, list[int]]:
    """The specification of the sampler, row by row."""
    drawn: dict[str, list[int]] = {}
    for t, clique in enumerate(cliques):
        cells = np.ndindex(*clique.sizes)
        before = [i for i, name in enumerate(clique.columns) if name in drawn]
        new = [i for i, name in enumerate(clique.columns) if name not in drawn]
        weights: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
        for cell, weight in zip(cells, clique.weights.tolist(), strict=True):
            of_separator = weights.setdefault(tuple(cell[i] for i in before), {})
            of_separator[tuple(cell[i] for i in new)] = weight
        pooled = {cell: sum(own[cell] for own in weights.values()) for cell in next(iter(weights.values()))}
        members: dict[tuple[int, ...], list[int]] = {}
        for row in range(rows):
            members.setdefault(tuple(drawn[clique.columns[i]][row] for i in before), []).append(row)
        alike = {row: tuple(own[row] for own in drawn.values()) for row in range(rows)}
        arranged = [
            row for _, group in sorted(members.items()) for row in sorted(group, key=lambda row: (alike[row], row))
        ]
        spread = {row: (draw(seed, 2 * t, 0) + GOLDEN * p) & WORDS for p, row in enumerate(arranged)}
        for i in new:
            drawn[clique.columns[i]] = [-1] * rows
        for separator, group in members.items():
            code = 0
            for i, leaf in zip(before, separator, strict=True):
                code = code * clique.sizes[i] + leaf
            own = weights[separator] if sum(weights[separator].values()) else pooled
            total = sum(own.values())
            for r, row in enumerate(sorted(group, key=lambda row: spread[row])):
                k = min(math.floor(((r + uniform(seed, 2 * t + 1, code)) / len(group)) * total), total - 1)
                ends = zip(own, accumulate(own.values()), strict=True)
                for i, leaf in zip(new, next(cell for cell, end in ends if end > k), strict=True):
                    drawn[clique.columns[i]][row] = leaf
    return drawn


def clique(columns: str, sizes: tuple[int, ...], counts: list[float]) -> Clique:
    return Clique.of_counts(tuple(columns), sizes, np.array(counts))


CLIQUES = [
    clique("ab", (2, 3), [3.25, 0, 10.5, 7, 1 / 3, 0.001]),
    clique("bc", (3, 2), [0, 0, 2, 3.5, 1, 9.25]),  # no weight where b is 0
    clique("db", (2, 3), [1, 2, 3, 4, 5, 6]),
    clique("e", (4,), [1, 0, 0, 2]),
]


@pytest.mark.parametrize("seed", [0, 7, (1 << 48) - 1])
def test_rows_are_those_of_the_specification(seed: int) -> None:
    assert {name: own.tolist() for name, own in sample(CLIQUES, 57, seed).items()} == by_the_words(CLIQUES, 57, seed)


def test_uniform_numbers_are_those_of_the_specification() -> None:
    assert uniforms(123, 4, np.arange(5)).tolist() == [uniform(123, 4, place) for place in range(5)]
    many = uniforms(1, 0, np.arange(10_000))
    assert abs(many.mean() - 0.5) < 0.02 and many.min() >= 0 and many.max() < 1


def test_the_first_clique_is_drawn_to_within_a_row_of_its_counts() -> None:
    drawn = sample(CLIQUES[:1], 1000, 3)
    counts = np.bincount(drawn["a"] * 3 + drawn["b"], minlength=6)
    wanted = CLIQUES[0].counts / CLIQUES[0].counts.sum() * 1000
    assert np.abs(counts - wanted).max() < 1


def test_what_has_no_weight_is_not_drawn() -> None:
    assert set(sample(CLIQUES, 500, 5)["e"].tolist()) == {0, 3}


def test_other_seeds_give_other_rows_of_the_same_counts() -> None:
    one, other = (sample(CLIQUES[:1], 999, seed)["a"] for seed in (1, 2))
    assert one.tolist() != other.tolist() and abs(int(one.sum()) - int(other.sum())) <= 1


def test_numbers_are_anywhere_within_their_bins_and_nowhere_else() -> None:
    first: Ints = np.repeat([-3, 10], 600)
    numbers = within(first, first + np.repeat([2, 0], 600), 9, 5)
    assert set(numbers[:600].tolist()) == {-3, -2, -1} and set(numbers[600:].tolist()) == {10}
    assert numbers[:3].tolist() == [-3 + math.floor(uniform(9, 5, row) * 3) for row in range(3)]


@pytest.mark.parametrize("separators", [1, 2, 300])
def test_rows_are_ordered_by_separator_and_spread_whatever_bits_are_alike(separators: int) -> None:
    rng = np.random.default_rng(4)
    separator = rng.integers(0, separators, 500)
    for least in (1 << 40, 1):  # numbers that differ in their last bits alone
        spread = rng.permutation(500).astype(np.uint64) * np.uint64(least)
        expected = sorted(range(500), key=lambda row: (separator[row], spread[row]))
        assert ordered(separator, separators, spread).tolist() == expected


def test_rows_that_are_alike_in_further_columns_have_their_share_of_each_cell() -> None:
    """c depends on b and not on a: among the rows of any a and b it is spread evenly, and not by the luck of a draw."""
    cliques = [clique("ab", (10, 2), [1] * 20), clique("bc", (2, 4), [1, 2, 3, 4, 4, 3, 2, 1])]
    rows = 4000
    counts = np.zeros((10, 2, 4))
    drawn = sample(cliques, rows, 1)
    np.add.at(counts, (drawn["a"], drawn["b"], drawn["c"]), 1)
    wanted = np.array([[1, 2, 3, 4], [4, 3, 2, 1]]) / 10 * rows / 20
    assert np.abs(counts - wanted).max() < 4  # a cell of 60 of 200 is off by 6 on average in random order


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
