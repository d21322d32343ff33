"""The states of an initial value problem at given times, and their derivatives.

For y' = f(t, y; θ), y(t₀) = y₀ the tangent s of y solves the variational equations

    s' = f_y s + f_θ dθ,   s(t₀) = dy₀ - f(t₀, y₀) dt₀,   dy(tᵢ) = s(tᵢ) + f(tᵢ, y(tᵢ)) dtᵢ,

and for cotangents ȳᵢ of the states at the times tᵢ the adjoint λ solves, backward in time,

    λ' = -f_yᴴ λ,   with a jump of ȳᵢ at tᵢ,   θ̄ = ∫ f_θᴴ λ dt,   ȳ₀ = λ(t₀),
    t̄ᵢ = ⟨f(tᵢ, yᵢ), ȳᵢ⟩,   t̄₀ = -⟨f(t₀, y₀), λ(t₀)⟩.

Both are solved with tolerances a tenth of the user's, the tangent together with the state by the
method of the user, the adjoint after the state has been found once more with its dense output: by
DOP853 in place of the explicit methods of lower order. With an implicit method the adjoint gets its
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

from chainrules.scipy.integrate.captured import (
    as_closure_tangent,
    concrete,
    flat,
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
    NoTangent,
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


def tightened(how: dict) -> dict:
    """Options for the equations of the derivatives."""
    return {
        **how,
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
    """Solve y' = fun(t, y, \\*args) from ``times[0]``, where it is `y0`, and return y at `times`.

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
        return np.concatenate(
            [fun(t, y, *args), pushed(config, fun, directions, (t, y, *args))]
        )

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
        y0_bar, total = adjoint(y_bar, times, y0, *like, about=(config, fun, len(args), how, y))
        parts = unflat(total, like)
        f_at = slopes(fun, times, y, args)
        times_bar = paired(f_at, y_bar)
        t0_bar = paired(f_at[:, 0], y0_bar)
        first = np.concatenate([np.reshape(t0_bar, (1,)), np.zeros(len(times) - 1)])
        return as_closure_tangent(fun, parts[:n]), times_bar - first, y0_bar, *parts[n:]

    return y, states_pullback
