"""A synthetic table in `evaluate` and `audit`, beside a manifest that is written by hand: nothing is drawn here."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.verify.resampled import resampled
from anonymize.verify.synthetic import SyntheticManifest, epsilon_of, rho_of_gaussian

SPEC = """\
version: 1
input: {path: table.csv}
quasi_identifiers:
  age: {type: numeric}
  sex: {}
workload: {targets: [ill]}
domains: {age: {low: 20, high: 23, missing: false}, sex: {values: [f, m, x], missing: false}, ill: [no, yes]}
privacy: {differential: {epsilon: EPSILON, delta: 1e-9}}
"""
SIGMA = 3.0
RHO = 3 * rho_of_gaussian(1, SIGMA)
EPSILON = epsilon_of(RHO, 1e-9)
ROWS = [(20 + n % 3, "fm"[n % 2], ("no", "yes")[n % 5 == 0]) for n in range(60)]
CLIQUES: list[dict[str, Any]] = [
    {"columns": ["age"], "values": [20, 18, 21, 1]},
    {"columns": ["sex"], "values": [29, 30, 1]},
    {"columns": ["ill"], "values": [47, 12, 1]},
]


def block() -> dict[str, Any]:
    """How the synthetic table was drawn."""
    each = {"sigma": SIGMA, "sensitivity": 1, "rho": rho_of_gaussian(1, SIGMA)}
    places = [[age, age] for age in (20, 21, 22, 23)]
    return {
        **{"kind": "synthetic", "method": "independent", "individual": "row", "rows_per_unit": 1, "count": "private"},
        "differential": {"epsilon": EPSILON, "delta": 1e-9, "rho": RHO},
        "domain": {
            "age": {"bins": [20, 21, 22, 23, 24], "whole": True, "digits": 0, "places": places, "missing": False},
            "sex": ["f", "m", "x"],
            "ill": ["no", "yes", None],
        },
        "measurements": [{**clique, **each} for clique in CLIQUES],
        "selections": [],
        "model": {"cliques": CLIQUES},
        "sampler": {"seed": 5, "rows": 60, "sorted": True},
    }


def written(folder: Path, declared: dict[str, Any]) -> list[dict[str, str | None]]:
    """The original, the synthetic table and its manifest; the rows of the synthetic one."""
    manifest = SyntheticManifest.of(declared)
    frame = resampled(manifest.model, manifest.domain, 60, 5, ordered=True)
    frame.write_csv(folder / "synthetic.csv")
    content = {"format": "anonymize-manifest", "version": 1, "separator": ",", "synthetic": declared}
    content["columns"] = [{"name": name, "meaning": "invented"} for name in manifest.domain]
    (folder / "synthetic.manifest.json").write_text(json.dumps(content))
    with open(folder / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "ill"), *ROWS])
    (folder / "spec.yaml").write_text(SPEC.replace("EPSILON", f"{EPSILON!r}"))
    return frame.to_dicts()


def ran(folder: Path, *words: str) -> int:
    return outcome(lambda: run([words[0], str(folder / "spec.yaml"), *words[1:], "-q", "--force"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, block())
    return tmp_path


def evaluated(folder: Path, *options: str) -> dict[str, Any]:
    report = folder / "report.json"
    assert ran(folder, "evaluate", str(folder / "synthetic.csv"), "-r", str(report), *options) == 0
    content: dict[str, Any] = json.loads(report.read_text())
    return content


def by_hand(rows: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]], some: Sequence[int]) -> float:
    """The total variation of a marginal."""
    sides = [[tuple(row[place] for place in some) for row in side] for side in (rows, others)]
    cells = set(sides[0]) | set(sides[1])
    return sum(abs(sides[0].count(c) / len(rows) - sides[1].count(c) / len(others)) for c in cells) / 2


def test_marginals_are_compared_cell_by_cell_also_where_the_original_has_none(tmp_path: Path) -> None:
    drawn = [tuple(row[name] or "" for name in ("age", "sex", "ill")) for row in written(tmp_path, block())]
    assert any(row[1] == "x" for row in drawn) and any(row[0] == "23" for row in drawn)
    original = [(str(age), sex, ill) for age, sex, ill in ROWS]
    # A number that the original does not have counts as the nearest one that it has.
    near = [("22" if age == "23" else age, sex, ill) for age, sex, ill in drawn]
    for way, figures in enumerate(evaluated(tmp_path)["variation"]["ways"], start=1):
        expected = [by_hand(original, near, some) for some in combinations(range(3), way)]
        assert figures["mean"] == pytest.approx(sum(expected) / len(expected), abs=1e-6)
        assert figures["worst"] == pytest.approx(max(expected), abs=1e-6)


def test_nothing_of_classes_is_measured_and_the_report_says_what_no_epsilon_covers(folder: Path) -> None:
    report = evaluated(folder)
    assert not {"classes", "risk", "marginals"} & report.keys()
    assert report["utility"].keys() == {"query_error"} and report["utility"]["query_error"]["median"] is not None
    assert {"gcp", "discernibility", "average_class_size", "distances"} <= report["left_out"].keys()
    assert any("no epsilon covers these figures" in each for each in report["warnings"])


def test_models_are_trained_on_invented_rows_and_tested_on_rows_of_the_original_held_out(folder: Path) -> None:
    models = evaluated(folder, "--models", "--test-share", "0.3")["models"]
    figures = next(iter(models["targets"]["ill"]["models"].values()))
    assert set(figures) == {"original", "released"} and models["protocol"]["test_share"] == 0.3


def test_a_public_report_has_nothing_of_the_original(folder: Path) -> None:
    report = evaluated(folder, "--public-report")
    assert not {"variation", "utility"} & report.keys()


def audited(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    report = folder / "audit.json"
    code = ran(folder, "audit", "-i", str(folder / "synthetic.csv"), "-r", str(report), *options)
    return code, json.loads(report.read_text()) if report.exists() else {}


def test_audit_recomputes_what_was_spent_and_claims_nothing_of_classes(folder: Path) -> None:
    code, report = audited(folder)
    (model,) = report["privacy"]["models"]
    assert (code, model["basis"], model["satisfied"]) == (0, "derived", True)
    assert model["achieved"]["epsilon"] == pytest.approx(EPSILON)
    assert "classes" not in report and not report["risk"]


def test_audit_finds_a_changed_row(folder: Path) -> None:
    table = folder / "synthetic.csv"
    table.write_text(table.read_text().replace("20,f,no", "20,m,no", 1))
    code, report = audited(folder)
    assert code == 1
    assert "not those that the sampler draws" in report["privacy"]["models"][0]["why"]


def test_audit_finds_a_budget_above_what_is_required(folder: Path) -> None:
    spec = folder / "spec.yaml"
    spec.write_text(spec.read_text().replace(f"{EPSILON!r}", f"{EPSILON * 0.9!r}"))
    assert audited(folder)[0] == 1


@pytest.mark.parametrize("options", [("-k", "2"), ("--subsets", "2")])
def test_audit_refuses_what_is_of_classes(folder: Path, options: tuple[str, ...]) -> None:
    assert audited(folder, *options)[0] == 2


def test_a_manifest_that_does_not_say_how_rows_were_drawn_is_an_error(folder: Path) -> None:
    path = folder / "synthetic.manifest.json"
    content = json.loads(path.read_text())
    del content["synthetic"]["measurements"]
    path.write_text(json.dumps(content))
    assert audited(folder)[0] == 3


def held_out(folder: Path) -> Path:
    """A table of others, with the columns of the original."""
    path = folder / "others.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "ill"), *((20 + n % 3, "mf"[n % 2], "no") for n in range(40))])
    return path


def attacked(folder: Path, *options: str) -> dict[str, Any]:
    report = folder / "attacked.json"
    assert ran(folder, "attack", str(folder / "synthetic.csv"), "-r", str(report), *options) == 0
    content: dict[str, Any] = json.loads(report.read_text())
    return content


def test_invented_rows_are_attacked_beside_people_who_are_not_in_the_original(folder: Path) -> None:
    report = attacked(folder, "--control", str(held_out(folder)))
    results = {each["attacker"]: each for each in report["attacks"]["results"]}
    assert report["attacks"]["truth"] == "nobody"
    assert {"singling-out", "singling-out-univariate", "linkability", "closest-record"} <= results.keys()
    assert results["linkability"]["control"]["targets"] == 40
    rows = report["original"]["rows"]
    assert results["closest-record"]["baseline"]["value"] == pytest.approx(rows / (rows + 40))
    assert all("epsilon" in each["remedy"] for each in results.values())
    assert not {"prosecutor", "marketer", "downcoding"} & {*results, *report["attacks"]["left_out"]}
    assert any("no epsilon covers these figures" in each for each in report["warnings"])
    assert not any("is true of everybody" in each for each in report["warnings"])


def test_a_sensitive_value_is_guessed_from_the_nearest_invented_row(folder: Path) -> None:
    spec = (folder / "spec.yaml").read_text().replace("workload: {targets: [ill]}", "sensitive: {ill: {}}")
    (folder / "spec.yaml").write_text(spec)
    report = attacked(folder, "--attackers", "inference-nearest,inference-majority", "--control", str(held_out(folder)))
    results = {each["attacker"]: each for each in report["attacks"]["results"]}
    assert [each["about"] for each in results.values()] == ["ill", "ill"]
    assert 0 <= results["inference-nearest"]["figures"]["dcap"] <= 1
    assert results["inference-nearest"]["control"]["targets"] == 40


def test_without_control_the_report_says_what_its_figures_are_of(folder: Path) -> None:
    report = attacked(folder)
    assert "closest-record" in report["attacks"]["left_out"]
    assert any("is true of everybody" in each for each in report["warnings"])


def test_columns_that_nobody_knows_and_nobody_asks_for_give_no_condition(folder: Path) -> None:
    spec = (folder / "spec.yaml").read_text()
    known = spec[spec.index("quasi_identifiers") : spec.index("domains")]
    (folder / "spec.yaml").write_text(
        spec.replace(known, "insensitive: [age, sex, ill]\nsynthesize: {method: independent}\n")
    )
    block = attacked(folder)["attacks"]
    assert {"singling-out-univariate", "inference-model"} <= {*block["left_out"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--attackers", "prosecutor,linkability"), "prosecutor looks for somebody's row"),
        (("--attackers", "downcoding"), "downcoding reads what cells were widened to"),
        (("--attackers", "reconstruction"), "reconstruction undoes a distortion"),
        (("--attackers", "composition"), "composition puts releases of the same people together"),
        (("--attackers", "closest-record"), "closest-record needs people who are not in the original (--control)"),
        (("--previous", "table.csv"), "--previous: rows are invented"),
        (("--link", "link.json"), "--link: rows are invented"),
    ],
)
def test_what_is_about_rows_of_people_is_refused_by_name(
    folder: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(folder, "attack", str(folder / "synthetic.csv"), *options) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_attackers_of_invented_rows_have_nothing_to_do_in_a_release(folder: Path) -> None:
    (folder / "synthetic.manifest.json").unlink()
    (folder / "spec.yaml").write_text(
        (folder / "spec.yaml").read_text().replace("workload: {targets: [ill]}", "insensitive: [ill]")
    )
    assert ran(folder, "attack", str(folder / "table.csv"), "--attackers", "closest-record") == 2
