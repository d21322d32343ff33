"""Linear programs: the optimal vertex, and the value there.

At a vertex of A_ub x ≤ b_ub, A_eq x = b_eq, l ≤ x ≤ u the active constraints, B x = d, determine x:

    ẋ = B⁻¹ (ḋ - Ḃ x),

whatever the cost c, as long as the vertex remains optimal: with respect to c the derivative is
zero, and that of the value c·x is x. With respect to b_ub and b_eq it is the dual solution. Where
equations are redundant (in a transport problem the sums over rows and columns are) d moves so that
they stay consistent, and B is solved in the sense of least squares. The multipliers themselves, the
marginals of a result, are B⁻ᵀ c.

Not everything is smooth. Where other points are optimal as well, the vertex is not a function of
the data, and the value has a kink with respect to c and A. Where more constraints are active than
needed, the vertex is degenerate: it does not move with c, but has a kink with respect to all else,
and so has the value. A derivative that is asked for there is an error.

``milp`` is this for its continuous variables, the integers being constant.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from chainrules.scipy.found import with_value
from chainrules.scipy.optimize.active import sides_of
from chainrules.scipy.optimize.implicit import (
    UnconvergedError,
    decomposed,
    with_fields,
    with_others,
)
from chainrules_core import (
    NoTangent,
    ZeroTangent,
    ignore_derivatives,
    non_differentiable,
    not_implemented,
    pair_rule,
)

ON = 1e-8


class Vertex(NamedTuple):
    """Which constraints hold an optimum."""

    rows: Any
    """The rows of A_ub that are active."""
    at_lower: Any
    at_upper: Any
    """The variables at a bound."""
    is_unique: bool
    """Whether no other point is optimal."""
    is_simple: bool
    """Whether none of the active constraints follows from others."""
    reason: str
    """Why a derivative does not exist, if so."""


@non_differentiable
def vertex_of(name: str, c: Any, x: Any, rows: tuple, lower: tuple, upper: tuple) -> Vertex:
    """Find the active constraints of an optimum, and whether it is a vertex that moves smoothly."""
    a_ub, b_ub, a_eq, _ = rows
    n = len(x)
    low = np.array([-np.inf if b is None else b for b in lower], dtype=float)
    high = np.array([np.inf if b is None else b for b in upper], dtype=float)
    active = np.flatnonzero(np.abs(a_ub @ x - b_ub) <= ON * (1 + np.abs(b_ub)))
    always = low == high
    at_lower = np.flatnonzero((np.abs(x - low) <= ON * (1 + np.abs(x))) | always)
    at_upper = np.flatnonzero((np.abs(x - high) <= ON * (1 + np.abs(x))) & ~always)
    eye = np.eye(n)
    equal = np.concatenate([a_eq, eye[always]])
    unequal = np.concatenate([-a_ub[active], eye[at_lower[~always[at_lower]]], -eye[at_upper]])
    everything = np.concatenate([equal, unequal])
    rank = _rank(everything)
    unique = rank == n and _is_unique(c, equal, unequal)
    simple = rank == _rank(equal) + len(unequal)
    what = (
        "more constraints are active than determine the solution (it is degenerate)"
        if unique
        else "other points are optimal as well, so the solution is not unique"
    )
    reason = f"the derivative of {name} with respect to this argument does not exist here: {what}"
    return Vertex(active, at_lower, at_upper, unique, simple, reason)


def _rank(a: Any) -> int:
    return int(np.linalg.matrix_rank(a)) if np.size(a) else 0


def _is_unique(c: Any, equal: Any, unequal: Any) -> bool:
    """Whether c·d > 0 in every feasible direction d: equal d = 0, unequal d ≥ 0.

    Else the program max Σ unequal d with c·d = 0 has a direction for its solution.
    """
    if not len(unequal):
        return True
    directions = optimize.linprog(
        -np.sum(unequal, axis=0),
        A_ub=np.concatenate([-unequal, [c]]),
        b_ub=np.zeros(len(unequal) + 1),
        A_eq=equal if len(equal) else None,
        b_eq=np.zeros(len(equal)) if len(equal) else None,
        bounds=(-1, 1),
    )
    return directions.status == 0 and -directions.fun <= 1e-3  # else it reaches the box


def system(vertex: Vertex, rows: tuple, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return B and d: the active constraints."""
    a_ub, b_ub, a_eq, b_eq = rows
    eye = np.eye(np.shape(a_ub)[1])
    b = np.concatenate([a_eq, a_ub[vertex.rows], eye[vertex.at_lower], eye[vertex.at_upper]])
    return b, np.concatenate([b_eq, b_ub[vertex.rows], lower, upper])


def optimum(vertex: Any, c: Any, b: Any, d: Any, x: Any) -> Any:
    """Return the vertex `x`, where c·x is least and B x = d."""
    return x


@pair_rule(optimum)
def optimum_rule(vertex, c, b, d, x):
    """Pull back by one solve with the active constraints."""
    y = optimum(vertex, c, b, d, x)

    def optimum_pushforward(_vertex, c_dot, b_dot, d_dot, _x):
        """Push forward by one solve."""
        moves = np.any(b_dot) or np.any(d_dot)
        if not moves and (vertex.is_unique or not np.any(c_dot)):
            return ZeroTangent()
        if not (vertex.is_unique and vertex.is_simple):
            return not_implemented(vertex.reason)
        return np.linalg.lstsq(b, d_dot - np.matmul(b_dot, y), rcond=None)[0]

    def optimum_pullback(y_bar):
        missing = not_implemented(vertex.reason)
        c_bar = ZeroTangent() if vertex.is_unique else missing
        if not (vertex.is_unique and vertex.is_simple):
            return NoTangent(), c_bar, missing, missing, ZeroTangent()
        d_bar = np.linalg.lstsq(np.transpose(b), y_bar, rcond=None)[0]
        return NoTangent(), c_bar, -np.outer(d_bar, y), d_bar, ZeroTangent()

    return y, optimum_pushforward, optimum_pullback


def optimal_value(vertex: Any, c: Any, b: Any, d: Any, x: Any) -> Any:
    """Return the value at the vertex `x`; the multipliers of B x = d are the dual solution."""
    return np.sum(c * x)


@pair_rule(optimal_value)
def optimal_value_rule(vertex, c, b, d, x):
    """The envelope theorem: x, and the dual solution."""

    def optimal_value_pushforward(_vertex, c_dot, b_dot, d_dot, _x):
        """The same forward."""
        if (np.any(c_dot) or np.any(b_dot)) and not vertex.is_unique:
            return not_implemented(vertex.reason)
        y_dot = np.sum(c_dot * x)
        if not (np.any(b_dot) or np.any(d_dot)):
            return y_dot
        if not vertex.is_simple:
            return not_implemented(vertex.reason)
        dual = np.linalg.lstsq(np.transpose(b), c, rcond=None)[0]
        return y_dot + np.sum(dual * (d_dot - np.matmul(b_dot, x)))

    def optimal_value_pullback(y_bar):
        missing = not_implemented(vertex.reason)
        c_bar = y_bar * x if vertex.is_unique else missing
        if not vertex.is_simple:
            return NoTangent(), c_bar, missing, missing, ZeroTangent()
        dual = y_bar * np.linalg.lstsq(np.transpose(b), c, rcond=None)[0]
        b_bar = -np.outer(dual, x) if vertex.is_unique else missing
        return NoTangent(), c_bar, b_bar, dual, ZeroTangent()

    return optimal_value(vertex, c, b, d, x), optimal_value_pushforward, optimal_value_pullback


def matrix(a: Any, n: int) -> Any:
    """Return a matrix of constraints; without rows where there are none."""
    return np.zeros((0, n)) if a is None else np.reshape(np.array(a), (-1, n))


def vector(b: Any) -> Any:
    """Return the right side of constraints."""
    return np.zeros(0) if b is None else np.ravel(np.array(b))


def chosen(side: tuple, places: Any) -> Any:
    """Return the bounds of some variables."""
    return np.array([side[i] for i in places], dtype=np.float64)


def moving(name: str, c: Any, x: Any, rows: tuple, lower: tuple, upper: tuple) -> tuple:
    """Return an optimum `x` and its value as they move with their program, and its vertex."""
    vertex = vertex_of(name, c, x, rows, lower, upper)
    b, d = system(vertex, rows, chosen(lower, vertex.at_lower), chosen(upper, vertex.at_upper))
    x = optimum(vertex, c, b, d, x)
    return x, optimal_value(vertex, c, b, d, x), (vertex, b)


def with_multipliers(found: Any, known: Any, c: Any, vertex: Vertex, b: Any) -> Any:
    """Return a result whose multipliers move with the program: B⁻ᵀ c for active constraints.

    They are left as they are, not differentiated, where they are not the only ones, or not those
    that SciPy has.
    """
    n = len(c)
    if not (vertex.is_unique and vertex.is_simple and np.shape(b) == (n, n)):
        return found
    dual = np.linalg.solve(np.transpose(b), c)
    sizes = {"eqlin": len(known.eqlin.marginals), "ineqlin": len(vertex.rows)}
    sizes |= {"lower": len(vertex.at_lower), "upper": len(vertex.at_upper)}
    places = {"eqlin": None, "ineqlin": vertex.rows}
    places |= {"lower": vertex.at_lower, "upper": vertex.at_upper}
    start, fields = 0, {}
    for name, size in sizes.items():
        part, at = dual[start : start + size], places[name]
        start += size
        marginals = known[name].marginals
        if at is not None:
            part = np.matmul(np.eye(len(marginals))[:, at], part)
        if not np.allclose(ignore_derivatives(part), marginals, rtol=ON, atol=ON):
            return found
        fields[name] = with_fields(found[name], marginals=with_value(marginals, part))
    return with_fields(found, **fields)


def check(name: str, result: Any) -> None:
    """Raise where there is no optimum."""
    if result.x is None or result.status != 0:
        raise UnconvergedError(
            f"{name} has found no optimum that could be differentiated: {result.message} Check "
            "the constraints and the bounds; if it has stopped early, raise its limits in options."
        )


@decomposed(optimize.linprog)
def linprog_body(call, result):
    """The vertex, the value and the slack of a result."""
    name = "scipy.optimize.linprog"
    check(name, result)
    c = np.ravel(np.array(call["c"]))
    n = np.shape(c)[0]
    a_ub, b_ub = matrix(call["A_ub"], n), vector(call["b_ub"])
    rows = a_ub, b_ub, matrix(call["A_eq"], n), vector(call["b_eq"])
    lower, upper = bounds_of(call["bounds"], n)
    lower, upper = with_integers(call["integrality"], n, result.x, lower, upper)
    x, y, at = moving(name, c, result.x, rows, lower, upper)
    # The multipliers move with the prices even where the vertex does not.
    found = with_others(result, np.concatenate([x, c]), name, ("x", "fun", "slack", "con"))
    if call["integrality"] is None:
        found = with_multipliers(found, result, c, *at)
    return with_fields(found, x=x, fun=y, slack=b_ub - np.matmul(a_ub, x))


def bounds_of(bounds: Any, n: int) -> tuple[tuple, tuple]:
    """Return the bounds of ``linprog``: pairs, or one pair for all."""
    if bounds is None:
        return (0.0,) * n, (None,) * n
    if np.ndim(bounds[0]) == 0:
        return (bounds[0],) * n, (bounds[1],) * n
    return sides_of(bounds, n)


def with_integers(integrality: Any, n: int, x: Any, lower: tuple, upper: tuple) -> tuple:
    """Fix the variables that are integers."""
    kinds = np.broadcast_to(0 if integrality is None else integrality, (n,))
    fixed = [k in (1, 3) or (k == 2 and x[i] == 0) for i, k in enumerate(kinds)]
    whole = [float(v) for v in x]
    return (
        tuple([whole[i] if fixed[i] else lower[i] for i in range(n)]),
        tuple([whole[i] if fixed[i] else upper[i] for i in range(n)]),
    )


@decomposed(optimize.milp)
def milp_body(call, result):
    """The optimum and the value of a result."""
    name = "scipy.optimize.milp"
    check(name, result)
    c = np.ravel(np.array(call["c"]))
    n = np.shape(c)[0]
    lower, upper = (0.0,) * n, (None,) * n
    if call["bounds"] is not None:
        bounds = call["bounds"]
        if not isinstance(bounds, optimize.Bounds):
            bounds = optimize.Bounds(*bounds)
        lower, upper = sides_of(bounds, n)
    lower, upper = with_integers(call["integrality"], n, result.x, lower, upper)
    x, y, _ = moving(name, c, result.x, rows_of(call["constraints"], n), lower, upper)
    return with_fields(result, x=x, fun=y)


def rows_of(constraints: Any, n: int) -> tuple:
    """Return the constraints of ``milp`` as those of ``linprog``."""
    parts: dict[str, list] = {"a_ub": [], "b_ub": [], "a_eq": [], "b_eq": []}
    for one in listed(constraints):
        a = matrix(one.A, n)
        low = np.broadcast_to(one.lb, np.shape(a)[:1])
        high = np.broadcast_to(one.ub, np.shape(a)[:1])
        equal = np.equal(low, high)
        above = np.logical_and(np.isfinite(low), ~equal)
        below = np.logical_and(np.isfinite(high), ~equal)
        parts["a_eq"].append(a[equal])
        parts["b_eq"].append(low[equal])
        parts["a_ub"] += [a[below], -a[above]]
        parts["b_ub"] += [high[below], -low[above]]
    if not parts["a_ub"]:
        return matrix(None, n), vector(None), matrix(None, n), vector(None)
    return tuple([np.concatenate(part) for part in (parts[k] for k in _ROWS)])


_ROWS = ("a_ub", "b_ub", "a_eq", "b_eq")


def listed(constraints: Any) -> list:
    """Return the constraints of ``milp``, which may be a triple of a matrix and its bounds."""
    linear = optimize.LinearConstraint
    if constraints is None:
        return []
    if isinstance(constraints, linear):
        return [constraints]
    if all(isinstance(one, linear) or _is_triple(one) for one in constraints):
        return [one if isinstance(one, linear) else linear(*one) for one in constraints]
    return [linear(*constraints)]


def _is_triple(one: Any) -> bool:
    return isinstance(one, (tuple, list)) and len(one) == 3 and np.ndim(one[0]) == 2
