"""The column by which recipients follow people through a series, held against whom each row is about.

Which key the series had when a release was made is not on record: a pseudonym is right where it is that of the person
under one of the keys, the same one in every row of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anonymize.verify.pseudonyms import published

Whose = Callable[[Sequence[bytes]], pl.Series | None]
"""By a secret, (rows,) whom each row is about; None where that is not known."""


@dataclass(frozen=True)
class FollowedRows:
    """The pseudonyms of a release. `column`: where they are; `wrong`: rows that have another one than the person's,
    None where it is not known whom rows are about and nothing speaks against them."""

    column: str
    wrong: int | None

    def block(self) -> dict[str, Any]:
        """As it stands in a report."""
        return {"column": self.column, "wrong_rows": self.wrong}


def followed(texts: pl.Series, whose: Whose, secrets: Sequence[bytes], series: str) -> FollowedRows:
    """The pseudonyms `texts` (rows,) of a release of a `series`, held against those under each of its keys. `secrets`:
    of the keys that followed each other."""
    counts = []
    for count in range(len(secrets), 0, -1):
        people = whose(secrets[:count])
        if people is not None:
            counts.append(int(texts.ne_missing(published(people, secrets[count - 1], series)).sum()))
            if not counts[-1]:
                break
    return FollowedRows(texts.name, min(counts, default=None))


def followed_on_record(texts: pl.Series, people: pl.Series, secrets: Sequence[bytes], series: str) -> FollowedRows:
    """The same where no more is known than who is in the release, `people` (people,), by their pseudonyms under the
    last key: how many of them have no row. Before a key was rotated their rows had others, of which nothing is known.
    """
    lacking = int((~published(people, secrets[-1], series).is_in(texts.implode())).sum())
    return FollowedRows(texts.name, lacking if lacking and len(secrets) == 1 else None)
