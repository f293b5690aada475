"""The columns in which a table shows what a spec speaks of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._audit import audit
from anonymize.auditing import released_as, undivided
from anonymize.auditing.request import Against, Audit, Deeper
from anonymize.errors import DataError, UsageError
from anonymize.link import Link, LinkedFile
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, load, make
from anonymize.table.files import sha256_of


def spec(folder: Path | None = None, output: str = "bounds") -> Spec:
    """Of a number and a category, written to a file in the folder, if one is given."""
    content = {
        "version": 1,
        "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
        "sensitive": ["ill"],
        "output": {"numeric": output},
    }
    if folder is None:
        return make(content, PARAMETERS)
    (folder / "spec.yaml").write_text(json.dumps(content))
    return load(folder / "spec.yaml", PARAMETERS)


def made(**more: Any) -> Spec:
    """The spec of a number and a category, with other parts."""
    content = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "sensitive": ["ill"]}
    return make(content | more, PARAMETERS)


@pytest.mark.parametrize(
    ("present", "spoken"),
    [
        (["job", "age_low", "age_high", "age_missing", "ill"], ["job", "age", "ill"]),
        (["age_low", "job", "age_high"], ["age", "job"]),
        (["age", "age_low", "age_high"], ["age", "age_low", "age_high"]),
        (["age_low", "job"], ["age_low", "job"]),
        (["age_high", "ill"], ["age_high", "ill"]),
    ],
)
def test_bounds_are_one_column_of_a_spec_that_asks_for_bounds(present: list[str], spoken: list[str]) -> None:
    assert undivided(spec(), present) == spoken
    assert undivided(spec(output="interval"), present) == present


def audited(spec: Spec | None, path: Path, **given: Any) -> dict[str, Any]:
    return audit(Audit(spec, path, **given)).report


def test_what_no_option_names_passes_through(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ward\n1,a\n1,b\n")
    report = audited(None, tmp_path / "t.csv", quasi_identifiers=["age"])
    assert report["risk"]["passing"]["columns"] == ["ward"]
    assert (
        audited(None, tmp_path / "t.csv", quasi_identifiers=["age"], group="ward")["risk"]["passing"]["columns"] == []
    )


@pytest.mark.parametrize(("shown", "verdicts"), [("cook", [True, True]), ("monk", [True, False])])
def test_rare_values_and_their_levels_are_judged_by_the_original(
    tmp_path: Path, shown: str, verdicts: list[bool]
) -> None:
    (tmp_path / "t.csv").write_text("job\n" + "cook\n" * 5 + "monk\n" * 2)
    (tmp_path / "r.csv").write_text(f"job\n{shown}\n{shown}\nOther\nOther\n")
    job = {"hierarchy": {"rare": {"below": 5}}, "levels": {"max": 1}}
    spec = made(quasi_identifiers={"job": job}, sensitive=[])
    without = audited(spec, tmp_path / "r.csv", k=2)
    assert without["privacy"]["satisfied"] is None
    assert not without["private"]
    report = audited(spec, tmp_path / "r.csv", k=2, original=tmp_path / "t.csv")
    judged = {each["model"]: each["satisfied"] for each in report["privacy"]["models"]}
    assert [judged["levels"], judged["rare"]] == verdicts
    assert report["private"]


@pytest.mark.parametrize("table", ["age,job,ill\n20,cook,flu\n", "age_low,age_high,job,ill\n20,20,cook,flu\n"])
def test_a_population_is_matched_with_the_columns_that_show_an_attribute(tmp_path: Path, table: str) -> None:
    """A risk that names no population takes the one at hand; other models have none."""
    (tmp_path / "people.csv").write_text("age,job\n" + "20,cook\n" * 4)
    (tmp_path / "t.csv").write_text(table)
    models = [{"model": "entropy-l-diversity", "attribute": "ill", "l": 1}, {"model": "risk", "journalist_max": 0.25}]
    asked = made(privacy={"models": models})
    further = Deeper(population=tmp_path / "people.csv")
    results = audited(asked, tmp_path / "t.csv", further=further)["privacy"]["models"]
    assert [each["satisfied"] for each in results] == [True, True]
    assert results[1]["achieved"]["journalist_max"] == 0.25


def test_a_risk_that_names_a_population_or_needs_none_keeps_what_it_has(tmp_path: Path) -> None:
    for name, times in (("few.csv", 2), ("people.csv", 4)):
        (tmp_path / name).write_text("age,job\n" + "20,cook\n" * times)
    (tmp_path / "t.csv").write_text("age,job,ill\n20,cook,flu\n")
    risks: list[tuple[dict[str, Any], Deeper, dict[str, float]]] = [
        ({"journalist_max": 0.5, "population": str(tmp_path / "few.csv")}, Deeper(), {"journalist_max": 0.5}),
        (
            {"journalist_max": 0.5, "population": str(tmp_path / "few.csv")},
            Deeper(population=tmp_path / "people.csv"),
            {"journalist_max": 0.5},
        ),
        ({"prosecutor_max": 1}, Deeper(population=tmp_path / "people.csv"), {"prosecutor_max": 1}),
        ({"prosecutor_max": 1}, Deeper(), {"prosecutor_max": 1}),
    ]
    for bounds, further, achieved in risks:
        asked = made(privacy={"models": [{"model": "risk", **bounds}]})
        [result] = audited(asked, tmp_path / "t.csv", further=further)["privacy"]["models"]
        assert {name: value for name, value in result["achieved"].items() if value is not None} == achieved


def test_distances_over_a_hierarchy_are_those_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "ills.csv").write_text("flu,lungs,*\ngout,joints,*\ncold,lungs,*\n")
    (tmp_path / "t.csv").write_text("age,job,ill\n1,a,flu\n1,a,flu\n2,a,cold\n2,a,cold\n")
    model = {"model": "t-closeness", "t": 0.5, "distance": "hierarchical"}
    asked = made(sensitive={"ill": {"hierarchy": str(tmp_path / "ills.csv")}}, privacy={"models": [model]})
    [result] = audited(asked, tmp_path / "t.csv")["privacy"]["models"]
    assert result["achieved"]["t"] == 0.25  # half moves half of the height


def test_a_hierarchy_that_no_distance_needs_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "ills.csv").write_text("flu,lungs,*\nflu,joints,*\n")
    (tmp_path / "t.csv").write_text("age,job,ill\n20,cook,flu\n")
    asked = made(sensitive={"ill": {"hierarchy": str(tmp_path / "ills.csv")}}, privacy={"l": 1})
    assert audited(asked, tmp_path / "t.csv")["privacy"]["satisfied"] is True


@pytest.mark.parametrize("named", [{"output": {"pseudonym": "lab_who"}}, {"group": "lab_who"}])
def test_pseudonyms_and_groups_are_no_quasi_identifiers_whatever_they_are_called(
    tmp_path: Path, named: dict[str, Any]
) -> None:
    (tmp_path / "t.csv").write_text("lab_1,lab_2,lab_who,ill\n1,2,3,flu\n1,2,4,gout\n")
    content = {"version": 1, "quasi_identifiers": {"lab_*": {}}, "sensitive": ["ill"], "privacy": {"l": 1}}
    asked = make(content | {name: value for name, value in named.items() if name == "output"}, PARAMETERS)
    report = audited(asked, tmp_path / "t.csv", group=named.get("group"))
    assert report["risk"]["prosecutor_max"] == 0.5 and report["risk"]["passing"]["columns"] == []


# --- whom a row is about ---------------------------------------------------------------------------------------------

PEOPLE = "who,age,job,ill\na,1,x,flu\na,1,x,flu\nb,1,x,gout\n"


def by_people(folder: Path, rows: str, *, kept: bool = False, by_position: bool = False, linked: bool = False) -> int:
    """The k of a release without the unit, by the table that it was made of."""
    (folder / "in.csv").write_text(PEOPLE)
    (folder / "t.csv").write_text(f"age,job,ill\n{rows}")
    asked = made(unit="who", output={"row_order": "keep" if kept else "sorted"}, privacy={"k": 1})
    given: dict[str, Any] = {"unit_from": folder / "in.csv", "against": Against(by_position=by_position)}
    if linked:
        files = [LinkedFile(sha256_of(folder / name), 3) for name in ("in.csv", "t.csv")]
        (folder / "link.json").write_text(Link(files[0], files[1], np.array([2, 0, 1])).text("link.json"))
        given["link"] = folder / "link.json"
    [model] = audited(asked, folder / "t.csv", **given)["privacy"]["models"]
    return int(model["achieved"]["k"])


def test_rows_are_about_whom_their_link_says(tmp_path: Path) -> None:
    assert by_people(tmp_path, "2,y,gout\n1,x,flu\n1,x,flu\n", linked=True) == 1
    assert by_people(tmp_path, "1,x,gout\n1,x,flu\n1,x,flu\n", linked=True) == 2
    (tmp_path / "in.csv").write_text(PEOPLE.replace("b,", "c,"))
    given = {"unit_from": tmp_path / "in.csv", "link": tmp_path / "link.json"}
    with pytest.raises(DataError, match="is about another input"):
        audited(made(unit="who", privacy={"k": 1}), tmp_path / "t.csv", **given)


def test_rows_are_about_whom_the_table_itself_says(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(PEOPLE)
    [model] = audited(made(unit="who", privacy={"k": 1}), tmp_path / "t.csv")["privacy"]["models"]
    assert model["achieved"]["k"] == 2


def test_rows_are_about_whom_their_place_says_where_the_order_is_kept_or_that_is_asked_for(tmp_path: Path) -> None:
    same = "1,x,flu\n1,x,flu\n1,x,gout\n"
    assert by_people(tmp_path, same, kept=True) == by_people(tmp_path, same, by_position=True) == 2
    with pytest.raises(UsageError, match="--unit-from: give --link"):
        by_people(tmp_path, same)
    with pytest.raises(DataError, match=r"has 3 rows, and .* has 2: rows cannot be matched by position"):
        by_people(tmp_path, "1,x,flu\n1,x,gout\n", kept=True)


def test_by_place_is_asked_for_without_a_spec_alone(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(PEOPLE)
    (tmp_path / "t.csv").write_text("age,job,ill\n1,x,flu\n1,x,flu\n1,x,gout\n")
    (tmp_path / "spec.yaml").write_text("version: 1\nunit: who\nquasi_identifiers: [age, job]\nsensitive: [ill]\n")
    loaded = load(tmp_path / "spec.yaml", PARAMETERS)
    with pytest.raises(UsageError, match="--unit-from: give --link"):
        audited(loaded, tmp_path / "t.csv", unit_from=tmp_path / "in.csv", against=Against(by_position=True))


def test_the_table_that_a_release_was_made_of_has_to_have_the_unit_and_sound_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,job,ill\n1,x,flu\n")
    asked = made(unit="who", output={"row_order": "keep"}, privacy={"k": 1})
    for text, message in (
        ("age\n1\n", "has no column who"),
        ('who,age\n"a,1\n', "quotation mark"),
        (None, "is not in the table"),
    ):
        (tmp_path / "in.csv").write_text(text or "")
        with pytest.raises((DataError, UsageError), match=message):
            audited(asked, tmp_path / "t.csv", unit_from=None if text is None else tmp_path / "in.csv")


# --- the columns of quasi-identifiers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("present", "by_options", "by_spec"),
    [
        ("age", ["age"], ["age"]),
        ("age_low age_high", ["age_low", "age_high"], ["age_low", "age_high"]),
        (
            "age_low age_high age_missing",
            ["age_low", "age_high", "age_missing"],
            ["age_low", "age_high", "age_missing"],
        ),
        ("age age_low age_high", ["age"], ["age", "age_low", "age_high"]),
        ("age age_low age_missing", ["age"], ["age", "age_low"]),
        ("age age_missing", ["age"], ["age"]),
    ],
)
def test_a_number_is_shown_by_itself_or_by_its_bounds(
    tmp_path: Path, present: str, by_options: list[str], by_spec: list[str]
) -> None:
    columns = [*present.split(), "job", "ill"]
    assert released_as(spec(), columns, "t.csv") == {"age": by_options, "job": ["job"]}
    assert released_as(spec(tmp_path), columns, "t.csv") == {"age": by_spec, "job": ["job"]}


@pytest.mark.parametrize(
    ("present", "lacking"),
    [(["age_low", "job", "ill"], "age"), (["age", "job_low", "ill"], "job"), (["age", "job"], "ill")],
)
def test_what_is_not_shown_is_lacking(tmp_path: Path, present: list[str], lacking: str) -> None:
    for each in (spec(), spec(tmp_path)):
        with pytest.raises(DataError, match=f"t.csv: has no column {lacking}"):
            released_as(each, present, "t.csv")
