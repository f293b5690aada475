"""Columns in the spec: their roles, and the settings of quasi-identifiers and sensitive attributes."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, lt
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, WithJsonSchema

from anonymize.spec.base import Entry, Number, Positive, Text, Value, by_type, ordered
from anonymize.spec.hierarchy import Dates, HierarchySource, Rare
from anonymize.spec.notation import NumberFormat

# --- data constraint rules --------------------------------------------------------------------------------------------
# What a release should keep apart, or be able to state.


class RuleRange(Entry):
    """Numbers from one to another, both included."""

    from_: Number = Field(alias="from")
    """The smallest number of the range."""
    to: Number
    """The largest number of the range."""


Together = Annotated[
    Annotated[RuleRange, Tag("range")] | Annotated[Annotated[tuple[Value, ...], Field(min_length=1)], Tag("values")],
    by_type(
        "together_kind",
        "expected a list of values, or a range {from: 12, to: 18}",
        range=(dict, RuleRange),
        values=(list, tuple),
    ),
]

KINDS = ("keep_apart", "keep_together", "keep")
"""A rule has one of these."""


class Rule(Entry):
    """A data constraint rule: one of `keep_apart`, `keep_together` and `keep`."""

    keep_apart: Annotated[tuple[Value, ...], Field(min_length=2, max_length=2)] | None = None
    """Two values that should not be generalized together. For numbers, the boundary between them: [20, 21]."""
    keep_together: Together | None = None
    """A range {from: 12, to: 18} or a list of values that a release should be able to state: kept together if none of
    them is generalized together with a value outside."""
    keep: Value | None = None
    """One value that should stay as it is, not generalized together with any other."""
    importance: Positive = 1.0
    """The weight of the rule relative to the others, above 0."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of KINDS it has: one, if the spec is right."""
        return tuple(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def values(self) -> tuple[float | str, ...]:
        """The values that it names; none of a range."""
        together = () if isinstance(self.keep_together, RuleRange) else self.keep_together
        return (*(self.keep_apart or ()), *(together or ()), *(() if self.keep is None else (self.keep,)))

    def named(self, compared: Callable[[str], str]) -> Rule:
        """The rule, with its texts as they are compared."""

        def one(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(one, value))
            return compared(value) if isinstance(value, str) else value

        return self.model_copy(update={kind: one(getattr(self, kind)) for kind in self.kinds})

    def as_json(self) -> dict[str, Any]:
        """Its entry in a spec."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")

    def __str__(self) -> str:
        def one(value: float | str) -> str:
            return f"{value:g}" if isinstance(value, float | int) else value

        if self.keep_apart is not None:
            text = " | ".join(map(one, self.keep_apart))
        elif isinstance(self.keep_together, RuleRange):
            text = f"{self.keep_together.from_:g} to {self.keep_together.to:g}"
        else:
            text = ", ".join(map(one, self.values))
        return f"{text} ({self.importance:g})"


# --- columns ----------------------------------------------------------------------------------------------------------

Role = Literal["identifier", "quasi-identifier", "sensitive", "insensitive", "sampling-weight", "target", "unit"]
WITHHELD: frozenset[Role] = frozenset({"identifier", "unit"})
"""Roles of columns that are not in a release."""
Kind = Literal["numeric", "categorical"]
ASCENDING = ordered(lt, "numbers that grow, such as [18, 30, 45]")

NORMALIZE = {"anyOf": [{"enum": ["look-alikes", "exact"]}, {"type": "boolean"}]}
"""How `normalize` is described to editors."""


def as_normalize(value: object) -> object:
    """Whether texts are compared by how they look, however that is written."""
    known = {"look-alikes": True, "exact": False}
    if isinstance(value, str) and value in known:
        return known[value]
    if value is None or isinstance(value, bool):
        return value
    raise ValueError("expected look-alikes or exact")


class Definition(NumberFormat):
    """What quasi-identifiers and sensitive attributes have in common."""

    type: Kind = "categorical"
    """numeric: numbers, compared by size. categorical: texts, compared by a hierarchy."""
    hierarchy: HierarchySource | None = None
    """The value generalization hierarchy: a file (CSV from leaf to root, or a YAML tree), relative to this one, or a
    builder: intervals, bands, mask, prefix, dates, times, codes, zip3, rare, flat. Left out: flat."""
    normalize: Annotated[bool | None, BeforeValidator(as_normalize), WithJsonSchema(NORMALIZE)] = None
    """How texts are compared, as in `input.normalize`, which is the default. exact: texts that look alike differ."""


class LevelRange(Entry):
    """The levels of a hierarchy that a release may show, both ends included."""

    min: Annotated[int, Field(ge=0)] = 0
    """The lowest level; 0 is the values themselves. Nothing finer is shown by any algorithm."""
    max: Annotated[int, Field(ge=0)] | None = None
    """The highest level: no class spans two of its nodes. Default: the root of the hierarchy."""

    @property
    def binding(self) -> bool:
        """Whether they require anything."""
        return self.min > 0 or self.max is not None


class QuasiIdentifier(Definition):
    """An attribute that others may know about an individual, generalized in the release."""

    weight: Positive = 1.0
    """Attribute utility: the weight of its precision relative to the others."""
    rules: tuple[Rule, ...] = ()
    """Data constraint rules: values that should stay apart, or be stated as a whole."""
    research_value: (
        Annotated[
            tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...],
            Field(min_length=1),
            ordered(ge, "numbers that never rise, from the values to the root, such as [0.95, 0.72, 0.1, 0]"),
        ]
        | None
    ) = None
    """The research value of each level according to an expert, from the values to the root; the root's may be left out,
    and is 0. It replaces weight, detail and rules. Default: computed from these."""
    range: Literal["width", "leaves"] = "width"
    """For numbers: what the research value takes as the range of a group. width: the numbers that it spans; leaves: the
    leaves of the hierarchy under it."""
    identifying: Literal["most", "more", "yes"] | None = None
    """How identifying the attribute is, for mu-argus: most, more or yes."""
    domain: Annotated[tuple[Number, Number], ASCENDING] | None = None
    """For numbers: the lowest and the highest possible number, independent of the table. A public report gives costs as
    shares of this range. Default: the range that the release shows."""
    level: Annotated[int, Field(ge=0)] | None = None
    """Where values are distorted: the level of the hierarchy at which they are. Default: the values."""
    levels: LevelRange | None = None
    """The lowest and the highest level of the hierarchy that may be released, by every algorithm; it is measured in the
    release. Suppressed and missing cells are exempt. {min: 1, max: 3}."""
    bins: Annotated[tuple[Number, ...], Field(min_length=1), ASCENDING] | None = None
    """Where values are distorted: the numbers at which bins begin. [18, 30]: below 18, 18 to 30, from 30 on."""

    round: Positive | None = None
    """Rounding of numbers, before anything else: each becomes the nearest multiple, in a tie the larger. 5: 37 becomes
    35. No figure includes the loss by rounding."""
    bottom: Value | None = None
    """Bottom coding of numbers and dates: all values at or below it are one value. 18 reads `18-`; for dates a year, a
    month or a day: 1934, and all before it, reads `1934-`."""
    top: Value | None = None
    """Top coding of numbers and dates: all values at or above it are one value. 90 reads `90+`."""

    @property
    def date_ends(self) -> tuple[str | None, str | None]:
        """The bottom and the top code of dates, as ISO has a year, a month or a day; None: there is none."""
        low, high = (
            None if code is None else f"{code:.0f}" if isinstance(code, float) else code
            for code in (self.bottom, self.top)
        )
        return (low, high) if isinstance(self.hierarchy, Dates) else (None, None)

    @property
    def ends_ascend(self) -> bool:
        """Whether the bottom code is below the top code, where there are both."""
        (bottom, top), (first, last) = self.number_ends, self.date_ends
        numbers = bottom is None or top is None or bottom < top
        return numbers and (first is None or last is None or first < last)

    @property
    def number_ends(self) -> tuple[float | None, float | None]:
        """The bottom and the top code of numbers; None: there is none."""
        low, high = (code if isinstance(code, float) else None for code in (self.bottom, self.top))
        return (low, high) if self.type == "numeric" else (None, None)

    @property
    def lists_categories(self) -> bool:
        """Whether all categories that there may be are known beforehand: those of a hierarchy file. Numbers beyond
        those of a file are not a mistake."""
        return self.type == "categorical" and isinstance(self.hierarchy, Path)

    @property
    def least_level(self) -> int:
        """The level below which nothing is shown: rare values are pooled, whatever `levels` says."""
        pooled = int(isinstance(self.hierarchy, Rare))
        return pooled if self.levels is None else max(self.levels.min, pooled)

    @property
    def has_levels(self) -> bool:
        """Whether levels are declared that require something of a release."""
        return self.levels is not None and self.levels.binding


class SamplingWeight(NumberFormat):
    """The column of sampling weights, and how exactly it is released."""

    column: Text
    """The column."""
    round: Positive | None = None
    """Rounding: each weight becomes the nearest multiple, in a tie the larger, and at least one multiple. 50: 1230
    becomes 1250."""
    bands: Annotated[int, Field(ge=1)] | None = None
    """Bands: the sorted weights are divided into at most this many parts with about equal numbers of rows, none of
    fewer than k; each shows its mean, so that totals are preserved."""


WeightEntry = Annotated[
    Annotated[Text, Tag("name")] | Annotated[SamplingWeight, Tag("settings")],
    by_type(
        "weight_kind",
        "Input should be a column, or {column: NAME, round: STEP} or {column: NAME, bands: N}",
        name=str,
        settings=(dict, SamplingWeight),
    ),
]


class Sensitive(Definition):
    """An attribute that nobody may learn about an individual; released as it is."""

    missing: Literal["uncounted", "value", "apart"] = "uncounted"
    """How a missing value counts in models of this attribute. uncounted: not at all, so that it makes no class more
    diverse. value: as one more value, if the fact that a value is missing is informative. apart: each as a value of its
    own; refused, as a class with only missing values would be diverse."""
