"""`compare` as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from anonymize._compare import Compare, cells_of
from anonymize.algorithms import ALGORITHMS
from anonymize.cli.compare import compare
from anonymize.privacy import PARAMETERS
from anonymize.spec import load
from tests.cli.conftest import Call, Desk


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_table_a_choice_and_a_page(desk: Desk, call: Call, tmp_path: Path) -> None:
    arguments = ("compare", desk.spec, "--algorithms", "mondrian,datafly", "-k", "3,6", "-j", 1)
    page, text = tmp_path / "compare.html", tmp_path / "compare.md"
    ended = call(*arguments, "-r", page, "-r", text, "--color", "never")
    assert "## Algorithms compared" in text.read_text() and "table.csv, sha256" in text.read_text()
    assert ended.code == 0 and "Algorithms compared" in ended.out.decode()
    assert "Risk against loss" in page.read_text() and "CANARY" not in page.read_text()
    report = json.loads(call(*arguments, "--json").out)
    assert [(each["label"], each["k"]) for each in report["comparison"]] == [
        ("mondrian", 3),
        ("mondrian", 6),
        ("datafly", 3),
        ("datafly", 6),
    ]
    lines = call(*arguments, "--pick", "lowest-loss").out.decode().splitlines()
    assert [line.rpartition(" -k ")[2] for line in lines] == ["3", "6"]


def test_algorithms_that_suit_the_spec_and_all_of_them(desk: Desk, call: Call) -> None:
    rows = list(csv.DictReader(io.StringIO(call("compare", desk.spec, "--csv", "--seeds", "2", "-j", 1).out.decode())))
    assert [(row["label"], row["code"], row["seeds"]) for row in rows] == [
        (name, "0", "2") for name in ("release", "mondrian", "incognito")
    ]
    assert float(rows[0]["spread.gcp"]) > 0 and float(rows[1]["spread.gcp"]) == 0 and float(rows[1]["gcp"]) > 0
    everything = Compare(load(desk.spec, PARAMETERS), ["all"])
    assert [cell.algorithm for cell in cells_of(everything)] == [name for name in ALGORITHMS if name != "safepub"]
    assert call("compare", desk.spec, "--csv", "--json").code == 2


def test_results_and_releases_are_kept_where_they_were_asked_for(desk: Desk, call: Call, tmp_path: Path) -> None:
    arguments = ("compare", desk.spec, "--algorithms", "mondrian,", "-k", "3,", "-j", 1)
    (tmp_path / "kept").mkdir()
    ended = call(*arguments, "--no-cache", "--keep", tmp_path / "kept", "-q")
    assert (ended.code, ended.out, ended.err) == (0, b"", "")
    assert len(list((tmp_path / "kept").iterdir())) == 1 and not (tmp_path / "cache").exists()
    ended = call(*arguments, "--cache", tmp_path / "mine", "--json")
    assert ended.out.endswith(b"}\n") and not ended.out.endswith(b"\n\n")
    assert any((tmp_path / "mine").iterdir()) and not (tmp_path / "cache").exists()


def test_counts_are_asked_of_every_release_where_that_is_wanted(desk: Desk, call: Call) -> None:
    arguments = ("compare", desk.spec, "--algorithms", "mondrian", "--no-cache", "--queries", "30", "-j", 1)
    ended = call(*arguments, "--measured-by", desk.spec, "-r", "c.json", "--color", "never")
    (cell,) = json.loads((desk.folder / "c.json").read_text())["comparison"]
    assert cell["query_error"] >= 0 and cell["gcp_weighted"] == pytest.approx(cell["gcp"])
    assert {"query", "error"} <= set(ended.out.decode().split())
    assert call(*arguments, "--model", "oracle").code == 2


def test_cores_are_shared_by_the_releases_made_at_a_time(
    desk: Desk, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "7")
    cores = os.cpu_count() or 1
    for processes, each in ((("-j", 1), cores), (("-j", 2 * cores), 1), ((), 1)):
        assert call("compare", desk.spec, "--algorithms", "mondrian", *processes).code == 0
        assert os.environ["POLARS_MAX_THREADS"] == str(each)
    assert any((tmp_path / "cache" / "anonymize" / "compare").iterdir())


def test_where_nobody_knows_the_cores_there_is_one(desk: Desk, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "7")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert call("compare", desk.spec, "--algorithms", "nothing", "-j", 1).code == 2
    assert os.environ["POLARS_MAX_THREADS"] == "1"


@pytest.mark.parametrize(
    ("rule", "share"), [("lowest-loss", None), ("fastest-within 5%", 0.05), ("fastest-within 12.5%", 0.125)]
)
def test_what_a_rule_gives_up_for_speed(desk: Desk, rule: str, share: float | None) -> None:
    context = compare.make_context("compare", [str(desk.spec), "--algorithms", "mondrian", "--pick", rule])
    assert context.params["pick"] == (pytest.approx(share),)


@pytest.mark.parametrize(
    "rule", ["lowest", "fastest-within", "fastest-within x%", "slowest-within 5%", "fastest-within 5"]
)
def test_rules_that_there_are_not_are_refused(desk: Desk, call: Call, rule: str) -> None:
    assert call("compare", desk.spec, "--algorithms", "mondrian", "--pick", rule).code == 2
    assert call("compare", desk.spec, "--algorithms", "mondrian", "-k", "five").code == 2
