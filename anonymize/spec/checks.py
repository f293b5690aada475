"""What concerns several keys of a spec at once: roles, kinds of attributes, names that would collide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from anonymize.spec import block_checks, blocks, columns, hierarchy, notation, patterns, treated
from anonymize.spec.base import Entry, KeyPath, Means, Value
from anonymize.spec.messages import Fault, dotted, nearest, nearest_or_all
from anonymize.spec.model import Spec

_NOUNS = {
    "identifier": "an identifier",
    "quasi-identifier": "a quasi-identifier",
    "sampling-weight": "the sampling weight",
    "unit": "the unit",
    "target": "a target",
}


def _noun(section: str) -> str:
    """What a column of a section of the spec, or of a role, is called."""
    role = section.removesuffix("s").replace("_", "-")
    return _NOUNS.get(role, role)


def check(spec: Spec) -> Iterator[Fault]:
    """Everything that is wrong between the keys of a spec whose keys are right each by itself."""
    yield from _roles(spec)
    yield from _undecided(spec)
    yield from _attributes(spec)
    yield from _rules(spec)
    expanded = patterns.expand(spec, _named_elsewhere(spec), lenient=True)
    yield from block_checks.check_privacy(expanded)
    yield from _targets(expanded)
    yield from selections(expanded)
    yield from treated.check(expanded)
    yield from block_checks.check_domains(expanded)
    yield from block_checks.check_tables(expanded)
    yield from _output(spec)
    weight = spec.sampling_weight
    if isinstance(weight, columns.SamplingWeight) and weight.round and weight.bands:
        message = "`sampling_weight`: weights are rounded, or put in bands"
        yield Fault(("sampling_weight", "bands"), message, "take `round` or `bands` out", at_key=True)


def _named_elsewhere(spec: Spec) -> list[str]:
    """Columns that are named besides their roles, which patterns may stand for."""
    attributes = [entry.attribute for entry in spec.privacy.models if entry.attribute is not None]
    selected = [name for selection in spec.workload.selections for name in selection]
    accepted = () if spec.privacy.passing is None else spec.privacy.passing.accept_derived
    steps = [name for step in spec.treatments for name in (*step.treated, *step.read)]
    counted = [*spec.domains, *block_checks.in_marginals(spec)]
    counted += [] if spec.tabulate is None else [*spec.tabulate.grouped_by, *spec.tabulate.measured]
    return list(dict.fromkeys([*attributes, *spec.workload.target_names, *selected, *accepted, *steps, *counted]))


# --- roles ----------------------------------------------------------------------------------------------------------


def _roles(spec: Spec) -> Iterator[Fault]:
    first: dict[str, tuple[str, KeyPath]] = {}
    for section, name, path in spec.mentions():
        before, where = first.setdefault(name, (section, path))
        if where == path or (section == "targets" and before in ("quasi_identifiers", "insensitive")):
            continue
        place = spec.place(*where)
        line = f" (line {place[0]})" if place else ""
        if before == section:
            yield Fault(path, f"column `{name}` is listed twice{line}", at_key=True)
        else:
            message = f"column `{name}` is {_noun(before)}{line} and cannot be {_noun(section)} as well"
            yield Fault(path, message, "a column has one role", at_key=True)


def _undecided(spec: Spec) -> Iterator[Fault]:
    """Columns that nobody has decided on, unless what is not listed is dropped, and they with it."""
    for position, name in enumerate(() if spec.others == "drop" else spec.undecided):
        hint = "list it under identifiers, quasi_identifiers, sensitive or insensitive; `others: drop` leaves it out"
        yield Fault(("undecided", position), f"column `{name}` is undecided", hint)


# --- attributes -----------------------------------------------------------------------------------------------------


def _all_attributes(spec: Spec) -> Iterator[tuple[KeyPath, columns.Definition]]:
    for name, quasi_identifier in spec.quasi_identifiers.items():
        yield ("quasi_identifiers", name), quasi_identifier
    for name, sensitive in spec.sensitive.items():
        yield ("sensitive", name), sensitive


def _attributes(spec: Spec) -> Iterator[Fault]:
    """Builders of hierarchies against the attribute's type."""
    for path, attribute in _all_attributes(spec):
        if not isinstance(attribute.hierarchy, Entry):
            continue
        builder = next(iter(type(attribute.hierarchy).model_fields))
        if builder == "rare" and path[0] == "sensitive":
            message = f"`{dotted(path)}`: `rare` is for quasi-identifiers"
            hint = "what is rare in a release may not be so in its input, and distances would differ"
            yield Fault((*path, "hierarchy", builder), message, hint, at_key=True)
        of_numbers = isinstance(attribute.hierarchy, hierarchy.Intervals | hierarchy.NumberBands)
        expected = "numeric" if of_numbers else "categorical"
        if attribute.type != expected:
            message = f"`{dotted(path)}`: `{builder}` is for {expected} attributes, and this one is {attribute.type}"
            hint = "add `type: numeric`" if of_numbers else "a numeric attribute takes `intervals` or `bands`"
            yield Fault((*path, "hierarchy", builder), message, hint, at_key=True)
    yield from _pools(spec)
    yield from _bins(spec)
    yield from _coded(spec)
    yield from _domains(spec)
    yield from _notations(spec)
    yield from _missing_values(spec)


def _pools(spec: Spec) -> Iterator[Fault]:
    """Labels of pools that mean something else already."""
    for name, attribute in spec.quasi_identifiers.items():
        if isinstance(attribute.hierarchy, hierarchy.Rare):
            label, path = attribute.hierarchy.rare.label, ("quasi_identifiers", name, "hierarchy", "rare", "label")
            if label == spec.output.suppressed or label in spec.missing("csv"):
                yield Fault.of(path, "means suppressed or missing already", "choose another label")


def _missing_values(spec: Spec) -> Iterator[Fault]:
    """What missing sensitive values may not count as."""
    for name, attribute in spec.sensitive.items():
        path: KeyPath = ("sensitive", name, "missing")
        numeric = attribute.type == "numeric"
        if attribute.missing == "apart":
            reason = "a class with nothing but missing values would count as fully diverse"
            message = f"apart is not done: each missing value would count as one of its own, so that {reason}"
            yield Fault.of(path, message, "uncounted, or value")
        elif attribute.missing == "value" and (numeric or attribute.hierarchy is not None):
            what = "numbers have" if numeric else "its hierarchy has"
            yield Fault.of(path, f"a missing value is no value, {what} no place for it", "leave `missing` out")


def _notations(spec: Spec) -> Iterator[Fault]:
    """How numbers are written, of attributes that are not numbers, and with one sign for two things."""
    places: list[tuple[KeyPath, str | None, str | None]] = [(("input",), spec.input.decimal, spec.input.thousands)]
    for path, attribute in _all_attributes(spec):
        given = [key for key in notation.NumberFormat.model_fields if getattr(attribute, key) is not None]
        if given and attribute.type != "numeric":
            message = "number formats apply only to numeric attributes"
            yield Fault.of((*path, given[0]), message, "add `type: numeric`", at_key=True)
        if attribute.thousands is not None:
            places.append((path, spec.notation(str(path[1])).decimal, attribute.thousands))
    for path, decimal, thousands in places:
        if decimal == thousands:
            hint = "`decimal` is the sign before fractions, `thousands` that between groups of three digits"
            yield Fault.of((*path, "thousands"), "is the sign of decimals, too", hint)


def _domains(spec: Spec) -> Iterator[Fault]:
    """Declared ranges of attributes that are not numbers."""
    for name, attribute in spec.quasi_identifiers.items():
        if attribute.domain is not None and attribute.type != "numeric":
            path = ("quasi_identifiers", name, "domain")
            yield Fault.of(path, "a domain is for numeric attributes", "add type: numeric", at_key=True)


def _bins(spec: Spec) -> Iterator[Fault]:
    """Bins against the attribute's type, and against `level`."""
    for name, attribute in spec.quasi_identifiers.items():
        path = ("quasi_identifiers", name, "bins")
        if attribute.bins is not None and attribute.type != "numeric":
            hint = "add `type: numeric`, or use `level`"
            yield Fault.of(path, "bins are for numeric attributes", hint, at_key=True)
        if attribute.bins is not None and attribute.level is not None:
            yield Fault.of(path, "cannot stand beside `level`", "choose one of them", at_key=True)


def _coded(spec: Spec) -> Iterator[Fault]:
    """Rounding, bottom and top codes against the attribute's type, its hierarchy, and each other."""
    for name, attribute in spec.quasi_identifiers.items():
        for key in ("round", "bottom", "top"):
            path: KeyPath = ("quasi_identifiers", name, key)
            if getattr(attribute, key) is None:
                continue
            if isinstance(attribute.hierarchy, hierarchy.Dates) and attribute.type != "numeric":
                yield from _coded_dates(spec, path, attribute, attribute.hierarchy)
            elif attribute.type != "numeric":
                hint, what = "add `type: numeric`", "are rounded" if key == "round" else f"and dates have a {key}"
                if key != "round":
                    hint += ", or for dates `hierarchy: {dates: [month, year]}`"
                yield Fault.of(path, f"only numbers {what}", hint, at_key=True)
            elif isinstance(getattr(attribute, key), str):
                yield Fault.of(path, "expected a number, for the attribute is numeric")
            elif key == "round":
                continue
            elif isinstance(attribute.hierarchy, hierarchy.NumberBands):
                message = "cannot be combined with `bands`, whose first and last are open"
                yield Fault.of(path, message, f"leave `{key}` out", at_key=True)
            elif isinstance(attribute.hierarchy, Path):
                hint = "give the file a label for what lies beyond, or use `intervals`"
                message = "cannot be combined with a hierarchy file: its labels would be wrong"
                yield Fault.of(path, message, hint, at_key=True)
        yield from _levels(spec, name)
        if not attribute.ends_ascend:
            yield Fault.of(("quasi_identifiers", name, "bottom"), "is not below `top`")


_DATE_CODE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-\d{2})?)?", re.ASCII)


def _coded_dates(
    spec: Spec, path: KeyPath, attribute: columns.QuasiIdentifier, dates: hierarchy.Dates
) -> Iterator[Fault]:
    """Bottom and top codes of dates: a day, or a month or a year that is a level; and what does not know them."""
    key = str(path[-1])
    if "week" in dates.levels:
        message = "cannot be combined with `week`: years of weeks begin on other days than years"
        yield Fault.of(path, message, "leave out the week, or use levels of months", at_key=True)
        return
    if key == "round":
        hint = "`levels: {min: 1}` shows nothing finer than the first of the hierarchy's levels"
        yield Fault.of(path, "only numbers are rounded", hint, at_key=True)
        return
    code = attribute.date_ends[key == "top"] or ""
    part = {4: "year", 7: "month", 10: "day"}.get(len(code), "")
    if not _DATE_CODE.fullmatch(code) or (part == "day" and not _is_day(code)):
        hint = "such as 1934, 1934-05 or 1934-05-31, whatever the format of the dates is"
        yield Fault.of(path, "expected a year, a month or a day", hint)
    elif part != "day" and part not in dates.levels:
        hint = f"give the first or the last day of it, or add the level {part}"
        yield Fault.of(path, f"a {part} is none of the hierarchy's levels", hint)
    for position, entry in enumerate(spec.privacy.models):
        if entry.parameters.given(Means.POPULATION) is not None:
            message = f"dates with a {key} code are not looked up in a population"
            yield Fault.of(path, message, f"leave out `privacy.models.{position}`, or the code", at_key=True)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _levels(spec: Spec, name: str) -> Iterator[Fault]:
    """Declared levels against each other, and against an output that would show what lies below the least one."""
    attribute, path = spec.quasi_identifiers[name], ("quasi_identifiers", name, "levels", "min")
    levels = attribute.levels
    if levels is None:
        return
    if levels.max is not None and levels.min > levels.max:
        yield Fault.of(path, "is above `max`")
    elif levels.max is not None and attribute.least_level > levels.max:
        yield Fault.of((*path[:3], "max"), "rare values are pooled at level 1")
    key, finer = ("numeric", ("mean", "median")) if attribute.type == "numeric" else ("categorical", ("set",))
    if levels.min and (form := getattr(spec.output, key)) in finer:
        hint = f"leave output.{key} out, or declare no least level"
        yield Fault.of(path, f"`output.{key}: {form}` would show what lies below it", hint)


def _rules(spec: Spec) -> Iterator[Fault]:
    for name, attribute in spec.quasi_identifiers.items():
        for position, rule in enumerate(attribute.rules):
            yield from _rule(rule, ("quasi_identifiers", name, "rules", position), attribute.type)


def _rule(rule: columns.Rule, path: KeyPath, kind: str) -> Iterator[Fault]:
    """One rule: of one kind, with values of the attribute's type."""
    if len(rule.kinds) != 1:
        yield Fault.of(path, f"expected one of {', '.join(columns.KINDS)}")
    apart, together, inner = rule.keep_apart, rule.keep_together, (*path, "keep_together")
    if apart is not None:
        yield from _values(apart, (*path, "keep_apart"), kind)
        if apart[0] == apart[1]:
            yield Fault.of((*path, "keep_apart"), "a value cannot be kept apart from itself")
    if isinstance(together, columns.RuleRange):
        if kind != "numeric":
            yield Fault.of(inner, "a range is for numeric attributes", "list the values")
        if together.from_ > together.to:
            yield Fault.of(inner, "`from` is above `to`")
    elif together is not None:
        yield from _values(together, inner, kind)
    if rule.keep is not None:
        yield from _value(rule.keep, (*path, "keep"), kind)


def _values(values: tuple[Value, ...], path: KeyPath, kind: str) -> Iterator[Fault]:
    for position, value in enumerate(values):
        yield from _value(value, (*path, position), kind)


def _value(value: Value, path: KeyPath, kind: str) -> Iterator[Fault]:
    """A value of the spec against the type of its attribute."""
    if (kind == "numeric") == isinstance(value, str):
        expected = "a number" if kind == "numeric" else "text"
        yield Fault.of(path, f"expected {expected}, for the attribute is {kind}")


# --- workload -------------------------------------------------------------------------------------------------------


def _targets(spec: Spec) -> Iterator[Fault]:
    for position, (name, given) in enumerate(zip(spec.workload.target_names, spec.workload.target_types, strict=True)):
        quasi_identifier = spec.quasi_identifiers.get(name)
        if quasi_identifier is not None and given is not None and given != quasi_identifier.type:
            path = ("workload", "targets", position, name, "type")
            hint = "a quasi-identifier's type is given where it is listed"
            yield Fault.of(path, f"the quasi-identifier `{name}` is {quasi_identifier.type}", hint)


def selections(spec: Spec) -> Iterator[Fault]:
    """What is wrong with the selections of the workload."""
    roles = spec.roles()
    for position, selection in enumerate(spec.workload.selections):
        for name, condition in selection.items():
            path: KeyPath = ("workload", "selections", position, name)
            if name not in roles:
                yield Fault(path, f"column `{name}` has no role in this spec", nearest(name, roles), at_key=True)
            elif name not in spec.quasi_identifiers:
                message = f"column `{name}` is {_noun(roles[name])}: selections are over quasi-identifiers"
                yield Fault(path, message, nearest_or_all(name, spec.quasi_identifiers), at_key=True)
            else:
                yield from _condition(condition, path, spec.quasi_identifiers[name].type)


def _condition(condition: blocks.Condition, path: KeyPath, kind: str) -> Iterator[Fault]:
    low, high = condition.from_, condition.to
    is_range = low is not None or high is not None
    if is_range == (condition.in_ is not None):
        yield Fault.of(path, "expected `in`, or one or both of `from` and `to`")
    if is_range and kind != "numeric":
        yield Fault.of(path, "`from` and `to` are for numeric attributes", "list values with `in`")
    if low is not None and high is not None and low > high:
        yield Fault.of(path, "`from` is above `to`")
    yield from _values(condition.in_ or (), (*path, "in"), kind)


# --- output ---------------------------------------------------------------------------------------------------------


def _output(spec: Spec) -> Iterator[Fault]:
    text = spec.output.suppressed
    if text in spec.missing("csv"):
        message = f'`output.suppressed`: "{text}" means missing already (`input.missing`)'
        yield Fault(("output", "suppressed"), message, "choose another text for suppressed cells")
    for key, form in (("numeric", spec.output.numeric), ("categorical", spec.output.categorical)):
        if spec.hides and form == "bounds":
            message = f"`output.suppressed: null` beside `output.{key}: bounds`: an open end is empty as well"
            yield Fault(("output", "suppressed"), message, "choose a text for suppressed cells")
    if spec.output.numeric == "bounds":
        yield from _bounds(spec, "numeric", "interval")
    if spec.output.categorical == "bounds":
        yield from _bounds(spec, "categorical", "node")


def _bounds(spec: Spec, kind: str, other: str) -> Iterator[Fault]:
    released = {name for name, role in spec.roles().items() if role not in columns.WITHHELD}
    for name, attribute in spec.quasi_identifiers.items():
        for column in (f"{name}_low", f"{name}_high", *([f"{name}_missing"] if kind == "numeric" else [])):
            if attribute.type == kind and column in released:
                message = f"`output.{kind}: bounds` makes a column `{column}`, and there is one of that name"
                yield Fault(("output", kind), message, f"choose `{other}`, or rename the column")
