"""Unsafe groups are left blank, and further groups with them, so that nobody can derive the unsafe ones from the
totals.

Guarantees: An attacker who has all tables of a run, and knows that counts and sums of non-negative numbers are not
below 0, can narrow down the value of an unsafe group to an interval at least as wide as its rule requires, and no
further. This also holds against an attacker who is the only one counted in other blank groups of the same total and
knows their values. All counts are protected together, including those behind means: a sum divided by its mean is a
count, and no more people have a number than there are people.

Unsafe: A group of fewer than `minimum` individuals. For sums and means, and for counts of rows if there is a `unit`,
also a group in which the `n` largest contributions are more than `k` percent (`dominance`), or in which the second
largest contributor could estimate the largest contribution to within `p` percent of it (`p`). With a `unit`, all rows
of an individual are one contribution.

Individuals: With a `unit`, counts and shares are of individuals, and sums and means of rows. Blanks are protected by
totals that are sums of their groups. If individuals are in several groups of a column, totals are not sums, and such
tables of individuals are refused (3); `counted: rows` counts rows instead.

Uncertainty: A count must be uncertain up to `minimum` and down to 0. If groups of 0 are published (`zeros`), everybody
knows that a blank group is not empty: then down to 1, and in a total down to the number of its groups that are not
empty. A sum must be uncertain on either side: under the p % rule, by what is missing to `p` percent of the largest
contribution; under dominance, by what is missing to a value of which the `n` largest are `k` percent; with too few
individuals, by `range` percent of the value.

Search: Tables of at most 2,000 cells and 150 unsafe ones are solved by integer programming (Fischetti and Salazar), in
rounds. If the rounds come to an end, the total of the blank values is the smallest possible, where each value is a
share of the largest of its measure; the report says whether this was proved. Otherwise, and in larger tables, each
unsafe group in turn gets the cheapest further blanks that protect it, and blanks that have become superfluous are
published again. The tables of one measure must form a tree by the columns that they share: [a, b], [b, c] and [a, c]
form a circle, reveal more together than their common totals, and are refused. The total over everything, which is often
known from elsewhere, is never blank unless it is unsafe itself. The check then solves the linear programs anew from the
written tables.

Does not bound: What follows because counts are whole numbers: the intervals are those of real numbers. What attackers
know of other groups, such as their own share of another blank sum with several contributors. That a label without a
hierarchy occurs, and so that somebody has it. Differences between two runs, whose tables are not protected together.
How many people have no number: this is the difference between a count and the count behind a mean. What is true of
everybody in a group: a 0 discloses something about everybody in the total above it, and `zeros: suppress` blanks such
groups; a sum of a column of 0 and 1 that equals the count is not blank.

Reference: M. Fischetti, J. J. Salazar, Solving the cell suppression problem on tabular data with linear constraints,
Management Science 47(7), 2001. A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from anonymize.errors import Caution, DataError, InfeasibleError, Problem, counted
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.spec.tabulation import Mechanism, SuppressionRules, TabulatedMeasure, Tabulation, sums_called
from anonymize.table import Table
from anonymize.tabulating.cells import Bools, Equations, Floats, Ints, TableGrid
from anonymize.tabulating.counting import CellValues, count, numbers_of
from anonymize.tabulating.secondary import Layer, Pattern, Unprotected, protect
from anonymize.tabulating.written import Charging, ShownTable, Tabulated, ratios, rounded_table, with_blanks

ID: Mechanism = "suppression"
COUNTS = "\0count"
"""The measure that counts rows; any other is that of the column whose name it has, and no column has this one."""
LEAST_MINIMUM = 5
"""Individuals below whom no smaller `minimum` is proposed."""
NEARLY_ALL = 0.9
"""The share of a table that is said to be blank."""


@dataclass(frozen=True)
class Protection:
    """By cell whether it is unsafe, and how far above and below its value an attacker must be unable to exclude."""

    unsafe: Bools
    upper: Floats
    lower: Floats


def contributions(rules: SuppressionRules) -> int:
    """How many of the largest contributions the rules look at."""
    return max(2, 0 if rules.dominance is None else rules.dominance.n)


def protection(values: CellValues, rules: SuppressionRules, minimum: int, *, counts: bool) -> Protection:
    """What the rules ask of each cell of a measure. `counts`: it is one of rows, or of individuals."""
    few = (values.contributors > 0) & (values.contributors < minimum)
    around = np.maximum(rules.range / 100 * np.abs(values.value), 1.0)
    needed = minimum - values.contributors if counts else around
    unsafe, upper = few, np.where(few, needed, 0.0)
    first, second = values.largest[:, 0], values.largest[:, 1]
    if rules.p is not None:
        lacking = rules.p / 100 * first - (values.whole - first - second)
        unsafe, upper = _with(unsafe, upper, lacking)
    if rules.dominance is not None:
        top = values.largest[:, : rules.dominance.n].sum(axis=1)
        unsafe, upper = _with(unsafe, upper, 100 / rules.dominance.k * top - values.whole)
    lower = upper.copy()
    if counts:
        empty = (values.contributors == 0) if rules.zeros == "suppress" else np.zeros(len(few), np.bool_)
        unsafe = unsafe | empty
        upper[empty] = minimum
        lower = np.where(unsafe, values.value, 0.0)
    elif not values.signed:
        lower = np.minimum(lower, values.value)
    return Protection(unsafe, np.where(unsafe, upper, 0.0), np.where(unsafe, lower, 0.0))


def least(values: CellValues, rules: SuppressionRules, equations: Equations) -> Floats:
    """(cells,) the least that a blank count can be: where groups of 0 are published, whoever sees a blank one knows
    that somebody is in it, and in a total as many as it has groups with somebody."""
    known = np.minimum(values.value, 0.0 if rules.zeros == "suppress" else 1.0)
    total, before = equations.sign > 0, None
    while before is None or (known != before).any():
        before = known.copy()
        parts = np.bincount(equations.row[~total], known[equations.place[~total]], equations.count)
        np.maximum.at(known, equations.place[total], parts[equations.row[total]])
    return known


def _with(unsafe: Bools, upper: Floats, lacking: Floats) -> tuple[Bools, Floats]:
    """With the cells where something is lacking, at least 1, the last digit of the numbers."""
    short = lacking > 1e-9 * np.maximum(1.0, np.abs(upper))
    return unsafe | short, np.where(short, np.maximum(upper, np.maximum(lacking, 1.0)), upper)


# --- what is blank ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blanks:
    """Of each measure the cells that are blank and those of them that are unsafe; and how they were searched."""

    blank: dict[str, Bools]
    unsafe: dict[str, Bools]
    patterns: tuple[Pattern, ...]

    def summary(self) -> dict[str, object]:
        """What a private report says of the search."""
        return {
            "primary": sum(int(each.sum()) for each in self.unsafe.values()),
            "secondary": sum(int((self.blank[name] & ~each).sum()) for name, each in self.unsafe.items()),
            "proved": all(each.proved for each in self.patterns),
            "cost": float(sum(each.cost for each in self.patterns)),
        }


def suppress(grid: TableGrid, tabulate: Tabulation, minimum: int, values: dict[str, CellValues]) -> Blanks:
    """The blank cells of each measure. `values`: by measure, rows under `COUNTS`; those of the individuals who have a
    number in a column, under the column's name with a suffix, as `measures_of` has them.

    Raises InfeasibleError where no blanks protect a cell.
    """
    rules = tabulate.rules
    needs = {name: protection(each, rules, minimum, counts=is_count(name)) for name, each in values.items()}
    blank: dict[str, Bools] = {}
    patterns = []
    for block in _blocks(tabulate, values):
        cells = np.unique(np.concatenate([values[name].cells for name in block]))
        layers = [_layer(grid, tabulate, name, values[name], needs[name], cells) for name in block]
        cost, open_ = np.zeros(len(cells)), np.ones(len(cells), np.bool_)
        for layer, name in zip(layers, block, strict=True):
            cost[layer.cells] = np.maximum(cost[layer.cells], _cost(values[name].value))
            open_[layer.cells] &= values[name].contributors > 0
        open_[cells == grid.whole] = False
        for layer in layers:
            open_[layer.cells] |= layer.unsafe
        try:
            pattern = protect(layers, cost, open_)
        except Unprotected as error:
            raise _infeasible(tabulate, block, error.count) from None
        patterns.append(pattern)
        for layer, name in zip(layers, block, strict=True):
            blank[name] = pattern.blank[layer.cells]
    return Blanks(blank, {name: each.unsafe for name, each in needs.items()}, tuple(patterns))


def _cost(value: Floats) -> Floats:
    """(cells,) what it costs to leave a cell blank: its share of the largest value, and a thousandth for the cell
    itself. Sums and counts are on one scale so, and no cost is too small for a solver to see."""
    return np.asarray(1e-3 + np.abs(value) / max(float(np.abs(value).max(initial=0.0)), 1.0))


def is_count(name: str) -> bool:
    """Whether a measure counts, and does not sum."""
    return name == COUNTS or name.endswith(HAVING)


HAVING = "\0having"
"""What the measure of those who have a number in a column is called by, behind the column's name; no column has it."""


def measure_name(name: str) -> str:
    """What the manifest of noisy tables calls a measure."""
    if name.endswith(HAVING):
        return name.replace(HAVING, " present")
    return "rows" if name == COUNTS else sums_called(name)


def groups_of(tabulate: Tabulation, name: str) -> list[tuple[str, ...]]:
    """What the tables of a measure group by. A mean is one of its column's sums, and of those who have a number."""
    column = name.removesuffix(HAVING)
    return [
        table.by
        for table in tabulate.tables
        if (table.column is None if name == COUNTS else table.column == column)
        and (table.measure == "mean" or not name.endswith(HAVING))
    ]


def known_groups(tabulate: Tabulation, name: str) -> list[tuple[str, ...]]:
    """What an attacker may know a measure by. Who has a number is at most who there is, and often everybody, so that
    what is counted in one table says something of every other count: all of these are protected as one."""
    if not is_count(name):
        return groups_of(tabulate, name)
    return [table.by for table in tabulate.tables if table.column is None or table.measure == "mean"]


def measures_of(tabulate: Tabulation) -> list[str]:
    """The measures of all tables: rows, sums of columns, and those who have a number in a column that has means."""
    names = [COUNTS, *tabulate.measured, *(f"{column}{HAVING}" for column in tabulate.measured)]
    return [name for name in names if groups_of(tabulate, name)]


def _blocks(tabulate: Tabulation, values: dict[str, CellValues]) -> list[list[str]]:
    """The measures that have their blank cells in common: where a mean is published, the sum and the count follow from
    each other, and what is blank in one has to be so in the others; and where nobody may be seen to be missing, a sum
    of 0 would say it."""
    if tabulate.rules.zeros == "suppress":
        return [list(values)]
    tied = [name for name in values if name.endswith(HAVING)]
    together = [*tied, *(name.removesuffix(HAVING) for name in tied), *([COUNTS] if tied and COUNTS in values else [])]
    alone = [[name] for name in values if name not in together]
    return [*([together] if together else []), *alone]


def _layer(
    grid: TableGrid, tabulate: Tabulation, name: str, values: CellValues, needed: Protection, cells: Ints
) -> Layer:
    groups = [by for by in known_groups(tabulate, name) if np.isin(grid.cells(by), values.cells).all()]
    equations = grid.equations(groups, values.cells)
    known = least(values, tabulate.rules, equations) if is_count(name) else np.zeros(len(values.cells))
    # Of a count of 1 there is nothing to know but that somebody is there; of several rows of one individual, how many.
    insider = np.where((values.value > 1) | (not is_count(name)), values.sole, -1)
    return Layer(
        np.searchsorted(cells, values.cells),
        values.value,
        equations,
        needed.unsafe,
        needed.upper,
        np.maximum(needed.lower - known, 0.0),
        insider,
        values.signed,
        known,
    )


def _infeasible(tabulate: Tabulation, block: Sequence[str], count: int) -> InfeasibleError:
    """That some cells cannot be protected, whatever else is blank, and in which tables they are."""
    named = {COUNTS: "counts"} | {name: f"sums of {name}" for name in tabulate.measured}
    what = " and ".join(named[name] for name in block if name in named)
    unsafe = f"{counted(count, 'unsafe group')} can be derived even where everything else that may be is blank"
    less = "a smaller `minimum` or `p`, or `zeros: suppress`, asks for less"
    hint = f"group by fewer columns, or a higher `level`; {less}"
    return InfeasibleError(Problem(f"tables of {what}: {unsafe}", hint=hint))


# --- the tables -------------------------------------------------------------------------------------------------------


def check(spec: Spec, tabulate: Tabulation, of: tuple[TableGrid, Table] | None) -> None:
    """Raises what `run` raises before it searches. `of`: the table and its groups; None: the spec alone is judged."""
    if of is not None:
        _values(spec, tabulate, *of)


def _values(spec: Spec, tabulate: Tabulation, grid: TableGrid, table: Table) -> dict[str, CellValues]:
    """What each measure comes to. Raises DataError for totals that are no sums, InfeasibleError for too few
    individuals."""
    _check_additive(spec, tabulate, grid, table)
    values = {}
    for name in measures_of(tabulate):
        numbers = numbers_of(table, None if name == COUNTS else name.removesuffix(HAVING))
        numbers = np.where(np.isnan(numbers), np.nan, 1.0) if is_count(name) else numbers
        once, several = tabulate.once(spec.unit), contributions(tabulate.rules)
        groups = groups_of(tabulate, name) if once else known_groups(tabulate, name)
        values[name] = count(grid, groups, numbers, table.units, several, once=once and name == COUNTS)
    _check_many(grid, tabulate, tabulate.rules.minimum or spec.fewest, values)
    return values


def run(
    spec: Spec, tabulate: Tabulation, grid: TableGrid, table: Table, secret: bytes | None, charge: Charging
) -> Tabulated:
    """The tables of a run, with blanks. Raises InfeasibleError as `suppress` does."""
    minimum = tabulate.rules.minimum or spec.fewest
    values = _values(spec, tabulate, grid, table)
    blanks = suppress(grid, tabulate, minimum, values)
    tables = tuple(rounded_table(_table(grid, each, values, blanks), tabulate.digits) for each in tabulate.tables)
    warnings = (*_warnings(table, tabulate), *_nearly_blank(tables, minimum))
    return Tabulated(tables, {"minimum": minimum}, blanks.summary(), warnings)


def _nearly_blank(tables: Sequence[ShownTable], minimum: int) -> Iterator[Caution]:
    """The tables of which hardly anything is left. `minimum`: below which a group is unsafe."""
    for number, table in enumerate(tables, 1):
        blank, groups = sum(each is None for each in table.values), len(table.values)
        if blank >= NEARLY_ALL * groups:
            said = f"table {number} by {', '.join(table.measured.by)}: {blank:,} of {groups:,} groups are blank"
            wider = "group by fewer columns, by wider `bins`, or by a higher `level`"
            less = f"; or ask for less than `suppression: {{minimum: {minimum}}}`" if minimum > LEAST_MINIMUM else ""
            yield Caution.of(said, f"{wider}{less}")


def _check_many(grid: TableGrid, tabulate: Tabulation, minimum: int, values: dict[str, CellValues]) -> None:
    """Raises InfeasibleError where fewer individuals than the minimum are counted in all: then each 0 next to a blank
    tells where they are."""
    if tabulate.rules.zeros != "publish":
        return
    for name, each in values.items():
        there = int(each.contributors[each.places(np.array([grid.whole]))][0])
        if 0 < there < minimum:
            what = "are counted" if name == COUNTS else f"have a number in {name.removesuffix(HAVING)}"
            message = f"fewer individuals than `minimum: {minimum}` {what}, and groups of 0 reveal where they are"
            less = f"`tabulate: {{suppression: {{minimum: {there}}}}}` at most"
            few = "no tables of so few" if there < LEAST_MINIMUM else less
            raise InfeasibleError(Problem(message, hint=f"{few}; `zeros: suppress` hides where they are"))


def _check_additive(spec: Spec, tabulate: Tabulation, grid: TableGrid, table: Table) -> None:
    """Raises DataError where individuals are counted who are in several groups of a column: a total is then no sum of
    its groups, which is what blanks are protected by."""
    if table.units is None or not tabulate.once(spec.unit):
        return
    by = {name for each in groups_of(tabulate, COUNTS) for name in each}
    hint = "`tabulate: {counted: rows}`; or `mechanism: cell-keys`, of which totals are no sums"
    why = "in several of its groups, whose total is not their sum"
    columns = [f"column {name!r}: {counted(many, 'individual')} {why}" for name, many in grid.several(table.units, by)]
    if columns:
        raise DataError([Problem(each, table.source.name, hint=hint) for each in columns])


def _warnings(table: Table, tabulate: Tabulation) -> tuple[Caution, ...]:
    """That nothing hides how many rows one individual has, where these are counted and individuals are protected."""
    counts_rows = table.units is not None and tabulate.counted != "individuals" and bool(groups_of(tabulate, COUNTS))
    if not counts_rows or tabulate.rules.p is not None or tabulate.rules.dominance is not None:
        return ()
    said = "rows are counted, and no rule hides how many of them one individual has: `minimum` counts individuals alone"
    return (Caution.of(said, "`suppression: {p: 10}` protects an individual's rows as it does contributions to sums"),)


def _table(grid: TableGrid, measured: TabulatedMeasure, values: dict[str, CellValues], blanks: Blanks) -> ShownTable:
    """A table with its blanks; a mean of nobody is none."""
    name = measured.column or COUNTS
    own, cells = values[name], grid.cells(measured.by).ravel()
    place, empty = own.places(cells), None
    value = own.value[place]
    if measured.measure == "share":
        values_shown: Sequence[float | int] = ratios(value, float(own.value.max(initial=0.0)))
    elif measured.measure == "mean":
        having = values[f"{name}{HAVING}"]
        people = having.value[having.places(cells)]
        values_shown, empty = ratios(value / own.scale, people), people == 0
    else:
        values_shown = own.published(value)
    return ShownTable(measured, *with_blanks(values_shown, blanks.blank[name][place], empty))
