"""What is done to columns beside what quasi-identifiers get: one entry for each step, by its `method`.

An entry says which columns it changes, which others it looks at, and what a cell means afterwards. What it does to a
table, the module of its method in `anonymize.treatments` says.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from anonymize.spec.base import Entry, Number, Positive, Text

Names = Annotated[tuple[Text, ...], Field(min_length=1)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
SharedKind = Literal["aggregate", "channel", "moved", "spans"]


class Combination(Entry):
    """The individuals that read the same in some of the quasi-identifiers."""

    columns: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """The quasi-identifiers, by name."""
    size: Annotated[int, Field(ge=1)] | None = None
    """Instead of `columns`: every set of this many quasi-identifiers."""
    k: Annotated[int, Field(ge=1)]
    """The smallest number of individuals with the same values in them."""

    @property
    def name(self) -> str:
        """How a report names it."""
        return ", ".join(self.columns) if self.columns else f"any {self.size} of the quasi-identifiers"


class Treatment(Entry):
    """A step: a method, and the columns whose values it changes."""

    KIND: ClassVar[SharedKind]
    """What a changed cell means: see `anonymize.meaning`."""
    NUMBERS: ClassVar[bool] = False
    """Whether its columns have to be numbers."""
    DRAWS: ClassVar[bool] = True
    """Whether it draws random numbers."""
    COUNTS: ClassVar[bool] = False
    """Whether rows of quasi-identifiers that it has treated still count for k."""

    method: str
    """What is done."""
    by: tuple[Text, ...] = ()
    """Stratification variables: the step is carried out separately within each stratum."""

    @property
    def counted(self) -> tuple[str, ...]:
        """Columns that it leaves as they are, and counts as they are released: another step may have changed them."""
        return ()

    @property
    def treated(self) -> tuple[str, ...]:
        """The columns that it changes."""
        raise NotImplementedError

    @property
    def read(self) -> tuple[str, ...]:
        """Further columns that it looks at."""
        return self.by

    @property
    def says(self) -> str:
        """What a changed cell holds, as a codebook has it."""
        raise NotImplementedError

    def block(self) -> dict[str, Any]:
        """The step as reports have it: its method, its columns, what a cell means, and its settings."""
        settings = self.model_dump(mode="json", exclude={"method", "columns", "move"})
        return {"method": self.method, "columns": list(self.treated), "meaning": self.KIND, "settings": settings}


class OfColumns(Treatment):
    """A step whose columns are listed as such."""

    columns: Names
    """The columns whose values are changed."""

    @property
    def treated(self) -> tuple[str, ...]:
        return self.columns


class Microaggregation(OfColumns):
    """Groups of similar rows show a common value: their mean, median or mode."""

    KIND = "aggregate"
    NUMBERS = True
    DRAWS = False
    COUNTS = True

    method: Literal["microaggregation"]
    k: Annotated[int, Field(ge=2)]
    """The smallest number of rows in a group; the largest is 2k - 1."""
    grouping: Literal["search", "mdav", "univariate", "individual-ranking", "pca", "z-scores"] = "search"
    """How groups are made: search (from MDAV, by exact swaps and moves), mdav (as sdcMicro), univariate (the optimum of
    one column), individual-ranking (each column separately), pca or z-scores (by one projection of all columns)."""
    show: Literal["mean", "median", "mode"] = "mean"
    """What the rows of a group show."""
    scale: Literal["z-scores", "robust", "none"] = "z-scores"
    """How columns are made comparable: by mean and standard deviation, by median and median absolute deviation, or not
    at all."""
    fixed: bool = False
    """Whether sorted rows (`pca`, `z-scores`, `univariate`, `individual-ranking`) are cut after every k rows, not where
    least is lost."""
    missing: Literal["refuse", "pattern"] = "refuse"
    """What happens to rows with missing values: refuse, or group them by what is missing (pattern)."""
    small: Literal["refuse", "pool", "keep"] = "refuse"
    """What happens to strata of fewer than k rows: refuse, pool them with each other, or keep them as groups of fewer
    rows, which are counted."""
    effort: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = 1
    """How long `search` works, relative to the default."""
    weighted: bool = False
    """Whether means count each row by its sampling weight."""
    digits: Annotated[int, Field(ge=0, le=15)] | None = None
    """How many decimals are shown. Default: one more than the column has."""

    @property
    def says(self) -> str:
        alone = "of each column separately" if self.grouping == "individual-ranking" else "of the step's columns"
        return f"{self.show} of a group of at least {self.k} rows, {alone}"


class Pram(OfColumns):
    """PRAM: each value is replaced by a random one with known probabilities."""

    KIND = "channel"

    method: Literal["pram"]
    keep: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The probability that a value stays; all others that may replace it are equally likely. With `invariant`, that of
    the matrix from which the invariant one is made."""
    matrix: dict[Text, dict[Text, Annotated[float, Field(ge=0, le=1)]]] | None = None
    """For each value, the probability of each value that may be shown instead; values that are not listed have 0."""
    invariant: bool = False
    """Whether the matrix is made such that the expected counts of values do not change."""
    alpha: Share = 1.0
    """With `invariant`: the weight of the invariant matrix; with the remaining probability a value stays."""
    forbidden: tuple[Annotated[tuple[Text, ...], Field(min_length=2, max_length=2)], ...] = ()
    """Pairs of values [from, to]: the first never becomes the second, in any of the columns."""
    joint: bool = False
    """Whether the columns are treated as one, whose values are the combinations that occur."""

    @property
    def says(self) -> str:
        return "the original value, or another one at random (PRAM)"


class Swapping(OfColumns):
    """Values are swapped between rows."""

    KIND = "moved"


class RankSwap(Swapping):
    """Values are swapped with others of similar rank."""

    NUMBERS = True

    method: Literal["rank-swap"]
    distance: Share = 0.05
    """How far the ranks of two swapped values may differ, as a share of the rows."""

    @property
    def says(self) -> str:
        return f"the value of another row, at most {self.distance:g} of the rows away by rank"


class RandomSwap(Swapping):
    """The values of some rows are swapped at random, those of all columns together."""

    method: Literal["random-swap"]
    rate: Share = 0.05
    """The smallest share of rows that are swapped."""

    @property
    def says(self) -> str:
        return f"the original value, or (in {self.rate:g} of the rows) that of another row"


class RecordSwap(Treatment):
    """Records, or whole households, are swapped between regions, those at risk first."""

    KIND = "moved"

    method: Literal["record-swap"]
    move: Names
    """The columns that are swapped: nested regions, the coarsest first."""
    carry: tuple[Text, ...] = ()
    """Further columns that are swapped along with them, such as other facts about a place."""
    alike: tuple[Text, ...] | tuple[Names, ...] = ()
    """Columns in which two swapped records are equal; or several such lists (profiles): records that find no partner by
    one are tried by the next."""
    households: Text | None = None
    """The column that says which household a row belongs to; households are swapped as a whole."""
    risk: tuple[Text, ...] = ()
    """Columns whose combinations decide which records are at risk: within a region, those of fewer than `k` rows are
    swapped first."""
    k: Annotated[int, Field(ge=2)] = 3
    """A record is at risk if fewer rows than this share its combination within a region."""
    rate: Share = 0.05
    """The smallest share of records (or households) that are swapped; those at risk count towards it."""

    @property
    def profiles(self) -> tuple[tuple[str, ...], ...]:
        """The lists of columns in which two that change places are equal, in the order in which they are tried."""
        listed = tuple(each for each in self.alike if isinstance(each, tuple))
        return listed or (tuple(each for each in self.alike if isinstance(each, str)),)

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns of all profiles, each once."""
        return tuple(dict.fromkeys(name for profile in self.profiles for name in profile))

    @property
    def treated(self) -> tuple[str, ...]:
        return (*self.move, *self.carry)

    @property
    def read(self) -> tuple[str, ...]:
        own = () if self.households is None else (self.households,)
        return tuple(dict.fromkeys((*self.by, *self.compared, *self.risk, *own)))

    @property
    def says(self) -> str:
        return "the original place, or that of another record like it"


class Noise(OfColumns):
    """Random numbers are added to numbers, or numbers are multiplied by them."""

    KIND = "channel"
    NUMBERS = True

    method: Literal["noise"]
    kind: Literal["additive", "correlated", "romm", "multiplicative"] = "additive"
    """additive (independent for each column), correlated (covariances keep their shape), romm (a random orthogonal
    matrix, which keeps means and covariances exactly), multiplicative."""
    scale: Positive
    """Standard deviation of the noise, as a share of the column's own; or that of the factor (multiplicative)."""
    only: Literal["all", "outliers"] = "all"
    """Which numbers are changed: all, or those that lie outside the quartiles of their column by more than 1.5 times
    the distance between these."""
    whole: bool | None = None
    """Whether whole numbers are shown. Default: if the column has only whole numbers."""
    round: Positive | None = None
    """Numbers are rounded to multiples of this. Default: the decimals of the column; for whole numbers with `whole:
    false`, as many decimals as leave two digits of the noise."""
    least: Number | None = None
    """The smallest number that is shown: smaller ones are redrawn."""
    keep_zero: bool = False
    """Whether zeros stay."""

    @property
    def says(self) -> str:
        return f"the original number with {self.kind} noise"


class Shuffle(OfColumns):
    """Values are reassigned such that rank correlations with other columns are kept."""

    KIND = "moved"
    NUMBERS = True

    method: Literal["shuffle"]
    given: Names
    """The columns with which the shuffled ones keep their rank correlations."""

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.by, *self.given)))

    @property
    def says(self) -> str:
        return "the value of another row (data shuffling)"


class Suppress(OfColumns):
    """Local suppression: as few single cells as possible are suppressed until enough rows read the same."""

    KIND = "spans"
    DRAWS = False
    COUNTS = True

    method: Literal["suppress"]
    k: Annotated[int, Field(ge=2)] | None = None
    """The smallest number of rows that read the same in all of the columns. Default, if `combinations` and `risk` are
    left out too: what `privacy` requires by `k` and `combinations`."""
    combinations: tuple[Combination, ...] = ()
    """The smallest number of rows that are alike in some columns: [{columns: [age, zip], k: 20}, {size: 2, k: 5}]."""
    risk: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    """Instead of `k`: the highest individual risk that a row may have, by sampling weights if there are any."""
    importance: dict[Text, Positive] = Field(default_factory=dict)
    """The weight of a cell of a column, 1 by default: columns of higher weight lose fewer cells."""
    never: tuple[Text, ...] = ()
    """Those of the columns that lose no cell."""
    ghosts: dict[Text, Names] = Field(default_factory=dict)
    """For some of the columns, further ones whose cells are suppressed wherever those of the column are."""
    small: Literal["refuse", "pool", "keep"] = "refuse"
    """What happens to strata that cannot be safe even with all cells suppressed: refuse, pool them with each other, or
    keep them, with all cells suppressed."""

    @property
    def treated(self) -> tuple[str, ...]:
        own = (name for name in self.columns if name not in self.never)
        return (*own, *dict.fromkeys(name for some in self.ghosts.values() for name in some))

    @property
    def counted(self) -> tuple[str, ...]:
        return self.never

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.by, *self.never)))

    @property
    def says(self) -> str:
        return "the original value, or suppressed"


class DateShift(OfColumns):
    """All dates of a person move by the same number of days, which a key decides."""

    KIND = "channel"
    DRAWS = False

    method: Literal["date-shift"]
    columns: Names
    """The columns of dates."""
    by: Names
    """The columns that say which person a row belongs to."""
    days: Annotated[int, Field(ge=1)]
    """The largest number of days by which dates move, forward or back."""
    format: Text = "%Y-%m-%d"
    """How dates are written, with or without a time of day; a column of dates in a typed input needs none."""

    @property
    def says(self) -> str:
        return f"the original date moved by up to {self.days} days, the same for all dates of one person"


METHODS: dict[str, type[Treatment]] = {
    "microaggregation": Microaggregation,
    "pram": Pram,
    "rank-swap": RankSwap,
    "random-swap": RandomSwap,
    "record-swap": RecordSwap,
    "noise": Noise,
    "shuffle": Shuffle,
    "suppress": Suppress,
    "date-shift": DateShift,
}
"""What an entry of each method is."""


def _method(value: object) -> str | None:
    name = value.get("method") if isinstance(value, dict) else getattr(value, "method", None)
    return name if name in METHODS else None


TreatmentEntry = Annotated[
    Annotated[Microaggregation, Tag("microaggregation")]
    | Annotated[Pram, Tag("pram")]
    | Annotated[RankSwap, Tag("rank-swap")]
    | Annotated[RandomSwap, Tag("random-swap")]
    | Annotated[RecordSwap, Tag("record-swap")]
    | Annotated[Noise, Tag("noise")]
    | Annotated[Shuffle, Tag("shuffle")]
    | Annotated[Suppress, Tag("suppress")]
    | Annotated[DateShift, Tag("date-shift")],
    Discriminator(
        _method,
        custom_error_type="method",
        custom_error_message="Input should be a step with a method",
    ),
]
