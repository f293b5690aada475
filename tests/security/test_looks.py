"""What looks alike is one value, and one person, wherever different ones are counted; and never for who somebody is."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize import python
from anonymize.spec.notation import UNKNOWN, identified
from anonymize.table.columns import look_alikes
from anonymize.verify.columns import looking_alike
from tests.examples import some
from tests.security.commands import run
from tests.security.test_text import spec, table

MARKS = (
    "\u200b\u200c\u200d\u200e\u200f\u061c\u202a\u202e\u2060\u2062\u2064\u2066\u2069\u206a\ufeff\ufe00\ufe0f\u00ad\u034f"
    "\u115f\u1160\u17b4\u180b\u180e\u180f\u3164\uffa0\u2800\x00\x07\x7f\x9f\U000e0001\U000e0041\U000e0100\U0001d173"
)
"""Characters that are not seen, of every block that has some."""
SPACES = "\u0020\u00a0\u1680\u2003\u2009\u202f\u205f\u3000\t\n\u2028"
LOOKS = {
    "H": "\u041d\uff28\u0397",
    "I": "\u0406\u04c0\uff29\u0399",
    "V": "\uff36\u2164",
    "a": "\u0430\uff41",
    "o": "\u043e\uff4f",
    "e": "\u0435",
}
"""Characters that look like others: Cyrillic, Greek, full width, Roman numerals."""


@st.composite
def decorated(draw: st.DrawFn, text: str) -> str:
    """A text that looks like another one."""
    parts = []
    for character in text:
        looks = [character, character.lower(), character.upper(), *LOOKS.get(character, "")]
        parts.append(draw(st.sampled_from(looks)) if character != " " else draw(st.sampled_from(SPACES)) * 2)
        parts.append(draw(st.sampled_from(["", "", *MARKS])))
    outer = draw(st.sampled_from(["", *SPACES]))
    return str(outer + "".join(parts) + outer)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Rows of an age and an illness; the same with illnesses that look like them."""
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from([20, 30]), st.sampled_from(["HIV", "Hay fever", "gout", "flu"])),
            min_size=2,
            max_size=8,
        )
    )
    return rows, [(age, draw(decorated(ill))) for age, ill in rows]


def figures(path: Path, *options: str) -> dict[str, Any]:
    """What an audit finds of l-diversity."""
    said = run("audit", "-i", path, "--qi", "age", "--sensitive", "ill", "-l", "2", *options, "--json")
    (model,) = json.loads(said.stdout)["privacy"]["models"]
    assert (said.returncode == 0) is model["satisfied"]
    return {name: model[name] for name in ("achieved", "satisfied", "failing_rows")}


@settings(max_examples=some(25))
@given(tables(), st.sampled_from(["csv", "parquet", "arrow"]))
def test_the_verdict_is_that_of_what_is_seen(
    tmp_path_factory: pytest.TempPathFactory, both: tuple[list[tuple[int, str]], ...], suffix: str
) -> None:
    folder = tmp_path_factory.mktemp("looks")
    found, codes = [], []
    for rows in both:
        path = table(folder, rows, suffix=suffix)
        found.append(figures(path))
        codes.append(run("mondrian", spec(folder, path), "-o", folder / "released.csv", "--force").returncode)
        frame = pl.DataFrame(list(rows), schema=["age", "ill"], orient="row")
        audited = python.audit(frame, {**content(), "privacy": {"l": 2}})
        assert audited.report["privacy"]["satisfied"] is found[-1]["satisfied"]
    assert found[0] == found[1]
    assert codes[0] == codes[1]


def content(**changes: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive": {"ill": {}},
        "privacy": {"k": 2, "l": 2},
        **changes,
    }


WORDS = ["#N/A", "-", "\u2014", "n/a", "Unknown", "unkn\u043ewn", "\u3164", "N\u200bA", "\uff0d"]
DIVERSE = ["distinct-l-diversity", "entropy-l-diversity", "frequency-l-diversity"]


@pytest.mark.parametrize(("model", "word"), [(DIVERSE[place % 3], word) for place, word in enumerate(WORDS)])
def test_what_reads_as_unknown_is_no_diversity(tmp_path: Path, model: str, word: str) -> None:
    path = table(tmp_path, [(30, "HIV"), (30, word), (30, "HIV"), (30, word)])
    required = {"models": [{"model": model, "attribute": "ill", "l": 2}]}
    place = spec(tmp_path, path, privacy=required)
    assert run("audit", place).returncode == 1
    assert run("mondrian", place, "-o", tmp_path / "released.csv").returncode == 4


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("command", ["audit", "mondrian"])
def test_five_spellings_of_one_person_are_one(tmp_path: Path, suffix: str, command: str) -> None:
    spellings = ["Ann Lee", "ANN LEE", "Ann  Lee", "\u0410nn Lee", "Ann\u200e Lee"]
    path = table(tmp_path, [(30, text) for text in spellings], "age,person", suffix)
    place = spec(tmp_path, path, unit="person", sensitive={}, privacy={"k": 2})
    out = ["-o", tmp_path / "released.csv"] if command == "mondrian" else []
    assert run(command, place, *out).returncode == {"audit": 1, "mondrian": 4}[command]
    exact = spec(tmp_path, path, unit="person", sensitive={}, privacy={"k": 2}, input={"normalize": "exact"})
    said = run(command, exact, *out, *(["--json"] if command == "audit" else []))
    if command == "audit":  # which does not let the names of people pass
        (model,) = json.loads(said.stdout)["privacy"]["models"]
        assert model["achieved"] == {"k": 5}
    else:
        assert said.returncode == 0


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_zero_with_a_sign_is_zero(tmp_path: Path, suffix: str) -> None:
    path = table(tmp_path, [(30, 0.0), (30, -0.0), (30, 0.0), (30, -0.0)], suffix=suffix)
    assert figures(path)["achieved"] == {"l": 1}
    assert run("mondrian", spec(tmp_path, path), "-o", tmp_path / "released.csv").returncode == 4
    path = table(tmp_path, [(0.0, 1), (-0.0, 2)], suffix=suffix)
    assert run("audit", "-i", path, "--qi", "age", "-k", "2").returncode == 0
    place = spec(tmp_path, path, quasi_identifiers={"age": {}}, privacy={"k": 2})
    assert run("mondrian", place, "-o", tmp_path / "released.csv").returncode == 0
    path = table(tmp_path, [(30, math.nan), (30, 1.5)], suffix=suffix)
    assert figures(path)["achieved"] == {"l": 1}


@pytest.mark.parametrize(
    ("other", "of", "way"),
    [
        ("hiv", "column", "exact"),
        ("hiv", "input", False),
        ("H\u0406V", "column", False),
        ("HIV\u200b", "input", "exact"),
        ("-", "column", "exact"),
    ],
)
def test_exact_says_that_they_differ(tmp_path: Path, of: str, way: object, other: str) -> None:
    path = table(tmp_path, [(30, "HIV"), (30, other)])
    changes: dict[str, Any] = {"input": {"normalize": way}}
    if of == "column":
        changes = {"sensitive": {"ill": {"normalize": way}}}
    place = spec(tmp_path, path, **changes)
    assert run("audit", place).returncode == 0
    assert run("mondrian", place, "-o", tmp_path / "released.csv").returncode == 0
    same = spec(tmp_path, path, input={"normalize": "look-alikes"})
    assert run("audit", same).returncode == 1


def test_the_message_says_how_many_look_alike_where_that_decides(tmp_path: Path) -> None:
    path = table(tmp_path, [(30, "HIV"), (30, "H\u0406V"), (30, "-"), (30, "HIV\u2060")])
    said = run("audit", spec(tmp_path, path))
    expected = (
        "not counting 2 values, which look like others or read as unknown (`normalize: exact` of the column does)"
    )
    assert expected in " ".join(said.stderr.split())
    assert "H\u0406V" not in said.stdout + said.stderr
    made = run("mondrian", spec(tmp_path, path), "-o", tmp_path / "released.csv")
    assert made.returncode == 4 and expected in " ".join(made.stderr.split())
    plain = table(tmp_path, [(30, "HIV"), (30, "HIV")])
    assert "normalize" not in run("audit", spec(tmp_path, plain)).stderr


def test_a_protected_value_is_protected_however_it_is_written(tmp_path: Path) -> None:
    path = table(tmp_path, [(30, text) for text in ("H\u0406V", "hiv", "flu", "gout")])
    models = [{"model": "frequency-l-diversity", "attribute": "ill", "l": 3, "values": ["hiv"]}]
    place = spec(tmp_path, path, privacy={"models": models})
    assert run("audit", place).returncode == 1
    assert run("mondrian", place, "-o", tmp_path / "released.csv").returncode == 4


def test_models_that_compare_distributions_count_texts_as_they_stand(tmp_path: Path) -> None:
    rows = [(20, "HIV"), (20, "flu"), (60, "hiv"), (60, "flu")]
    path = table(tmp_path, rows)
    place = spec(tmp_path, path, privacy={"models": [{"model": "t-closeness", "attribute": "ill", "t": 0.1}]})
    assert run("audit", place).returncode == 1


def test_who_somebody_is_is_told_by_the_text() -> None:
    names = ["Ann", "ANN", "\u0410nn", "A\u200dnn"]
    assert len({identified(name) for name in names}) == 4


# --- quasi-identifiers -----------------------------------------------------------------------------------------------

PERSIAN, JOINED = "\u0645\u06cc\u0631\u0648\u062f", "\u0645\u06cc\u200c\u0631\u0648\u062f"
"""A word of Persian without the joiner that belongs in it, and with it."""


def released(path: Path) -> set[str]:
    """The texts of the first column of a CSV."""
    return set(pl.read_csv(path, infer_schema=False).to_series(0))


LABELS = [
    (["Boston", "Bos\u200eton", "Bos\u2066ton", "Boston"], "Boston"),
    (["Boston", "Bos\u200eton"], "Boston"),
    ([JOINED, JOINED, PERSIAN], JOINED),
    ([PERSIAN, JOINED, PERSIAN], PERSIAN),
    (["New\u00a0York", "New York", "New\u00a0York"], "New\u00a0York"),
    ([" Boston", "Boston\u200b", "\u2003Boston"], "Boston"),
    (["Caf\u00e9", "Cafe\u0301", "Cafe\u0301"], "Caf\u00e9"),
]
SUFFIXES = ["csv", "parquet", "arrow"]


@pytest.mark.parametrize(
    ("cells", "shown", "suffix"), [(*each, SUFFIXES[place % 3]) for place, each in enumerate(LABELS)]
)
def test_one_label_is_written_as_most_rows_have_it(tmp_path: Path, cells: list[str], shown: str, suffix: str) -> None:
    path = table(tmp_path, [(cell, "flu") for cell in cells], "town,ill", suffix)
    assert run("audit", "-i", path, "--qi", "town", "-k", str(len(cells))).returncode == 0
    place = spec(tmp_path, path, quasi_identifiers={"town": {}}, privacy={"k": len(cells)})
    out = tmp_path / "released.csv"
    made = run("mondrian", place, "-o", out, "--save-recoding", tmp_path / "recoding.json", "-r", tmp_path / "r.json")
    assert made.returncode == 0, made.stderr
    assert released(out) == {shown}
    assert run("evaluate", place, out).returncode == 0
    assert run("recode", tmp_path / "recoding.json", "-i", path, "-o", tmp_path / "again.csv").returncode == 0
    assert released(tmp_path / "again.csv") == {shown}
    exact = spec(tmp_path, path, quasi_identifiers={"town": {"normalize": "exact"}}, privacy={"k": len(cells)})
    assert run("audit", exact).returncode == (0 if len(set(cells)) == 1 else 1)


def test_labels_of_a_hierarchy_are_looked_up_by_what_is_seen_and_written_as_they_stand(tmp_path: Path) -> None:
    rows = [(town, "flu") for town in (PERSIAN, "B\u2062oston", "Boston", "Salem") for _ in range(2)]
    path = table(tmp_path, rows, "town,ill")
    (tmp_path / "h.csv").write_text(f"{JOINED};{JOINED} x;*\nBoston;US;*\nSal\u200eem;US;*\n", encoding="utf-8")
    quasi: dict[str, Any] = {"town": {"hierarchy": str(tmp_path / "h.csv")}}
    out = tmp_path / "released.csv"
    place = spec(tmp_path, path, quasi_identifiers=quasi, privacy={"k": 2})
    made = run("mondrian", place, "-o", out, "--public-report", "-r", tmp_path / "r.json")
    assert made.returncode == 0, made.stderr
    assert released(out) == {PERSIAN, "Boston", "Salem"}
    assert json.loads((tmp_path / "r.json").read_text())["utility"]["gcp"] == 0
    quasi["town"]["levels"] = {"min": 1, "max": 1}
    levels = spec(tmp_path, path, quasi_identifiers=quasi, privacy={"k": 2})
    assert run("incognito", levels, "-o", out, "--force").returncode == 0
    assert released(out) == {f"{JOINED} x", "US"}


def test_exact_of_one_quasi_identifier_is_refused_where_all_are_compared_alike(tmp_path: Path) -> None:
    path = table(tmp_path, [("Boston", "flu"), ("Boston", "flu")], "town,ill")
    place = spec(tmp_path, path, quasi_identifiers={"town": {"normalize": "exact"}}, privacy={"k": 2})
    out = ["-o", tmp_path / "released.csv"]
    assert run("mondrian", place, *out).returncode == 0
    assert run("mondrian", place, *out, "--force", "--save-recoding", tmp_path / "recoding.json").returncode == 2
    wanted = f"k-map k=1 population={path}"
    assert run("audit", place, "--require", wanted).returncode == 2


# --- two implementations -------------------------------------------------------------------------------------------


def groups(stands: Sequence[object]) -> list[int | None]:
    first: dict[object, int] = {}
    return [None if each in (None, -1) else first.setdefault(each, place) for place, each in enumerate(stands)]


@settings(max_examples=some(200))
@given(
    st.lists(
        st.text(
            st.sampled_from("HIVhivml1rnO0o-. \u0406\u043d\u0399\u04cf\u200e\uff29é|\u00a0ßİ\u0131\u017fﬁ\u1e9e#N/A"),
            max_size=5,
        )
        | st.sampled_from(sorted(UNKNOWN))
        | st.text(max_size=4),
        unique=True,
        min_size=1,
    ),
    st.booleans(),
)
def test_the_search_and_the_check_take_the_same_for_one(texts: list[str], known: bool) -> None:
    found = look_alikes(texts, known=known)
    searched = list(range(len(texts))) if found is None else found.tolist()
    checked = looking_alike(pl.Series(texts, dtype=pl.String), known=known).to_list()
    assert groups(searched) == groups(checked)


def test_values_of_ascii_are_told_apart_but_by_case() -> None:
    codes = ["I10", "l10", "110", "AMI", "AML", "corn", "com", "O", "0"]
    assert look_alikes(codes) is None
    assert looking_alike(pl.Series(codes)).to_list() == codes
