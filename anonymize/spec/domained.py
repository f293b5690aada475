"""Domains of columns, and the marginals of a synthetic table, against the columns of a spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from anonymize.spec.base import KeyPath
from anonymize.spec.columns import WITHHELD
from anonymize.spec.domains import ColumnDomain
from anonymize.spec.messages import Fault, dotted, nearest_or_all
from anonymize.spec.model import Spec


def check(spec: Spec) -> Iterator[Fault]:
    """What is wrong with the domains of a spec whose patterns have been resolved as far as they can be, and with what
    `synthesize` makes of them."""
    for name in spec.domains:
        path: KeyPath = ("domains", name)
        yield from _released(spec, name, path)
        yield from _domain(spec, name, path)
    yield from _synthesis(spec)


def in_marginals(spec: Spec) -> list[str]:
    """The columns that the list of marginals of `synthesize` names."""
    marginals = None if spec.synthesize is None else spec.synthesize.marginals
    return [name for columns in marginals for name in columns] if isinstance(marginals, tuple) else []


def _released(spec: Spec, name: str, path: KeyPath) -> Iterator[Fault]:
    """A column without a role, or that is in no release."""
    role = spec.roles().get(name)
    if role is None and spec.others == "error":
        yield Fault(path, f"`{dotted(path)}`: `{name}` has no role in the spec", nearest_or_all(name, spec.roles()))
    if role in WITHHELD:
        noun = "an identifier" if role == "identifier" else "the unit"
        yield Fault(path, f"`{dotted(path)}`: `{name}` is {noun}, and left out", at_key=True)


def _domain(spec: Spec, name: str, path: KeyPath) -> Iterator[Fault]:
    """Keys that contradict each other, or the column's type."""
    own, where = spec.domain_of(name), f"`{dotted(path)}`"
    definition = spec.quasi_identifiers.get(name) or spec.sensitive.get(name)
    ranged = [key for key in ("low", "high", "bins", "whole") if getattr(own, key) is not None]
    if own.values is not None:
        compared = [spec.missing("csv", name).compared(text) for text in own.values]
        if twice := sum(count - 1 for count in Counter(compared).values()):
            yield Fault(path, f"{where}: {twice} of the values {'is' if twice == 1 else 'are'} listed twice")
        if ranged:
            yield Fault((*path, ranged[0]), f"{where}: `{ranged[0]}` is of numbers, beside `values`", at_key=True)
        if definition is not None and definition.type == "numeric" and not all(map(_is_number, compared)):
            yield Fault(path, f"{where}: the column is numeric, and not all values are numbers")
        return
    if ranged and definition is not None and definition.type != "numeric":
        yield Fault(path, f"{where}: a range is for numeric columns", "add `type: numeric`, or list the values")
    yield from _range(own, path)


def _range(own: ColumnDomain, path: KeyPath) -> Iterator[Fault]:
    """Ends and bins of numbers."""
    where = f"`{dotted(path)}`"
    if (own.low is None) != (own.high is None):
        yield Fault(path, f"{where}: expected both `low` and `high`")
    if own.low is None or own.high is None:
        return
    if own.high < own.low or (own.high == own.low and not (own.low.is_integer() and own.whole is not False)):
        yield Fault((*path, "high"), f"{where}: `high` has to be above `low`")
    if isinstance(own.bins, tuple) and not own.low <= own.bins[0] <= own.bins[-1] < own.high:
        yield Fault((*path, "bins"), f"{where}: bins begin from `low` on and below `high`")
    if own.whole and not (own.low.is_integer() and own.high.is_integer()):
        yield Fault((*path, "whole"), f"{where}: `low` and `high` are no whole numbers", at_key=True)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        yield Fault(path, f"`{dotted(path)}`: a list of marginals is of the method fixed, and {own.method} {takes}")
    for number, columns in enumerate(own.marginals if isinstance(own.marginals, tuple) else ()):
        place: KeyPath = (*path, number)
        for name in dict.fromkeys(columns):
            yield from _released(spec, name, place)
        if len(set(columns)) < len(columns):
            yield Fault(place, f"`{dotted(place)}`: a column is listed twice")
    if own.rows_per_unit > 1 and spec.unit is None:
        hint = "name the column that identifies the person a row is about: `unit: NAME`"
        yield Fault(("synthesize", "rows_per_unit"), "`synthesize.rows_per_unit`: the spec has no `unit`", hint)
    elif own.rows_per_unit > 1 and own.count == "public":
        message = "`synthesize.count`: public is of one row per individual: how many rows there are tells of people"
        yield Fault(("synthesize", "count"), message, "`count: private`, or `rows_per_unit: 1`")
