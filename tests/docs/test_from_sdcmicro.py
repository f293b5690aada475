"""Every function of sdcMicro has its row on the page, and what stands there as an example runs on a few rows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.docs.reader import ROOT, ended, promised, steps

PAGE = ROOT / "docs" / "from-sdcmicro.md"
ROW = re.compile(r"^\| (?P<theirs>.+) \| (?P<ours>.+) \| (?P<example>`[^`]+`|none: .+) \|$", re.MULTILINE)
ROWS = [each.groupdict() for each in ROW.finditer(PAGE.read_text(encoding="utf8")) if "for example" not in each[0]]
SIZE = 40
"""Rows of the table that the examples run on."""
EXPORTED = """
IL_correl IL_variables KI_createSdcObj LocalRecProg addGhostVars addNoise argus_microaggregation argus_rankswap
calcRisks createDat createNewID createSdcObj dRisk dRiskRMD dUtility dataGen extractManipData freq freqCalc
generateStrata get.sdcMicroObj globalRecode groupAndRename importProblem indivRisk infoLoss kAnon kAnon_violations
ldiversity localSupp localSuppression mafast measure_risk mergeHouseholdData microaggrGower microaggregation modRisk
mvTopCoding nextSdcObj plot.localSuppression plotMicro pram rankSwap readMicrodata recordSwap removeDirectID report
riskyCells sdcApp selectHouseholdData set.sdcMicroObj shuffle strataVar<- suda2 topBotCoding undolast valTable
varToFactor varToNumeric writeSafeFile
"""
"""What the package exports, by its NAMESPACE."""


def test_every_function_has_a_row() -> None:
    named = {each for row in ROWS for each in re.findall(r"`([\w.<-]+)", row["theirs"])}
    assert set(EXPORTED.split()) - named == set()


def test_every_row_has_an_example_or_says_why_not() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf8").splitlines() if line.startswith("| ")]
    assert len(ROWS) == len([line for line in lines if not line.endswith("| for example |")])
    assert all(len(row["example"].split()) > 3 for row in ROWS if row["example"].startswith("none:"))


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in steps(PAGE):
        if name.endswith(".yaml"):
            Path(name).write_text(text, encoding="utf8")
    patients = (ROOT / "sample_data" / "patients.csv").read_text(encoding="utf8").splitlines(keepends=True)
    Path("patients.csv").write_text("".join(patients[: SIZE + 1]), encoding="utf8")
    for example in dict.fromkeys(row["example"].strip("`") for row in ROWS if not row["example"].startswith("none:")):
        code, expected = _run(example)
        assert code in expected, f"{example}: ended with {code}\n{capfd.readouterr().err}"


def _run(example: str) -> tuple[int, set[int]]:
    """The exit code of an example, and those that it may have: of a command, of keys of `keys.yaml`, of an entry."""
    if example.startswith("anonymize "):
        return ended(example), promised(example)
    given: dict[str, Any] = yaml.safe_load(example)
    base = "keys.yaml" if given.get("method") in (None, "suppress") else "steps.yaml"
    spec: dict[str, Any] = yaml.safe_load(Path(base).read_text(encoding="utf8"))
    if "method" in given:
        spec["treatments"] = [given]
    else:
        _add(spec, given)
    Path("made.yaml").write_text(yaml.safe_dump(spec), encoding="utf8")
    command = "perturb" if "method" in given else "mondrian"
    return outcome(lambda: run([command, "made.yaml", "-o", "made.csv", "--force"])), {0}


def _add(spec: dict[str, Any], keys: dict[str, Any]) -> None:
    """Adds keys to those of a spec; a mapping's to the mapping."""
    for name, value in keys.items():
        if isinstance(value, dict) and isinstance(spec.get(name), dict):
            _add(spec[name], value)
        else:
            spec[name] = value
