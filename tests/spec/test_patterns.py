"""Patterns and `others`: which column gets which role, what is refused, and where messages point."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError, SpecError
from anonymize.spec import Spec, make, resolve
from anonymize.spec.patterns import left_over_warnings, matches
from tests.spec.conftest import MODELS, Read


def spec(**sections: Any) -> Spec:
    return make({"version": 1, "quasi_identifiers": ["age"]} | sections, MODELS)


def roles(made: Spec, *columns: str) -> dict[str, str]:
    return dict(resolve(made, columns).roles())


def test_a_pattern_stands_for_the_columns_that_it_matches() -> None:
    made = spec(identifiers=["*_id"], quasi_identifiers={"lab_*": {"type": "numeric"}}, insensitive=["note"])
    resolved = resolve(made, ["person_id", "lab_b", "lab_a", "note"])
    assert resolved.identifiers == ("person_id",) and list(resolved.quasi_identifiers) == ["lab_b", "lab_a"]
    assert {each.type for each in resolved.quasi_identifiers.values()} == {"numeric"}


def test_a_name_goes_before_a_pattern() -> None:
    made = spec(quasi_identifiers={"lab_*": {}}, sensitive={"lab_hiv": {}})
    assert roles(made, "lab_hiv", "lab_a") == {"lab_hiv": "sensitive", "lab_a": "quasi-identifier"}


def test_of_two_patterns_in_a_section_the_first_counts() -> None:
    made = spec(quasi_identifiers={"lab_a*": {"weight": 2}, "lab_*": {}})
    resolved = resolve(made, ["lab_b", "lab_a1"])
    assert {name: each.weight for name, each in resolved.quasi_identifiers.items()} == {"lab_a1": 2, "lab_b": 1}


def test_patterns_of_two_sections_may_not_match_one_column(read: Read) -> None:
    made = read("version: 1\nquasi_identifiers: ['a*']\nsensitive: ['*b']\n")
    with pytest.raises(DataError, match=r"column ab: matched by `\*b` under sensitive and by `a\*` under quasi") as e:
        resolve(made, ["ab", "aa", "bb"])
    assert e.value.problems[0].line == 3


@pytest.mark.parametrize("name", ["*", "a*", "^a.*$", "a?", "[a]"])
def test_a_column_of_a_name_like_a_pattern_can_be_named(name: str) -> None:
    made = spec(quasi_identifiers=[name], insensitive=["ab"])
    assert roles(made, name, "ab") == {name: "quasi-identifier", "ab": "insensitive"}


@pytest.mark.parametrize("others", ["insensitive", "drop"])
def test_a_name_that_may_be_meant_as_a_pattern_is_refused_beside_others(others: str) -> None:
    made = spec(identifiers=["a*"], others=others)
    with pytest.raises(DataError, match=r"`a\*` is the name of a column, and as a pattern it would match column ab"):
        resolve(made, ["age", "a*", "ab"])
    assert (
        roles(spec(identifiers=["a**"], quasi_identifiers=["b"], others=others), "b", "a*", "ab")["ab"] == "identifier"
    )


def test_others() -> None:
    assert roles(spec(others="insensitive"), "x", "age", "y") == {
        "age": "quasi-identifier",
        "x": "insensitive",
        "y": "insensitive",
    }
    assert roles(spec(others="drop"), "x", "age")["x"] == "identifier"
    assert "x" not in roles(spec(), "x", "age")
    assert resolve(spec(others="insensitive"), ["x", "age"]).left_over == {"x": "unnamed"}


def test_a_resolved_spec_is_resolved() -> None:
    made = resolve(spec(quasi_identifiers=["*"], others="insensitive"), ["a", "b"])
    assert resolve(made, ["a", "b"]) == made and made.left_over == {}


def test_a_pattern_without_a_column_stays_for_the_check_of_columns() -> None:
    assert resolve(spec(identifiers=["lab_*"]), ["age"]).identifiers == ("lab_*",)


def test_targets_weights_and_units_are_named() -> None:
    made = spec(quasi_identifiers=["*"], unit="id", sampling_weight="w", workload={"targets": ["t"]})
    assert roles(made, "id", "w", "t", "age") == {
        "age": "quasi-identifier",
        "w": "sampling-weight",
        "id": "unit",
        "t": "target",
    }


def test_what_is_wrong_once_columns_are_known_has_its_line(read: Read) -> None:
    made = read(
        "version: 1\nquasi_identifiers:\n  'a*': {type: numeric}\ninsensitive: [a_low]\noutput: {numeric: bounds}\n"
    )
    with pytest.raises(SpecError, match=r"makes a column `a_low`, and there is one") as caught:
        resolve(made, ["a", "a_low"])
    assert caught.value.problems[0].line == 5


def test_selections_and_models_may_be_about_columns_of_patterns(read: Read) -> None:
    made = read(
        "version: 1\nquasi_identifiers:\n  'lab_*': {type: numeric}\nsensitive: ['s_*']\n"
        "privacy: {models: [{model: t-closeness, attribute: s_a, t: 0.2}]}\n"
        "workload: {selections: [{lab_a: {in: [1, 2]}}]}\n"
    )
    assert list(made.workload.selections[0]["lab_a"].in_ or ()) == [1, 2]
    assert resolve(made, ["lab_a", "s_a"]).sensitive.keys() == {"s_a"}
    with pytest.raises(SpecError, match="`x` is not a sensitive attribute"):
        read(
            "version: 1\nquasi_identifiers: ['lab_*']\nsensitive: ['s_*']\n"
            "privacy: {models: [{model: t-closeness, attribute: x, t: 0.2}]}\n"
        )


names = st.text(st.sampled_from("ab*_^$.[]?é\n"), min_size=1, max_size=6)


@given(st.lists(names, min_size=1, max_size=6, unique=True), st.lists(names, min_size=1, max_size=4, unique=True))
def test_every_column_has_one_role_or_is_left_over(columns: list[str], listed: list[str]) -> None:
    made = spec(quasi_identifiers=listed)
    got = resolve(made, columns).quasi_identifiers
    for column in columns:
        wanted = column in listed or any(
            "*" in name and name not in columns and matches(name, column) for name in listed
        )
        assert (column in got) == wanted


# --- undecided columns ------------------------------------------------------------------------------------------------


def test_undecided_columns_are_refused_one_by_one(read: Read) -> None:
    with pytest.raises(SpecError) as error:
        read("version: 1\nquasi_identifiers: [age]\nundecided:\n  - flag\n  - code\nothers: insensitive\n")
    assert [problem.line for problem in error.value.problems] == [4, 5]
    assert all("is undecided" in each.message and "others: drop" in str(each.hint) for each in error.value.problems)


def test_undecided_columns_are_left_out_with_the_others_and_named() -> None:
    made = spec(undecided=["flag", "lab_*"], insensitive=["lab_a"], identifiers=["name"], others="drop")
    resolved = resolve(made, ["age", "lab_a", "lab_b", "flag", "more", "name"])
    assert resolved.identifiers == ("name", "flag", "lab_b", "more") and resolved.insensitive == ("lab_a",)
    (warning,) = left_over_warnings(resolved)
    assert warning.text == "2 columns are undecided, and are left out of the release (others: drop): flag, lab_b"
    assert "`quasi_identifiers`" in warning.remedy and "else `insensitive`" in warning.remedy
    assert resolve(resolved, ["age"]) is resolved


def test_an_undecided_column_has_no_other_role(read: Read) -> None:
    with pytest.raises(SpecError, match=r"column `age` is a quasi-identifier .line 2. and cannot be undecided as well"):
        read("version: 1\nquasi_identifiers: [age]\nundecided: [age]\nothers: drop\n")


def test_an_undecided_column_that_is_not_there_has_its_line(read: Read) -> None:
    made = read("version: 1\nquasi_identifiers: [age]\nidentifiers: [a]\nundecided:\n  - gone\nothers: drop\n")
    assert resolve(made, ["a", "age"]).place("identifiers", 1) == (5, 5)


def test_a_spec_goes_to_another_process(read: Read) -> None:
    made = read("version: 1\nquasi_identifiers: [age]\nundecided: [flag]\nothers: drop\n")
    for each in (made, resolve(made, ["age", "flag"])):
        assert pickle.loads(pickle.dumps(each)).left_over == each.left_over
