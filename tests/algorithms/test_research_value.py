"""The searches for the string of highest research value, against a walk through the whole lattice."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.base import Context
from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice.branch_and_bound import BranchAndBound
from anonymize.algorithms.lattice.nodes import Checker, NodeCheck
from anonymize.algorithms.lattice.strings import Strings, StringSearch, every_string
from anonymize.algorithms.research_value import Options, pre_pruned, roots, run
from anonymize.errors import InfeasibleError
from anonymize.metrics.research_value import research_values
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.spec import Rule
from anonymize.table import Table
from tests.algorithms.full_domain import Vector, check_node, heights, is_safe, nodes, safe_nodes, sweeney
from tests.algorithms.tables import (
    categorical,
    k_anonymity,
    requirement,
    sensitive,
    table_of,
    tables,
    taxonomy,
    units_or_not,
)
from tests.examples import some

Wanted = tuple[Requirement, ...]
ANY_MODEL: list[Wanted] = [
    (k_anonymity(1),),
    (k_anonymity(3),),
    (k_anonymity(2), requirement("distinct-l-diversity", "s0", l=2)),
    (requirement("entropy-l-diversity", "s0", l=1.5),),
    (k_anonymity(2), requirement("frequency-l-diversity", "s0", l=1.5)),
]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Table, Wanted, int]:
    """A table with rules, what is required, and the rows that may go."""
    table = draw(units_or_not(tables(max_rows=25, max_attributes=3, sensitive_columns=1)))
    attributes = tuple(
        replace(attribute, rules=draw(_rules(attribute.domain.leaf_text())))
        if attribute.domain.kind == "categorical"
        else attribute
        for attribute in table.attributes
    )
    weights: Literal["given", "correlation"] = draw(st.sampled_from(["given", "correlation"]))
    table = replace(table, attributes=attributes, weights=weights)
    return table, draw(st.sampled_from(ANY_MODEL)), draw(st.sampled_from([0, 0, 1, 3, table.rows]))


def _rules(leaves: list[str]) -> st.SearchStrategy[tuple[Rule, ...]]:
    if len(leaves) < 2:
        return st.just(())
    pairs = st.lists(st.sampled_from(leaves), min_size=2, max_size=2, unique=True)
    rules = st.builds(Rule, keep_apart=pairs.map(tuple), importance=st.sampled_from([1.0, 5.0]))
    return st.lists(rules, max_size=3).map(tuple)


def best_of(table: Table, strings: list[Vector]) -> Vector | None:
    """Highest research value, then fewest roots, then lexicographic."""
    values, top = research_values(table), heights(table)

    def rank(vector: Vector) -> tuple[float, int, Vector]:
        total = sum(float(of_level[level]) for of_level, level in zip(values, vector, strict=True))
        return -round(total, 12), sum(map(int, np.equal(vector, top))), vector

    return min(strings, key=rank, default=None)


def search(table: Table, wanted: Wanted, limit: int, *options: Any) -> Levels | None:
    try:
        return run(table, wanted, Options(*options), Context(suppression_limit=limit))
    except InfeasibleError:
        return None


def chosen(found: Levels | None) -> Vector | None:
    """The level vector, which is there without a class too."""
    return None if found is None else tuple((found.chosen or {})["levels"].values())


# --- the searches ---------------------------------------------------------------------------------------------------


@given(problems())
def test_global_and_hybrid_find_the_best_of_the_whole_lattice(problem: tuple[Table, Wanted, int]) -> None:
    table, wanted, limit = problem
    expected = best_of(table, safe_nodes(table, wanted, limit))
    for way in ("global", "hybrid"):
        found = search(table, wanted, limit, way)
        assert chosen(found) == expected
        if found is not None and expected is not None:
            check_node(table, found, expected, wanted)


@settings(max_examples=some(60))
@given(problems())
def test_distributed_finds_the_best_where_strings_do_not_fit_in_memory(problem: tuple[Table, Wanted, int]) -> None:
    table, wanted, limit = problem
    expected = best_of(table, safe_nodes(table, wanted, limit))
    for options in (("distributed",), ("hybrid", 4), ("global", 4)):
        found = search(table, wanted, limit, *options)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert figures(found)["research_value"] == pytest.approx(worth(table, expected), abs=1e-11)
            assert figures(found)["gap"] == 0
            check_node(table, found, chosen(found) or (), wanted)


@settings(max_examples=some(60))
@given(problems())
def test_local_is_safe_and_never_better(problem: tuple[Table, Wanted, int]) -> None:
    table, wanted, limit = problem
    best, found = search(table, wanted, limit), search(table, wanted, limit, "local")
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        assert is_safe(table, chosen(found) or (), wanted, limit)
        assert figures(found)["research_value"] <= figures(best)["research_value"]


@settings(max_examples=some(60))
@given(problems())
def test_late_searches_know_how_far_off_they_are(problem: tuple[Table, Wanted, int]) -> None:
    table, wanted, limit = problem
    expected = best_of(table, safe_nodes(table, wanted, limit))
    for way in ("global", "hybrid", "distributed"):
        found = search(table, wanted, limit, way, 1_000_000, 0, 0, 1e-9)
        if found is not None and expected is not None:
            told = figures(found)
            assert is_safe(table, chosen(found) or (), wanted, limit)
            assert told["research_value"] <= worth(table, expected) + 1e-9
            assert told["research_value"] + told["gap"] >= worth(table, expected) - 1e-9


def worth(table: Table, vector: Vector) -> float:
    return sum(float(of_level[level]) for of_level, level in zip(research_values(table), vector, strict=True))


def figures(found: Levels) -> dict[str, Any]:
    return found.chosen or {}


@given(problems())
def test_pre_pruning_leaves_every_safe_string(problem: tuple[Table, Wanted, int]) -> None:
    table, wanted, limit = problem
    left = pre_pruned(Checker(table, wanted, limit))
    for vector in safe_nodes(table, wanted, limit):
        assert all(level in levels for level, levels in zip(vector, left, strict=True))


@given(problems())
def test_successes_are_listed_best_first(problem: tuple[Table, Wanted, int]) -> None:
    table, wanted, limit = problem
    found = search(table, wanted, limit)
    if found is None:
        return
    told = figures(found)
    names, values = [a.name for a in table.attributes], research_values(table)
    vectors = [tuple(each["levels"][name] for name in names) for each in told["successes"]]
    assert vectors[0] == chosen(found) and len(set(vectors)) == len(vectors)
    for vector, each in zip(vectors, told["successes"], strict=True):
        assert is_safe(table, vector, wanted, limit)
        assert each["research_value"] == pytest.approx(sum(v[level] for v, level in zip(values, vector, strict=True)))
        assert each["root_attributes"] == roots(vector, heights(table))
    assert vectors[0] == best_of(table, vectors)
    assert told["nodes_checked"] <= told["nodes_total"] == len(list(nodes(table)))


# --- examples -------------------------------------------------------------------------------------------------------


def test_rules_decide_what_is_given_up() -> None:
    """Either attribute has to go to its root: the one without a rule does, or the one that weighs less."""
    domain = taxonomy("a *", "b *")
    one = categorical(list("aabb"), replace_name(domain, "one"))
    other = categorical(list("abab"), replace_name(domain, "other"))
    assert chosen(search(table_of(one, other), (k_anonymity(2),), 0)) == (0, 1), "of equal ones, the first stays"
    rule = Rule(keep_apart=("a", "b"), importance=3)
    assert chosen(search(table_of(one, replace(other, rules=(rule,))), (k_anonymity(2),), 0)) == (1, 0)
    assert chosen(search(table_of(one, replace(other, weight=1.1)), (k_anonymity(2),), 0)) == (1, 0)


def replace_name(domain: Any, name: str) -> Any:
    return type(domain)(name, domain.levels, domain.labels)


def test_sweeneys_table() -> None:
    wanted = (k_anonymity(2),)
    best = best_of(sweeney(), safe_nodes(sweeney(), wanted, 2))
    found = search(sweeney(), wanted, 2)
    assert found is not None and found.vector == best
    assert figures(found)["nodes_checked"] < figures(found)["nodes_total"]


def test_a_table_that_cannot_be_made_safe() -> None:
    table = table_of(categorical(list("ab"), taxonomy("a *", "b *")), sensitive=[sensitive(["x", "x"])])
    wanted = (requirement("distinct-l-diversity", "s", l=2),)
    for options in (("global",), ("local",), ("hybrid",), ("global", 1), ("distributed",)):
        with pytest.raises(InfeasibleError, match="distinct-l-diversity"):
            run(table, wanted, Options(*options), Context())


def letters(seed: int, count: int, rows: int) -> Table:
    """Attributes of eight values on four levels."""
    rng = np.random.default_rng(seed)
    paths = [f"v{number} a{number // 2} b{number // 4} *" for number in range(8)]
    weights = rng.choice([1.0, 2.0, 3.0, 5.0], count)
    return table_of(
        *(
            replace(
                categorical([f"v{each}" for each in rng.integers(0, 8, rows)], taxonomy(*paths, name=f"q{index}")),
                weight=float(weight),
            )
            for index, weight in enumerate(weights)
        )
    )


def test_more_work_never_finds_less() -> None:
    """Too little for a proof, and enough for one."""
    table, wanted = letters(1, 4, 60), (k_anonymity(4),)
    few, some, enough = (
        figures(run(table, wanted, Options("distributed", checks=2, work=work), Context())) for work in (1, 5, 50)
    )
    assert few["research_value"] <= some["research_value"] <= enough["research_value"]
    assert few["gap"] >= some["gap"] >= enough["gap"] == 0 and enough["optimal"]
    optimum = figures(run(table, wanted, Options("global"), Context()))["research_value"]
    assert enough["research_value"] == pytest.approx(optimum)


def bounded(table: Table, wanted: Wanted, work: float) -> tuple[BranchAndBound, StringSearch]:
    """Branch and bound by itself, done."""
    checker = Checker(table, wanted, 0)
    strings = StringSearch(research_values(table), checker.check)
    search = BranchAndBound(checker, strings, pre_pruned(checker), work, Deadline())
    search.run()
    return search, strings


def test_what_is_not_proved_has_a_bound() -> None:
    """The more work, the lower it is: first by subsets of the attributes, as there are more strings than one has."""
    table, wanted = letters(2, 7, 60), (k_anonymity(3),)
    found = [bounded(table, wanted, work) for work in (0, 50, 200, np.inf)]
    bounds = [strings.bound for _, strings in found]
    assert bounds == sorted(bounds, reverse=True) and bounds[0] > bounds[1] > bounds[3]
    assert not found[1][0].proved and found[3][0].proved
    optimum = figures(run(table, wanted, Options("global"), Context()))["research_value"]
    assert bounds[3] == pytest.approx(optimum)


def test_gains_are_counted_from_the_highest_level_that_may_be_shown() -> None:
    """By what it is worth above its root, the attribute with a highest level would come down; the other one does."""
    domain = taxonomy("a x *", "b x *")
    one = replace(categorical(list("aabb"), replace_name(domain, "one")), highest=1, research_value=(1.0, 0.9, 0.0))
    other = replace(categorical(list("abab"), replace_name(domain, "other")), research_value=(0.5, 0.0, 0.0))
    search, strings = bounded(table_of(one, other), (k_anonymity(2),), np.inf)
    assert search.proved and strings.successes[0] == (1, 0) and strings.bound == pytest.approx(1.4)


def test_local_search_leaves_the_way_of_the_binary_one() -> None:
    """Five attributes at once go nowhere; one at a time they do."""
    table, wanted = letters(4, 5, 100), (k_anonymity(4),)
    best = figures(run(table, wanted, Options("global"), Context()))["research_value"]
    checker = Checker(table, wanted, 0)
    balanced = StringSearch(research_values(table), checker.check)
    balanced.locally(pre_pruned(checker))
    found = figures(run(table, wanted, Options("local"), Context()))["research_value"]
    assert max((balanced.total(each) for each in balanced.successes), default=0.0) < found == pytest.approx(best)


def test_what_stands_when_a_search_is_interrupted() -> None:
    context = Context()
    assert context.best_so_far.describe() is None
    run(sweeney(), (k_anonymity(2),), Options(), context)
    assert re.fullmatch(
        r"best so far: levels race \d, birth \d, gender \d, zip \d; research value [\d.]+; gap 0",
        context.best_so_far.describe() or "",
    )


# --- strings --------------------------------------------------------------------------------------------------------

VALUES = [np.array([0.4, 0.2, 0.1]), np.array([0.6, 0.3])]


def outcome(vector: Vector, safe: bool, ruled_out: bool = False) -> NodeCheck:
    return NodeCheck(vector, safe, 0, 0, 0, 0, 0, ruled_out)


def listed(strings: Strings) -> list[tuple[int, ...]]:
    return [tuple(vector) for vector in strings.levels.T.tolist()]


def test_strings_are_sorted_by_research_value() -> None:
    strings = Strings.of(every_string([range(3), range(2)]), VALUES)
    assert listed(strings) == [(2, 1), (1, 1), (0, 1), (2, 0), (1, 0), (0, 0)]
    assert strings.totals.tolist() == pytest.approx([0.4, 0.5, 0.7, 0.7, 0.8, 1.0])
    assert strings.ranked_at() == (2, 0) and strings.ranked_at(0.25) == (1, 1)


def test_what_a_check_leaves() -> None:
    strings = Strings.of(every_string([range(3), range(2)]), VALUES)
    assert listed(strings.after(outcome((2, 0), safe=True), 0.7)) == [(0, 1), (1, 0), (0, 0)]
    assert listed(strings.after(outcome((1, 1), False, ruled_out=True), 0.5)) == [(2, 1), (2, 0)]
    assert listed(strings.after(outcome((1, 1), False), 0.5)) == [(2, 1), (0, 1), (2, 0), (1, 0), (0, 0)]


@pytest.mark.parametrize(
    ("safe_from", "path"),
    [
        ((0, 0), [(1, 0), (0, 0)]),
        ((1, 0), [(1, 0), (0, 0)]),
        ((2, 1), [(1, 0), (2, 1)]),
        ((0, 1), [(1, 0), (2, 1)]),  # not (1, 1): both go up together
    ],
)
def test_local_moves_all_attributes_at_once(safe_from: Vector, path: list[Vector]) -> None:
    """Middle, then half of the way that is left; an attribute that has none left stays."""
    found = StringSearch(VALUES, lambda vector: outcome(vector, bool(np.all(np.array(vector) >= safe_from))))
    found.locally([range(3), range(2)])
    assert list(found.tested) == path


def test_local_reaches_both_ends() -> None:
    choices = [range(2, 9), range(4), range(1)]
    values = [np.zeros(9), np.zeros(4), np.zeros(1)]
    for safe, last in ((True, (2, 0, 0)), (False, (8, 3, 0))):
        found = StringSearch(values, lambda vector, safe=safe: outcome(vector, safe))  # type: ignore[misc]
        found.locally(choices)
        assert list(found.tested)[-1] == last
