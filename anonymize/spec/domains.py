"""What a table may hold as the spec declares it, whatever it holds; and how a synthetic table is made over that."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag

from anonymize.spec.base import Entry, Number, Text

MOST_BINS = 10_000
"""Bins of a column."""


def _edges(bins: object) -> object:
    if isinstance(bins, tuple) and any(after <= before for before, after in pairwise(bins)):
        raise ValueError("expected numbers that grow, such as [18, 30, 45]")
    return bins


def _number_or_list(value: object) -> str | None:
    if isinstance(value, list | tuple):
        return "list"
    return "number" if isinstance(value, int) and not isinstance(value, bool) else None


Bins = Annotated[
    Annotated[Annotated[int, Field(ge=1, le=MOST_BINS)], Tag("number")]
    | Annotated[Annotated[tuple[Number, ...], Field(min_length=1)], Tag("list")],
    Discriminator(
        _number_or_list,
        custom_error_type="bins_kind",
        custom_error_message="Input should be a number of bins, or where they begin: [18, 30, 45]",
    ),
    AfterValidator(_edges),
]


class ColumnDomain(Entry):
    """The values that a column may have: `values`, or the numbers from `low` to `high`; or further keys beside those
    that a hierarchy, `bins` or a `domain` of the column says."""

    values: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Every value that there may be."""
    low: Number | None = None
    """The lowest number that there may be."""
    high: Number | None = None
    """The highest number that there may be."""
    bins: Bins | None = None
    """Into how many bins of equal width numbers fall, or where bins begin. Left out: whole numbers of at most 100
    values are a bin each, all others fall into 32."""
    whole: bool | None = None
    """Whether the numbers are whole ones. Left out: where `low`, `high` and `bins` are."""
    missing: bool = True
    """Whether a value may be missing."""


def _domain_kind(value: object) -> str | None:
    if isinstance(value, list | tuple):
        return "values"
    return "settings" if isinstance(value, dict | ColumnDomain) else None


DomainEntry: TypeAlias = Annotated[
    Annotated[Annotated[tuple[Text, ...], Field(min_length=1)], Tag("values")]
    | Annotated[ColumnDomain, Tag("settings")],
    Discriminator(
        _domain_kind,
        custom_error_type="domain_kind",
        custom_error_message="Input should be a list of values, or {low: 0, high: 120}",
    ),
]


Columns = Annotated[tuple[Text, ...], Field(min_length=1)]
Marginals = Annotated[
    Annotated[Annotated[int, Field(ge=1, le=4)], Tag("number")]
    | Annotated[Annotated[tuple[Columns, ...], Field(min_length=1)], Tag("list")],
    Discriminator(
        _number_or_list,
        custom_error_type="marginals_kind",
        custom_error_message="Input should be the most columns of a marginal, or a list of lists of columns",
    ),
]


class Synthesis(Entry):
    """How a synthetic table is made under `privacy.differential`, by `anonymize synthesize`."""

    method: Literal["independent", "mst", "aim", "fixed"] = "aim"
    """Which marginals are measured. independent: those of single columns. mst: a tree of pairs that depend on each
    other most. aim: round by round the one that the model so far gets most wrong. fixed: those that `marginals`
    lists."""
    marginals: Marginals | None = None
    """Of aim: the most columns of a marginal, 3 unless said otherwise. Of fixed: the list of them, each a list of
    columns."""
    count: Literal["private", "public"] = "private"
    """What neighbouring tables are. private: one has a person more, and the number of rows is measured with noise.
    public: a person is replaced, and the number of rows is no secret."""
    rows_per_unit: Annotated[int, Field(ge=1)] = 1
    """The most rows of one individual of `unit` that count, drawn at random where there are more; noise grows with
    it."""
