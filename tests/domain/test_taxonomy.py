"""Taxonomies against brute force on random trees: order, intervals, lowest covering nodes, costs."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain import taxonomy
from anonymize.domain.build import build
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy, frequent, frequent_in
from anonymize.domain.tree import Tree
from anonymize.errors import DataError
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.hierarchy import Pool, Rare
from tests.algorithms.tables import random_taxonomy, seeds

Path = tuple[str, ...]


@st.composite
def paths(draw: st.DrawFn) -> list[Path]:
    """Paths from leaf to root of a random tree; a group's label tells the groups above it."""
    turns = draw(st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=12))
    return [
        (f"leaf{leaf}", *("/".join(map(str, turn[:depth])) for depth in range(len(turn), 0, -1)), "*")
        for leaf, turn in enumerate(turns)
    ]


def depth_first(members: list[Path], depth: int = 1) -> list[str]:
    """Leaves of a tree, siblings in order of appearance, by recursion."""
    order: list[str] = []
    below: dict[str, list[Path]] = {}
    for path in members:
        below.setdefault(path[-depth - 1], []).append(path)
    for label, group in below.items():
        order += [label] if len(group) == 1 and len(group[0]) == depth + 1 else depth_first(group, depth + 1)
    return order


def lowest(members: list[Path]) -> Path:
    """The longest end that all the paths have in common, from the node to the root."""
    common = itertools.takewhile(
        lambda labels: len(set(labels)) == 1, zip(*(path[::-1] for path in members), strict=False)
    )
    return tuple(labels[0] for labels in common)[::-1]


def all_pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = zip(*itertools.combinations_with_replacement(range(size), 2), strict=True)
    return np.array(low, dtype=np.uint8), np.array(high, dtype=np.uint8)


@given(paths())
def test_leaves_are_in_depth_first_order(tree: list[Path]) -> None:
    assert Taxonomy.of("x", Tree.from_paths(tree)).leaf_text() == depth_first(tree)


@given(paths(), st.sampled_from([0, 1024]))
def test_lca_cost_and_loss_by_brute_force(tree: list[Path], table_size: int) -> None:
    domain, by_leaf = Taxonomy.of("x", Tree.from_paths(tree)), {path[0]: path for path in tree}
    leaves = [by_leaf[leaf] for leaf in domain.leaf_text()]
    low, high = all_pairs(domain.size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taxonomy, "TABLE_SIZE", table_size)
        found = domain.lca(low, high), domain.cost(low, high), domain.loss(low, high), domain.node_text(low, high)
    for a, b, node, cost, loss, text in zip(low, high, *found, strict=True):
        end = lowest(leaves[a : b + 1])
        under = [path for path in tree if path[len(path) - len(end) :] == end]
        assert text == end[0] == domain.labels[node]
        assert domain.stop[node] - domain.start[node] == len(under)
        assert cost == (0 if a == b else len(under) / len(tree))
        assert loss == (len(under) - 1) / max(len(tree) - 1, 1)
        assert domain.depth[node] == len(end) - 1


@given(paths())
def test_levels_are_nested_and_regular(tree: list[Path]) -> None:
    domain = Taxonomy.of("x", Tree.from_paths(tree))
    height = max(map(len, tree)) - 1
    assert domain.levels.shape == (height + 1, len(tree)) and domain.height == height
    assert domain.levels[0].tolist() == list(range(domain.size)) and set(domain.levels[-1]) == {domain.root}
    by_leaf = {path[0]: path for path in tree}
    for code, leaf in enumerate(domain.leaf_text()):
        padded = (leaf,) * (height + 1 - len(by_leaf[leaf])) + by_leaf[leaf]
        assert tuple(domain.labels[node] for node in domain.levels[:, code]) == padded


@given(paths())
def test_nodes_know_their_extent_parent_and_level(tree: list[Path]) -> None:
    domain = Taxonomy.of("x", Tree.from_paths(tree))
    assert len(domain.labels) == len({path[place:] for path in tree for place in range(len(path))})
    for node in range(len(domain.labels)):
        rows, columns = np.nonzero(domain.levels == node)
        assert domain.level[node] == rows.min()
        assert set(columns) == set(range(domain.start[node], domain.stop[node]))
        above = domain.levels[rows.max() + 1, columns[0]] if node != domain.root else -1
        assert domain.parent[node] == above and domain.parent[node] not in range(node + 1)


@given(paths())
def test_join_depth_tells_the_cuts_between_children(tree: list[Path]) -> None:
    domain = Taxonomy.of("x", Tree.from_paths(tree))
    for low, high in itertools.combinations(range(domain.size), 2):
        node = int(domain.lca(np.array([low]), np.array([high]))[0])
        children = {int(domain.start[child]) for child in np.flatnonzero(domain.parent == node)}
        cuts = {cut for cut in range(low + 1, high + 1) if domain.join_depth[cut] == domain.depth[node]}
        assert cuts == {cut for cut in children if low < cut <= high}
    assert domain.join_depth[0] == -1


@given(paths(), st.sampled_from(["?", "leaf0", ""]))
def test_missing_is_a_leaf_of_its_own_under_the_root_unless_listed(tree: list[Path], missing: str) -> None:
    domain = Taxonomy.of("x", Tree.from_paths(tree), missing)
    assert domain.missing is not None and domain.labels[domain.missing] == missing
    listed = missing == "leaf0"
    assert domain.size == len(tree) + (not listed)
    if not listed:
        assert domain.missing == domain.size - 1 and domain.parent[domain.missing] == domain.root


def test_a_large_taxonomy_walks_its_levels() -> None:
    size = taxonomy.TABLE_SIZE + 976
    names = [f"{code:04d}" for code in range(size)]
    domain = Taxonomy.of("x", Tree.from_steps(names, [lambda name: name[:3], lambda name: name[0]], "*"))
    low, high = np.sort(np.random.default_rng(0).integers(0, size, (2, 50, 20)), axis=0)
    expected = [
        a if a == b else a[:3] if a[:3] == b[:3] else a[0] if a[0] == b[0] else "*"
        for a, b in zip((names[code] for code in low.flat), (names[code] for code in high.flat), strict=True)
    ]
    found = domain.lca(low, high)
    assert found.shape == (50, 20) and [domain.labels[node] for node in found.flat] == expected
    leaves = {4: 1, 3: 10, 1: 1000}
    cost = [leaves.get(len(text), size) if text != "*" else size for text in expected]
    assert (domain.cost(low, high) * size).round().flat[:].tolist() == [0 if leaf == 1 else leaf for leaf in cost]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("method", [Taxonomy.lca, Taxonomy.cost, Taxonomy.loss])
def test_codes_of_any_type_and_shape(method: Callable[..., np.ndarray], dtype: type) -> None:
    domain = Taxonomy.of("x", Tree.from_steps([str(code) for code in range(200)], [], "*"))
    low: np.ndarray = np.array([[0, 199], [7, 0]], dtype=dtype)
    high: np.ndarray = np.array([[199, 199], [8, 0]], dtype=dtype)
    kept = low.copy()
    result = method(domain, low, high)
    assert result.shape == (2, 2) and np.array_equal(low, kept)
    assert result[0, 0] == result[1, 0] and result.dtype == method(domain, low[:0], high[:0]).dtype


def test_one_leaf_costs_nothing() -> None:
    domain = Taxonomy.of("x", Tree.from_steps(["a"], [], "*"))
    code = np.array([0])
    assert (domain.cost(code, code).tolist(), domain.loss(code, code).tolist()) == ([0], [0])
    assert domain.node_text(code, code) == ["a"]
    assert (domain.height, domain.root, domain.kind) == (1, 1, "categorical")


def test_a_node_that_repeats_its_only_child_is_one_node() -> None:
    domain = Taxonomy.of("x", Tree.from_paths([("a", "a", "*"), ("b", "g", "*"), ("c", "g", "*"), ("d", "h", "*")]))
    assert domain.labels == ["a", "b", "c", "d", "g", "h", "*"]
    assert domain.levels.tolist() == [[0, 1, 2, 3], [0, 4, 4, 5], [6, 6, 6, 6]]


def test_a_label_may_stand_on_two_levels() -> None:
    domain = Taxonomy.of("x", Tree.from_paths([("a", "b", "*"), ("c", "a", "*"), ("d", "a", "*"), ("b", "b", "*")]))
    assert domain.labels == ["a", "b", "c", "d", "b", "a", "*"]
    assert domain.node_text(np.array([0, 2, 0]), np.array([1, 3, 2])) == ["b", "a", "*"]


def test_of_nodes_with_one_label_the_widest_is_what_it_reads_as() -> None:
    """C50 is a value and the node over two; I10 is the node over itself alone, which is the same node."""
    domain = Taxonomy.of("code", Tree.from_paths([("C50", "C50", "*"), ("C50.911", "C50", "*"), ("I10", "I10", "*")]))
    labels = [domain.labels[node] for node in domain.widest]
    assert labels == domain.labels and domain.twofold == 1
    leaf = domain.labels.index("C50")
    assert (domain.start[domain.widest[leaf]], domain.stop[domain.widest[leaf]]) == (0, 2)
    ncp, loss = domain.shown_cost(np.array([0, 1, 2, domain.root]))
    assert ncp.tolist() == pytest.approx([2 / 3, 0, 0, 1]) and loss.tolist() == pytest.approx([1 / 2, 0, 0, 1])
    assert Taxonomy.of("code", Tree.from_paths([("a", "A", "*"), ("b", "A", "*")])).twofold == 0
    swapped = Taxonomy.of("sex", Tree.from_paths([("m", "f", "*"), ("f", "m", "*"), ("x", "x", "*")]))
    assert (swapped.twofold, swapped.borrowed, domain.borrowed) == (0, 2, 0)


def test_the_order_of_leaves_does_not_matter_to_what_covers_them() -> None:
    steps: list[Callable[[str], str]] = [lambda name: name[-1]]
    domain = Taxonomy.of("x", Tree.from_steps(["a1", "b2", "c1", "d2"], steps, "*"))
    assert domain.leaf_text() == ["a1", "c1", "b2", "d2"]
    assert domain.labels[4:] == ["1", "2", "*"]


def test_weights_of_nodes() -> None:
    tree = Tree.from_paths([("a", "g", "*"), ("b", "h", "g", "*"), ("c", "h", "g", "*"), ("d", "*")], WEIGHTS)
    domain = Taxonomy.of("x", tree, "?")
    found = dict(zip(domain.labels, domain.weights.tolist(), strict=True))
    assert found == {"a": 1, "b": 1, "c": 1, "d": 1, "?": 1, "h": 0.5, "g": 1.5, "*": 1}
    assert Taxonomy("x", domain.levels, domain.labels).weights.tolist() == [1] * 8


WEIGHTS = {("g", "*"): 1.5, ("h", "g", "*"): 0.5}


def weighted(weights: dict[Path, float], missing: str | None = None) -> Taxonomy:
    """h of b and c; g of a and h; the root of g, d and e."""
    paths = [("a", "g", "*"), ("b", "h", "g", "*"), ("c", "h", "g", "*"), ("d", "*"), ("e", "*")]
    return Taxonomy.of("x", Tree.from_paths(paths, weights), missing)


@pytest.mark.parametrize("table_size", [0, 1024])
def test_a_weight_multiplies_what_its_node_costs(table_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taxonomy, "TABLE_SIZE", table_size)
    low, high = np.array([0, 1, 0, 0, 2, 3]), np.array([0, 2, 1, 2, 3, 4])  # a, h, g, g, *, *
    assert weighted(WEIGHTS).cost(low, high).tolist() == [0, 0.5 * 2 / 5, 1.5 * 3 / 5, 1.5 * 3 / 5, 1, 1]
    assert weighted(WEIGHTS, "?").cost(low, high) == pytest.approx([0, 1 / 6, 0.75, 0.75, 1, 1])
    assert weighted({}).loss(low, high).tolist() == weighted(WEIGHTS).loss(low, high).tolist()


def test_a_node_costs_at_most_as_much_as_a_suppressed_cell() -> None:
    domain = weighted({("g", "*"): 1e308, ("h", "g", "*"): 2.0})
    assert domain.cost(np.array([0, 1, 0]), np.array([1, 2, 4])).tolist() == [1, 0.8, 1]
    assert Generalization.plain(domain).ncp.tolist() == [0, 0, 0, 0, 0, 0.8, 1, 1]


@given(seeds)
def test_no_node_costs_less_than_one_below_it(rng: np.random.Generator) -> None:
    domain = random_taxonomy(rng)
    inner = np.flatnonzero(domain.parent >= 0)
    for cost in (domain.node_cost, Generalization.plain(domain).ncp):
        assert (cost[inner] <= cost[domain.parent[inner]]).all()


# --- rare -------------------------------------------------------------------------------------------------------------

COUNTS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 12), min_size=1, max_size=12)


@given(COUNTS, st.integers(2, 15))
def test_a_pool_has_enough_rows_and_values(counts: dict[str, int], below: int) -> None:
    shown = frequent(counts, below)
    pooled = counts.keys() - shown
    assert all(counts[value] >= below for value in shown)
    if pooled and shown:
        assert len(pooled) > 1 and sum(counts[value] for value in pooled) >= below
        assert max(counts[value] for value in pooled) < min(counts[value] for value in shown)


@given(COUNTS, st.integers(2, 15))
def test_names_of_values_do_not_decide(counts: dict[str, int], below: int) -> None:
    renamed = {f"{100 - number}{value}": counts[value] for number, value in enumerate(counts)}
    old = [value in frequent(counts, below) for value in counts]
    assert old == [value in frequent(renamed, below) for value in renamed]


def hierarchy(label: str = "Other") -> QuasiIdentifier:
    return QuasiIdentifier(hierarchy=Rare(rare=Pool(below=5, label=label)))


def test_the_hierarchy_has_the_pool_between_rare_values_and_the_root() -> None:
    counts = {"cook": 9, "clerk": 8, "nun": 3, "judge": 2}
    made = build("x", hierarchy(), list(counts), "?", "*", frequent=frequent(counts, 5))
    assert made.paths() == {
        "clerk": ("clerk", "clerk", "*"),
        "cook": ("cook", "cook", "*"),
        "judge": ("judge", "Other", "*"),
        "nun": ("nun", "Other", "*"),
    }
    assert set(frequent_in(made)) == {"clerk", "cook", "?"}


def test_a_label_that_is_a_value_is_refused_without_being_shown() -> None:
    with pytest.raises(DataError) as caught:
        build("x", hierarchy("nun"), ["nun", "cook"], None, "*", frequent=("cook",))
    assert "nun" not in str(caught.value)
