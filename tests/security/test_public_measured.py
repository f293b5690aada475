"""The public forms of `evaluate` and `compare` are functions of releases, the spec and the hierarchies."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anonymize import python as api
from anonymize._compare import Compare, compare
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.report import RENDERERS
from anonymize.spec import load
from tests.security.running import Run, running
from tests.security.test_public import DROPPED, HIDDEN, attacked, people, prepared

Call = Callable[[Path], Run]
REPORTS = [word for kind in RENDERERS for word in ("-r", f"report{kind}")]
HERE: dict[str, Any] = {"processes": 0}
"""Of a comparison that is made in this process."""
FAMILIES = {
    "mondrian": ["out.csv"],
    "incognito": ["out.csv"],
    "anatomy": ["out.qit.csv", "out.st.csv"],
    "randomize": ["out.csv", "out.params.json"],
}
FORMATS = [".csv", ".csv.gz", ".parquet", ".arrow"]
OUTLIERS = (HIDDEN, 98)
COMPARED = ["incognito", "datafly", "samarati"]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return lambda folder: running(folder, capsys)


def written(folder: Path) -> dict[str, bytes]:
    return {kind: (folder / f"report{kind}").read_bytes() for kind in RENDERERS}


def evaluated(run: Run, released: str) -> None:
    assert run("evaluate", "spec.yaml", released, "--public-report", *REPORTS, "--force").code == 0


@pytest.mark.parametrize("algorithm", FAMILIES)
def test_evaluate_reads_no_original(algorithm: str, call: Call, tmp_path: Path) -> None:
    """Where there is nothing but the release, the spec and the hierarchies, and beside them, the report is the same."""
    folder, elsewhere = prepared(tmp_path / "all", people(), algorithm), tmp_path / "elsewhere"
    allowed = ["--allow-unsafe"] if algorithm == "randomize" else []
    assert call(folder)(algorithm, "spec.yaml", "-o", "out.csv", *allowed).code == 0
    elsewhere.mkdir()
    for name in [*FAMILIES[algorithm], "spec.yaml", "jobs.csv"]:
        shutil.copy(folder / name, elsewhere)
    for place in (folder, elsewhere):
        evaluated(call(place), FAMILIES[algorithm][0])
    assert written(folder) == written(elsewhere)
    report = json.loads(written(folder)[".json"])
    assert report["public"] is True and report["private"] is False
    assert not {"input", "seed", "started_at", "rows_correspond", "models"} & report.keys()
    assert report["spec"].keys() == {"sha256"} and not {"path", "dropped_rows"} & report["output"].keys()


@pytest.mark.parametrize("suffix", FORMATS)
def test_evaluate_tells_nobody_the_age_of_who_was_left_out(suffix: str, call: Call, tmp_path: Path) -> None:
    rows = [*people(), (20, "m", "cook", "b", "n"), (HIDDEN, "f", "boss", "a", "y")]
    folder = prepared(tmp_path / "all", rows, "incognito", output=DROPPED)
    run = call(folder)
    assert run("incognito", "spec.yaml", "-o", f"out{suffix}").code == 0
    assert run("incognito", "spec.yaml", "-o", "text.csv").code == 0
    text = (folder / "text.csv").read_text(encoding="utf-8")
    private = json.loads(run("evaluate", "spec.yaml", f"out{suffix}", "--json").out)
    assert attacked(private, text) == HIDDEN  # whoever has the private report
    public = json.loads(run("evaluate", "spec.yaml", f"out{suffix}", "--json", "--public-report").out)
    assert attacked(public, text) == pytest.approx(20 + 39)  # from 20 to 59: what is shown
    assert str(HIDDEN) not in re.sub(r'"sha256": "\w+"', "", json.dumps(public))


def test_two_inputs_with_the_same_releases_have_one_comparison(tmp_path: Path) -> None:
    made = []
    for age in OUTLIERS:
        rows = [*people(), (age, "f", "boss", "a", "y")]
        folder = prepared(tmp_path / str(age), rows, "incognito", output=DROPPED)
        (folder / "kept").mkdir()
        wanted = Compare(load(folder / "spec.yaml", PARAMETERS), COMPARED, [3, 500], keep=folder / "kept", **HERE)
        compare(replace(wanted, reports=[str(folder / f"report{kind}") for kind in RENDERERS], public=True))
        made.append(({path.name: path.read_bytes() for path in (folder / "kept").iterdir()}, written(folder)))
    assert made[0][0] == made[1][0] and len(made[0][0]) == 3
    assert made[0][1] == made[1][1]
    report = json.loads(made[0][1][".json"])
    assert (report["public"], report["private"]) == (True, False) and "input" not in report
    released = [each for each in report["comparison"] if each["code"] == 0]
    assert len(released) == 3 and all(each["gcp"] is not None for each in released)
    assert not any({"seconds", "cpu_seconds"} & each.keys() for each in report["comparison"])
    assert "500" not in "".join(each for row in report["comparison"] for each in row.get("error", []))


def test_a_comparison_has_the_figures_of_public_reports(call: Call, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "all", [*people(), (HIDDEN, "f", "boss", "a", "y")], "incognito", output=DROPPED)
    run = call(folder)
    assert run("incognito", "spec.yaml", "-o", "out.csv", "-r", "one.json", "--public-report").code == 0
    one = json.loads((folder / "one.json").read_text())
    wanted = Compare(load(folder / "spec.yaml", PARAMETERS), ["incognito"], cache=folder / "cache", **HERE)
    for cached in ("first", "again"):
        private, public = (compare(replace(wanted, public=each)) for each in (False, True))
        compared, secret = public["comparison"][0], private["comparison"][0]
        assert compared["gcp"] == one["utility"]["gcp"] != secret["gcp"], cached
        assert compared["prosecutor_max"] == one["risk"]["prosecutor_max"]


def test_paths_of_options_are_nobodys_business(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder := prepared(tmp_path / "all", people(), "incognito"))
    wanted = Compare(load(folder / "spec.yaml", PARAMETERS), ["incognito output_lattice=CANARY.json"], **HERE)
    assert "CANARY" in json.dumps(compare(wanted))
    assert "CANARY" not in json.dumps(compare(replace(wanted, public=True)))


@pytest.mark.parametrize(
    "line",
    [
        "evaluate spec.yaml out.csv --link link.json",
        "evaluate spec.yaml out.csv --tree ok",
        "evaluate spec.yaml out.csv --models",
        "evaluate spec.yaml out.csv --query-file queries.yaml",
        "compare spec.yaml --algorithms mondrian --queries 10",
        "compare spec.yaml --algorithms mondrian --measured-by spec.yaml",
        "compare spec.yaml --algorithms mondrian --pick fastest-within\u00a05%",
    ],
)
def test_what_takes_the_original_is_refused(line: str, call: Call, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "all", people(40), "mondrian")
    (folder / "out.csv").write_text("age,sex,job,ill,ok\n[20-59],*,*,a,y\n")
    words = [word.replace("\u00a0", " ") for word in line.split(" ")]
    ended = call(folder)(*words, "--public-report")
    assert ended.code == 2 and "public" in ended.err


def test_python_has_it_as_well(call: Call, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "all", people(), "mondrian")
    released = api.release(folder / "table.csv", folder / "spec.yaml", "mondrian")
    (folder / "table.csv").unlink()
    found = api.evaluate(released.frame, folder / "spec.yaml", public=True)
    assert not found.private and found.report["public"] is True
    figures: dict[str, Any] = found.report["utility"]
    assert figures["gcp"] == pytest.approx(released.report["utility"]["gcp"])
    with pytest.raises(UsageError, match="public"):
        api.evaluate(released.frame, folder / "spec.yaml", public=True, link="link.json")
