"""Blocks of the spec that say what a release is for, and what a table may hold: the workload, the attackers that it is
tried by, the series that it belongs to, the domains of columns, the input and the output."""

from __future__ import annotations

import codecs
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema

from anonymize.spec import columns, notation
from anonymize.spec.base import TEXT, Entry, Number, Suppressed, TablePath, Text, Value, by_type

# --- risk -------------------------------------------------------------------------------------------------------------

ReleaseAttacker = Literal[
    "prosecutor",
    "prosecutor-retained",
    "smallest-region",
    "journalist",
    "marketer",
    "singling-out-univariate",
    "singling-out",
    "singling-out-end",
    "linkability",
    "distance-linkage",
    "inference-majority",
    "inference-certain",
    "homogeneity-retained",
    "inference-bayes",
    "inference-model",
    "order",
    "downcoding",
    "refinement",
    "minimality",
    "reconstruction",
    "reconstruction-row",
]
"""The attackers of `anonymize.attacks` who need no other release."""


class RiskTrials(Entry):
    """The attackers that are tried on a release, and how much they may learn."""

    attacks: tuple[ReleaseAttacker, ...] = ()
    """Attackers that attack the release before it is published."""
    max_excess: Annotated[float, Field(ge=0, le=1)] | None = None
    """The largest upper confidence limit of an excess; a release that exceeds it, or for which this could not be shown,
    is not written. Default: measured, but not judged."""
    targets: Annotated[int, Field(ge=1)] = 2000
    """How many people are attacked, drawn at random."""
    control: TablePath | None = None
    """A control group: a table like the input, of people who are not in it."""


# --- series -----------------------------------------------------------------------------------------------------------
# What releases that follow each other promise, and whom their rows are about.


class SeriesOptions(Entry):
    """Releases of a table that has been released before, with --start-series and --after."""

    person: tuple[Text, ...] = ()
    """Identifiers that together identify a person, the same in every release. Default: the `unit`."""
    reserve: Annotated[int, Field(ge=0)] | None = None
    """Classes are made for this many people more than k, so that some may leave before those who stay are too few.
    Default: estimated from how many leave."""
    known: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of the people of the last release who have to be in the table, so that people whose identifiers changed
    are not taken for newcomers. Default: half of the smallest share so far, from the fourth release on."""
    departures: Literal["unseen", "deferred"] = "unseen"
    """What is shown of people who leave. unseen: they disappear at once; what the absence of a known person discloses
    is not bounded, but counted. deferred: they are shown as they last were until k people of their history have left,
    which is not compatible with erasure."""
    wait: Annotated[int, Field(ge=0)] = 3
    """For how many releases newcomers wait for others, so that their classes lose less; 0: they are admitted as soon as
    there are enough for a class."""


# --- workload ---------------------------------------------------------------------------------------------------------


class Condition(Entry):
    """Which values of a column a selection takes; both ends included."""

    from_: Number | None = Field(default=None, alias="from")
    """The smallest number that is selected."""
    to: Number | None = None
    """The largest number that is selected."""
    in_: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(default=None, alias="in")
    """The values that are selected."""


class Target(Entry):
    """The settings of a column that a model will be trained to predict."""

    type: columns.Kind | None = None
    """numeric: regression. categorical: classification. Left out: a quasi-identifier's own type, else categorical."""


TargetEntry = Annotated[
    Annotated[Text, Tag("name")]
    | Annotated[Annotated[dict[str, Target], Field(min_length=1, max_length=1)], Tag("settings")],
    by_type("target_kind", "expected a column's name, or {NAME: {type: numeric}}", name=str, settings=dict),
]


class Workload(Entry):
    """What the release is for."""

    targets: tuple[TargetEntry, ...] = ()
    """Columns that a model will be trained to predict, as names or as {NAME: {type: numeric}}; they pass through
    unchanged."""
    selections: tuple[Annotated[dict[str, Condition], Field(min_length=1)], ...] = ()
    """Selections of rows that will be queried: a condition for each column, all of which must hold."""

    @property
    def target_names(self) -> tuple[str, ...]:
        """The targets' columns."""
        return tuple(entry if isinstance(entry, str) else next(iter(entry)) for entry in self.targets)

    @property
    def target_types(self) -> tuple[columns.Kind | None, ...]:
        """The type that each target's entry gives, if it gives one."""
        return tuple(None if isinstance(entry, str) else next(iter(entry.values())).type for entry in self.targets)


# --- domains ----------------------------------------------------------------------------------------------------------
# What a table may hold as the spec declares it, whatever it holds; and how a synthetic table is made over that.

MOST_BINS = 10_000
"""Bins of a column."""


Bins = Annotated[
    Annotated[Annotated[int, Field(ge=1, le=MOST_BINS)], Tag("number")]
    | Annotated[Annotated[tuple[Number, ...], Field(min_length=1), columns.ASCENDING], Tag("list")],
    by_type(
        "bins_kind",
        "Input should be a number of bins, or where they begin: [18, 30, 45]",
        list=(list, tuple),
        number=int,
    ),
]


class ColumnDomain(Entry):
    """The values that a column may have: `values`, or the numbers from `low` to `high`; or further keys beside those
    that a hierarchy, `bins` or a `domain` of the column says."""

    values: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Every possible value."""
    low: Number | None = None
    """The lowest possible number."""
    high: Number | None = None
    """The highest possible number."""
    bins: Bins | None = None
    """The number of bins of equal width, or where bins begin. Default: whole numbers with at most 100 values have a bin
    each, all others 32 bins."""
    whole: bool | None = None
    """Whether the numbers are whole numbers. Default: if `low`, `high` and `bins` are."""
    missing: bool = True
    """Whether a value may be missing."""


DomainEntry: TypeAlias = Annotated[
    Annotated[Annotated[tuple[Text, ...], Field(min_length=1)], Tag("values")]
    | Annotated[ColumnDomain, Tag("settings")],
    by_type(
        "domain_kind",
        "Input should be a list of values, or {low: 0, high: 120}",
        values=(list, tuple),
        settings=(dict, ColumnDomain),
    ),
]
Columns = Annotated[tuple[Text, ...], Field(min_length=1)]
Marginals = Annotated[
    Annotated[Annotated[int, Field(ge=1, le=4)], Tag("number")]
    | Annotated[Annotated[tuple[Columns, ...], Field(min_length=1)], Tag("list")],
    by_type(
        "marginals_kind",
        "Input should be the most columns of a marginal, or a list of lists of columns",
        list=(list, tuple),
        number=int,
    ),
]


class Synthesis(Entry):
    """How a synthetic table is made under `privacy.differential`, by `anonymize synthesize`."""

    method: Literal["independent", "mst", "aim", "fixed"] = "aim"
    """Which marginals are measured. independent: those of single columns. mst: a tree of the most dependent pairs. aim:
    in each round, the one with the largest error under the model so far. fixed: those that `marginals` lists."""
    marginals: Marginals | None = None
    """For aim: the largest number of columns in a marginal, by default 3. For fixed: the list of marginals, each a list
    of columns."""
    count: Literal["private", "public"] = "private"
    """The definition of neighbouring tables. private: one table has one person more, and the number of rows is measured
    with noise. public: one person is replaced, and the number of rows is not secret."""
    rows_per_unit: Annotated[int, Field(ge=1)] = 1
    """The largest number of rows of one individual (`unit`) that count; if there are more, they are drawn at random.
    Noise grows with it."""


# --- input ------------------------------------------------------------------------------------------------------------


def _separator(text: str) -> str:
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        expected = 'one ASCII character other than a quote or a line break (a tab is "\\t", in double quotes)'
        raise ValueError(f"expected {expected}")
    return text


def _encoding(name: str) -> str:
    try:
        codecs.lookup(name)
        "a".encode(name)
    except (LookupError, ValueError):
        raise ValueError("expected the name of a text encoding, such as utf8 or latin-1") from None
    return name


class Input(Entry):
    """The table that is read."""

    path: TablePath | None = None
    """The table: .csv, .csv.gz, .parquet, .arrow, .xlsx, .sav or .dta, relative to this file; or a database's, by URI.
    `--input` takes precedence."""
    separator: Annotated[str, AfterValidator(_separator)] = ","
    """The character between two fields of a CSV; the release is written with it as well."""
    missing: tuple[Text, ...] = ("",)
    """Texts that mean that a value is missing; a release shows the first one, columns that pass through their own."""
    decimal: notation.Decimal = "."
    """The decimal separator in texts of numbers: "." or ",". A column may have its own. Generalized numbers are
    released with a point; columns that pass through are unchanged."""
    thousands: notation.Thousands | None = None
    """The thousands separator in texts of numbers: ".", ",", " ", "'" or "_". Default: none."""
    unnamed: Literal["error", "drop"] = "error"
    """A column without a name in the header, as when every line ends with a separator: an error, or left out (drop)."""
    header: bool = True
    """Whether the first line of the CSV contains the column names. false: they are column_1, column_2, ..., and the
    first line is a row. This applies to the table itself: releases and populations always have names."""
    encoding: Annotated[str, AfterValidator(_encoding), WithJsonSchema(TEXT)] = "utf8"
    """How the CSV's text is encoded: utf8, latin-1, cp1252, ... A release is written in UTF-8."""
    normalize: Annotated[bool, BeforeValidator(columns.as_normalize), WithJsonSchema(columns.NORMALIZE)] = True
    """How texts are compared. look-alikes (or true): without outer space and invisible characters, in Unicode NFC, with
    blank ones missing; when different values or people are counted, those that look alike are one, and texts that read
    as unknown are none. exact (or false): as they are."""

    @property
    def missing_text(self) -> str:
        """What a release shows for a missing value, whatever its format."""
        return notation.Missing.in_format(self.missing, "csv", normalize=self.normalize).text

    def compared(self, text: str) -> str:
        """What a text is compared as."""
        return notation.normalized(text) if self.normalize else text


# --- output -----------------------------------------------------------------------------------------------------------


def _interval(template: str) -> str:
    head, low, rest = template.partition("{low}")
    middle, high, tail = rest.partition("{high}")
    if not (low and high and middle) or any(brace in head + middle + tail for brace in "{}"):
        expected = '{low}, then text, then {high}, each once and no other braces, such as "[{low}-{high}]"'
        raise ValueError(f"expected {expected}")
    return template


def _one_end(end: str) -> AfterValidator:
    """Refuses what is no format of an interval with one `end`."""

    def checked(template: str) -> str:
        before, separator, after = template.partition(end)
        number = notation.as_number(f"{before}1{after}") is not None
        if not separator or any(brace in before + after for brace in "{}") or number:
            expected = f'{end} once, no other braces, and text that cannot be part of a number, such as "{end}+"'
            raise ValueError(f"expected {expected}")
        return template

    return AfterValidator(checked)


class Output(Entry):
    """How the release is written."""

    interval: Annotated[str, AfterValidator(_interval)] = "[{low}-{high}]"
    """Format of intervals of numbers: text with {low} and {high}. Brackets on both sides say which ends are included in
    a table that is read, `[20, 30[` or `(20, 30]`; a release writes intervals that include both."""
    numeric: Literal["interval", "bounds", "mean", "median"] = "interval"
    """Generalized numbers: interval; bounds (columns NAME_low and NAME_high); mean; median."""
    categorical: Literal["node", "set", "bounds"] = "node"
    """Generalized categories: node (the label in the hierarchy); set (the values present); bounds (columns NAME_low and
    NAME_high: the first and last leaf under the node, counted from 0)."""
    suppressed: Suppressed = "*"
    """The text of a suppressed cell. null: an empty field of a CSV and a null of a typed file; then no quasi-identifier
    may have missing values."""
    suppressed_rows: Literal["keep", "drop"] = "keep"
    """Suppressed rows: keep (with every quasi-identifier suppressed) or drop."""
    open_high: Annotated[str, _one_end("{low}")] = "{low}+"
    """Format of an interval without an upper end: text with {low}."""
    open_low: Annotated[str, _one_end("{high}")] = "{high}-"
    """Format of an interval without a lower end: text with {high}."""
    edges: Literal["rounded", "open", "tight"] = "rounded"
    """Ends of intervals and bounds: rounded (outward to multiples of a step that depends on the width of the class;
    open in tails), open (tight, but no end is shown at or beyond which there are fewer than k rows), or tight."""
    row_order: Literal["sorted", "shuffle", "keep"] = "sorted"
    """sorted: by what the rows show, so that the order discloses nothing. shuffle: a random order. keep: the input's
    order, which discloses more than the cells if the input is sorted, and by which two releases can be joined."""
    pseudonym: Text | None = None
    """In a series with deferred departures, the name of an additional column by which the rows of one person can be
    followed from release to release."""
