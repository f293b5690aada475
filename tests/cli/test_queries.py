"""The options of `evaluate` about COUNT queries."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.cli.evaluate import evaluate
from anonymize.cli.queries import query_plan
from anonymize.metrics.queries import QueryPlan


def given(*options: str) -> dict[str, Any]:
    """What the command is given, with a spec and a release."""
    return evaluate.make_context("evaluate", ["spec.yaml", "released.csv", *options]).params


def test_queries_of_a_file_go_without_other_options() -> None:
    assert query_plan(given("--query-file", "q.yaml")) == QueryPlan()


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        (["--query-attributes", " age,,zip ,", "--query-attributes", "age"], QueryPlan(attributes=("age", "zip"))),
        (["--query-dimensions", "1-2,5"], QueryPlan(dimensions=(1, 2, 5))),
        (["--query-points", "--query-seeds", "2"], QueryPlan(points=True, repeats=2)),
        (["--query-selectivity", "1", "--query-bound", "0.5"], QueryPlan(selectivity=1.0, bound=0.5)),
    ],
)
def test_random_queries_are_as_the_options_say(options: list[str], plan: QueryPlan) -> None:
    assert query_plan(given(*options)) == plan
