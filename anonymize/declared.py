"""What a spec declares, handed to a check with what it needs: populations that privacy models name, levels and codes of
quasi-identifiers, and the public domain of a synthetic table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.domain.public import public_domain
from anonymize.errors import DataError, Problem, UsageError
from anonymize.spec import Rare, Spec
from anonymize.table import Source, encode, roles
from anonymize.verify import CellTemplates, Check, People, Shown, codes, synthetic, weighs
from anonymize.verify.cells import with_point
from anonymize.verify.table import by_position, plain

# --- populations ------------------------------------------------------------------------------------------------------


def with_people(
    spec: Spec,
    checks: Sequence[Check],
    columns: Mapping[str, Sequence[str]],
    opened: ExitStack,
    original: Source | None = None,
) -> list[Check]:
    """The checks, each with the population that it is about, and with the values that classes may stand for where it
    weighs what they keep. `columns`: those of each quasi-identifier in the table that is checked. `original`: the table
    that it was made of, where that is at hand. The tables stay open as long as `opened`. Raises DataError where one
    cannot be read."""
    paths = dict.fromkeys(str(check.parameters["population"]) for check in checks if "population" in check.parameters)
    populations = {path: people(spec, path, columns, opened) for path in paths}
    weighing = [check.attribute is None and weighs(check.model, check.parameters) for check in checks]
    domains = None if original is None or not any(weighing) else _domains(spec, original, columns)
    return [
        replace(
            check, people=populations.get(str(check.parameters.get("population"))), domains=domains if own else None
        )
        for check, own in zip(checks, weighing, strict=True)
    ]


def _domains(spec: Spec, original: Source, columns: Mapping[str, Sequence[str]]) -> tuple[People, ...]:
    """Of each quasi-identifier the values that it may have, as a population of that column alone: those of the input
    where these are numbers, else the leaves of the hierarchy, and missing where a value is."""
    everybody, domains = _people(spec, original, columns), []
    absent = everybody.templates.missing[0] if everybody.templates.missing else ""
    for attribute in everybody.columns:
        texts = by_position(everybody.frame)[attribute.name].cast(pl.String).unique()
        values = everybody.frame.select(texts).collect(engine="streaming").to_series()
        values = values.fill_null(absent if everybody.null is None else everybody.null)
        present = values.filter(~values.is_in(list(everybody.templates.missing)))
        if everybody.normalize:
            present = present.to_frame("text").select(plain(pl.col("text"))).to_series()
        leaves = {*present.cast(pl.Float64).cast(pl.String)} if attribute.numeric else {*(attribute.tree or present)}
        leaves |= {absent} if len(present) < len(values) else set()
        frame = pl.DataFrame({attribute.name: sorted(leaves)}, schema={attribute.name: pl.String}).lazy()
        domains.append(replace(everybody, frame=frame, columns=[attribute]))
    return tuple(domains)


def people(spec: Spec, path: str | Path, columns: Mapping[str, Sequence[str]], opened: ExitStack) -> People:
    """The population at a path, which stays open as long as `opened`; `columns` as above.

    Raises DataError where it cannot be read, has no rows or lacks a quasi-identifier.
    """
    exact = [name for name in spec.quasi_identifiers if name in spec.exact]
    if exact:
        hint = "`input.normalize: exact` is of all columns"
        message = f"{exact[0]}: `normalize: exact` of one quasi-identifier: not with a population"
        raise UsageError(spec.problem(("quasi_identifiers", exact[0], "normalize"), message, hint))
    return _people(spec, opened.enter_context(Source.open(spec.reading(header=True), path)), columns)


def _people(spec: Spec, source: Source, columns: Mapping[str, Sequence[str]]) -> People:
    """The rows of a table, as the people of a population."""
    roles.refuse_lacking(spec.quasi_identifiers, source.columns, source.name)
    source.check()
    if not source.rows:
        raise DataError(Problem("the population has no rows", file=source.name))
    hierarchies = roles.trees(spec, source.scan(), spec.quasi_identifiers)
    quasi_identifiers = [
        Shown(name, columns[name], definition.type == "numeric", hierarchies.get(name))
        for name, definition in spec.quasi_identifiers.items()
    ]
    missing = spec.missing(source.format)
    empty = None if missing.null else ""
    templates = replace(CellTemplates.of(spec), missing=missing.texts)
    frame, texts = source.scan(), [name for name in spec.quasi_identifiers if encode.is_text(source.schema[name])]
    places = by_position(frame)
    numbers = {name: with_point(places[name].cast(pl.String), spec.notation(name)) for name in texts}
    return People(frame.with_columns(**numbers), quasi_identifiers, templates, empty, spec.input.normalize)


# --- levels and codes -------------------------------------------------------------------------------------------------


def declared(spec: Spec, columns: Mapping[str, Sequence[str]], original: pl.LazyFrame | None) -> list[codes.Declared]:
    """What is declared of the quasi-identifiers. `columns`: those of each in the table that is checked. `original`: the
    table that it was made of, where that is at hand; hierarchies of builders are over its values, and rare values are
    counted in it. Raises what reading a hierarchy does."""
    declarations = []
    for name in codes.declared_in(spec):
        definition = spec.quasi_identifiers[name]
        of_file = isinstance(definition.hierarchy, Path)
        by_leaf = original is not None and definition.type == "categorical" and spec.output.categorical == "bounds"
        tree = roles.all_leaves(spec, original, name) if of_file or by_leaf else None
        counted = original is not None and isinstance(definition.hierarchy, Rare)
        counts = codes.values_of(original, name, spec) if original is not None and counted else None
        declarations.append(codes.Declared(name, columns[name], definition, tree, counts))
    return declarations


# --- synthetic tables -------------------------------------------------------------------------------------------------


def declared_synthetic(block: Mapping[str, Any], path: str | None) -> synthetic.SyntheticManifest:
    """What the block of a manifest at `path` declares. Raises DataError for what is no such block."""
    try:
        return synthetic.SyntheticManifest.of(block)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, pl.exceptions.PolarsError):
        message = "does not say how the synthetic table was drawn, as synthesize writes it"
        raise DataError(Problem(message, file=path)) from None


def synthetic_faults(spec: Spec, manifest: synthetic.SyntheticManifest, table: pl.LazyFrame, form: str) -> list[str]:
    """How a synthetic table is not what its manifest declares over the public domain of a spec; see the check. `form`:
    of the file. Raises SpecError for a column without a domain."""
    domain = {name: synthetic.DeclaredDomain.of(public_domain(spec, name).entry()) for name in manifest.domain}
    absent = ("", *spec.missing(form).texts, *spec.input.missing)
    return list(synthetic.faults(manifest, domain, _with_points(spec, table, absent), absent))


def _with_points(spec: Spec, table: pl.LazyFrame, absent: Sequence[str]) -> pl.LazyFrame:
    """A table whose numbers are written as those of the input, with numbers as the manifest has them."""
    schema, places = table.collect_schema(), by_position(table)
    notations = {name: spec.notation_of_table(name) for name, kind in schema.items() if encode.is_text(kind)}
    cells = {name: (places[name], each) for name, each in notations.items() if each.decimal != "."}
    return table.with_columns(
        pl.when(cell.is_in(list(absent))).then(cell).otherwise(with_point(cell, each)).alias(name)
        for name, (cell, each) in cells.items()
    )
