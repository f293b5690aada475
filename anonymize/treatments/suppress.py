"""Local suppression: as few single cells as possible are suppressed until enough rows read the same.

What it does. Single cells are suppressed until at least `k` rows share every combination of values shown in the
columns. `combinations` requires this of some of the columns, or of every set of a given size; `risk`, instead of both,
limits the individual risk of every row. Without any of these the step meets `k` and `combinations` of `privacy`. All
other cells stay as they are, numbers included.

A column of higher `importance` loses fewer cells: the search minimizes the sum of importances over suppressed cells.
Importances in sdcMicro are ranks, 1 for the column to be kept first: of n columns, rank r is importance n + 1 - r here.
Columns under `never` lose no cell, but count like the others: list whatever else attackers know there. `ghosts` are
columns that say much the same as another one, such as the city next to the postal code: their cells are suppressed
wherever those of the other are, and they do not count. With `by`, every stratum is made safe separately.

What it guarantees. At least k rows of a stratum read the same in these columns, where a suppressed cell is a value of
its own. If they are all the quasi-identifiers, the release is k-anonymous. Every cell is the original one or
suppressed. Both are measured in the written file. `risk` bounds the individual risk after Benedetti and Franconi, by
sampling weights if there are any, otherwise as one over the number of rows that read the same.

What it does not guarantee. The fewest cells: finding these takes too long (the problem is NP-hard). Nothing bounds what
the rows of a group have in common in other columns. sdcMicro counts differently: there a suppressed cell matches every
value, so that fewer suppressions are needed, and a row that reads like no other may count as safe. `privacy: {missing:
wildcard}` adds the figures of that reading for quasi-identifiers; they do not decide.

Missing values are values of their own, and stay; texts that mean missing become the first of these. With `output:
{suppressed: null}` suppressed cells are empty, and a column with missing values is refused. A row in which every
quasi-identifier is suppressed is a suppressed row; `privacy.suppression` allows a share of these. Suppressed rows form
one class; if it does not meet the models of `privacy`, they are left out, and counted.

Strata. A stratum of fewer than k rows is refused; or all such strata are pooled, with the next smallest if they are
still too few (`pool`); or all their cells are suppressed, and they are counted (`keep`). If the columns under `never`
alone leave fewer than k rows that read the same, nothing can be done (exit 4).

What else it discloses. The manifest contains what is required. A suppressed cell reveals that its row was rare, or was
needed to hide a rare one.

Cost. Proportional to the rows that are not safe as they are, and to the sets of columns (all of them for up to 9
columns, else those of few columns). Groups of small tables are refined as those of `bottom-up`.

Reference. Templ, Kowarik, Meindl: Statistical Disclosure Control for Micro-Data Using the R Package sdcMicro, Journal
of Statistical Software 67(4), 2015; Benedetti, Franconi: Statistical and technological solutions for controlled data
dissemination, 1998.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.errors import Caution, DataError, InfeasibleError, Problem, UsageError, counted, have
from anonymize.records import dataclass
from anonymize.risk.sample import individual_risk
from anonymize.spec import Spec
from anonymize.spec.treatments import Suppress
from anonymize.table.kept import KeptColumn
from anonymize.treatments import Change, InputColumn, Step
from anonymize.treatments.grouping.suppression import GroupTarget, Safe, Weights, suppressed
from anonymize.treatments.microaggregation import strata_of

ID = "suppress"
RISK_TOLERANCE = 1e-9
"""How far a risk may be above the bound, relative to it."""


@dataclass(frozen=True)
class GroupBound:
    """That groups of rows that read the same in some of the columns have so many rows, or are of so little `risk`."""

    columns: tuple[str, ...]
    k: int = 1
    risk: float | None = None

    @property
    def entry(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"columns": list(self.columns), **({"k": self.k} if self.risk is None else {"risk": self.risk})}

    @property
    def said(self) -> str:
        """The same in a message."""
        return f"k = {self.k} rows" if self.risk is None else f"rows for a risk of {self.risk:g}"

    @property
    def safe(self) -> Safe:
        """What groups have to be."""
        if (most := self.risk) is None:
            return lambda rows, weight: rows >= self.k
        return lambda rows, weight: (rows > 0) & (_risk(rows, weight) <= most * (1 + RISK_TOLERANCE))


def _risk(rows: Ints, weight: Weights) -> Floats:
    """(groups,) the individual risk; 1 of no rows."""
    least = np.maximum(rows, 1)
    return individual_risk(least, np.maximum(weight, least))


def requirements_of(entry: Suppress, spec: Spec) -> list[GroupBound]:
    """What a step has to meet: what it says, or else what `privacy` says."""
    if entry.risk is not None:
        return [GroupBound(entry.columns, risk=entry.risk)]
    own = entry.k is not None or bool(entry.combinations)
    k, rules = (entry.k, entry.combinations) if own else (spec.privacy.k, spec.privacy.combinations)
    made = [] if k is None else [GroupBound(entry.columns, k)]
    for rule in rules:
        sets = combinations(entry.columns, rule.size) if rule.size else [rule.columns or ()]
        made += [GroupBound(tuple(some), rule.k) for some in sets]
    return made


def run(entry: Suppress, step: Step) -> Change:
    """The columns with their suppressed cells. Raises InfeasibleError where the columns that are never suppressed leave
    too few rows; DataError for strata that are too small; UsageError for missing values that read like suppressed
    cells."""
    assert step.spec is not None
    required, cells = requirements_of(entry, step.spec), _KeyCells(entry, step)
    _check_marks(step.spec, [step.columns[name] for name in entry.treated])
    strata = _strata(entry, required, cells)
    targets = [cells.target(each, strata.labels) for each in required]
    _check_feasible(entry, required, targets, cells, strata.lost)
    rows = np.flatnonzero(~strata.lost)
    some = [replace(each, fixed=each.fixed[rows]) for each in targets if each.columns]
    every = cells.target(GroupBound(entry.columns, max(each.k for each in required)), strata.labels)
    stricter = replace(every, fixed=every.fixed[rows])
    sizes = np.bincount(stricter.fixed)
    possible = bool(stricter.safe(sizes, sizes)[sizes > 0].all())
    hidden = np.broadcast_to(strata.lost, (len(cells.open), len(strata.lost))).copy()
    importance = np.array([entry.importance.get(name, 1.0) for name in cells.open])
    hidden[:, rows] = suppressed(
        cells.codes[:, rows], importance, some, cells.weights[rows], stricter if possible else None
    )
    of_column = dict(zip(cells.open, hidden, strict=True))
    of_column |= {
        ghost: np.logical_or.reduce([of_column[name] for name, some in entry.ghosts.items() if ghost in some])
        for ghost in entry.treated
        if ghost not in of_column
    }
    mark = None if step.spec.hides else str(step.spec.output.suppressed)
    return Change(
        {name: marked(step.columns[name], of_column[name], mark) for name in entry.treated},
        declared={"suppressed": mark, "required": [each.entry for each in required]},
        warnings=(*strata.warnings, *_emptied(entry, of_column)),
    )


def _emptied(entry: Suppress, hidden: Mapping[str, Bools]) -> Iterator[Caution]:
    """A warning for each column of which no cell is left. `hidden`: (rows,) by column."""
    for name in (name for name in entry.columns if name in hidden and hidden[name].all()):
        more = f"`importance: {{{name}: {2 * entry.importance.get(name, 1.0):g}}}` keeps more of it"
        yield Caution.of(f"suppress: every cell of {name} is suppressed", more)


def marked(column: InputColumn, hidden: Bools, mark: str | None) -> KeptColumn:
    """A column with some cells (rows,) suppressed: a text, or nothing. All that mean missing read the same, as the
    first text that means it."""
    cells = column.kept.cells
    if mark is not None and cells.dtype != pl.String:
        cells = cells.cast(pl.String)
    absent = column.field.missing.text or None if cells.dtype == pl.String else None
    every = pl.concat([cells, pl.Series([absent, mark], dtype=cells.dtype)])
    codes = np.where(column.missing, len(cells), column.kept.codes)
    return KeptColumn(every, np.where(hidden, len(cells) + 1, codes).astype(np.min_scalar_type(len(every))))


def _check_marks(spec: Spec, columns: Sequence[InputColumn]) -> None:
    """Raises UsageError where a suppressed cell would read like one that is missing, or like another value."""
    if spec.hides:
        if lacking := [each.name for each in columns if each.missing.any()]:
            message = f"`output.suppressed: null`: {have(lacking)} missing values, which are empty as well"
            hint = "choose a text for suppressed cells"
            raise UsageError(spec.problem(("output", "suppressed"), message, hint))
        return
    mark = str(spec.output.suppressed)
    if alike := [each.name for each in columns if (each.kept.cells.cast(pl.String) == mark).any()]:
        message = f"`output.suppressed`: {have(alike)} cells that read like suppressed ones"
        raise UsageError(spec.problem(("output", "suppressed"), message, "choose another text for suppressed cells"))


class _KeyCells:
    """The columns of a step as numbers. `open`: names of those of which cells may be suppressed; `codes` (open, rows):
    a number above 0 for each value, missing being one; `weights` (rows,): 1 where there are none."""

    def __init__(self, entry: Suppress, step: Step) -> None:
        self.step = step
        self.open = tuple(name for name in entry.columns if name not in entry.never)
        self.codes = np.stack([_codes(step.columns[name], together=True) for name in self.open])
        rows = self.codes.shape[1]
        self.by = step.parts(entry.by) if entry.by else np.zeros(rows, np.int64)
        self.weights = np.ones(rows) if step.weights is None else step.weights
        self._never = {name: _codes(step.columns[name], together=False) for name in entry.never}

    def target(self, required: GroupBound, strata: Ints) -> GroupTarget:
        """What is required, where rows of different strata, or of different values that stay, are in no one group."""
        stays = [self._never[name] for name in required.columns if name in self._never]
        fixed = np.unique(np.stack([strata, *stays]), axis=1, return_inverse=True)[1].reshape(-1)
        columns = tuple(self.open.index(name) for name in required.columns if name in self.open)
        return GroupTarget(columns, fixed, required.safe, None if required.risk else required.k)


def _codes(column: InputColumn, *, together: bool) -> Ints:
    """(rows,) a number above 0 for each text; `together`: one for all that mean missing, which will read the same."""
    codes = column.kept.codes.astype(np.int64) + 2
    return np.where(column.missing, 1, codes) if together else codes


@dataclass(frozen=True)
class _StrataLeft:
    """Rows by stratum. `labels` (rows,); `lost` (rows,): whether all cells of a row are suppressed, as its stratum is
    too small."""

    labels: Ints
    lost: Bools
    warnings: Sequence[Caution] = ()


def _strata(entry: Suppress, required: Sequence[GroupBound], cells: _KeyCells) -> _StrataLeft:
    """The strata, those that are too small being refused, pooled or given up."""
    labels, none = cells.by, np.zeros(len(cells.by), np.bool_)
    if not entry.by:
        return _StrataLeft(labels, none)
    rows, weight = np.bincount(labels), np.bincount(labels, cells.weights)
    short = ~np.logical_and.reduce([each.safe(rows, weight) for each in required])
    if not short.any():
        return _StrataLeft(labels, none)
    few, count = int(rows[short].sum()), int(short.sum())
    said = f"strata that have too few rows ({required[0].said}): {count}, with {counted(few, 'row')} in all"
    if entry.small == "refuse":
        hint = "`small: pool` takes such strata together, `small: keep` suppresses all their cells"
        raise DataError(Problem(f"suppress: {said}", hint=hint))
    larger = "fewer columns in `by`" if len(entry.by) > 1 else f"a column of fewer values than {entry.by[0]} in `by`"
    if entry.small == "keep":
        lost = Caution.of(f"suppress: {said}; all their cells are suppressed", larger)
        return _StrataLeft(labels, short[labels], [lost])
    k = max(each.k for each in required)
    if len(labels) >= k:
        labels = strata_of(np.empty((len(labels), 0)), k, labels, small="pool").labels
    pooled = f"suppress: {said}; they were pooled, and are safe together, not each separately"
    return _StrataLeft(labels, none, [Caution.of(pooled, larger)])


def _check_feasible(
    entry: Suppress, required: Sequence[GroupBound], targets: Sequence[GroupTarget], cells: _KeyCells, lost: Bools
) -> None:
    """Raises InfeasibleError for groups that are not safe with every cell suppressed that may be."""
    problems = []
    for each, target in zip(required, targets, strict=True):
        rows = np.bincount(target.fixed[~lost])
        safe = each.safe(rows, np.bincount(target.fixed[~lost], cells.weights[~lost]))
        short = ~safe & (rows > 0)
        if short.any():
            problems.append(_infeasible(entry, each, int(short.sum()), int(rows[short].sum())))
    if problems:
        raise InfeasibleError(problems)


def _infeasible(entry: Suppress, required: GroupBound, groups: int, rows: int) -> Problem:
    stays = [name for name in required.columns if name in entry.never]
    within = f", within strata of {', '.join(entry.by)}" if entry.by else ""
    if not stays:
        message = f"suppress: the table has fewer than {required.said}{within}, even with every cell suppressed"
        return Problem(message, hint="lower k" if required.risk is None else "raise the risk")
    leave = "leaves" if len(stays) == 1 else "leave"
    message = (
        f"suppress: {', '.join(stays)}, of which nothing is ever suppressed, {leave} {counted(rows, 'row')}{within} in "
        f"{counted(groups, 'group')} of fewer than {required.said}"
    )
    return Problem(message, hint="take columns out of `never`, generalize them first, or lower k")
