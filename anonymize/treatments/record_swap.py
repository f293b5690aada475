"""Targeted record swapping: records, or whole households, are swapped between regions, those at risk first.

What it does. `move` names nested regions, the coarsest first. A record is at risk in a region if fewer than `k` rows of
the region share its combination of the columns under `risk`; a household is, if one of its rows is. From the coarsest
level to the finest, each record that is at risk and has not been swapped yet is swapped with a random one that has not
been swapped either. The partner is in another region of that level but in the same next coarser region, and has the
same cells in `alike` (and `by`). If fewer than `rate` have been swapped after that, more are drawn at random, and
swapped in the same way between the finest regions. The two exchange all regions and the columns under `carry`;
everything else stays. With `households` all rows of a household move together, and `move`, `carry`, `alike` and `by`
must be the same in all of them.

`alike` may be several lists of columns (profiles), the strictest first: a record without a partner by one profile is
tried by the next, before the next level of regions. The guarantees for `alike` below then hold for the columns that are
in all profiles.

What it guarantees. Within each combination of `alike` (and `by`) every region keeps its number of records (households):
tables of these columns by region are exact. Households stay together. Both are measured in the written file. No record
is swapped twice.

What it does not. It bounds no risk: it makes it uncertain whether a record is where it is shown. Records at risk
without a partner stay where they are; they are counted, and the report warns of them. Wider regions, or fewer columns
in `alike`, find more partners. Tables by region change for columns that are not in `alike`, most for the finest
regions. The number of rows of a region changes unless the size of households is in `alike`.

What else it discloses. The manifest contains `rate` and `alike`. No published file says which records were swapped, or
how many. A record that is unusual in its region is more likely to have been swapped.

Cost. A few sorts of the records.

Reference. Office for National Statistics: statistical disclosure control for 2011 Census, 2011; Giessing, Schulte
Nordholt: Harmonised protection of census data in the ESS, 2017. It is `recordSwap` in sdcMicro.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from anonymize.classes import Bools, Ints, mixed_radix
from anonymize.errors import Caution, DataError, Problem, counted
from anonymize.records import dataclass
from anonymize.spec.treatments import RecordSwap
from anonymize.treatments import Change, InputColumn, Pairing, Step, wrong_rows

ID = "record-swap"
MORE = 1.5
"""So many times as many as `rate` says are worth a warning."""
DRAWINGS = 20
"""How often more records are drawn for `rate`, at most, where those before found no partners."""


@dataclass(frozen=True)
class Units:
    """What changes places: records or households. `of_row` (rows,): the unit of each row; `first` (units,): the first
    row of each."""

    of_row: Ints
    first: Ints

    @classmethod
    def of(cls, entry: RecordSwap, step: Step) -> Units:
        """The units of a step. Raises DataError for rows of no household, and for households that are not in one
        place."""
        rows = len(step.columns[entry.move[0]].series)
        if entry.households is None:
            return cls(np.arange(rows), np.arange(rows))
        column = step.columns[entry.households]
        nobody = np.flatnonzero(column.missing)
        if len(nobody):
            raise wrong_rows(column, nobody, "no household", "with a number of its own for everybody who lives alone")
        of_row = step.parts([entry.households])
        first = np.full(int(of_row.max(initial=-1)) + 1, rows)
        first[of_row[::-1]] = np.arange(rows)[::-1]
        units = cls(of_row, first)
        for name in dict.fromkeys((*entry.treated, *entry.compared, *entry.by)):
            codes = step.columns[name].kept.codes
            different = np.flatnonzero(codes != codes[first[of_row]])
            if len(different):
                text = "not the same as in the first row of the household,"
                hint = "a column that differs within a household cannot match households"
                raise wrong_rows(step.columns[name], different, text, hint)
        return units

    def __len__(self) -> int:
        return len(self.first)

    def keys(self, columns: Sequence[InputColumn]) -> Ints:
        """(units,) a number for each combination of cells."""
        if not columns:
            return np.zeros(len(self), np.int64)
        kept = [column.kept for column in columns]
        return mixed_radix([each.codes[self.first] for each in kept], [len(each.cells) for each in kept])[0]


@dataclass
class Exchange:
    """How far it has come. `partner` (units,): whose place each takes, itself where nobody's; `placed` (units,): who
    has a place; `alone`: by region, how many at risk found nobody, of how many."""

    units: Units
    partner: Ints
    placed: Bools
    alone: dict[str, tuple[int, int]] = field(default_factory=dict)
    by_profile: Counter[int] = field(default_factory=Counter)
    """By the number of the profile, how many were swapped by it."""

    @property
    def moved(self) -> Bools:
        """(units,) who has been swapped."""
        return np.asarray(self.partner != np.arange(len(self.partner)))

    @property
    def free(self) -> Bools:
        """(units,) who may still be swapped."""
        return self.placed & ~self.moved

    def match(self, wanted: Bools, level: int, entry: RecordSwap, step: Step) -> None:
        """Swaps units that are wanted, and still free, between regions of a level, by one profile after the other."""
        columns = [step.columns[name] for name in entry.move]
        regions = self.units.keys(columns[: level + 1])
        for number, profile in enumerate(entry.profiles):
            alike = [step.columns[name] for name in (*entry.by, *profile)]
            pairing = Pairing(self.units.keys([*columns[:level], *alike]), regions, self.free)
            one, other = pairing.of(wanted & self.free, step.random)
            self.partner[one], self.partner[other] = other, one
            self.by_profile[number] += len(one) + len(other)


def run(entry: RecordSwap, step: Step) -> Change:
    """The columns of places, with some of them exchanged. Raises DataError where nobody has a partner."""
    units = Units.of(entry, step)
    unplaced = np.logical_or.reduce([step.columns[name].missing[units.first] for name in entry.move])
    state = Exchange(units, np.arange(len(units)), ~unplaced)
    for level, name in enumerate(entry.move):
        risky = _at_risk(entry, step, units, level)
        state.match(risky, level, entry, step)
        if risky.any():
            state.alone[name] = int((risky & ~state.moved).sum()), int(risky.sum())
    wanted = math.ceil(entry.rate * len(units) - 1e-9)
    short = _fill_up(entry, step, state, wanted)
    if short == wanted and wanted:
        message = f"record-swap of {', '.join(entry.move)}: none of {len(units):,} has a partner"
        raise DataError(Problem(message, step.columns[entry.move[0]].source.name, hint="fewer columns in `alike`"))
    donors = units.first[state.partner][units.of_row]
    donors = np.where(state.moved[units.of_row], donors, np.arange(len(donors)))
    profiles = [list(each) for each in entry.profiles]
    alike = profiles[0] if len(profiles) == 1 else profiles
    declared = {"rate_at_least": entry.rate, "alike": alike, "by": list(entry.by)}
    return Change(
        {name: step.columns[name].moved(donors) for name in entry.treated},
        declared | {"together": list(entry.treated)},
        _figures(entry, state),
        tuple(_warnings(entry, state, short, int(unplaced.sum()), wanted)),
    )


def _figures(entry: RecordSwap, state: Exchange) -> dict[str, Any]:
    """What a private report has: how many units were swapped, by which profile, and who at risk found no partner."""
    alone = {name: count for name, (count, _) in state.alone.items()}
    counts = {", ".join(each): state.by_profile[number] for number, each in enumerate(entry.profiles)}
    figures = {"swapped": int(state.moved.sum()), "of": len(state.moved), "at_risk_without_partner": alone}
    return ({"swapped_alike_in": counts} if len(entry.profiles) > 1 else {}) | figures


def _at_risk(entry: RecordSwap, step: Step, units: Units, level: int) -> Bools:
    """(units,) whether a row has a combination of the columns of risk that is rare in its region of a level."""
    risky = np.zeros(len(units), bool)
    if entry.risk:
        keys = step.parts([*entry.move[: level + 1], *entry.risk])
        rare = np.bincount(keys)[keys] < entry.k
        risky[units.of_row[rare]] = True
    return risky


def _fill_up(entry: RecordSwap, step: Step, state: Exchange, wanted: int) -> int:
    """Swaps more units, drawn at random, until as many are swapped as are wanted. How many are missing in the end."""
    tried = np.zeros(len(state.partner), bool)
    for _ in range(DRAWINGS):
        lacking = wanted - int(state.moved.sum())
        able = np.flatnonzero(state.free & ~tried)
        if lacking <= 0 or not len(able):
            break
        drawn = step.random.choice(able, min(-(-lacking // 2), len(able)), replace=False, shuffle=False)
        chosen = np.zeros(len(tried), bool)
        chosen[drawn] = True
        state.match(chosen, len(entry.move) - 1, entry, step)
        tried |= chosen
    return max(wanted - int(state.moved.sum()), 0)


def _warnings(entry: RecordSwap, state: Exchange, short: int, unplaced: int, wanted: int) -> list[Caution]:
    """Who stays where it is, though it should not; and that far more than `wanted` are swapped."""
    noun, remedy = "record" if entry.households is None else "household", "fewer columns in `alike`, or wider regions"
    said = [
        f"{count:,} of {counted(all_of, noun)} at risk in their `{name}` found no partner"
        for name, (count, all_of) in state.alone.items()
        if count
    ]
    if short:
        said.append(f"{counted(short, noun)} fewer than `rate` says: no more have partners")
    if unplaced:
        said.append(f"{counted(unplaced, noun)} left without a place")
    cautions = [Caution.of(f"record-swap: {text}", remedy) for text in said]
    swapped, all_of = int(state.moved.sum()), len(state.moved)
    if swapped > MORE * max(wanted, 1):
        more = f"{swapped:,} of {counted(all_of, noun)} swapped, more than `rate` says: so many are at risk"
        cautions.append(Caution.of(f"record-swap: {more}", "fewer columns in `risk`, or a smaller `k`"))
    return cautions
