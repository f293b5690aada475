"""`validate`: its forms, and watching."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.cli.prepare import FORMS
from anonymize.cli.progress import watch
from anonymize.errors import Caution
from tests.cli.conftest import JOBS, Call, Desk, Looks
from tests.cli.conftest import SPEC as DESK_SPEC

SPEC = "version: 1\nquasi_identifiers: {age: {type: numeric}}\nprivacy: {k: 2}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "right.yaml").write_text(SPEC)
    (tmp_path / "wrong.yaml").write_text(SPEC.replace("k: 2", "k: 0") + "nonsense: 1\n")
    (tmp_path / "t.csv").write_text("age,job\n31,cook\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = outcome(lambda: run(["validate", *arguments, "-q"]))
    return code, capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS)
def test_the_exit_code_is_the_same_in_every_form(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert printed(capsys, "right.yaml", "--format", form)[0] == 0
    assert printed(capsys, "wrong.yaml", "right.yaml", "--format", form)[0] == 2
    assert printed(capsys, "right.yaml", "-i", "t.csv", "--format", form)[0] == 3


def test_json_has_every_problem_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(printed(capsys, "wrong.yaml", "--format", "json")[1])
    assert not result["valid"] and result["specs"] == ["wrong.yaml"]
    assert [(problem["file"], problem["line"]) for problem in result["problems"]] == [
        ("wrong.yaml", 3),
        ("wrong.yaml", 4),
    ]
    assert json.loads(printed(capsys, "right.yaml", "--format", "json")[1])["valid"]


def test_annotations_are_at_the_lines_of_the_spec(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "wrong.yaml", "--format", "github")[1].splitlines()
    assert [line.partition(",title")[0] for line in lines] == [f"::error file=wrong.yaml,line={n}" for n in (3, 4)]
    assert printed(capsys, "right.yaml", "--format", "github")[1] == (
        "::notice title=anonymize validate::right.yaml: valid\n"
    )


def test_reports_for_other_tools(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suites = ElementTree.fromstring(printed(capsys, "wrong.yaml", "right.yaml", "--format", "junit")[1].encode())
    assert (suites.get("tests"), suites.get("failures")) == ("3", "2")
    found = json.loads(printed(capsys, "wrong.yaml", "--format", "sarif")[1])["runs"][0]["results"]
    assert [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in found] == [3, 4]
    assert printed(capsys, "wrong.yaml", "--format", "markdown")[1].startswith("# Not valid\n\n- wrong.yaml:3:")


def test_watching_checks_again_when_a_file_beside_the_spec_changes(folder: Path, looks: Looks) -> None:
    checks: list[str] = []
    spec, hierarchy = folder / "right.yaml", folder / "jobs.csv"

    def change_spec() -> None:
        spec.write_text(SPEC + "# more\n")
        os.utime(spec, ns=(1, 1))

    def change_hierarchy() -> None:
        hierarchy.write_text("cook;*\n")

    def nothing() -> None:
        pass

    looks(nothing, change_spec, nothing, change_hierarchy)
    with pytest.raises(KeyboardInterrupt):
        watch(lambda: checks.append("checked"), ["right.yaml"])
    assert len(checks) == 3


@pytest.mark.parametrize(("table", "changed"), [([], "spec.yaml"), (["-i", "table.csv"], "table.csv")])
def test_what_becomes_wrong_is_said_while_it_is_watched(desk: Desk, table: list[str], changed: str) -> None:
    arguments = ("validate", desk.spec, *table, "--watch")
    with desk.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout and b"spec.yaml is valid" in process.stdout.readline()
            (desk.folder / changed).write_text("nonsense: 1\n")
            assert process.stderr and process.stderr.readline().startswith(b"error: ")
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()


@pytest.mark.parametrize(("table", "changed"), [([], "spec.yaml"), (["-i", "table.csv"], "table.csv")])
@pytest.mark.parametrize("form", ["text", "json"])
def test_each_look_is_told_as_it_is_made(
    desk: Desk, call: Call, looks: Looks, monkeypatch: pytest.MonkeyPatch, table: list[str], changed: str, form: str
) -> None:
    written = io.BytesIO()
    told = []

    def change() -> None:
        told.append(written.getvalue())
        (desk.folder / changed).write_text("nonsense: 1\n")

    looks(change, lambda: told.append(written.getvalue()))
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(written)))
        ended = call("validate", "spec.yaml", *table, "--watch", "--format", form)
    assert ended.code == 130 and ("error: " in ended.err) == (form == "text")
    if form == "text":
        assert told[0].startswith(b"spec.yaml is valid") and told[1] == told[0]
    else:
        assert [b'"valid": true' in told[0], b'"valid": false' in told[1]] == [True, True]


def test_a_table_on_standard_input_is_looked_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"age\n31\n31\n")))
    assert outcome(lambda: run(["validate", "right.yaml", "-i", "-"])) == 0


def test_watching_and_standard_input_exclude_each_other(folder: Path) -> None:
    assert outcome(lambda: run(["validate", "right.yaml", "-i", "-", "--watch"])) == 2


def test_a_table_goes_with_one_spec(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(lambda: run(["validate", "right.yaml", "wrong.yaml", "-i", "t.csv"])) == 2
    assert "--input: goes with one spec, and several were given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spec", "jobs", "told"),
    [
        (DESK_SPEC, "CANARY cook;Kitchen;*\nCANARY cook;Office;*\n", "jobs.csv:2"),
        (DESK_SPEC.replace("l: 2", "models: [{model: t-closeness, t: 0.3, distance: ordered}]"), JOBS, "t-closeness"),
    ],
)
def test_hierarchy_files_and_models_are_checked_without_a_table(
    desk: Desk, call: Call, spec: str, jobs: str, told: str
) -> None:
    desk.fill(spec=spec)
    (desk.folder / "jobs.csv").write_text(jobs, encoding="utf-8")
    ended = call("validate", "spec.yaml")
    assert (ended.code, ended.out) == (2, b"") and told in ended.err


def test_json_reads_with_ease(desk: Desk, call: Call) -> None:
    (desk.folder / "größe.yaml").write_text("nonsense: 1\n")
    lines = call("validate", "größe.yaml", "--format", "json").out.decode().splitlines()
    assert lines[1:3] == ['  "specs": [', '    "größe.yaml"']


def test_only_what_a_spec_may_name_is_watched_beside_it(desk: Desk, call: Call, looks: Looks) -> None:
    other = desk.folder / "other"
    other.mkdir()
    desk.spec.rename(other / "spec.yaml")
    (desk.folder / "jobs.csv").rename(other / "jobs.csv")
    looks(lambda: (other / "notes.txt").touch(), lambda: (desk.folder / "more.csv").touch())
    ended = call("validate", "other/spec.yaml", "-i", "table.csv", "--watch")
    assert ended.code == 130 and ended.out.count(b"is valid") == 1


def test_a_file_that_goes_while_it_is_watched_is_missed_and_no_bug(desk: Desk, call: Call, looks: Looks) -> None:
    looks((desk.folder / "table.csv").unlink, lambda: None)
    ended = call("validate", "spec.yaml", "-i", "table.csv", "--watch")
    assert ended.code == 130 and "error: table.csv" in ended.err


def test_a_value_that_reads_as_a_node_over_several_is_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the table and without; nothing is wrong, and labels of a builder are none of its values."""
    (folder / "codes.csv").write_text("C50;C50;*\nC50.911;C50;*\nI10;I10;*\n")
    (folder / "t.csv").write_text("code\nC50\nC50.911\nI10\n")
    head, tail = "version: 1\nquasi_identifiers: {code: {hierarchy: ", "}}\nprivacy: {k: 2}\n"
    (folder / "file.yaml").write_text(f"{head}codes.csv{tail}")
    (folder / "prefix.yaml").write_text(f"{head}{{prefix: [3]}}{tail}")
    said = "code: 1 of its values read as a node over several does"
    for arguments in (["file.yaml"], ["file.yaml", "-i", "t.csv"]):
        assert outcome(partial(run, ["validate", *arguments])) == 0
        assert said in capsys.readouterr().err
        code, out = printed(capsys, *arguments, "--format", "json")
        assert code == 0 and [said in each for each in json.loads(out)["warnings"]] == [True]
    assert (
        outcome(lambda: run(["validate", "prefix.yaml", "-i", "t.csv", "-q"])) == 0
        and "warning" not in capsys.readouterr().err
    )
    assert outcome(lambda: run(["hierarchy", "check", "codes.csv"])) == 0
    assert "codes.csv: 1 of its values" in capsys.readouterr().err
    assert "warnings" not in json.loads(printed(capsys, "right.yaml", "--format", "json")[1])
    (folder / "codes.csv").write_text("C50;I10;*\nI10;C50;*\nC50.911;C;*\n")
    assert outcome(lambda: run(["validate", "file.yaml"])) == 0
    assert "code: 2 of its nodes over one value read as another value does" in capsys.readouterr().err


UNDECIDED = DESK_SPEC.replace("insensitive: [ward]", "undecided: [ward]")


def test_what_is_undecided_is_refused_by_every_command(call: Call, desk: Desk) -> None:
    (desk.folder / "spec.yaml").write_text(UNDECIDED)
    for command in (["validate"], ["mondrian", "-o", "out.csv"], ["audit", "-i", "table.csv"]):
        ended = call(*command, "spec.yaml")
        assert ended.code == 2 and "spec.yaml:10:13: column `ward` is undecided" in ended.err, command
    assert not (desk.folder / "out.csv").exists()


def test_what_is_undecided_is_left_out_with_the_others_and_named(call: Call, desk: Desk) -> None:
    (desk.folder / "spec.yaml").write_text(UNDECIDED + "others: drop\n")
    warning = "1 column is undecided, and is left out of the release (others: drop): ward"
    assert warning in call("validate", "spec.yaml").err
    ended = call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json", "--save-recoding", "s.json")
    assert ended.code == 0 and warning in " ".join(ended.err.split())
    assert warning in [Caution(each).text for each in json.loads((desk.folder / "r.json").read_text())["warnings"]]
    assert (desk.folder / "out.csv").read_text().startswith("age,zip,job,diagnosis\n")
    assert call("audit", "spec.yaml", "-i", "out.csv").code == 0
    assert call("evaluate", "spec.yaml", "out.csv").code == 0
    assert call("recode", "s.json", "-i", "table.csv", "-o", "again.csv").code == 0
    assert (desk.folder / "again.csv").read_text().startswith("age,zip,job,diagnosis\n")


def test_a_template_that_shows_no_rounded_decimals_is_warned_of_and_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would do is in the message, and does."""
    (folder / "d.csv").write_text("age\n" + "".join(f"{n}.5\n" for n in range(40)))
    spec = SPEC + "output: {interval: '{low} to {high}', edges: rounded}\n"
    for written, code in {spec.replace(", edges: rounded", ""): 2, spec.replace("rounded", "open"): 0}.items():
        (folder / "d.yaml").write_text(written)
        said, text = printed(capsys, "d.yaml", "-i", "d.csv", "--format", "json")
        assert said == 0 and ("warnings" in json.loads(text)) == bool(code)
        assert outcome(lambda: run(["mondrian", "d.yaml", "-i", "d.csv", "-q"])) == code
        assert ("edges: open" in capsys.readouterr().err) == bool(code)


def test_a_spec_alone_is_valid_whatever_its_table_is_and_json_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own.yaml").write_text(SPEC + "input: {path: t.csv}\n")
    assert printed(capsys, "own.yaml")[0] == 0
    assert printed(capsys, "own.yaml", "-i", "t.csv") == (3, "")
    assert json.loads(printed(capsys, "own.yaml", "--json")[1])["valid"]


# --- what the command that a spec is for refuses ----------------------------------------------------------------------

STAYS = "id,town,day,kg,key\n" + "".join(
    f"p{n // 2},{('Ulm', 'Bonn')[n % 2]},2024-01-{1 + n % 28:02d},{60 + n % 7 / 2},{n}\n" for n in range(60)
)
SPENT = "privacy: {differential: {epsilon: 5, delta: 1e-6}}\n"
INVENTED = SPENT + "insensitive: [town]\nsynthesize: {method: independent}\nidentifiers: [id, day, kg, key]\n"
COUNTED = "insensitive: [town, day, kg, key]\n"
KG = "identifiers: [id, day, key]\nsensitive: {kg: {type: numeric}}\ninsensitive: [town]\n"
TOWNS = "domains: {town: [Ulm, Bonn]}\n"
DISTORTED = "quasi_identifiers: [town]\nsensitive: [day]\nprivacy: {models: [{model: disclosure, l: 1.1}]}\n"


def tables(mechanism: str, table: str, more: str = "") -> str:
    return f"tabulate: {{mechanism: {mechanism}, tables: [{table}]{more}}}\n"


@pytest.mark.parametrize(
    ("command", "spec", "code", "said"),
    [
        ("synthesize", INVENTED, 2, "column 'town' has no public domain"),
        ("synthesize", INVENTED + "domains: {town: [Ulm]}\n", 3, "30 rows have values outside"),
        ("synthesize", INVENTED + TOWNS + "risk: {attacks: [prosecutor]}\n", 2, "risk.attacks: no budget"),
        (
            "synthesize",
            SPENT + KG + "synthesize: {method: mst}\ndomains: {town: [Ulm, Bonn], kg: {low: 0, high: 200}}\n",
            3,
            "of whole numbers, and 26 of these have a fraction (numbers with a fraction: `domains: {kg: {low: 0, high: "
            "200, whole: false}}`)",
        ),
        (
            "synthesize",
            SPENT + "identifiers: [id, kg, key]\nquasi_identifiers: {day: {hierarchy: {dates: [month]}}}\n"
            "insensitive: [town]\nsynthesize: {method: mst}\n" + TOWNS,
            2,
            "dates have no range: `hierarchy` of a file",
        ),
        (
            "safepub",
            SPENT + KG.replace("insensitive: [town]", "quasi_identifiers: [town]") + TOWNS,
            2,
            "column 'kg' is sensitive",
        ),
        (
            "tabulate",
            "unit: id\n" + COUNTED + tables("suppression", "{by: [town], count: true}"),
            3,
            "30 individuals in several of its groups",
        ),
        (
            "tabulate",
            "identifiers: [id]\n" + SPENT + COUNTED + tables("suppression", "{by: [town], count: true}"),
            1,
            "differential-privacy",
        ),
        (
            "tabulate",
            "identifiers: [id]\n" + SPENT + COUNTED + tables("dp", "{by: [town], mean: kg}, {by: [day], count: true}"),
            2,
            "column 'town' has no public domain",
        ),
        (
            "tabulate",
            "identifiers: [id]\n" + SPENT + TOWNS + COUNTED + tables("dp", "{by: [town], mean: kg}"),
            2,
            "column 'kg' is summed, and has no public bounds",
        ),
        (
            "tabulate",
            "identifiers: [id]\n"
            + COUNTED
            + tables("cell-keys", "{by: [town], count: true}", ", cell_keys: {record_key: key}"),
            3,
            "record keys that are not a number from 0",
        ),
        ("randomize", DISTORTED.replace("{models", "{k: 2, models"), 2, "k-anonymity"),
        ("randomize", DISTORTED + "unit: id\n", 2, "unit"),
    ],
)
def test_what_the_command_of_a_spec_refuses_is_not_valid(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, spec: str, code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stays.csv").write_text(STAYS)
    Path("spec.yaml").write_text(f"version: 1\ninput: {{path: stays.csv}}\n{spec}")
    judged, made = call("validate", "spec.yaml", "-i", "stays.csv"), call(command, "spec.yaml", "-o", "made")
    assert judged.code == made.code == code
    assert said in " ".join(judged.err.split()) and said in " ".join(made.err.split())
    alone = call("validate", "spec.yaml")
    assert (alone.code, alone.code and said in " ".join(alone.err.split())) == ((0, 0) if code == 3 else (code, True))


def test_a_spec_that_bounds_disclosure_is_for_randomize(call: Call, desk: Desk) -> None:
    desk.fill(STAYS, f"version: 1\nothers: drop\n{DISTORTED}")
    for table in ([], ["-i", "table.csv"]):
        judged = call("validate", "spec.yaml", *table)
        assert judged.code == 0 and "next: anonymize randomize spec.yaml" in judged.err


def test_a_spec_for_both_kinds_of_releases_is_valid_and_says_what_one_alone_refuses(call: Call, desk: Desk) -> None:
    """`compare` takes it, and leaves out of each release what is required of the other."""
    both = DESK_SPEC + "  differential: {epsilon: 1, delta: 1e-6}\nsynthesize: {method: mst}\n"
    desk.fill(spec=both)
    result = call("validate", "spec.yaml")
    assert result.code == 0 and "warning: spec.yaml: `synthesize` refuses it: k: synthesize invents rows" in result.err
