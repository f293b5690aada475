"""The report's risk as tables."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.report.evaluation import SHOWN, evaluation_sections, risks

BLOCK: dict[str, Any] = {"prosecutor_max": 0.5, "threshold": 0.1}
SPECIAL = {"uniques": 3, "max_size": 2, "score": {"max": 2.0, "mean": 0.5, "contributions": {"age": 0.75}}}


def subset(names: str, uniques: int) -> dict[str, Any]:
    figures = {"distinct": 2, "separation": 0.5, "uniques": uniques, "minimal_uniques": uniques}
    return {"attributes": list(names), **figures}


def test_a_sample_is_shown_against_its_population() -> None:
    population = {"sampling_fraction": 0.25, "uniques": 0.5, "estimator": "pitman"}
    identification, section = risks({"risk": BLOCK | {"population": population}})
    assert identification.title == "Re-identification risk"
    assert section.title == "Population uniqueness"
    assert section.header == ("measure", "share", "figure", "key")
    assert [row[1:] for row in section.rows] == [
        ("25 %", "", "sampling_fraction"),
        ("50 %", "", "uniques"),
        ("", "pitman", "estimator"),
    ]


@pytest.mark.parametrize(("pairs", "shown"), [(0, 2), (23, 25), (24, 25)])
def test_subsets_are_every_attribute_and_then_those_that_tell_most(pairs: int, shown: int) -> None:
    subsets = [subset("a", 1), *(subset("ab", number) for number in range(pairs)), subset("b", 0)]
    _, section, special = risks({"risk": BLOCK | {"subsets": subsets, "special_uniques": SPECIAL}})
    told = f" ({SHOWN} of {len(subsets)}; all are in the JSON report)" if len(subsets) > SHOWN else ""
    assert section.title == "What subsets of the quasi-identifiers distinguish" + told
    assert [row[0] for row in section.rows] == ["a", "b", *["a, b"] * (shown - 2)]
    assert [row[-1] for row in section.rows[2:]] == [str(number) for number in reversed(range(pairs))][: shown - 2]
    assert special.rows[-1][:2] == ("age", "75 %")


def test_of_many_attributes_each_is_shown_and_no_set_of_them() -> None:
    subsets = [*(subset(letter, 1) for letter in "abcdefghijklmnopqrstuvwxyz"), subset("ab", 9)]
    section = risks({"risk": BLOCK | {"subsets": subsets, "special_uniques": SPECIAL}})[1]
    assert len(section.rows) == 26 and "(26 of 27; " in section.title


def test_each_part_of_the_risk_is_a_section_of_its_own() -> None:
    passing = {"columns": ["ward", "visit"], "uniques": 0.5, "left_out": [], "max_size": 2}
    smallest = [{"columns": ["ward", "visit"], "uniques": 0.25}]
    figures = {"population": 53, "journalist_max": 0.5, "records_at_risk": 0.125}
    block = BLOCK | {
        "attacker": {"ill": {"success": 0.5, "baseline": 0.25, "original": 0.75}, "job": None},
        "passing": passing | {"smallest": smallest},
        "sample": figures,
        "journalist": figures,
    }
    own, attacker, columns, sets, sample, journalist = risks({"risk": block})
    assert [row[1:] for row in attacker.rows] == [("50 %", "success"), ("25 %", "baseline"), ("75 %", "original")]
    assert all(row[0].startswith("ill: ") for row in attacker.rows)
    assert columns.rows[0][1:] == ("50 %", "uniques") and sets.rows == [("ward, visit", "0.25")]
    assert sets.title.endswith("single rows out (of at most 2 columns)")
    assert [section.rows[-1][-1] for section in (sample, journalist)] == ["records_at_risk"] * 2
    assert all("is above 0.1" in section.rows[-1][0] for section in (sample, journalist))
    assert own.rows[0][1:] == ("50 %", "prosecutor_max")


def test_columns_that_were_not_combined_are_counted_and_none_that_single_out_are_not_shown() -> None:
    passing = {"columns": ["ward"], "uniques": 0.5, "left_out": ["visit", "note"], "max_size": 2}
    assert len(risks({"risk": BLOCK | {"passing": passing | {"smallest": None}}})) == 2
    assert len(risks({"risk": BLOCK | {"passing": passing | {"columns": []}}})) == 1
    sets = risks({"risk": BLOCK | {"passing": passing | {"smallest": []}}})[-1]
    assert sets.title.endswith("(of at most 2 columns); 2 columns were not looked at together with others")


@pytest.mark.parametrize("given", [{}, {"threshold": 0.2}])
def test_the_threshold_is_a_fifth_unless_another_was_asked_for(given: dict[str, float]) -> None:
    block = {"records_at_risk": 0.5, "sample": {"records_at_risk": 0.5}, "journalist": {"records_at_risk": 0.5}}
    assert all("is above 0.2" in section.rows[-1][0] for section in risks({"risk": block | given}))


# --- evaluation -------------------------------------------------------------------------------------------------------


def told(mean: float, sd: float | None) -> dict[str, Any]:
    return {"accuracy": {"mean": mean, "sd": sd}, "area_under_curve": {"mean": mean / 2, "sd": sd}}


def test_models_have_a_row_for_each_measure_with_its_spread_over_the_folds() -> None:
    models = {
        "naive_bayes": {"original": told(0.75, 0.0123), "released": told(0.5, None)},
        "baseline": {"released": told(0.25, 0.1)},
    }
    (section,) = evaluation_sections({"models": {"targets": {"ill": {"models": models}}}})
    assert section.title == "Models of ill" and section.names == 2
    assert section.rows == [
        ("naive_bayes", "accuracy", "0.75 ± 0.012", "0.5"),
        ("naive_bayes", "area under curve", "0.375 ± 0.012", "0.25"),
        ("baseline", "accuracy", "-", "0.25 ± 0.1"),
        ("baseline", "area under curve", "-", "0.125 ± 0.1"),
    ]


def test_a_projection_names_what_was_dropped_last_and_one_figure_of_each_model() -> None:
    steps = [
        {"dropped": dropped, "models": {"naive_bayes": {"original": told(mean, None), "released": told(mean, 0.1)}}}
        for dropped, mean in (([], 0.75), (["age"], 0.5), (["age", "job"], 0.25))
    ]
    models = {"naive_bayes": {"original": told(0.75, None), "released": told(0.5, None)}}
    _, section = evaluation_sections({"models": {"targets": {"ill": {"models": models, "projection": steps}}}})
    assert section.title == "ill without its best predictors" and section.names == 2
    assert section.rows == [
        ("none", "naive_bayes", "0.75", "0.75 ± 0.1"),
        ("age", "naive_bayes", "0.5", "0.5 ± 0.1"),
        ("job", "naive_bayes", "0.25", "0.25 ± 0.1"),
    ]


def test_only_what_there_are_figures_for_is_a_section() -> None:
    assert (
        evaluation_sections({})
        == []
        == evaluation_sections({"utility": {"imprecision": {"selections": []}, "distances": {"ill": {}}}})
    )


def test_what_a_recipient_can_do_has_a_row_for_each_figure_with_its_meaning() -> None:
    distances = {"ill": {"total_variation": 0.5, "cube_error": 3.0}}
    targets = {"paid": {"mean_squared_error": 2.5, "variance": 5.0}}
    (section,) = evaluation_sections(
        {"utility": {"average_class_size": 4.0, "targets": targets, "distances": distances}}
    )
    assert [row[:2] for row in section.rows] == [
        ("average class size", "4"),
        ("paid: mean squared error", "2.5"),
        ("paid: variance", "5"),
        ("ill: total variation", "0.5"),
        ("ill: CUBE error", "3"),
    ]


def test_what_tells_of_what_is_a_row_where_it_was_measured() -> None:
    uncertainty = {"age": {"ill": {"original": 0.5, "released": 0.25}}, "job": {"ill": None}}
    (section,) = evaluation_sections({"utility": {"distances": {"ill": {}}, "uncertainty": uncertainty}})
    assert section.rows == [("age", "ill", "0.5", "0.25")] and section.names == 2


def test_selections_are_numbered_from_one() -> None:
    returned = {"original": 12, "released": 15, "imprecision": 0.25}
    (section,) = evaluation_sections({"utility": {"imprecision": {"selections": [returned, returned]}}})
    assert section.rows == [("1", "12", "15", "0.25"), ("2", "12", "15", "0.25")]


def test_splits_of_a_tree_are_moved_in_by_their_depth_and_patterns_say_whether_they_survived() -> None:
    nodes = [
        {"depth": depth, "rows": 10 - depth, "share": 0.5, "label": "flu", "condition": "age < 30"}
        for depth in (0, 1, 2)
    ]
    patterns = [
        {
            **nodes[0],
            "conditions": ["age < 30", "job = cook"],
            "statement": ["age in 20-29"],
            "rows_in_release": rows,
            "share_in_release": 0.25,
            "survived": rows > 0,
        }
        for rows in (9, 0)
    ]
    tree = {"target": "ill", "original": nodes, "release": nodes[:1], "patterns": patterns, "survived": 1}
    original, release, survived = evaluation_sections({"tree": tree})
    assert [row[-1] for row in original.rows] == ["everywhere", "· age < 30", "· · age < 30"]
    assert release.rows == [("10", "0.5", "flu", "everywhere")]
    assert survived.title == "ill: 1 of 2 patterns survived"
    whole = ("10", "0.5", "flu", "age < 30 and job = cook")
    assert survived.rows == [
        ("yes", *whole, "9", "0.25", "age in 20-29"),
        ("no", *whole, "0", "0.25", "age in 20-29"),
    ]


def test_queries_have_a_row_for_all_and_one_for_each_number_of_attributes() -> None:
    def block(queries: int) -> dict[str, Any]:
        quantiles = {"0.25": 0.125, "0.75": 0.5}
        return {"queries": queries, "empty": 1, "median": 0.25, "mean": 0.375, "quantiles": quantiles}

    (section,) = evaluation_sections(
        {"utility": {"query_error": block(60) | {"by_dimension": {"1": block(20), "2": block(40)}}}}
    )
    assert section.header == ("attributes", "queries", "count is 0", "median", "mean", "25%", "75%")
    figures = ("1", "0.25", "0.375", "0.125", "0.5")
    assert section.rows == [("all", "60", *figures), ("1", "20", *figures), ("2", "40", *figures)]


def test_marginals_have_a_row_for_each_number_of_columns() -> None:
    ways = [
        {"columns": 1, "marginals": 2, "left_out": 0, "mean": 0.125, "worst": 0.25, "worst_of": ["age"]},
        {"columns": 2, "marginals": 0, "left_out": 1, "mean": None, "worst": None, "worst_of": []},
    ]
    (section,) = evaluation_sections({"variation": {"columns": ["age", "sex"], "values": 100, "ways": ways}})
    assert section.rows == [("1", "2", "0", "0.125", "0.25", "age"), ("2", "0", "1", "-", "-", "")]
