"""The blocks of a spec that name columns, against its columns: what is required, the domains of columns, the marginals
of a synthetic table, and the tables of `tabulate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from anonymize.spec import blocks, hierarchy, notation
from anonymize.spec.base import KeyPath, Means
from anonymize.spec.columns import WITHHELD, Definition
from anonymize.spec.messages import Fault, dotted, nearest_or_all
from anonymize.spec.model import Spec
from anonymize.spec.tabulation import Tabulation


def check_domains(spec: Spec) -> Iterator[Fault]:
    """What is wrong with the domains of a spec whose patterns have been resolved as far as they can be, and with what
    `synthesize` makes of them."""
    for name in spec.domains:
        yield from _released(spec, name, ("domains", name))
        yield from _domain(spec, name, ("domains", name))
    yield from _synthesis(spec)


def in_marginals(spec: Spec) -> list[str]:
    """The columns that the list of marginals of `synthesize` names."""
    marginals = None if spec.synthesize is None else spec.synthesize.marginals
    return [name for columns in marginals for name in columns] if isinstance(marginals, tuple) else []


def _released(spec: Spec, name: str, path: KeyPath) -> Iterator[Fault]:
    """A column without a role, or that is in no release."""
    role = spec.roles().get(name)
    if role is None and spec.others == "error":
        yield Fault.of(path, f"`{name}` has no role in the spec", nearest_or_all(name, spec.roles()))
    if role in WITHHELD:
        noun = "an identifier" if role == "identifier" else "the unit"
        yield Fault.of(path, f"`{name}` is {noun}, and left out", at_key=True)


def _domain(spec: Spec, name: str, path: KeyPath) -> Iterator[Fault]:
    """Keys that contradict each other, or the column's type."""
    own = spec.domain_of(name)
    definition = spec.quasi_identifiers.get(name) or spec.sensitive.get(name)
    ranged = [key for key in ("low", "high", "bins", "whole") if getattr(own, key) is not None]
    if own.values is not None:
        compared = [spec.missing("csv", name).compared(text) for text in own.values]
        if twice := sum(count - 1 for count in Counter(compared).values()):
            yield Fault.of(path, f"{twice} of the values {'is' if twice == 1 else 'are'} listed twice")
        if ranged:
            yield Fault.of(path, f"`{ranged[0]}` is of numbers, beside `values`", key=ranged[0], at_key=True)
        if definition is not None and definition.type == "numeric" and None in map(notation.as_number, compared):
            yield Fault.of(path, "the column is numeric, and not all values are numbers")
        return
    if ranged and definition is not None and definition.type != "numeric":
        yield Fault.of(path, "a range is for numeric columns", "add `type: numeric`, or list the values")
    yield from _range(own, path)


def _range(own: blocks.ColumnDomain, path: KeyPath) -> Iterator[Fault]:
    """Ends and bins of numbers."""
    if (own.low is None) != (own.high is None):
        yield Fault.of(path, "expected both `low` and `high`")
    if own.low is None or own.high is None:
        return
    if own.high < own.low or (own.high == own.low and not (own.low.is_integer() and own.whole is not False)):
        yield Fault.of(path, "`high` has to be above `low`", key="high")
    if isinstance(own.bins, tuple) and not own.low <= own.bins[0] <= own.bins[-1] < own.high:
        yield Fault.of(path, "bins begin from `low` on and below `high`", key="bins")
    if own.whole and not (own.low.is_integer() and own.high.is_integer()):
        yield Fault.of(path, "`low` and `high` are no whole numbers", key="whole", at_key=True)


def _synthesis(spec: Spec) -> Iterator[Fault]:
    """Marginals that the method has no use for, and rows of nobody."""
    own, path = spec.synthesize, ("synthesize", "marginals")
    if own is None:
        return
    listed = isinstance(own.marginals, tuple)
    if own.method == "fixed" and not listed:
        hint = "marginals: [[age, sex], [sex, diagnosis]]"
        yield Fault(("synthesize",), "`synthesize`: the method fixed takes a list of `marginals`", hint)
    elif own.marginals is not None and (own.method not in ("aim", "fixed") or listed != (own.method == "fixed")):
        takes = "takes the most columns of one" if own.method == "aim" else "chooses its own"
        yield Fault.of(path, f"a list of marginals is of the method fixed, and {own.method} {takes}")
    for number, columns in enumerate(own.marginals if isinstance(own.marginals, tuple) else ()):
        place = (*path, number)
        for name in dict.fromkeys(columns):
            yield from _released(spec, name, place)
        if len(set(columns)) < len(columns):
            yield Fault.of(place, "a column is listed twice")
    if own.rows_per_unit > 1 and spec.unit is None:
        hint = "name the column that identifies the person a row is about: `unit: NAME`"
        yield Fault(("synthesize", "rows_per_unit"), "`synthesize.rows_per_unit`: the spec has no `unit`", hint)
    elif own.rows_per_unit > 1 and own.count == "public":
        message = "`synthesize.count`: public needs one row per individual: otherwise the number of rows is private"
        yield Fault(("synthesize", "count"), message, "`count: private`, or `rows_per_unit: 1`")


# --- tables -----------------------------------------------------------------------------------------------------------
# The tables of `tabulate` against the columns of a spec.

OWN_COLUMNS = ("count", "share", "sum", "mean", "status", "margin_95")
"""The columns that a table has beside its groups."""
_LEFT_OUT = {
    "identifier": "an identifier",
    "unit": "the unit, and says whom a row is about",
    "sampling-weight": "the sampling weight",
}
_BLOCKS = {"suppression": "suppression", "cell_keys": "cell-keys", "dp": "dp"}
"""By key, the mechanism whose settings it has."""


def check_tables(spec: Spec) -> Iterator[Fault]:
    """What is wrong with the tables of a spec whose patterns have been resolved as far as they can be."""
    tabulate = spec.tabulate
    if tabulate is None:
        return
    for key, mechanism in _BLOCKS.items():
        if getattr(tabulate, key) is not None and tabulate.mechanism != mechanism:
            message = f"`tabulate.{key}` is about `mechanism: {mechanism}`, and this one is {tabulate.mechanism}"
            yield Fault(("tabulate", key), message, "leave it out", at_key=True)
    if (record_key := tabulate.noise.record_key) is not None:
        yield from _column(spec, record_key, ("tabulate", "cell_keys", "record_key"), keys=True)
    for number, table in enumerate(tabulate.tables):
        path = ("tabulate", "tables", number)
        if len(table.measures) != 1:
            given = " and ".join(table.measures) or "none of them"
            yield Fault.of(path, f"a table has one of count, share, sum and mean, and this one has {given}")
        for place, name in enumerate(table.by):
            inner = (*path, "by", place)
            if name in table.by[:place]:
                yield Fault(inner, f"`{dotted(path)}`: `{name}` is listed twice")
            yield from _column(spec, name, inner)
            yield from _group(spec, tabulate, name, inner)
        for key, column in (("sum", table.sum), ("mean", table.mean)):
            if column is not None:
                yield from _column(spec, column, (*path, key))
                yield from _measured(spec, tabulate, column, (*path, key))
    if tabulate.mechanism == "suppression":
        yield from _cycles(tabulate)
        yield from _empty_sums(tabulate)
    if tabulate.rows_per_unit > 1 and tabulate.once(spec.unit) and tabulate.counts:
        message = "individuals are counted, and one of several rows may be in several groups"
        hint = "`counted: rows` counts up to so many rows of each; with `rows_per_unit: 1` individuals are counted"
        yield Fault.of(("tabulate", "dp", "rows_per_unit"), message, hint)


def _empty_sums(tabulate: Tabulation) -> Iterator[Fault]:
    """Sums by groups that no table counts, where groups of 0 are to be hidden: a sum of 0 tells of them."""
    if tabulate.rules.zeros == "publish":
        return
    known = [set(table.by) for table in tabulate.tables if table.sum is None]
    for number, table in enumerate(tabulate.tables):
        if table.sum is not None and not any(set(table.by) <= each for each in known):
            message = "`zeros: suppress` hides groups of 0 by their counts, and none is by these columns"
            hint = f"add a table that counts: `{{by: [{', '.join(table.by)}], count: true}}`"
            yield Fault.of(("tabulate", "tables", number, "sum"), message, hint)


def _cycles(tabulate: Tabulation) -> Iterator[Fault]:
    """Tables of one measure that go round in a circle, such as by [a, b], [b, c] and [a, c]: what blanks protect is
    derived from the totals that tables have in common, which is all that they tell together only where the tables
    make a tree (Beeri, Fagin, Maier and Yannakakis 1983; Dobra and Fienberg 2000). A mean counts as well."""
    measured = [table.by for table in tabulate.tables if table.column is None or table.measure == "mean"]
    by_column = [[each.by for each in tabulate.tables if each.column == name] for name in tabulate.measured]
    for groups in (measured, *by_column):
        if circle := reduced(groups):
            named = "; ".join(f"[{', '.join(each)}]" for each in circle)
            together = ", ".join(dict.fromkeys(name for each in circle for name in each))
            message = f"the tables by {named} form a circle, and together reveal more than blanks hide"
            hint = f"leave one of them out, or make one table of all: `by: [{together}]`; or `mechanism: cell-keys`"
            yield Fault.of(("tabulate", "tables"), message, hint)


def reduced(groups: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """What is left of sets of columns once columns that are in one set alone, and sets within others, are taken out
    again and again: nothing where the sets make a tree (Graham's reduction).

    >>> reduced([("a", "b"), ("b", "c"), ("c", "d")])
    []
    >>> reduced([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    [('a', 'b'), ('b', 'c'), ('a', 'c')]
    """
    left, before = [frozenset(each) for each in groups], None
    while left != before:
        before = left
        counts = Counter(name for each in left for name in each)
        shared = [frozenset(name for name in each if counts[name] > 1) for each in left]
        distinct = list(dict.fromkeys(filter(None, shared)))
        left = [each for each in distinct if not any(each < other for other in distinct)]
    return [group for group in map(tuple, groups) if any(set(group) >= each for each in left)]


def _column(spec: Spec, name: str, path: KeyPath, *, keys: bool = False) -> Iterator[Fault]:
    """A column without a role, or with one that is not tabulated; what has record `keys` may have any."""
    roles = spec.roles()
    if name not in roles and spec.others == "error":
        yield Fault.of(path, f"`{name}` has no role in the spec", nearest_or_all(name, roles))
    if not keys and (role := roles.get(name)) in _LEFT_OUT:
        yield Fault.of(path, f"`{name}` is {_LEFT_OUT[role]}", "no table is made of it")


def _group(spec: Spec, tabulate: Tabulation, name: str, path: KeyPath) -> Iterator[Fault]:
    """A column whose groups would be others than its hierarchy or its bins say, or have a name that is taken."""
    if name in OWN_COLUMNS:
        hint = f"rename the column; tables have {', '.join(OWN_COLUMNS)}"
        yield Fault.of(path, f"a table has a column `{name}` of its own", hint)
    if name in tabulate.measured:
        yield Fault.of(path, f"`{name}` is summed by another table, and cannot make groups as well")
    definition = spec.quasi_identifiers.get(name)
    if definition is None:
        return
    coded = {
        "round": definition.round,
        "top": definition.top,
        "bottom": definition.bottom,
        "levels: {max}": None if definition.levels is None else definition.levels.max,
        "hierarchy: {rare}": definition.hierarchy if isinstance(definition.hierarchy, hierarchy.Rare) else None,
    }
    for key in (key for key, value in coded.items() if value is not None):
        hint = "`level`, or `bins` of numbers, say what the groups are"
        yield Fault.of(path, f"`{name}` has `{key}`, by which no groups are made", hint)


def _measured(spec: Spec, tabulate: Tabulation, name: str, path: KeyPath) -> Iterator[Fault]:
    """A column to be summed that is said to have categories, or by a mechanism that counts alone."""
    definition: Definition | None = spec.quasi_identifiers.get(name) or spec.sensitive.get(name)
    if definition is not None and definition.type != "numeric":
        yield Fault.of(path, f"`{name}` is categorical", f"add `type: numeric` to `{name}`")
    if tabulate.mechanism == "cell-keys":
        hint = "`mechanism: suppression` and `mechanism: dp` protect sums and means"
        yield Fault.of(path, "cell keys perturb counts and shares alone", hint)


def check_privacy(spec: Spec) -> Iterator[Fault]:
    """What is wrong with what is required of a release."""
    yield from _accepted(spec)
    yield from _combinations(spec)
    if spec.privacy.l is not None and not spec.sensitive:
        hint = "list the sensitive columns under `sensitive:`"
        yield Fault(("privacy", "l"), "`privacy.l` needs a sensitive attribute, and there is none", hint, at_key=True)
    for position, entry in enumerate(spec.privacy.models):
        if entry.attribute is not None and entry.attribute not in spec.sensitive:
            message = f"`{entry.attribute}` is not a sensitive attribute"
            known = nearest_or_all(entry.attribute, spec.sensitive)
            yield Fault.of(("privacy", "models", position, "attribute"), message, known)
        if (name := entry.parameters.name_of(Means.PROTECTED)) is not None:
            values = entry.parameters.given(Means.PROTECTED)
            yield from _protected(spec, ("privacy", "models", position, name), values or ())


def _combinations(spec: Spec) -> Iterator[Fault]:
    """Combinations of columns that are no quasi-identifiers, or of which no more is asked than of all together."""
    for position, each in enumerate(spec.privacy.combinations):
        path: KeyPath = ("privacy", "combinations", position)
        if (each.columns is None) == (each.size is None):
            yield Fault.of(path, "expected one of `columns` and `size`", at_key=True)
        for index, name in enumerate(each.columns or ()):
            if name not in spec.quasi_identifiers:
                known = nearest_or_all(name, spec.quasi_identifiers)
                yield Fault.of((*path, "columns", index), f"`{name}` is not a quasi-identifier", known)
        if each.size is not None and each.size > len(spec.quasi_identifiers):
            yield Fault.of((*path, "size"), f"there are {len(spec.quasi_identifiers)} quasi-identifiers")
        if spec.privacy.k is not None and each.k <= spec.privacy.k:
            message = "requires no more than `privacy.k` does of all quasi-identifiers"
            yield Fault.of((*path, "k"), message, "take it out, or raise it")


def _accepted(spec: Spec) -> Iterator[Fault]:
    """Columns that may follow from a quasi-identifier, and do not pass through."""
    passing, roles = spec.privacy.passing, spec.roles()
    kept = [column for column, role in roles.items() if role in ("insensitive", "sampling-weight", "target")]
    for position, name in enumerate(() if passing is None else passing.accept_derived):
        if name not in kept and (name in roles or spec.others != "insensitive"):
            path = ("privacy", "passing", "accept_derived", position)
            yield Fault.of(path, f"`{name}` does not pass through", nearest_or_all(name, kept))


def _protected(spec: Spec, path: KeyPath, values: tuple[str, ...]) -> Iterator[Fault]:
    """Values that are protected, and mean missing."""
    missing = spec.missing("csv")
    for position, value in enumerate(values):
        if value in missing:
            message = f'"{value}" means missing (`input.missing`), and is not protected'
            yield Fault.of((*path, position), message, "take it out of `input.missing`, or out of `values`")
