"""Sequential quadratic programming for a few variables: minimize f(x) subject to g(x) <= 0 within a box.

Each step solves the quadratic program of f's gradient, the linearized bounds, and an approximation of the Lagrangian's
second derivatives (damped BFGS), and goes along it as far as the merit function, f plus a multiple of what the bounds
are exceeded by, falls. A step of no length is the proof that the point is stationary (Karush, Kuhn, Tucker): only such
a point is returned. It is what scipy's SLSQP does, without the time that scipy takes to be imported.

Source: Nocedal, Wright, Numerical Optimization, 18.1 to 18.4 and procedure 18.2; the quadratic programs by Lawson,
Hanson, Solving Least Squares Problems, chapter 23 (NNLS, LDP).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.classes import Bools, Floats

STEPS = 100
STATIONARY = 1e-9
"""A step shorter than this is none, and a bound exceeded by less is kept."""
NEAR = 1e-3
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


def descend(task: Task, start: Floats, stationary: Sequence[Floats] = ()) -> Floats | None:
    """A stationary point that keeps the bounds, from a point within the box; None where none was reached.

    `stationary`: points of that kind from earlier searches. One is returned as soon as the way comes as near as NEAR.
    """
    x, hessian, weight = start, np.diag(task.curvature(start)), 0.0
    slope, bounds, slopes = task.slope(x), task.bounds(x), task.bound_slopes(x)
    weights = np.zeros(len(bounds) + 2 * len(x))
    for _ in range(STEPS):
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
            if np.abs(x - point).max() < NEAR:
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
