"""solve_bvp: the solution moves so that its collocation residual stays zero.

On the mesh x with steps h that SciPy has found, the states y and parameters p solve F(y, p) = 0:

    y[i+1] - y[i] - h/6 (f[i] + f[i+1] + 4 f(x[i] + h/2, (y[i] + y[i+1])/2 - h/8 (f[i+1] - f[i]))),

and the boundary conditions (Kierzenka, Shampine, ACM TOMS 27, 2001). The solution found is taken
through steps of Newton's method, z - J⁻¹ F(z), with the Jacobian J as a constant: the first makes
its derivative right, as the implicit function theorem has it, the others correct that for the
differences of which J is made, and give the second derivative. The values stay those of SciPy. The
mesh is the given one with nodes between, which moves with it; the first guess is a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, interpolate, sparse
from scipy.sparse import linalg

from chainrules.scipy.found import with_value
from chainrules.scipy.integrate.captured import plain
from chainrules.scipy.optimize.implicit import apart
from chainrules_core import ChainRulesError, decompose, non_differentiable

NEWTON_STEPS = 3
RELATIVE_STEP = np.finfo(float).eps ** (1 / 3)


class BoundaryError(ChainRulesError, ArithmeticError):
    """A boundary value problem has no solution that could be differentiated."""


def solve_plainly(fun: Callable, bc: Callable, fun_jac: Any, bc_jac: Any, guess: tuple,
                  options: dict) -> Any:  # fmt: skip
    """Call solve_bvp where nothing is traced."""
    x, y, p = guess
    return integrate.solve_bvp(fun, bc, x, np.array(y), p, fun_jac=fun_jac, bc_jac=bc_jac,
                               **options)  # fmt: skip


def residual(f: Callable, bc: Callable, x: Any, y: Any, p: Any) -> Any:
    """The collocation residual, node by node, then that of the boundary conditions."""
    h = np.diff(x)
    slope = f(x, y, p)
    middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (slope[:, 1:] - slope[:, :-1])
    at_middle = f(x[:-1] + 0.5 * h, middle, p)
    inside = y[:, 1:] - y[:, :-1] - h / 6 * (slope[:, :-1] + slope[:, 1:] + 4 * at_middle)
    return np.concatenate([np.ravel(np.transpose(inside)), bc(y[:, 0], y[:, -1], p)])


def slopes(f: Callable, at: Any) -> Any:
    """The derivatives of `f`, by central differences, along the last axis of the result.

    Along the first axis of `at`, each element of which moves all elements of the others.
    """
    columns = []
    for i in range(len(at)):
        step = np.zeros(np.shape(at))
        step[i] = RELATIVE_STEP * (1 + np.abs(at[i]))
        columns.append((f(at + step) - f(at - step)) / (2 * step[i]))
    return np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(f(at)), 0))


def factors(f: Callable, bc: Callable, x: Any, y: Any, p: Any) -> Any:
    """The factors of the Jacobian of the residual, by the states node by node, then by `p`."""
    n, m = np.shape(y)
    h = np.diff(x)[:, None, None]
    slope = f(x, y, p)
    x_middle = x[:-1] + h[:, 0, 0] / 2
    middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h[:, 0, 0] * (slope[:, 1:] - slope[:, :-1])
    by_y = np.moveaxis(slopes(lambda y: f(x, y, p), y), 0, 1)
    by_middle = np.moveaxis(slopes(lambda y: f(x_middle, y, p), middle), 0, 1)
    by_p = np.moveaxis(slopes(lambda p: f(x, y, p), p), 0, 1)
    middle_by_p = np.moveaxis(slopes(lambda p: f(x_middle, middle, p), p), 0, 1)
    middle_by_p = middle_by_p - by_middle @ (h / 8 * (by_p[1:] - by_p[:-1]))
    one = np.eye(n)
    left = -one - h / 6 * (by_y[:-1] + by_middle @ (2 * one + h / 2 * by_y[:-1]))
    right = one - h / 6 * (by_y[1:] + by_middle @ (2 * one - h / 2 * by_y[1:]))
    of_p = -h / 6 * (by_p[:-1] + by_p[1:] + 4 * middle_by_p)
    ends = slopes(lambda v: bc(v[:n], v[n : 2 * n], v[2 * n :]),
                  np.concatenate([y[:, 0], y[:, -1], p]))  # fmt: skip
    blocks = sparse.block_diag([sparse.coo_array(block) for block in left])
    nothing = sparse.csr_array(((m - 1) * n, n))
    inside = sparse.hstack([blocks, nothing])
    others = sparse.block_diag([sparse.coo_array(block) for block in right])
    inside = inside + sparse.hstack([nothing, others])
    inside = sparse.hstack([inside, np.reshape(of_p, ((m - 1) * n, len(p)))])
    between = np.zeros((len(ends), (m - 2) * n))
    last = np.concatenate([ends[:, :n], between, ends[:, n:]], axis=1)
    return linalg.splu(sparse.csc_array(sparse.vstack([inside, last])))


for _f in (solve_plainly, factors):
    non_differentiable(_f, Callable)


def spline(x: Any, y: Any, slope: Any) -> Any:
    """The cubic spline with these values and slopes, as a PPoly."""
    h = np.diff(x)
    secant = np.diff(y, axis=1) / h
    bend = (slope[:, :-1] + slope[:, 1:] - 2 * secant) / h
    c = np.stack([bend / h, (secant - slope[:, :-1]) / h - bend, slope[:, :-1], y[:, :-1]], axis=1)
    return interpolate.PPoly(c, x, extrapolate=True, axis=1)


@decompose(integrate.solve_bvp, Callable)
def solve_bvp(fun: Callable, bc: Callable, x: Any, y: Any, p: Any = None, S: Any = None,
              fun_jac: Any = None, bc_jac: Any = None, tol: float = 1e-3, max_nodes: int = 1000,
              verbose: int = 0, bc_tol: Any = None) -> Any:  # fmt: skip
    x = np.asarray(x)
    options = {"tol": tol, "max_nodes": max_nodes, "verbose": verbose, "bc_tol": bc_tol}
    guess = plain(x), plain(np.asarray(y)), None if p is None else plain(np.asarray(p))
    known_s = None if S is None else plain(np.asarray(S))
    found = solve_plainly(fun, bc, fun_jac, bc_jac, guess, {**options, "S": known_s})
    if not found.success:
        raise BoundaryError(
            "scipy.integrate.solve_bvp has not found a solution, and what it returned has no "
            f"derivative: {found.message} Ask for more nodes, or begin with a better guess."
        )
    nodes = np.interp(found.x, guess[0], x)
    n = len(found.y)
    start = nodes[0]

    def f(x, y, p):
        slope = np.array(fun(x, y) if guess[2] is None else fun(x, y, p))
        if S is None:
            return slope
        if plain(x)[0] > plain(start):
            return slope + S @ y / (x - start)
        first = np.linalg.pinv(np.eye(n) - S) @ slope[:, :1]
        return np.concatenate([first, slope[:, 1:] + S @ y[:, 1:] / (x[1:] - start)], axis=1)

    def conditions(ya, yb, p):
        return np.array(bc(ya, yb) if guess[2] is None else bc(ya, yb, p))

    known_p = np.zeros(0) if guess[2] is None else found.p
    lu = factors(f, conditions, plain(nodes), found.y, known_p)
    y, p = found.y, known_p
    for _ in range(NEWTON_STEPS):
        step = lu.solve(residual(f, conditions, nodes, y, p))
        size = n * len(found.x)
        y = y - np.transpose(np.reshape(step[:size], (-1, n)))
        p = p - step[size:]
    y, p = with_value(found.y, y), with_value(known_p, p)
    slope = f(nodes, y, p)
    result = type(found)(found)
    result["x"], result["y"], result["yp"] = nodes, y, slope
    result["sol"] = spline(nodes, y, slope)
    field = "rms_residuals in the result of scipy.integrate.solve_bvp"
    result["rms_residuals"] = apart(found.rms_residuals, y, field=field)
    if guess[2] is not None:
        result["p"] = p
    return result
