"""The spec as frozen pydantic models: one class per mapping of the YAML file, one described field per key.

The docstrings of fields become the JSON Schema that editors show. What concerns one key is checked here, where it is
declared; what concerns several keys at once is checked in `anonymize.spec.checks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, SerializeAsAny

from anonymize.errors import Problem
from anonymize.spec import blocks, tabulation
from anonymize.spec.base import Entry, KeyPath, Means, ModelParameters, Nothing, Place, Text
from anonymize.spec.columns import Kind, QuasiIdentifier, Role, SamplingWeight, Sensitive, WeightEntry
from anonymize.spec.notation import POINT, Missing, Notation, NumberFormat
from anonymize.spec.treatments import Combination, Treatment, TreatmentEntry


class NoParameters(ModelParameters):
    """The parameters of a model that has none."""


class ModelEntry(Entry):
    """One privacy model; its parameters stand beside `model` and `attribute` in the file."""

    model: Text
    """The privacy model's name."""
    attribute: Text | None = None
    """The sensitive attribute it applies to. Default: every one."""
    parameters: SerializeAsAny[ModelParameters] = Field(default_factory=NoParameters)
    line: int | None = None


class Passing(Entry):
    """Bounds on what the columns that pass through (insensitive, targets, the sampling weight) disclose together."""

    uniques: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of rows, from 0 to 1, that may be unique in them together with the quasi-identifiers as released."""
    below_k: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of rows that may be in groups of fewer than k by the same columns, where k is the largest required for
    people, or 5."""
    accept_derived: tuple[Text, ...] = ()
    """Columns that may be released although they follow from a quasi-identifier, or determine it."""

    @property
    def bounds(self) -> dict[str, float]:
        """The shares that are bounded."""
        bounds = {"uniques": self.uniques, "below_k": self.below_k}
        return {name: most for name, most in bounds.items() if most is not None}


class EpsilonDelta(Entry):
    """A bound of differential privacy: on what one release, or several together, reveal about whether a person is in
    the table."""

    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """The most by which one person's presence changes the logarithm of the probability of any output, except for
    `delta`."""
    delta: Annotated[float, Field(gt=0, lt=1)]
    """The probability exempt from that bound: well below one over the number of people."""


class Privacy(Entry):
    """The requirements on the release."""

    k: Annotated[int, Field(ge=1)] | None = None
    """k-anonymity: every equivalence class has at least k rows."""
    l: Annotated[int, Field(ge=1)] | None = None  # noqa: E741
    """Distinct l-diversity of every sensitive attribute: at least l values in every class."""
    models: tuple[ModelEntry, ...] = ()
    """Further privacy models, with their parameters."""
    combinations: tuple[Combination, ...] = ()
    """k-anonymity of combinations of quasi-identifiers, each by `columns` or `size`: instead of `k`, a weaker
    guarantee, or in addition to it with a larger one. [{columns: [age, zip], k: 20}, {size: 2, k: 5}]"""
    differential: EpsilonDelta | None = None
    """Differential privacy: {epsilon: 1, delta: 1e-9}. Only outputs drawn under it meet it: classes, treatments and
    distorted values do not."""
    suppression: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share of rows that may be suppressed, from 0 to 1."""
    missing: Literal["own-category", "wildcard"] = "own-category"
    """What a missing or suppressed cell of a quasi-identifier counts as when classes are measured. own-category: a
    value like any other. wildcard: the report has a second figure, in which it matches anything; this one does not
    affect the verdict."""
    passing: Passing | None = None
    """Bounds on what the columns that pass through disclose: {uniques: 0.01, below_k: 0.05}. Default: measured, but not
    judged."""


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):  # which is 1 to Python
        raise ValueError("expected 1")
    return value


SECTIONS = ("identifiers", "quasi_identifiers", "sensitive", "insensitive", "undecided")
"""Where columns are named, and may be by patterns."""
LeftOver = Literal["undecided", "unnamed"]
FEWEST = 5
"""Individuals of a group that is not small, where no k is required."""


class Spec(Entry):
    """What a table's columns are, what a release of it has to meet, and how it is written."""

    version: Annotated[Literal[1], BeforeValidator(_no_boolean)]
    """The version of this format: 1."""
    input: blocks.Input = Field(default_factory=blocks.Input)
    """The table that is read."""
    identifiers: tuple[Text, ...] = ()
    """Direct identifiers: columns left out of the release."""
    quasi_identifiers: dict[str, QuasiIdentifier] = Field(default_factory=dict)
    """Columns that others may know about an individual, by name; they are generalized. Only a spec with
    `treatments`, `tabulate` or `synthesize` may have none."""
    weights: Literal["given", "correlation"] = "given"
    """Attribute utility: given (each `weight`) or correlation: computed, the more the less an attribute correlates with
    the other quasi-identifiers."""
    sensitive: dict[str, Sensitive] = Field(default_factory=dict)
    """Columns whose values must not be disclosed about an individual, by name; released unchanged."""
    insensitive: tuple[Text, ...] = ()
    """Columns that pass through unchanged."""
    undecided: tuple[Text, ...] = ()
    """Columns whose role has not been decided. They are refused unless there is `others: drop`, which leaves them out
    of the release with a warning that names them."""
    others: Literal["insensitive", "drop", "error"] = "error"
    """The role of unlisted columns: insensitive (they pass through unchanged, with a warning), drop (left out of the
    release), or error."""
    sampling_weight: WeightEntry | None = None
    """The column with each row's sampling weight, the number of people of the population that it represents; it passes
    through unchanged, or rounded or in bands: {column: NAME, round: STEP} or {column: NAME, bands: N}."""
    unit: Text | None = None
    """The column that identifies the individual a row is about, if several rows may be about one: classes are measured
    in individuals. Left out of the release."""
    treatments: tuple[TreatmentEntry, ...] = ()
    """Steps that change values of columns, in this order, in addition to the generalization of quasi-identifiers:
    [{method: noise, columns: [wage], scale: 0.1}]"""
    tabulate: tabulation.Tabulation | None = None
    """Tables of counts, shares, sums and means by groups, made by the command of this name: {mechanism: suppression,
    tables: [{by: [region], count: true}]}"""
    privacy: Privacy = Field(default_factory=Privacy)
    """What the release has to meet."""
    budget: EpsilonDelta | None = None
    """The most that all releases about the same people may spend together, by the ledger of --budget: {epsilon: 4,
    delta: 1e-8}. Fixed when the ledger is made."""
    synthesize: blocks.Synthesis | None = None
    """How a synthetic table is made: {method: aim, marginals: 3, count: private, rows_per_unit: 1}"""
    domains: dict[str, blocks.DomainEntry] = Field(default_factory=dict)
    """What columns may hold, whatever the table holds: {ward: [A, B, C], age: {low: 0, high: 120}}. Leaves of a
    hierarchy file, `bins` and the `domain` of a quasi-identifier say it as well."""
    workload: blocks.Workload = Field(default_factory=blocks.Workload)
    """What the release is for."""
    risk: blocks.RiskTrials = Field(default_factory=blocks.RiskTrials)
    """Attacks on the release before it is published."""
    output: blocks.Output = Field(default_factory=blocks.Output)
    """How the release is written."""
    series: blocks.SeriesOptions = Field(default_factory=blocks.SeriesOptions)
    """Settings of a series of releases."""

    _path: Path | None = PrivateAttr(None)
    _sha256: str | None = PrivateAttr(None)
    _places: Mapping[KeyPath, Place] = PrivateAttr(default_factory=dict)
    _overridden: frozenset[str] = PrivateAttr(frozenset())
    _left_over: Mapping[str, LeftOver] = PrivateAttr(default_factory=dict)
    _released: bool = PrivateAttr(False)
    _typed: frozenset[str] = PrivateAttr(frozenset())

    @property
    def path(self) -> Path | None:
        """The spec file, as it was named; None for a spec that was made from values."""
        return self._path

    @property
    def sha256(self) -> str | None:
        """The hash of the spec file as it was read; None for a spec that was made from values."""
        return self._sha256

    @property
    def overridden(self) -> frozenset[str]:
        """What came from the command line instead: of `k`, `l`, `t`, `suppression`, `path`."""
        return self._overridden

    @property
    def left_over(self) -> Mapping[str, LeftOver]:
        """The columns of a table that got their role from `others`, and whether they are named as undecided or nowhere;
        none before the spec is resolved."""
        return self._left_over

    def place(self, *keys: str | int) -> Place | None:
        """Line and column (from 1) of a key or list item, such as `place("quasi_identifiers", "age", "weight")`.

        None for what is not written in the file: a default, or a value of the command line.
        """
        return self._places.get(keys)

    def problem(self, path: KeyPath, message: str, hint: str | None = None) -> Problem:
        """A problem with what stands at a key or list item: with the file, and the line and column where it is written.

        What the command line put in place of the file's value stands in no file.
        """
        line, column = self.place(*path) or (None, None)
        replaced = line is None and path[-1] in self._overridden
        file = None if self.path is None or replaced else str(self.path)
        return Problem(message, file, line, column, hint)

    @property
    def largest_k(self) -> int | None:
        """The most individuals that every class has to have, or to have under it; None where none counts."""
        further = (entry.parameters.given(Means.PEOPLE) for entry in self.privacy.models)
        own = (self.privacy.k, *(each.k for each in self.privacy.combinations))
        return max((k for k in (*own, *further) if k is not None), default=None)

    @property
    def fewest(self) -> int:
        """The individuals of a group that is not small: the largest `k` that is required; `FEWEST` where none is."""
        return self.largest_k or FEWEST

    @property
    def weight_column(self) -> str | None:
        """The column of sampling weights; None where there is none."""
        return self.sampling_weight.column if isinstance(self.sampling_weight, SamplingWeight) else self.sampling_weight

    @property
    def weight_coding(self) -> SamplingWeight | None:
        """How the sampling weights are rounded, or put in bands; None where they pass through untouched."""
        weight = self.sampling_weight
        return weight if isinstance(weight, SamplingWeight) and (weight.round or weight.bands) else None

    def reading(self, **changes: Any) -> Spec:
        """The spec with other keys of `input`."""
        return self.model_copy(update={"input": self.input.model_copy(update=changes)})

    def of_release(self, separator: str | None = None) -> Spec:
        """The spec as it reads a release of its table: UTF-8, with names, numbers that were generalized with a point,
        and another separator if there is one."""
        spec = self.of_copy(separator)
        spec._released = True
        return spec

    def of_copy(self, separator: str | None = None) -> Spec:
        """The spec as it reads rows of its table that were copied: UTF-8, with names, numbers as the table has them,
        and another separator if there is one."""
        return self.reading(encoding="utf8", header=True, separator=separator or self.input.separator)

    def missing(self, form: str, column: str | None = None) -> Missing:
        """What means missing in a table of this format: `csv`, `csv.gz`, `parquet` or `arrow`; in a `column` that may
        be compared otherwise than the others."""
        normalize = self.input.normalize if column is None else self.normalizes(column)
        return Missing.in_format(self.input.missing, form, normalize=normalize)

    def of_types(self, numeric: Iterable[str]) -> Spec:
        """The spec for a table whose columns of these names hold numbers, and not texts of numbers."""
        copy = self.model_copy()
        copy._typed = frozenset(numeric)
        return copy

    def notation(self, column: str) -> Notation:
        """How the numbers of a column are written; one of texts has no numbers, and is written with a point. So are the
        quasi-identifiers of a release (`of_release`)."""
        return POINT if column in self.quasi_identifiers and self._released else self.notation_of_table(column)

    def notation_of_table(self, column: str) -> Notation:
        """How the numbers of a column are written in the table, whatever a release does with them."""
        definition = self.quasi_identifiers.get(column) or self.sensitive.get(column)
        kind = self.targets().get(column) if definition is None else definition.type
        if definition is None and self.domain_of(column).low is not None:
            kind = "numeric"
        if column in self._typed:
            return POINT
        step = self.treated.get(column)
        if column != self.weight_column and kind != "numeric" and not (step is not None and step.NUMBERS):
            return POINT
        own: NumberFormat = definition or NumberFormat()
        if column == self.weight_column and isinstance(self.sampling_weight, SamplingWeight):
            own = self.sampling_weight
        decimal, thousands = own.decimal or self.input.decimal, own.thousands or self.input.thousands
        return Notation(decimal, None if thousands == decimal else thousands, own.unit_text)

    def domain_of(self, column: str) -> blocks.ColumnDomain:
        """What `domains` says of a column; nothing of one that it does not name."""
        entry = self.domains.get(column, blocks.ColumnDomain())
        return entry if isinstance(entry, blocks.ColumnDomain) else blocks.ColumnDomain(values=entry)

    @property
    def treated(self) -> dict[str, Treatment]:
        """The columns whose values a step changes, and that step."""
        return {name: step for step in self.treatments for name in step.treated}

    def normalizes(self, column: str) -> bool:
        """Whether texts of a column are compared by how they look, and not as they stand."""
        definition = self.quasi_identifiers.get(column) or self.sensitive.get(column)
        own = None if definition is None else definition.normalize
        return self.input.normalize if own is None else own

    def counts_missing(self, column: str) -> bool:
        """Whether a missing value of a sensitive column is a value like any other."""
        return column in self.sensitive and self.sensitive[column].missing == "value"

    @property
    def missing_as_value(self) -> tuple[str, ...]:
        """The sensitive columns whose missing values are a value like any other."""
        return tuple(filter(self.counts_missing, self.sensitive))

    @property
    def hides(self) -> bool:
        """Whether suppressed cells are written as nothing."""
        return isinstance(self.output.suppressed, Nothing)

    @property
    def exact(self) -> frozenset[str]:
        """The columns whose texts are compared as they stand, where those of others are not."""
        named = (*self.quasi_identifiers, *self.sensitive)
        return frozenset(name for name in named if self.input.normalize and not self.normalizes(name))

    def roles(self) -> dict[str, Role]:
        """The role of every column of the spec, in the spec's order.

        A target that is a quasi-identifier or insensitive as well has that role; any other target is a `target`, which
        passes through. What is undecided is left out, as identifiers are.
        """
        named: tuple[tuple[Role, Mapping[str, Any] | tuple[str, ...]], ...] = (
            ("identifier", (*self.identifiers, *self.undecided)),
            ("quasi-identifier", self.quasi_identifiers),
            ("sensitive", self.sensitive),
            ("insensitive", self.insensitive),
            ("sampling-weight", () if self.weight_column is None else (self.weight_column,)),
            ("unit", () if self.unit is None else (self.unit,)),
        )
        roles: dict[str, Role] = {name: role for role, names in named for name in names}
        for name in self.workload.target_names:
            roles.setdefault(name, "target")
        return roles

    def mentions(self) -> Iterator[tuple[str, str, KeyPath]]:
        """Every place that gives a column a role: section, column, path. A target may be mentioned before."""
        for section in SECTIONS:
            names = getattr(self, section)
            for position, name in enumerate(names):
                yield section, name, (section, name if isinstance(names, dict) else position)
        for section, name in (("sampling_weight", self.weight_column), ("unit", self.unit)):
            if name is not None:
                yield section, name, (section,)
        for position, name in enumerate(self.workload.target_names):
            yield "targets", name, ("workload", "targets", position)

    def targets(self) -> dict[str, Kind]:
        """The type of every target: a quasi-identifier's own, else the one that is given, else categorical."""
        types = {name: attribute.type for name, attribute in self.quasi_identifiers.items()}
        given = zip(self.workload.target_names, self.workload.target_types, strict=True)
        return {name: types.get(name) or kind or "categorical" for name, kind in given}

    def without_levels(self) -> Spec:
        """The spec without declared levels; itself where there are none that require anything."""
        if not any(each.has_levels for each in self.quasi_identifiers.values()):
            return self
        free = {name: each.model_copy(update={"levels": None}) for name, each in self.quasi_identifiers.items()}
        return self.model_copy(update={"quasi_identifiers": free})

    def located(
        self,
        path: Path | None,
        places: Mapping[KeyPath, Place],
        overridden: frozenset[str] = frozenset(),
        left_over: Mapping[str, LeftOver] | None = None,
    ) -> Spec:
        """A copy that knows its file, where each key stands in it, what the command line replaced, and which
        columns are `left_over`."""
        copy = self.model_copy()
        copy._path, copy._places, copy._overridden, copy._left_over = path, places, overridden, left_over or {}
        return copy
