"""Who is who in a series of releases, computed anew from the columns that name a person: a second writing of what the
state's definition says (docs/over-time.md), so that a mistake of the one is seen by the other."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence

import polars as pl

from anonymize.errors import DataError

LENGTH = 16


def pseudonyms(
    table: pl.LazyFrame, columns: Sequence[pl.Expr], secrets: Sequence[bytes], *, normalize: bool
) -> pl.Series:
    """(rows,) 16 bytes each: the beginning of HMAC-SHA256 under the first of the `secrets` of the texts of `columns` as
    a JSON array, and under each further one of the 16 bytes so far.

    Raises DataError where a row does not say whom it is about.
    """
    texts = [column.cast(pl.String).alias(str(number)) for number, column in enumerate(columns)]
    named = table.select(_as_named(text) if normalize else text for text in texts).collect(engine="streaming")
    lacking = named.select(pl.any_horizontal(pl.all().is_null() | (pl.all() == ""))).to_series()
    if lacking.any():
        raise DataError(f"{lacking.sum()} rows do not say whom they are about")
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    digests = [encode(row).encode() for row in named.iter_rows()]
    for secret in secrets:
        digests = [hmac.digest(secret, message, "sha256")[:LENGTH] for message in digests]
    return pl.Series(digests, dtype=pl.Binary)


def _as_named(text: pl.Expr) -> pl.Expr:
    """A text as it names somebody, which never changes: any space being a space, none at the ends, in NFC, and without
    control characters and four more that are not seen."""
    spaced = text.str.replace_all(r"[\t-\r\x{85}\x{2028}\x{2029}\p{Zs}]", " ")
    visible = spaced.str.replace_all(r"[\p{Cc}\x{AD}\x{200B}\x{2060}\x{FEFF}]", "")
    return visible.str.strip_chars(" ").str.normalize("NFC")


def published(people: pl.Series, secret: bytes, series: str) -> pl.Series:
    """(rows,) what recipients follow people by: 32 hexadecimal digits, the first 16 bytes of HMAC-SHA256 under `secret`
    of the text of the `series`, a space, and the person's pseudonym; null for null."""
    digests = [
        None if each is None else hmac.digest(secret, series.encode() + b" " + each, "sha256") for each in people
    ]
    return pl.Series([None if each is None else each[:LENGTH].hex() for each in digests], dtype=pl.String)
