"""What a search proves, by brute force, under every model of the registry: no legal release beats one that is said to
be the best, no bound is above one, and what is found is legal.

A release of a set of splits, or of a node, is any choice of its classes that may be suppressed, published or dropped,
and it is legal if `Assessment` says so of all its requirements, measured from the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import bug, incognito, k_optimize, mingen, mu_argus, research_value, samarati, tds
from anonymize.algorithms.base import Context
from anonymize.algorithms.bound import loss_bound
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.errors import InfeasibleError
from anonymize.judging import Judge
from anonymize.metrics.research_value import research_values
from anonymize.privacy import MODELS, Assessment, Requirement, models_about
from anonymize.recoding import Levels, SingleDimensional
from anonymize.table import Table
from tests.algorithms.full_domain import heights, leveled
from tests.algorithms.splits import target
from tests.algorithms.tables import k_anonymity, narrow, numeric, requirement, seeds, sensitive, table_of
from tests.algorithms.test_k_optimize import classes as parts_of
from tests.algorithms.test_k_optimize import cost, places
from tests.examples import some

OF_EVERY_MODEL: dict[str, list[Requirement]] = {
    "k-anonymity": [k_anonymity(2)],
    "alpha-k-anonymity": [requirement("alpha-k-anonymity", "s", alpha=0.7, k=2)],
    "distinct-l-diversity": [requirement("distinct-l-diversity", "s", l=2)],
    "entropy-l-diversity": [requirement("entropy-l-diversity", "s", l=1.7)],
    "frequency-l-diversity": [requirement("frequency-l-diversity", "s", l=1.5)],
    "recursive-cl-diversity": [requirement("recursive-cl-diversity", "s", c=2, l=2)],
    "squared-error-diversity": [requirement("squared-error-diversity", "s", error=1.0)],
    "p-sensitivity": [requirement("p-sensitivity", "s", p=2)],
    "k-e-anonymity": [requirement("k-e-anonymity", "s", k=2, e=1)],
    "t-closeness": [
        requirement("t-closeness", "s", t=0.3, distance="equal"),
        requirement("t-closeness", "s", t=0.2, distance="ordered"),
    ],
    "basic-beta-likeness": [requirement("basic-beta-likeness", "s", beta=0.6)],
    "enhanced-beta-likeness": [requirement("enhanced-beta-likeness", "s", beta=1.0)],
    "delta-disclosure": [requirement("delta-disclosure", "s", delta=0.8)],
    "k-map": [requirement("k-map", k=3, fraction=0.5, estimator="poisson", significance=0.3)],
    "risk": [
        requirement("risk", marketer=0.45),
        requirement("risk", records_at_risk=0.3, threshold=0.4, prosecutor_max=0.7),
    ],
    "profitability": [requirement("profitability", attacker_gain=250, attacker_cost=100)],
    "sample-uniqueness": [requirement("sample-uniqueness", share=0.2)],
    "population-uniqueness": [requirement("population-uniqueness", share=0.1, fraction=0.1)],
}
WITH_PEOPLE = {"delta-presence"}
"""Those that need a population: by brute force in the tests of the lattice."""
EVERY: list[tuple[Requirement, ...]] = [(each,) for wanted in OF_EVERY_MODEL.values() for each in wanted]
MIXED: list[tuple[Requirement, ...]] = [
    (k_anonymity(2), requirement("t-closeness", "s", t=0.3, distance="equal")),
    (requirement("risk", marketer=0.4), requirement("entropy-l-diversity", "s", l=1.5)),
    (requirement("sample-uniqueness", share=0.1), requirement("basic-beta-likeness", "s", beta=0.8)),
]
WANTED = pytest.mark.parametrize("wanted", EVERY + MIXED, ids=lambda each: " ".join(map(str, each)))


def test_every_model_is_here() -> None:
    assert set(OF_EVERY_MODEL) | WITH_PEOPLE == set(models_about("classes", "table"))


# --- every release ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Release:
    """The classes that are kept, each with its rows, and the rows that are suppressed."""

    kept: tuple[tuple[int, ...], ...]
    lost: tuple[int, ...]


@dataclass(frozen=True)
class Tried:
    """A table, what is asked of it, and how many rows may be suppressed."""

    table: Table
    wanted: tuple[Requirement, ...]
    limit: int

    def of_classes(self, parts: tuple[tuple[int, ...], ...]) -> Iterator[Release]:
        """Every choice of classes that are suppressed, within the limit."""
        for lost in chain.from_iterable(combinations(parts, count) for count in range(len(parts))):
            if sum(map(len, lost)) <= self.limit:
                yield Release(tuple(rows for rows in parts if rows not in lost), tuple(chain.from_iterable(lost)))

    def legal(self, release: Release) -> bool:
        """Whether it meets the requirements, with the suppressed rows as a class or without them."""
        published = (*release.kept, release.lost) if release.lost else release.kept
        return self._met(published) or self._met(release.kept)

    def _met(self, shown: Iterable[tuple[int, ...]]) -> bool:
        shown = list(shown)
        rows = np.array([row for each in shown for row in each], np.uint32)
        labels = np.repeat(np.arange(len(shown)), [len(each) for each in shown])
        order = np.argsort(rows)
        groups = Judge(self.table, self.wanted, rows[order]).groups(labels[order], len(shown))
        return all(Assessment(groups, each).satisfied for each in self.wanted)

    def least(self, kind: str) -> int | None:
        """The least cost of any legal release of any set of splits: the first that is legal, by cost."""
        cuts = [
            list(
                chain.from_iterable(combinations(places(attribute), size) for size in range(len(places(attribute)) + 1))
            )
            for attribute in self.table.attributes
        ]
        sets = {tuple(map(tuple, parts_of(self.table, chosen))) for chosen in product(*cuts)}
        releases = [(costs(self.table, each, kind), each) for parts in sets for each in self.of_classes(parts)]
        releases.sort(key=lambda entry: entry[0])
        return next((cost for cost, each in releases if self.legal(each)), None)


def costs(table: Table, release: Release, kind: str) -> int:
    kept = sum(cost(table, list(rows), True, kind) for rows in release.kept)
    return kept + cost(table, list(release.lost), False, kind) if release.lost else kept


def released(found: SingleDimensional | Levels) -> Release:
    partition = found.partition
    parts = np.split(partition.order, partition.starts[1:-1]) if partition.count else []
    return Release(tuple(tuple(part.tolist()) for part in parts), tuple(found.suppressed.tolist()))


def small(rng: np.random.Generator, rows: int, values: int, units: bool = False) -> Table:
    """Two numbers, of few values; a sensitive number that is often the same; a target."""
    columns = [numeric(rng.integers(0, values, rows).tolist(), name) for name in ("a", "b")]
    secret = sensitive(rng.choice([1.0, 1.0, 2.0, 4.0], rows).tolist())
    table = table_of(*columns, sensitive=[secret], targets=[target(rng.integers(0, 2, rows))])
    return replace(table, units=narrow(rng.integers(0, rows, rows))) if units else table


def limits(rows: int) -> st.SearchStrategy[int]:
    return st.sampled_from([0, 1, rows // 3, rows // 2])


# --- single-dimensional ----------------------------------------------------------------------------------------------


@WANTED
@settings(max_examples=some(12))
@given(seeds, st.data(), st.sampled_from(["discernibility", "classification"]), st.booleans())
def test_k_optimize_proves_no_more_than_is_true(
    wanted: tuple[Requirement, ...], rng: np.random.Generator, data: st.DataObject, kind: str, units: bool
) -> None:
    rows = int(rng.integers(4, 8))
    tried = Tried(small(rng, rows, 3, units), wanted, data.draw(limits(rows)))
    least = tried.least(kind)
    try:
        found = k_optimize.run(tried.table, wanted, k_optimize.Options(cost=kind), Context(tried.limit))
    except InfeasibleError:
        assert least is None
        return
    summary, release = found.summary(), released(found)
    assert tried.legal(release) and len(release.lost) <= tried.limit
    assert least is not None and summary["cost"] == costs(tried.table, release, kind)
    assert summary["lower_bound"] <= least <= summary["cost"]
    assert summary["optimal"] == (summary["lower_bound"] == summary["cost"])
    if rows <= 6:  # so few classes that every choice among them is tried
        assert summary["optimal"] and summary["cost"] == least


@settings(max_examples=some(24))
@given(seeds, st.sampled_from([each for each in EVERY + MIXED if MODELS[each[-1].model].compares]))
def test_where_choices_are_not_tried_the_bound_says_so(
    rng: np.random.Generator, wanted: tuple[Requirement, ...]
) -> None:
    """So many classes that only one choice among them is looked at."""
    tried = Tried(small(rng, 10, 3), wanted, 5)
    try:
        found = k_optimize.run(tried.table, wanted, k_optimize.Options(), Context(tried.limit)).summary()
    except InfeasibleError:
        return
    least = tried.least("discernibility")
    assert least is not None and found["lower_bound"] <= least <= found["cost"]
    assert found["optimal"] == (found["lower_bound"] == found["cost"])
    assert found["optimal"] != ("not_proved" in found)


@WANTED
@settings(max_examples=some(12))
@given(seeds, st.data(), st.sampled_from([bug, tds]))
def test_greedy_cuts_are_legal_and_stop_as_soon_as_they_are(
    wanted: tuple[Requirement, ...], rng: np.random.Generator, data: st.DataObject, algorithm: Any
) -> None:
    rows = int(rng.integers(4, 9))
    tried = Tried(small(rng, rows, 3), wanted, data.draw(limits(rows)))
    uncut = [tuple(part) for part in parts_of(tried.table, tuple(tuple(places(a)) for a in tried.table.attributes))]
    try:
        found = released(algorithm.run(tried.table, wanted, algorithm.Options(), Context(tried.limit)))
    except InfeasibleError:
        return
    assert tried.legal(found) and len(found.lost) <= tried.limit
    if algorithm is bug and tried.legal(Release(tuple(uncut), ())):
        assert len(found.kept) == len(uncut)


@WANTED
@settings(max_examples=some(12))
@given(seeds)
def test_no_release_loses_less_than_the_bound(wanted: tuple[Requirement, ...], rng: np.random.Generator) -> None:
    """The rows as they are lose nothing; if that is legal, so does the bound."""
    table = small(rng, 8, 3)
    uncut = parts_of(table, tuple(tuple(places(attribute)) for attribute in table.attributes))
    if Tried(table, wanted, 0).legal(Release(tuple(map(tuple, uncut)), ())):
        assert loss_bound(table, wanted).bound == 0


# --- full-domain ------------------------------------------------------------------------------------------------------


def wide(rng: np.random.Generator, rows: int, units: bool) -> Table:
    """Two attributes with levels."""
    letters = [str(each) for each in rng.choice(list("abcd"), rows)]
    digits = [str(each) for each in rng.choice(["11", "12", "21", "22"], rows)]
    ways = [
        leveled("letter", letters, lambda value: "low" if value in "ab" else "high"),
        leveled("digit", digits, lambda value: value[0]),
    ]
    table = table_of(*ways, sensitive=[sensitive(rng.choice([1.0, 1.0, 2.0, 4.0], rows).tolist())])
    return replace(table, units=narrow(rng.integers(0, rows, rows))) if units else table


SEARCHES: dict[str, tuple[Any, Any, str]] = {
    "mingen": (mingen, mingen.Options(), "precision"),
    "samarati": (samarati, samarati.Options(), "height"),
    "incognito": (incognito, incognito.Options(), "loss"),
    "subsets": (incognito, incognito.Options(subsets=True, metric="discernibility"), "discernibility"),
    **{
        search: (research_value, research_value.Options(search=search), "research-value")
        for search in ("global", "hybrid", "distributed")
    },
}


@WANTED
@settings(max_examples=some(12))
@given(seeds, st.data(), st.booleans(), st.booleans())
def test_no_node_beats_the_one_that_is_found(
    wanted: tuple[Requirement, ...], rng: np.random.Generator, data: st.DataObject, units: bool, published: bool
) -> None:
    """Every node by a checker of its own, so that nothing is concluded from one for another."""
    rows = int(rng.integers(6, 16))
    tried = Tried(wide(rng, rows, units), wanted, data.draw(limits(rows)))
    vectors = product(*(range(height + 1) for height in heights(tried.table)))
    alone = {vector: Checker(tried.table, wanted, tried.limit, published=published) for vector in vectors}
    safe = [vector for vector, checker in alone.items() if checker.check(vector).safe]
    for algorithm, options, metric in SEARCHES.values():
        try:
            found = algorithm.run(tried.table, wanted, options, Context(tried.limit, published=published))
        except InfeasibleError:
            assert not safe
            continue
        chosen = tuple((found.chosen or {})["levels"].values())
        least = min(_score(alone[vector], vector, metric) for vector in safe)
        assert _score(alone[chosen], chosen, metric) == pytest.approx(least, abs=1e-9)
        assert tried.legal(released(found)) and len(found.suppressed) <= tried.limit


def _score(checker: Checker, vector: tuple[int, ...], metric: str) -> float:
    if metric == "research-value":
        return -sum(float(each[level]) for each, level in zip(research_values(checker.table), vector, strict=True))
    return Scorer(checker, metric).score(vector)[0]


# --- by hand ----------------------------------------------------------------------------------------------------------


def halves(*sizes: int) -> Table:
    """Classes of one number each, half x and half y but the last, which is x throughout."""
    values = [number for number, size in enumerate(sizes) for _ in range(size)]
    secrets = ["xy"[place % 2] for size in sizes[:-1] for place in range(size)] + ["x"] * sizes[-1]
    return table_of(numeric(values, "q"), sensitive=[sensitive(secrets)], targets=[target([0] * len(values))])


def test_a_class_unlike_the_table_is_suppressed_and_not_merged() -> None:
    """Without suppression three classes have to become one, which costs 452."""
    wanted = (k_anonymity(2), requirement("t-closeness", "s", t=0.05, distance="equal"))
    found = k_optimize.run(halves(8, 8, 8, 8, 2), wanted, k_optimize.Options(), Context(6)).summary()
    assert (found["cost"], found["optimal"], found["suppressed_rows"]) == (4 * 8**2 + 2 * 34, True, 2)
    assert k_optimize.run(halves(8, 8, 8, 8, 2), wanted, k_optimize.Options(), Context(0)).summary()["cost"] == 452
    cut = bug.run(halves(8, 8, 8, 8, 2), wanted, bug.Options(), Context(6)).summary()
    assert (cut["generalizations"], cut["suppressed_rows"]) == (0, 2)


@pytest.mark.parametrize("wanted", [requirement("risk", marketer=0.5), requirement("sample-uniqueness", share=0.4)])
def test_small_classes_stay_where_the_table_is_within_its_limit(wanted: Requirement) -> None:
    table = halves(1, 1, 1, 5)
    found = k_optimize.run(table, (wanted,), k_optimize.Options(), Context()).summary()
    assert (found["cost"], found["optimal"]) == (28, True)
    for algorithm in (bug, mu_argus):
        assert len(released(algorithm.run(table, (wanted,), algorithm.Options(), Context())).kept) == 4


def test_tds_parts_as_far_as_the_table_is_within_its_limit() -> None:
    """The first cut leaves two classes of eight rows, the next three: as many as 0.4 of the rows allow."""
    table = replace(halves(2, 2, 4), targets=(target([0, 0, 1, 1, 2, 2, 2, 2]),))
    for share, classes in ((0.2, 1), (0.25, 2), (0.4, 3)):
        found = tds.run(table, (requirement("risk", marketer=share),), tds.Options(), Context())
        assert len(released(found).kept) == classes
