"""`--save-risk`: the risk of every record, as a private file of `audit` and of the releases."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import anonymize
from anonymize.errors import UsageError
from tests.cli.conftest import CELLS, SPEC, Call, Desk

ROWS = 60
FIGURES = ["fk", "Fk", "rk", "suda", "dis"]
CELL_SCORES = ["suda_age", "suda_zip", "suda_job"]


def read(desk: Desk, name: str = "risk.csv") -> pl.DataFrame:
    """The saved file, which only its owner may read, and which has numbers alone."""
    path = desk.folder / name
    assert path.stat().st_mode & 0o777 == 0o600 and not CELLS.search(path.read_text())
    saved = pl.read_csv(path)
    assert all(kind.is_numeric() for kind in saved.dtypes) and saved["row"].to_list() == [*range(1, len(saved) + 1)]
    return saved


def test_an_audit_saves_a_line_for_each_row(desk: Desk, call: Call) -> None:
    ended = call("audit", "spec.yaml", "-i", "table.csv", "--save-risk", "risk.csv", "--json")
    saved, report = read(desk), json.loads(ended.out)
    assert ended.code == 1 and saved.columns == ["row", *FIGURES, *CELL_SCORES] and len(saved) == ROWS
    assert saved["rk"].max() == report["risk"]["prosecutor_max"] and "special_uniques" not in report["risk"]
    assert saved["fk"].min() == report["classes"]["min_size"]


def test_its_scores_are_those_of_the_subsets(desk: Desk, call: Call) -> None:
    options = ("--qi", "age,zip,job", "--subsets", "2", "--save-risk", "risk.csv", "--json")
    block = json.loads(call("audit", "-i", "table.csv", *options).out)["risk"]["special_uniques"]
    saved = read(desk)
    assert (saved["suda"].max(), saved["suda"].mean()) == (block["score"]["max"], block["score"]["mean"])
    total = sum(saved["suda"].to_list())
    parts = {name: sum(saved[f"suda_{name}"].to_list()) / total for name in ("age", "zip", "job")}
    assert parts == pytest.approx(block["score"]["contributions"])


def test_the_sampling_fraction_is_that_of_dis(desk: Desk, call: Call) -> None:
    (desk.folder / "t.csv").write_text("q\na\nb\nb\n")
    for fraction, expected in (("0.5", 1 / 3), ("1", 1.0)):
        options = ("--sampling-fraction", fraction, "--save-risk", "risk.csv", "--force")
        assert call("audit", "-i", "t.csv", "--qi", "q", *options).code == 0
        assert read(desk)["dis"].to_list() == pytest.approx([expected, 0, 0])


def test_a_release_saves_its_input_before_and_after(desk: Desk, call: Call) -> None:
    files = ("-o", "out.csv", "--save-risk", "risk.csv", "--save-link", "link.json")
    ended = call("mondrian", "spec.yaml", *files)
    assert ended.code == 0, ended.err
    assert "risk.csv" in ended.err.split("keep private")[1]
    saved, link = read(desk), json.loads((desk.folder / "link.json").read_text())["input_rows"]
    after = ["released", *(f"{name}_after" for name in FIGURES)]
    assert saved.columns == ["row", *FIGURES, *CELL_SCORES, *after] and len(saved) == ROWS
    assert [link[place - 1] for place in saved["released"].to_list()] == saved["row"].to_list()
    assert min(saved["fk_after"].to_list()) >= 3 > min(saved["fk"].to_list())
    assert saved["suda_after"].to_list() == [0] * ROWS
    assert call("audit", "spec.yaml", "-i", "out.csv", "--save-risk", "released.csv").code == 0
    released = read(desk, "released.csv").select(released="row", again="fk")
    assert saved.join(released, on="released").filter(pl.col("again") != pl.col("fk_after")).is_empty()


def test_rows_that_are_left_out_have_nothing_after(desk: Desk, call: Call) -> None:
    spec = "version: 1\ninput: {path: t.csv}\nquasi_identifiers: [q]\nprivacy: {k: 2, suppression: 0.5}\n"
    (desk.folder / "t.csv").write_text("q\nz\na\na\na\n")
    (desk.folder / "drop.yaml").write_text(f"{spec}output: {{suppressed_rows: drop}}\n")
    assert call("incognito", "drop.yaml", "-o", "out.csv", "--save-risk", "risk.csv").code == 0
    saved = read(desk)
    assert saved["released"].to_list() == [None, 1, 2, 3] and saved["fk_after"].to_list() == [None, 3, 3, 3]


def test_the_household_before_and_after(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC.replace("identifiers: [name]", "unit: name"))
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "--save-risk", "risk.csv").code == 0
    saved = read(desk)
    assert saved["household"].to_list() == pytest.approx(saved["rk"].to_list())  # a row each
    assert saved["household_after"].to_list() == pytest.approx(saved["rk_after"].to_list())


@pytest.mark.parametrize(("command", "more"), [("anatomy", ("--joined",)), ("randomize", ("--on", "qi"))])
def test_releases_without_classes_have_the_rows_before(
    desk: Desk, call: Call, command: str, more: tuple[str, ...]
) -> None:
    desk.fill(spec=SPEC.replace("  k: 3\n", ""))
    ended = call(command, "spec.yaml", "-o", "out.csv", "--save-risk", "risk.csv", *more)
    assert ended.code == 0, ended.err
    assert read(desk).columns == ["row", *FIGURES, *CELL_SCORES]


def test_a_release_of_a_series(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC.replace("identifiers: [name]", "identifiers: [name]\nseries: {person: [name]}"))
    assert call("key", "make", "own.key").code == 0
    files = ("-o", "out.csv", "--save-risk", "risk.csv", "--start-series", "state", "--key", "own.key")
    ended = call("mondrian", "spec.yaml", *files)
    assert ended.code == 0, ended.err
    saved = read(desk)
    assert len(saved) == ROWS and sorted(saved["released"].to_list()) == saved["row"].to_list()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "spec.yaml", "--save-risk", "-"), "--save-risk: is a file"),
        (("audit", "spec.yaml", "--save-risk", "risk.txt"), "is one of .csv by its suffix"),
        (("audit", "spec.yaml", "--save-risk", "table.csv", "--force"), "table.csv"),
        (("audit", "spec.yaml", "-r", "r.json", "--save-risk", "jobs.csv"), "jobs.csv"),
        (("audit", "spec.yaml", "--series", "s", "--key", "k", "--save-risk", "risk.csv"), "--save-risk: is about one"),
        (("mondrian", "spec.yaml", "-o", "o.csv", "--save-risk", "o.csv"), "o.csv: is given twice"),
        (("mondrian", "spec.yaml", "-o", "o.csv", "--save-risk", "-"), "--save-risk: is a file"),
        (
            ("mondrian", "spec.yaml", "-o", "o.csv", "--memory-limit", "8G", "--save-risk", "risk.csv"),
            "--save-risk: holds every record in memory",
        ),
    ],
)
def test_what_is_refused(desk: Desk, call: Call, arguments: tuple[str, ...], message: str) -> None:
    ended = call(*arguments)
    assert ended.code == 2 and message in ended.err
    assert not (desk.folder / "risk.csv").exists() and not (desk.folder / "o.csv").exists()


@pytest.mark.parametrize("option", [("--save-risk", "risk.csv"), ("--subsets", "1"), ("--sampling-fraction", "0.5")])
def test_a_table_without_quasi_identifiers(desk: Desk, call: Call, option: tuple[str, str]) -> None:
    step = "treatments: [{method: microaggregation, columns: [n], k: 2}]\n"
    (desk.folder / "n.csv").write_text("n\n1\n2\n3\n4\n")
    (desk.folder / "n.yaml").write_text(f"version: 1\ninput: {{path: n.csv}}\ninsensitive: [n]\n{step}")
    ended = call("audit", "n.yaml", *option)
    assert ended.code == 2 and f"{option[0]}: is measured of quasi-identifiers" in ended.err
    assert not (desk.folder / "risk.csv").exists() and call("audit", "n.yaml").code == 0


def test_nothing_is_saved_beside_a_release_that_is_not_safe(desk: Desk, call: Call) -> None:
    (desk.folder / "risk.csv").write_text("mine")
    assert call("audit", "spec.yaml", "--save-risk", "risk.csv").code == 2
    assert (desk.folder / "risk.csv").read_text() == "mine"
    desk.fill(spec=SPEC.replace("k: 3", "k: 61"))
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "--save-risk", "other.csv").code == 4
    assert not (desk.folder / "other.csv").exists()


def test_from_python(tmp_path: Path) -> None:
    people = pl.DataFrame({"age": [31, 34, 52, 58], "job": ["cook", "cook", "clerk", "clerk"]})
    spec = {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "privacy": {"k": 2}}
    anonymize.release(people, spec, save_risk=tmp_path / "risk.csv")
    assert pl.read_csv(tmp_path / "risk.csv")["fk_after"].to_list() == [2, 2, 2, 2]
    anonymize.audit(people, spec, save_risk=tmp_path / "risk.csv", force=True)
    assert pl.read_csv(tmp_path / "risk.csv")["fk"].to_list() == [1, 1, 1, 1]
    with pytest.raises(UsageError, match="save_risk"):
        anonymize.audit(spec=spec, series="state", key="key", save_risk=tmp_path / "other.csv")
