"""The recipient's file: what is read, what is refused, which values a comparison takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import DataError, UsageError
from anonymize.meaning import Channel, Manifest
from anonymize.meaning.kinds import conditions_in

SEX = {"name": "sex", "role": "quasi-identifier", "p": 0.8, "values": ["F", "M"]}
FILE: dict[str, Any] = {
    "format": "anonymize-randomization",
    "version": 1,
    "rows": 9,
    "separator": ";",
    "attributes": [SEX],
}


def read(tmp_path: Path, **changes: Any) -> Manifest:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(FILE | changes), encoding="utf-8")
    return Manifest.read(str(path))


def test_a_file(tmp_path: Path) -> None:
    found = read(tmp_path)
    sex = Channel("sex", "quasi-identifier", 0.8, ("F", "M"))
    assert found == Manifest({"sex": sex}, 9, ";", str(tmp_path / "p.json"))
    assert found.named(["sex"]) == [sex]
    with pytest.raises(UsageError, match="'age' is not an attribute of the parameters, which have sex"):
        found.named(["age"])
    with pytest.raises(UsageError, match="twice"):
        found.named(["sex", "sex"])


@pytest.mark.parametrize("half_open", [True, False])
def test_bounds_of_a_file(tmp_path: Path, half_open: bool) -> None:
    ages = {"name": "age", "role": "quasi-identifier", "p": 0.6, "values": ["<20", ">=20", "?"]}
    bounds = {"bounds": [[None, 19], [20, None], None], "half_open": half_open}
    (attribute,) = read(tmp_path, attributes=[ages | bounds]).channels.values()
    spans = ((None, 19), (20, None), None)
    assert attribute == Channel("age", "quasi-identifier", 0.6, ("<20", ">=20", "?"), spans, half_open)


def test_an_attribute_that_was_left_alone_needs_no_values(tmp_path: Path) -> None:
    (attribute,) = read(tmp_path, attributes=[{"name": "sex", "role": "sensitive", "p": 1}]).channels.values()
    assert attribute == Channel("sex", "sensitive", 1)
    assert not attribute.half_open


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"format": "else"},
        {"rows": "many"},
        {"attributes": [SEX | {"p": 0.5}]},
        {"attributes": [SEX | {"p": 1.1}]},
        {"attributes": [SEX | {"values": ["F", "F"]}]},
        {"attributes": [{"name": "sex", "role": "sensitive", "p": 0.7}]},
        {"attributes": [SEX | {"bounds": [[1, 2]]}]},
        {"attributes": [SEX | {"bounds": [["1", "2"], None]}]},
        {"attributes": [SEX | {"bounds": [[True, 2], None]}]},
        {"attributes": [{"name": "sex", "role": "sensitive", "p": 1, "bounds": [[1, 2]]}]},
        {"attributes": [3]},
    ],
    ids=str,
)
def test_what_is_no_such_file(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="is not a file of parameters"):
        read(tmp_path, **changes)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        Manifest.read(str(tmp_path / "none.json"))
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="is no JSON"):
        Manifest.read(str(tmp_path / "x.json"))


AGES = Channel(
    "age",
    "quasi-identifier",
    0.5,
    ("<20", "[20-29]", "[30-39]", ">=40", "?"),
    ((None, 19), (20, 29), (30, 39), (40, None), None),
)
HALVES = Channel("h", "quasi-identifier", 0.5, ("[0-10)", "[10-20)"), ((0, 10), (10, 20)), half_open=True)
PLAIN = Channel("n", "quasi-identifier", 1.0)


@pytest.mark.parametrize(
    ("told", "text", "expected"),
    [
        (AGES, "age in 20-39", [0, 1, 1, 0, 0]),
        (AGES, "age >= 30", [0, 0, 1, 1, 0]),
        (AGES, "age < 20", [1, 0, 0, 0, 0]),
        (AGES, "age = '?'", [0, 0, 0, 0, 1]),
        (AGES, "age != [20-29]", [1, 0, 1, 1, 1]),
        (HALVES, "h in 0-10", [1, 0]),
        (HALVES, "h >= 10", [0, 1]),
        (HALVES, "h < 10", [1, 0]),
        (HALVES, "h <= 10", [1, 0]),
        (HALVES, "h > 20", [0, 0]),
        (AGES, "age <= 19", [1, 0, 0, 0, 0]),
        (AGES, "age < 30", [1, 1, 0, 0, 0]),
        (AGES, "age > 29", [0, 0, 1, 1, 0]),
        (AGES, "age >= 20", [0, 1, 1, 1, 0]),
        (AGES, "age in 30-39", [0, 0, 1, 0, 0]),
        (AGES, "age > 19", [0, 1, 1, 1, 0]),
        (PLAIN, "n >= 2", [0, 1, 1, 0]),
        (PLAIN, "n < 2", [1, 0, 0, 0]),
        (PLAIN, "n <= 2", [1, 1, 0, 0]),
        (PLAIN, "n in (1, 2, 3, x)", [1, 1, 1, 1]),
        (PLAIN, "n in 2-3", [0, 1, 1, 0]),
        (PLAIN, "n > 2", [0, 0, 1, 0]),
    ],
)
def test_what_a_comparison_takes(told: Channel, text: str, expected: list[int]) -> None:
    (comparison,) = conditions_in(text)
    assert told.chosen(comparison, told.values or ("1", "2", "3", "x")).tolist() == expected


@pytest.mark.parametrize("text", ["age in 25-39", "age > 35", "age <= 25", "age >= 29", "age <= 20", "age in 29-39"])
def test_a_range_that_cuts_an_interval_is_refused(text: str) -> None:
    (comparison,) = conditions_in(text)
    with pytest.raises(UsageError, match="cuts an interval in two"):
        AGES.chosen(comparison, AGES.values or ())


@pytest.mark.parametrize("values", [("M", "F"), ("nan", ""), ("inf", "-inf")])
def test_a_range_over_what_are_no_numbers_is_refused(values: tuple[str, ...]) -> None:
    (comparison,) = conditions_in("sex < 3")
    with pytest.raises(UsageError, match="the values of sex are not numbers"):
        Channel("sex", "quasi-identifier", 0.9, values).chosen(comparison, values)


def test_a_value_that_there_is_not_is_refused_without_its_text() -> None:
    (comparison,) = conditions_in("age = SECRET")
    with pytest.raises(UsageError, match="age has no such value") as raised:
        AGES.chosen(comparison, AGES.values or ())
    assert "SECRET" not in str(raised.value)
