"""The options of `evaluate` about decision trees."""

from __future__ import annotations

from anonymize.cli.trees import tree_plan
from anonymize.evaluation.patterns import Tolerance, TreePlan

PLAIN = {"tree": "ward", "tree_depth": None, "tree_columns": (), "support_within": None, "confidence_within": None}


def test_trees_are_compared_as_the_options_say() -> None:
    assert tree_plan({**PLAIN}) == TreePlan("ward")
    own = {"tree_depth": 5, "tree_columns": ("age",), "support_within": 0.0, "confidence_within": 0.0}
    assert tree_plan({**PLAIN, **own}) == TreePlan("ward", 5, ("age",), Tolerance(0.0, 0.0))
