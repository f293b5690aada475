"""The spec as frozen pydantic models: one class per mapping of the YAML file, one described field per key.

Field descriptions become the JSON Schema that editors show. What concerns one key is checked here, where it is
declared; what concerns several keys at once is checked in `anonymize.spec.checks`.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    Tag,
    WithJsonSchema,
)

from anonymize.spec.base import TEXT, Entry, KeyPath, Number, Place, Positive, SpecPath, Text, Value
from anonymize.spec.hierarchy import Dates, Flat, HierarchySource, Intervals, Mask, Prefix
from anonymize.spec.missing import Missing

__all__ = [
    "Attribute",
    "Condition",
    "Dates",
    "Flat",
    "HierarchySource",
    "Input",
    "Intervals",
    "KeyPath",
    "Kind",
    "Mask",
    "ModelEntry",
    "NoParameters",
    "Output",
    "Place",
    "Prefix",
    "Privacy",
    "QuasiIdentifier",
    "Role",
    "Rule",
    "Sensitive",
    "Spec",
    "Target",
    "Workload",
]

Role = Literal["identifier", "quasi-identifier", "sensitive", "insensitive", "sampling-weight", "target", "unit"]
WITHHELD: frozenset[Role] = frozenset({"identifier", "unit"})
"""Roles of columns that are not in a release."""
Kind = Literal["numeric", "categorical"]


# --- input ------------------------------------------------------------------------------------------------------------


def _separator(text: str) -> str:
    if len(text) != 1 or not text.isascii() or text in '"\r\n':
        raise ValueError(
            'expected one ASCII character that is no quote or line break (a tab is "\\t", in double quotes)'
        )
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

    path: SpecPath | None = Field(
        default=None,
        description="The table: .csv, .csv.gz, .parquet or .arrow, relative to this file. `--input` goes before it.",
    )
    separator: Annotated[str, AfterValidator(_separator)] = Field(
        default=",", description="The character between two fields of a CSV; a release is written with it, too."
    )
    missing: tuple[Text, ...] = Field(
        default=("",), description="Texts that mean that a value is missing; the first one is what a release shows."
    )
    encoding: Annotated[str, AfterValidator(_encoding), WithJsonSchema(TEXT)] = Field(
        default="utf8", description="How the CSV's text is encoded: utf8, latin-1, cp1252, ..."
    )

    @property
    def missing_text(self) -> str:
        """What a release shows for a missing value, whatever its format."""
        return Missing(self.missing).text


# --- columns --------------------------------------------------------------------------------------------------------


class Rule(Entry):
    """A data constraint rule: two values that a release should not show as one."""

    keep_apart: Annotated[tuple[Value, ...], Field(min_length=2, max_length=2)] = Field(
        description="Two values of the attribute. For numbers it is the boundary between them: [20, 21]."
    )
    importance: Positive = Field(default=1.0, description="How much the rule counts next to the others, above 0.")


class Attribute(Entry):
    """What quasi-identifiers and sensitive attributes have in common."""

    type: Kind = Field(
        default="categorical",
        description="numeric: numbers, compared by size. categorical: texts, compared by a hierarchy.",
    )
    hierarchy: HierarchySource | None = Field(
        default=None,
        description="The value generalization hierarchy: a file (CSV from leaf to root, or a YAML tree), relative to "
        "this one, or a builder: intervals, mask, prefix, dates, flat. Left out: flat.",
    )


def _ascending(edges: tuple[float, ...]) -> tuple[float, ...]:
    if any(after <= before for before, after in pairwise(edges)):
        raise ValueError("expected numbers that grow, such as [18, 30, 45]")
    return edges


class QuasiIdentifier(Attribute):
    """An attribute that others may know about a person, generalized in the release."""

    weight: Positive = Field(
        default=1.0, description="Attribute utility: how much its precision counts next to the others."
    )
    rules: tuple[Rule, ...] = Field(default=(), description="Data constraint rules: values that should stay apart.")
    identifying: Literal["most", "more", "yes"] | None = Field(
        default=None, description="How identifying the attribute is, for mu-argus: most, more or yes."
    )
    level: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="For randomize: the level of the hierarchy whose values are distorted. Left out: the values.",
    )
    bins: Annotated[tuple[Number, ...], Field(min_length=1), AfterValidator(_ascending)] | None = Field(
        default=None,
        description="For randomize: where bins of numbers begin. [18, 30]: below 18, 18 to 30, from 30 on.",
    )


class Sensitive(Attribute):
    """An attribute that nobody may learn about a person; released as it is."""


# --- privacy --------------------------------------------------------------------------------------------------------


class NoParameters(Entry):
    """The parameters of a model that has none."""


class ModelEntry(Entry):
    """One privacy model; its parameters stand beside `model` and `attribute` in the file."""

    model: Text = Field(description="The privacy model's name.")
    attribute: Text | None = Field(
        default=None, description="The sensitive attribute it is about. Left out: every one."
    )
    parameters: SerializeAsAny[BaseModel] = Field(default_factory=NoParameters)
    line: int | None = None


class Privacy(Entry):
    """What the release has to meet."""

    k: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="k-anonymity: every equivalence class has at least k rows."
    )
    l: Annotated[int, Field(ge=1)] | None = Field(  # noqa: E741
        default=None, description="Distinct l-diversity of every sensitive attribute: at least l values in every class."
    )
    models: tuple[ModelEntry, ...] = Field(default=(), description="Further privacy models, with their parameters.")
    suppression: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="The share of rows that may be suppressed, from 0 to 1."
    )
    missing: Literal["own-category", "wildcard"] = Field(
        default="own-category",
        description="What a missing or suppressed cell of a quasi-identifier is when classes are measured: "
        "own-category, a value like any other; wildcard: it matches anything, and the report has both figures.",
    )


# --- workload -------------------------------------------------------------------------------------------------------


class Condition(Entry):
    """Which values of a column a selection takes; both ends included."""

    from_: Number | None = Field(default=None, alias="from", description="The smallest number that is selected.")
    to: Number | None = Field(default=None, description="The largest number that is selected.")
    in_: Annotated[tuple[Value, ...], Field(min_length=1)] | None = Field(
        default=None, alias="in", description="The values that are selected."
    )


class Target(Entry):
    """What is said of a column that a model will be trained to predict."""

    type: Kind | None = Field(
        default=None,
        description="numeric: regression. categorical: classification. Left out: a quasi-identifier's own type, else "
        "categorical.",
    )


def _target_kind(value: object) -> str | None:
    if isinstance(value, str):
        return "name"
    return "settings" if isinstance(value, dict) else None


TargetEntry = Annotated[
    Annotated[Text, Tag("name")]
    | Annotated[Annotated[dict[str, Target], Field(min_length=1, max_length=1)], Tag("settings")],
    Discriminator(
        _target_kind, custom_error_type="target_kind", custom_error_message="Input should be a column or its settings"
    ),
]


class Workload(Entry):
    """What the release is for."""

    targets: tuple[TargetEntry, ...] = Field(
        default=(),
        description="Columns that a model will be trained to predict, as names or as {NAME: {type: numeric}}; they "
        "pass through as they are.",
    )
    selections: tuple[Annotated[dict[str, Condition], Field(min_length=1)], ...] = Field(
        default=(), description="Selections of rows that will be asked for: a condition per column, all of which hold."
    )

    @property
    def target_names(self) -> tuple[str, ...]:
        """The targets' columns."""
        return tuple(entry if isinstance(entry, str) else next(iter(entry)) for entry in self.targets)

    @property
    def target_types(self) -> tuple[Kind | None, ...]:
        """The type that each target's entry gives, if it gives one."""
        return tuple(None if isinstance(entry, str) else next(iter(entry.values())).type for entry in self.targets)


# --- output ---------------------------------------------------------------------------------------------------------


def _interval(template: str) -> str:
    head, low, rest = template.partition("{low}")
    middle, high, tail = rest.partition("{high}")
    if not (low and high and middle) or any(brace in head + middle + tail for brace in "{}"):
        raise ValueError(
            'expected {low}, then text, then {high}, each once and no other braces, such as "[{low}-{high}]"'
        )
    return template


class Output(Entry):
    """How the release is written."""

    interval: Annotated[str, AfterValidator(_interval)] = Field(
        default="[{low}-{high}]", description="How an interval of numbers reads: text with {low} and {high}."
    )
    numeric: Literal["interval", "bounds", "mean", "median"] = Field(
        default="interval",
        description="Generalized numbers: interval; bounds (columns NAME_low and NAME_high); mean; median.",
    )
    categorical: Literal["node", "set", "bounds"] = Field(
        default="node",
        description="Generalized categories: node (the label in the hierarchy); set (the values present); bounds "
        "(columns NAME_low and NAME_high: the first and last leaf under the node, counted from 0).",
    )
    suppressed: Text = Field(default="*", description="What a suppressed cell reads.")
    suppressed_rows: Literal["keep", "drop"] = Field(
        default="keep", description="Suppressed rows: keep (with every quasi-identifier suppressed) or drop."
    )
    edges: Literal["tight", "rounded"] = Field(
        default="tight",
        description="Ends of intervals and bounds: tight, or rounded outward so that extremes are not published.",
    )
    row_order: Literal["keep", "shuffle"] = Field(
        default="keep",
        description="keep: the input's order, by which two releases can be joined. shuffle: a random order.",
    )


# --- the whole ------------------------------------------------------------------------------------------------------


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):  # which is 1 to Python
        raise ValueError("expected 1")
    return value


class Spec(Entry):
    """What a table's columns are, what a release of it has to meet, and how it is written."""

    version: Annotated[Literal[1], BeforeValidator(_no_boolean)] = Field(description="The version of this format: 1.")
    input: Input = Field(default_factory=Input, description="The table that is read.")
    identifiers: tuple[Text, ...] = Field(
        default=(), description="Direct identifiers: columns left out of the release."
    )
    quasi_identifiers: Annotated[dict[str, QuasiIdentifier], Field(min_length=1)] = Field(
        description="Columns that others may know about a person, by name; they are generalized."
    )
    weights: Literal["given", "correlation"] = Field(
        default="given",
        description="Attribute utility: given (each `weight`) or correlation: computed, the more the less an attribute "
        "correlates with the other quasi-identifiers.",
    )
    sensitive: dict[str, Sensitive] = Field(
        default_factory=dict, description="Columns that nobody may learn about a person, by name; released as they are."
    )
    insensitive: tuple[Text, ...] = Field(default=(), description="Columns that pass through untouched.")
    sampling_weight: Text | None = Field(
        default=None,
        description="The column with each row's sampling weight, how many of the population it stands for; it passes "
        "through untouched.",
    )
    unit: Text | None = Field(
        default=None,
        description="The column that says whom a row is about, where several rows may be about one person: classes are "
        "measured in persons. Left out of the release.",
    )
    privacy: Privacy = Field(default_factory=Privacy, description="What the release has to meet.")
    workload: Workload = Field(default_factory=Workload, description="What the release is for.")
    output: Output = Field(default_factory=Output, description="How the release is written.")

    _path: Path | None = PrivateAttr(None)
    _places: Mapping[KeyPath, Place] = PrivateAttr(default_factory=dict)
    _overridden: frozenset[str] = PrivateAttr(frozenset())

    @property
    def path(self) -> Path | None:
        """The spec file, as it was named; None for a spec that was made from values."""
        return self._path

    @property
    def overridden(self) -> frozenset[str]:
        """What came from the command line instead: of `k`, `l`, `t`, `suppression`, `path`."""
        return self._overridden

    def place(self, *keys: str | int) -> Place | None:
        """Line and column (from 1) of a key or list item, such as `place("quasi_identifiers", "age", "weight")`.

        None for what is not written in the file: a default, or a value of the command line.
        """
        return self._places.get(keys)

    def missing(self, form: str) -> Missing:
        """What means missing in a table of this format: `csv`, `csv.gz`, `parquet` or `arrow`."""
        return Missing.in_format(self.input.missing, form)

    def roles(self) -> dict[str, Role]:
        """The role of every column of the spec, in the spec's order.

        A target that is a quasi-identifier or insensitive as well has that role; any other target is a `target`, which
        passes through.
        """
        named: tuple[tuple[Role, Mapping[str, Any] | tuple[str, ...]], ...] = (
            ("identifier", self.identifiers),
            ("quasi-identifier", self.quasi_identifiers),
            ("sensitive", self.sensitive),
            ("insensitive", self.insensitive),
            ("sampling-weight", () if self.sampling_weight is None else (self.sampling_weight,)),
            ("unit", () if self.unit is None else (self.unit,)),
        )
        roles: dict[str, Role] = {name: role for role, names in named for name in names}
        for name in self.workload.target_names:
            roles.setdefault(name, "target")
        return roles

    def targets(self) -> dict[str, Kind]:
        """The type of every target: a quasi-identifier's own, else the one that is given, else categorical."""
        own = {name: attribute.type for name, attribute in self.quasi_identifiers.items()}
        given = zip(self.workload.target_names, self.workload.target_types, strict=True)
        return {name: own.get(name) or kind or "categorical" for name, kind in given}

    def located(
        self, path: Path | None, places: Mapping[KeyPath, Place], overridden: frozenset[str] = frozenset()
    ) -> Spec:
        """The same spec, knowing its file, where each key stands in it, and what the command line replaced."""
        copy = self.model_copy()
        copy._path, copy._places, copy._overridden = path, places, overridden
        return copy
