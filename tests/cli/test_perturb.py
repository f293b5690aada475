"""Steps of `treatments` as a user runs them: alone with `perturb`, and beside the classes of another command."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import Call

ROWS = [
    (30 + n % 7, f"021{n % 3}", "" if n == 4 else str(1000 + 10 * n), ("cook", "clerk", "nurse")[n % 3])
    for n in range(24)
]
TABLE = "age,zip,wage,job\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
NOISE = "treatments: [{method: noise, columns: [wage], scale: 0.1, whole: false}]\n"
ALONE = "version: 1\ninput: {path: table.csv}\ninsensitive: [age, zip, wage, job]\n"
BESIDE = """\
version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric}}
sensitive: {wage: {type: numeric}}
insensitive: [zip, job]
privacy: {k: 3, l: 2}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def columns(path: Path) -> dict[str, list[str]]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def released(call: Call, folder: Path, text: str, command: str, *more: object) -> tuple[dict[str, list[str]], Any]:
    spec = written(folder, text)
    result = call(command, spec, "-o", "out.csv", "-r", "report.json", "--force", "-q", *more)
    assert result.code == 0, result.err
    return columns(folder / "out.csv"), json.loads((folder / "report.json").read_text())


LEFT_OUT = """\
version: 1
input: {path: table.csv}
quasi_identifiers: {age: }
insensitive: [wage, zip, job]
privacy: {k: 3, suppression: 0.2}
output: {suppressed_rows: drop}
treatments:
  - {method: random-swap, columns: [zip], rate: 0.5}
  - {method: pram, columns: [job], invariant: true, keep: 0.5}
"""


@pytest.mark.parametrize("step", ["{method: shuffle, given: [age]", "{method: microaggregation, k: 3"])
def test_steps_are_measured_on_all_rows_also_on_those_that_are_left_out(call: Call, folder: Path, step: str) -> None:
    (folder / "table.csv").write_text(TABLE.replace("\n36,", "\n93,", 2).replace(",,", ",1040,"))
    text = LEFT_OUT + f"  - {step}, columns: [wage]}}\n"
    out, report = released(call, folder, text, "datafly", "--seed", "3")
    assert len(out["age"]) == report["output"]["rows"] == 21
    assert len(report["treatments"]) == 3


def test_suppress_is_about_the_rows_that_are_released(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text(TABLE.replace("\n36,", "\n93,", 2))
    text = LEFT_OUT[: LEFT_OUT.index("treatments:")] + "treatments: [{method: suppress, columns: [zip], k: 8}]\n"
    result = call("datafly", written(folder, text), "-o", "out.csv", "-q")
    assert result.code == 1
    assert "zip: 3 groups smaller than required (rows that the release leaves out counted" in result.err


def test_perturb_changes_what_a_step_names_and_nothing_else(call: Call, folder: Path) -> None:
    out, report = released(call, folder, ALONE + NOISE, "perturb", "--seed", "7")
    before = columns(folder / "table.csv")
    rest = sorted(zip(before["age"], before["zip"], before["job"], strict=True))
    assert sorted(zip(out["age"], out["zip"], out["job"], strict=True)) == rest
    assert out["wage"].count("") == 1 and not set(out["wage"]) & set(before["wage"]) - {""}
    assert report["privacy"]["state"] == "nothing required" and report["privacy"]["satisfied"] is None
    (step,) = report["treatments"]
    assert (step["method"], step["columns"], step["meaning"]) == ("noise", ["wage"], "channel")
    assert any("nothing limits what an attacker learns" in each for each in report["warnings"])


def test_the_manifest_beside_the_release_says_what_a_changed_cell_means(call: Call, folder: Path) -> None:
    released(call, folder, ALONE + NOISE, "perturb")
    manifest = json.loads((folder / "out.manifest.json").read_text())
    by_name = {each["name"]: each for each in manifest["columns"]}
    assert (by_name["wage"]["meaning"], by_name["wage"]["method"]) == ("channel", "noise")
    assert by_name["zip"]["meaning"] == "exact"


def test_every_release_command_makes_the_steps_beside_its_classes(call: Call, folder: Path) -> None:
    out, report = released(call, folder, BESIDE + NOISE, "mondrian", "--seed", "7")
    assert report["classes"]["min_size"] >= 3 and len(report["treatments"]) == 1
    assert not set(out["wage"]) & set(columns(folder / "table.csv")["wage"]) - {""}


def test_a_model_of_a_changed_column_is_measured_on_what_it_was(call: Call, folder: Path) -> None:
    """Noise makes all values differ: it is not what makes a class diverse."""
    same = TABLE.replace("\n", "\n", 1)
    (folder / "table.csv").write_text("\n".join([same.split("\n")[0], *("30,021,1000,cook" for _ in range(12)), ""]))
    result = call("mondrian", written(folder, BESIDE + NOISE), "-o", "out.csv")
    assert result.code == 4 and not (folder / "out.csv").exists()


def test_audit_does_not_know_what_a_changed_column_was(call: Call, folder: Path) -> None:
    released(call, folder, BESIDE + NOISE, "mondrian")
    result = call("audit", "spec.yaml", "-i", "out.csv", "--json")
    models = {each["model"]: each for each in json.loads(result.out)["privacy"]["models"]}
    assert result.code == 1
    assert models["k-anonymity"]["satisfied"] is True
    assert models["distinct-l-diversity"]["satisfied"] is None and models["distinct-l-diversity"]["basis"] == "unknown"


def test_a_manifest_tells_audit_without_a_spec(call: Call, folder: Path) -> None:
    released(call, folder, BESIDE + NOISE, "mondrian")
    result = call("audit", "-i", "out.csv", "--qi", "age", "--sensitive", "wage", "-l", "2", "--json")
    assert result.code == 1 and json.loads(result.out)["privacy"]["models"][0]["satisfied"] is None


def test_a_public_report_has_the_steps_and_nothing_of_the_input(call: Call, folder: Path) -> None:
    _, report = released(call, folder, BESIDE + NOISE, "mondrian", "--public-report")
    (step,) = report["treatments"]
    assert "measured" not in step and "private" not in step
    by_model = {each["model"]: each["satisfied"] for each in report["privacy"]["models"]}
    assert by_model == {"k-anonymity": True, "distinct-l-diversity": None}


def test_a_seed_gives_the_same_bytes_and_cannot_be_published(call: Call, folder: Path) -> None:
    spec, files = written(folder, ALONE + NOISE), []
    for name in ("one.csv", "two.csv"):
        assert call("perturb", spec, "-o", name, "--seed", "7", "-q").code == 0
        files.append((folder / name).read_bytes())
    assert files[0] == files[1]
    assert call("perturb", spec, "-o", "three.csv", "--seed", "7", "--public-report", "-r", "r.json").code == 2
    assert call("perturb", spec, "-o", "four.csv", "-q").code == 0
    assert (folder / "four.csv").read_bytes() != files[0]


STEPS = """\
treatments:
  - {method: pram, columns: [job], keep: 0.5, invariant: true}
  - {method: noise, columns: [wage], kind: romm, scale: 0.5}
  - {method: shuffle, columns: [tax], given: [hours]}
  - {method: rank-swap, columns: [age], distance: 0.3}
  - {method: random-swap, columns: [sex], rate: 0.5}
  - {method: record-swap, move: [region, zip], households: home, rate: 0.2}
  - {method: date-shift, columns: [born], by: [home], days: 30}
"""


def test_every_method_is_made_and_measured(call: Call, folder: Path) -> None:
    lines = ["home,region,zip,job,wage,tax,hours,age,sex,born"]
    for row in range(60):
        home, job = row // 2, ("cook", "clerk", "nurse")[row % 3]
        numbers = f"{1000 + row * row % 97}.5,{row * 7 % 31},{row % 11},{20 + row % 40}"
        lines.append(f"{home},r{home % 2},{home % 4},{job},{numbers},{'mf'[row % 2]},1990-0{1 + row % 9}-11")
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    assert call("key", "make", "key").code == 0
    text = "version: 1\ninput: {path: table.csv}\nidentifiers: [home]\nothers: insensitive\n"
    assert call("perturb", written(folder, text + STEPS), "-o", "out.csv").code == 2
    out, report = released(call, folder, text + STEPS, "perturb", "--key", "key")
    before = columns(folder / "table.csv")
    for name in ("tax", "age", "sex", "zip"):
        assert sorted(out[name]) == sorted(before[name])
    assert sorted(out["wage"]) != sorted(before["wage"])
    assert [each["method"] for each in report["treatments"]] == [
        *("pram", "noise", "shuffle", "rank-swap", "random-swap", "record-swap", "date-shift")
    ]
    assert all(each["measured"] for each in report["treatments"])


KEYS = "version: 1\ninput: {path: table.csv}\nquasi_identifiers: {age: {type: numeric}, zip: {}, job: {}}\n"
REST = "insensitive: [wage]\nprivacy: {k: 2}\n"
SUPPRESS = "treatments: [{method: suppress, columns: [age, zip, job]}]\n"


def test_suppression_of_all_quasi_identifiers_meets_k(call: Call, folder: Path) -> None:
    out, report = released(call, folder, KEYS + REST + SUPPRESS, "perturb")
    cells = [cell for name in ("age", "zip", "job") for cell in out[name]]
    assert report["privacy"]["state"] == "met" and report["classes"]["min_size"] >= 2
    assert report["output"]["suppressed_cells"] == cells.count("*") > 0
    measured = report["treatments"][0]["measured"]
    assert measured["suppressed"] == cells.count("*") and measured["groups"][0]["rows_below_before"] > 0
    before = columns(folder / "table.csv")
    assert {*cells} - {"*"} <= {cell for name in ("age", "zip", "job") for cell in before[name]}
    manifest = json.loads((folder / "out.manifest.json").read_text())
    entry = next(each for each in manifest["columns"] if each["name"] == "zip")
    assert entry["meaning"] == "spans" and entry["method"] == "suppress"
    assert call("audit", "spec.yaml", "-i", "out.csv", "--manifest", "out.manifest.json").code == 0
    assert call("attack", "spec.yaml", "out.csv").code == 0
    assert call("evaluate", "spec.yaml", "out.csv", "-r", "measured.json").code == 0
    share = measured["suppressed"] / len(cells)
    assert json.loads((folder / "measured.json").read_text())["utility"]["gcp"] == pytest.approx(share)
    assert call("perturb", "spec.yaml", "-o", "two.csv", "--public-report", "-r", "public.json").code == 0
    public = json.loads((folder / "public.json").read_text())
    assert public["output"]["suppressed_cells"] == measured["suppressed"] and public["privacy"]["state"] == "met"


def test_suppressed_cells_may_be_nothing(call: Call, folder: Path) -> None:
    text = KEYS + REST + SUPPRESS + "output: {suppressed: null}\n"
    out, report = released(call, folder, text, "perturb")
    cells = [cell for name in ("age", "zip", "job") for cell in out[name]]
    assert report["output"]["suppressed_cells"] == cells.count("") > 0 and "*" not in cells


def test_microaggregated_and_suppressed_quasi_identifiers_meet_k_together(call: Call, folder: Path) -> None:
    steps = (
        "treatments:\n  - {method: microaggregation, columns: [age], k: 8}\n"
        "  - {method: suppress, columns: [age, zip, job], never: [age]}\n"
    )
    out, report = released(call, folder, KEYS + REST + steps, "perturb")
    assert report["privacy"]["state"] == "met" and len({*out["age"]}) <= 3
    assert "*" not in out["age"]


def test_suppression_beside_classes(call: Call, folder: Path) -> None:
    text = BESIDE + "treatments: [{method: suppress, columns: [zip, job], k: 9}]\n"
    out, report = released(call, folder, text, "mondrian")
    assert report["treatments"][0]["measured"]["groups"][0]["smallest"] >= 9
    assert "*" in out["zip"] + out["job"]


def test_rows_that_lose_everything_are_suppressed_rows(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text("age,zip,wage,job\n" + "1,a,1,x\n" * 9 + "2,b,2,y\n3,c,3,z\n")
    text = KEYS + REST.replace("insensitive", "identifiers") + SUPPRESS
    refused = call("perturb", written(folder, text), "-o", "out.csv")
    assert refused.code == 4 and "--suppression 0.1819" in refused.err and not (folder / "out.csv").exists()
    report = released(call, folder, text, "perturb", "--suppression", "0.2")[1]
    assert report["output"]["suppressed_rows"] == 2 and report["output"]["suppressed_cells"] == 6


STRATA = "age,zip,wage,job\n" + "1,a,1,x\n" * 9 + "1,a,2,x\n" * 9
KEPT = KEYS + "insensitive: [wage]\nprivacy: {k: 3}\n" + SUPPRESS.replace("job]", "job], by: [wage], small: keep")


@pytest.mark.parametrize(("few", "left", "dropped"), [("1,c,3,z\n", 18, 1), ("1,c,3,z\n2,c,4,z\n3,c,4,y\n", 21, 0)])
def test_rows_of_strata_given_up_are_left_out_where_they_are_too_few(
    call: Call, folder: Path, few: str, left: int, dropped: int
) -> None:
    (folder / "table.csv").write_text(STRATA + few)
    refused = call("perturb", written(folder, KEPT), "-o", "out.csv")
    assert refused.code == 4 and "--suppression" in refused.err and "incognito" not in refused.err
    out, report = released(call, folder, KEPT, "perturb", "--suppression", "0.2")
    assert len(out["age"]) == left and report["privacy"]["state"] == "met"
    assert report["output"]["dropped_rows"] == dropped
    assert report["output"]["suppressed_rows"] == dropped + out["age"].count("*") == few.count("\n")
    assert any("left out: as a class of their own" in each for each in report["warnings"]) == bool(dropped)


def test_rows_that_lose_everything_are_left_out_where_the_spec_says_so(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text("age,zip,wage,job\n" + "1,a,1,x\n" * 9 + "2,b,2,y\n3,c,3,z\n")
    text = KEYS + REST.replace("insensitive", "identifiers") + SUPPRESS + "output: {suppressed_rows: drop}\n"
    out, report = released(call, folder, text, "perturb", "--suppression", "0.2")
    assert out["age"] == ["1"] * 9 and report["output"]["suppressed_rows"] == report["output"]["dropped_rows"] == 2


def test_rows_that_lose_everything_are_left_out_where_a_model_would_not_be_met(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text("age,zip,wage,job\n" + "1,a,1,x\n1,a,2,x\n" * 9 + "2,b,2,y\n3,c,2,z\n")
    text = KEYS + "sensitive: [wage]\nprivacy: {k: 2, l: 2}\n" + SUPPRESS
    report = released(call, folder, text, "perturb", "--suppression", "0.2")[1]
    assert report["output"]["dropped_rows"] == 2 and report["privacy"]["state"] == "met"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (KEYS + REST + SUPPRESS, "perturb"),
        (KEYS + REST, "release"),
        (KEYS + "insensitive: [wage]\nprivacy: {differential: {epsilon: 1, delta: 0.0001}, k: 2}\n", "safepub"),
    ],
)
def test_validate_names_the_command_that_can_make_the_release(
    call: Call, folder: Path, text: str, command: str
) -> None:
    assert f"next: anonymize {command} spec.yaml" in call("validate", written(folder, text).name).err


def test_a_report_says_how_many_cells_are_suppressed_and_of_what(call: Call, folder: Path) -> None:
    report = released(call, folder, KEYS + REST + SUPPRESS, "perturb")[1]
    share, cells = report["output"]["suppressed_cells"] / (3 * len(ROWS)), report["treatments"][0]["measured"]["cells"]
    assert report["utility"]["gcp"] == pytest.approx(share)
    assert {name: each["ncp"] for name, each in report["utility"]["attributes"].items()} == pytest.approx(
        {name: each["share"] for name, each in cells.items()}
    )
    assert not any("values were changed" in each for each in report["warnings"])
    public = call("perturb", "spec.yaml", "-o", "out.csv", "--force", "--public-report", "-r", "public.json")
    assert "suppressed cells" in public.err and "most of age" in public.err
    page = call("perturb", "spec.yaml", "-o", "out.csv", "--force", "-r", "page.md")
    assert "suppressed cells" in page.err and "most of age" in page.err
    text = (folder / "page.md").read_text()
    assert "the original value, or suppressed" in text and "## Suppressed cells" in text
    assert "## Rows that read the same in the columns of a step" in text and "| k = 2 |" in text
    assert call("evaluate", "spec.yaml", "out.csv", "-r", "measured.json").code == 0
    assert (
        json.loads((folder / "measured.json").read_text())["utility"]["attributes"]["age"]["changed_by"] == "suppress"
    )


def test_what_a_step_alone_requires_is_said_to_be_met(call: Call, folder: Path) -> None:
    text = KEYS + "insensitive: [wage]\n" + SUPPRESS.replace("job]", "job], risk: 0.5")
    report = released(call, folder, text, "perturb")[1]
    assert not any("nothing is guaranteed" in each for each in report["warnings"])
    assert any("was measured in the file" in each for each in report["warnings"])
    said = call("perturb", "spec.yaml", "-o", "out.csv", "--force")
    assert "A risk of at most 0.5, as suppression requires for age, zip, job, is met" in " ".join(said.err.split())

    for more in ([], ["-i", "table.csv"]):
        checked = call("validate", "spec.yaml", *more)
        assert checked.code == 0 and "next: anonymize perturb spec.yaml" in checked.err
    public = call("perturb", "spec.yaml", "-o", "out.csv", "--force", "--public-report", "-r", "public.json")
    assert "What the steps that suppress require is met" in " ".join(public.err.split())


def test_a_column_of_which_nothing_is_left_is_warned_of(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text("age,zip,wage,job\n" + "".join(f"{n},a,1,x\n" for n in range(8)))
    report = released(call, folder, KEYS + REST + SUPPRESS, "perturb")[1]
    assert any("every cell of age is suppressed" in each for each in report["warnings"])


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("k: 2", "`treatments[0].k` is 2, below `privacy.k`, 3"),
        ("risk: 0.4", "has `risk` alone beside `privacy.k`, 3"),
        ("combinations: [{size: 2, k: 3}]", "has `combinations` alone beside `privacy.k`, 3"),
        ("k: 3", ""),
    ],
)
def test_validate_warns_of_a_step_that_requires_less_than_the_release(
    call: Call, folder: Path, step: str, said: str
) -> None:
    text = KEYS + "insensitive: [wage]\nprivacy: {k: 3}\n" + SUPPRESS.replace("job]", f"job], {step}")
    result = call("validate", written(folder, text))
    assert result.code == 0
    assert said in result.err if said else "warning" not in result.err


def test_a_ghost_that_others_drop_leaves_out_is_to_be_named(call: Call, folder: Path) -> None:
    text = KEYS.replace("job: {}", "") + "others: drop\nprivacy: {k: 2}\n"
    steps = "treatments: [{method: suppress, columns: [age, zip], ghosts: {zip: [job]}}]\n"
    result = call("perturb", written(folder, text + steps), "-o", "out.csv")
    assert result.code == 2
    assert "`job` is left out by `others: drop`" in result.err and "name it under `insensitive`" in result.err


def test_what_no_suppression_mends_is_infeasible(call: Call, folder: Path) -> None:
    text = KEYS + REST + SUPPRESS.replace("job]", "job], never: [age], k: 5")
    result = call("perturb", written(folder, text), "-o", "out.csv")
    assert result.code == 4 and "age, of which nothing is ever suppressed" in " ".join(result.err.split())


@pytest.mark.parametrize(
    ("command", "text", "more", "said"),
    [
        ("mondrian", ALONE + NOISE, [], "needs quasi-identifiers"),
        ("perturb", ALONE, [], "`quasi_identifiers` is missing"),
        ("perturb", BESIDE, [], "no `treatments`"),
        ("perturb", ALONE + NOISE, ["-k", "3"], "quasi-identifiers, and there are none"),
        ("mondrian", BESIDE + NOISE, ["--save-recoding", "r.json"], "--save-recoding"),
        ("anatomy", BESIDE.replace("k: 3, ", "") + NOISE, [], "sensitive"),
        ("perturb", ALONE + NOISE.replace("wage", "wages"), [], "`wages` has no role"),
        ("perturb", BESIDE + NOISE.replace("wage", "age"), [], "do not count for k"),
        ("mondrian", KEYS + REST + SUPPRESS, [], "`output: {numeric: mean}` shows the mean of a class"),
        ("perturb", KEYS + REST + SUPPRESS, ["--start-series", "s"], "not in a series"),
        ("perturb", KEYS + REST + SUPPRESS, ["--save-recoding", "r.json"], "--save-recoding"),
        (
            "mondrian",
            BESIDE.replace("k: 3, l: 2", "passing: {uniques: 1}") + NOISE.replace("wage", "age"),
            [],
            "perturb",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    call: Call, folder: Path, command: str, text: str, more: list[str], said: str
) -> None:
    result = call(command, written(folder, text), "-o", "out.csv", *more)
    assert result.code == 2, result.err
    assert said in " ".join(result.err.split())
    assert not (folder / "out.csv").exists()


def test_k_that_no_step_makes_names_what_would(call: Call, folder: Path) -> None:
    result = call("perturb", written(folder, BESIDE.replace("k: 3", "k: 5") + NOISE), "-o", "out.csv")
    said = " ".join(result.err.split())
    assert result.code == 1 and "method: suppress" in said and "anonymize release" in said


def test_a_text_in_a_column_of_numbers_has_its_line(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text(TABLE.replace("1020", "CANARY"))
    result = call("perturb", written(folder, ALONE + NOISE), "-o", "out.csv")
    assert result.code == 3 and "wage" in result.err and "4" in result.err and "CANARY" not in result.err


def test_a_spec_that_only_changes_values_is_valid_and_leads_to_perturb(call: Call, folder: Path) -> None:
    result = call("validate", written(folder, ALONE + NOISE), "-i", "table.csv")
    assert result.code == 0 and "anonymize perturb" in result.err


def test_attackers_need_what_others_know(call: Call, folder: Path) -> None:
    released(call, folder, ALONE + NOISE, "perturb")
    assert call("attack", "spec.yaml", "out.csv", "--attackers", "prosecutor").code == 2


@pytest.mark.parametrize("separator", [",", ";"])
def test_numbers_are_written_as_they_were_read(call: Call, folder: Path, separator: str) -> None:
    """A decimal comma comes back as one."""
    lines = ["wage;job", *(f"{1000 + n},5;cook" for n in range(10))]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    text = 'version: 1\ninput: {path: table.csv, separator: ";", decimal: ","}\ninsensitive: [wage, job]\n'
    spec = written(folder, text + NOISE)
    assert call("perturb", spec, "-o", "out.csv", "-q").code == 0
    cells = [line.split(";")[0] for line in (folder / "out.csv").read_text().splitlines()[1:]]
    assert all("." not in cell for cell in cells) and any("," in cell for cell in cells)


def test_evaluate_of_suppressed_cells_needs_no_quasi_identifiers(call: Call, folder: Path) -> None:
    text = "version: 1\ninput: {path: table.csv}\ninsensitive: [zip, job]\nothers: drop\nworkload: {targets: [job]}\n"
    released(call, folder, text + "treatments: [{method: suppress, columns: [zip], k: 2}]\n", "perturb")
    assert call("evaluate", "spec.yaml", "out.csv").code == 0
    refused = call("evaluate", "spec.yaml", "out.csv", "--models")
    assert refused.code == 2 and "--models: needs a release with equivalence classes" in refused.err


def test_evaluate_says_what_is_left_of_the_numbers(call: Call, folder: Path) -> None:
    released(call, folder, ALONE + NOISE, "perturb", "--save-link", "link.json")
    alone = json.loads(call("evaluate", "spec.yaml", "out.csv", "--json").out)["numbers"]
    linked = json.loads(call("evaluate", "spec.yaml", "out.csv", "--link", "link.json", "--json").out)["numbers"]
    report = json.loads((folder / "report.json").read_text())
    assert "il1s" not in alone and linked == report["numbers"]
    assert alone["columns"]["wage"]["mean_change"] == linked["columns"]["wage"]["mean_change"]


MEANS = BESIDE.replace("sensitive: {wage: {type: numeric}}", "").replace(
    "{age: {type: numeric}}", "{age: {type: numeric}, wage: {type: numeric}}"
)
GROUPED = "treatments: [{method: microaggregation, columns: [age, wage], k: 3, missing: pattern, small: pool}]\n"


def test_microaggregation_of_the_quasi_identifiers_is_k_anonymous(call: Call, folder: Path) -> None:
    text = MEANS.replace(", l: 2", "") + GROUPED
    out, report = released(call, folder, text, "perturb")
    assert report["privacy"]["satisfied"] is True and report["classes"]["min_size"] >= 3
    pairs = list(zip(out["age"], out["wage"], strict=True))
    assert min(pairs.count(pair) for pair in pairs) == report["classes"]["min_size"]
    assert call("audit", "spec.yaml", "-i", "out.csv", "-q").code == 0
    assert call("evaluate", "spec.yaml", "out.csv").code == 0
    assert call("attack", "spec.yaml", "out.csv").code == 2


def test_too_small_a_k_of_the_step_is_found_by_the_check(call: Call, folder: Path) -> None:
    text = MEANS.replace("k: 3, l: 2", "k: 9") + GROUPED
    result = call("perturb", written(folder, text), "-o", "out.csv")
    assert result.code == 1 and "k-anonymity" in result.err and not (folder / "out.csv").exists()


def test_changed_columns_do_not_pass_untouched(call: Call, folder: Path) -> None:
    text = "version: 1\ninput: {path: table.csv}\ninsensitive: [age]\nothers: insensitive\n" + NOISE
    _, report = released(call, folder, text, "perturb")
    (said,) = [each for each in report["warnings"] if "named nowhere in the spec" in each]
    assert "wage" not in said and "job" in said


def test_what_nothing_hides_is_not_given_away(call: Call, folder: Path) -> None:
    """A kept column that follows from a quasi-identifier, which `perturb` releases as it is."""
    rows = ["age,decade,wage", *(f"{30 + n % 20},{3 + n % 20 // 10},{1000 + n}" for n in range(40))]
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    text = (
        "version: 1\ninput: {path: table.csv}\nquasi_identifiers: {age: {type: numeric}}\ninsensitive: [decade, wage]\n"
    )
    released(call, folder, text + NOISE, "perturb")


def test_a_model_of_a_changed_column_says_on_what_it_was_measured(call: Call, folder: Path) -> None:
    _, report = released(call, folder, BESIDE + NOISE, "mondrian")
    before = {each["model"]: each.get("before_treatment", False) for each in report["privacy"]["models"]}
    assert before == {"k-anonymity": False, "distinct-l-diversity": True}


def test_an_attack_says_what_it_takes_a_link_for(call: Call, folder: Path) -> None:
    released(call, folder, BESIDE + NOISE, "mondrian", "--save-link", "link.json")
    alone = json.loads(call("attack", "spec.yaml", "out.csv", "--json").out)
    assert any("distance-linkage was not tried" in each for each in alone["warnings"])
    linked = json.loads(call("attack", "spec.yaml", "out.csv", "--link", "link.json", "--json").out)
    assert not any("distance-linkage was not tried" in each for each in linked["warnings"])
    named = call("attack", "spec.yaml", "out.csv", "--attackers", "distance-linkage")
    assert named.code == 2 and "--save-link" in named.err


def test_a_release_without_treatments_does_not_read_the_input_for_them(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured of steps takes the columns of the input as a whole: nothing of it where there are no steps."""
    from anonymize.treatments import plan

    def read(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(plan, "_read", read)
    monkeypatch.setattr(plan, "changed_columns", read)
    assert call("mondrian", written(folder, BESIDE), "-o", "out.csv", "-q").code == 0


def test_dates_that_a_key_shifts_keep_their_distances(call: Call, folder: Path) -> None:
    rows = ["person,day", *(f"p{n % 4},2024-0{1 + n % 9}-1{n % 10}" for n in range(20))]
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    text = "version: 1\ninput: {path: table.csv}\ninsensitive: [person, day]\n"
    text += "treatments: [{method: date-shift, columns: [day], by: [person], days: 30}]\n"
    spec = written(folder, text)
    without = call("perturb", spec, "-o", "out.csv")
    assert without.code == 2 and "anonymize key make" in without.err
    assert call("key", "make", "shift.key").code == 0
    files = []
    for name in ("one.csv", "two.csv"):
        assert call("perturb", spec, "-o", name, "--key", "shift.key", "-q").code == 0
        files.append((folder / name).read_bytes())
    assert files[0] == files[1] != (folder / "table.csv").read_bytes()


def test_a_wrong_separator_is_told_before_what_follows_from_it(call: Call, folder: Path) -> None:
    (folder / "table.csv").write_text(TABLE.replace(",", ";"))
    spec = written(folder, "version: 1\ninput: {path: table.csv}\nothers: insensitive\n" + NOISE)
    result = call("perturb", spec, "-o", "out.csv")
    assert result.code == 3
    assert "the header is one column when ',' is the separator" in result.err
    assert 'input.separator: ";"' in result.err


def test_points_in_time_that_are_all_midnight_are_dates_in_a_csv(call: Call, folder: Path) -> None:
    days = [datetime(2020, 1, day) for day in (1, 2, 3, 4)]
    noon = [each.replace(hour=12) for each in days]
    pl.DataFrame({"who": [1, 1, 2, 2], "came": days, "left": noon}).write_parquet(folder / "table.parquet")
    assert call("key", "make", "shift.key").code == 0
    step = "{method: date-shift, columns: [came, left], by: [who], days: 9}"
    spec = written(folder, f"version: 1\ninput: {{path: table.parquet}}\nothers: insensitive\ntreatments: [{step}]\n")
    for name in ("out.csv", "out.parquet"):
        assert call("perturb", spec, "--key", "shift.key", "-o", name, "--force").code == 0
    texts = columns(folder / "out.csv")
    assert {len(each) for each in texts["came"]} == {10}
    assert all("T12:00" in each for each in texts["left"])
    assert pl.read_parquet(folder / "out.parquet").schema["came"] == pl.Datetime("us")


def test_channels_by_a_region_that_is_swapped_are_warned_of(call: Call, folder: Path) -> None:
    pram = "{method: pram, columns: [job], keep: 0.8, by: [zip]}"
    swap = "{method: record-swap, move: [zip], rate: 0.2}"
    _, report = released(call, folder, f"{ALONE}treatments: [{pram}, {swap}]\n", "perturb")
    said = [
        each for each in report["warnings"] if each.startswith("pram of job is carried out by zip, which record-swap")
    ]
    assert len(said) == 1
    _, report = released(call, folder, f"{ALONE}treatments: [{pram}]\n", "perturb")
    assert not any("is carried out by" in each for each in report["warnings"])


def test_a_public_run_warns_that_the_manifest_names_values_and_counts_none(call: Call, folder: Path) -> None:
    spec = written(folder, f"{ALONE}treatments: [{{method: pram, columns: [job], keep: 0.8, by: [zip]}}]\n")
    public = call("perturb", spec, "-o", "out.csv", "--public-report", "-r", "public.json")
    said = "pram of job: the manifest, which is public, names every value of the input, of each part (`by`)"
    assert public.code == 0 and said in " ".join(public.err.split())
    assert any(each.startswith(said) for each in json.loads((folder / "public.json").read_text())["warnings"])
    assert "in a part" not in public.err
