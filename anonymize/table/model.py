"""What a table is once it has been read: codes for the columns that count, the rest left where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import Domain, levels, taxonomy
from anonymize.domain.build import build, numeric_hierarchy
from anonymize.domain.generalization import UNKNOWN, Generalization
from anonymize.domain.generalization import resolve as resolve_rules
from anonymize.domain.grid import texts as grid_texts
from anonymize.domain.numeric import Numeric
from anonymize.domain.public import PublicDomain
from anonymize.errors import Caution, Problem, SpecError
from anonymize.records import dataclass
from anonymize.spec import Spec, blocks
from anonymize.spec.columns import Definition, Kind, QuasiIdentifier
from anonymize.spec.hierarchy import Rare
from anonymize.table import encode, roles, scratch
from anonymize.table.columns import Attribute, CodedColumn, Codes, SensitiveColumn, TargetColumn
from anonymize.table.kept import KeptColumn
from anonymize.table.source import Source

if TYPE_CHECKING:
    from anonymize.table.population import Population


@dataclass(frozen=True)
class Selection:
    """Rows that will be asked for: those whose every quasi-identifier named here has one of the leaves that it takes.

    `leaves`: for the index of a quasi-identifier, (domain.size,) whether each leaf is taken.
    """

    leaves: Mapping[int, NDArray[np.bool_]]


@dataclass(frozen=True)
class PublicColumn:
    """A column over its public domain: (rows,) the leaf of each row."""

    domain: PublicDomain
    codes: Codes


@dataclass(frozen=True)
class Table:
    """The encoded columns of a source. What passes through is not here, but for columns of few texts, which are `kept`:
    `source.batches` reads it again.

    `targets` and `selections` are the workload; empty unless the reading was asked for it.

    `weights` is what the spec says the attributes' utility follows from, where that is used: their `weight`, or how
    little they correlate. `units` (rows,) has a code for whom each row is about; None: each is about somebody else.
    `pseudonym` (rows,): a further column that is released, by which people are followed from release to release.
    `populations`: those that the spec's models name, by path. `largest_k`: that is required, None where none is.
    `in_files`: codes are held in files, as memory is short.
    """

    rows: int
    attributes: tuple[Attribute, ...]
    sensitive: tuple[SensitiveColumn, ...]
    columns: tuple[str, ...]
    source: Source
    warnings: tuple[Caution, ...]
    weights: Literal["given", "correlation"] = "given"
    targets: tuple[TargetColumn, ...] = ()
    selections: tuple[Selection, ...] = ()
    units: Codes | None = None
    populations: Mapping[str, Population] = field(default_factory=dict)
    largest_k: int | None = None
    kept: Mapping[str, KeptColumn] = field(default_factory=dict)
    pseudonym: pl.Series | None = None
    in_files: bool = False
    public: tuple[PublicColumn, ...] = ()
    """The columns that are released, over their public domains, where that is how the table is read."""
    weights_shown: Mapping[str, Any] = field(default_factory=dict)
    """What rounding, or bands, did to the sampling weights; nothing where they pass through untouched."""

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """(rows,) how many rows of the input each row stands for; None: itself alone."""
        return self.attributes[0].counts if self.attributes else None

    @property
    def as_read(self) -> Table:
        """The table as the input has it, without columns that are coded at a level."""
        attributes = tuple(each if each.declared is None else each.declared for each in self.attributes)
        return replace(self, attributes=attributes)

    @property
    def people(self) -> dict[str, int]:
        """How many people each population has."""
        return {path: population.total for path, population in self.populations.items()}


def subset(table: Table, rows: NDArray[np.uint32]) -> Table:
    """The table of some rows, which are numbered from 0; domains are those of the whole. For searches alone: what
    passes through is that of all rows."""
    return replace(
        table,
        rows=len(rows),
        attributes=tuple(replace(each, codes=each.codes[rows], declared=None) for each in table.attributes),
        sensitive=tuple(replace(each, codes=each.codes[rows]) for each in table.sensitive),
        targets=tuple(replace(each, codes=each.codes[rows]) for each in table.targets),
        units=None if table.units is None else table.units[rows],
    )


# --- data constraint rules --------------------------------------------------------------------------------------------


def check(spec: Spec, attributes: Sequence[Attribute]) -> list[Caution]:
    """Warnings about rules that have no effect on this table, because no row has a value that they name.

    Raises SpecError for rules that have none on any table: one names what a hierarchy file does not have, or two nodes
    that lie within each other.
    """
    faults = list(_faults(spec, attributes))
    wrong = [
        _problem(spec, *each)
        for each in faults
        if each[2] != UNKNOWN or spec.quasi_identifiers[each[0]].lists_categories
    ]
    wrong += _wrong_counts(spec, attributes)
    if wrong:
        raise SpecError(wrong)
    return [
        Caution.of(
            f"rule {index + 1} of quasi-identifier {name!r} has no effect: it {message}",
            f"correct it under `quasi_identifiers.{name}.rules`, or remove it",
        )
        for name, index, message in faults
    ]


def _faults(spec: Spec, attributes: Sequence[Attribute]) -> Iterator[tuple[str, int, str]]:
    """Quasi-identifier, number of the rule from 0, and what is wrong with it."""
    for attribute in attributes:
        if attribute.rules:
            resolved = resolve_rules(attribute.rules, attribute.generalization)
            yield from ((attribute.name, index, each) for index, each in enumerate(resolved) if isinstance(each, str))


def _wrong_counts(spec: Spec, attributes: Sequence[Attribute]) -> list[Problem]:
    """Research values that are not as many as the levels of their hierarchy, with or without its root."""
    problems = []
    for attribute in attributes:
        given, height = attribute.research_value, attribute.hierarchy.height if attribute.research_value else 0
        if given is not None and len(given) not in (height, height + 1):
            path = ("quasi_identifiers", attribute.name, "research_value")
            message = f"`quasi_identifiers.{attribute.name}.research_value` has {len(given)} values"
            hint = f"the hierarchy has {height + 1} levels: give {height + 1} values, or {height} without the root's"
            problems.append(spec.problem(path, message, hint))
    return problems


def _problem(spec: Spec, name: str, index: int, message: str) -> Problem:
    hint = "name leaves or nodes as the hierarchy file spells them" if message == UNKNOWN else None
    path = ("quasi_identifiers", name, "rules", index)
    return spec.problem(path, f"`quasi_identifiers.{name}.rules[{index}]` {message}", hint)


# --- selections of the workload ---------------------------------------------------------------------------------------


def resolve_selections(spec: Spec, attributes: Sequence[Attribute]) -> tuple[Selection, ...]:
    """Each selection of the spec as the leaves that it takes of each quasi-identifier that it names.

    A text selects the leaf of that name, or all leaves below the node of that name. A missing category is selected by
    its own text, a missing number never.
    """
    index = {attribute.name: number for number, attribute in enumerate(attributes)}

    def chosen(name: str, condition: blocks.Condition) -> NDArray[np.bool_]:
        return leaves(attributes[index[name]].domain, condition, spec.input.compared)

    return tuple(
        Selection({index[name]: chosen(name, condition) for name, condition in selection.items()})
        for selection in spec.workload.selections
    )


def warnings(selections: Sequence[Selection]) -> list[Caution]:
    """A warning for each selection that no row of this table can meet."""
    return [
        Caution.of(
            f"selection {index + 1} of the workload selects nothing: no row has such a value in one of its columns",
            "correct it under `workload.selections`, or remove it",
        )
        for index, selection in enumerate(selections)
        if not all(taken.any() for taken in selection.leaves.values())
    ]


def leaves(domain: Domain, condition: blocks.Condition, compared: Callable[[str], str] = str) -> NDArray[np.bool_]:
    """(size,) whether the condition takes each leaf. `compared`: what a text of the condition is compared as."""
    taken = np.zeros(domain.size, np.bool_)
    if isinstance(domain, taxonomy.Taxonomy):
        wanted = {compared(str(value)) for value in condition.in_ or ()}
        for node in (node for node, label in enumerate(domain.labels) if label in wanted):
            taken[domain.start[node] : domain.stop[node]] = True
        return taken
    assert isinstance(domain, Numeric)
    if condition.in_ is not None:
        taken[: len(domain.values)] = np.isin(domain.values, [float(value) for value in condition.in_])
        return taken
    low = -np.inf if condition.from_ is None else condition.from_
    high = np.inf if condition.to is None else condition.to
    taken[: len(domain.values)] = (low <= domain.values) & (domain.values <= high)
    return taken


# --- columns of a table -----------------------------------------------------------------------------------------------
# What a column that has been encoded becomes: codes of a domain, of a target or of a sensitive attribute.

Encoder: TypeAlias = encode.NumberColumn | encode.TextColumn
Column = TypeVar("Column", bound=CodedColumn)


def coded_numbers(
    spec: Spec, name: str, definition: QuasiIdentifier, encoder: encode.NumberColumn, arrays: scratch.Arrays
) -> tuple[Numeric, Codes]:
    """The domain of a numeric column, and its codes."""
    coding, absent = roles.coding_of(spec, definition), spec.missing("arrow")
    values, codes, missing = roles.rounded(coding, *encoder.encode(), arrays)
    rounds = spec.output.edges == "rounded" and spec.output.numeric in ("interval", "bounds")
    written_missing = None if missing is None else absent.text
    return Numeric(name, values, written_missing, absent.texts, coding, rounds=rounds), codes


def coded_taxonomy(
    spec: Spec, name: str, definition: Definition, encoder: encode.TextColumn
) -> tuple[taxonomy.Taxonomy, Codes]:
    """The domain of a categorical column, and its codes."""
    texts, any_missing = encoder.distinct()
    ends = roles.date_codes(spec, definition)
    coded_as = roles.cut_off(definition.hierarchy, ends, texts)
    texts = sorted(set(coded_as.values()))
    missing = spec.input.missing_text if any_missing else None
    pool = definition.hierarchy.rare if isinstance(definition.hierarchy, Rare) else None
    common = () if pool is None else taxonomy.frequent(encoder.counts(), pool.below)
    suppressed, normalize = spec.output.suppressed, spec.normalizes(name)
    with roles.by_rows(lambda places: encoder.rows_of({texts[place] for place in places})):
        domain = build(name, definition, texts, missing, suppressed, normalize=normalize, frequent=common, codes=ends)
    code_of = {text: code for code, text in enumerate(domain.leaf_text())}
    code_of |= {text: code_of[coded] for text, coded in coded_as.items()}
    return domain, encoder.codes(code_of, domain.missing, domain.size)


def hierarchy_of(spec: Spec, definition: Definition, numbers: Numeric) -> Callable[[], Generalization]:
    """What makes the hierarchy of a numeric attribute. A file is read at once, so that it is checked in any case."""

    def make() -> Generalization:
        output = spec.output
        normalize = spec.normalizes(numbers.name)
        return numeric_hierarchy(definition, numbers, output.interval, output.suppressed, normalize=normalize)

    if not isinstance(definition.hierarchy, Path):
        return make
    made = make()
    return lambda: made


def categories_of(definition: QuasiIdentifier, interval: str) -> Callable[[Attribute], levels.Categories] | None:
    """What makes the values that a channel is over, where the spec says which."""
    level, bins = definition.level, definition.bins
    if level is not None:
        return lambda attribute: levels.of_level(attribute.generalization, level, interval)
    if bins is not None:
        return lambda attribute: levels.of_bins(cast(Numeric, attribute.domain), bins, interval)
    return None


def targets_of(
    spec: Spec, kinds: Mapping[str, Kind], attributes: Sequence[Attribute], encoders: Mapping[str, Encoder]
) -> tuple[TargetColumn, ...]:
    """The targets of the workload, in its order."""
    targets = {attribute.name: as_target(attribute) for attribute in attributes if attribute.name in kinds}
    return tuple(targets.get(name) or _coded(TargetColumn, spec, name, encoders[name]) for name in kinds)


def as_target(attribute: Attribute) -> TargetColumn:
    """A quasi-identifier as a target: its own codes."""
    domain, values = attribute.domain, None
    if isinstance(domain, Numeric):
        values = np.append(domain.values.astype(np.float64), [] if domain.missing is None else [np.nan])
    return TargetColumn(attribute.name, attribute.codes, domain.size, domain.missing, values)


def sensitive_column(spec: Spec, name: str, encoder: Encoder) -> SensitiveColumn:
    """A sensitive attribute, with its hierarchy where the spec has one."""
    definition = spec.sensitive[name]
    if definition.hierarchy is None:
        column = replace(_coded(SensitiveColumn, spec, name, encoder), alike=spec.normalizes(name))
        return replace(column, missing=None, as_value=column.missing) if spec.counts_missing(name) else column
    if isinstance(encoder, encode.TextColumn):
        domain, codes = coded_taxonomy(spec, name, definition, encoder)
        names, tree = tuple(domain.leaf_text()), Generalization.plain(domain)
        return SensitiveColumn(name, codes, domain.size, domain.missing, None, names, tree, alike=spec.normalizes(name))
    numbers, codes, missing = encoder.encode()
    numeric = Numeric(name, numbers, None if missing is None else spec.input.missing_text)
    with roles.by_rows(partial(roles.rows_of_codes, codes)):
        hierarchy = hierarchy_of(spec, definition, numeric)()
    return SensitiveColumn(name, *_of_numbers(spec, numbers, codes, missing), hierarchy)


def _coded(kind: type[Column], spec: Spec, name: str, encoder: Encoder) -> Column:
    """A column without a hierarchy: numbers by size, texts sorted, and the missing value last."""
    if isinstance(encoder, encode.NumberColumn):
        return kind(name, *_of_numbers(spec, *encoder.encode()))
    column = encode.DistinctValues.of(encoder)
    texts = (*column.values, *([] if column.missing is None else [spec.input.missing_text]))
    return kind(name, column.codes, len(texts), column.missing, None, texts)


def _of_numbers(
    spec: Spec, numbers: encode.Numbers, codes: Codes, missing: int | None
) -> tuple[Codes, int, int | None, NDArray[np.float64], tuple[str, ...]]:
    """Codes, their number, that of the missing value, and the number and the text of each."""
    values = np.append(numbers.astype(np.float64), [] if missing is None else [np.nan])
    names = (*grid_texts(numbers), *([] if missing is None else [spec.input.missing_text]))
    return codes, len(values), missing, values, names
