"""Release commands as a user runs them: options, streams, formats, reports."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import CELLS, HEADER, JOBS, SPEC, Call, Desk, table, unnamed

CONTRACT = {
    "schema_version": None,
    "tool": ["name", "version"],
    "started_at": None,
    "spec": ["path", "sha256"],
    "input": ["path", "sha256", "rows", "columns"],
    "output": ["path", "sha256", "rows", "suppressed_rows", "suppressed_cells"],
    "algorithm": ["name", "family", "options", "seed"],
    "privacy": ["satisfied", "verified", "missing", "models"],
    "classes": ["count", "min_size", "mean_size", "max_size"],
    "risk": ["prosecutor_max", "prosecutor_mean", "journalist_max", "marketer", "records_at_risk", "uniques"],
    "utility": [
        "gcp",
        "ncp",
        "ncp_weighted",
        "discernibility",
        "c_avg",
        "precision",
        "loss",
        "suppression",
        "attributes",
    ],
    "recoding": ["kind"],
    "timing": ["read_s", "search_s", "recode_s", "verify_s", "write_s", "total_s"],
    "memory": ["peak_mb"],
    "warnings": None,
}
"""The keys of a report, in their order; others may stand between them."""


def records(content: bytes, separator: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator, strict=True))


def report_of(call: Call, desk: Desk, *arguments: object) -> dict[str, Any]:
    """The report of a release, which holds no cell of the table."""
    path = desk.folder / "report.json"
    assert call("mondrian", desk.spec, "-o", "out.csv", "-r", path, "--force", "-q", *arguments).code == 0
    text = path.read_text(encoding="utf-8")
    assert not CELLS.search(unnamed(text))
    found: dict[str, Any] = json.loads(text)
    return found


def test_both_ways_of_showing_categories_are_measured_whichever_is_shown(desk: Desk, call: Call) -> None:
    shown = []
    for way in ("node", "set"):
        desk.fill(spec=SPEC + f"output: {{categorical: {way}}}\n")
        (desk.folder / "jobs.csv").write_text(JOBS + "CANARY baker;Kitchen;*\n", encoding="utf-8")  # it does not occur
        shown.append(report_of(call, desk, "--cut", "rate")["utility"])
        text = (desk.folder / "out.csv").read_text(encoding="utf-8")
        assert ("{" in text) == (way == "set")
    nodes, sets = shown
    assert {name: nodes[name] for name in ("gcp", "gcp_set")} == {name: sets[name] for name in ("gcp", "gcp_set")}
    assert 0 < sets["gcp_set"] < sets["gcp"]
    assert sets["ncp_set"] == pytest.approx(60 * sum(each["ncp_set"] for each in sets["attributes"].values()))


def test_sets_of_single_dimensional_recodings_cost_their_members(desk: Desk, call: Call) -> None:
    jobs = [f"{letter};*" for letter in "abcdefg"]
    (desk.folder / "letters.csv").write_text("\n".join(jobs) + "\n", encoding="utf-8")
    cells = ["abcdefg"[(3 * row * row + row) % 7] for row in range(60)]
    desk.fill("job,ill\n" + "".join(f"{job},{'yes' if row % 3 else 'no'}\n" for row, job in enumerate(cells)))
    desk.spec.write_text(
        "version: 1\ninput: {path: table.csv}\nquasi_identifiers: {job: {hierarchy: letters.csv}}\n"
        "workload: {targets: [ill]}\ninsensitive: [ill]\nprivacy: {k: 15}\noutput: {categorical: set}\n"
    )
    for algorithm in ("k-optimize", "tds", "bug"):
        ended = call(algorithm, desk.spec, "-o", "out.csv", "-r", "report.json", "--force", "-q")
        assert ended.code == 0
        shown = [row[0] for row in records((desk.folder / "out.csv").read_bytes())[1:]]
        members = [1 if cell == "*" else (cell.count("|") + 1) / 7 if cell.startswith("{") else 0 for cell in shown]
        told = json.loads((desk.folder / "report.json").read_text())["utility"]
        assert any(members) and told["ncp_set"] == pytest.approx(sum(members)) and told["ncp_set"] <= told["ncp"]
        assert told["gcp_set"] == pytest.approx(sum(members) / 60)
        found = json.loads(call("evaluate", desk.spec, "out.csv", "--json", "-q").out)["utility"]
        assert found["ncp_set"] == pytest.approx(told["ncp_set"]) and found["attributes"] == told["attributes"]


def test_a_release(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC + "output: {row_order: keep}\n")
    before = desk.files()
    ended = call("mondrian", desk.spec)
    assert ended.code == 0, ended.err
    header, *rows = records(ended.out)
    assert header == ["age", "zip", "job", "diagnosis", "ward"]
    assert [row[3:] for row in rows] == [row[4:] for row in records(table().encode())[1:]]
    assert "Every requirement is met." in ended.err
    assert desk.files() == before


def test_the_output_is_the_same_in_a_file_and_on_standard_output(desk: Desk, call: Call, once: Call) -> None:
    out = once("mondrian", desk.spec).out
    assert call("mondrian", desk.spec, "-o", "out.csv").out == b""
    assert (desk.folder / "out.csv").read_bytes() == out


# --- streams and formats ---------------------------------------------------------------------------------------------


def test_standard_input(desk: Desk, call: Call, once: Call, launch: Call) -> None:
    expected = once("mondrian", desk.spec).out
    (desk.folder / "table.csv").unlink()
    ended = launch("mondrian", desk.spec, "-i", "-", "-r", "r.json", stdin=table().encode())
    assert (ended.code, ended.out) == (0, expected)
    block = json.loads((desk.folder / "r.json").read_text())["input"]
    assert (block["path"], block["sha256"]) == ("<stdin>", hashlib.sha256(table().encode()).hexdigest())
    assert not any(desk.temporary.iterdir())


def typed(content: bytes, form: str) -> bytes:
    """A CSV in another format, every column as text."""
    if form == "csv.gz":
        return gzip.compress(content)
    buffer = io.BytesIO()
    frame = pl.read_csv(content, infer_schema=False)
    frame.write_parquet(buffer) if form == "parquet" else frame.write_ipc(buffer)
    return buffer.getvalue()


def untyped(path: Path, form: str) -> bytes:
    if form == "csv.gz":
        return gzip.decompress(path.read_bytes())
    frame = pl.read_parquet(path) if form == "parquet" else pl.read_ipc(path)
    return frame.write_csv().encode()


@pytest.mark.parametrize("form", ["csv.gz", "parquet", "arrow"])
def test_formats(desk: Desk, call: Call, once: Call, form: str) -> None:
    expected = once("mondrian", desk.spec).out
    (desk.folder / f"table.{form}").write_bytes(typed(table().encode(), form))
    assert call("mondrian", desk.spec, "-i", f"table.{form}", "-o", f"out.{form}").code == 0
    assert untyped(desk.folder / f"out.{form}", form) == expected
    assert not any(desk.temporary.iterdir())


@pytest.mark.parametrize("form", ["csv.gz", "parquet", "arrow"])
def test_output_format_of_standard_output(desk: Desk, call: Call, once: Call, form: str) -> None:
    expected = once("mondrian", desk.spec).out
    ended = call("mondrian", desk.spec, "--output-format", form)
    (desk.folder / "copy").write_bytes(ended.out)
    assert untyped(desk.folder / "copy", form) == expected


def test_the_separator_is_the_input_s(desk: Desk, call: Call) -> None:
    expected = records(call("mondrian", desk.spec).out)
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=";").writerows(records(table().encode()))
    desk.fill(buffer.getvalue(), SPEC.replace("input: {", 'input: {separator: ";", '))
    assert records(call("mondrian", desk.spec).out, ";") == expected


@pytest.mark.parametrize("suffix", ["", ".parquet"])
def test_null_of_a_typed_file_is_missing(desk: Desk, call: Call, suffix: str) -> None:
    pl.DataFrame({"a": [1, 1, 1, 1], "d": ["x", None, "x", None]}).write_parquet(desk.folder / "t.parquet")
    spec = 'version: 1\ninput: {path: t.parquet, missing: ["?"]}\nquasi_identifiers: {a: {type: numeric}}\n'
    desk.spec.write_text(spec + "sensitive: {d: {}}\nprivacy: {k: 2, l: 1}\n")
    assert call("mondrian", desk.spec, "-o", f"out{suffix or '.csv'}", "-r", "r.json").code == 0
    models = json.loads((desk.folder / "r.json").read_text())["privacy"]["models"]
    assert [model["achieved"] for model in models] == [{"k": 4}, {"l": 1}]
    assert call("audit", desk.spec, "-i", f"out{suffix or '.csv'}", "-l", 2).code == 1


def test_an_empty_text_is_not_missing_where_the_spec_says_so(desk: Desk, call: Call) -> None:
    desk.fill("a,d\n1,\n1,x\n1,\n1,x\n", 'version: 1\ninput: {path: table.csv, missing: ["?"], normalize: false}\n')
    with desk.spec.open("a") as file:
        file.write("quasi_identifiers: {a: {}}\nsensitive: {d: {}}\nprivacy: {k: 2, l: 2}\n")
        file.write("output: {row_order: keep}\n")
    assert call("mondrian", desk.spec, "-o", "out.parquet").code == 0
    assert pl.read_parquet(desk.folder / "out.parquet")["d"].to_list() == ["", "x", "", "x"]
    assert call("audit", desk.spec, "-i", "out.parquet").code == 0
    desk.spec.write_text(desk.spec.read_text().replace(", normalize: false", ""))  # then a blank value is missing
    assert call("audit", desk.spec, "-i", "out.parquet").code == 1
    assert call("mondrian", desk.spec, "-o", "again.parquet").code == 4


@pytest.mark.parametrize("name", ["out[1].csv", "out{1}.csv", "out *?.csv", "ünïcode.csv", "-.csv"])
def test_odd_names_of_outputs(desk: Desk, call: Call, name: str) -> None:
    assert call("mondrian", desk.spec, "-o", f"./{name}").code == 0
    assert (desk.folder / name).exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf" + table().encode(), id="byte order mark"),
        pytest.param(table().rstrip("\n").encode(), id="no final newline"),
        pytest.param(table().replace("\n", "\r\n").encode(), id="carriage returns"),
        pytest.param(table().encode() + b"\n\n", id="blank lines at the end"),
    ],
)
def test_the_same_table_in_other_words(desk: Desk, call: Call, content: bytes) -> None:
    expected = call("mondrian", desk.spec).out
    desk.fill(content)
    assert call("mondrian", desk.spec).out == expected


def test_quoted_newlines_and_odd_column_names(desk: Desk, call: Call) -> None:
    notes = [f'CANARY\n"{number}", x\r\ny' for number in range(6)]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([['a "b"', "x\ny"], *[["1", note] for note in notes]])
    quasi = '{\'a "b"\': {type: numeric}}\ninsensitive: ["x\\ny"]\nprivacy: {k: 6}\n'
    desk.fill(buffer.getvalue(), f"version: 1\ninput: {{path: table.csv}}\nquasi_identifiers: {quasi}")
    ended = call("mondrian", desk.spec)
    assert (ended.code, [row[1] for row in records(ended.out)]) == (0, ["x\ny", *notes])


def test_another_encoding(desk: Desk, call: Call, once: Call) -> None:
    expected = once("mondrian", desk.spec).out.decode().replace("CANARY 0", "CANARY é")
    desk.fill(
        table().replace("CANARY 0", "CANARY é").encode("latin-1"), SPEC.replace("{path", "{encoding: latin-1, path")
    )
    ended = call("mondrian", desk.spec)
    assert (ended.code, ended.out.decode()) == (0, expected)
    assert not any(desk.temporary.iterdir())


# --- reports ---------------------------------------------------------------------------------------------------------


def test_the_keys_of_a_report(desk: Desk, call: Call) -> None:
    report = report_of(call, desk)
    assert [key for key in report if key in CONTRACT] == list(CONTRACT)
    for block, keys in CONTRACT.items():
        assert keys is None or [key for key in report[block] if key in keys] == keys
    for model in report["privacy"]["models"]:
        assert list(model)[:5] == ["model", "attribute", "required", "achieved", "satisfied"]


def test_what_a_report_says(desk: Desk, call: Call) -> None:
    report = report_of(call, desk)
    content = (desk.folder / "table.csv").read_bytes()
    assert report["input"] == {
        "path": str(desk.folder / "table.csv"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "rows": 60,
        "columns": HEADER.count(",") + 1,
    }
    assert report["spec"]["sha256"] == hashlib.sha256(desk.spec.read_bytes()).hexdigest()
    assert report["output"]["sha256"] == hashlib.sha256((desk.folder / "out.csv").read_bytes()).hexdigest()
    assert report["privacy"]["satisfied"] is True
    assert math.isclose(report["utility"]["gcp"], report["utility"]["ncp"] / (60 * 3))
    assert sum(report["timing"][f"{stage}_s"] for stage in ("read", "search", "recode", "verify", "write")) <= (
        report["timing"]["total_s"] + 0.001
    )


def test_markdown_and_json_at_once(desk: Desk, call: Call) -> None:
    assert call("mondrian", desk.spec, "-o", "out.csv", "-r", "r.md", "-r", "r.json").code == 0
    text = (desk.folder / "r.md").read_text(encoding="utf-8")
    assert text.startswith("# Anonymization report") and "every requirement is met" in text
    assert not CELLS.search(text + unnamed((desk.folder / "r.json").read_text(encoding="utf-8")))


def test_bins_are_named_by_round_numbers_and_labels_alone(desk: Desk, call: Call) -> None:
    marginals = report_of(call, desk)["marginals"]
    assert set(marginals) == {"age", "job"}  # all postcodes of the table begin with the same four digits
    numbers = [
        float(word.strip("<")) for label in marginals["age"]["bins"] for word in label.split() if word[-1].isdigit()
    ]
    steps = {after - before for before, after in pairwise(sorted(set(numbers)))}
    assert numbers and all(number % min(steps) == 0 for number in numbers)
    labels = {label for line in JOBS.splitlines() for label in line.split(";")}
    assert set(marginals["job"]["bins"]) <= labels
    assert all(count >= 5 for block in marginals.values() for count in block["before"])


@pytest.mark.parametrize("suffix", [".json", ".md"])
def test_a_public_report(desk: Desk, call: Call, suffix: str) -> None:
    arguments = ("-o", desk.folder / "out.csv", "-r", f"r{suffix}", "--seed", 987654321, "--public-report")
    assert call("mondrian", desk.spec, *arguments).code == 0
    text = (desk.folder / f"r{suffix}").read_text(encoding="utf-8")
    secrets = [str(desk.folder), "table.csv", "spec.yaml", "out.csv", "987654321"]
    secrets.append(hashlib.sha256((desk.folder / "table.csv").read_bytes()).hexdigest())
    assert [secret for secret in secrets if secret in text.replace("\\", "")] == []


def test_what_a_public_report_cannot_show_was_checked_all_the_same(desk: Desk, call: Call) -> None:
    """Of individuals: with a line that says so, and another one where the check was overruled."""
    desk.fill(spec=SPEC.replace("identifiers: [name]", "unit: name"))
    arguments = ("mondrian", desk.spec, "-o", "out.csv", "-r", "r.md", "--public-report", "--force")
    made = call(*arguments)
    assert made.code == 0 and "NOT SHOWN by this public report" in made.err
    assert "Every requirement is met: the release was checked" in made.err
    assert "NOT SHOWN by this public report" in (desk.folder / "r.md").read_text(encoding="utf-8")
    allowed = call(*arguments, "--allow-unsafe")
    assert "is written whatever came of it" in allowed.err and "requirement is met:" not in allowed.err
    desk.fill()
    assert "checked with its input" not in call(*arguments).err


def test_where_settings_come_from(desk: Desk, call: Call) -> None:
    settings = report_of(call, desk, "-k", 4)["settings"]
    assert settings["k"] == {"value": 4, "from": "command line"}
    assert settings["l"] == {"value": 2, "from": "spec"}
    assert settings["suppression"] == {"value": 0.1, "from": "spec"}
    settings = report_of(call, desk, "-l", 1, "--suppression", 0.2)["settings"]
    assert settings["k"] == {"value": 3, "from": "spec"}
    assert settings["l"] == {"value": 1, "from": "command line"}
    assert settings["suppression"] == {"value": 0.2, "from": "command line"}
    desk.fill(spec=SPEC.replace("  suppression: 0.1\n", ""))
    assert report_of(call, desk)["settings"]["suppression"] == {"value": 0.0, "from": "default"}


def test_options_go_before_the_spec(desk: Desk, call: Call) -> None:
    models = report_of(call, desk, "-k", 7, "-l", 3)["privacy"]["models"]
    assert [model["required"] for model in models] == [{"k": 7}, {"l": 3}]
    assert models[0]["achieved"]["k"] >= 7 and models[1]["achieved"]["l"] >= 3


def test_options_of_the_algorithm_are_in_the_report(desk: Desk, call: Call) -> None:
    assert report_of(call, desk, "--cut", "widest", "--relaxed", "--seed", 3)["algorithm"] == {
        "name": "mondrian",
        "family": "multidimensional",
        "options": {
            **{"cut": "widest", "ties": "leaves", "relaxed": True, "refine": False, "exact": True},
            **{"mask_minimality": False, "passes": 0, "sweeps": 0, "time_limit": 0.0},
        },
        "seed": 3,
    }


def test_reruns_are_the_same_bytes(desk: Desk, launch: Call) -> None:
    found = []
    for seed, threads in (("0", 1), ("1", 2)):
        env = desk.environment(PYTHONHASHSEED=seed)
        arguments = ("-o", "out.csv", "-r", "r.json", "--force", "--threads", threads, "-q")
        assert launch("mondrian", desk.spec, *arguments, env=env).code == 0
        report = json.loads((desk.folder / "r.json").read_text())
        for changing in ("started_at", "timing", "memory"):
            del report[changing]
        found.append(((desk.folder / "out.csv").read_bytes(), json.dumps(report)))
    assert found[0] == found[1]


def test_a_seed_makes_a_shuffle_repeatable(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC + "output: {row_order: shuffle}\n")
    kept = call("mondrian", desk.spec, "--seed", 1).out
    assert call("mondrian", desk.spec, "--seed", 1).out == kept
    other = call("mondrian", desk.spec, "--seed", 2).out
    assert other != kept and sorted(other.splitlines()) == sorted(kept.splitlines())


@pytest.mark.parametrize(
    ("command", "options", "messages"),
    [
        ("mondrian", ["--passes", 2], ["--passes has no effect without --refine"]),
        ("bottom-up", ["--no-refine", "--passes", 2], ["--passes has no effect without --refine"]),
        ("mondrian", ["--seed", 2], ["--seed has no effect: nothing is drawn at random with these options"]),
        ("mondrian", ["--seed", 2, "--passes", 1, "--refine"], []),
        ("top-down", ["--no-refine", "--seed", 2], []),
    ],
)
def test_options_without_effect_are_in_the_report_and_on_stderr(
    desk: Desk, call: Call, command: str, options: list[object], messages: list[str]
) -> None:
    ended = call(command, desk.spec, "-o", "out.csv", "-r", "r.json", *options)
    warnings = [text for text in json.loads((desk.folder / "r.json").read_text())["warnings"] if "no effect" in text]
    assert len(warnings) == len(messages)
    for warning, message in zip(warnings, messages, strict=True):
        assert warning.startswith(message)
        assert message in " ".join(ended.err.split())


def test_the_seed_of_a_shuffle_has_an_effect(desk: Desk, call: Call) -> None:
    desk.fill(spec=SPEC + "output: {row_order: shuffle}\n")
    assert not [text for text in report_of(call, desk, "--seed", 1)["warnings"] if "no effect" in text]


# --- options of the command ------------------------------------------------------------------------------------------


def test_dry_run(desk: Desk, call: Call) -> None:
    before = desk.files()
    assert call("mondrian", desk.spec, "--dry-run").out == b""
    assert call("mondrian", desk.spec, "--dry-run", "-o", "out.csv").code == 0
    assert desk.files() == before
    assert call("mondrian", desk.spec, "--dry-run", "-o", "out.csv", "-r", "r.json").code == 0
    assert desk.files().keys() - before.keys() == {str(desk.folder / "r.json")}


def test_force(desk: Desk, call: Call) -> None:
    for name in ("out.csv", "r.json"):
        (desk.folder / name).write_text("precious")
        assert call("mondrian", desk.spec, *(("-o", name) if name == "out.csv" else ("-r", name))).code == 2
        assert (desk.folder / name).read_text() == "precious"
    assert call("mondrian", desk.spec, "-o", "out.csv", "-r", "r.json", "--force").code == 0
    assert "precious" not in (desk.folder / "out.csv").read_text() + (desk.folder / "r.json").read_text()


def test_quiet_and_verbose(desk: Desk, call: Call) -> None:
    plain, verbose = call("mondrian", desk.spec).err, call("mondrian", desk.spec, "-v").err
    assert call("mondrian", desk.spec, "-q").err == ""
    assert "peak" in verbose and "peak" not in plain


@pytest.mark.parametrize(("color", "colored"), [("always", True), ("never", False), ("auto", False)])
@pytest.mark.parametrize("command", ["mondrian", "audit"])
def test_color(desk: Desk, call: Call, command: str, color: str, colored: bool) -> None:
    arguments = ("spec.yaml",) if command == "mondrian" else ("--qi", "age", "-i", "table.csv")
    ended = call(command, *arguments, "--color", color)
    assert ("\x1b[" in (ended.err if command == "mondrian" else ended.out.decode())) is colored


def test_a_nearly_unique_column_draws_a_warning(desk: Desk, call: Call) -> None:
    lines = table(200).splitlines()
    desk.fill("\n".join([f"{lines[0]},id", *(f"{line},CANARY{n}" for n, line in enumerate(lines[1:]))]))
    desk.spec.write_text(SPEC.replace("[ward]", "[ward, id]"))
    assert "column 'id' passes through" in " ".join(call("mondrian", desk.spec).err.split())


def test_python_m(desk: Desk, launch: Call) -> None:
    assert launch("--version").out.startswith(b"anonymize, version ")
    assert launch("mondrian", desk.spec, "-q").code == 0


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_help_imports_nothing_heavy(desk: Desk, arguments: list[str]) -> None:
    script = (
        "import sys\nfrom anonymize.cli import exits\nfrom anonymize.cli.main import run\n"
        f"exits.outcome(lambda: run({arguments!r}))\n"
        "print({'polars', 'numpy', 'scipy', 'pydantic', 'rich', 'yaml'} & set(sys.modules))"
    )
    from subprocess import run

    ended = run([sys.executable, "-c", script], capture_output=True, env=desk.environment(), check=True)
    assert ended.stdout.decode().splitlines()[-1] == "set()"


@pytest.mark.parametrize("command", ["mondrian", "audit", "validate", "schema"])
def test_help_of_every_command(call: Call, command: str) -> None:
    ended = call(command, "--help")
    assert ended.code == 0 and ended.out.startswith(b"Usage: ")
    assert command.encode() in call("--help").out
