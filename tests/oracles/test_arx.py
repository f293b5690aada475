"""Agreement with ARX: the cases of its own test suite on Adult, replayed through the command line as it ships.

The file of cases is not part of the project. It is looked for in the folder that ANONYMIZE_SHARED names, else in
`shared` beside the repository; where it is not there, nothing is tested.

By default a few cases are run that take little time, one of each kind. With HYPOTHESIS_PROFILE=explore all are: the
optima, and the score of every node that a case lists, each as a release of that node alone.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.oracles import arx
from tests.oracles.arx import ABORTED, FILE, agrees, cases, differs, figures, missing, released

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"{FILE.name} is not there: set ANONYMIZE_SHARED")

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
QUICK = (
    "TestAnonymizationBLikeness#1",
    "TestAnonymizationCombinations#1",
    "TestAnonymizationCombinations#3",
    "TestAnonymizationCombinations#4",
    "TestAnonymizationKMap#6",
    "TestAnonymizationKAnonymity#0",
    "TestAnonymizationLDiversity#0",
    "TestAnonymizationTCloseness#5",
    "TestUtilityMetricsLoss#1",
)
"""Of the optima, those that are run by default."""
NODES = 1
"""How many nodes of a list of scores are run by default, of the first cases of each metric."""


def optima() -> list[Any]:
    chosen = [case for case in cases() if case["kind"] == "optimum" and (ALL or case["id"] in QUICK)]
    return [pytest.param(case, id=case["id"]) for case in chosen]


def nodes() -> list[Any]:
    """Cases with one of the nodes that they list; where no row would be left, there is no release."""
    listed, metrics = [], set()
    for case in cases():
        if case["kind"] == "scores" and (ALL or case["metric"]["name"] not in metrics) and differs(case) is None:
            metrics.add(case["metric"]["name"])
            some = case["expected_scores"] if ALL else case["expected_scores"][:NODES]
            listed += [pytest.param(case, each, id=f"{case['id']} {each['transformation']}") for each in some]
    return listed


@pytest.mark.parametrize("case", optima())
def test_the_optimum_is_that_of_arx(case: dict[str, Any], tmp_path: Path) -> None:
    lacking = missing(case)
    if lacking is not None:
        pytest.skip(f"not here: {lacking}")
    outcome = released(case, tmp_path)
    if case["expected_no_solution"]:
        assert outcome.code == 4, outcome.text
        return
    reason = differs(case)
    if outcome.code == 4 and reason:
        return
    assert outcome.code == 0, outcome.text
    if reason is None and case["portable"]["global_optimum"]:
        assert agrees(outcome, case["expected_information_loss"])
    elif reason in (ABORTED, None):  # ARX's may be a heuristic's
        assert outcome.score <= figures(case["expected_information_loss"])


@pytest.mark.parametrize(("case", "expected"), nodes())
def test_the_score_of_a_node_is_that_of_arx(case: dict[str, Any], expected: dict[str, Any], tmp_path: Path) -> None:
    """The node alone may be released, with all of its failing classes suppressed, however many these are."""
    lacking = missing(case)
    if lacking is not None:
        pytest.skip(f"not here: {lacking}")
    outcome = released(case, tmp_path, levels=expected["transformation"], suppression=1.0)
    if outcome.code == 4:
        pytest.skip("all classes of this node fail, so that nothing could be released")
    assert outcome.code == 0, outcome.text
    assert outcome.recoding["levels"] == dict(zip(case["qi_order"], expected["transformation"], strict=True))
    assert agrees(outcome, expected["information_loss"])


def test_every_case_is_one_that_can_be_run_or_says_what_is_lacking() -> None:
    lacking = {case["id"] for case in cases() if missing(case)}
    known = {case["id"] for case in cases() if "precision" in case["metric"]["name"]}
    assert lacking <= known
    assert set(QUICK) <= {case["id"] for case in arx.cases() if case["kind"] == "optimum"}
