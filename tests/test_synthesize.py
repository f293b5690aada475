"""Synthetic tables, from the command to the files."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.domain.public import public_domain
from anonymize.dp.estimation import FittedModel
from anonymize.dp.sampler import Clique
from anonymize.dp.synthesis import rows_of
from anonymize.privacy import PARAMETERS
from anonymize.report.rendering import markdown
from anonymize.spec import load

SPEC: dict[str, Any] = {
    "version": 1,
    "input": {"path": "table.csv", "missing": ["?"]},
    "identifiers": ["name"],
    "quasi_identifiers": {"age": {"type": "numeric", "domain": [0, 9]}, "sex": {}},
    "sensitive": {"ill": {}},
    "insensitive": ["cost"],
    "domains": {"sex": ["f", "m"], "ill": ["flu", "none"], "cost": {"low": -1, "high": 1.5, "bins": 2}},
    "privacy": {"differential": {"epsilon": 5, "delta": 1e-6}},
    "synthesize": {"method": "independent"},
}
ROWS = [f"p{n},{n % 10},{'fm'[n % 2]},{('flu', 'none', '?')[n % 3]},{n % 26 / 10 - 1:.1f}" for n in range(600)]
HEADER = "name,age,sex,ill,cost"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write()
    return tmp_path


def write(rows: list[str] | None = None, header: str = HEADER, **changes: Any) -> None:
    Path("table.csv").write_text("\n".join([header, *(ROWS if rows is None else rows)]) + "\n")
    spec = {name: value for name, value in {**SPEC, **changes}.items() if value is not None}
    Path("spec.yaml").write_text(yaml.safe_dump(spec))


def synthesize(*arguments: str) -> int:
    return outcome(lambda: run(["synthesize", "spec.yaml", *arguments]))


def made(*arguments: str) -> tuple[list[dict[str, str]], dict[str, Any], dict[str, Any]]:
    """The rows, the manifest, and the report."""
    assert synthesize("-o", "out.csv", "-r", "report.json", "-q", *arguments) == 0
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, json.loads(Path("out.manifest.json").read_text()), json.loads(Path("report.json").read_text())


def test_every_column_that_is_released_is_invented_within_its_domain(desk: Path) -> None:
    rows, manifest, report = made()
    assert list(rows[0]) == ["age", "sex", "ill", "cost"]
    assert {row["sex"] for row in rows} <= {"f", "m", "?"} and {row["ill"] for row in rows} <= {"flu", "none", "?"}
    assert {row["age"] for row in rows} <= {*map(str, range(10)), "?"}
    costs = [float(row["cost"]) for row in rows if row["cost"] != "?"]
    assert min(costs) >= -1 and max(costs) <= 1.5 and any(cost < 0 for cost in costs)
    assert {each["meaning"] for each in manifest["columns"]} == {"invented"}
    assert abs(len(rows) - 600) < 60 and report["output"]["rows"] == len(rows)
    assert abs(sum(row["ill"] == "?" for row in rows) - 200) < 60


def test_the_manifest_has_all_that_the_mechanism_put_out(desk: Path) -> None:
    rows, manifest, _ = made()
    block = manifest["synthetic"]
    assert (block["kind"], block["method"], block["individual"]) == ("synthetic", "independent", "row")
    assert (block["rows_per_unit"], block["count"]) == (1, "private")
    spent = sum(each["rho"] for each in block["measurements"])
    assert spent == pytest.approx(block["differential"]["rho"], rel=1e-6)
    assert block["domain"]["sex"] == ["f", "m", None] and block["domain"]["cost"]["bins"] == [-1, 0.25, 1.5]
    assert [each["columns"] for each in block["measurements"]] == [["age"], ["sex"], ["ill"], ["cost"]]
    assert [len(each["values"]) for each in block["measurements"]] == [11, 3, 3, 3]
    assert block["sampler"]["rows"] == len(rows)


def test_the_rows_can_be_drawn_again_from_the_manifest(desk: Path) -> None:
    rows, manifest, _ = made()
    block, spec = manifest["synthetic"], load("spec.yaml", PARAMETERS)
    domains = [public_domain(spec, name) for name in block["domain"]]
    sizes = {each.name: each.size for each in domains}
    cliques = tuple(
        Clique.of_counts(each["columns"], [sizes[name] for name in each["columns"]], each["values"])
        for each in block["model"]["cliques"]
    )
    sampler = block["sampler"]
    frame = rows_of(FittedModel(cliques, 0), domains, sampler["rows"], sampler["seed"], ordered=sampler["sorted"])
    assert frame.fill_null("?").to_dicts() == rows


def test_the_first_thing_that_is_said_is_the_guarantee(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synthesize("-o", "out.csv", "-r", "report.md") == 0
    said = "Whatever an attacker knows, whether one row was in the table changes the probability of any output"
    second = " ".join(capsys.readouterr().err.split("\n")[1:3])
    assert said in " ".join(second.split())
    lines = [line for line in Path("report.md").read_text().splitlines() if line]
    assert lines[2].startswith(said) and "Rows are invented; none is a person" in lines[2]


def test_the_verdict_is_derived_from_what_the_check_adds_up(desk: Path) -> None:
    _, _, report = made()
    (model,) = report["privacy"]["models"]
    assert (model["model"], model["satisfied"], model["basis"]) == ("differential-privacy", True, "derived")
    assert model["achieved"]["epsilon"] == pytest.approx(5, rel=1e-6)
    assert report["differential"]["count"] == "private" and report["private"] is True


def test_a_public_report_says_the_same_without_the_input(desk: Path) -> None:
    _, _, report = made("--public-report")
    assert report["public"] and report["privacy"]["satisfied"] and "input" not in report
    assert report["differential"]["epsilon"] == 5


@pytest.mark.parametrize("arguments", [(), ("--public-report",)])
def test_a_report_says_how_it_was_drawn(desk: Path, arguments: tuple[str, ...]) -> None:
    _, _, report = made(*arguments)
    assert report["settings"] == {
        "method": {"value": "independent", "from": "spec"},
        "count": {"value": "private", "from": "default"},
        "rows_per_unit": {"value": 1, "from": "default"},
    }
    assert "| method | independent | spec |" in markdown(report) and "suppression | 0.0" not in markdown(report)


def test_two_runs_differ(desk: Path) -> None:
    first, one, _ = made()
    second, other, _ = made("--force")
    assert one["synthetic"]["measurements"] != other["synthetic"]["measurements"] and first != second


def test_of_each_individual_no_more_rows_count_than_are_declared(desk: Path) -> None:
    rows = [f"p{n % 50},{n % 10},f,flu,0" for n in range(600)]
    write(rows, header="person,age,sex,ill,cost", identifiers=None, unit="person")
    released, manifest, report = made()
    assert abs(len(released) - 50) < 40 and manifest["synthetic"]["individual"] == "person"
    assert "whether one individual (by person) was in the table" in report["differential"]["said"]
    assert outcome(lambda: run(["audit", "spec.yaml", "-i", "out.csv", "-q"])) == 0
    write(
        rows,
        header="person,age,sex,ill,cost",
        identifiers=None,
        unit="person",
        synthesize={"method": "independent", "rows_per_unit": 4},
    )
    released, manifest, _ = made("--force")
    assert abs(len(released) - 200) < 120
    assert {each["sensitivity"] for each in manifest["synthetic"]["measurements"]} == {4.0}


def test_a_public_count_is_the_number_of_rows(desk: Path) -> None:
    write(synthesize={"method": "independent", "count": "public"})
    rows, manifest, _ = made()
    assert len(rows) == 600 and manifest["synthetic"]["count"] == "public"


def test_a_delta_that_is_no_small_share_of_the_rows_is_a_warning(desk: Path) -> None:
    write(privacy={"differential": {"epsilon": 5, "delta": 0.01}})
    _, _, report = made()
    assert any(warning.startswith("delta is 0.01") for warning in report["warnings"])


def test_typed_tables_are_read_and_written(desk: Path) -> None:
    import polars as pl

    pl.read_csv("table.csv", null_values="?").write_parquet("table.parquet")
    assert synthesize("-i", "table.parquet", "-o", "out.parquet", "-q") == 0
    frame = pl.read_parquet("out.parquet")
    assert frame.columns == ["age", "sex", "ill", "cost"]
    assert set(frame["ill"].unique()) == {"flu", "none", None}  # of a third each of 600, the noise being about 1


def test_numbers_that_were_read_with_commas_are_written_with_commas(desk: Path) -> None:
    rows = [";".join([*each.split(",")[:4], each.split(",")[4].replace(".", ",")]) for each in ROWS]
    given = {"path": "table.csv", "missing": ["?"], "separator": ";", "decimal": ","}
    quasi = {"age": {"type": "numeric", "domain": [0, 9.5]}, "sex": {}}
    write(rows, HEADER.replace(",", ";"), input=given, quasi_identifiers=quasi)
    assert synthesize("-o", "out.csv", "-q") == 0
    lines = [line.split(";") for line in Path("out.csv").read_text().splitlines()[1:]]
    assert all("," in cell and "." not in cell for line in lines for cell in (line[0], line[3]) if cell != "?")
    assert outcome(lambda: run(["audit", "spec.yaml", "-i", "out.csv", "-q"])) == 0
    assert outcome(lambda: run(["evaluate", "spec.yaml", "out.csv", "-q"])) == 0


def test_validate_names_the_command(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(lambda: run(["validate", "spec.yaml"])) == 0
    assert "next: anonymize synthesize spec.yaml" in capsys.readouterr().err


# --- what is refused --------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert synthesize("-o", "out.csv", *arguments) == code
    assert not Path("out.csv").exists() and not Path("out.manifest.json").exists()
    return " ".join(capsys.readouterr().err.split())


def test_a_value_outside_the_domain_is_counted_and_not_shown(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([*ROWS, "q1,3,secretsex,flu,0", "q2,4,secretsex,flu,0", "q3,77,f,flu,0"])
    said = refused(capsys, 3)
    first = len(ROWS) + 2
    assert f".csv:{first}: column 'sex': 2 rows have values outside its public domain" in said
    assert f".csv:{first + 2}: column 'age': 1 row has a value outside" in said
    assert "secretsex" not in said and "77" not in said


def test_a_missing_value_is_outside_where_the_domain_has_none(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(domains={**SPEC["domains"], "ill": {"values": ["flu", "none"], "missing": False}})
    assert "column 'ill': 200 rows have values outside" in refused(capsys, 3)


def test_a_column_without_a_domain_is_refused_by_name(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(domains={"sex": ["f", "m"]})
    said = refused(capsys, 2)
    assert "column 'ill' has no public domain" in said and "column 'cost' has no public domain" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seed", "1"], "--seed: the noise is the system's"),
        (["--save-link", "l.json"], "--save-link"),
        (["--save-risk", "r.csv"], "--save-risk"),
        (["--save-recoding", "r.json"], "--save-recoding"),
        (["--show-values"], "--show-values"),
        (["--memory-limit", "4GB"], "--memory-limit"),
        (["--start-series", "s.state"], "--start-series"),
        (["--dry-run", "-r", "r.json"], "--dry-run"),
        (["--bound"], "--bound"),
        (["--engine", "spark"], ""),
        (["-k", "5"], "-k"),
        (["--model-size", "0"], "model-size"),
    ],
)
def test_options_that_it_has_no_answer_to_are_refused(
    desk: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in refused(capsys, 2, *arguments)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"privacy": None}, "requires no differential privacy"),
        ({"privacy": {**SPEC["privacy"], "k": 5}}, "k: synthesize invents rows"),
        ({"privacy": {**SPEC["privacy"], "l": 2}}, "l: synthesize invents rows"),
        ({"privacy": {**SPEC["privacy"], "passing": {"uniques": 0.1}}}, "passing: synthesize invents rows"),
        ({"quasi_identifiers": {**SPEC["quasi_identifiers"], "age": {"type": "numeric", "top": 5}}}, "age.top"),
        ({"treatments": [{"method": "noise", "columns": ["cost"], "scale": 1}]}, "treatments"),
        ({"risk": {"attacks": ["prosecutor"]}}, "risk.attacks"),
        ({"synthesize": {"method": "mst", "marginals": 3}}, "chooses its own"),
    ],
)
def test_parts_of_the_spec_that_it_has_no_answer_to_are_refused(
    desk: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], said: str
) -> None:
    write(**changes)
    assert said in refused(capsys, 2)


def test_a_list_whose_model_is_too_large_is_refused_before_anything_is_drawn(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(synthesize={"method": "fixed", "marginals": [["age", "sex", "ill", "cost"]]})
    assert "takes more than --model-size" in refused(capsys, 2, "--model-size", "0.0001")


@pytest.mark.parametrize("method", ["independent", "mst", "aim"])
def test_columns_that_take_more_than_the_model_may_are_refused_before_anything_is_drawn(
    desk: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    write(synthesize={"method": method})
    assert "of independent columns takes more than --model-size" in refused(capsys, 2, "--model-size", "0.00001")


def test_without_the_extra_it_is_said_what_to_install(
    desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    assert re.search(r"needs opendp, .*pip install 'anonymize-toolkit\[dp\]'", refused(capsys, 2))


def test_a_private_report_says_how_near_the_table_is_and_that_nothing_paid_for_it(desk: Path) -> None:
    _, _, report = made()
    assert [each["columns"] for each in report["variation"]["ways"]] == [1, 2, 3]
    assert report["variation"]["columns"] == ["age", "sex", "ill"]
    assert all(0 <= each["mean"] <= each["worst"] <= 1 for each in report["variation"]["ways"])
    assert report["utility"]["query_error"]["queries"] > 0
    assert any("no epsilon covers these figures" in each for each in report["warnings"])
    public = made("--public-report", "--force")[2]
    assert "variation" not in public and not public.get("utility")
    assert not any("no epsilon covers these figures" in each for each in public["warnings"])


def test_a_synthetic_table_is_made_again_without_a_control_and_attacked(desk: Path) -> None:
    made()
    words = ["attack", "spec.yaml", "out.csv", "--remake", "report.json", "-r", "attacked.json", "-q"]
    assert outcome(lambda: run(words)) == 0
    report = json.loads(Path("attacked.json").read_text())
    results = {(each["attacker"], each["about"]): each for each in report["attacks"]["results"]}
    assert {("closest-record", None), ("inference-nearest", "ill"), ("singling-out", None)} <= results.keys()
    assert 60 < results["inference-nearest", "ill"]["control"]["targets"] < 100  # two in three have a value
    assert report["warnings"][0].startswith("attacked is not out.csv")
