"""What a table is once it has been read: codes for the columns that count, the rest left where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.domain import Domain
from anonymize.domain.generalization import UNKNOWN
from anonymize.domain.generalization import resolve as resolve_rules
from anonymize.domain.numeric import Numeric
from anonymize.domain.public import PublicDomain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution, Problem, SpecError
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.spec.blocks import Condition
from anonymize.table.columns import Attribute, Codes, SensitiveColumn, TargetColumn

if TYPE_CHECKING:
    import polars as pl

    from anonymize.table.kept import KeptColumn
    from anonymize.table.population import Population
    from anonymize.table.source import Source


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


# --- some of the rows -------------------------------------------------------------------------------------------------
# A table as a search sees it, of some of its rows.


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
# The data constraint rules of a spec against the hierarchies of a table.


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
# The selections of a workload on the leaves of the quasi-identifiers.


def resolve_selections(spec: Spec, attributes: Sequence[Attribute]) -> tuple[Selection, ...]:
    """Each selection of the spec as the leaves that it takes of each quasi-identifier that it names.

    A text selects the leaf of that name, or all leaves below the node of that name. A missing category is selected by
    its own text, a missing number never.
    """
    by_name = {attribute.name: (index, attribute.domain) for index, attribute in enumerate(attributes)}
    return tuple(
        Selection(
            {
                by_name[name][0]: leaves(by_name[name][1], condition, spec.input.compared)
                for name, condition in selection.items()
            }
        )
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


def leaves(domain: Domain, condition: Condition, compared: Callable[[str], str] = str) -> NDArray[np.bool_]:
    """(size,) whether the condition takes each leaf. `compared`: what a text of the condition is compared as."""
    if isinstance(domain, Taxonomy):
        return _below(domain, {compared(str(value)) for value in condition.in_ or ()})
    assert isinstance(domain, Numeric)
    taken = np.zeros(domain.size, np.bool_)
    if condition.in_ is not None:
        taken[: len(domain.values)] = np.isin(domain.values, [float(value) for value in condition.in_])
        return taken
    low = -np.inf if condition.from_ is None else condition.from_
    high = np.inf if condition.to is None else condition.to
    taken[: len(domain.values)] = (low <= domain.values) & (domain.values <= high)
    return taken


def _below(domain: Taxonomy, wanted: set[str]) -> NDArray[np.bool_]:
    """The leaves of these labels, and those below the nodes of these labels."""
    taken = np.zeros(domain.size, np.bool_)
    for node, label in enumerate(domain.labels):
        if label in wanted:
            taken[domain.start[node] : domain.stop[node]] = True
    return taken
