"""Levels and codes that a spec declares, handed to the check with the hierarchies and counts that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from anonymize.spec import Rare, Spec
from anonymize.table.trees import all_leaves
from anonymize.verify.codes import Declared, declared_in, values_of


def declared(spec: Spec, columns: Mapping[str, Sequence[str]], original: pl.LazyFrame | None) -> list[Declared]:
    """What is declared of the quasi-identifiers. `columns`: those of each in the table that is checked. `original`: the
    table that it was made of, where that is at hand; hierarchies of builders are over its values, and rare values are
    counted in it. Raises what reading a hierarchy does."""
    declarations = []
    for name in declared_in(spec):
        definition = spec.quasi_identifiers[name]
        of_file = isinstance(definition.hierarchy, Path)
        by_leaf = original is not None and definition.type == "categorical" and spec.output.categorical == "bounds"
        tree = all_leaves(spec, original, name) if of_file or by_leaf else None
        counted = original is not None and isinstance(definition.hierarchy, Rare)
        counts = values_of(original, name, spec) if original is not None and counted else None
        declarations.append(Declared(name, columns[name], definition, tree, counts))
    return declarations
