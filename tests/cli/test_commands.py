"""`audit`, `validate`, `schema`, and the one-liners that users have in their scripts."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from anonymize.errors import Caution
from tests.cli.conftest import CELLS, SPEC, Call, Desk, table

ROOT = Path(__file__).parents[2]
Bash = Callable[..., tuple[int, bytes]]


@pytest.fixture
def bash(desk: Desk) -> Bash:
    """Runs a line in bash, with `anonymize` (and `jq`, where there is none) on the path; returns (code, stdout)."""
    tools = desk.folder.parent / "bin"
    tools.mkdir()
    lines = {"anonymize": f'exec "{sys.executable}" -m anonymize "$@"'}
    if shutil.which("jq") is None:
        query = "import json, sys; print(json.dumps(json.load(sys.stdin)[sys.argv[1][1:]]))"
        lines["jq"] = f'exec "{sys.executable}" -c \'{query}\' "$@"'
    for name, line in lines.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)

    def running(line: str) -> tuple[int, bytes]:
        env = desk.environment()
        env["PATH"] = f"{tools}:{env['PATH']}"
        script = ["bash", "-o", "pipefail", "-c", line]
        ended = subprocess.run(script, cwd=desk.folder, env=env, capture_output=True, timeout=60, check=False)
        return ended.returncode, ended.stdout

    return running


# --- the one-liners of the contract ----------------------------------------------------------------------------------


def test_release_by_redirection(desk: Desk, bash: Bash) -> None:
    assert bash("anonymize mondrian spec.yaml > released.csv") == (0, b"")
    assert (desk.folder / "released.csv").read_bytes().count(b"\n") == 61


def test_release_between_pipes(desk: Desk, bash: Bash) -> None:
    (desk.folder / "raw.csv.gz").write_bytes(gzip.compress(table(400).encode()))
    line = "zcat raw.csv.gz | anonymize mondrian spec.yaml -i - -k 10 -r report.json | gzip > released.csv.gz"
    assert bash(line) == (0, b"")
    assert gzip.decompress((desk.folder / "released.csv.gz").read_bytes()).count(b"\n") == 401
    report = json.loads((desk.folder / "report.json").read_text())
    assert report["privacy"]["models"][0]["required"] == {"k": 10}


def test_audit_as_a_condition(desk: Desk, call: Call, bash: Bash) -> None:
    line = "anonymize audit spec.yaml -i released.csv -q || echo 'not safe'"
    assert call("mondrian", "spec.yaml", "-o", "released.csv").code == 0
    assert bash(line) == (0, b"")
    lines = (desk.folder / "released.csv").read_text().splitlines()
    (desk.folder / "released.csv").write_text("\n".join(lines[:-1]) + "\n8675399" + lines[-1][lines[-1].index(",") :])
    assert bash(line) == (0, b"not safe\n")


def test_audit_into_jq(desk: Desk, bash: Bash) -> None:
    (desk.folder / "released.csv").write_text("age,sex,zip\n" + "30,F,09990\n" * 5)
    line = "anonymize audit -i released.csv --qi age,sex,zip -k 5 --json | jq .privacy"
    code, out = bash(line)
    assert (code, json.loads(out)["satisfied"]) == (0, True)
    assert bash(line.replace("-k 5", "-k 6"))[0] == 1


# --- audit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--qi", "ward", "-k", "2", "-i", "table.csv"], 0),
        (["--qi", "age,zip", "-i", "table.csv"], 0),
        (["--qi", "age,zip", "-k", "2", "-i", "table.csv"], 1),
        (["--qi", "ward", "--sensitive", "diagnosis", "-l", "5", "-i", "table.csv"], 1),
        (["spec.yaml"], 1),
        (["-i", "table.csv"], 2),
        (["spec.yaml", "--qi", "age"], 2),
        (["--qi", "age", "-k", "0", "-i", "table.csv"], 2),
        (["--qi", "plz", "-i", "table.csv"], 3),
        (["--qi", "age", "-i", "none.csv"], 3),
        (["--qi", "ward", "--sensitive", "job", "--numeric", "job", "-l", "1", "-i", "table.csv"], 3),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"], ["-q"]])
def test_audit_exit_codes(desk: Desk, call: Call, arguments: list[str], code: int, form: list[str]) -> None:
    before = desk.files()
    ended = call("audit", *arguments, *form)
    assert ended.code == code
    assert not CELLS.search(ended.out.decode())
    assert bool(ended.out) == (code in (0, 1) and form != ["-q"])
    assert bool(ended.err.removeprefix("next: anonymize init table.csv -o anonymize.yaml\n")) == (code != 0)
    assert desk.files() == before


def test_audit_says_what_is_not_met(call: Call) -> None:
    ended = call("audit", "spec.yaml", "--json")
    report = json.loads(ended.out)
    assert report["privacy"]["satisfied"] is False
    assert [Caution(each).text for each in report["warnings"]] == [
        "column name is a direct identifier, and it is in the table",
        "columns that pass through (ward) single out 0 % of the rows by themselves, 100 % together with the "
        "quasi-identifiers as released; 100 % are then in groups of fewer than 3",
        "the quasi-identifiers as released disclose with certainty what passes through: ward of 100 % of the people",
    ]
    assert "spec.yaml:12: k-anonymity (k=3) is not met" in ended.err


def test_audit_of_a_release(desk: Desk, call: Call) -> None:
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json").code == 0
    audited = json.loads(call("audit", "spec.yaml", "-i", "out.csv", "--json").out)
    released = json.loads((desk.folder / "r.json").read_text())
    assert released["risk"].pop("before")["uniques"]  # which the audit of a release cannot know
    order = audited["privacy"].pop("order")  # the audit has to read from the file what the release knows of itself
    assert order == {"judged": False, "sorted": True, "attributes": {}, "position": "tells nothing"}
    # Whether a column follows from a quasi-identifier, the original tells.
    derived = [report["risk"]["passing"].pop("derived") for report in (audited, released)]
    assert [each.get("not_judged", each.get("found")) for each in derived] == [["ward"], []]
    assert released["risk"].pop("unique_values") == {"diagnosis": 0.0}  # of the input
    assert released["risk"].pop("candidates")["people"] == 60  # by the input's people
    for block in ("privacy", "risk"):
        assert audited[block] == released[block]
    assert audited["classes"]["count"] == released["classes"]["count"]


# --- validate and schema ---------------------------------------------------------------------------------------------


def test_validate(desk: Desk, call: Call) -> None:
    assert call("validate", "spec.yaml").out == b"spec.yaml is valid\n"
    assert b"table.csv (60 rows, 6 columns)" in call("validate", "spec.yaml", "-i", "table.csv").out
    assert call("validate", "spec.yaml", "-q").out == b""
    desk.fill(spec=SPEC.replace("k: 3", "k: three"))
    ended = call("validate", "spec.yaml")
    assert ended.code == 2 and "spec.yaml:12:6" in ended.err


def test_validate_tells_every_problem_at_once(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC.replace("k: 3", "k: 0").replace("l: 2", "l: none").replace("numeric", "number"))
    assert call("validate", "spec.yaml").err.count("error: ") == 3


def test_schema(call: Call) -> None:
    printed = call("schema").out
    assert json.loads(printed)["properties"].keys() >= {"version", "input", "privacy"}
    assert printed == (ROOT / "anonymize" / "spec" / "spec.schema.json").read_bytes()
