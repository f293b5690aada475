"""The hierarchies of a spec's quasi-identifiers, level by level: what each level keeps, and what it is worth.

With a table every hierarchy is there. Without one those of categorical attributes that are read from a file: intervals
and builders are made of the values that occur.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.domain import build, generalization, taxonomy
from anonymize.errors import UsageError
from anonymize.metrics.research_value import leaf_rows, scaled_weights, worths
from anonymize.records import dataclass
from anonymize.spec import Rule, Spec, patterns
from anonymize.table import Attribute, Source, read


@dataclass(frozen=True)
class DescribedLevel:
    """One level of a hierarchy.

    `values`: its nodes. `occurring`: those with rows; None without a table. `research_value`: see the metric.
    `broken`: the rules that it breaks. `weights`: the lowest and the highest weight of its nodes.
    """

    values: int
    occurring: int | None
    research_value: float
    broken: tuple[Rule, ...]
    weights: tuple[float, float]


@dataclass(frozen=True)
class Described:
    """One quasi-identifier: its weight among all of them, its levels from the values to the root, and the rules that
    have no effect, with the reason."""

    name: str
    kind: str
    weight: float
    levels: tuple[DescribedLevel, ...]
    without_effect: tuple[tuple[Rule, str], ...]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        levels = [
            {
                "level": number,
                "values": level.values,
                "occurring": level.occurring,
                "research_value": level.research_value,
                "node_weights": list(level.weights),
                "broken_rules": [rule.as_json() for rule in level.broken],
            }
            for number, level in enumerate(self.levels)
        ]
        idle = [rule.as_json() | {"reason": reason} for rule, reason in self.without_effect]
        return {
            "name": self.name,
            "type": self.kind,
            "weight": self.weight,
            "levels": levels,
            "rules_without_effect": idle,
        }


def describe(spec: Spec, path: str | None, name: str | None = None) -> list[Described]:
    """One quasi-identifier or all of them, with the table at `path` or the spec's, if there is one.

    Raises UsageError for a name that is not a quasi-identifier, and where a hierarchy needs a table and there is none.
    """
    check_name(spec.quasi_identifiers, name)
    if path is None and spec.input.path is None:
        return _without_table(spec, name)
    with Source.open(spec, path) as source:
        table = read(spec, source)
        check_name([attribute.name for attribute in table.attributes], name)
        pairs = zip(table.attributes, scaled_weights(table.attributes, table.weights).tolist(), strict=True)
        return [_described(attribute, weight) for attribute, weight in pairs if name in (None, attribute.name)]


def check_name(names: Collection[str], name: str | None) -> None:
    """Raises UsageError for a name that is none of the quasi-identifiers, and that no pattern among them matches."""
    if name is not None and patterns.entry_of(names, name) is None:
        raise UsageError(f"{name!r} is not a quasi-identifier of the spec, which has {', '.join(names)}")


def _without_table(spec: Spec, name: str | None) -> list[Described]:
    """The hierarchies that do not depend on a table; UsageError where every one of them does."""
    names = spec.quasi_identifiers if name is None else [name]
    readable = [each for each in names if spec.quasi_identifiers[each].lists_categories]
    if not readable or spec.weights == "correlation":
        what = "weights: correlation" if readable else "a hierarchy that is not read from a file"
        raise UsageError(f"{what} takes a table: give --input, or input.path in the spec")
    given = any(definition.research_value is not None for definition in spec.quasi_identifiers.values())
    total = 1.0 if given else sum(definition.weight for definition in spec.quasi_identifiers.values())
    return [_described(_empty(spec, each), spec.quasi_identifiers[each].weight / total) for each in readable]


def _empty(spec: Spec, name: str) -> Attribute:
    """The attribute of a table without rows."""
    definition = spec.quasi_identifiers[name]
    assert isinstance(definition.hierarchy, Path)
    domain = build.file(name, definition.hierarchy, [], None, normalize=spec.input.normalize)
    rules = tuple(rule.named(spec.input.compared) for rule in definition.rules)
    worth = definition.research_value
    return Attribute(name, np.empty(0, np.uint8), domain, definition.weight, rules=rules, research_value=worth)


def text_for(path: str, attribute: Attribute) -> str:
    """An attribute's hierarchy as the text of a file of this name: YAML by its suffix, else CSV.

    Raises UsageError where it has weights, which CSV has no place for.
    """
    if Path(path).suffix.lower() in {".yaml", ".yml"}:
        return taxonomy.as_yaml(attribute.hierarchy)
    if (attribute.hierarchy.weights != 1).any():
        raise UsageError(f"the hierarchy of {attribute.name!r} has weights of nodes: write it to a .yaml file")
    return taxonomy.as_csv(attribute.hierarchy)


def _described(attribute: Attribute, weight: float) -> Described:
    over, rows, values = attribute.generalization, leaf_rows(attribute), worths(attribute, weight)
    weights = over.hierarchy.weights
    resolved = list(zip(attribute.rules, generalization.resolve(attribute.rules, over), strict=True))
    broken = [(rule, each.broken(over.hierarchy)) for rule, each in resolved if not isinstance(each, str)]
    levels = tuple(
        DescribedLevel(
            values=len(np.unique(nodes)),
            occurring=len(np.unique(nodes[rows > 0])) if rows.any() else None,
            research_value=float(values[number]),
            broken=tuple(rule for rule, by_level in broken if by_level[number]),
            weights=(float(weights[nodes].min()), float(weights[nodes].max())),
        )
        for number, nodes in enumerate(over.hierarchy.levels)
    )
    idle = tuple((rule, each) for rule, each in resolved if isinstance(each, str))
    return Described(attribute.name, attribute.domain.kind, weight, levels, idle)
