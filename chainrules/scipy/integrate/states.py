"""The states of an initial value problem at given times, and their derivatives.

For y' = f(t, y; θ), y(t₀) = y₀ the tangent s of y solves the variational equations

    s' = f_y s + f_θ dθ,   s(t₀) = dy₀ - f(t₀, y₀) dt₀,   dy(tᵢ) = s(tᵢ) + f(tᵢ, y(tᵢ)) dtᵢ,

and for cotangents ȳᵢ of the states at the times tᵢ the adjoint λ solves, backward in time,

    λ' = -f_yᴴ λ,   with a jump of ȳᵢ at tᵢ,   θ̄ = ∫ f_θᴴ λ dt,   ȳ₀ = λ(t₀),
    t̄ᵢ = ⟨f(tᵢ, yᵢ), ȳᵢ⟩,   t̄₀ = -⟨f(t₀, y₀), λ(t₀)⟩.

Both are solved on the steps of a solution. Explicit methods are differentiated step by step
(`runge_kutta`). For the others it is first tried whether DOP853 takes no more evaluations than they
did; if so, its steps are differentiated, else (a stiff problem) the tangent or adjoint is found by
collocation on the steps of Radau (`collocation`): along the path of a multistep method it is less
accurate than that is. The forward mode is the exact transpose of the reverse mode, and both are
made of plain operations: so are second derivatives.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.captured import (
    as_closure_tangent,
    concrete,
    is_complex,
    is_still,
    parts_of_closure,
    plain,
    pulled_parts,
    pushed,
    values_of,
)
from chainrules.scipy.integrate.collocation import (
    nodes_between,
    pulled_stiffly,
    pushed_stiffly,
    stage_times,
)
from chainrules.scipy.integrate.runge_kutta import (
    TABLEAUS,
    Step,
    explicit_name,
    places,
    pulled_steps,
    pushed_steps,
    recording,
    walked,
)
from chainrules_core import (
    ChainRulesError,
    Closure,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    Tangent,
    frule,
    frule_via_ad,
    non_differentiable,
    primitive,
    rrule,
    thunk,
)
from chainrules_core.interpreter.noticed import mark, restore

TIGHTER = 0.1
SMALLEST = 1e-13
FEW = 400
MOST = 50_000  # by LSODA, whose steps at a singularity become ever smaller
OPTIONS = ("method", "rtol", "atol", "max_step")


class UnsolvedError(ChainRulesError, ArithmeticError):
    """The steps of a solution could not be found."""


class MixedError(ChainRulesError, TypeError):
    """A right-hand side is not holomorphic, and its problem stiff."""


class TooManyError(Exception):
    """A method takes too many evaluations."""


def options_of(how: Any) -> dict:
    """The options of ``solve_ivp``."""
    return {name: how[name] for name in OPTIONS if name in how}


def tightened(how: Any) -> dict:
    """Options for the steps on which derivatives are found."""
    return {
        **options_of(how),
        "rtol": max(TIGHTER * how.get("rtol", 1e-3), SMALLEST),
        "atol": TIGHTER * np.min(how.get("atol", 1e-6)),
    }


@primitive
def states(fun, times, y0, known=None, how=None):
    """Solve ``y' = fun(t, y)`` from ``times[0]``, where it is `y0`, and return y at `times`.

    Parameters
    ----------
    fun : callable
        The right-hand side.
    times : array
        In the order in which they are reached, the first that of `y0`.
    y0 : array
        Of one dimension.
    known : array, optional
        The states, if they are known.
    how : mapping
        Options of ``scipy.integrate.solve_ivp``: ``method``, ``rtol``, ``atol``, ``max_step``; also
        what is known of the solution: ``path``, ``sol``, ``nfev``.

    Returns
    -------
    array
        Of the shape ``(len(y0), len(times))``.
    """
    if known is not None:
        return known
    y0 = np.asarray(y0, np.result_type(y0, np.float64))
    if times[0] == times[-1]:
        return np.repeat(y0[:, None], len(times), axis=1)
    inside, place = np.unique(times, return_inverse=True)
    if times[-1] < times[0]:
        inside, place = inside[::-1], len(inside) - 1 - place
    ends = times[0], times[-1]
    found = integrate.solve_ivp(fun, ends, y0, t_eval=inside, **options_of(how))
    assert found.success, found.message  # the times of events, which do not move here
    return found.y[:, place]


def known_path(name: str | None, steps: list | None, nfev: int, sol: Any) -> Any:
    """What is known of a solution, as an object that engines do not look into."""
    return types.MappingProxyType({"name": name, "steps": steps, "nfev": nfev, "sol": sol})


def mapping(**how: Any) -> Any:
    """Options, as an object that engines do not look into."""
    return types.MappingProxyType(how)


def path_of(fun: Callable, times: Any, y0: Any, how: Any) -> Any:
    """Find steps on which to differentiate: None, and a dense output, for a stiff problem."""
    path = how.get("path")
    if path is not None and path["steps"] is not None:
        return path
    if times[0] == times[-1]:
        return known_path("RK23", [], 0, None)
    own = explicit_name(how["method"])
    # LSODA's steps are taken in Fortran: next to DOP853's they cost nothing.
    times_as_many = 4 if how["method"] in ("LSODA", integrate.LSODA) else 1
    most = np.inf if own else 5 * FEW if path is None else max(FEW, times_as_many * path["nfev"])
    left = [most]

    def counted(t, y):
        left[0] -= 1
        if left[0] < 0:
            raise TooManyError
        return fun(t, y)

    steps: list = []
    tight = tightened(how)
    method = recording(own or "DOP853", steps)
    ends = times[0], times[-1]
    before = mark()
    try:
        with np.errstate(all="ignore"):
            found = integrate.solve_ivp(counted, ends, y0, **{**tight, "method": method})
        if found.success:
            return known_path(own or "DOP853", steps, 0, None)
    except Exception:  # whatever a right-hand side says far from the solution
        if own:
            raise
        restore(before)
    if path is not None and how["method"] in ("Radau", integrate.Radau):
        return path
    of_radau = {**options_of(how), "method": "Radau"}
    message = ""
    for options in (tight,) if is_complex(y0) else (of_radau, tight):
        is_endless = options["method"] in ("LSODA", integrate.LSODA)
        left[0] = MOST if is_endless else np.inf
        try:
            found = integrate.solve_ivp(counted, ends, y0, dense_output=True, **options)
        except TooManyError:
            message = f"LSODA has not got there with {MOST} evaluations."
            continue
        if found.success:
            return known_path(None, None, 0, found.sol)
        message = found.message
    raise UnsolvedError(
        "the derivative of solve_ivp or odeint needs steps with tolerances ten times smaller, and "
        f"there is no solution with these: {message} Perhaps the solution does not exist "
        "until the last time: end before that. Otherwise use another method, or larger rtol and "
        "atol."
    )


non_differentiable(path_of, Callable)


def paired(y: Any, y_bar: Any) -> Any:
    """The cotangent of a real number that moves a state along `y`."""
    return np.real(np.sum(np.conj(y) * y_bar, axis=0))


def slopes(fun: Callable, times: Any, ys: Any) -> Any:
    """The right-hand side at all times."""
    return np.stack([fun(t, ys[:, i]) for i, t in enumerate(times)], axis=1)


@frule.register(states, Callable, requires={HasForwardMode})
def states_frule(config, dots, fun, times, y0, *, known=None, how=None):
    f_dot, times_dot, y0_dot = dots
    y = states(fun, times, y0, known=known, how=how)
    own = tuple(parts_of_closure(fun, f_dot))
    none = tuple([np.zeros(np.shape(v)) for v in values_of(fun)])
    s = concrete(y0_dot, y0)
    moving = not is_still(times_dot)
    plainly = config.as_written(fun)
    if moving:
        s = s - plainly(times[0], y0) * times_dot[0]
    path = path_of(plainly, times, y0, how)
    fast = config.repeated("pushforward", fun, (1,))

    def push(t, y, s, own=own):
        if fast is not None:
            return fast(own, (s,), t, y)[1]
        return pushed(config, fun, (*own, 0.0, s), (t, y))

    def jacobian(t, y):
        check_holomorphic(lambda e: push(t, y, e, none), y)
        return np.stack([push(t, y, e, none) for e in np.eye(len(y))], axis=1)

    def by_parameters(t, y):
        return push(t, y, np.zeros(len(y)))

    if path["steps"] is None:
        nodes, ys, where = collocated(fun, times, y0, how, path, fast is None)
        y_dot = pushed_stiffly(jacobian, by_parameters, nodes, ys, where, s)
    else:
        tableau, steps, found = taken(fun, times, y0, path, fast is None)
        y_dot = pushed_steps(push, plainly, tableau, steps, found, s, len(times))
    if moving:
        y_dot = y_dot + slopes(plainly, times, y) * times_dot
    return y, y_dot


@rrule.register(states, Callable, requires={HasReverseMode})
def states_rrule(config, fun, times, y0, *, known=None, how=None):
    y = states(fun, times, y0, known=known, how=how)

    def states_pullback(y_bar):
        bars = pulled_states(fun, times, y0, y_bar, engine=config, how=how)
        y0_bar, parts = bars[0], list(bars[1:])

        def times_bar():
            plainly = config.as_written(fun)
            first = paired(plainly(times[0], y0), y0_bar)
            later = np.zeros(len(times) - 1)
            return paired(slopes(plainly, times, y), y_bar) - np.concatenate([[first], later])

        return as_closure_tangent(fun, parts), thunk(times_bar), y0_bar

    return y, states_pullback


@primitive
def pulled_states(fun, times, y0, y_bar, engine=None, how=None):
    """Return the cotangents of the state at the beginning, and of what `fun` has captured."""
    return _pulled_states(fun, times, y0, y_bar, engine=engine, how=how)


def _pulled_states(fun: Callable, times: Any, y0: Any, y_bar: Any, *, engine: Any, how: Any):
    y0_bar, parts = adjoint(engine, fun, times, y0, how, y_bar)
    return (y0_bar, *parts)


@frule.register(pulled_states, Callable, requires={HasForwardMode, HasReverseMode})
def pulled_states_frule(config, dots, fun, times, y0, y_bar, *, engine=None, how=None):
    """The adjoint of a step reads each stage, its cotangent, and the tangents of both.

    One sweep forward finds the tangents of the stages. The sweep backward carries cotangents with
    their tangents; it meets the stages in the opposite order.
    """
    f_dot, times_dot, y0_dot, y_bar_dot = dots
    own = tuple(parts_of_closure(fun, f_dot))
    plainly = config.as_written(fun)
    push = config.repeated("pushforward", fun, (1,))
    second = config.repeated("second", fun, (1,))
    path = None if second is None else path_of(plainly, times, y0, how)
    if path is None or path["steps"] is None or not is_still(times_dot):
        others = concrete(times_dot, times), concrete(y0_dot, y0), concrete(y_bar_dot, y_bar)
        own_dots = NoTangent(), as_closure_tangent(fun, list(own)), *others
        given = fun, times, y0, y_bar
        return frule_via_ad(config, own_dots, _pulled_states, *given, engine=engine, how=how)
    tableau, steps, found = taken(fun, times, y0, path, again=False)
    n, moved = len(y0), []

    def pushed_noted(t, y, s):
        moved.append(s)
        return push(own, (s,), t, y)[1]

    def pulled_both(t, y, k_bar):
        given = k_bar[:n], k_bar[n:], own, (moved.pop(),), t, y
        (parts, (bar,)), (parts_dot, (bar_dot,)) = second(*given)
        return np.concatenate([bar, bar_dot]), [*parts, *parts_dot]

    pushed_steps(pushed_noted, plainly, tableau, steps, found, concrete(y0_dot, y0), len(times))
    both = np.concatenate([y_bar, concrete(y_bar_dot, y_bar)])
    total = 2 * [np.zeros(np.shape(v)) for v in values_of(fun)]
    bars, parts = pulled_steps(pulled_both, plainly, tableau, steps, found, both, total)
    half = len(parts) // 2
    return (bars[:n], *parts[:half]), Tangent[tuple](bars[n:], *parts[half:])


def adjoint(config: Any, fun: Callable, times: Any, y0: Any, how: Any, y_bar: Any) -> tuple:
    """The cotangents of the state at the beginning, and of what the right-hand side captured."""
    plainly = config.as_written(fun)
    path = path_of(plainly, times, y0, how)
    fast = config.repeated("pullback", fun, (1,))
    total = [np.zeros(np.shape(v)) for v in values_of(fun)]

    def pull(t, y, k_bar):
        if fast is not None:
            parts, (bar,) = fast(k_bar, t, y)
            return bar, parts
        return pulled_parts(config, fun, t, y, k_bar)

    if path["steps"] is not None:
        tableau, steps, found = taken(fun, times, y0, path, fast is None)
        return pulled_steps(pull, plainly, tableau, steps, found, y_bar, total)
    by_state = None if fast is None else config.repeated("pullback", alone(fun), (1,))

    def column(t, y, e):
        return pull(t, y, e)[0] if by_state is None else by_state(e, t, y)[1][0]

    def jacobian(t, y):
        check_holomorphic(lambda e: column(t, y, e), y)
        return np.stack([column(t, y, e) for e in np.eye(len(y))], axis=1)

    nodes, ys, where = collocated(fun, times, y0, how, path, fast is None)
    return pulled_stiffly(jacobian, lambda *at: pull(*at)[1], nodes, ys, where, y_bar, total)


def alone(fun: Callable) -> Callable:
    """The function of a closure, what it has captured held constant."""
    return fun.function if isinstance(fun, Closure) else fun


def taken(fun: Callable, times: Any, y0: Any, path: Any, again: bool) -> tuple:
    """The method's coefficients, its steps and where the times are in them.

    The steps are taken again where outer levels are to see them.
    """
    tableau, steps = TABLEAUS[path["name"]], path["steps"]
    at = np.asarray(plain(times))
    if not again:
        return tableau, steps, places(steps, at, at, moving=False)
    if not steps:  # all times are one: steps of no length, as functions of the times
        steps = [Step(t, times[i + 1] - t, None, None) for i, t in enumerate(times[:-1])]
        walk = walked(fun, tableau, steps, times[0], y0)
        return tableau, walk, [([i + 1], [], []) for i in range(len(steps))]
    walk = walked(fun, tableau, steps, times[0], y0)
    found = places(steps, times, at, moving=True)
    inside = found[0][1]  # the beginning moves these
    found[0] = ([], inside, [(times[i] - walk[0].t) / walk[0].h for i in inside])
    return tableau, walk, found


def collocated(fun: Callable, times: Any, y0: Any, how: Any, path: Any, again: bool) -> tuple:
    """The ends of the steps of a stiff problem, the states at the stages, and where the times are.

    All as functions of what outer levels perturb, where they are to see them.
    """
    nodes, where = nodes_between(np.asarray(plain(times)), path["sol"].ts)
    ts = np.ravel(stage_times(nodes))
    ys = path["sol"](ts)
    if not again:
        return nodes, ys, where
    moved = list(nodes)
    for i, n in enumerate(where):
        moved[n] = times[i]
    nodes = np.stack(moved)
    known = np.concatenate([np.reshape(plain(y0), (-1, 1)), ys], axis=1)
    at = np.concatenate([np.reshape(times[0], (1,)), np.ravel(stage_times(nodes))])
    return nodes, states(fun, at, y0, known=known, how=how)[:, 1:], where


def check_holomorphic(column: Callable, y: Any) -> None:
    """Raise where a right-hand side of complex states has no complex Jacobian."""
    if is_complex(y):
        e = np.eye(1, len(y))[0]
        one, other = np.asarray(plain(column(e))), np.asarray(plain(column(1j * e)))
        if not np.allclose(other, 1j * one, rtol=1e-8, atol=1e-12):
            raise MixedError(
                "solve_ivp with a method for stiff problems and complex states has a rule for "
                "holomorphic right-hand sides alone, without np.conj, np.real, np.imag and np.abs "
                "of the state. Write the state as real and imaginary parts."
            )
