"""Counts and sums with noise under differential privacy, whose totals agree.

Guarantees: Whatever an attacker knows, whether one individual was in the table changes the probability of any output by
at most a factor of e^epsilon, up to delta: `privacy.differential`, for all tables of a run together. An individual is a
row, or whoever the `unit` identifies, of whom at most `rows_per_unit` rows, drawn at random, are counted. Neighbouring
tables differ by one individual. With one row of each, counts are of individuals; with more they are of rows (`counted:
rows`), as an individual in several groups would otherwise count once in their total.

How: The groups are those of the public domain (`domains`, the file of a hierarchy, `bins`), not only those that occur;
a value outside it is an error (3). Every combination of levels of the columns, from the finest groups to the grand
total, is counted with discrete Gaussian noise (opendp), each with the same share of the budget in zero-concentrated
differential privacy (rho); one that several tables need is counted once. Numbers that are summed are clipped to their
public bounds, `domains: {NAME: {low, high}}`, and taken as distances from the middle of these.

Totals: Weighted least squares combine all measurements into one set of values in which every total is the sum of its
parts. Counts then become whole numbers that are not negative and have the same total: what lies below 0 is taken from
all others alike, and remainders are rounded up from the largest. A table whose columns are all in another one is
derived from it, so that their totals agree; other tables have the grand total in common, and totals over columns that
they share may differ by rounding. Sums are rounded in the same way, but may be negative, and the sum of a small group
may lie outside what is possible. A mean is a sum divided by a count, within the bounds, and blank where the count is
below 1. A count of 0, or a mean at one of the bounds, may be the work of the noise, and is no more exact than other
figures.

Accuracy: `noise_sd`, of each table in the manifest and the report, is the standard deviation of the noise of one figure
as it was drawn, before totals are made to agree: that of a count, of a share (over the total), or of a sum. For a mean
it is the largest that the standard deviation can be, at a mean equal to one of the bounds, times the number of people
in the group. In each file, `margin_95` is half the width of the 95 % interval of a figure, 1.96 standard deviations;
for a mean it follows from what its group shows. It describes the noise before totals are made to agree and negative
counts are set to 0: a total over many nearly empty groups may be further off. Sums, shares and means are rounded to one
decimal more than the first digit of their margin, shares and means to `digits` where that is given. All of this is
checked in the written files: margins and `noise_sd` against the measurements of the manifest, decimals against margins,
and the margin of a mean against what its group allows, as the number of people in it is not published. On average,
least squares bring figures closer to the truth. Errors by clipping, and by rows beyond `rows_per_unit`, come on top,
and nothing published says how large they are. The run warns of tables whose typical figure (the median) is below its
margin, and of means whose margins are wider than the bounds.

Seed: None: noise comes from the operating system, and reruns differ. Each rerun spends its budget again; `--budget`
keeps the account.

Does not bound: What is true of a whole group, such as that everybody in it is ill; nor what several runs reveal, whose
budgets add up.

Reference: C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020. M. Hay et
al., Boosting the accuracy of differentially private histograms through consistency, VLDB 2010.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.numeric import Numeric
from anonymize.domain.public import PublicDomain, fractions, leaves_of, public_domain
from anonymize.dp.mechanisms import require, rows_that_count
from anonymize.errors import Caution, Problem, SpecError, counted
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.spec.model import EpsilonDelta
from anonymize.spec.tabulation import Mechanism, TabulatedMeasure, Tabulation, sums_called
from anonymize.table import Attribute, Table
from anonymize.table.read import all_made
from anonymize.tabulating.cells import Floats, GroupedColumn, Ints, TableGrid
from anonymize.tabulating.consistency import ConsistentValues, DrawnValues, Finest, whole_counts, whole_sums
from anonymize.tabulating.counting import numbers_of, reading
from anonymize.tabulating.suppression import COUNTS, HAVING, groups_of, is_count
from anonymize.tabulating.written import MARGIN, Charging, ShownTable, Tabulated, ratios, rounded, supported

ID: Mechanism = "dp"
ROWS, PRESENT = "rows", " present"
"""What a manifest calls the measure of rows, and how that of who has a number in a column ends."""
MOST_TIMES = 100.0
"""How many times smaller noise a larger epsilon is proposed for, at most."""
SUM_STEPS = 1 << 20
"""Into so many steps the range of a column that is summed is divided; noise is a whole number of them."""


# --- groups of the public domain --------------------------------------------------------------------------------------


def public_grid(spec: Spec, tabulate: Tabulation, table: Table) -> TableGrid:
    """The columns that tables group by, over their public domains. Raises SpecError for a column without one, DataError
    for values outside it."""
    attributes = {each.name: each for each in table.attributes}
    columns = all_made(tabulate.grouped_by, lambda name: _column(spec, tabulate.total, attributes[name]), table.source)
    return TableGrid.over(columns, tabulate)


def _column(spec: Spec, total: str, attribute: Attribute) -> GroupedColumn:
    domain = public_domain(spec, attribute.name)
    leaf = leaves_of(attribute.domain, domain.codes, domain.size - 1 if domain.missing else -1)
    domain.check(leaf[attribute.codes], _broken(attribute))
    paths = list(_paths(spec, attribute, domain))
    ends = [(*path, total) for path in paths]
    if domain.missing:
        ends.append((spec.input.missing_text, total))
    return GroupedColumn.of_paths(attribute.name, ends, leaf[attribute.codes])


def _broken(attribute: Attribute) -> NDArray[np.bool_] | None:
    """(rows,) which values are numbers with a fraction; None of a column of texts."""
    if not isinstance(attribute.domain, Numeric):
        return None
    broken, missing = fractions(attribute.domain.values), attribute.domain.missing
    return (broken if missing is None else np.insert(broken, missing, False))[attribute.codes]


def _paths(spec: Spec, attribute: Attribute, domain: PublicDomain) -> Iterator[tuple[str, ...]]:
    """The labels above each value of a domain, from its own on, without the total: those of a hierarchy's file."""
    definition = spec.quasi_identifiers[attribute.name]
    if domain.bins is not None:
        yield from ((label,) for label in domain.bins.labels)
    elif isinstance(definition.hierarchy, Path) and not isinstance(attribute.domain, Numeric):
        known, least = attribute.hierarchy.paths(), max(definition.level or 0, definition.least_level)
        compared = spec.missing("csv", attribute.name).compared
        for value in domain.values:
            labels = (value, *known[compared(value)][1:])
            yield labels[least:-1] or labels[-1:]
    else:
        yield from ((value,) for value in domain.values)


# --- what is measured -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicBounds:
    """The numbers between which those of a column are clipped, and how wide a step of the noise is."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """What distances are from."""
        return (self.low + self.high) / 2

    @property
    def step(self) -> float:
        """The width that the noise counts in."""
        return (self.high - self.low) / SUM_STEPS or 1.0

    def steps(self, numbers: Floats) -> Floats:
        """How many steps each number, clipped, is from the middle; nan of missing ones."""
        return np.rint((np.clip(numbers, self.low, self.high) - self.middle) / self.step)


def bounds_of(spec: Spec, name: str) -> PublicBounds:
    """Those that the spec declares of a column. Raises SpecError where it declares none."""
    own, definition = spec.domain_of(name), spec.quasi_identifiers.get(name)
    if own.low is not None and own.high is not None:
        return PublicBounds(own.low, own.high)
    if definition is not None and definition.domain is not None:
        return PublicBounds(*definition.domain)
    hint = f"what numbers there may be, and not what there are: `domains: {{{name}: {{low: 0, high: 100000}}}}`"
    raise SpecError(spec.problem(("domains",), f"column {name!r} is summed, and has no public bounds", hint))


@dataclass(frozen=True)
class MeasuredLevels:
    """The groups of one measure at one level of each of some columns, which part the rows."""

    name: str
    columns: tuple[tuple[str, int], ...]

    def cells(self, grid: TableGrid) -> Ints:
        """(rows,) the cell of each row."""
        return grid.cell_of(dict(self.columns))


def levels_of(grid: TableGrid, groups: Mapping[str, Sequence[Sequence[str]]]) -> list[MeasuredLevels]:
    """All that the tables need, each once. A column at the total is as good as none. `groups`: by measure, what its
    tables group by."""
    made: dict[MeasuredLevels, None] = {}
    heights = {each.name: len(each.levels) for each in grid.columns}
    for name, several in groups.items():
        for by in several:
            for levels in product(*(range(heights[column]) for column in by)):
                below = [
                    (column, level) for column, level in zip(by, levels, strict=True) if level < heights[column] - 1
                ]
                made[MeasuredLevels(name, tuple(sorted(below)))] = None
    return list(made)


# --- the tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrivateRun:
    """A run: the grid of the public domain, what each row counts, and how many rows of one individual do."""

    spec: Spec
    tabulate: Tabulation
    grid: TableGrid
    table: Table
    kept: NDArray[np.bool_]

    @cached_property
    def rows(self) -> int:
        """The most rows of one individual."""
        return 1 if self.table.units is None else self.tabulate.rows_per_unit

    @cached_property
    def names(self) -> list[str]:
        """The measures: rows, and of each summed column its sum and who has a number."""
        measured = [each for name in self.tabulate.measured for each in (name, f"{name}{HAVING}")]
        return [*([COUNTS] if groups_of(self.tabulate, COUNTS) else []), *measured]

    @cached_property
    def bounds(self) -> dict[str, PublicBounds]:
        """Of each summed column."""
        return {name: bounds_of(self.spec, name) for name in self.tabulate.measured}

    def amounts(self, name: str) -> Floats:
        """(rows,) what each row adds to a measure; nothing of rows that do not count."""
        column = name.removesuffix(HAVING)
        if name == COUNTS:
            return self.kept.astype(np.float64)
        numbers = numbers_of(self.table, column)
        present = self.kept & ~np.isnan(numbers)
        return np.where(present, 1.0 if is_count(name) else self.bounds[column].steps(numbers), 0.0)

    def sensitivity(self, name: str) -> float:
        """By how much a measure differs, in L2, with one individual more."""
        return float(self.rows * (1 if is_count(name) else SUM_STEPS // 2))

    def digits(self, margins: Sequence[float | None]) -> int | None:
        """The decimals of shares or means: those of the spec, or as many as their margins leave."""
        return supported(margins) if self.tabulate.digits is None else self.tabulate.digits

    def groups(self, name: str) -> list[tuple[str, ...]]:
        """What the tables of a measure group by."""
        return groups_of(self.tabulate, name if name == COUNTS else name.removesuffix(HAVING))


def check(spec: Spec, tabulate: Tabulation, of: tuple[TableGrid, Table] | None) -> None:
    """Raises what `run` raises before it draws: UsageError without the library, SpecError for all columns without a
    public domain, or bounds. It is about the spec, whatever the table."""
    require()
    if problems := list(_undeclared(spec, tabulate)):
        raise SpecError(problems)


def _undeclared(spec: Spec, tabulate: Tabulation) -> Iterator[Problem]:
    """What is not public, at the first table that needs it."""
    own = reading(spec, tabulate)
    for number, table in enumerate(tabulate.tables):
        before = [name for each in tabulate.tables[:number] for name in (*each.by, each.column)]
        for name in (name for name in (*table.by, table.column) if name is not None and name not in before):
            try:
                public_domain(own, name) if name in table.by else bounds_of(spec, name)
            except SpecError as error:
                for problem in error.problems:
                    yield spec.problem(("tabulate", "tables", number), problem.message, problem.hint)


def run(
    spec: Spec, tabulate: Tabulation, grid: TableGrid, table: Table, secret: bytes | None, charge: Charging
) -> Tabulated:
    """The tables of a run. Everything that can fail has been tried when `charge` is called, before the first draw."""
    from anonymize.dp.mechanisms import rho_of

    check(spec, tabulate, (grid, table))
    assert spec.privacy.differential is not None
    own = PrivateRun(spec, tabulate, grid, table, rows_that_count(table.units, table.rows, tabulate.rows_per_unit))
    rho = rho_of(spec.privacy.differential.epsilon, spec.privacy.differential.delta)
    plan = levels_of(grid, {name: own.groups(name) for name in own.names})
    truth = {each: _counted(own, each) for each in plan}
    charge(rho)
    measurements, estimates = _drawn(own, plan, truth, rho)
    tables = _tables(own, estimates, {str(each["measure"]): float(str(each["sigma"])) for each in measurements})
    details = {
        "individual": spec.unit or "row",
        "rows_per_unit": own.rows,
        "neighbours": "one individual more",
        "differential": {**spec.privacy.differential.model_dump(), "rho": rho},
        "bounds": {name: [each.low, each.high] for name, each in own.bounds.items()},
        "measurements": measurements,
    }
    warnings = tuple(_swamped(tables, own.bounds, spec.privacy.differential))
    return Tabulated(tables, details, {"rows_left_out": int((~own.kept).sum())}, warnings)


def _swamped(
    tables: Sequence[ShownTable], bounds: Mapping[str, PublicBounds], spent: EpsilonDelta
) -> Iterator[Caution]:
    """The tables whose figures are lost in the noise, by what is published: those whose typical figure, the median, is
    below its margin, and those with means whose margin is wider than the bounds. `spent`: with which noise."""
    for number, table in enumerate(tables, 1):
        both = zip(table.values, table.margins or (), strict=False)
        known = np.array([(abs(each), margin) for each, margin in both if each is not None and margin is not None])
        if not len(known):
            continue
        if table.measured.measure == "mean":
            own = bounds[str(table.measured.column)]
            figure, margin = own.high - own.low, float(np.median(known[:, 1]))
            wide = int((known[:, 1] > own.high - own.low).sum())
            said = f"{MARGIN} of {wide} of {counted(len(known), 'mean')} is wider than the bounds" if wide else ""
        else:
            figure, margin = np.median(known, axis=0)
            said = f"{MARGIN} is above its typical {table.measured.measure}" if margin > figure else ""
        if said:
            text = f"table {number} by {', '.join(table.measured.by)}: noise swamps it, as {said}"
            yield Caution.of(text, f"wider groups, fewer tables or columns, or {_enough(spent, margin, figure)}")


def _enough(spent: EpsilonDelta, margin: float, figure: float) -> str:
    """Which epsilon brings a margin down to a figure, as far as one does: noise falls with the square root of rho."""
    from anonymize.dp.mechanisms import epsilon_of, rho_of

    if not figure < margin < MOST_TIMES * figure:
        return "a larger `privacy.differential.epsilon`"
    epsilon = epsilon_of(rho_of(spent.epsilon, spent.delta) * (margin / figure) ** 2, spent.delta)
    return f"`privacy: {{differential: {{epsilon: {math.ceil(epsilon * 100) / 100:g}}}}}`, by which it is no wider"


def _counted(own: PrivateRun, levels: MeasuredLevels) -> tuple[Ints, Ints]:
    """Every cell of some levels, in order, and what it comes to."""
    cells = own.grid.cells_at(dict(levels.columns))
    places = np.searchsorted(cells, levels.cells(own.grid))
    return cells, np.rint(np.bincount(places, own.amounts(levels.name), len(cells))).astype(np.int64)


def _drawn(
    own: PrivateRun, plan: Sequence[MeasuredLevels], truth: dict[MeasuredLevels, tuple[Ints, Ints]], rho: float
) -> tuple[list[dict[str, object]], dict[str, ConsistentValues]]:
    """What was drawn, as a manifest has it, and the values of each measure of which totals are sums."""
    from anonymize.dp.mechanisms import Spending, sigma_of

    spending, made = Spending(rho), []
    sums = {name: DrawnValues.over(own.grid, own.groups(name)) for name in own.names}
    for number, levels in enumerate(plan):
        sensitivity = own.sensitivity(levels.name)
        sigma = sigma_of(spending.left / (len(plan) - number), sensitivity)
        cells, true = truth[levels]
        columns = tuple(name for name, _ in levels.columns)
        noisy = spending.gaussian(true, sigma, sensitivity, of=columns)
        sums[levels.name].add(cells, noisy, sigma)
        entry = {
            "measure": _called(levels.name),
            "levels": dict(levels.columns),
            "sigma": sigma,
            "sensitivity": sensitivity,
        }
        made.append({**entry, "rho": spending.entries[-1].rho, "values": noisy.tolist()})
    return made, {name: each.estimate(own.grid, own.groups(name)) for name, each in sums.items()}


def _called(name: str) -> str:
    """What a manifest calls a measure."""
    if name == COUNTS:
        return ROWS
    return name.replace(HAVING, PRESENT) if name.endswith(HAVING) else sums_called(name)


def _tables(
    own: PrivateRun, estimates: dict[str, ConsistentValues], sigmas: Mapping[str, float]
) -> tuple[ShownTable, ...]:
    """What each table shows. `sigmas`: the standard deviation of the noise of each measure, as a manifest calls it."""
    finest = Finest.of(own.grid, own.groups(COUNTS))
    counts = finest.whole(estimates[COUNTS], whole_counts) if COUNTS in estimates else {}
    return tuple(
        _counts(own, each, counts[finest.of_table(each.by)], sigmas)
        if each.column is None
        else _sums(own, each, estimates, sigmas)
        for each in own.tabulate.tables
    )


def _counts(
    own: PrivateRun, measured: TabulatedMeasure, counts: dict[int, int], sigmas: Mapping[str, float]
) -> ShownTable:
    values = [counts[cell] for cell in own.grid.cells(measured.by).ravel().tolist()]
    noise = sigmas[ROWS]
    if measured.measure == "count":
        return ShownTable(measured, values, noise_sd=_rounded(noise), margins=_margins([noise] * len(values)))
    total = float(counts[own.grid.whole])
    margins = _margins([noise / total if total else None] * len(values))
    digits = own.digits(margins)
    shares = ratios(np.array(values, np.float64), total, digits)
    sd = _rounded(noise / total) if total else None
    return ShownTable(measured, shares, noise_sd=sd, margins=margins, digits=digits)


def _rounded_sums(
    own: PrivateRun, measured: TabulatedMeasure, estimates: dict[str, ConsistentValues], digits: int
) -> list[float]:
    """The sums of a table to so many decimals, in which totals are still the sums of their parts."""
    name, finest = str(measured.column), Finest.of(own.grid, own.groups(str(measured.column)))
    away, people, bounds = estimates[name], estimates[f"{name}{HAVING}"], own.bounds[name]
    units = (away.value * bounds.step + people.value * bounds.middle) * 10.0**digits
    whole = finest.whole(ConsistentValues(away.cells, units), whole_sums)[finest.of_table(measured.by)]
    return [rounded(whole[cell] / 10**digits, digits) for cell in own.grid.cells(measured.by).ravel().tolist()]


def _rounded(noise: float) -> float:
    """A standard deviation, to six digits."""
    return float(f"{noise:.6g}")


Z_95 = 1.959963984540054
"""The quantile of the normal distribution for 95 %."""


def _margins(noise: Iterable[float | None]) -> list[float | None]:
    """Halves of 95 % intervals, to three digits, from standard deviations."""
    return [None if each is None else float(f"{Z_95 * each:.3g}") for each in noise]


def _sums(
    own: PrivateRun, measured: TabulatedMeasure, estimates: dict[str, ConsistentValues], sigmas: Mapping[str, float]
) -> ShownTable:
    assert measured.column is not None
    cells, bounds = own.grid.cells(measured.by).ravel(), own.bounds[measured.column]
    away = estimates[measured.column].of(cells) * bounds.step
    people = estimates[f"{measured.column}{HAVING}"].of(cells)
    away_noise = sigmas[sums_called(measured.column)] * bounds.step
    people_noise = sigmas[f"{measured.column}{PRESENT}"]
    if measured.measure == "sum":
        noise = math.hypot(away_noise, bounds.middle * people_noise)
        margins = _margins([noise] * len(cells))
        digits = supported(margins)
        sums = _rounded_sums(own, measured, estimates, digits or 0)
        return ShownTable(measured, sums, noise_sd=_rounded(noise), margins=margins, digits=digits)
    means = np.clip(bounds.middle + away / np.maximum(people, 1.0), bounds.low, bounds.high)
    some = people >= 1
    own_noise = np.hypot(away_noise, np.abs(means - bounds.middle) * people_noise) / np.maximum(people, 1.0)
    margins = _margins(each if many else None for each, many in zip(own_noise.tolist(), some.tolist(), strict=True))
    digits = own.digits(margins)
    values = [rounded(mean, digits) if many else None for mean, many in zip(means.tolist(), some.tolist(), strict=True)]
    farthest = (bounds.high - bounds.low) / 2
    noise = math.hypot(away_noise, farthest * people_noise)
    return ShownTable(measured, values, noise_sd=_rounded(noise), margins=margins, digits=digits)
