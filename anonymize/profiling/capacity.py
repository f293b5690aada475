"""What anonymity costs: the loss of a quick Mondrian for several k, on the table or on a sample of its rows.

A sample loses more than the table that it is of, so that the figures of one are bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from anonymize import temporary
from anonymize.algorithms import ALGORITHMS, Context
from anonymize.errors import AnonymizeError
from anonymize.privacy import requirements
from anonymize.recoding import Recoding
from anonymize.spec import Spec, override
from anonymize.table import Source, read
from anonymize.table.named import column

KS = (3, 5, 10, 20)
"""The k that are tried; of a sample, which a larger table stands behind, those from `LEAST` on."""
LEAST = 5
"""The k that is proposed where no larger one is cheap, if there are so many rows."""
NO_LESS = 2
"""What k is at least: one hides nobody. A table that cannot have that cannot be released."""
CHEAP = 0.25
"""The gcp up to which a larger k is proposed."""


@dataclass(frozen=True)
class LossAtK:
    """What k costs: the share of the quasi-identifiers' precision that is lost."""

    k: int
    gcp: float


def costs(spec: Spec, sample: pl.DataFrame, ks: Sequence[int] = KS) -> list[LossAtK]:
    """The cost of each k that the rows allow. Raises what `read` raises where the spec does not fit the rows.

    `sample`: rows as text, of which the quasi-identifiers are read with their hierarchies, and the unit; nothing else.
    """
    rest: dict[str, Any] = {"identifiers": (), "sensitive": {}, "insensitive": (), "undecided": (), "others": "error"}
    rest |= {"sampling_weight": None}
    reduced = spec.reading(path=None, encoding="utf8", header=True, separator=",").model_copy(update=rest)
    sampled = sample.select(column(name) for name in [*spec.quasi_identifiers, *filter(None, [spec.unit])])
    with _as_file(sampled) as path, Source.open(reduced, path) as source:
        table = read(reduced, source)
    algorithm, costs_by_k = ALGORITHMS["mondrian"], []
    for k in [k for k in ks if k <= table.rows] or ([NO_LESS] if table.rows >= NO_LESS else []):
        required = requirements(override(reduced, k=k))
        result = algorithm.run(table, required, algorithm.Options(), Context(threads=1))
        assert isinstance(result, Recoding)
        sizes = result.partition.sizes
        lost = sum(
            float(attribute.domain.cost(*result.partition.boxes(attribute.codes)) @ sizes)
            for attribute in table.attributes
        )
        suppressed = len(result.suppressed) * len(table.attributes)
        costs_by_k.append(LossAtK(k, (lost + suppressed) / (table.rows * len(table.attributes))))
    return costs_by_k


def proposed(costs_by_k: Sequence[LossAtK], rows: int) -> int:
    """The largest k that is cheap; where none of `LEAST` or more is, or none was tried, that, or what `rows` allow, and
    `NO_LESS` at least."""
    cheap = [cost.k for cost in costs_by_k if cost.gcp <= CHEAP and cost.k >= LEAST]
    tried_most = max((cost.k for cost in costs_by_k), default=rows)
    return max(cheap) if cheap else max(min(tried_most, LEAST), NO_LESS)


@contextmanager
def _as_file(sample: pl.DataFrame) -> Iterator[Path]:
    """The rows as a CSV that nobody else can read and that has no name, where the system allows it."""
    path = temporary.unnamed("anonymize.", ".csv")
    try:
        sample.write_csv(path)
        yield path
    finally:
        temporary.remove(path)


def tried(spec: Spec, sample: pl.DataFrame, *, whole: bool = True) -> list[LossAtK]:
    """The costs; none where the rows do not fit the spec, which a sample, being not the `whole` table, may not."""
    try:
        return costs(spec, sample, KS if whole else [k for k in KS if k >= LEAST])
    except AnonymizeError:
        return []
