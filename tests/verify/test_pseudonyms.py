"""Pseudonyms computed anew: by the definition, and as the state has them."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.series.key import Key
from anonymize.verify.pseudonyms import pseudonyms

SECRET = bytes(range(32))


def test_they_are_those_of_the_state() -> None:
    table = pl.DataFrame(
        {"name": ["p7", ' Zo\u00e9"', "Zoe\u0301\u200b", "\u65e5\u672c"], "born": ["1", "2", "3", "4"]}
    )
    made = pseudonyms(table.lazy(), [pl.col("name"), pl.col("born")], [SECRET], normalize=True)
    texts = [("p7", "1"), ('Zo\u00e9"', "2"), ("Zo\u00e9", "3"), ("\u65e5\u672c", "4")]
    assert made.to_list() == Key(SECRET).pseudonyms(texts)


def test_numbers_are_their_text_and_spaces_count_where_nothing_is_normalized() -> None:
    made = pseudonyms(pl.DataFrame({"id": [7, 8]}).lazy(), [pl.col("id")], [SECRET], normalize=True)
    assert made.to_list() == Key(SECRET).pseudonyms([["7"], ["8"]])
    spaced = pseudonyms(pl.DataFrame({"id": [" 7", "7"]}).lazy(), [pl.col("id")], [SECRET], normalize=False)
    assert spaced.to_list() == Key(SECRET).pseudonyms([[" 7"], ["7"]])


@pytest.mark.parametrize("lacking", [None, "", " \u200b"])
def test_a_row_about_nobody_is_refused(lacking: str | None) -> None:
    with pytest.raises(DataError, match="1 rows do not say whom they are about"):
        pseudonyms(pl.DataFrame({"id": ["a", lacking]}).lazy(), [pl.col("id")], [SECRET], normalize=True)
