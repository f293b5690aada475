from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anonymize.algorithms import Context, incognito
from anonymize.algorithms.incognito import Options
from anonymize.algorithms.lattice import search
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import METRICS, PAYOUT, Scorer
from anonymize.errors import InfeasibleError, UsageError
from anonymize.recoding import Levels
from anonymize.table import OutputFile
from tests.algorithms.full_domain import check_node, leveled, nodes, patients, safe_nodes, sweeney
from tests.algorithms.tables import k_anonymity, requirement, sensitive, table_of

TWO = (k_anonymity(2),)

GENERAL = [metric for metric in METRICS if metric != PAYOUT]
"""Those that need no game of publisher and attacker in the spec; test_scores has that one."""


def run(limit: int = 0, **options: Any) -> Levels:
    return incognito.run(patients(), TWO, Options(**options), Context(limit))


def test_the_safe_nodes_of_the_paper() -> None:
    """Figure 3: of birth date, sex and ZIP these are 2-anonymous."""
    assert set(safe_nodes(patients(), TWO, 0)) == {(0, 1, 2), (1, 0, 2), (1, 1, 0), (1, 1, 1), (1, 1, 2)}


@pytest.mark.parametrize("subsets", [False, True])
@pytest.mark.parametrize("metric", GENERAL)
def test_the_best_node_is_released(metric: str, subsets: bool) -> None:
    found = run(metric=metric, subsets=subsets)
    assert found.vector is not None
    check_node(patients(), found, found.vector, TWO)
    scorer = Scorer(Checker(patients(), TWO), metric)
    assert scorer.score(found.vector) == min(map(scorer.score, safe_nodes(patients(), TWO, 0)))
    assert found.summary()["score"] == scorer.score(found.vector)[0]


def test_subsets_rule_out_nodes_by_their_parts() -> None:
    """As published, what is not 2-anonymous in two attributes is not checked in three."""
    found = run(subsets=True, metric="height").summary()
    assert found["nodes_checked"] + found["nodes_skipped"] == found["nodes_total"] == len(list(nodes(patients())))
    assert found["nodes_skipped"] > 0


def test_suppressed_rows_are_those_of_failing_classes() -> None:
    found = incognito.run(sweeney(), TWO, Options(metric="precision"), Context(2))
    assert found.vector is not None and 0 < len(found.suppressed) <= 2
    check_node(sweeney(), found, found.vector, TWO)


def test_a_time_limit_tells_the_gap() -> None:
    assert "gap" not in run().summary()
    assert run(time_limit=60.0).summary()["gap"] == 0
    assert run(time_limit=1e-9).summary()["gap"] >= 0


def test_iterating_loses_less() -> None:
    found = incognito.run(sweeney(), TWO, Options(iterate=True), Context())
    assert found.vector is None and found.summary()["rounds"] > 1
    assert len(found.suppressed) == 0


def test_where_iterating_cannot_finish_the_best_node_is_taken() -> None:
    """All rows together are not diverse, half of them are, and the others may be suppressed."""
    values = ["x", "y", "x", "y", "x", "x", "x", "x"]
    table = table_of(leveled("group", list("aaaabbbb")), sensitive=[sensitive(values)])
    wanted = (requirement("entropy-l-diversity", "s", l=2),)
    found = incognito.run(table, wanted, Options(iterate=True), Context(4))
    assert found.suppressed.tolist() == [4, 5, 6, 7]
    with pytest.raises(InfeasibleError, match="entropy-l-diversity"):
        incognito.run(table, wanted, Options(iterate=True), Context(3))


def test_the_lattice_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lattice.json"
    with OutputFile(path) as file:
        context = Context(files={"output_lattice": file})
        incognito.run(patients(), TWO, Options(output_lattice=str(path), metric="height"), context)
        assert not path.exists()
        file.commit()
    lattice = json.loads(path.read_text(encoding="utf-8"))
    assert lattice["attributes"] == [{"name": a.name, "height": a.hierarchy.height} for a in patients().attributes]
    assert {tuple(node["levels"]) for node in lattice["nodes"]} == set(nodes(patients()))
    safe = {tuple(node["levels"]) for node in lattice["nodes"] if node["safe"]}
    assert safe == set(safe_nodes(patients(), TWO, 0))
    assert all(node["score"] == node["height"] == sum(node["levels"]) for node in lattice["nodes"])


def test_a_score_that_is_infinite_is_null(tmp_path: Path) -> None:
    """With a factor of 0 kept classes count nothing, and without suppressed rows there is nothing else."""
    with OutputFile(tmp_path / "lattice.json") as file:
        options = Options(metric="c_avg", gs_factor=0.0, time_limit=60.0, output_lattice=file.name)
        told = incognito.run(patients(), TWO, options, Context(files={"output_lattice": file})).summary()
        file.commit()
    nodes = json.loads((tmp_path / "lattice.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)["nodes"]
    assert told["score"] is None and told["gap"] == 0
    assert {node["score"] for node in nodes if node["safe"]} == {None}


@pytest.mark.parametrize("option", ["subsets", "iterate"])
def test_what_is_not_for_large_lattices(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "WALKED_NODES", 3)
    with pytest.raises(UsageError, match="12 nodes"):
        run(**{option: True})


def test_nothing_is_safe() -> None:
    with pytest.raises(InfeasibleError, match="k-anonymity"):
        incognito.run(patients(), (k_anonymity(7),), Options(), Context())
