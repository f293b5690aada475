"""Nodes as releases, by brute force: every set of classes that may be suppressed at a node, published or dropped, is
written as text and judged by `verify`. Nothing is taken from the search but what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from anonymize import verify
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.algorithms.lattice.search import find
from anonymize.claims import State, overall
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.full_domain import classes, leveled, shown
from tests.algorithms.lattice import slow
from tests.algorithms.lattice.cases import Case, Vector
from tests.algorithms.tables import k_anonymity, requirement, sensitive, table_of
from tests.examples import first

COMPARING = {
    "t": [requirement("t-closeness", "s", t=0.3)],
    "beta": [requirement("basic-beta-likeness", "s", beta=0.6)],
    "enhanced": [requirement("enhanced-beta-likeness", "s", beta=1.0)],
    "delta": [requirement("delta-disclosure", "s", delta=0.8)],
}
"""One model each, so that the check of a node with nothing suppressed counts the rows of the classes that fail."""
OF_TABLE = {
    "marketer": [requirement("risk", marketer=0.45)],
    "marketer, k": [requirement("risk", marketer=0.4), k_anonymity(2)],
    "uniques": [requirement("sample-uniqueness", share=0.2)],
    "uniques, marketer": [requirement("sample-uniqueness", share=0.15), requirement("risk", marketer=0.5)],
    "prosecutor too": [requirement("risk", marketer=0.4, prosecutor_max=0.5)],
}
EVERY = [each for models in (COMPARING | OF_TABLE).values() for each in models]
SEEDS = first(range(6), 2)


@dataclass(frozen=True)
class Choice:
    """A release: the rows that are suppressed, and whether they are published."""

    lost: frozenset[int]
    published: bool


def case_of(seed: int, wanted: list[Requirement]) -> Case:
    """A table of few rows, and half of them may be suppressed."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(6, 9))
    letters = [str(each) for each in rng.choice(list("abcd"), rows)]
    digits = [str(each) for each in rng.choice(["11", "12", "21"], rows)]
    table = table_of(
        leveled("letter", letters, lambda value: "low" if value in "ab" else "high"),
        leveled("digit", digits),
        sensitive=[sensitive([str(each) for each in rng.choice(list("xxyz"), rows)])],
    )
    return Case(table, tuple(wanted), rows // 2)


def judged(case: Case, vector: Vector, choice: Choice) -> list[verify.Result]:
    """What the second opinion says of a release, requirement by requirement."""
    parts = tuple(tuple(rows) for rows in classes(shown(case.table, vector)))
    results = _judged(parts, choice, tuple(map(str, case.table.sensitive[0].codes.tolist())))
    return [results[EVERY.index(each)] for each in case.wanted]


def satisfied(case: Case, vector: Vector, choice: Choice) -> bool:
    return overall(each.state for each in judged(case, vector, choice)) is State.MET


@cache
def _judged(parts: tuple[tuple[int, ...], ...], choice: Choice, values: tuple[str, ...]) -> Sequence[verify.Result]:
    """Of every requirement, since the cases have the same tables."""
    text = {row: "*" if row in choice.lost else f"class {number}" for number, rows in enumerate(parts) for row in rows}
    kept = [row for row in sorted(text) if choice.published or row not in choice.lost]
    frame = pl.DataFrame({"q": [text[row] for row in kept], "s": [values[row] for row in kept]})
    return verify.measure(
        frame, ["q"], [verify.Check(each.model, each.attribute, each.required()) for each in EVERY]
    ).results


def choices(case: Case, vector: Vector) -> Iterator[Choice]:
    """Every set of classes within the limit, published or dropped."""
    parts = classes(shown(case.table, vector))
    for count in range(len(parts)):
        for some in combinations(parts, count):
            lost = frozenset(row for rows in some for row in rows)
            if len(lost) <= case.limit:
                yield from (Choice(lost, published) for published in ((True, False) if lost else (True,)))


def legal(case: Case, vector: Vector) -> list[Choice]:
    return [choice for choice in choices(case, vector) if satisfied(case, vector, choice)]


def lost_at(checker: Checker, vector: Vector) -> frozenset[int]:
    """The rows that the search suppresses at a node."""
    failed = checker.failed(vector)[checker.distinct_of]
    return frozenset(np.flatnonzero(failed).tolist())


def by_rule(case: Case, vector: Vector) -> Choice | None:
    """For one model that compares: the release that suppresses what fails against all rows and nothing else. Whatever
    is published and legal suppresses these, so that it is the legal one with as many rows as fail where nothing is."""
    failing = judged(case, vector, Choice(frozenset(), True))[0].failing_rows
    rule = [each for each in legal(case, vector) if each.published and len(each.lost) == failing]
    assert len(rule) <= 1
    return rule[0] if rule else None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("models", COMPARING)
def test_where_classes_are_compared_what_fails_against_all_rows_is_suppressed_and_no_more(
    models: str, seed: int
) -> None:
    case = case_of(seed, COMPARING[models])
    checker = case.checker()
    for vector in case.nodes:
        rule, checked, lost = by_rule(case, vector), checker.check(vector), lost_at(checker, vector)
        if rule is not None:
            assert checked.safe and lost == rule.lost
            assert all(rule.lost <= each.lost for each in legal(case, vector) if each.published)
        elif checked.safe:
            assert satisfied(case, vector, Choice(lost, False))  # dropped


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("models", OF_TABLE)
def test_where_the_table_is_judged_the_fewest_rows_are_suppressed_that_make_it_legal(models: str, seed: int) -> None:
    case = case_of(seed, OF_TABLE[models])
    checker = case.checker()
    for vector in case.nodes:
        fewest = min((len(each.lost) for each in legal(case, vector)), default=None)
        checked, lost = checker.check(vector), lost_at(checker, vector)
        assert checked.safe == (fewest is not None)
        if checked.safe:
            assert checked.suppressed == len(lost) == fewest
            assert any(satisfied(case, vector, Choice(lost, published)) for published in (True, False))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("models", [*COMPARING, *OF_TABLE])
@pytest.mark.parametrize("metric", ["loss", "precision", "discernibility"])
def test_the_best_node_is_that_of_all_releases(metric: str, models: str, seed: int) -> None:
    """Of one size it may matter to `loss` which classes are suppressed: there the optimum is over the searches' own
    choice among them, and the test is of the others."""
    case = case_of(seed, (COMPARING | OF_TABLE)[models])
    if metric == "loss" and models in OF_TABLE:
        metric = "c_avg"
    best = find(Scorer(case.checker(), metric))
    scores = []
    for vector in case.nodes:
        options = [by_rule(case, vector)] if models in COMPARING else legal(case, vector)
        scores += [slow.score(case, vector, metric, None, 0.5, set(each.lost))[0] for each in options if each]
    assert not scores or (best is not None and best.score[0] <= min(scores) + 1e-9)
    if best is not None:
        lost = lost_at(case.checker(), best.vector)
        assert best.score[0] == pytest.approx(slow.score(case, best.vector, metric, None, 0.5, set(lost))[0], abs=1e-9)
        assert any(satisfied(case, best.vector, Choice(lost, published)) for published in (True, False))


def test_rows_are_dropped_where_the_spec_says_so() -> None:
    """Compared with each other alone the classes that are left fail, too; with the suppressed rows they do not."""
    table: Table = table_of(
        leveled("letter", list("aaaabbbb")), sensitive=[sensitive(["x", "x", "y", "z", "x", "x", "x", "x"])]
    )
    wanted = (requirement("basic-beta-likeness", "s", beta=0.3),)
    published, dropped = Checker(table, wanted, 4), Checker(table, wanted, 4, published=False)
    assert not published.check((0,)).safe
    assert not dropped.check((0,)).safe
