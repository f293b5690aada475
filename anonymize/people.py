"""Populations that privacy models name, for a check: as text, with what it needs to read the cells of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from anonymize.spec import Spec
from anonymize.table import Source
from anonymize.table.population import population_trees
from anonymize.verify import Check, People, Shown


def with_people(
    spec: Spec, checks: Sequence[Check], shown: Mapping[str, Sequence[str]], opened: ExitStack
) -> list[Check]:
    """The checks, each with the population that it is about. `shown`: the columns of each quasi-identifier in the
    table that is checked. The tables stay open as long as `opened`. Raises DataError where one cannot be read."""
    found: dict[str, People] = {}
    for path in dict.fromkeys(str(check.parameters["population"]) for check in checks if _named(check)):
        source = opened.enter_context(Source.open(spec, path))
        source.check()
        trees = population_trees(spec, source.scan())
        columns = [
            Shown(name, shown[name], definition.type == "numeric", trees.get(name))
            for name, definition in spec.quasi_identifiers.items()
        ]
        output = spec.output
        found[path] = People(source.scan(), columns, spec.input.missing, output.suppressed, output.interval)
    return [replace(check, people=found.get(str(check.parameters.get("population")))) for check in checks]


def _named(check: Check) -> bool:
    return "population" in check.parameters
