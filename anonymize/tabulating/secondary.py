"""Which cells are blank in addition to the unsafe ones: at the lowest total cost that protects every unsafe one.

An attacker knows the equations between cells, the published values, and how low and high a cell can be. Two linear
programs, for the largest and the smallest possible value, narrow down an unsafe cell. If that interval is too narrow,
the dual solution is a cut: a sum over cells, some of which have to be blank for the interval to widen. The master
problem chooses the cheapest cells that meet all cuts so far, and is solved again until there are no further cuts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anonymize.records import dataclass
from anonymize.tabulating.cells import Bools, Equations, Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csc_array

EXACT_CELLS, EXACT_UNSAFE = 2_000, 150
"""Up to so many cells, and unsafe ones, the least cost is searched."""
ROUNDS, NODES = 30, 20_000
"""Rounds of cuts, and nodes of each master problem, after which the search ends with what protects, proved or not."""
SCALED_TO = 1e4
"""What values of a layer are scaled to: solvers are exact to about 1e-7."""
TOLERANCE = 1e-6
PROGRAMS = 4_000
"""Linear programs after which no further blank is tried that may not be needed."""
FLOW = 1e-5
"""What a cell has to be changed by to count as changed."""
CHANGES_KEPT = 50
"""Changes that are kept of each unsafe cell and side, the latest."""
NEGLIGIBLE = 1e-9
"""What a solver may change a cell by that it leaves, and the reduced cost of one that costs nothing."""


class Unprotected(Exception):
    """No blanks protect `count` of the unsafe cells."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


@dataclass(frozen=True)
class Layer:
    """One measure of a system of cells.

    Attributes:
        cells: (cells,) which cells of the system it has.
        value: (cells,) float64.
        equations: between its cells, by their places here.
        unsafe, upper, lower: (cells,) which are to be protected, and how far above and below their value.
        insider: (cells,) the only individual there, who knows the value; -1 where there is none.
        signed: whether cells may be below 0.
        least: (cells,) what a cell that is blank is known to be at least, where none is below 0.
    """

    cells: Ints
    value: Floats
    equations: Equations
    unsafe: Bools
    upper: Floats
    lower: Floats
    insider: Ints
    signed: bool
    least: Floats

    @cached_property
    def scale(self) -> float:
        """What everything here is divided by before it is solved."""
        return max(1.0, float(np.abs(self.value).max(initial=0.0)) / SCALED_TO)

    @cached_property
    def matrix(self) -> csc_array:
        """(equations, cells)."""
        from scipy.sparse import csc_array

        shape = (self.equations.count, len(self.cells))
        return csc_array((self.equations.sign, (self.equations.row, self.equations.place)), shape=shape)

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """(cells,) how far below and above its value a cell can be, scaled."""
        most = 2 * float(np.abs(self.value).max(initial=0.0)) + float(self.upper.max(initial=0.0)) + 1
        up = np.full(len(self.cells), most / self.scale)
        return (up.copy() if self.signed else (self.value - self.least) / self.scale), up

    @cached_property
    def targets(self) -> list[ProtectedSide]:
        """Every unsafe cell on both sides, for an outsider and for everybody who knows a cell of the same total."""
        return [
            ProtectedSide(int(cell), side, need / self.scale, known)
            for cell in np.flatnonzero(self.unsafe)
            for known in ((), *self._knowing(int(cell)))
            for side, need in ((1, float(self.upper[cell])), (-1, float(self.lower[cell])))
            if need > 0
        ]

    def _knowing(self, cell: int) -> list[tuple[int, ...]]:
        """Of each insider the cells that are parts of a total which a cell is part of as well."""
        if (self.insider < 0).all():
            return []
        parts = self.equations.sign < 0
        rows = np.unique(self.equations.row[parts & (self.equations.place == cell)])
        siblings = np.unique(self.equations.place[parts & np.isin(self.equations.row, rows)])
        siblings = siblings[(self.insider[siblings] >= 0) & (siblings != cell)]
        return [tuple(siblings[self.insider[siblings] == who].tolist()) for who in np.unique(self.insider[siblings])]


@dataclass(frozen=True)
class ProtectedSide:
    """A cell that an attacker must be unable to narrow down by more than `need` below (`side` -1) or above (1) its
    value; `known`: the cells that an insider knows, none for an outsider."""

    cell: int
    side: int
    need: float
    known: tuple[int, ...]

    def met_by(self, reached: float) -> bool:
        """Whether that is far enough, within the precision of solvers; never where nothing is reached."""
        return reached >= self.need * (1 - TOLERANCE) - min(TOLERANCE, self.need / 1_000)


@dataclass(frozen=True)
class Pattern:
    """The blank cells of a system, what they cost, and whether none that protect cost less."""

    blank: Bools
    cost: float
    proved: bool


def protect(layers: Sequence[Layer], cost: Floats, open_: Bools) -> Pattern:
    """The blank cells of a system.

    `cost`: (cells,) of leaving each blank. `open_`: (cells,) which may be. Raises Unprotected where it takes others.
    """
    unsafe = np.zeros(len(cost), np.bool_)
    for layer in layers:
        unsafe[layer.cells] |= layer.unsafe
    if not unsafe.any():
        return Pattern(unsafe, 0.0, proved=True)
    small = len(cost) <= EXACT_CELLS and int(unsafe.sum()) <= EXACT_UNSAFE
    blank, proved = _least(layers, cost, unsafe, open_) if small else (unsafe, False)
    if not proved:
        blank = _thinned(layers, cost, _completed(layers, cost, blank, open_), unsafe)
    return Pattern(blank, float(cost[blank & ~unsafe].sum()), proved)


# --- least cost -------------------------------------------------------------------------------------------------------


def _least(layers: Sequence[Layer], cost: Floats, unsafe: Bools, open_: Bools) -> tuple[Bools, bool]:
    """The cheapest blanks, and whether that is proved; else some that do not protect all.

    A cut is a sum over cells that has to come to 1: a coefficient beyond that says no more than 1 does.
    """
    cuts, blank, sure = list[Floats](), unsafe, True
    known = [KnownChanges(layer) for layer in layers]
    for _ in range(ROUNDS):
        before = len(cuts)
        for layer, own in zip(layers, known, strict=True):
            program = _Program(layer, blank[layer.cells], own)
            for target in layer.targets:
                reached = program.reach(target)
                if not target.met_by(reached.far):
                    cuts.append(np.zeros(len(cost)))
                    cuts[-1][layer.cells] = np.minimum(program.cut(target, reached.prices) / target.need, 1.0)
        if len(cuts) == before:
            return blank, sure
        chosen = _covering(cuts, cost, unsafe, open_)
        if chosen is None:
            return unsafe, False
        if np.array_equal(chosen[0], blank):  # no further for all that the solver can tell
            return blank, False
        blank, sure = chosen
    return blank, False


def _covering(cuts: Sequence[Floats], cost: Floats, unsafe: Bools, open_: Bools) -> tuple[Bools, bool] | None:
    """The cheapest cells that meet all cuts, and whether that is proved; None where there are none."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    result = milp(
        cost / cost.max(),
        integrality=np.ones(len(cost)),
        bounds=Bounds(unsafe.astype(float), open_.astype(float)),
        constraints=LinearConstraint(csr_array(np.vstack(cuts)), lb=np.full(len(cuts), 1.0 - TOLERANCE)),
        options={"node_limit": NODES, "mip_rel_gap": 0.0, "presolve": False},  # presolving, HiGHS prints at times
    )
    return None if result.x is None else (result.x > 0.5, bool(result.status == 0))


class Reach(NamedTuple):
    """How far a cell can be from its value, scaled; the price of each equation, (equations,); and by how much all cells
    differ from their values where it is so far, (cells,)."""

    far: float
    prices: Floats
    change: Floats


class KnownChanges:
    """Changes of cells that keep to the equations and the bounds of a layer. One that changes blank cells alone proves
    that they protect every target that it takes far enough, which saves a linear program."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._by_side: dict[tuple[int, int], deque[tuple[Ints, Floats]]] = {}
        self.solved = 0

    def add(self, change: Floats) -> None:
        """(cells,) of a program that was solved, scaled; and its opposite, where that leaves no cell's bounds."""
        self.solved += 1
        down, up = self._layer.reach
        moved = np.flatnonzero(np.abs(change) > NEGLIGIBLE)
        both = bool((change <= down).all() and (-change <= up).all())
        for amounts in (change[moved], -change[moved])[: 1 + both]:
            for cell, amount in zip(moved.tolist(), amounts.tolist(), strict=True):
                if self._layer.unsafe[cell]:
                    own = self._by_side.setdefault((cell, 1 if amount > 0 else -1), deque(maxlen=CHANGES_KEPT))
                    own.append((moved, amounts))

    def of(self, target: ProtectedSide, blank: Bools) -> Floats | None:
        """(cells,) the latest that takes a target far enough by blank cells alone. `blank`: (cells of the layer,)."""
        for moved, amounts in reversed(self._by_side.get((target.cell, target.side), ())):
            reached = target.side * float(amounts[np.searchsorted(moved, target.cell)])
            if target.met_by(reached) and blank[moved].all() and not np.isin(target.known, moved).any():
                change = np.zeros(len(blank))
                change[moved] = amounts
                return change
        return None


@dataclass(frozen=True)
class _Program:
    """How far cells can be from their values, where only some are blank. `blank`: (cells of the layer,)."""

    layer: Layer
    blank: Bools
    known: KnownChanges

    @cached_property
    def columns(self) -> Ints:
        return np.flatnonzero(self.blank)

    @cached_property
    def _constraints(self) -> tuple[Ints, Any]:
        """The equations that blank cells stand in, and their matrix (rows, columns)."""
        chosen = self.layer.matrix[:, self.columns]
        rows = np.unique(chosen.nonzero()[0])
        return rows, chosen.tocsr()[rows]

    def reach(self, target: ProtectedSide) -> Reach:
        """How far from its value the cell can be on a side, at most as far as it must be able to be."""
        change = self.known.of(target, self.blank)
        if change is not None:
            return Reach(target.need, np.zeros(self.layer.equations.count), change)
        reached = self._solved(target)
        self.known.add(reached.change)
        return reached

    def _solved(self, target: ProtectedSide) -> Reach:
        rows, matrix = self._constraints
        down, up = self.layer.reach
        low, high = -down[self.columns], up[self.columns]
        own = self.columns == target.cell
        if target.side > 0:
            high[own] = np.minimum(high[own], target.need)
        else:
            low[own] = np.maximum(low[own], -target.need)
        fixed = np.isin(self.columns, target.known)
        low[fixed] = high[fixed] = 0.0
        objective = -target.side * own.astype(float)
        prices, change = np.zeros(self.layer.equations.count), np.zeros(len(self.blank))
        if not len(rows):
            change[target.cell] = high[own][0] if target.side > 0 else low[own][0]
            return Reach(float(target.side * change[target.cell]), prices, change)
        result = _cheapest(objective, matrix, low, high)
        prices[rows] = result.eqlin.marginals
        change[self.columns] = result.x
        return Reach(-float(result.fun), prices, change)

    def cut(self, target: ProtectedSide, prices: Floats) -> Floats:
        """(cells,) what each cell, blank, can add to the reach at these prices at most: of each its reduced cost times
        how far it can move on the side that pays."""
        objective = np.zeros(len(self.layer.cells))
        objective[target.cell] = -target.side
        reduced = objective - self.layer.matrix.T @ prices
        down, up = self.layer.reach
        coefficients = np.where(reduced > 0, reduced * down, -reduced * up)
        coefficients[np.abs(reduced) < NEGLIGIBLE] = 0.0
        coefficients[list(target.known)] = 0.0
        return np.asarray(coefficients)


def _cheapest(cost: Floats, equations: Any, low: Floats, high: Floats) -> Any:
    """The changes between bounds that keep to equations, at least cost."""
    from scipy.optimize import linprog

    bounds = np.column_stack([low, high])
    return linprog(cost, A_eq=equations, b_eq=np.zeros(equations.shape[0]), bounds=bounds, method="highs")


# --- one after the other ----------------------------------------------------------------------------------------------


def _completed(layers: Sequence[Layer], cost: Floats, blank: Bools, open_: Bools) -> Bools:
    """With further blanks, for one target after the other the cheapest that protect it, where those so far do not.
    Raises Unprotected."""
    blank, failing = blank.copy(), 0
    for layer in layers:
        lost: set[int] = set()
        program = _Program(layer, blank[layer.cells], KnownChanges(layer))
        for target in sorted(layer.targets, key=lambda each: (-each.need, each.cell, each.side, each.known)):
            if target.met_by(program.reach(target).far):
                continue
            moved = _cheapest_flow(layer, target, cost, blank, open_)
            if moved is None:
                lost.add(target.cell)
            elif not blank[layer.cells[moved]].all():
                blank[layer.cells[moved]] = True
                program = _Program(layer, blank[layer.cells], program.known)
        failing += len(lost)
    if failing:
        raise Unprotected(failing)
    return blank


def _cheapest_flow(layer: Layer, target: ProtectedSide, cost: Floats, blank: Bools, open_: Bools) -> Bools | None:
    """(cells,) which cells change where the target is as far from its value as it must be able to be, at least cost;
    None where it cannot be."""
    from scipy.sparse import hstack

    size = len(layer.cells)
    price = np.where(blank[layer.cells], 0.0, cost[layer.cells] / cost.max())
    down, up = (np.where(open_[layer.cells], each, 0.0) for each in layer.reach)
    down[list(target.known)] = up[list(target.known)] = 0.0
    low, high = np.zeros(2 * size), np.concatenate([up, down])
    place, other = (target.cell, size + target.cell) if target.side > 0 else (size + target.cell, target.cell)
    low[place] = high[place] = target.need
    high[other] = 0.0
    result = _cheapest(np.concatenate([price, price]), hstack([layer.matrix, -layer.matrix]), low, high)
    if result.x is None:
        return None
    return np.asarray(result.x[:size] + result.x[size:] > FLOW * min(1.0, target.need))


# --- what is not needed ----------------------------------------------------------------------------------------------


def _thinned(layers: Sequence[Layer], cost: Floats, blank: Bools, unsafe: Bools) -> Bools:
    """Without blanks that the others make superfluous, the most expensive first.

    Of every target one change of cells is known that takes it as far as it must be able to be. A cell that changes in
    none of these can be published at once; of any other, the targets whose change it is part of are tried without it.
    """
    blank, known = blank.copy(), [KnownChanges(layer) for layer in layers]

    def programs() -> Iterator[_Program]:
        return (_Program(layer, blank[layer.cells], own) for layer, own in zip(layers, known, strict=True))

    changes = [_changes(program, program.layer.targets) for program in programs()]
    most = PROGRAMS + sum(own.solved for own in known)
    for cell in sorted(np.flatnonzero(blank & ~unsafe).tolist(), key=lambda each: (-cost[each], each)):
        if sum(own.solved for own in known) >= most:
            break
        blank[cell] = False
        again = [
            [target for target, moved in own.items() if cell in layer.cells[moved]]
            for layer, own in zip(layers, changes, strict=True)
        ]
        others = list(map(_changes, programs(), again))
        if list(map(len, others)) != list(map(len, again)):
            blank[cell] = True
            continue
        for own, other in zip(changes, others, strict=True):
            own |= other
    return blank


def _changes(program: _Program, targets: Sequence[ProtectedSide]) -> dict[ProtectedSide, Ints]:
    """The cells that change where each target is as far from its value as it must be able to be, up to the first that
    cannot be."""
    changes = {}
    for target in targets:
        reached = program.reach(target)
        if not target.met_by(reached.far):
            break
        changes[target] = np.flatnonzero(np.abs(reached.change) > NEGLIGIBLE)
    return changes
