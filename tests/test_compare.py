"""Algorithms side by side: the figures are those of single releases, and what is known is not made again."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anonymize._compare import Compare, compare, compare_routes
from anonymize.errors import UsageError
from anonymize.measuring import Measuring, pick, with_front
from anonymize.privacy import PARAMETERS
from anonymize.python import evaluate, release
from anonymize.report.page import page
from anonymize.report.section import figure
from anonymize.report.tables import sections
from anonymize.spec import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    rows = [f"{20 + row * 7 % 41},{'FM'[row % 2]},{('flu', 'gout', 'hay')[row % 3]}" for row in range(200)]
    (folder / "table.csv").write_text("\n".join(["age,sex,ill", *rows]) + "\n")
    quasi = "quasi_identifiers: {age: {type: numeric}, sex: {}}\nsensitive: {ill: {}}\n"
    (folder / "spec.yaml").write_text(f"version: 1\ninput: {{path: table.csv}}\n{quasi}privacy: {{k: 4}}\n")
    return folder


@pytest.fixture(scope="module")
def request_(folder: Path) -> Compare:
    spec = load(folder / "spec.yaml", PARAMETERS)
    return Compare(spec, ["mondrian", "mondrian cut=widest", "anatomy"], [3, 150], processes=2, cache=folder / "cache")


@pytest.fixture(scope="module")
def report(request_: Compare) -> dict[str, Any]:
    return compare(request_)


def test_a_cell_has_the_figures_of_its_release(folder: Path, report: dict[str, Any]) -> None:
    cell = report["comparison"][0]
    single = release(folder / "table.csv", folder / "spec.yaml", "mondrian", k=3).report
    assert (cell["label"], cell["k"], cell["code"]) == ("mondrian", 3, 0)
    assert cell["gcp"] == single["utility"]["gcp"] and cell["classes"] == single["classes"]["count"]
    assert cell["prosecutor_max"] == single["risk"]["prosecutor_max"]
    assert cell["cpu_seconds"] > 0 and cell["gcp_weighted"] == pytest.approx(cell["gcp"])
    assert "query_error" not in cell and "models" not in cell
    assert [each["label"] for each in report["comparison"][2:4]] == ["mondrian cut=widest"] * 2


def test_what_cannot_be_made_is_listed_with_its_reason(report: dict[str, Any]) -> None:
    refused = report["comparison"][4:]
    assert [each["code"] for each in refused] == [2, 2]
    assert "anatomy gives no k-anonymity" in refused[0]["error"][0]
    assert not any(each["efficient"] for each in refused)


def test_nothing_is_left_behind_but_results(folder: Path, report: dict[str, Any]) -> None:
    assert {path.name for path in folder.iterdir()} == {"table.csv", "spec.yaml", "cache"}
    stored = list((folder / "cache").iterdir())
    assert len(stored) == 4 and all(path.stat().st_mode & 0o077 == 0 for path in stored)
    assert "flu" not in "".join(path.read_text() for path in stored)


def test_what_is_known_is_not_made_again_until_something_changes(request_: Compare, report: dict[str, Any]) -> None:
    assert request_.cache is not None
    for path in request_.cache.iterdir():
        path.write_text(json.dumps({**json.loads(path.read_text()), "gcp": 0.125}))
    again = compare(replace(request_, algorithms=["mondrian"]))
    assert [each["gcp"] for each in again["comparison"]] == [0.125, 0.125]
    changed = request_.spec.model_copy(update={"weights": "correlation"})
    anew = compare(replace(request_, spec=changed, algorithms=["mondrian"], ks=[3], processes=0))
    assert anew["comparison"][0]["gcp"] != 0.125


def test_a_broken_result_is_made_again(request_: Compare, folder: Path) -> None:
    alone = replace(request_, algorithms=["mondrian"], ks=[5], cache=folder / "cache" / "own", processes=0)
    compare(alone)
    (stored,) = (folder / "cache" / "own").iterdir()
    stored.write_text("{")
    assert compare(alone)["comparison"][0]["code"] == 0


def test_releases_are_kept_where_that_is_asked(request_: Compare, tmp_path: Path) -> None:
    compare(replace(request_, algorithms=["mondrian cut=widest"], ks=[3], keep=tmp_path, processes=0))
    assert [path.name for path in tmp_path.iterdir()] == ["mondrian-cut-widest-k3.csv"]


def test_a_folder_for_releases_must_be_there_before_any_is_made(request_: Compare, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--keep: there is no folder"):
        compare(replace(request_, keep=tmp_path / "missing"))


def result(label: str, k: int, risk: float, gcp: float | None, seconds: float = 1.0) -> dict[str, Any]:
    return {"label": label, "k": k, "code": 0, "prosecutor_max": risk, "gcp": gcp, "seconds": seconds}


def test_efficient_are_those_that_no_other_beats() -> None:
    results = [result("a", 5, 0.2, 0.3), result("b", 5, 0.2, 0.2), result("c", 10, 0.1, 0.2), result("d", 2, 0.5, None)]
    assert [each["efficient"] for each in with_front(results)] == [False, False, True, False]
    twins = [result("a", 5, 0.2, 0.3), result("b", 5, 0.2, 0.3)]
    assert [each["efficient"] for each in with_front(twins)] == [True, True]


def test_the_choice_is_by_loss_or_by_time_within_a_share_of_it() -> None:
    results = [result("a", 5, 0.2, 0.100, 9), result("b", 5, 0.2, 0.104, 2), result("c", 5, 0.2, 0.2, 1)]
    results += [result("a", 9, 0.1, 0.4, 3)]
    assert [each["label"] for each in pick({"comparison": results}, None)] == ["a", "a"]
    assert [each["label"] for each in pick({"comparison": results}, 0.05)] == ["b", "a"]
    with pytest.raises(UsageError):
        pick({"comparison": [{"code": 4, "gcp": None}]}, None)


@pytest.mark.parametrize("names", [["mondrain"], ["mondrian cut=none"], ["mondrian colour=red"]])
def test_algorithms_that_there_are_not_are_refused(request_: Compare, names: list[str]) -> None:
    with pytest.raises(UsageError):
        compare(replace(request_, algorithms=names))


def test_a_pipe_is_refused(request_: Compare) -> None:
    with pytest.raises(UsageError):
        compare(replace(request_, input="-"))


def measured_by(folder: Path) -> Measuring:
    text = (folder / "spec.yaml").read_text().replace("sex: {}", "sex: {weight: 3}")
    (folder / "measured.yaml").write_text(text + "workload: {targets: [sex]}\n")
    return Measuring(load(folder / "measured.yaml", PARAMETERS), queries=50, model="decision_tree")


def test_what_is_measured_beside_is_what_evaluate_says_and_the_search_is_told_nothing(
    request_: Compare, report: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("sklearn")
    measuring = measured_by(folder)
    given: dict[str, Any] = {"ks": [3], "measuring": measuring, "keep": tmp_path, "processes": 0}
    asked = replace(request_, algorithms=["mondrian", "anatomy"], **given)
    cell, refused = compare(asked)["comparison"]
    assert cell["gcp"] == report["comparison"][0]["gcp"] and refused["code"] == 2
    said = evaluate(tmp_path / "mondrian-k3.csv", folder / "measured.yaml", folder / "table.csv", queries=50).report[
        "utility"
    ]
    assert cell["query_error"] == said["query_error"]["median"]
    assert cell["gcp_weighted"] == pytest.approx(said["ncp_weighted"] / (200 * (1 + 3)))
    assert cell["gcp_weighted"] != pytest.approx(cell["gcp"])
    scores = cell["models"]["sex"]
    assert scores["figure"] == "accuracy" and 0 <= scores["released"] <= 1 and 0 <= scores["original"] <= 1
    assert [path.name for path in tmp_path.iterdir()] == ["mondrian-k3.csv"]
    table = sections({"comparison": [cell, refused]})[0]
    assert table.header[8:-1] == ("query error", "sex: accuracy, original", "sex: accuracy, released")
    assert table.rows[0][8] == figure(cell["query_error"]) and table.rows[1][8] == figure(None)


def test_models_are_tested_on_rows_that_they_were_not_trained_on(folder: Path, tmp_path: Path) -> None:
    """A tree that has seen a row of which the quasi-identifiers are alone knows its value: of noise, on all rows it is
    mostly right, and on others no better than chance."""
    pytest.importorskip("sklearn")
    rng = random.Random(5)
    rows = [f"{number},{'FM'[rng.randrange(2)]},{rng.choice('abcdefgh')}" for number in range(400)]
    (tmp_path / "table.csv").write_text("\n".join(["age,sex,ill", *rows]) + "\n")
    text = (folder / "spec.yaml").read_text().replace("sensitive: {ill: {}}", "workload: {targets: [ill]}")
    (tmp_path / "spec.yaml").write_text(text.replace("k: 4", "k: 1"))
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    measuring, table = Measuring(model="decision_tree"), str(tmp_path / "table.csv")
    asked = Compare(spec, ["mondrian"], measuring=measuring, input=table, processes=0)
    scores = compare(asked)["comparison"][0]["models"]["ill"]
    assert scores["released"] < 0.3 and scores["original"] < 0.3


def test_figures_measured_by_another_spec_are_not_those_that_are_kept(request_: Compare, folder: Path) -> None:
    alone = replace(request_, algorithms=["mondrian"], ks=[3], cache=folder / "cache" / "measured", processes=0)
    plain, more = (compare(replace(alone, measuring=each)) for each in (Measuring(), Measuring(queries=20)))
    assert "query_error" not in plain["comparison"][0] and "query_error" in more["comparison"][0]
    assert len(list((folder / "cache" / "measured").iterdir())) == 2


@pytest.mark.parametrize(("model", "word"), [("oracle", "is not one of"), ("decision_tree", "needs a target")])
def test_models_that_there_are_not_or_that_have_no_target_are_refused(request_: Compare, model: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        compare(replace(request_, measuring=Measuring(model=model)))


# --- under differential privacy ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def private(folder: Path) -> Compare:
    """A spec whose columns have public domains, with k and differential privacy."""
    domains = "domains: {age: {low: 20, high: 60, missing: false}, sex: [F, M], ill: [flu, gout, hay]}\n"
    more = "synthesize: {method: independent}\nprivacy: {k: 4, differential: {epsilon: 1, delta: 1.0e-9}}\n"
    text = (folder / "spec.yaml").read_text().replace("privacy: {k: 4}\n", domains + more)
    (folder / "private.yaml").write_text(text)
    spec = load(folder / "private.yaml", PARAMETERS)
    return Compare(spec, ["mondrian", "synthesize"], [4], processes=0, epsilons=(0.5, 5.0))


def test_synthetic_tables_at_each_epsilon_stand_beside_releases_at_each_k(private: Compare) -> None:
    report = compare(replace(private, seeds=2))
    classes, weak, strong = report["comparison"]
    assert [each["code"] for each in report["comparison"]] == [0, 0, 0]
    assert (classes["k"], weak["k"], weak["epsilon"], strong["epsilon"]) == (4, None, 0.5, 5.0)
    assert "epsilon" not in classes and classes["gcp"] > 0 and weak["gcp"] is None
    assert all(0 <= each[f"variation_{way}"] <= 1 for each in report["comparison"] for way in (1, 2, 3))
    assert strong["variation_1"] < weak["variation_1"] and weak["spread"]["variation_1"] > 0
    assert any("no epsilon covers it" in str(each) for each in report["warnings"])
    compared = next(each for each in sections(report) if each.title == "Algorithms compared")
    assert {"epsilon", "1-way variation", "3-way variation"} <= set(compared.header)
    drawn = [each for chapter in page(report).chapters for each in chapter.pictures]
    assert any("synthesize, epsilon 0.5" in getattr(each, "labels", ()) for each in drawn)


def test_what_was_drawn_is_not_kept_for_the_next_comparison(private: Compare, tmp_path: Path) -> None:
    compare(replace(private, algorithms=["synthesize"], epsilons=(5.0,), cache=tmp_path / "cache"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_an_epsilon_that_is_none_is_refused(private: Compare, epsilon: float) -> None:
    with pytest.raises(UsageError, match="--epsilon: is above 0"):
        compare(replace(private, epsilons=(epsilon,)))


def test_an_epsilon_needs_the_delta_of_the_spec(private: Compare, folder: Path) -> None:
    own = private.spec.privacy.model_copy(update={"differential": None})
    spec = private.spec.model_copy(update={"privacy": own})
    (made,) = compare(replace(private, spec=spec, algorithms=["synthesize"], epsilons=(1.0,)))["comparison"]
    assert made["code"] == 2 and "the spec has no delta" in made["error"][0]


def test_routes_that_change_values_have_linkage_beside_what_they_lost(folder: Path) -> None:
    pram = "{method: pram, columns: [ill], matrix: {flu: {flu: 0.2, gout: 0.8}, gout: {gout: 1}, hay: {hay: 1}}}"
    steps = f"[{{method: microaggregation, columns: [age], k: 6}}, {pram}]"
    given = f"version: 1\ninput: {{path: table.csv}}\nothers: insensitive\ntreatments: {steps}\n"
    (folder / "steps.yaml").write_text(given + "risk: {attacks: [distance-linkage]}\n")
    report = compare(Compare(load(folder / "steps.yaml", PARAMETERS), ["perturb"], processes=0))
    (row,) = report["comparison"]
    assert row["code"] == 0 and 0 < row["linkage"] <= 1 and row["il1s"] > 0 and 0 < row["total_variation"] < 0.5
    compared = sections(report)[0]
    assert {"linked by numbers", "IL1s", "total variation"} <= set(compared.header)


def test_routes_of_several_specs_stand_in_one_table_and_one_plot(folder: Path) -> None:
    """Generalization beside local suppression, each by its own spec."""
    text = (folder / "spec.yaml").read_text()
    steps = "treatments:\n  - {method: suppress, columns: [age, sex], k: 4}\n"
    (folder / "usual.yaml").write_text(text + steps)
    specs = {name: load(folder / f"{name}.yaml", PARAMETERS) for name in ("usual", "spec")}
    algorithms = {"usual": ["perturb"], "spec": ["mondrian"]}
    requests = {name: Compare(spec, algorithms[name], processes=0) for name, spec in specs.items()}
    report = compare_routes(requests)
    rows = report["comparison"]
    assert [(each["label"], each["route"]) for each in rows] == [
        ("usual: perturb", "usual"),
        ("spec: mondrian", "spec"),
    ]
    assert all(each["code"] == 0 and each["gcp"] is not None and each["prosecutor_max"] <= 0.25 for each in rows)
    assert any(each["efficient"] for each in rows)
    assert {row[0] for row in sections(report)[0].rows} == {"usual: perturb", "spec: mondrian"}
    (folder / "other.csv").write_text("age,sex,ill\n1,F,flu\n")
    with pytest.raises(UsageError, match="different tables"):
        compare_routes({**requests, "spec": replace(requests["spec"], input=str(folder / "other.csv"))})
    with pytest.raises(UsageError, match="--keep: is about one spec"):
        compare_routes({"usual": replace(requests["usual"], keep=folder)})
