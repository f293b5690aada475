"""What the cells of a release cost, read from their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize.privacy import PARAMETERS
from anonymize.report.shown import CellCosts, ShownColumn
from anonymize.spec import make

TREE = "cook,kitchen,*\nwaiter,kitchen,*\nclerk,office,*\nchief,office,*\n"


AGES = "20,young,*\n30,young,*\n40,old,*\n60,old,*\nunknown,not told,*\n"


def costs(
    texts: list[str],
    definition: dict[str, Any],
    high: list[str] | None = None,
    *,
    labelled: bool = False,
    **output: Any,
) -> CellCosts:
    content = {
        "version": 1,
        "input": {"missing": ["", "?"]},
        "quasi_identifiers": {"job": definition},
        "privacy": {"k": 2},
        "output": output,
    }
    low = pl.Series("job", texts, pl.String)
    above = low if high is None else pl.Series("job", high, pl.String)
    return ShownColumn("job", low, above, make(content, PARAMETERS), labelled).costs()


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "jobs.csv"
    path.write_text(TREE, encoding="utf-8")
    return {"hierarchy": str(path)}


@pytest.mark.parametrize(
    ("texts", "ncp", "level"),
    [(["cook", "clerk"], [0, 0], 0), (["*", "*"], [1, 1], 1), (["cook", "*"], [0, 1], None)],
    ids=["values", "nothing", "both"],
)
def test_of_a_flat_hierarchy_a_value_costs_nothing(texts: list[str], ncp: list[float], level: int | None) -> None:
    told = costs(texts, {})
    assert told.ncp is not None
    assert (told.ncp.tolist(), told.level, told.relative_to) == (ncp, level, "values")


def test_a_set_is_no_level_of_a_flat_hierarchy() -> None:
    told = costs(["{clerk|cook}", "{chief|cook}"], {}, categorical="set")
    assert told.ncp is not None
    assert (told.ncp.tolist(), told.level) == ([1, 1], None)


def test_of_a_hierarchy_file_a_label_costs_its_share_of_the_leaves(tree: dict[str, Any]) -> None:
    told = costs(["kitchen", "office"], tree)
    assert told.ncp is not None
    assert (told.ncp.tolist(), told.level, told.relative_to) == ([0.5, 0.5], 1, "hierarchy")
    mixed = costs(["kitchen", "clerk"], tree)
    assert mixed.ncp is not None
    assert (mixed.ncp.tolist(), mixed.level) == ([0.5, 0], None)


@pytest.mark.parametrize(
    ("low", "high", "ncp"),
    [(["0", "2"], ["1", "3"], [0.5, 0.5]), (["0", "1"], ["3", "1"], [1, 0]), (["1"], ["2"], [1])],
    ids=["nodes", "all and one", "across"],
)
def test_numbers_of_leaves_stand_for_the_lowest_node_above(
    tree: dict[str, Any], low: list[str], high: list[str], ncp: list[float]
) -> None:
    told = costs(low, tree, high, categorical="bounds")
    assert told.ncp is not None and told.ncp.tolist() == ncp


@pytest.mark.parametrize(
    ("low", "high"), [("0", "4"), ("a", "b"), ("0", "b"), ("a", "3"), ("kitchen", "office"), ("cook", "clerk")]
)
def test_what_is_no_node_has_no_cost(tree: dict[str, Any], low: str, high: str) -> None:
    told = costs(["0", low], tree, ["3", high], categorical="bounds")
    assert told.ncp is None and told.loss is None


@pytest.mark.parametrize(
    ("texts", "ncp"),
    [
        (["{cook|waiter}", "{cook|clerk}"], [0.5, 1]),
        (["{cook|gardener}"], None),
        (["?", "cook"], [0, 0]),
        (["?", "{?|cook}"], [0, 1]),
        (["{?|cook}"], None),
        (["kitchen", "gardener"], None),
        (["*", "kitchen"], [1, 0.5]),
    ],
)
def test_sets_and_missing_values_of_a_hierarchy_file(
    tree: dict[str, Any], texts: list[str], ncp: list[float] | None
) -> None:
    told = costs(texts, tree, categorical="set")
    assert ncp is None if told.ncp is None else told.ncp.tolist() == ncp


def test_a_value_that_had_to_be_escaped_is_the_leaf_that_it_was(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(TREE + "post|man,outside,*\n", encoding="utf-8")
    told = costs([r"post\|man", r"{cook|post\|man}"], {"hierarchy": str(path)}, categorical="set")
    assert told.ncp is not None and told.ncp.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("texts", "ncp"),
    [
        (["young", "old"], [0.25, 0.5]),
        (["young", "35", "60"], [0.25, 0, 0]),
        (["young", "*", "60", "?"], [0.25, 1, 0, 0]),
        (["*", "20", "60"], [1, 0, 0]),
        (["young", "middling"], None),
        (["young", "not told"], None),
    ],
)
def test_a_label_over_numbers_costs_the_width_of_those_under_it(
    tmp_path: Path, texts: list[str], ncp: list[float] | None
) -> None:
    path = tmp_path / "ages.csv"
    path.write_text(AGES, encoding="utf-8")
    told = costs(texts, {"type": "numeric", "hierarchy": str(path)}, labelled=True, numeric="mean")
    assert ncp is None if told.ncp is None else told.ncp.tolist() == ncp
    assert told.relative_to == (None if ncp is None else "range shown")


def test_a_label_over_numbers_without_a_file_has_no_cost() -> None:
    assert costs(["young", "20"], {"type": "numeric"}, labelled=True).ncp is None


@pytest.mark.parametrize(("shown", "told"), [("mean", False), ("median", False), ("interval", True)])
def test_a_number_in_place_of_several_does_not_tell_what_it_cost(shown: str, told: bool) -> None:
    assert (costs(["20", "40"], {"type": "numeric"}, numeric=shown).ncp is not None) == told


@pytest.mark.parametrize(
    ("texts", "definition", "ncp", "relative_to"),
    [
        (["[20-40]", "50", "*", "?"], {"domain": [0, 100]}, [0.2, 0, 1, 0], "domain"),
        (["[20-40]", "60"], {}, [0.5, 0], "range shown"),
        (["[0-10)", "[10-20)"], {}, [0.5, 0.5], "range shown"),
        (["[0-10]", "15+"], {"domain": [0, 20]}, [0.5, 0], "domain"),
        (["[0-30]", "5"], {"domain": [0, 20]}, [1, 0], "domain"),
        (["5", "5"], {}, [0, 0], "range shown"),
        (["*", "?"], {}, [1, 0], "range shown"),
    ],
)
def test_a_number_costs_the_width_that_it_shows(
    texts: list[str], definition: dict[str, Any], ncp: list[float], relative_to: str
) -> None:
    told = costs(texts, {"type": "numeric"} | definition)
    assert told.ncp is not None and told.loss is not None
    assert told.ncp.tolist() == ncp and told.loss.tolist() == ncp
    assert told.relative_to == relative_to


@pytest.mark.parametrize(("texts", "ncp"), [(["021*", "*"], None), (["*", "?"], [1, 0])])
def test_of_a_hierarchy_that_is_made_only_what_is_hidden_has_a_cost(texts: list[str], ncp: list[float] | None) -> None:
    told = costs(texts, {"hierarchy": {"mask": "right"}})
    assert ncp is None if told.ncp is None else told.ncp.tolist() == ncp


def test_what_is_hidden_costs_all_of_a_hierarchy_and_stands_on_no_level(tree: dict[str, Any]) -> None:
    told = costs(["kitchen", "*"], tree)
    assert told.ncp is not None and told.loss is not None and told.level == 1
    assert (told.ncp.tolist(), told.loss.tolist()) == ([0.5, 1], [pytest.approx(1 / 3), 1])
    assert costs(["*"], tree).level is None


def test_what_hides_needs_no_label_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(TREE.replace("*", "anything"), encoding="utf-8")
    told = costs(["kitchen", "*"], {"hierarchy": str(path)})
    assert told.ncp is not None and told.ncp.tolist() == [0.5, 1]


def test_a_number_is_that_of_a_leaf_in_bounds_alone(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("cook,1,*\nwaiter,1,*\nclerk,2,*\nchief,2,*\n", encoding="utf-8")
    for categorical, ncp in (("node", 0.5), ("bounds", 0)):
        told = costs(["1"], {"hierarchy": str(path)}, categorical=categorical)
        assert told.ncp is not None and told.ncp.tolist() == [ncp]


def test_a_label_in_several_places_costs_what_the_widest_does(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("cook,kitchen,*\nwaiter,kitchen,*\nkitchen,office,*\nchief,office,*\n", encoding="utf-8")
    told = costs(["kitchen"], {"hierarchy": str(path)})
    assert told.ncp is not None and told.ncp.tolist() == [0.5]


def test_one_text_is_on_a_level_too() -> None:
    assert (costs(["cook"], {}).level, costs(["*"], {}).level) == (0, 1)
