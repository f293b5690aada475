"""What a spec declares, handed to a check with what it needs: populations that privacy models name, and levels and
codes of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import polars as pl

from anonymize.errors import DataError, Problem, UsageError
from anonymize.spec import Rare, Spec
from anonymize.table import Source
from anonymize.table.coding import all_leaves
from anonymize.table.encode import is_text
from anonymize.table.population import population_trees
from anonymize.verify import CellTemplates, Check, People, Shown
from anonymize.verify.cells import with_point
from anonymize.verify.codes import Declared, declared_in, values_of
from anonymize.verify.table import by_position

# --- populations ------------------------------------------------------------------------------------------------------
# Populations that privacy models name, for a check: as text, with what is needed to read the cells of a table.


def with_people(
    spec: Spec, checks: Sequence[Check], columns: Mapping[str, Sequence[str]], opened: ExitStack
) -> list[Check]:
    """The checks, each with the population that it is about. `columns`: those of each quasi-identifier in
    the table that is checked. The tables stay open as long as `opened`. Raises DataError where one cannot be read."""
    paths = dict.fromkeys(str(check.parameters["population"]) for check in checks if "population" in check.parameters)
    populations = {path: people(spec, path, columns, opened) for path in paths}
    return [replace(check, people=populations.get(str(check.parameters.get("population")))) for check in checks]


def people(spec: Spec, path: str | Path, columns: Mapping[str, Sequence[str]], opened: ExitStack) -> People:
    """The population at a path, which stays open as long as `opened`; `columns` as above.

    Raises DataError where it cannot be read, has no rows or lacks a quasi-identifier.
    """
    exact = [name for name in spec.quasi_identifiers if name in spec.exact]
    if exact:
        hint = "`input.normalize: exact` is of all columns"
        message = f"{exact[0]}: `normalize: exact` of one quasi-identifier: not with a population"
        raise UsageError(spec.problem(("quasi_identifiers", exact[0], "normalize"), message, hint))
    source = opened.enter_context(Source.open(spec.reading(header=True), path))
    lacking = [name for name in spec.quasi_identifiers if name not in source.columns]
    if lacking:
        raise DataError([Problem(f"has no column {name}", file=source.name) for name in lacking])
    source.check()
    if not source.rows:
        raise DataError(Problem("the population has no rows", file=source.name))
    trees = population_trees(spec, source.scan())
    quasi_identifiers = [
        Shown(name, columns[name], definition.type == "numeric", trees.get(name))
        for name, definition in spec.quasi_identifiers.items()
    ]
    missing = spec.missing(source.format)
    empty = None if missing.null else ""
    templates = replace(CellTemplates.of(spec), missing=missing.texts)
    frame, texts = source.scan(), [name for name in spec.quasi_identifiers if is_text(source.schema[name])]
    places = by_position(frame)
    numbers = {name: with_point(places[name].cast(pl.String), spec.notation(name)) for name in texts}
    return People(frame.with_columns(**numbers), quasi_identifiers, templates, empty, spec.input.normalize)


# --- levels and codes -------------------------------------------------------------------------------------------------
# Levels and codes that a spec declares, handed to the check with the hierarchies and counts that it needs.


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
