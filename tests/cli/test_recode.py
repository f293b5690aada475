"""`--save-recoding` and `anonymize recode`, as a user runs them."""

from __future__ import annotations

import json
import re
import stat
import sys
from pathlib import Path

import polars as pl
import pytest

from anonymize.algorithms import ALGORITHMS
from tests.cli.conftest import SPEC, Call, Desk, row, table

RELEASE = ("spec.yaml", "-o", "released.csv", "--save-recoding", "recoding.json")


def test_a_release_and_its_rows_recoded_are_the_same_bytes(call: Call, desk: Desk) -> None:
    assert call("mondrian", *RELEASE).code == 0
    again = call("recode", "recoding.json", "-i", "table.csv", "-o", "again.csv", "-r", "again.json", "-r", "again.md")
    assert (again.code, again.out) == (0, b"")
    assert "0" in again.err and "not measured" in again.err
    assert (desk.folder / "again.csv").read_bytes() == (desk.folder / "released.csv").read_bytes()
    assert call("audit", "spec.yaml", "-i", "again.csv").code == 0
    report = json.loads((desk.folder / "again.json").read_text())
    assert report["recoding"]["algorithm"] == "mondrian"
    assert report["outside"]["rows"] == 0
    assert report["output"]["rows"] == report["input"]["rows"] == 60
    assert "Outside the recoding" in (desk.folder / "again.md").read_text()


def test_other_rows_in_a_pipe(once: Call, desk: Desk, launch: Call) -> None:
    assert once("mondrian", *RELEASE).code == 0
    unknown = row(63).replace("CANARY clerk", "CANARY pilot")
    content = "\n".join([table().splitlines()[0], row(61), unknown]) + "\n"
    found = launch("recode", "recoding.json", "-i", "-", stdin=content.encode())
    assert found.code == 0
    lines = found.out.decode().splitlines()
    assert lines[0] == "age,zip,job,diagnosis,ward"
    assert len(lines) == 3
    assert not lines[1].startswith("*,")
    assert lines[2].startswith("*,*,*,CANARY-")
    assert "suppressed: a value that the recoding does not know" in found.err


def test_the_file_is_private(call: Call, desk: Desk) -> None:
    path = desk.folder / "recoding.json"
    assert call("mondrian", *RELEASE).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert call("mondrian", *RELEASE, "--force").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_is_the_same_bytes_whatever_the_threads(call: Call, desk: Desk) -> None:
    found = []
    for threads in (1, 2):
        assert call("mondrian", *RELEASE, "--force", "--threads", threads).code == 0
        found.append((desk.folder / "recoding.json").read_bytes())
    assert found[0] == found[1]


def test_all_or_nothing(call: Call, desk: Desk) -> None:
    (desk.folder / "recoding.json").write_text("mine")
    before = desk.files()
    refused = call("mondrian", *RELEASE)
    assert refused.code == 2 and "recoding.json: exists already" in refused.err
    assert call("mondrian", *RELEASE[:-1], "none/recoding.json").code == 2
    assert call("mondrian", *RELEASE[:-1], "-").code == 2
    assert call("mondrian", *RELEASE[:-1], "released.csv").code == 2
    assert call("mondrian", *RELEASE, "--force", "-k", 61).code == 4
    assert desk.files() == before


def test_a_dry_run_saves_the_recoding(call: Call, desk: Desk) -> None:
    assert call("mondrian", *RELEASE, "--dry-run").code == 0
    assert (desk.folder / "recoding.json").exists()
    assert not (desk.folder / "released.csv").exists()


LOCAL = (("mondrian", "--relaxed"), ("incognito", "--iterate"), ("mu-argus",))


@pytest.mark.parametrize("command", LOCAL, ids=" ".join)
def test_what_is_no_function_of_the_values_is_refused(call: Call, desk: Desk, command: tuple[str, ...]) -> None:
    before = desk.files()
    refused = call(*command, *RELEASE)
    assert refused.code == 2
    assert "is not a function of the values" in refused.err
    assert re.search(
        r"\((give --reusable|leave out --[a-z-]+|leave it out, or take one that can: .*mondrian.*)\)", refused.err
    )
    assert desk.files() == before


def test_every_release_command_has_the_option(call: Call) -> None:
    for name in ALGORITHMS:
        assert "--save-recoding" in call(name, "--help-all").out.decode()


@pytest.mark.parametrize("suffix", ["csv.gz", "parquet", "arrow"])
def test_formats(call: Call, once: Call, desk: Desk, suffix: str) -> None:
    assert once("mondrian", *RELEASE).code == 0
    assert call("recode", "recoding.json", "-i", "table.csv", "-o", f"again.{suffix}").code == 0
    read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc}.get(suffix, pl.read_csv)
    assert read(desk.folder / f"again.{suffix}").height == 60


def test_shuffled_rows_are_shuffled_again(call: Call, desk: Desk) -> None:
    desk.fill(spec=SPEC + "output: {row_order: shuffle}\n")
    assert call("mondrian", *RELEASE, "--seed", 3).code == 0
    released = (desk.folder / "released.csv").read_bytes()
    assert call("recode", "recoding.json", "-i", "table.csv", "--seed", 3).out == released
    assert call("recode", "recoding.json", "-i", "table.csv", "--seed", 4).out != released


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (lambda text: text.replace(",job,", ",task,"), 3, "has no column 'job'"),
        (lambda text: text.replace("ward", "room"), 3, "without a role in the recoding: room"),
        (lambda text: text.replace(",8675301,", ",old,"), 3, "are not numbers"),
        (lambda text: text.splitlines()[0] + "\n", 3, "no rows"),
        (lambda text: "", 3, "table.csv"),
    ],
    ids=["lacking", "strange", "no number", "no rows", "empty"],
)
def test_a_table_that_does_not_fit(call: Call, once: Call, desk: Desk, change: object, code: int, said: str) -> None:
    assert once("mondrian", *RELEASE).code == 0
    (desk.folder / "table.csv").write_text(change(table()))  # type: ignore[operator]
    before = desk.files()
    refused = call("recode", "recoding.json", "-i", "table.csv", "-o", "again.csv")
    assert (refused.code, refused.out) == (code, b"")
    assert said in refused.err
    assert desk.files() == before


def test_a_file_that_is_no_recoding(call: Call, desk: Desk) -> None:
    for name, code in (("table.csv", 2), ("spec.yaml", 2), ("none.json", 3)):
        refused = call("recode", name, "-i", "table.csv")
        assert (refused.code, refused.out) == (code, b"")
        assert name in refused.err
    assert call("recode", "table.csv").code == 2


def test_outputs_that_exist_are_kept(call: Call, once: Call, desk: Desk) -> None:
    assert once("mondrian", *RELEASE).code == 0
    before = desk.files()
    assert call("recode", "recoding.json", "-i", "table.csv", "-o", "released.csv").code == 2
    assert call("recode", "recoding.json", "-i", "table.csv", "-o", "recoding.json", "--force").code == 2
    assert call("recode", "recoding.json", "-i", "table.csv", "-o", "x.csv", "-r", "x.txt").code == 2
    refused = call("recode", "recoding.json", "-i", "table.csv", "-o", "x.xls")
    assert refused.code == 2 and "x.xls: an output is one of .csv, " in refused.err
    assert desk.files() == before
    assert Path(desk.folder / "released.csv").exists()


def test_what_became_of_the_rows_is_said_unless_quiet_or_where_nothing_can_be_said(
    call: Call, once: Call, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert once("mondrian", *RELEASE).code == 0
    again = ("recode", "recoding.json", "-i", "table.csv", "-o", "again.csv", "--force")
    assert [bool(call(*again, *hush).err) for hush in ((), ("-q",))] == [True, False]
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", None)
        assert call(*again).code == 0
