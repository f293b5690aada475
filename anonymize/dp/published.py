"""Columns as they may be known where they are published under differential privacy: domains and hierarchies as the spec
and its files declare them, whatever the table holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.domain import Ints, build, files
from anonymize.domain.numeric import Numeric
from anonymize.domain.public import NumberBins, PublicDomain, leaves_of, public_domain
from anonymize.errors import DataError, Problem, SpecError
from anonymize.records import dataclass
from anonymize.spec import Rare, Spec, columns
from anonymize.table import Attribute, Table

LARGEST = 1_000_000
"""Values of a declared range of numbers."""
CODING = ("round", "top", "bottom", "bins", "level")
"""Keys of a quasi-identifier by which values are coded before anything else; hierarchies do the same."""


@dataclass(frozen=True)
class HierarchicalColumn:
    """A quasi-identifier. `codes` (rows,): the leaf of each row; `ancestors` (levels, leaves): the node above each leaf
    at each level; `texts` (nodes,): how each reads, in an order that the values have; `levels`: those that may be
    shown."""

    name: str
    codes: Ints
    ancestors: NDArray[np.int64]
    texts: tuple[str, ...]
    levels: range

    @property
    def size(self) -> int:
        return int(self.ancestors.shape[1])

    @property
    def height(self) -> int:
        """The level of the root."""
        return len(self.ancestors) - 1

    def nodes(self, level: int) -> Ints:
        """(rows,) the node of each row at a level."""
        nodes: Ints = self.ancestors[level][self.codes]
        return nodes


def hierarchical_columns(spec: Spec, table: Table) -> list[HierarchicalColumn]:
    """The quasi-identifiers of a table. Raises SpecError for a column without a public domain, or whose hierarchy is no
    function of one; DataError for values outside, by their count."""
    return [_column(spec, attribute) for attribute in table.attributes]


def check_public(spec: Spec) -> None:
    """Raises SpecError for quasi-identifiers without a public domain, or whose hierarchy is not a function of one."""
    for name in spec.quasi_identifiers:
        _hierarchy(spec, name)


def _column(spec: Spec, attribute: Attribute) -> HierarchicalColumn:
    domain, ancestors, texts, levels = _hierarchy(spec, attribute.name)
    column = attribute if attribute.declared is None else attribute.declared
    listed = domain.codes if domain.bins is None else partial(_whole_numbers, domain.bins)
    known = leaves_of(column.domain, listed, _values(domain) if domain.missing else -1)
    occurring = np.bincount(column.codes.astype(np.int64), minlength=len(known)) > 0
    if outside := int(np.count_nonzero(known[occurring] < 0)):
        message = f"column {attribute.name!r}: {outside} different values are outside its declared domain"
        raise DataError(Problem(message, hint="declare them, or list the text under input.missing"))
    return HierarchicalColumn(attribute.name, known[column.codes.astype(np.int64)], ancestors, texts, levels)


def _whole_numbers(bins: NumberBins, values: Any) -> Ints:
    """(n,) the place of each number among the whole ones of a range, -1 of one outside."""
    numbers, first = np.array(values, np.float64), bins.places[0][0]
    inside = (numbers >= first) & (numbers <= bins.places[-1][1]) & (numbers == np.floor(numbers))
    return np.where(inside, numbers - first, -1).astype(np.int64)


def _values(domain: PublicDomain) -> int:
    """How many values the domain has, missing ones aside."""
    return len(domain.values) if domain.bins is None else domain.bins.places[-1][1] - domain.bins.places[0][0] + 1


def _hierarchy(spec: Spec, name: str) -> tuple[PublicDomain, NDArray[np.int64], tuple[str, ...], range]:
    """The domain, the node above each leaf at each level, how nodes read, and the levels that may be shown."""
    definition, domain = spec.quasi_identifiers[name], public_domain(spec, name)
    _check(spec, name, definition, domain)
    missing = spec.input.missing[0] if domain.missing else None
    normalize, written = spec.normalizes(name), dict[str, str]()
    suppressed = str(spec.output.suppressed)
    if domain.numeric:
        numbers, interval = _numbers(domain, missing), spec.output.interval
        generalization = build.numeric_hierarchy(definition, numbers, interval, suppressed, normalize=normalize)
        hierarchy, leaves = generalization.hierarchy, generalization.leaf_of(np.arange(numbers.size))
        leaf_texts = numbers.leaf_text()
    else:
        compared, absent = list(domain.compared), [] if missing is None else [missing]
        hierarchy = build.build(name, definition, compared, missing, suppressed, normalize=normalize)
        code_of = {text: code for code, text in enumerate(hierarchy.leaf_text())}
        leaves = np.array([code_of[text] for text in (*compared, *absent)], np.int64)
        leaf_texts = [*domain.values, *absent]
        if normalize and isinstance(definition.hierarchy, Path):
            written = files.labels_written(definition.hierarchy)
    texts = [written.get(label, label) for label in hierarchy.labels]
    for leaf, text in zip(leaves.tolist(), leaf_texts, strict=True):
        texts[leaf] = text
    ancestors = np.asarray(hierarchy.levels, np.int64)[:, leaves]
    ancestors[0] = leaves
    least = definition.least_level
    most = len(ancestors) - 1 if definition.levels is None or definition.levels.max is None else definition.levels.max
    return domain, ancestors, tuple(texts), range(least, most + 1)


def _numbers(domain: PublicDomain, missing: str | None) -> Numeric:
    if domain.bins is None:
        numbers = np.array([float(value) for value in domain.values])
        whole = bool((numbers == np.floor(numbers)).all())
        return Numeric(domain.name, numbers.astype(np.int64) if whole else numbers, missing)
    first, last = domain.bins.places[0][0], domain.bins.places[-1][1]
    return Numeric(domain.name, np.arange(first, last + 1), missing)


def _check(spec: Spec, name: str, definition: columns.QuasiIdentifier, domain: PublicDomain) -> None:
    """Raises SpecError for what would be learned from the rows, or has no place here."""
    path = ("quasi_identifiers", name)
    coded = [key for key in CODING if getattr(definition, key) is not None]
    if coded:
        message = f"quasi_identifiers.{name}.{coded[0]}: what is published is a level of a hierarchy"
        raise SpecError(spec.problem((*path, coded[0]), message, "use `hierarchy: {intervals: [...]}`, or a file"))
    if isinstance(definition.hierarchy, Rare):
        hint = "write the hierarchy as a file with `anonymize hierarchy make`"
        raise SpecError(
            spec.problem((*path, "hierarchy"), f"{name}: which values are rare is learned from the rows", hint)
        )
    if domain.bins is not None and (domain.bins.open or not domain.bins.whole):
        what = "has no ends" if domain.bins.open else "is not of whole numbers"
        hint = f"domains: {{{name}: {{low: 0, high: 120}}}}, or a list of the numbers"
        raise SpecError(spec.problem(path, f"{name}: the declared range {what}, and its values cannot be listed", hint))
    if _values(domain) > LARGEST:
        raise SpecError(spec.problem(path, f"{name}: the declared range has more than {LARGEST} values", "narrow it"))
    if domain.bins is None and domain.numeric:
        numbers = [float(value) for value in domain.values]
        if numbers != sorted(set(numbers)):
            raise SpecError(spec.problem(("domains", name), f"domains.{name}: numbers are listed in ascending order"))
