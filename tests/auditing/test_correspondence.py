"""BCF-anonymity of two releases made by hand."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from anonymize.auditing import opened
from anonymize.auditing.series import Correspondence, correspondence
from anonymize.privacy import PARAMETERS
from anonymize.spec import load

SPEC = """\
version: 1
quasi_identifiers: {country: {hierarchy: countries.csv}}
sensitive: {ill: {}}
privacy: {k: 5}
"""
COUNTRIES = "France;Europe;*\nUK;Europe;*\nChile;America;*\n"


def measured(folder: Path, first: list[str], second: list[str], spec: str = SPEC) -> Correspondence:
    """Of each release the rows as text."""
    (folder / "countries.csv").write_text(COUNTRIES)
    (folder / "spec.yaml").write_text(spec)
    loaded = load(folder / "spec.yaml", PARAMETERS)
    header = "country,ill,job" if "job" in spec else "country,ill"
    for name, rows in (("first.csv", first), ("second.csv", second)):
        (folder / name).write_text("\n".join([header, *rows]) + "\n")
    with ExitStack() as stack:
        before, now = (
            stack.enter_context(opened(loaded, folder / name, classified=True)) for name in ("first.csv", "second.csv")
        )
        return correspondence(before, now)


def test_each_attack_excludes_one_row_of_five(tmp_path: Path) -> None:
    # Of five in Europe three have flu, then two in France (forward: 3 - 2). Of three there with gout only two can have
    # been there before (cross). Of five with flu at last only two are French, so that one British at least of three was
    # among the first three (backward).
    first = ["Europe,flu"] * 3 + ["Europe,gout"] * 2
    second = ["UK,flu"] * 3 + ["UK,gout"] * 2 + ["France,flu"] * 2 + ["France,gout"] * 3
    assert measured(tmp_path, first, second) == Correspondence(4, 4)


def test_the_same_release_again_leaves_no_newcomer(tmp_path: Path) -> None:
    rows = ["France,flu"] * 3 + ["France,gout"] * 2
    assert measured(tmp_path, rows, rows) == Correspondence(5, 0)


@pytest.mark.parametrize(("most", "measures"), [(4, True), (3, False)])
def test_releases_of_too_many_classes_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, measures: bool
) -> None:
    monkeypatch.setattr("anonymize.auditing.previous.MOST_PAIRS", most)
    rows = ["France,flu"] * 3 + ["Chile,flu"] * 2
    assert (measured(tmp_path, rows, rows) != Correspondence(None, None)) is measures


def test_classes_far_apart_are_about_nobody_in_common(tmp_path: Path) -> None:
    first, second = ["France,flu"] * 5, ["France,flu"] * 5 + ["Chile,flu"] * 7
    assert measured(tmp_path, first, second) == Correspondence(5, 0)
    assert measured(tmp_path, first, ["Chile,flu"] * 7) == Correspondence(None, None)


def test_without_a_sensitive_attribute_rows_are_counted(tmp_path: Path) -> None:
    spec = SPEC.replace("sensitive: {ill: {}}", "insensitive: [ill]")
    first, second = ["Europe,flu"] * 5, ["UK,flu"] * 6 + ["France,flu"] * 7
    assert measured(tmp_path, first, second, spec) == Correspondence(5, 6)


def test_newcomers_with_a_value_that_nobody_had_stay_as_many_as_they_are(tmp_path: Path) -> None:
    first, second = ["Europe,flu"] * 2, ["UK,flu"] * 5 + ["France,gout"] * 6
    assert measured(tmp_path, first, second) == Correspondence(2, 3)
    assert measured(tmp_path, first, ["UK,flu"] * 9 + ["France,gout"] * 6) == Correspondence(2, 6)


def test_of_several_sensitive_attributes_the_one_that_leaves_least_counts(tmp_path: Path) -> None:
    # Forward five have flu in both, but of the clerks only one can. Backward five of nine have had flu before, but of
    # the jobs only four.
    spec = SPEC.replace("{ill: {}}", "[ill, job]")
    first = ["Europe,flu,cook"] * 3 + ["Europe,flu,clerk"] * 2
    second = ["UK,flu,cook"] * 5 + ["UK,flu,clerk"] * 1 + ["UK,flu,nurse"] * 3
    assert measured(tmp_path, first, second, spec) == Correspondence(4, 4)


def test_too_many_pairs_of_classes_are_not_compared(tmp_path: Path) -> None:
    spec = SPEC.replace("{country: {hierarchy: countries.csv}}", "[country]").replace("{ill: {}}", "[ill]")
    rows = [f"{number},flu" for number in range(4500)]
    assert measured(tmp_path, rows, rows, spec) == Correspondence(None, None)
    assert measured(tmp_path, rows[:2], rows, spec) == Correspondence(1, 0)


@pytest.mark.parametrize("rows", [3, 8])
def test_newcomers_beside_everybody_are_left_as_many_as_came(tmp_path: Path, rows: int) -> None:
    assert measured(tmp_path, ["UK,flu"] * 4, ["UK,flu"] * (4 + rows)) == Correspondence(4, rows)


def test_classes_without_a_value_in_common_are_about_nobody_in_common(tmp_path: Path) -> None:
    first, second = ["Europe,flu"] * 5, ["UK,flu"] * 5 + ["France,gout"] * 6
    assert measured(tmp_path, first, second) == Correspondence(5, 0)
    assert measured(tmp_path, first, ["France,gout"] * 6) == Correspondence(None, None)
