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
below 1. A count of 0, or a mean at a bound, may be the work of the noise, and is no more exact than other figures.

Accuracy: `noise_sd`, of each table in the manifest and the report, is the standard deviation of the noise of one figure
as it was drawn: that of a count, of a share (over the total), or of a sum; for a mean the largest that it can be, at a
mean equal to one of the bounds, times the number of people in the group. In each file, `margin_95` is half the width of
the 95 % interval of a figure, 1.96 standard deviations; for a mean it follows from what its group shows. Both describe
the noise before totals are made to agree and negative counts are set to 0: a total over many nearly empty groups may be
further off. Sums, shares and means are rounded to one decimal more than the first digit of their margin, shares and
means to `digits` where that is given. All of this is checked in the written files: margins and `noise_sd` against the
measurements of the manifest, decimals against margins, and the margin of a mean against what its group allows, as the
number of people in it is not published. On average, least squares bring figures closer to the truth. Errors by
clipping, and by rows beyond `rows_per_unit`, come on top, and nothing published says how large they are. The run warns
of tables whose typical figure (the median) is below its margin, and of means whose margins are wider than the bounds.

Seed: None: noise is the operating system's. Reruns differ, and each spends its budget again; `--budget` keeps account.

Does not bound: What is true of a whole group, such as that everybody in it is ill; nor what several runs reveal, whose
budgets add up.

Reference: C. Canonne, G. Kamath, T. Steinke, The discrete Gaussian for differential privacy, NeurIPS 2020. M. Hay et
al., Boosting the accuracy of differentially private histograms through consistency, VLDB 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.numeric import Numeric
from anonymize.domain.public import PublicDomain, fractions, leaves_of, public_domain
from anonymize.dp.mechanisms import Spending, epsilon_of, require, rho_of, rows_that_count, sigma_of
from anonymize.errors import Caution, Problem, SpecError, counted
from anonymize.records import dataclass
from anonymize.spec import Spec, model
from anonymize.spec.tabulation import Mechanism, TabulatedMeasure, Tabulation
from anonymize.table import Attribute, Table
from anonymize.table.read import all_made
from anonymize.tabulating.cells import Floats, GroupedColumn, Ints, TableGrid
from anonymize.tabulating.consistency import ConsistentValues, DrawnValues, Finest, whole_counts, whole_sums
from anonymize.tabulating.counting import numbers_of, reading
from anonymize.tabulating.suppression import COUNTS, HAVING, groups_of, is_count, measure_name
from anonymize.tabulating.written import MARGIN, Charging, ShownTable, Tabulated, ratios, rounded, supported

ID: Mechanism = "dp"
MOST_TIMES = 100.0
"""How many times smaller noise a larger epsilon is proposed for, at most."""
Z_95 = 1.959963984540054
"""The quantile of the normal distribution for 95 %: a margin, in standard deviations."""
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
    broken = leaves_of(attribute.domain, lambda values: fractions(values).astype(np.int64), 0) > 0
    domain.check(leaf[attribute.codes], broken[attribute.codes])
    missing = [(spec.input.missing_text,)] if domain.missing else []
    ends = [(*path, total) for path in (*_paths(spec, attribute, domain), *missing)]
    return GroupedColumn.of_paths(attribute.name, ends, leaf[attribute.codes])


def _paths(spec: Spec, attribute: Attribute, domain: PublicDomain) -> list[tuple[str, ...]]:
    """The labels above each value of a domain, from its own on, without the total: those of a hierarchy's file."""
    definition = spec.quasi_identifiers[attribute.name]
    if domain.bins is not None:
        return [(label,) for label in domain.bins.labels]
    if not isinstance(definition.hierarchy, Path) or isinstance(attribute.domain, Numeric):
        return [(value,) for value in domain.values]
    above, least = attribute.hierarchy.paths(), max(definition.level or 0, definition.least_level)
    compared = spec.missing("csv", attribute.name).compared
    paths = [(value, *above[compared(value)][1:]) for value in domain.values]
    return [labels[least:-1] or labels[-1:] for labels in paths]


# --- what is measured -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicBounds:
    """The numbers between which those of a column are clipped; noise is a whole number of steps between them."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def step(self) -> float:
        return (self.high - self.low) / SUM_STEPS or 1.0

    def steps(self, numbers: Floats) -> Floats:
        """How many steps each number, clipped, is from the middle; nan of missing ones."""
        return np.rint((np.clip(numbers, self.low, self.high) - self.middle) / self.step)

    @classmethod
    def of(cls, spec: Spec, name: str) -> PublicBounds:
        """The bounds that the spec declares of a column. Raises SpecError where it declares none."""
        own, definition = spec.domain_of(name), spec.quasi_identifiers.get(name)
        if own.low is not None and own.high is not None:
            return cls(own.low, own.high)
        if definition is not None and definition.domain is not None:
            return cls(*definition.domain)
        hint = f"what numbers there may be, and not what there are: `domains: {{{name}: {{low: 0, high: 100000}}}}`"
        raise SpecError(spec.problem(("domains",), f"column {name!r} is summed, and has no public bounds", hint))


@dataclass(frozen=True)
class MeasuredLevels:
    """The groups of one measure at one level of each of some columns, which part the rows."""

    name: str
    columns: tuple[tuple[str, int], ...]


def levels_of(grid: TableGrid, groups: Mapping[str, Sequence[Sequence[str]]]) -> list[MeasuredLevels]:
    """All that the tables need, each once. A column at the total is left out. `groups`: by measure, what its tables
    group by."""
    totals = {each.name: len(each.levels) - 1 for each in grid.columns}
    levels = (
        MeasuredLevels(name, tuple(sorted((column, level) for column, level in chosen if level < totals[column])))
        for name, several in groups.items()
        for by in several
        for chosen in product(*([(column, level) for level in range(totals[column] + 1)] for column in by))
    )
    return list(dict.fromkeys(levels))


# --- the tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrivateRun:
    """A run: the grid of the public domain, and which rows of the table are `kept` as those that count."""

    spec: Spec
    tabulate: Tabulation
    grid: TableGrid
    table: Table
    kept: NDArray[np.bool_]

    @property
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
        return {name: PublicBounds.of(self.spec, name) for name in self.tabulate.measured}

    def sensitivity(self, name: str) -> float:
        """By how much a measure differs, in L2, with one individual more."""
        return float(self.rows * (1 if is_count(name) else SUM_STEPS // 2))

    def digits(self, margins: Sequence[float | None]) -> int | None:
        """The decimals of shares or means: those of the spec, or as many as their margins leave."""
        return supported(margins) if self.tabulate.digits is None else self.tabulate.digits

    def groups(self, name: str) -> list[tuple[str, ...]]:
        return groups_of(self.tabulate, name.removesuffix(HAVING))

    def counted(self, levels: MeasuredLevels) -> tuple[Ints, Ints]:
        """Every cell of some levels, in order, and what it comes to."""
        of_column = dict(levels.columns)
        cells = self.grid.cells_at(of_column)
        places = np.searchsorted(cells, self.grid.cell_of(of_column))
        return cells, np.rint(np.bincount(places, self._amounts(levels.name), len(cells))).astype(np.int64)

    def _amounts(self, name: str) -> Floats:
        """(rows,) what each row adds to a measure; nothing of rows that do not count."""
        if name == COUNTS:
            return self.kept.astype(np.float64)
        column = name.removesuffix(HAVING)
        numbers = numbers_of(self.table, column)
        present = self.kept & ~np.isnan(numbers)
        return np.where(present, 1.0 if is_count(name) else self.bounds[column].steps(numbers), 0.0)


@dataclass(frozen=True)
class NoisyMeasure:
    """A measure as it was drawn: its values, of which totals are sums, and the standard deviation of the noise."""

    values: ConsistentValues
    noise: float


def check(spec: Spec, tabulate: Tabulation, of: tuple[TableGrid, Table] | None) -> None:
    """Raises what keeps `run` from drawing: UsageError without the library, SpecError for all columns without a
    public domain, or bounds. It is about the spec, whatever the table."""
    require()
    if problems := list(_undeclared(spec, tabulate)):
        raise SpecError(problems)


def _undeclared(spec: Spec, tabulate: Tabulation) -> Iterator[Problem]:
    """What is not public, at the first table that needs it."""
    own, before = reading(spec, tabulate), set[str]()
    for number, table in enumerate(tabulate.tables):
        names = [*table.by, *([] if table.column is None else [table.column])]
        for name in (name for name in names if name not in before):
            try:
                public_domain(own, name) if name in table.by else PublicBounds.of(spec, name)
            except SpecError as error:
                for problem in error.problems:
                    yield spec.problem(("tabulate", "tables", number), problem.message, problem.hint)
        before |= set(names)


def run(
    spec: Spec, tabulate: Tabulation, grid: TableGrid, table: Table, secret: bytes | None, charge: Charging
) -> Tabulated:
    """The tables of a run, which `check` let pass. What can fail has been tried when `charge` is called, before the
    first draw."""
    required = spec.privacy.differential
    assert required is not None
    own = PrivateRun(spec, tabulate, grid, table, rows_that_count(table.units, table.rows, tabulate.rows_per_unit))
    rho = rho_of(required.epsilon, required.delta)
    truth = {each: own.counted(each) for each in levels_of(grid, {name: own.groups(name) for name in own.names})}
    charge(rho)
    measurements, measures = _drawn(own, truth, rho)
    tables = _tables(own, measures)
    details = {
        "individual": spec.unit or "row",
        "rows_per_unit": own.rows,
        "neighbours": "one individual more",
        "differential": {**required.model_dump(), "rho": rho},
        "bounds": {name: [each.low, each.high] for name, each in own.bounds.items()},
        "measurements": measurements,
    }
    warnings = tuple(_swamped(tables, own.bounds, required))
    return Tabulated(tables, details, {"rows_left_out": int((~own.kept).sum())}, warnings)


def _swamped(
    tables: Sequence[ShownTable], bounds: Mapping[str, PublicBounds], spent: model.EpsilonDelta
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
            wide = int((known[:, 1] > figure).sum())
            said = f"{MARGIN} of {wide} of {counted(len(known), 'mean')} is wider than the bounds" if wide else ""
        else:
            figure, margin = np.median(known, axis=0)
            said = f"{MARGIN} is above its typical {table.measured.measure}" if margin > figure else ""
        if said:
            text = f"table {number} by {', '.join(table.measured.by)}: noise swamps it, as {said}"
            yield Caution.of(text, f"wider groups, fewer tables or columns, or {_enough(spent, margin, figure)}")


def _enough(spent: model.EpsilonDelta, margin: float, figure: float) -> str:
    """Which epsilon brings a margin down to a figure, as far as one does: noise falls with the square root of rho."""
    if not figure < margin < MOST_TIMES * figure:
        return "a larger `privacy.differential.epsilon`"
    epsilon = epsilon_of(rho_of(spent.epsilon, spent.delta) * (margin / figure) ** 2, spent.delta)
    return f"`privacy: {{differential: {{epsilon: {math.ceil(epsilon * 100) / 100:g}}}}}`, by which it is no wider"


def _drawn(
    own: PrivateRun, truth: Mapping[MeasuredLevels, tuple[Ints, Ints]], rho: float
) -> tuple[list[dict[str, object]], dict[str, NoisyMeasure]]:
    """What was drawn, as a manifest has it, and each measure."""
    spending, made, sigmas = Spending(rho), [], dict[str, float]()
    sums = {name: DrawnValues.over(own.grid, own.groups(name)) for name in own.names}
    for number, (levels, (cells, true)) in enumerate(truth.items()):
        sensitivity, of_column = own.sensitivity(levels.name), dict(levels.columns)
        sigmas[levels.name] = sigma = sigma_of(spending.left / (len(truth) - number), sensitivity)
        noisy = spending.gaussian(true, sigma, sensitivity, of=tuple(of_column))
        sums[levels.name].add(cells, noisy, sigma)
        entry = {"measure": measure_name(levels.name), "levels": of_column}
        spent = {"sigma": sigma, "sensitivity": sensitivity, "rho": spending.entries[-1].rho}
        made.append({**entry, **spent, "values": noisy.tolist()})
    estimates = {name: each.estimate(own.grid, own.groups(name)) for name, each in sums.items()}
    return made, {name: NoisyMeasure(each, sigmas[name]) for name, each in estimates.items()}


def _tables(own: PrivateRun, measures: Mapping[str, NoisyMeasure]) -> tuple[ShownTable, ...]:
    finest = Finest.of(own.grid, own.groups(COUNTS))
    counts = finest.whole(measures[COUNTS].values, whole_counts) if COUNTS in measures else {}
    parts = {name: (own.bounds[name], measures[name], measures[f"{name}{HAVING}"]) for name in own.bounds}
    summed = {str(each.column) for each in own.tabulate.tables if each.measure == "sum"}
    sums = {name: _sums(own, name, *parts[name]) for name in summed}
    tables = []
    for each in own.tabulate.tables:
        if each.column is None:
            tables.append(_counts(own, each, counts[finest.of_table(each.by)], measures[COUNTS].noise))
        elif each.measure == "sum":
            tables.append(sums[each.column](each))
        else:
            tables.append(_means(own, each, *parts[each.column]))
    return tuple(tables)


def _counts(own: PrivateRun, measured: TabulatedMeasure, counts: dict[int, int], noise: float) -> ShownTable:
    """A table of counts, or of shares of the total, of which there are none where that is 0."""
    values = [counts[cell] for cell in own.grid.cells(measured.by).ravel().tolist()]
    if measured.measure == "count":
        margins = [_rounded(Z_95 * noise, 3)] * len(values)
        return ShownTable(measured, values, noise_sd=_rounded(noise, 6), margins=margins)
    total = float(counts[own.grid.whole])
    share = noise / total if total else math.nan
    margins = [_rounded(Z_95 * share, 3)] * len(values)
    digits = own.digits(margins)
    shares = ratios(np.array(values, np.float64), total, digits)
    return ShownTable(measured, shares, noise_sd=_rounded(share, 6), margins=margins, digits=digits)


def _sums(
    own: PrivateRun, column: str, bounds: PublicBounds, away: NoisyMeasure, having: NoisyMeasure
) -> Callable[[TabulatedMeasure], ShownTable]:
    """What makes the tables of sums of a column: how far people are from the middle of the bounds, and as many middles
    as there are people. Rounded, once for all tables, totals are still the sums of their parts."""
    noise = math.hypot(away.noise * bounds.step, bounds.middle * having.noise)
    margin = _rounded(Z_95 * noise, 3)
    digits = supported([margin]) or 0
    units = (away.values.value * bounds.step + having.values.value * bounds.middle) * float(10**digits)
    finest = Finest.of(own.grid, own.groups(column))
    whole = finest.whole(ConsistentValues(away.values.cells, units), whole_sums)

    def table(measured: TabulatedMeasure) -> ShownTable:
        cells, values = own.grid.cells(measured.by).ravel().tolist(), whole[finest.of_table(measured.by)]
        sums = [rounded(values[cell] / 10**digits, digits) for cell in cells]
        return ShownTable(measured, sums, noise_sd=_rounded(noise, 6), margins=[margin] * len(sums), digits=digits)

    return table


def _means(
    own: PrivateRun, measured: TabulatedMeasure, bounds: PublicBounds, away: NoisyMeasure, having: NoisyMeasure
) -> ShownTable:
    """A table of means, blank of groups of less than one individual."""
    cells, away_noise = own.grid.cells(measured.by).ravel(), away.noise * bounds.step
    people = having.values.of(cells)
    divisor = np.maximum(people, 1.0)
    means = np.clip(bounds.middle + away.values.of(cells) * bounds.step / divisor, bounds.low, bounds.high)
    noise = np.hypot(away_noise, np.abs(means - bounds.middle) * having.noise) / divisor
    margins = [_rounded(Z_95 * each, 3) for each in np.where(people >= 1, noise, np.nan).tolist()]
    digits, both = own.digits(margins), zip(means.tolist(), margins, strict=True)
    values = [None if margin is None else rounded(mean, digits) for mean, margin in both]
    largest = math.hypot(away_noise, (bounds.high - bounds.low) / 2 * having.noise)
    return ShownTable(measured, values, noise_sd=_rounded(largest, 6), margins=margins, digits=digits)


def _rounded(noise: float, digits: int) -> float | None:
    """To so many digits; None of nan, where there is no figure."""
    return None if math.isnan(noise) else float(f"{noise:.{digits}g}")
