"""`attack --remake`: the same method on other people, of whom some are held out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import anonymize
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.errors import DataError, UsageError

SPEC = """version: 1
identifiers: [name]
quasi_identifiers: {age: {type: numeric}, town: {}}
sensitive: {illness: {}}
privacy: {k: 5, suppression: 0.1}
"""


def people(count: int = 500) -> pl.DataFrame:
    draw = np.random.default_rng(0)
    ages, towns = draw.integers(20, 80, count), draw.integers(0, 4, count)
    ill = draw.choice(["influenza", "gout", "hayfever"], count, p=[0.5, 0.3, 0.2])
    names = [f"somebody {number}" for number in range(count)]
    return pl.DataFrame({"name": names, "age": ages, "town": [f"town-{each}" for each in towns], "illness": ill})


def made(
    folder: Path, *options: str, table: str = "table.csv", spec: str = SPEC, rows: pl.DataFrame | None = None
) -> list[str]:
    """A release and its report; the arguments of an attack on it."""
    (folder / "spec.yaml").write_text(spec)
    rows = people() if rows is None else rows
    rows.write_csv(folder / table) if table.endswith("csv") else rows.write_parquet(folder / table)
    files = [str(folder / name) for name in ("spec.yaml", table, f"released{Path(table).suffix}", "report.json")]
    command, *rest = options or ("mondrian",)
    run([command, files[0], "-i", files[1], "-o", files[2], "-r", files[3], "-q", "--force", *rest])
    return ["attack", files[0], files[2], "-i", files[1], "--remake", files[3], "-q"]


def attacked(folder: Path, arguments: list[str]) -> dict[str, Any]:
    run([*arguments, "-r", str(folder / "attack.json"), "--force"])
    return dict(json.loads((folder / "attack.json").read_text()))


@pytest.mark.parametrize("table", ["table.csv", "table.parquet"])
def test_a_fifth_is_the_control_of_a_release_of_the_others(tmp_path: Path, table: str) -> None:
    report = attacked(tmp_path, made(tmp_path, table=table))
    assert report["original"]["rows"] == 400 == report["attacks"]["people"]
    assert report["attacks"]["truth"] == "link" and report["input"]["path"] == "<made again>"
    assert report["original"]["path"] == str(tmp_path / table)
    assert "made in the same way without 100 of 500 people" in report["warnings"][0]
    by_attacker = {each["attacker"]: each for each in report["attacks"]["results"]}
    assert by_attacker["inference-majority"]["control"] is not None
    assert not [text for text in json.dumps(report).split('"') if "somebody" in text or text.startswith("town-")]


def test_numbers_are_written_as_in_the_original(tmp_path: Path) -> None:
    with_commas = people().with_columns(age=pl.col("age").cast(pl.String) + ",5")
    spec = SPEC.replace("{type: numeric}", '{type: numeric, decimal: ","}')
    report = attacked(tmp_path, made(tmp_path, spec=spec, rows=with_commas))
    assert report["original"]["rows"] == 400


def test_it_is_made_as_the_report_says(tmp_path: Path) -> None:
    loose = attacked(tmp_path, made(tmp_path))
    tight = attacked(tmp_path, made(tmp_path, "incognito", "-k", "40", "--suppression", "0.5"))
    picked = [
        next(each["rate"]["value"] for each in report["attacks"]["results"] if each["attacker"] == "prosecutor")
        for report in (loose, tight)
    ]
    assert picked[0] > 0.07 and picked[1] <= 1 / 40


def test_the_same_seed_makes_the_same(tmp_path: Path) -> None:
    arguments = made(tmp_path)
    first, again = attacked(tmp_path, arguments), attacked(tmp_path, arguments)
    other = attacked(tmp_path, [*arguments, "--seed", "1"])
    assert first["attacks"] == again["attacks"] and first["input"]["sha256"] != other["input"]["sha256"]


def test_people_of_several_rows_are_held_out_whole(tmp_path: Path) -> None:
    table = pl.concat([people(100)] * 3).sort("name")
    table.write_csv(tmp_path / "table.csv")
    (tmp_path / "spec.yaml").write_text(SPEC.replace("identifiers: [name]", "unit: name"))
    files = [str(tmp_path / name) for name in ("spec.yaml", "table.csv", "released.csv", "report.json")]
    run(["mondrian", files[0], "-i", files[1], "-o", files[2], "-r", files[3], "-q"])
    report = attacked(tmp_path, ["attack", files[0], files[2], "-i", files[1], "--remake", files[3], "-q"])
    assert report["original"]["rows"] == 240
    assert "20 of 100 people" in report["warnings"][0]


def test_what_cannot_be_made_again_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = made(tmp_path)
    report = tmp_path / "report.json"
    assert outcome(lambda: run([*arguments, "--control", str(tmp_path / "table.csv")])) == 2
    content = report.read_text()
    for text in (content.replace('"mondrian"', '"nothing"'), "{}", "x"):
        report.write_text(text)
        assert outcome(lambda: run(arguments)) == 3
    report.write_text(content)
    (tmp_path / "released.csv").write_text((tmp_path / "released.csv").read_text() + "\n")
    capsys.readouterr()
    assert outcome(lambda: run(arguments)) == 3
    assert "is not the report of" in capsys.readouterr().err


def test_the_gate_is_that_of_any_attack(tmp_path: Path) -> None:
    arguments = made(tmp_path, spec=SPEC.replace("k: 5", "k: 2"))
    assert outcome(lambda: run([*arguments, "--max-excess", "0.01", "--attackers", "prosecutor"])) == 1
    assert outcome(lambda: run([*arguments, "--max-excess", "1", "--attackers", "prosecutor"])) == 0


def test_it_is_made_again_from_python(tmp_path: Path) -> None:
    table, spec = people(), {key: value for key, value in yaml.safe_load(SPEC).items() if key != "version"}
    released = anonymize.release(table, spec, "mondrian", k=9)
    chosen: dict[str, Any] = {"attackers": ["prosecutor"], "remake": released.report}
    attacked = anonymize.attack(released.frame, spec, table, **chosen)
    assert attacked.report["original"]["rows"] == 400 and attacked.report["original"]["path"] == "<frame>"
    assert attacked.report["input"]["path"] == "<made again>"
    assert "attacked is not <frame>" in attacked.report["warnings"][0]
    assert attacked.report["attacks"]["results"][0]["rate"]["value"] <= 1 / 9
    with pytest.raises(DataError, match="is not the report of <frame>"):
        anonymize.attack(released.frame.tail(400), spec, table, **chosen)
    with pytest.raises(DataError, match=r"^<report>: is not the JSON report of a release"):
        anonymize.attack(released.frame, spec, table, remake={"algorithm": {}})
    with pytest.raises(UsageError, match="`control`"):
        anonymize.attack(released.frame, spec, table, control=table, **chosen)


def test_a_file_and_its_report_go_together_in_python(tmp_path: Path) -> None:
    arguments = made(tmp_path)
    files = [str(tmp_path / name) for name in ("released.csv", "spec.yaml", "table.csv")]
    attacked = anonymize.attack(*files, remake=tmp_path / "report.json", attackers=["prosecutor"])
    assert attacked.report["original"]["path"] == arguments[4]
    with pytest.raises(DataError, match="is not the report of"):
        anonymize.attack(files[2], *files[1:], remake=tmp_path / "report.json")
