"""The states of an initial value problem at given times, and their derivatives.

For y' = f(t, y; θ), y(t₀) = y₀ the tangent s of y solves the variational equations

    s' = f_y s + f_θ dθ,   s(t₀) = dy₀ - f(t₀, y₀) dt₀,   dy(tᵢ) = s(tᵢ) + f(tᵢ, y(tᵢ)) dtᵢ,

and for cotangents ȳᵢ of the states at the times tᵢ the adjoint λ solves, backward in time,

    λ' = -f_yᴴ λ,   with a jump of ȳᵢ at tᵢ,   θ̄ = ∫ f_θᴴ λ dt,   ȳ₀ = λ(t₀),
    t̄ᵢ = ⟨f(tᵢ, yᵢ), ȳᵢ⟩,   t̄₀ = -⟨f(t₀, y₀), λ(t₀)⟩.

Both are solved with tolerances a tenth of the user's, by the user's method or by DOP853 in place of
the explicit ones: the tangent together with the state, the adjoint after the state has been found
once more with its dense output. With an implicit method the adjoint gets its
Jacobian, and θ̄ is found by Gauss' quadrature on the steps of the adjoint.

Second derivatives: the tangent is a problem of the same kind. The adjoint needs y(t) where nothing
holds it but the solver; so y is solved backward along with λ and θ̄, and started anew from the known
states at the times of the steps. If it strays from these (a stiff problem), there is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.adaptive import plain
from chainrules.scipy.integrate.captured import (
    as_closure_tangent,
    concrete,
    numbers,
    parts_of_closure,
    pulled,
    pushed,
    unflat,
    values_of,
)
from chainrules_core import (
    AbstractZero,
    HasForwardMode,
    HasReverseMode,
    frule,
    ignore_derivatives,
    primitive,
    rrule,
)
from chainrules_core.errors import ChainRulesError

TIGHTER = 0.1
SMALLEST = 1e-13
EXPLICIT = ("RK23", "RK45", "DOP853")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)


class UnstableError(ChainRulesError, ArithmeticError):
    """The second derivative of a solution could not be found."""


def is_explicit(how: dict) -> bool:
    """Whether the method is an explicit one of Runge and Kutta."""
    return isinstance(how["method"], str) and how["method"] in EXPLICIT


def tightened(how: dict) -> dict:
    """Options for the equations of the derivatives."""
    return {
        **how,
        "method": "DOP853" if is_explicit(how) else how["method"],
        "rtol": max(TIGHTER * how.get("rtol", 1e-3), SMALLEST),
        "atol": TIGHTER * np.min(how.get("atol", 1e-6)),
    }


def solved(fun: Callable, t0: float, t1: float, y0: Any, how: dict, **more: Any) -> Any:
    """Solve from `t0` to `t1`, or raise."""
    found = integrate.solve_ivp(fun, (t0, t1), y0, **how, **more)
    if not found.success:
        raise UnstableError(
            f"the equations of the derivative of an initial value problem could not be solved "
            f"({found.message}): see the tolerances and the method of the call."
        )
    return found


@primitive
def states(fun, times, y0, *args, known=None, how=None):
    """Solve ``y' = fun(t, y, *args)`` from ``times[0]``, where it is `y0`, and return y at `times`.

    Parameters
    ----------
    fun : callable
        The right-hand side.
    times : array
        In the order in which they are reached, the first that of `y0`.
    y0 : array
        Of one dimension.
    *args
        Further arguments of `fun`.
    known : array, optional
        The states, if they are known.
    how : dict
        Options of ``scipy.integrate.solve_ivp``: ``method``, ``rtol``, ``atol``, ``max_step``.

    Returns
    -------
    array
        Of the shape ``(len(y0), len(times))``.
    """
    if known is not None:
        return known
    forced = np.result_type(y0, np.float64)
    y0 = np.asarray(y0, forced)
    if times[0] == times[-1]:
        return np.repeat(y0[:, None], len(times), axis=1)
    inside, place = np.unique(times, return_inverse=True)
    if times[-1] < times[0]:
        inside, place = inside[::-1], len(inside) - 1 - place
    found = solved(lambda t, y: fun(t, y, *args), times[0], times[-1], y0, how, t_eval=inside)
    return found.y[:, place]


def paired(y: Any, y_bar: Any) -> Any:
    """The cotangent of a real number that moves a state along `y`."""
    return np.real(np.sum(np.conj(y) * y_bar, axis=0))


def slopes(fun: Callable, times: Any, ys: Any, args: tuple) -> Any:
    """The right-hand side at all times."""
    return np.stack([fun(t, ys[:, i], *args) for i, t in enumerate(times)], axis=1)


@frule.register(states, Callable, requires={HasForwardMode})
def states_frule(config, dots, fun, times, y0, *args, known=None, how=None):
    f_dot, times_dot, y0_dot, *arg_dots = dots
    n, k = np.shape(y0)[0], len(args)
    y = states(fun, times, y0, *args, known=known, how=how)
    own = (*parts_of_closure(fun, f_dot), *numbers(arg_dots, args))
    captured = len(own) - k

    def variational(t, z, *args_and_dots):
        args, dots = args_and_dots[:k], args_and_dots[k:]
        s = z[n:]
        directions = (*dots[:captured], 0.0, s, *dots[captured:])
        y = z[:n]
        return np.concatenate([fun(t, y, *args), pushed(config, fun, directions, (t, y, *args))])

    s0 = concrete(y0_dot, y0)
    moving = not isinstance(times_dot, AbstractZero)
    if moving:
        s0 = s0 - fun(times[0], y0, *args) * times_dot[0]
    z = states(variational, times, np.concatenate([y0, s0]), *args, *own, how=tightened(how))
    y_dot = z[n:]
    if moving:
        y_dot = y_dot + slopes(fun, times, y, args) * times_dot
    return y, y_dot


@rrule.register(states, Callable, requires={HasReverseMode})
def states_rrule(config, fun, times, y0, *args, known=None, how=None):
    y = states(fun, times, y0, *args, known=known, how=how)
    like = (*values_of(fun), *args)
    n = len(values_of(fun))

    def states_pullback(y_bar):
        y0_bar, total = adjoint(y_bar, times, y0, *like, about=(config, fun, len(args), how))
        parts = unflat(total, like)
        f_at = slopes(fun, times, y, args)
        times_bar = paired(f_at, y_bar)
        t0_bar = paired(f_at[:, 0], y0_bar)
        first = np.concatenate([np.reshape(t0_bar, (1,)), np.zeros(len(times) - 1)])
        return as_closure_tangent(fun, parts[:n]), times_bar - first, y0_bar, *parts[n:]

    return y, states_pullback


# ------------------------------------------------------------------------------------ the adjoint


def adjoint(y_bar: Any, times: Any, y0: Any, *like: Any, about: tuple) -> tuple:
    """Return ȳ₀, and the cotangents of what the right-hand side depends on, as a vector."""
    config, fun, k, how = about
    args = like[len(like) - k :]
    given = (y_bar, times, y0, *like)
    kinds = (int, float, complex, np.ndarray, np.generic)
    # Where an engine sees these calls a traced value passes for an array, but not for itself.
    if not all(isinstance(x, kinds) and plain(x) is x for x in given):
        return adjoint_with_state(config, fun, times, y0, args, tightened(how), y_bar)
    size = float(np.max(np.abs(y_bar), initial=0.0))
    n = sum(np.size(x) for x in like)
    if size == 0 or times[0] == times[-1]:
        return np.sum(y_bar, axis=1), np.zeros(n)
    how = tightened(how)
    explicit = is_explicit(how)
    path = solved(lambda t, y: fun(t, y, *args), times[0], times[-1], y0, how,
                  dense_output=True)  # fmt: skip
    if explicit and len(times) > 2 * len(path.t):
        how["method"] = "RK45"  # in short segments fewer stages do
    segment = together if explicit else apart
    back = (config, fun, args, path.sol, how)
    bar, total = segment(back, times, y_bar / size, n)
    return size * bar, size * total


def together(back: tuple, times: Any, y_bar: Any, n: int) -> tuple:
    """Solve for the adjoint and the integrals along with it."""
    config, fun, args, path, how = back
    d = len(y_bar)
    kind = np.result_type(y_bar, *[np.float64], *[np.asarray(a) for a in values_of(fun)], *args)

    def slope(t, z):
        (_, bar), rest = pulled(config, fun, (t, path(t)), args, z[:d])
        return -np.concatenate([bar, rest])

    z = np.concatenate([y_bar[:, -1], np.zeros(n)]).astype(kind)
    h = None
    for i in range(len(times) - 1, 0, -1):
        if times[i] != times[i - 1]:
            step = {} if h is None else {"first_step": min(h, abs(times[i] - times[i - 1]))}
            found = solved(slope, times[i], times[i - 1], z, how, **step)
            z = found.y[:, -1]
            h = np.max(np.abs(np.diff(found.t)))
        z[:d] += y_bar[:, i - 1]
    return z[:d], z[d:]


def apart(back: tuple, times: Any, y_bar: Any, n: int) -> tuple:
    """Solve for the adjoint with its Jacobian, and integrate on its steps."""
    config, fun, args, path, how = back
    d = len(y_bar)

    def matrix(t, _):
        y = path(t)
        return -np.stack([pulled(config, fun, (t, y), args, e)[0][1] for e in np.eye(d)], axis=1)

    def slope(t, z):
        return -pulled(config, fun, (t, path(t)), args, z)[0][1]

    z, total = y_bar[:, -1], np.zeros(n)
    for i in range(len(times) - 1, 0, -1):
        if times[i] != times[i - 1]:
            found = solved(slope, times[i], times[i - 1], z, how, dense_output=True, jac=matrix)
            z = found.y[:, -1]
            for start, end in zip(found.t[:-1], found.t[1:], strict=True):
                half = (start - end) / 2
                for node, weight in zip(NODES, WEIGHTS, strict=True):
                    t = (start + end) / 2 + half * node
                    if n:
                        rest = pulled(config, fun, (t, path(t)), args, found.sol(t))[1]
                        total = total + half * weight * rest
        z = z + y_bar[:, i - 1]
    return z, total


def adjoint_with_state(
    config: Any, fun: Callable, times: Any, y0: Any, args: tuple, how: dict, y_bar: Any
) -> tuple:
    """Solve for the state, the adjoint and the integrals together, backward in short segments."""
    d, m = np.shape(y_bar)
    cuts = max(1, 4 // max(m - 1, 1))
    inner = [times[0]]
    for i in range(1, m):
        inner += [times[i - 1] + (times[i] - times[i - 1]) * (j / cuts) for j in range(1, cuts)]
        inner.append(times[i])
    inner = np.stack(inner)
    y = states(fun, inner, y0, *args, how=how)

    def back(t, z, *args):
        state = z[:d]
        (_, bar), rest = pulled(config, fun, (t, state), args, z[d : 2 * d])
        return np.concatenate([fun(t, state, *args), -bar, -rest])

    like = (*values_of(fun), *args)
    total = np.zeros(sum(np.size(x) for x in like))
    bar = y_bar[:, -1]
    for i in range(len(inner) - 1, 0, -1):
        z = np.concatenate([y[:, i], bar, total])
        z = states(back, inner[i - 1 : i + 1][::-1], z, *args, how=how)[:, -1]
        check_state(z[:d], y[:, i - 1], how)
        bar, total = z[d : 2 * d], z[2 * d :]
        if (i - 1) % cuts == 0:
            bar = bar + y_bar[:, (i - 1) // cuts]
    return bar, total


def check_state(found: Any, known: Any, how: dict) -> None:
    """Raise if the state, solved backward, is not what it was."""
    error = np.abs(ignore_derivatives(found) - ignore_derivatives(known))
    if np.any(error > 100 * (how["atol"] + how["rtol"] * np.abs(ignore_derivatives(known)))):
        raise UnstableError(
            "the second derivative of an initial value problem could not be found: solved backward "
            "in time, the problem is unstable. Take forward mode over forward mode "
            "(autodiff.pushforward of a pushforward)."
        )
