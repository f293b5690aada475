"""The tables of `tabulate` against the columns of a spec."""

from __future__ import annotations

from collections.abc import Iterator

from anonymize.spec.base import KeyPath
from anonymize.spec.columns import Definition
from anonymize.spec.hierarchy import Rare
from anonymize.spec.messages import Fault, dotted, nearest_or_all
from anonymize.spec.model import Spec
from anonymize.spec.tabulation import Tabulation

OWN_COLUMNS = ("count", "share", "sum", "mean", "status")
"""The columns that a table has beside its groups."""
_LEFT_OUT = {
    "identifier": "an identifier",
    "unit": "the unit, and says whom a row is about",
    "sampling-weight": "the sampling weight",
}
_BLOCKS = {"suppression": "suppression", "cell_keys": "cell-keys", "dp": "dp"}
"""By key, the mechanism whose settings it has."""


def check(spec: Spec) -> Iterator[Fault]:
    """What is wrong with the tables of a spec whose patterns have been resolved as far as they can be."""
    tabulate = spec.tabulate
    if tabulate is None:
        return
    for key, mechanism in _BLOCKS.items():
        if getattr(tabulate, key) is not None and tabulate.mechanism != mechanism:
            message = f"`tabulate.{key}` is about `mechanism: {mechanism}`, and this one is {tabulate.mechanism}"
            yield Fault(("tabulate", key), message, "leave it out", at_key=True)
    if (key := tabulate.noise.record_key) is not None:
        yield from _column(spec, key, ("tabulate", "cell_keys", "record_key"), keys=True)
    for number, table in enumerate(tabulate.tables):
        path: KeyPath = ("tabulate", "tables", number)
        where = f"`{dotted(path)}`"
        if len(table.measures) != 1:
            given = " and ".join(table.measures) or "none of them"
            yield Fault(path, f"{where}: a table has one of count, share, sum and mean, and this one has {given}")
        for place, name in enumerate(table.by):
            inner: KeyPath = (*path, "by", place)
            if name in table.by[:place]:
                yield Fault(inner, f"{where}: `{name}` is listed twice")
            yield from _column(spec, name, inner)
            yield from _group(spec, tabulate, name, inner)
        for key, column in (("sum", table.sum), ("mean", table.mean)):
            if column is not None:
                yield from _column(spec, column, (*path, key))
                yield from _measured(spec, tabulate, column, (*path, key))


def _column(spec: Spec, name: str, path: KeyPath, *, keys: bool = False) -> Iterator[Fault]:
    """A column without a role, or with one that is not tabulated; what has record `keys` may have any."""
    roles = spec.roles()
    if name not in roles and spec.others == "error":
        yield Fault(path, f"`{dotted(path)}`: `{name}` has no role in the spec", nearest_or_all(name, roles))
    if not keys and (role := roles.get(name)) in _LEFT_OUT:
        yield Fault(path, f"`{dotted(path)}`: `{name}` is {_LEFT_OUT[role]}", "no table is made of it")


def _group(spec: Spec, tabulate: Tabulation, name: str, path: KeyPath) -> Iterator[Fault]:
    """A column whose groups would be others than its hierarchy or its bins say, or have a name that is taken."""
    where = f"`{dotted(path)}`"
    if name in OWN_COLUMNS:
        message = f"{where}: a table has a column `{name}` of its own"
        yield Fault(path, message, f"rename the column; tables have {', '.join(OWN_COLUMNS)}")
    if name in tabulate.measured:
        yield Fault(path, f"{where}: `{name}` is summed by another table, and cannot make groups as well")
    definition = spec.quasi_identifiers.get(name)
    if definition is None:
        return
    coded = {
        "round": definition.round,
        "top": definition.top,
        "bottom": definition.bottom,
        "levels: {max}": None if definition.levels is None else definition.levels.max,
        "hierarchy: {rare}": definition.hierarchy if isinstance(definition.hierarchy, Rare) else None,
    }
    for key in (key for key, value in coded.items() if value is not None):
        hint = "`level`, or `bins` of numbers, say what the groups are"
        yield Fault(path, f"{where}: `{name}` has `{key}`, by which no groups are made", hint)


def _measured(spec: Spec, tabulate: Tabulation, name: str, path: KeyPath) -> Iterator[Fault]:
    """A column to be summed that is said to have categories, or by a mechanism that counts alone."""
    definition: Definition | None = spec.quasi_identifiers.get(name) or spec.sensitive.get(name)
    if definition is not None and definition.type != "numeric":
        yield Fault(path, f"`{dotted(path)}`: `{name}` is categorical", f"add `type: numeric` to `{name}`")
    if tabulate.mechanism == "cell-keys":
        message = f"`{dotted(path)}`: cell keys perturb counts and shares alone"
        yield Fault(path, message, "`mechanism: suppression` and `mechanism: dp` protect sums and means")
