"""Which constraints hold a minimum where it is.

At a minimum x of f under constraints c_j(x) ≥ 0, equalities and bounds among them, the gradient is
a combination of those of the constraints that are active, with positive multipliers:

    ∇f = Σ λ_j ∇c_j,   λ_j ≥ 0,   λ_j c_j(x) = 0        (Karush, Kuhn, Tucker).

As long as all multipliers of active constraints are positive, the same ones stay active when
parameters move a little: then x is the solution of a system of equations, which
:mod:`chainrules.scipy.optimize.minima` differentiates. Where one is zero the minimum has a kink,
and that is an error.

All of this is decided on plain values, with gradients by differences: they say which constraints
are active, and give a first guess of the multipliers, which the Newton step of
:mod:`chainrules.scipy.optimize.implicit` makes exact. Methods that stay inside (``trust-constr``,
``bounded``) stop a little before a bound; a constraint counts as active if it is close and its
multiplier exceeds its distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from chainrules.scipy.optimize.implicit import ImplicitError, tuple_of
from chainrules_core import non_differentiable

CLOSE = 1e-3
ON = 1e-7
STEP = 1.5e-8


class Constraint(NamedTuple):
    """lower ≤ c(x) ≤ upper, with None for what is not given."""

    c: Any
    """A function, or a matrix."""
    args: tuple
    lower: Any
    upper: Any
    is_linear: bool

    def at(self, x: Any) -> Any:
        """Evaluate c, as a vector."""
        if self.is_linear:
            return np.matmul(self.c, x)
        return np.ravel(self.c(x, *self.args))


class Active(NamedTuple):
    """What is decided about the constraints at a minimum."""

    free: Any
    """The variables that are at none of their bounds."""
    fixed: Any
    """Those that are."""
    at_upper: tuple[bool, ...]
    """For each of these, at which."""
    rows: tuple[tuple[int, Any, bool], ...]
    """For constraints: which, which of its elements, whether these are at their upper bounds."""
    multipliers: Any


def sides_of(bounds: Any, n: int) -> tuple[tuple, tuple]:
    """Return the lower and the upper bounds of `n` variables, None or infinite for no bound."""
    if bounds is None or (isinstance(bounds, (tuple, list)) and not len(bounds)):
        return (None,) * n, (None,) * n
    if isinstance(bounds, optimize.Bounds):
        return _each(bounds.lb, n), _each(bounds.ub, n)
    pairs = [bounds[i] for i in range(len(bounds))]
    pairs = pairs * n if len(pairs) == 1 else pairs
    return tuple([p[0] for p in pairs]), tuple([p[1] for p in pairs])


def _each(side: Any, n: int) -> tuple:
    side = np.broadcast_to(side, (n,))
    return tuple([side[i] for i in range(n)])


def constraints_of(constraints: Any) -> tuple[Constraint, ...]:
    """Return constraints in one form."""
    if isinstance(constraints, (tuple, list)):
        return tuple([_constraint(c) for c in constraints])
    return (_constraint(constraints),)


def _constraint(c: Any) -> Constraint:
    if isinstance(c, optimize.LinearConstraint):
        return Constraint(np.atleast_2d(c.A), (), c.lb, c.ub, True)
    if isinstance(c, optimize.NonlinearConstraint):
        return Constraint(c.fun, (), c.lb, c.ub, False)
    equality = str(c["type"]).lower() == "eq"
    return Constraint(c["fun"], tuple_of(c.get("args", ())), 0.0, 0.0 if equality else None, False)


@non_differentiable
def active_set(
    spec: Any, params: tuple, x: Any, lower: tuple, upper: tuple, constraints: tuple
) -> Active:
    """Decide which bounds and constraints are active at a minimum of an objective."""
    n = len(x)
    low = np.array([-np.inf if b is None else b for b in lower], dtype=float)
    high = np.array([np.inf if b is None else b for b in upper], dtype=float)
    # Each candidate: where it comes from, its distance, its gradient, whether it is an equality.
    found: list[tuple[tuple, float, Any, bool]] = []
    for i in range(n):
        e = np.zeros(n)
        e[i] = 1.0
        if low[i] == high[i]:
            found.append((("bound", i, False), 0.0, e, True))
            continue
        _add(found, ("bound", i, False), x[i], low[i], e, 1)
        _add(found, ("bound", i, True), x[i], high[i], e, -1)
    for k, constraint in enumerate(constraints):
        values = np.asarray(constraint.at(x))
        slopes = _slopes(constraint.at, x, low, high)
        least = _filled(constraint.lower, -np.inf, values)
        most = _filled(constraint.upper, np.inf, values)
        for i in range(len(values)):
            if least[i] == most[i]:
                found.append(((k, i, False), 0.0, slopes[i], True))
                continue
            _add(found, (k, i, False), values[i], least[i], slopes[i], 1)
            _add(found, (k, i, True), values[i], most[i], slopes[i], -1)
    slope = _slopes(lambda x: np.ravel(spec.objective(spec, params, x)), x, low, high)[0]
    kept = _kept(spec.name, found, slope)
    return _sorted(n, kept)


def _filled(side: Any, missing: float, like: Any) -> Any:
    return np.broadcast_to(missing if side is None else side, np.shape(like))


def _add(found: list, place: tuple, value: float, bound: float, slope: Any, sign: int) -> None:
    """Add an inequality to the candidates if it is close."""
    if not np.isfinite(bound):
        return
    distance = sign * (value - bound)
    if distance <= CLOSE * max(1.0, abs(bound)):
        found.append((place, max(distance, 0.0), sign * slope, False))


def _slopes(f: Callable, x: Any, low: Any, high: Any) -> Any:
    """Return the Jacobian by differences that stay inside the bounds."""
    y = np.asarray(f(x))
    columns = []
    for i in range(len(x)):
        h = STEP * max(1.0, abs(x[i]))
        h = -h if x[i] + h > high[i] and x[i] - h >= low[i] else h
        moved = np.array(x, dtype=float)
        moved[i] += h
        columns.append((np.asarray(f(moved)) - y) / (moved[i] - x[i]))
    return np.stack(columns, axis=1)


def _kept(name: str, found: list, slope: Any) -> list[tuple[tuple, float]]:
    """Return the active candidates with their multipliers."""
    if not found:
        return []
    scale = 1.0 + np.max(np.abs(slope))
    gradients = np.stack([g for _, _, g, _ in found], axis=1)
    equal = np.array([is_equality for *_, is_equality in found])
    both = np.concatenate([gradients, -gradients[:, equal]], axis=1)
    weights = optimize.nnls(both, slope)[0]
    multipliers = weights[: len(found)]
    multipliers[equal] -= weights[len(found) :]
    kept = []
    for (place, distance, _, is_equality), weight in zip(found, multipliers, strict=True):
        if is_equality or weight > max(distance, ON * scale):
            kept.append((place, weight))
        elif distance <= ON:
            what = f"a bound of x[{place[1]}]" if place[0] == "bound" else f"constraint {place[0]}"
            raise ImplicitError(
                f"the minimum found by {name} lies just on {what}, which does not hold it there: "
                "its multiplier is zero, or the constraint is redundant. The minimum has a kink or "
                "no unique multipliers, and so no derivative. Leave out the constraint if it does "
                "not matter, or change the data a little."
            )
    return kept


def _sorted(n: int, kept: list[tuple[tuple, float]]) -> Active:
    bounds = [place for place, _ in kept if place[0] == "bound"]
    fixed = [i for _, i, _ in bounds]
    rows, multipliers = [], []
    groups: dict[tuple, list] = {}
    for (k, i, at_upper), weight in kept:
        if k != "bound":
            groups.setdefault((k, at_upper), []).append((i, weight))
    for (k, at_upper), members in groups.items():
        rows.append((k, np.array([i for i, _ in members]), at_upper))
        multipliers += [-w if at_upper else w for _, w in members]
    return Active(
        np.array([i for i in range(n) if i not in set(fixed)], dtype=int),
        np.array(fixed, dtype=int),
        tuple([at_upper for _, _, at_upper in bounds]),
        tuple(rows),
        np.array(multipliers, dtype=float),
    )
