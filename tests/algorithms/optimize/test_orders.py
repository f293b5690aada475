"""Orders of siblings: the same hierarchies and rows, and other intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import k_optimize
from anonymize.algorithms.base import Context
from anonymize.algorithms.optimize.stages import orders
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding import SingleDimensional
from anonymize.spec import Output
from anonymize.table import Attribute, Table
from tests.algorithms.tables import categorical, k_anonymity, table_of, tables, taxonomy
from tests.examples import some


def run(table: Table, **options: Any) -> SingleDimensional:
    return k_optimize.run(table, (k_anonymity(4),), k_optimize.Options(**options), Context())


def shown(attribute: Attribute) -> list[tuple[str, ...]]:
    """The path of each row's value, without those of missing ones."""
    domain = attribute.domain
    assert isinstance(domain, Taxonomy)
    texts = domain.leaf_text()
    return [domain.paths().get(texts[code], (texts[code],)) for code in attribute.codes.tolist()]


@settings(max_examples=some(60))
@given(tables(max_rows=20))
def test_rows_and_hierarchies_stay_what_they_are(table: Table) -> None:
    for _, ordered in orders(table, 5):
        for one, other in zip(table.attributes, ordered.attributes, strict=True):
            if not isinstance(one.domain, Taxonomy):
                assert one is other
                continue
            assert isinstance(other.domain, Taxonomy)
            assert shown(one) == shown(other)
            assert one.domain.paths() == other.domain.paths() and _text(one.domain) == _text(other.domain)
            cost = [domain.node_cost[domain.levels] for domain in (one.domain, other.domain)]
            assert sorted(map(tuple, cost[0].T.tolist())) == sorted(map(tuple, cost[1].T.tolist()))


def spread() -> Table:
    """Two rare values that are not side by side, among frequent ones."""
    tree = taxonomy("a *", "r *", "b *", "s *", "c *", name="q")
    return table_of(categorical(list("aaaaarrbbbbbsscccc"), tree))


def test_another_order_lets_values_be_together_that_are_not_listed_so() -> None:
    listed, tried = run(spread()), run(spread(), orders=2)
    first, second = listed.summary(), tried.summary()
    assert (first["cost"], first["optimal"]) == (5**2 + 7**2 + 6**2, True)
    assert (second["cost"], second["optimal"], second["order"]) == (5**2 + 5**2 + 4**2 + 4**2, True, "rows")
    column = tried.appearances(spread(), Output())[0].columns()[0]
    assert {column.texts[text] for text in column.of_class[:-1].tolist()} == {"a", "b", "c", "{r|s}"}
    assert "order" not in first


@settings(max_examples=some(20), deadline=None)
@given(st.integers(0, 1000))
def test_more_orders_begin_no_worse_and_reruns_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"v{code}" for code in range(7)]
    tree = taxonomy(*(f"{name} g{at % 3} *" for at, name in enumerate(names)), name="q")
    table = table_of(categorical([names[code] for code in rng.integers(0, 7, 40)], tree))
    one, four = run(table).summary(), run(table, orders=4)
    assert one["optimal"] and four.summary()["cost"] <= one["cost"]
    again = run(table, orders=4)
    assert np.array_equal(four.partition.order, again.partition.order) and four.summary() == again.summary()


def _text(domain: Taxonomy) -> str | None:
    """How a missing value reads."""
    return None if domain.missing is None else domain.labels[domain.missing]
