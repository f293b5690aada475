"""The public report, of releases that were written by hand: everything in it is read from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS
from anonymize.report.public import public_report
from anonymize.report.published import Published, PublishedFile
from anonymize.spec import load
from anonymize.verify.verdict import NOTHING_ASKED
from tests.common.manifests import manifest_of

SPEC = """\
version: 1
quasi_identifiers:
  age: {type: numeric, domain: [0, 100], weight: 3}
  job: {}
"""
TABLE = "age,job,ill\n" + "[20-40],cook,flu\n" * 3 + "50,*,flu\n" * 3 + "*,*,gout\n" * 2 + "*,cook,gout\n"


def report_of(folder: Path, spec: str, algorithm: str, *files: str, **options: Any) -> dict[str, Any]:
    (folder / "spec.yaml").write_text(SPEC + ("" if spec.startswith("sensitive:") else "sensitive: [ill]\n") + spec)
    released = []
    for number, text in enumerate(files):
        path = folder / f"released{number}"
        path.write_text(text)
        released.append(PublishedFile(path, "csv", ",", f"hash {number}"))
    read, chosen = load(folder / "spec.yaml", PARAMETERS), ALGORITHMS[algorithm].Options(**options)
    manifest = manifest_of(read, algorithm, chosen, [each.path for each in released])
    return public_report(Published(released, read, manifest, algorithm, chosen))


def test_what_cells_and_classes_lost_is_read_from_the_release(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\n", "mondrian", TABLE)
    assert report["public"] is True and report["recoding"] == {"kind": "regions"}
    assert report["output"] == {"sha256": "hash 0", "rows": 9, "suppressed_rows": 2, "suppressed_cells": 3 + 5}
    utility = report["utility"]
    assert utility.pop("attributes") == {
        "age": {"ncp": pytest.approx(3.6 / 9), "loss": pytest.approx(3.6 / 9), "weight": 3, "relative_to": "domain"},
        "job": {"ncp": 5 / 9, "loss": 5 / 9, "weight": 1, "relative_to": "values"},
    }
    assert utility == {
        "gcp": pytest.approx(8.6 / 18),
        "ncp": pytest.approx(8.6),
        "ncp_weighted": pytest.approx(3 * 3.6 + 5),
        "discernibility": 3**2 + 3**2 + 1 + 2 * 9,
        "c_avg": 7 / 3 / 2,
        "loss": pytest.approx(8.6 / 18),
        "suppression": 2 / 9,
    }


@pytest.mark.parametrize(
    ("columns", "cells"),
    [("age", "[20-40]"), ("age_low,age_high", "20,40"), ("age_low,age_high,age_missing", "20,40,no")],
)
def test_a_number_is_read_from_the_columns_that_it_has(tmp_path: Path, columns: str, cells: str) -> None:
    bounds = "\noutput: {numeric: bounds}" if "," in columns else ""
    report = report_of(tmp_path, f"privacy: {{k: 2}}{bounds}\n", "mondrian", f"{columns},job,ill\n{cells},cook,flu\n")
    assert report["utility"]["attributes"]["age"]["ncp"] == pytest.approx(0.2)


def test_rows_that_all_show_nothing_are_a_class_and_not_suppressed(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\n", "mondrian", "age,job,ill\n" + "*,*,flu\n" * 3)
    figures = report["utility"]
    assert (figures["discernibility"], figures["c_avg"], figures["suppression"]) == (9, 1.5, 0)


def test_a_cell_that_is_missing_is_not_one_that_is_suppressed(tmp_path: Path) -> None:
    table = "age,job,ill\n" + "20,,flu\n" * 2 + "*,cook,flu\n" * 3
    assert report_of(tmp_path, "privacy: {k: 2}\n", "mondrian", table)["output"]["suppressed_cells"] == 3


def test_a_release_without_rows_has_lost_nothing(tmp_path: Path) -> None:
    figures = report_of(tmp_path, "privacy: {k: 2}\n", "mondrian", "age,job,ill\n")["utility"]
    assert (figures["gcp"], figures["c_avg"], figures["suppression"]) == (None, None, 0)


@pytest.mark.parametrize(("bound", "satisfied"), [(0.5, False), (1, True)])
def test_what_passes_through_is_judged_row_by_row_and_not_by_individual(
    tmp_path: Path, bound: float, satisfied: bool
) -> None:
    """The table has two rows that are alike, of nine."""
    ward = "age,job,ill,ward\n" + "".join(f"20,cook,flu,{max(row, 1)}\n" for row in range(9))
    spec = f"insensitive: [ward]\nprivacy: {{k: 2, passing: {{uniques: {bound}}}}}\n"
    report = report_of(tmp_path, spec, "mondrian", ward)
    passing = report["risk"]["passing"]
    assert (passing["required"], passing["satisfied"]) == ({"uniques": bound}, satisfied)
    assert passing["uniques"] == pytest.approx(7 / 9)
    assert "counts" not in passing and report["privacy"]["satisfied"] is satisfied
    assert report["risk"]["prosecutor_max"] == pytest.approx(1 / 9)
    report = report_of(tmp_path, f"unit: who\n{spec}", "mondrian", ward)
    passing = report["risk"].pop("passing")
    assert (passing["required"], passing["satisfied"], passing["counts"]) == ({"uniques": bound}, None, "rows")
    assert report["privacy"]["satisfied"] is None and report["risk"] == {}


def test_a_total_is_unknown_where_a_cost_is(tmp_path: Path) -> None:
    spec = "privacy: {k: 2}\noutput: {numeric: mean}\n"
    report = report_of(tmp_path, spec, "mondrian", TABLE.replace("[20-40]", "30"))
    attributes = report["utility"]["attributes"]
    assert (attributes["age"]["ncp"], attributes["job"]["ncp"]) == (None, 5 / 9)
    assert [report["utility"][name] for name in ("gcp", "ncp", "ncp_weighted", "loss")] == [None] * 4


@pytest.mark.parametrize(("algorithm", "levels"), [("incognito", {"job": 1}), ("mondrian", None)])
def test_levels_are_those_of_algorithms_that_choose_levels(
    tmp_path: Path, algorithm: str, levels: dict[str, int] | None
) -> None:
    report = report_of(
        tmp_path, "privacy: {k: 2}\n", algorithm, "age,job,ill\n" + "[20-40],*,flu\n[50-60],*,gout\n" * 2
    )
    assert report["recoding"].get("levels") == levels


def test_options_that_are_paths_are_nobodys_business(tmp_path: Path) -> None:
    told = report_of(tmp_path, "privacy: {k: 2}\n", "incognito", TABLE, output_lattice="CANARY.json")["algorithm"]
    assert "output_lattice" not in told["options"] and len(told["options"]) > 1 and "CANARY" not in json.dumps(told)


def test_the_order_of_rows_is_looked_at_where_it_is_the_inputs(tmp_path: Path) -> None:
    unsorted = "age,job,ill\n" + "50,*,flu\n[20-40],cook,flu\n" * 2
    order = report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: keep}\n", "mondrian", unsorted)["privacy"][
        "order"
    ]
    assert (order["judged"], order["sorted"]) == (False, False)
    report = report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: shuffle}\n", "mondrian", unsorted)
    assert "order" not in report["privacy"]


def test_what_is_about_individuals_is_not_shown_by_rows(tmp_path: Path) -> None:
    models = "privacy: {k: 2, models: [{model: entropy-l-diversity, attribute: ill, l: 1.5}]}\n"
    report = report_of(tmp_path, "unit: who\n" + models, "mondrian", TABLE)
    privacy = report["privacy"]
    assert NOTHING_ASKED not in report["warnings"]
    assert NOTHING_ASKED in report_of(tmp_path, "unit: who\n", "mondrian", TABLE)["warnings"]
    assert privacy["satisfied"] is None and [each["satisfied"] for each in privacy["models"]] == [None, None]
    why = "could not be shown: it is about individuals, and the release shows rows"
    assert privacy["unknown"] == [f"k-anonymity {why}", f"entropy-l-diversity of ill {why}"]


@pytest.mark.parametrize(("k", "satisfied"), [(1, None), (2, False)])
def test_what_is_about_a_population_is_not_shown(tmp_path: Path, k: int, satisfied: bool | None) -> None:
    (tmp_path / "people.csv").write_text("age,job\n30,cook\n")
    models = f"privacy: {{k: {k}, models: [{{model: risk, journalist_max: 0.5, population: people.csv}}]}}\n"
    report = report_of(tmp_path, models, "mondrian", TABLE)
    assert report["privacy"]["satisfied"] is satisfied and "journalist_max" not in report["risk"]
    entry = report["privacy"]["models"][-1]
    assert (entry["required"], entry["achieved"], entry["satisfied"]) == ({"journalist_max": 0.5}, {}, None)


def test_distances_over_a_hierarchy_are_those_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "ills.csv").write_text("flu,lungs,*\ngout,joints,*\ncold,lungs,*\n")
    spec = "sensitive: {ill: {hierarchy: ills.csv}}\n"
    spec += "privacy: {k: 1, models: [{model: t-closeness, t: 0.5, distance: hierarchical}]}\n"
    table = "age,job,ill\n1,a,flu\n1,a,flu\n2,a,cold\n2,a,cold\n"
    (entry,) = report_of(tmp_path, spec, "mondrian", table)["privacy"]["models"][1:]
    assert entry["achieved"] == {"t": 0.25, "distance": "hierarchical"}  # half moves half of the height


def test_a_hierarchy_that_no_distance_needs_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "ills.csv").write_text("flu,lungs,*\nflu,joints,*\n")
    spec = "sensitive: {ill: {hierarchy: ills.csv}}\nprivacy: {l: 1}\n"
    assert report_of(tmp_path, spec, "mondrian", TABLE)["privacy"]["satisfied"] is True


GROUPS = "age,job,group\n1,a,1\n2,b,1\n3,a,2\n4,c,2\n5,a,2\n"
VALUES = "group,ill,count\n1,flu,1\n1,gout,1\n2,flu,1\n2,gout,1\n2,cold,1\n"


def test_groups_lose_nothing_of_the_quasi_identifiers(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {l: 2}\n", "anatomy", GROUPS, VALUES)
    assert report["output"] == {"sha256": "hash 0", "rows": 5, "sensitive_sha256": "hash 1"}
    assert report["recoding"] == {"kind": "buckets", "files": "two", "groups": 2}
    assert report["privacy"]["satisfied"] is True and report["utility"].pop("attributes") == {
        name: {"ncp": 0, "loss": 0, "weight": weight, "relative_to": "values"}
        for name, weight in (("age", 3), ("job", 1))
    }
    assert report["utility"] == {"gcp": 0, "ncp": 0, "ncp_weighted": 0, "discernibility": 2**2 + 3**2, "loss": 0}
    joined = "age,job,group,ill\n1,a,1,flu\n2,b,1,gout\n"
    report = report_of(tmp_path, "privacy: {l: 2}\n", "anatomy", joined)
    assert report["output"] == {"sha256": "hash 0", "rows": 2}
    assert report["recoding"] == {"kind": "buckets", "files": "one", "groups": 1}


def randomized(folder: Path, privacy: str, p: float = 0.5) -> dict[str, Any]:
    """The report of four rows, all different by their ward; of the attributes only `job` was distorted, if any."""
    job: dict[str, Any] = {"name": "job", "role": "quasi-identifier", "p": p}
    job |= {} if p == 1 else {"values": ["a", "b", "c", "d"]}
    told = {"format": "anonymize-randomization", "version": 1, "rows": 4, "separator": ","}
    parameters = told | {"attributes": [job, {"name": "ill", "role": "sensitive", "p": 1}]}
    table = "age,job,ill,ward\n1,a,flu,1\n2,b,flu,2\n3,c,gout,3\n4,d,gout,4\n"
    return report_of(folder, f"insensitive: [ward]\n{privacy}", "randomize", table, json.dumps(parameters))


def test_of_distorted_values_the_recipients_parameters_are_told(tmp_path: Path) -> None:
    report = randomized(tmp_path, "privacy: {l: 2}\n")
    assert report["output"] == {"sha256": "hash 0", "rows": 4}
    (figures,) = report["recoding"]["distortion"].values()
    assert figures == {"p": 0.5, "q": pytest.approx(0.5 / 3), "values": 4}
    privacy = report["privacy"]
    assert (privacy["satisfied"], privacy["verified"]) == (None, True)
    why = "it depends on the original, which is not in the release"
    assert privacy["unknown"] == [f"disclosure of ill could not be shown: {why}"]


def test_where_nothing_was_distorted_nothing_is_told_of_it(tmp_path: Path) -> None:
    assert randomized(tmp_path, "privacy: {l: 2}\n", p=1)["recoding"] == {"kind": "randomized"}


@pytest.mark.parametrize(("bound", "satisfied"), [(0.5, False), (1, None)])
def test_columns_that_pass_through_a_distortion_are_judged(
    tmp_path: Path, bound: float, satisfied: bool | None
) -> None:
    report = randomized(tmp_path, f"privacy: {{l: 2, passing: {{uniques: {bound}}}}}\n")
    assert report["privacy"]["satisfied"] is satisfied and report["risk"]["passing"]["uniques"] == 1
