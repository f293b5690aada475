"""The parameters that lose least, found by sequential quadratic programming from several starts.

For a few variables: minimize f(x) subject to g(x) <= 0 within a box. Each step solves the quadratic program of f's
gradient, the linearized bounds, and an approximation of the Lagrangian's second derivatives (damped BFGS), and goes
along it as far as the merit function, f plus a multiple of what the bounds are exceeded by, falls. A step of no length
is the proof that the point is stationary (Karush, Kuhn, Tucker): only such a point is returned. It is what scipy's
SLSQP does, without the time that scipy takes to be imported.

Source: Nocedal, Wright, Numerical Optimization, 18.1 to 18.4 and procedure 18.2; the quadratic programs by Lawson,
Hanson, Solving Least Squares Problems, chapter 23 (NNLS, LDP).

Only a handful of thousands of bounds is binding. A search is given those that are worst at its start, and those that
earlier searches were given; bounds that its result breaks are added, and it goes on from there, until none is broken.
It ends early where it comes near what an earlier one has found. The best of all starts is moved along a line until it
lies on the bound (the loss falls as every p rises), and each p is rounded down to what 32 random bits can draw.

Two starts lie on the bound itself, where a line from the identity meets it; the others bend that line towards one
attribute. In general the problem has several local optima; the result is the best of those that were reached. The
solver is `descend`; where it reaches no stationary point, scipy's SLSQP sets out from the same start.

The work is bounded: once WORK cells were gone through, no further step or start is taken. What was reached is moved
onto the bound like any optimum, and where a start loses less, it is that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from anonymize.channels import Floats, representable
from anonymize.channels.problem import ChannelProblem, Ints
from anonymize.classes import Bools
from anonymize.records import dataclass

STEPS = 100
STATIONARY = 1e-9
"""A step shorter than this is none, and a bound exceeded by less is kept."""
POINT_DISTANCE = 1e-3
"""From so near, in every variable, the way is taken to lead to a point."""
ARMIJO = 1e-4
SHORTEST = 1e-6
"""The share of a step at which a line search gives up."""


@dataclass(frozen=True)
class Task:
    """What is minimized: `value` with its gradient `slope` (n,), subject to `bounds` (m,) with `bound_slopes` (m, n) at
    most 0, within `low` and `high` (n,). `curvature` (n,): a first guess at the second derivatives of f."""

    value: Callable[[Floats], float]
    slope: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]
    bounds: Callable[[Floats], Floats]
    bound_slopes: Callable[[Floats], Floats]
    low: Floats
    high: Floats
    spent: Callable[[], bool] = lambda: False


def descend(task: Task, start: Floats, stationary: Sequence[Floats] = ()) -> Floats | None:
    """A stationary point that keeps the bounds, from a point within the box; None where none was reached.

    `stationary`: points of that kind from earlier searches. One is returned as soon as the way comes as near as
    POINT_DISTANCE. Where the work is spent on the way, the last point is returned, which need not keep the bounds.
    """
    x, hessian, weight = start, np.diag(task.curvature(start)), 0.0
    slope, bounds, slopes = task.slope(x), task.bounds(x), task.bound_slopes(x)
    weights = np.zeros(len(bounds) + 2 * len(x))
    for _ in range(STEPS):
        if task.spent():
            return x
        step = _quadratic(task, x, hessian, slope, bounds, slopes, weights > 0)
        if step is None:
            return None
        move, weights = step
        multipliers = weights[: len(bounds)]
        if np.abs(move).max() < STATIONARY:
            return x if bounds.max(initial=0.0) < STATIONARY else None
        weight = max(weight, 1.5 * float(multipliers.max(initial=0.0)))
        share = _share(task, x, move, weight, float(slope @ move) - weight * float(np.maximum(bounds, 0).sum()))
        if share is None:
            return None
        after = np.clip(x + share * move, task.low, task.high)
        before = slope + slopes.T @ multipliers
        slope, bounds, slopes = task.slope(after), task.bounds(after), task.bound_slopes(after)
        hessian = _updated(hessian, after - x, slope + slopes.T @ multipliers - before)
        x = after
        for point in stationary:
            if np.abs(x - point).max() < POINT_DISTANCE:
                return point
    return None


def _share(task: Task, x: Floats, move: Floats, weight: float, fall: float) -> float | None:
    """How much of a step is gone, halved until the merit falls enough; None where it does not."""

    def merit(point: Floats) -> float:
        return task.value(point) + weight * float(np.maximum(task.bounds(point), 0).sum())

    here, share = merit(x), 1.0
    while share > SHORTEST:
        if merit(np.clip(x + share * move, task.low, task.high)) <= here + ARMIJO * share * fall + 1e-14 * abs(here):
            return share
        share /= 2
    return None


def _updated(hessian: Floats, moved: Floats, turned: Floats) -> Floats:
    """The damped BFGS update, which stays positive definite."""
    along = hessian @ moved
    curved, had = float(moved @ turned), float(moved @ along)
    if had <= 0:
        return hessian
    if curved < 0.2 * had:
        part = 0.8 * had / (had - curved)
        turned = part * turned + (1 - part) * along
        curved = float(moved @ turned)
    return np.asarray(hessian - np.outer(along, along) / had + np.outer(turned, turned) / curved)


def _quadratic(
    task: Task, x: Floats, hessian: Floats, slope: Floats, bounds: Floats, slopes: Floats, guess: Bools
) -> tuple[Floats, Floats] | None:
    """(n,) the step d that minimizes d'Hd / 2 + slope'd within the linearized bounds and the box, and (m + 2 n,) the
    multipliers of the bounds, the upper and the lower sides of the box; None where nothing is within all of them.
    `guess`: which of them are not 0."""
    unit = np.eye(len(x))
    rows = np.concatenate([slopes, unit, -unit])
    limits = np.concatenate([-bounds, task.high - x, x - task.low])
    try:
        root = np.linalg.cholesky(hessian)
    except np.linalg.LinAlgError:
        return None
    shifted = np.linalg.solve(root, slope)
    turned = np.linalg.solve(root, rows.T)
    weights = least_distance(turned, limits + turned.T @ shifted, guess)
    if weights is None:
        return None
    return -np.linalg.solve(root.T, turned @ weights + shifted), weights


def least_distance(columns: Floats, limits: Floats, guess: Bools) -> Floats | None:
    """(m,) multipliers w >= 0 of the shortest z with columns'z <= limits, which is z = -columns w; None where there is
    no such z. `columns` (n, m), `limits` (m,)."""
    stacked = np.concatenate([-columns, -limits[None]])
    target = np.zeros(len(stacked))
    target[-1] = 1
    weights = nonnegative(stacked, target, guess)
    left = 1 - float(stacked[-1] @ weights)
    return weights / left if left > 1e-12 else None


def nonnegative(matrix: Floats, target: Floats, guess: Bools) -> Floats:
    """(m,) the x >= 0 of least ||matrix x - target||. `guess` (m,): which of it may be above 0, to begin with."""
    x, inside = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], np.bool_)
    if guess.any():
        trial = np.linalg.lstsq(matrix[:, guess], target)[0]
        if (trial > 0).all():
            x[guess], inside = trial, guess.copy()
    for _ in range(3 * len(x)):
        rises = matrix.T @ (target - matrix @ x)
        rises[inside] = -np.inf
        best = int(rises.argmax())
        if rises[best] <= 1e-13:
            break
        inside[best] = True
        while inside.any():
            trial = np.zeros(len(x))
            trial[inside] = np.linalg.lstsq(matrix[:, inside], target)[0]
            falling = inside & (trial <= 0)
            if not falling.any():
                x = trial
                break
            part = (x[falling] / (x[falling] - trial[falling])).min()
            x = np.where(inside, x + part * (trial - x), 0.0)
            inside &= x > 1e-15
            x[~inside] = 0
    return x


# --- from several starts ----------------------------------------------------------------------------------------------

WORST = 12
"""Bounds that a search starts with, and that each round may add."""
ROUNDS = 30
NARROW, WIDE = 1e-13, 1e-3
"""How long an interval on a path is left: where a point has to lie on the bound, and where a search starts."""
LONGEST = 200
"""Steps along a path, at most."""
LEAST_EXCESS = 1e-9
TOUCHING = 1e-7
"""So close to 1 a parameter is 1."""
LARGE_JOINT = 1 << 18
"""Cells of the joint table from which on a search has fewer starts."""
WORK = 5_000_000_000
"""Cells that a search goes through, as `ChannelProblem.work` counts them; about 25 s."""
COARSE = 1e-5
"""How long an interval on a path is left once the work is spent."""


def optimum(problem: ChannelProblem, work: int = WORK) -> tuple[Floats | None, bool]:
    """All parameters, quasi-identifiers first; None where even the least of each does not keep the bounds. And whether
    the search ended by itself: else they keep the bounds, and others may lose less.

    Where the table meets them as it is, every p is the largest that it may be, without a cap 1.
    """
    if problem.beyond_caps:
        return None, True
    largest = problem.highest()
    if _fine(problem, problem.full(largest)):
        return _rounded(problem, largest), True
    least = problem.lowest()
    if not problem.variables or not _fine(problem, problem.full(least)):
        return None, True
    optima: list[Floats] = []
    starts: list[Floats] = []
    active = np.zeros(0, np.int64)
    for start in _starts(problem, least):
        starts.append(start)
        chosen, active = _search(problem, start, active, optima, work)
        if problem.work >= work:
            break
        optima.append(chosen)
    ended = len(optima) == len(starts)
    best = _settled(problem, _least(problem, optima or [chosen]), least, NARROW if ended else COARSE)
    return _rounded(problem, best if ended else _least(problem, [best, *starts])), ended


def _least(problem: ChannelProblem, points: Sequence[Floats]) -> Floats:
    return min(points, key=lambda chosen: problem.loss(problem.full(chosen)))


def _fine(problem: ChannelProblem, p: Floats) -> bool:
    return _beyond(problem, p) <= 0


def _beyond(problem: ChannelProblem, p: Floats) -> float:
    """Log of how far the worst bound is exceeded; at most 0 where all are kept."""
    return float(np.log(problem.excess(p).max(initial=LEAST_EXCESS))) - 1e-12


def _starts(problem: ChannelProblem, least: Floats) -> Iterator[Floats]:
    """Points on the bound: from the identity straight down, and bent towards each variable."""
    count = len(problem.variables)
    bends = [np.ones(count)]
    reach = problem.highest() - least
    if count > 1 and problem.pi.size <= LARGE_JOINT:
        bends += [np.where(np.arange(count) == axis, 4.0, 1.0) for axis in range(count)]
    elif count > 1:
        bends.append(np.arange(1.0, count + 1))
    for bend in bends:
        yield _on_bound(problem, lambda t, bend=bend: least + reach * t**bend, WIDE)  # type: ignore[misc]


def _on_bound(problem: ChannelProblem, path: Callable[[float], Floats], width: float = NARROW) -> Floats:
    """A point of a path from t = 0, which is fine, to t = 1 that keeps the bounds, and behind which, at most `width`
    on, one is broken; t = 1 where it is fine.

    By regula falsi with the Illinois rule (an end that stays counts half); every third step halves the interval.
    """

    def beyond(t: float) -> float:
        return _beyond(problem, problem.full(path(t)))

    low, high, below, above = 0.0, 1.0, beyond(0.0), beyond(1.0)
    if above <= 0:
        return path(high)
    for step in range(LONGEST):
        if high - low <= width:
            break
        middle = (low + high) / 2 if step % 3 == 2 else low + (high - low) * max(below / (below - above), 0.0)
        middle = min(max(middle, low + width / 2), high - width / 2)
        excess = beyond(middle)
        if excess <= 0:
            low, below, above = middle, excess, above / 2
        else:
            high, above, below = middle, excess, below / 2
    return path(low)


def _search(
    problem: ChannelProblem, start: Floats, active: Ints, stationary: Sequence[Floats], work: int
) -> tuple[Floats, Ints]:
    """A local optimum that keeps all bounds, up to the tolerance of the solver, which may be a known one, or what was
    reached with so much work; and the bounds that it was given, with those that were active before."""
    chosen, active = start, np.union1d(_worst(problem, start), active)
    for _ in range(ROUNDS):
        chosen = _solved(problem, chosen, active, stationary, work)
        if problem.work >= work:
            break
        broken = _worst(problem, chosen, above=1 + 1e-7)
        if np.isin(broken, active).all():
            break
        active = np.union1d(active, broken)
    return chosen, active


def _worst(problem: ChannelProblem, chosen: Floats, above: float = 0.0) -> Ints:
    """Numbers, ascending, of the bounds of largest excess."""
    excess = problem.excess(problem.full(chosen))
    worst = np.argpartition(excess, -min(WORST, len(excess)))[-WORST:]
    return np.sort(worst[excess[worst] > above])


def _solved(problem: ChannelProblem, start: Floats, active: Ints, earlier: Sequence[Floats], work: int) -> Floats:
    """A local optimum under some of the bounds; where the first solver reaches none, by scipy's."""
    task = _task(problem, active, work)
    stationary = descend(task, start, earlier)
    return _by_scipy(task, start) if stationary is None else stationary


def _task(problem: ChannelProblem, active: Ints, work: int) -> Task:
    """Both sides as logarithms."""
    seen: dict[bytes, Floats] = {}

    def excess(chosen: Floats) -> Floats:
        """The excess over the active bounds; solvers ask for value and gradient at the same points."""
        key = chosen.tobytes()
        if key not in seen:
            seen.clear()
            seen[key] = problem.excess(problem.full(chosen))[active]
        return seen[key]

    least = problem.lowest()
    return Task(
        value=lambda chosen: problem.loss(problem.full(chosen)),
        slope=lambda chosen: problem.loss_slope(problem.full(chosen)),
        curvature=lambda chosen: problem.loss_curvature(problem.full(chosen)),
        bounds=lambda chosen: np.log(excess(chosen)),
        bound_slopes=lambda chosen: problem.excess_slope(problem.full(chosen), active) / excess(chosen)[:, None],
        low=least,
        high=problem.highest(),
        spent=lambda: problem.work >= work,
    )


class _SpentError(Exception):
    """Ends scipy's search at the point where no more work may be done."""

    def __init__(self, point: Floats) -> None:
        super().__init__()
        self.point = point


def _by_scipy(task: Task, start: Floats) -> Floats:
    from scipy.optimize import minimize

    def slack(x: Floats) -> Floats:
        if task.spent():
            raise _SpentError(x.copy())
        return -task.bounds(x)

    try:
        point = minimize(
            task.value,
            start,
            jac=task.slope,
            bounds=list(zip(task.low, task.high, strict=True)),
            constraints=[{"type": "ineq", "fun": slack, "jac": lambda x: -task.bound_slopes(x)}],
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-12},
        ).x
    except _SpentError as spent:
        point = spent.point
    return np.asarray(np.clip(point, task.low, task.high))


def _settled(problem: ChannelProblem, chosen: Floats, least: Floats, width: float) -> Floats:
    """The point moved onto the bound, or `width` of the way before it; what is largest but for the solver's tolerance
    is that, unless it breaks the bound."""
    top = problem.highest()
    for fixed in (chosen > top - TOUCHING, np.zeros(len(chosen), np.bool_)):
        snapped, bottom = np.where(fixed, top, chosen), np.where(fixed, top, least)
        if _fine(problem, problem.full(snapped)):
            return _on_bound(problem, lambda t, start=snapped: start + (top - start) * t, width)  # type: ignore[misc]
        if _fine(problem, problem.full(bottom)):
            break
    return _on_bound(problem, lambda t: bottom + (snapped - bottom) * t, width)


def _rounded(problem: ChannelProblem, chosen: Floats) -> Floats:
    """Parameters that can be drawn exactly, none of them above what was found."""
    sizes = [problem.sizes[axis] for axis in problem.variables]
    return problem.full(np.array([representable(p, d) for p, d in zip(chosen, sizes, strict=True)]))
