"""The data constraint rules of a spec against the hierarchies of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anonymize.domain.rules import UNKNOWN, resolve
from anonymize.errors import Caution, Problem, SpecError
from anonymize.spec import Spec
from anonymize.table.columns import Attribute


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
            resolved = resolve(attribute.rules, attribute.generalization)
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
