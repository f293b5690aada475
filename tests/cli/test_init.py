"""`init`: the spec runs as it is, and shows no value of the table unless it is asked for."""

from __future__ import annotations

import io
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anonymize._init import Init, init
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.cli.init import WatchedTable
from anonymize.cli.progress import watch
from anonymize.errors import Caution, InfeasibleError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.profiling.words import MISSING_WORDS
from anonymize.request import Request
from anonymize.spec import load
from tests.cli.conftest import CELLS, Call, Desk, Looks
from tests.examples import some


def released(folder: Path, table: Path, spec: Path) -> dict[str, object]:
    """The spec, on its table, with the algorithm that takes any."""
    out = str(folder / "released.csv")
    options = ALGORITHMS["mondrian"].Options()
    return release(Request(load(spec, PARAMETERS), "mondrian", options, output=out, force=True, threads=1))


def first_spec(folder: Path, frame: pl.DataFrame, suffix: str = "csv") -> tuple[Path, str]:
    table = folder / f"table.{suffix}"
    frame.write_csv(table) if suffix == "csv" else frame.write_parquet(table)
    return table, init(Init(str(table), str(folder / "spec.yaml"), force=True))


# --- any table --------------------------------------------------------------------------------------------------------

CELL = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.sampled_from(["Other", " Other", "NA", "?", "none", "*", "missing", "", "2016-02-30", "2016/01/02", "12:30"]),
    st.integers(-(2**70), 2**70).map(str),
    st.floats(allow_nan=True).map(str),
    st.dates().map(str),
    st.emails(),
)
KINDS = [
    CELL,
    st.integers(-5, 120).map(str),
    st.floats(-1e6, 1e6).map(lambda number: f"{number:.2f}"),
    st.dates().map(lambda day: day.strftime("%d.%m.%Y")),
    st.sampled_from(["cook", "clerk", "nun", "judge", "Other"]),
    st.integers(0, 99999).map(lambda number: f"{number:05}"),
]
NAMES = st.one_of(
    st.sampled_from(["age", "id", "Name", "zip", "born", "diagnosis", "*", "a*", "^a$", "yes", "a: b", "# x", "x #y"]),
    st.text(min_size=1, max_size=8).filter(lambda name: name.strip() != "" and "\0" not in name),
)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    rows = draw(st.integers(1, 25))
    columns = {}
    for name in names:
        cells = draw(st.sampled_from(KINDS))
        columns[name] = draw(st.lists(st.one_of(st.none(), cells), min_size=rows, max_size=rows))
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String), strict=False)


@settings(
    max_examples=some(30), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(tables(), st.sampled_from(["csv", "parquet"]))
def test_the_spec_of_any_table_runs(frame: pl.DataFrame, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, _ = first_spec(folder, frame, suffix)
        if frame.height < 2:
            with pytest.raises(InfeasibleError):
                released(folder, table, folder / "spec.yaml")
            return
        report = released(folder, table, folder / "spec.yaml")
        assert report["privacy"]["satisfied"] is True  # type: ignore[index]


MARKED = st.integers(0, 10**6).map(lambda number: f"Qx{number}")


@settings(max_examples=some(30), deadline=None)
@given(
    st.lists(st.tuples(MARKED, st.sampled_from(["Qxa", "Qxb", "Qxc"]), st.integers(770_000, 779_999)), min_size=1),
    st.booleans(),
)
def test_no_value_is_in_the_spec_unless_it_is_asked_for(rows: list[tuple[str, str, int]], show: bool) -> None:
    frame = pl.DataFrame(rows, schema=["code", "job", "age"], orient="row")
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "t.csv"
        frame.write_csv(table)
        text = init(Init(str(table), f"{name}/spec.yaml", show_values=show))
        mode = stat.S_IMODE(os.stat(f"{name}/spec.yaml").st_mode)
    body = "\n".join(line for line in text.splitlines() if "path:" not in line)
    assert bool(re.search(r"Qx|\b77\d{4}\b", body)) == show
    assert mode == 0o600 or not show


def test_the_spec_depends_on_counts_and_not_on_which_values_there_are(tmp_path: Path) -> None:
    jobs = ["cook"] * 60 + ["clerk"] * 40 + ["nun"] * 3 + ["judge"] * 2
    other = {"cook": "baker", "clerk": "smith", "nun": "monk", "judge": "thief"}
    texts = [
        first_spec(tmp_path, pl.DataFrame({"job": own, "sex": ["F", "M", "F"] * 35}))[1]
        for own in (jobs, [other[job] for job in jobs])
    ]
    assert texts[0] == texts[1] and "rare: {below: 5, label: Other}" in texts[0]


# --- what is recognized -----------------------------------------------------------------------------------------------


def test_a_column_turns_out_not_to_be_of_numbers_beyond_the_first_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [*map(str, range(3000)), "many"], "sex": ["F"] * 3001})
    table, text = first_spec(tmp_path, frame)
    assert "1 values are not numbers" in text
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_missing_texts_are_of_the_list_and_there(tmp_path: Path) -> None:
    _, text = first_spec(tmp_path, pl.DataFrame({"age": ["31", "NA", "unknown", "52"], "job": ["none", "?", "a", "b"]}))
    line = next(line for line in text.splitlines() if line.strip().startswith("missing:"))
    assert '"?"' in line and "NA" in line and "unknown" in line and "none" not in line
    assert {"NA", "unknown", "?"} <= set(MISSING_WORDS)


def test_columns_called_alike_are_one_line_of_a_wide_table(tmp_path: Path) -> None:
    frame = pl.DataFrame({f"lab_{n}": [1, 2] * 20 for n in range(42)} | {"labour": ["a", "b"] * 20, "age": range(40)})
    table, text = first_spec(tmp_path, frame)
    assert '"lab_*"' in text and "lab_1 " not in text and len(text.splitlines()) < 45
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_columns_that_are_a_letter_and_a_number_are_one_line_as_well(tmp_path: Path) -> None:
    frame = pl.DataFrame({f"A{n}": [1, 2] * 20 for n in range(42)} | {"age": range(40)})
    _, text = first_spec(tmp_path, frame)
    assert '"A*"' in text and "A1 " not in text


def test_persons_with_several_rows_are_the_unit_and_k_counts_them(tmp_path: Path) -> None:
    frame = pl.DataFrame({"subject": [n // 4 for n in range(400)], "age": [20 + n // 4 % 50 for n in range(400)]})
    table, text = first_spec(tmp_path, frame)
    assert re.search(
        r"^unit: subject +# decide: its name says that it names a person: 100 in 400 rows$", text, re.MULTILINE
    )
    assert "individuals (by subject) whose rows read alike" in text and "\nidentifiers:" not in text
    report = released(tmp_path, table, tmp_path / "spec.yaml")
    classes: Any = report["classes"]
    assert round(classes["count"] * classes["mean_size"]) == 100
    assert (tmp_path / "released.csv").read_text().startswith("age\n")


def test_a_tab_is_written_as_one(tmp_path: Path) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("age\tsex\n" + "31\tF\n" * 10)
    assert r'separator: "\t"' in init(Init(str(table), str(tmp_path / "spec.yaml")))
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_separators_and_encodings(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes("Größe;Ort\n".encode("cp1252") + "180;Köln\n".encode("cp1252") * 10)
    text = init(Init(str(table), str(tmp_path / "spec.yaml")))
    assert 'separator: ";"' in text and "encoding: cp1252" in text
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_what_nothing_is_known_of_is_undecided_and_left_out(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [20 + n % 50 for n in range(300)], "q": ["a", "b", "c"] * 100, "batch": [1] * 300})
    table, text = first_spec(tmp_path, frame)
    assert re.search(r"^undecided:\n  - q  .*nothing says what they mean$", text, re.MULTILINE)
    assert re.search(r"^others: drop ", text, re.MULTILINE) and "\ninsensitive:\n  - batch " in text
    report = released(tmp_path, table, tmp_path / "spec.yaml")
    assert (tmp_path / "released.csv").read_text().startswith("age,batch\n")
    assert any("undecided" in each and Caution(each).text.endswith(": q") for each in report["warnings"])  # type: ignore[attr-defined]


def test_what_is_left_out_or_secret_keeps_its_reason_where_something_follows_from_it(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "name": [f"n{n}" for n in range(300)],
            "age": [20 + n % 50 for n in range(300)],
            "income": [1000 * (n % 50) for n in range(300)],
            "q": ["a", "b", "c"] * 100,
        }
    )
    _, text = first_spec(tmp_path, frame)
    assert re.search(r"- name +# decide: its name is that of people", text) and re.search(
        r"  income: .*# decide: about money", text
    )


def test_a_household_is_the_unit_by_what_its_rows_have_in_common(tmp_path: Path) -> None:
    people = [(house, person) for house in range(120) for person in range(1 + house % 4)]
    columns = {
        "db030": [500 + 7 * house for house, _ in people],
        "land": ["ABC"[house % 3] for house, _ in people],
        "rooms": [1 + house % 5 for house, _ in people],
        "age": [5 + (house * 7 + person * 13) % 80 for house, person in people],
    }
    table, text = first_spec(tmp_path, pl.DataFrame(columns))
    assert re.search(r"^unit: db030 .*agree in 2 other columns.*: 120 in 300 rows$", text, re.MULTILINE)
    released(tmp_path, table, tmp_path / "spec.yaml")
    shuffled = pl.DataFrame(columns | {"age": columns["age"]}).with_columns(pl.col("land", "rooms").shuffle(seed=1))
    assert "\nunit:" not in first_spec(tmp_path, shuffled)[1]


def test_numbers_and_dates_that_stand_for_missing_are_proposed(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "age": [*(20 + n % 60 for n in range(297)), 300, 999, 999],
            "kids": [n % 4 if n % 9 else -9 for n in range(300)],
            "seen": [f"20{10 + n % 12}-05-{1 + n % 28:02}" if n % 50 else "1900-01-01" for n in range(300)],
            "change": [n % 20 - 9 for n in range(300)],
        }
    )
    table, text = first_spec(tmp_path, frame)
    missing = next(line for line in text.splitlines() if line.startswith("  missing:"))
    assert '"999"' in missing and '"1900-01-01"' in missing and '"-9"' not in missing  # a change of -9 is one
    assert "an age, by its name; 1 value is above 120, which no age is" in text and "300" not in missing
    assert "34 values seem to mean missing" in text
    released(tmp_path, table, tmp_path / "spec.yaml")


@pytest.mark.parametrize("code", ["-99", "-99,00"])
def test_a_number_with_a_comma_that_stands_for_missing_is_proposed(code: str, tmp_path: Path) -> None:
    columns = {
        "age": [20 + n % 50 for n in range(200)],
        "wage": [f"{n % 60},25" if n % 9 else code for n in range(200)],
    }
    table, text = first_spec(tmp_path, pl.DataFrame(columns))
    assert f'  missing: ["", "{code}"]' in text and "23 values seem to mean missing" in text
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_a_date_that_is_none_is_said_and_the_spec_runs(tmp_path: Path) -> None:
    days = [f"2016-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(100)]
    table, text = first_spec(tmp_path, pl.DataFrame({"seen": ["2016-13-45", *days], "sex": ["F"] * 101}))
    assert "ISO dates; 1 text is none, so that there is no hierarchy" in text and "dates:" not in text
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_numbers_with_a_comma_and_a_unit_are_declared_and_released(tmp_path: Path) -> None:
    columns = {"height": [f"{150 + n % 40} cm" for n in range(200)], "wage": [f"{1 + n % 60},5" for n in range(200)]}
    table, text = first_spec(tmp_path, pl.DataFrame(columns))
    assert "    unit_text: cm\n" in text and 'wage: {type: numeric, decimal: ","}' in text and "k=5: " in text
    released(tmp_path, table, tmp_path / "spec.yaml")


def test_sampling_weights_with_a_comma_are_declared_and_released(tmp_path: Path) -> None:
    columns = {"age": [20 + n % 50 for n in range(200)], "finalwgt": [f"{100 + n % 60},5" for n in range(200)]}
    table, text = first_spec(tmp_path, pl.DataFrame(columns))
    assert 'sampling_weight: {column: finalwgt, bands: 10, decimal: ","}' in text
    released(tmp_path, table, tmp_path / "spec.yaml")


# --- the command ------------------------------------------------------------------------------------------------------


def test_from_a_table_to_a_release_in_three_commands(call: Call, desk: Desk) -> None:
    assert call("init", "table.csv", "-o", "anonymize.yaml").code == 0
    assert call("validate").code == 0
    assert call("mondrian", "-o", "out.csv").code == 0
    assert not CELLS.search((desk.folder / "anonymize.yaml").read_text().split("identifiers:", 1)[1])
    assert call("audit", "-i", "out.csv").code == 0
    assert call("evaluate", "out.csv").code == 0


def test_hierarchy_files_are_private(call: Call, desk: Desk) -> None:
    rows = "\n".join(f"0{n % 50 + 1000},{n % 7}" for n in range(200))
    (desk.folder / "codes.csv").write_text(f"zip,age\n{rows}\n")
    assert call("init", "codes.csv", "-o", "s.yaml", "--hierarchies", "h").code == 0
    (file,) = (desk.folder / "h").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.read_text().startswith("01000;")
    assert f"hierarchy: {'h/'}" in (desk.folder / "s.yaml").read_text().replace('"', "")
    assert call("mondrian", "s.yaml", "-o", "out.csv").code == 0


def conversed(folder: Path, *answers: str, arguments: Sequence[str] = ("--interactive",)) -> tuple[int, str, str]:
    """How `init` ends, its spec and what it says, for answers about a name, an age, a salary and an undecided flag."""
    from click.testing import CliRunner

    from anonymize.cli.init import init as command

    table = folder / "t.csv"
    columns = {"name": [f"Qx{n}" for n in range(60)], "age": [n // 2 for n in range(60)], "flag": ["a", "b"] * 30}
    pl.DataFrame(columns | {"salary": [n % 4 * 100 for n in range(60)]}).write_csv(table)
    ended = CliRunner().invoke(command, [str(table), *arguments], input="".join(f"{answer}\n" for answer in answers))
    return ended.exit_code, ended.stdout, " ".join(ended.stderr.split())


def conversed_of(table: Path, *answers: str) -> str:
    """The spec that `init` writes of a table after a conversation."""
    from click.testing import CliRunner

    from anonymize.cli.init import init as command

    given = "".join(f"{answer}\n" for answer in answers)
    ended = CliRunner().invoke(command, [str(table), "--interactive" if answers else "--no-ask"], input=given)
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout


REST = ("", "", "")
"""What is proposed of k, l and suppression."""


def roles_of(folder: Path, spec: str) -> dict[str, str]:
    (folder / "s.yaml").write_text(spec)
    made = load(folder / "s.yaml", PARAMETERS)
    assert not made.undecided
    return dict(made.roles())


def test_after_a_conversation_nothing_is_undecided(tmp_path: Path) -> None:
    code, spec, said = conversed(tmp_path, "n", "", "known", "l", "n", *REST)
    assert code == 0 and roles_of(tmp_path, spec) == {
        **{"name": "identifier", "age": "quasi-identifier"},
        **{"salary": "identifier", "flag": "insensitive"},
    }
    order = [said.index(f"{place} of 4 {name}") for place, name in enumerate(["name", "age", "salary", "flag"], 1)]
    assert order == sorted(order) and "Could a neighbour or a colleague know this about a person?" in said
    assert re.search(r"^  - flag +# decided$", spec, re.MULTILINE) and "\nothers: drop" not in spec
    assert re.search(r"^  - name +# decided: \S", spec, re.MULTILINE), "Enter decides, too"


def test_notes_with_names_in_them_are_left_out_whatever_the_column_is_called(tmp_path: Path) -> None:
    texts = ["Diet: low salt", "Interpreter needed\nsee file of Patel, Grace"] + [""] * 58
    for name in ("note", "befund"):
        table = pl.DataFrame(
            {"age": [n // 2 for n in range(60)], name: texts, "when": ["2024-01-02", "2023-05-29"] * 30}
        )
        table.write_csv(tmp_path / "t.csv")
        spec = conversed_of(tmp_path / "t.csv")
        assert re.search(rf"^identifiers:(?:.*\n)+?  - {name} +# decide: free text", spec, re.MULTILINE)


def test_what_is_accepted_is_proposed_as_it_was(tmp_path: Path) -> None:
    table = pl.DataFrame({"day": ["2024-01-02", "2023-05-29"] * 30, "ill": ["a", "b"] * 30})
    table.write_csv(tmp_path / "t.csv")
    accepted = conversed_of(tmp_path / "t.csv", "n", "y", "secret", *REST)
    chosen = conversed_of(tmp_path / "t.csv", "n", "known", "secret", *REST)
    for spec in (accepted, chosen):
        assert "hierarchy: {dates: [month, quarter, year]}" in spec and "# decided: ISO dates" in spec
        assert re.search(r"^  l: 2 ", spec, re.MULTILINE) and re.search(r"^  k: \d+ +# decided:", spec, re.MULTILINE)


def test_values_are_on_the_screen_only_if_that_is_said(tmp_path: Path) -> None:
    assert "Qx" not in conversed(tmp_path, "n", "", "", "", "s", *REST)[2]
    code, spec, said = conversed(tmp_path, "y", "", "", "", "s", *REST)
    assert code == 0 and "such as Qx" in said and "Qx" not in spec.replace(str(tmp_path), "")


def test_the_rest_as_proposed_leaves_out_what_nobody_decided(tmp_path: Path) -> None:
    code, spec, _ = conversed(tmp_path, "", "the rest as proposed", *REST)
    assert (code, spec) == conversed(tmp_path, "", "rest", *REST)[:2]
    assert code == 0 and roles_of(tmp_path, spec)["flag"] == "identifier" and "left out, because it was not" in spec


def test_back_asks_again_and_why_gives_the_reason(tmp_path: Path) -> None:
    code, spec, said = conversed(tmp_path, "", "", "known", "b", "secret", "?", "why?", "", "s", *REST)
    assert code != 0 and spec == ""  # without a column that others know it begins anew, and the answers end
    assert "The questions begin again." in said and said.count("2 of 4 age") == 3
    code, spec, said = conversed(tmp_path, "", "", "s", "b", "k", "?", "", "x", "", "s", *REST)
    assert code == 0 and roles_of(tmp_path, spec)["age"] == "quasi-identifier"
    assert "why: about money, by its name" in said and said.count("one of these, or its first letter") == 2


def test_k_l_and_suppression_are_asked_for_last(tmp_path: Path) -> None:
    _, spec, said = conversed(tmp_path, "", "r", "0", "61", "7", "5", "3", "101", "5")
    assert all(f"  {line} " in spec for line in ("k: 7", "l: 3", "suppression: 0.05"))
    assert re.findall(r"a whole number from (\d+) to (\d+)", said) == [
        ("1", "60"),
        ("1", "60"),
        ("1", "4"),
        ("0", "100"),
    ]
    assert "  l:" not in conversed(tmp_path, "", "r", "5", "1", "")[1]


def test_what_follows_from_what_others_know_is_left_out_and_said(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from anonymize.cli.init import init as command

    frame = pl.DataFrame({"age": [n // 4 for n in range(200)], "old": ["ab"[n > 99] for n in range(200)]})
    frame.write_csv(tmp_path / "t.csv")
    answers = "n\nknown\nneeded\n\n\n\n"
    ended = CliRunner().invoke(command, [str(tmp_path / "t.csv"), "--interactive"], input=answers)
    assert ended.exit_code == 0 and "old follows from age: left out" in " ".join(ended.stderr.split())
    assert roles_of(tmp_path, ended.stdout) == {"old": "identifier", "age": "quasi-identifier"}


def test_nothing_is_asked_where_nobody_can_answer(tmp_path: Path) -> None:
    code, spec, said = conversed(tmp_path, arguments=())
    assert (code, said) == (0, "") and "undecided:\n  - flag" in spec


@pytest.mark.parametrize(("more", "asks"), [((), True), (("-q",), False), (("--no-ask",), False)])
def test_on_a_terminal_it_asks_and_an_interruption_writes_nothing(
    tmp_path: Path, more: Sequence[str], asks: bool
) -> None:
    pl.DataFrame({"age": range(30), "flag": ["a", "b"] * 15}).write_csv(tmp_path / "t.csv")
    terminal, end = os.openpty()
    line = [sys.executable, "-m", "anonymize", "init", "t.csv", "-o", "s.yaml", *more]
    with subprocess.Popen(line, cwd=tmp_path, stdin=end, stderr=end, stdout=subprocess.DEVNULL) as process:
        os.close(end)
        said = b""
        while asks and b"May values" not in said:
            said += os.read(terminal, 1 << 16)
        while asks and process.poll() is None:  # a signal that comes just before the process waits is not seen
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        try:
            assert process.wait(60) == (130 if asks else 0)
        finally:
            process.kill()
            os.close(terminal)
    assert (tmp_path / "s.yaml").exists() != asks


@pytest.mark.parametrize(
    ("content", "code"), [("", 3), ("a,b\n", 3), ("a,b\n1\n", 3), ('a,b\n1,"2\n', 3), ("a,a\n1,2\n", 3)]
)
def test_tables_that_cannot_be_read(call: Call, desk: Desk, content: str, code: int) -> None:
    (desk.folder / "t.csv").write_text(content)
    assert call("init", "t.csv", "-o", "s.yaml").code == code
    assert not (desk.folder / "s.yaml").exists()


def test_answers_and_a_table_cannot_both_come_from_standard_input(call: Call) -> None:
    assert call("init", "-", "--interactive").code == 2


def test_answers_that_end_are_no_bug(call: Call, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    ended = call("init", "table.csv", "-o", "s.yaml", "--interactive")
    assert ended.code == 2 and "before the last answer" in ended.err
    assert not (desk.folder / "s.yaml").exists()


def test_a_spec_is_not_overwritten(call: Call, desk: Desk) -> None:
    assert call("init", "table.csv", "-o", "spec.yaml").code == 2


def test_one_row_is_not_released_by_itself(tmp_path: Path) -> None:
    """One is no k: a spec that asks for it would be met by publishing the row."""
    _, text = first_spec(tmp_path, pl.DataFrame({"age": [31], "job": ["cook"]}))
    assert re.search(r"^  k: 2 .*the table has 1, and cannot be released$", text, re.MULTILINE)
    _, text = first_spec(tmp_path, pl.DataFrame({"age": [31, 32, 33], "job": ["cook"] * 3}))
    assert re.search(r"^  k: 3 .*rows that read alike, at least$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("column", "values", "role", "settings"),
    [
        ("zip", [10_000 + 7 * n for n in range(300)], "quasi-identifier", "{prefix: [4, 3, 2, 1]}"),
        ("plz", [f"{20_000 + 7 * (n % 30)}" for n in range(300)], "quasi-identifier", "{prefix: [4, 3, 2, 1]}"),
        ("area", [1000 + n % 90 for n in range(300)], "quasi-identifier", "{prefix: [3, 2, 1]}"),
        ("site", [10_001 + 7 * (n % 40) for n in range(300)], "quasi-identifier", "{prefix: [4, 3, 2, 1]}"),
        ("fee", [10_000 + 100 * (n % 40) for n in range(300)], "undecided", None),
        ("steps", [9_000 + 101 * (n % 40) for n in range(300)], "undecided", None),
        ("salary", [10_001 + 7 * (n % 40) for n in range(300)], "sensitive", None),
        ("officer_badge", [n % 60 for n in range(300)], "unit", None),
        ("patientId", [f"p{n % 90}" for n in range(300)], "unit", None),
        ("patientId", [f"p{n}" for n in range(300)], "identifier", None),
        ("member_code", ["a", "b", "c"] * 100, "undecided", None),
        ("weight", [50 + n % 40 for n in range(300)], "quasi-identifier", "{intervals: [5, 10, 20]}"),
        (
            "fnlwgt",
            [70_000 + 1000 * (n % 40) for n in range(300)],
            "sampling-weight",
            None,
        ),
    ],
)
def test_roles_by_names_and_forms(
    tmp_path: Path, column: str, values: list[object], role: str, settings: str | None
) -> None:
    frame = pl.DataFrame({"age": [20 + n % 50 for n in range(300)], column: values})
    _, text = first_spec(tmp_path, frame)
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    assert ("undecided" if column in spec.undecided else spec.roles()[column]) == role
    block = re.search(rf"^  {column}: .*\n((?:    .*\n)*)", text.split("quasi_identifiers:\n")[-1], re.MULTILINE)
    assert settings is None or (block is not None and f"hierarchy: {settings}" in block[1])


# --- a table that changes ---------------------------------------------------------------------------------------------


Watched = Callable[[WatchedTable, Path, list[Callable[[], object]]], None]


@pytest.fixture
def watched(looks: Looks) -> Watched:
    """Watches a table that changes at every look."""

    def watching(following: WatchedTable, table: Path, steps: list[Callable[[], object]]) -> None:
        def touched(step: Callable[[], object]) -> None:
            step()
            os.utime(table, ns=(len(steps), table.stat().st_mtime_ns + 1))

        looks(*(partial(touched, step) for step in steps))
        watch(following.again, [str(table)])

    return watching


def test_a_spec_follows_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str], watched: Watched) -> None:
    table, spec = tmp_path / "t.csv", tmp_path / "spec.yaml"
    table.write_text("age,job\n31,cook\n34,cook\n")
    states: list[bool] = []

    def noted(content: str) -> Callable[[], object]:
        def step() -> None:
            states.append("town" in spec.read_text())
            table.write_text(content)

        return step

    longer = "age,job,town\n" + "31,cook,a\n34,cook,b\n" * 5
    steps = [noted(longer), noted(longer + "half"), noted(longer), noted(longer)]
    with pytest.raises(KeyboardInterrupt):
        watched(WatchedTable(Init(str(table), str(spec))), table, steps)
    assert states == [False, True, True, True] and "town" in spec.read_text()
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in told] == ["wrote", "changed", "error:", "changed", "changed"]


def test_a_spec_that_was_edited_is_never_overwritten(tmp_path: Path, watched: Watched) -> None:
    table, spec = tmp_path / "t.csv", tmp_path / "spec.yaml"
    table.write_text("age,job\n31,cook\n34,cook\n")
    following = WatchedTable(Init(str(table), str(spec), force=True))
    with pytest.raises(UsageError, match="has been edited"):
        watched(following, table, [lambda: spec.write_text("decided: true\n"), lambda: None])
    assert spec.read_text() == "decided: true\n"
    with pytest.raises(UsageError, match="exists already"):
        watched(WatchedTable(Init(str(table), str(spec))), table, [])


def test_a_spec_that_was_removed_is_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], watched: Watched
) -> None:
    table, spec = tmp_path / "t.csv", tmp_path / "spec.yaml"
    table.write_text("age,job\n31,cook\n34,cook\n")
    with pytest.raises(KeyboardInterrupt):
        watched(WatchedTable(Init(str(table), str(spec)), quiet=True), table, [spec.unlink, lambda: None])
    assert "age:" in spec.read_text()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["-"], "standard input cannot be read again"),
        (["t.csv", "--interactive"], "--interactive asks once"),
        (["t.csv", "--hierarchies", "h"], "files of --hierarchies are to be edited, and would be overwritten"),
    ],
)
def test_what_does_not_go_with_watching(call: Call, desk: Desk, more: list[str], reason: str) -> None:
    (desk.folder / "t.csv").write_text("age,job\n31,cook\n34,cook\n")
    ended = call("init", *more, "--watch")
    assert ended.code == 2 and ended.err.splitlines()[0] == f"error: --watch: {reason}"
    assert ended.err.count("error: ") == 1


def test_the_command_watches_the_table(call: Call, desk: Desk, looks: Looks) -> None:
    looks(lambda: (desk.folder / "table.csv").write_text("age,town\n31,a\n34,b\n"))
    ended = call("init", "table.csv", "-o", "s.yaml", "--watch")
    assert ended.code == 130 and [line.split()[0] for line in ended.err.splitlines()][:2] == ["wrote", "changed"]
    assert "town" in (desk.folder / "s.yaml").read_text()


def test_a_spec_proposes_levels_bounds_and_edges(tmp_path: Path) -> None:
    rows = 120
    table = pl.DataFrame(
        {
            "zip": [f"0{2000 + n % 12 * 11}" for n in range(rows)],
            "born": [f"{1950 + n % 9}-0{n % 9 + 1}-11" for n in range(rows)],
            "age": [20 + n % 50 for n in range(rows)],
            "diagnosis": ["flu", "gout"] * (rows // 2),
            "batch": [n % 7 for n in range(rows)],
        }
    )
    table.write_csv(tmp_path / "t.csv")
    spec = conversed_of(tmp_path / "t.csv")
    assert re.search(r"^    # levels: \{min: 2\} +# shows three digits", spec, re.MULTILINE)
    assert re.search(r"^    # levels: \{min: 3\} +# shows nothing finer than a year", spec, re.MULTILINE)
    assert re.search(r"^  l: 2 ", spec, re.MULTILINE) and re.search(
        r"^  # passing: \{below_k: 0.05\}", spec, re.MULTILINE
    )
    assert re.search(r"^output:\n  edges: rounded", spec, re.MULTILINE)
    table.with_columns(diagnosis=pl.lit("flu")).write_csv(tmp_path / "t.csv")
    assert re.search(r"^  # l: 2 ", conversed_of(tmp_path / "t.csv"), re.MULTILINE)
