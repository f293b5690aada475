"""Searches that work on every part of a DataFrame by itself, with the code of one machine: local recoding, and Mondrian
where rows of equal value may part.

A part is a class that upper cuts make: it meets every requirement as one class, and models compare its classes with the
whole DataFrame. So a release by parts is as safe as any; what it loses is near what a search of all rows loses, as only
rows near the borders of parts would have gone elsewhere.

What such a search finds depends on the order of its rows, of which a DataFrame has none. They are put in the order of a
hash of all that counts in them: the same wherever they come from, and rows that are equal in their quasi-identifiers do
not go to classes by what else they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anonymize.algorithms import ALGORITHMS, Context
from anonymize.classes import Partition
from anonymize.privacy import Requirement
from anonymize.recoding import Regions
from anonymize.spark.engine import hash_of
from anonymize.table import Table

LOCAL_ROWS = 1 << 15
"""Rows of a part at most, unless they are one class: as many as refinement goes over thirty times by default."""
ORDER = ("h0", "h1")


@dataclass(frozen=True)
class PartSearch:
    """What is done with every part. `options`: the algorithm's own. Chance begins in every part with the same `seed`;
    None: with 0."""

    algorithm: str
    options: Any
    requirements: tuple[Requirement, ...]
    seed: int | None

    def partition(self, table: Table) -> Partition:
        """The classes of a part."""
        regions = ALGORITHMS[self.algorithm].run(table, self.requirements, self.options, Context(seed=self.seed))
        assert isinstance(regions, Regions)
        assert not len(regions.suppressed), "a part that does not meet the requirements: this is probably a bug"
        return regions.partition


def order_keys(columns: Sequence[str]) -> list[str]:
    """Expressions of the columns `ORDER`, by which rows are put in order: hashes of some columns, as texts, as no two
    values of a column that are not equal read alike. The first decides, but for a collision."""
    texts = ", ".join(f"cast({name} as string)" for name in columns)
    return [f"xxhash64({texts}) as {ORDER[0]}", f"{hash_of(columns, 'again')} as {ORDER[1]}"]
