"""Roles that are guessed from the name of a column and what was measured of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from anonymize.privacy import PARAMETERS
from anonymize.profiling.measure import ColumnFacts, TableFacts, measure
from anonymize.profiling.roles import Guess, guess, guesses, unit_of
from anonymize.profiling.settings import is_numeric, kind_of, settings
from anonymize.spec import make
from anonymize.table import Source

READING = make({"version": 1, "quasi_identifiers": ["a"]}, PARAMETERS)


def table_of(**columns: Sequence[object]) -> TableFacts:
    frame = pl.DataFrame(columns)
    with tempfile.TemporaryDirectory() as folder:
        frame.write_csv(f"{folder}/t.csv")
        with Source.open(READING, Path(folder) / "t.csv") as source:
            return measure(source)


def facts_of(**columns: Sequence[object]) -> dict[str, ColumnFacts]:
    return dict(table_of(**columns).columns)


def guessed(name: str, values: Sequence[object]) -> Guess:
    return guess(facts_of(**{name: values, "other": ["x"] * len(values)})[name])


VISITS = [row // 4 for row in range(400)]
"""A hundred persons, four rows each."""
SCATTERED = [row * 37 % 100 * 3 + 5 for row in range(400)]


@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "row.names", "__index_level_0__"])
def test_row_names_are_identifiers_however_few_there_are(name: str) -> None:
    assert guessed(name, [1, 2, 3]).reason.startswith("names of rows")


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows_are_identifiers_whatever_they_are_called(first: int) -> None:
    numbered = guessed("X", [*range(first, first + 12)])
    assert (numbered.role, numbered.reason) == ("identifier", "numbers the rows")
    assert guessed("X", [*range(first + 2, first + 14)]).reason != "numbers the rows"
    assert guessed("age", [*range(first, first + 12)]).role == "quasi-identifier"


@pytest.mark.parametrize(
    "name", ["id", "ID", "seqn", "subject", "Patient", "patient_no", "subj.id", "caseid", "usubjid"]
)
def test_numbers_of_persons_are_identifiers_however_often_one_comes(name: str) -> None:
    assert guessed(name, SCATTERED).role == "identifier"


@pytest.mark.parametrize("name", ["subjects", "site_id", "patient_visits", "num_children", "code"])
def test_what_counts_persons_or_names_something_else_is_none(name: str) -> None:
    assert guessed(name, SCATTERED).role != "identifier"


def test_persons_are_numbers_or_codes_and_no_words() -> None:
    assert guessed("subject", ["maths", "physics", "arts"] * 200).role == "undecided"
    assert guessed("person", ["bride", "groom"] * 50).role == "undecided"


def test_numbers_that_run_along_the_rows_are_those_of_persons() -> None:
    assert guessed("s", [1 + number for number in VISITS]).role == "identifier"
    assert guessed("s", [1 + number for number in reversed(VISITS)]).role != "identifier"
    assert guessed("s", [3 * number for number in VISITS]).role != "identifier"
    assert guessed("day", [1 + number for number in VISITS]).role != "identifier"


def test_the_unit_has_most_persons_and_a_value_in_every_row() -> None:
    measured = facts_of(
        patient_id=SCATTERED,
        doctor_id=[row % 40 for row in range(400)],
        member_id=[None, *(row % 150 for row in range(399))],
        visit_id=[*range(400)],
        sex=["F", "M"] * 200,
    )
    made = [guess(facts) for facts in measured.values()]
    unit = unit_of(made)
    assert [each.role for each in made] == ["identifier"] * 4 + ["quasi-identifier"]
    assert unit is not None and unit.name == "patient_id"
    assert unit_of(made[3:]) is None


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("kidslt6", [0, 1, 2], "quasi-identifier"),
        ("educdec", [0, 1, 2], "quasi-identifier"),
        ("site", [1, 2, 3], "quasi-identifier"),
        ("hospital_no", [1, 2, 3], "quasi-identifier"),
        ("hospital_days", [1, 2, 3], "quasi-identifier"),
        ("maried", ["no", "yes"], "quasi-identifier"),
        ("comdominiom", ["no", "yes"], "quasi-identifier"),
        ("batsh", [1, 2, 3], "undecided"),
        ("cd4", [1, 2, 3], "sensitive"),
        ("grp2", [1, 2, 3], "undecided"),
        ("placebo", [0, 1, 1], "undecided"),
        ("capacity", [1, 2, 3], "undecided"),
        ("age", ["18-25", "26-40", "41+"], "quasi-identifier"),
        ("faminc", [1, 2, 3], "sensitive"),
    ],
)
def test_words_within_names(name: str, values: list[object], role: str) -> None:
    assert guessed(name, values * 50).role == role


def test_rows_alone_are_counted_among_those_with_a_value() -> None:
    assert guessed("x3", [*range(0, 200, 10), *[7] * 80, *[None] * 900]).role == "quasi-identifier"


def test_many_different_numbers_are_sensitive_where_none_singles_out() -> None:
    assert guessed("x1", [row % 120 * 0.5 for row in range(600)]).role == "sensitive"
    assert guessed("x1", [row % 60 * 0.5 for row in range(600)]).role == "undecided"


def test_numbers_that_are_written_as_no_number_are_neither_names_nor_categories() -> None:
    amounts = guessed("x1", [f"${row * 7:,}" for row in range(300)])
    assert (amounts.role, amounts.shape and amounts.shape.kind) == ("sensitive", "written number")


@pytest.mark.parametrize(("years", "levels"), [(40, True), (5, False)])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y"])
def test_dates_of_many_years_have_decades(years: int, levels: bool, form: str) -> None:
    days = pl.date_range(pl.date(1980, 1, 1), pl.date(1980 + years, 1, 1), "3w", eager=True)
    dates = guessed("seen", days.dt.to_string(form).to_list() * 2)
    own = settings(dates)["hierarchy"]["dates"]
    assert ("decade" in (own if isinstance(own, list) else own["levels"])) == levels


def test_numbers_of_institutions_are_in_no_order() -> None:
    assert "type" not in settings(guessed("site", [1, 2, 3, 4, 5, 6] * 20))
    assert settings(guessed("beds", [1, 2, 3, 4, 5, 6] * 20))["type"] == "numeric"


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("kön", ["K", "M"], "quasi-identifier"),
        ("län", ["AB", "C", "D"], "quasi-identifier"),
        ("Geburtsdatum", ["heute", "gestern"], "quasi-identifier"),
        ("fecha_nacimiento", ["hoy", "ayer"], "quasi-identifier"),
        ("hushållsinkomst", [1, 2, 3], "sensitive"),
        ("Haushaltseinkommen", [1, 2, 3], "sensitive"),
        ("lwage", [1.5, 2.25, 3.125], "sensitive"),
        ("highbp", [0, 1], "sensitive"),
        ("diabetes", ["yes", "no"], "sensitive"),
        ("maladie_chronique", ["oui", "non"], "sensitive"),
        ("salud", [1, 2, 3], "sensitive"),
        ("sexual_orientation", ["a", "b"], "sensitive"),
        ("parti", ["a", "b"], "sensitive"),
        ("ethnicity", ["a", "b"], "quasi-identifier"),
        ("q1", ["Catholic", "Muslim", "none", "Jewish"], "quasi-identifier"),
        ("q1", ["Never-married", "Married-civ-spouse", "Divorced"], "quasi-identifier"),
        ("q1", ["lung cancer", "asthma", "diabetes type 2"], "sensitive"),
        ("q1", ["heterosexual", "gay", "bisexual"], "sensitive"),
        ("q1", ["E11.9", "I10", "J45.0", "C50"], "sensitive"),
        ("q1", [f"DE89370400440532013{n:03}" for n in range(40)], "identifier"),
        ("q1", ["Anna", "Lars", "Eva", "Karl", "Maja", "Nils", "Elsa", "Olof", "Erik", "Zed", "Ada"], "identifier"),
        ("q1", ["a", "b", "c"], "undecided"),
        ("batch_no", [1, 2], "undecided"),
        ("batch", [1, 2], "insensitive"),
    ],
)
def test_what_people_are_and_keep_to_themselves_in_several_languages(
    name: str, values: list[object], role: str
) -> None:
    assert guessed(name, values * 50).role == role


def test_findings_of_a_table_about_health_are_sensitive() -> None:
    columns = {name: [0, 1] * 50 for name in ("cvd", "chf", "stroke", "afx", "code")} | {"ward": [*range(50)] * 2}
    made = {each.name: each.role for each in guesses(list(facts_of(**columns).values()))}
    assert made["afx"] == made["code"] == "sensitive" and guess(facts_of(afx=[0, 1] * 50)["afx"]).role == "undecided"


@pytest.mark.parametrize(
    ("name", "values", "numeric"),
    [
        ("race", [1, 2, 3, 4, 5], False),
        ("region", [*range(12)], False),
        ("kids", [0, 1, 2, 3, 4], True),
        ("age", [18, 19, 20], True),
        ("height", [*range(150, 200)], True),
        ("grade", [1.5, 2.0, 2.5], True),
    ],
)
def test_few_whole_numbers_are_categories_unless_they_count(name: str, values: list[object], numeric: bool) -> None:
    made = guessed(name, values * 20)
    assert is_numeric(made) == numeric
    assert made.role != "quasi-identifier" or ("type" in settings(made)) == numeric


def test_intervals_fit_the_range() -> None:
    assert settings(guessed("bmi", [15 + n / 10 for n in range(300)]))["hierarchy"] == {"intervals": [2.5, 5, 10]}
    assert settings(guessed("age", [*range(18, 24)] * 20))["hierarchy"] == {"intervals": [2, 4]}


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([200.5 + n for n in range(300)], "sampling-weight"),
        ([1.5 * n for n in range(300)], "quasi-identifier"),
        ([None, *(200.5 + n for n in range(299))], "quasi-identifier"),
    ],
)
def test_sampling_weights_are_above_zero_and_never_missing(values: list[object], role: str) -> None:
    assert guessed("finalwgt", values).role == role


@pytest.mark.parametrize(
    ("form", "notation"),
    [
        ("{},50", {"decimal": ","}),
        ("1.{:03},50", {"decimal": ",", "thousands": "."}),
        ("$1,{:03}", {"unit_text": "$", "thousands": ","}),
        ("{} cm", {"unit_text": "cm"}),
        ("{} %", {"unit_text": "%"}),
        ("12 {:03}", {"thousands": " "}),
        ("12'{:03}.5", {"thousands": "'"}),
    ],
)
def test_numbers_as_people_write_them(form: str, notation: dict[str, str]) -> None:
    made = guessed("wage", [form.format(100 + 7 * (n % 120)) for n in range(240)])
    assert kind_of(made) == {"type": "numeric", **notation} and made.role == "sensitive"


@pytest.mark.parametrize("form", ["p{}", "C{}", "{}-{}", "{} cm x {}", "no {}"])
def test_codes_are_no_numbers_with_a_unit(form: str) -> None:
    assert kind_of(guessed("q", [form.format(n, n) for n in range(60)] * 3)) == {}


def test_a_table_has_one_sampling_weight() -> None:
    weights = {name: [1.5 * n for n in range(1, 301)] for name in ("age", "finalwgt", "perwt")}
    made = {each.name: each.role for each in guesses(list(facts_of(**weights).values()))}
    assert made == {"age": "quasi-identifier", "finalwgt": "sampling-weight", "perwt": "quasi-identifier"}


@pytest.mark.parametrize(
    ("name", "texts", "builder"),
    [
        ("isco08", ["2221", "2211", "5120", "9112"], {"codes": "isco"}),
        ("NACE_Rev2", ["01.11", "10.71", "86.10"], {"codes": "nace"}),
        ("isced", ["ED0", "ED35", "ED5"], {"codes": "isced"}),
        ("region", ["DE212", "FRL04", "SE110"], {"codes": "nuts"}),
        ("admitted", ["2020-W53", "2021-W01"], {"dates": ["year"]}),
    ],
)
def test_codes_of_a_system_have_its_levels(name: str, texts: list[str], builder: dict[str, object]) -> None:
    made = guessed(name, texts * 3)
    assert made.role == "quasi-identifier" and settings(made) == {"hierarchy": builder}


def test_what_stands_beside_secrets_is_one_and_so_is_what_says_the_same() -> None:
    rows = 400
    secrets: dict[str, Sequence[object]] = {
        "income": [row * 7 % 90 for row in range(rows)],
        "arrested": [row % 2 for row in range(rows)],
    }
    other: dict[str, Sequence[object]] = {"sex": ["F", "M"] * (rows // 2), "zzq": [row % 3 for row in range(rows)]}
    few = {each.name: each.role for each in guesses(list(facts_of(**secrets, **other).values()))}
    assert few["zzq"] == "undecided"
    measured = facts_of(**secrets, **other, hiv=[row % 5 // 4 for row in range(rows)])
    assert {each.name: each.role for each in guesses(list(measured.values()))}["zzq"] == "sensitive"
    alike = table_of(**secrets, **other, lxq=[f"{(row * 7 % 90) ** 0.5:.4f}" for row in range(rows)])
    made = {each.name: each for each in guesses(list(alike.columns.values()), alike.hashes)}
    assert (made["lxq"].role, made["lxq"].reason) == ("sensitive", "says the same as income")


def test_numbers_with_fractions_are_amounts_and_not_known_of_anybody() -> None:
    assert guessed("zzq", [row / 7 for row in range(300)]).role == "sensitive"
    assert guessed("zzq", [row * 3 for row in range(300)] + [0] * 900).role == "quasi-identifier"


@pytest.mark.parametrize(
    ("low", "high", "step", "widths"),
    [
        (0, 100, 1, [10, 50]),
        (0, 19, 1, [2, 10]),
        (18, 35, 0.1, [2, 10]),
        (0, 9, 0.1, [1, 5]),
        (0, 48, 1, [5, 10, 20]),
    ],
)
def test_widths_are_round(low: float, high: float, step: float, widths: list[float]) -> None:
    values = [low + step * n for n in range(int((high - low) / step) + 1)]
    assert settings(guessed("height", values))["hierarchy"] == {"intervals": widths}


@pytest.mark.parametrize(
    ("sexes", "weights", "role"),
    [
        (lambda row: row % 2, lambda row: row // 3 * 13, "sampling-weight"),
        (lambda row: row % 2, lambda row: row * 13, "quasi-identifier"),
        (lambda row: row // 3 % 2, lambda row: row // 3 * 13, "quasi-identifier"),
    ],
)
def test_a_weight_of_whole_households_is_a_surveys_and_that_of_a_patient_a_bodys(
    sexes: Callable[[int], int], weights: Callable[[int], int], role: str
) -> None:
    table = table_of(
        hid=[row // 3 for row in range(300)],
        age=[row * 7 % 80 for row in range(300)],
        sex=[sexes(row) for row in range(300)],
        weight=[50 + weights(row) % 90 for row in range(300)],
    )
    made = {each.name: each.role for each in guesses(list(table.columns.values()), table.hashes)}
    assert made["weight"] == role
