"""Texts that a reader takes for one another: by hand."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.verify.looks import looking_alike


def stands(*texts: str | None, known: bool = False) -> list[str | None]:
    return looking_alike(pl.Series(texts, dtype=pl.String), known=known).to_list()


@pytest.mark.parametrize(
    "other",
    [
        "hiv",
        " HIV\u3000",
        "H\u200eI\ufe0fV",
        "\uff28\uff29\uff36",  # full width
        "H\u0406V",  # a Cyrillic letter
        "\u043d\u0456v",  # small Cyrillic letters, whose capitals look like Latin ones
        "H\u04cfV",  # a letter that looks like I, l and 1
    ],
)
def test_of_two_that_look_alike_the_first_by_code_point_stands(other: str) -> None:
    assert stands("HIV", other, "flu") == [min("HIV", other)] * 2 + ["flu"]


def test_white_space_inside_is_one_space() -> None:
    assert len(set(stands("hay fever", "hay \u2003 fever", "hay\nfever"))) == 1
    assert len(set(stands("hay fever", "hayfever"))) == 2


def test_to_look_alike_is_handed_on() -> None:
    assert stands("AMI", "AML", "\u0410\u041c\u0406") == ["AMI"] * 3
    assert stands("AMI", "AML") == ["AMI", "AML"]


def test_an_accent_is_seen() -> None:
    assert len(set(stands("Ubel", "\u00dcbel", "U\u0308bel"))) == 2


def test_null_stays_null_and_what_reads_as_unknown_becomes_it_where_it_is_asked_for() -> None:
    assert stands(None, "#N/A", "-", "\u3164", "flu", known=True) == [None, None, None, None, "flu"]
    assert stands(None, "#N/A", "N/A") == [None, "#N/A", "N/A"]
    assert stands() == []
