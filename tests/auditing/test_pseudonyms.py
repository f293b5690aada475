"""Pseudonyms of a release, held against those under each key that a series has had."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.auditing.retraced import FollowedRows, followed, followed_on_record
from anonymize.verify.histories import published

OLD, NEW = b"o" * 32, b"n" * 32
PEOPLE = pl.Series([b"ann", b"bob", b"cat"], dtype=pl.Binary)


def shown(secret: bytes) -> pl.Series:
    return published(PEOPLE, secret, "series").alias("pseudonym")


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_they_are_right_under_any_key_of_the_series(secret: bytes) -> None:
    assert followed(shown(secret), lambda _: PEOPLE, [OLD, NEW], "series") == FollowedRows("pseudonym", 0)


def test_rows_that_have_another_are_counted_under_the_key_with_fewest() -> None:
    texts = pl.concat([shown(OLD)[:2], pl.Series(["else"])]).alias("pseudonym")
    assert followed(texts, lambda _: PEOPLE, [OLD, NEW], "series") == FollowedRows("pseudonym", 1)
    assert followed(texts, lambda _: PEOPLE, [NEW], "series") == FollowedRows("pseudonym", 3)


def test_where_nobody_knows_whom_rows_are_about_nothing_is_known() -> None:
    assert followed(shown(OLD), lambda _: None, [OLD, NEW], "series") == FollowedRows("pseudonym", None)
    assert followed(shown(OLD), lambda secrets: PEOPLE if len(secrets) == 1 else None, [OLD, NEW], "series").wrong == 0


def test_who_is_on_record_and_has_no_row_counts_while_there_was_one_key() -> None:
    texts = shown(NEW)[1:]
    assert followed_on_record(texts, PEOPLE, [NEW], "series") == FollowedRows("pseudonym", 1)
    assert followed_on_record(texts, PEOPLE, [OLD, NEW], "series").wrong is None
    assert followed_on_record(shown(NEW), PEOPLE, [NEW], "series").wrong is None
