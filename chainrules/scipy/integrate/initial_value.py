"""solve_ivp and odeint: SciPy's results, with the derivatives of the exact solution (`states`).

The times of ``t_eval`` and both ends of ``t_span`` can be differentiated; the times of the steps
between, where no ``t_eval`` is given, are constants. An event g(t, y(t)) = 0 at tₑ moves by
dtₑ = -dg / (dg/dt), which is a step of Newton's method from the event found, with the slope as a
constant; two steps give the second derivative too. A dense output is evaluated by `states` again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.captured import plain
from chainrules.scipy.integrate.runge_kutta import explicit_name, recording
from chainrules.scipy.integrate.states import known_path, mapping, states
from chainrules_core import ChainRulesError, decompose, non_differentiable

NEWTON_STEPS = 2


class OutsideError(ChainRulesError, ValueError):
    """A dense output was evaluated outside of the interval that was solved."""


def solve_plainly(fun: Callable, t_span: Any, y0: Any, jac: Any, options: dict, kinds: list,
                  *events: Callable) -> tuple:  # fmt: skip
    """Call solve_ivp where nothing is traced; also what is known of its steps."""

    def with_kind(event, kind):
        def located(t, y):
            return event(t, y)

        located.terminal, located.direction = kind
        return located

    if jac is not None:
        options = {**options, "jac": jac}
    located = [with_kind(*pair) for pair in zip(events, kinds, strict=True)]
    name, steps = explicit_name(options["method"]), []
    asked = options["dense_output"]
    if name:
        options = {**options, "method": recording(name, steps)}
    else:
        options = {**options, "dense_output": True}
    found = integrate.solve_ivp(fun, t_span, y0, events=located or None, **options)
    path = known_path(name, steps if name else None, found.nfev, found.sol)
    if not asked:
        found.sol = None
    return found, path


def odeint_plainly(fun: Callable, jac: Any, y0: Any, t: Any, options: dict) -> Any:
    """Call odeint where nothing is traced."""
    return integrate.odeint(fun, y0, t, Dfun=jac, **options)


def slope_of_event(event: Callable, fun: Callable, t: float, y: Any) -> tuple:
    """The value of an event along the solution, and its slope."""
    h = 1e-6 * (1 + abs(t))
    f = fun(t, y)
    after, before = event(t + h, y + h * f), event(t - h, y - h * f)
    return float(event(t, y)), float((after - before) / (2 * h))


def dense_plainly(t: Any, found: Callable) -> Any:
    """The states at several times, where nothing is traced."""
    return found(np.asarray(t))


non_differentiable(dense_plainly)
for f in (solve_plainly, odeint_plainly, slope_of_event):
    non_differentiable(f, Callable)


class Solution:
    """A dense output whose values have derivatives."""

    def __init__(self, fun: Callable, t0: Any, y0: Any, how: dict, found: Any) -> None:
        self.fun, self.t0, self.y0, self.how, self.found = fun, t0, y0, how, found
        self.t_min, self.t_max = found.t_min, found.t_max
        self.ts, self.n_segments = found.ts, found.n_segments
        self.interpolants = found.interpolants

    def __call__(self, t: Any) -> Any:
        """The states at a time, or at several, one in each column."""
        return evaluated(t, self.fun, self.t0, self.y0, self.how, self.found)


def evaluated(t: Any, fun: Callable, t0: Any, y0: Any, how: Any, found: Any) -> Any:
    """The states at a time, or at several, one in each column, of a dense output from `t0` on."""
    flat = np.reshape(np.array(t), (-1,))
    at = plain(flat)
    slack = 1e-9 * (found.t_max - found.t_min)
    if np.any(at < found.t_min - slack) or np.any(at > found.t_max + slack):
        raise OutsideError(
            "the dense output of an initial value problem has a derivative between the ends of "
            f"what was solved alone, {found.t_min} and {found.t_max}. Solve over a longer interval."
        )
    order = np.argsort(at if plain(t0) == found.t_min else -at)
    ordered = flat if len(at) == 1 else flat[order]
    times = np.concatenate([np.reshape(t0, (1,)), ordered])
    values = dense_plainly(flat[order], found)
    known = np.concatenate([np.reshape(plain(y0), (-1, 1)), values], axis=1)
    y = states(fun, times, y0, known=known, how=how)
    y = y[:, 1:][:, np.argsort(order)]
    return y if np.ndim(t) else y[:, 0]


def vector_at(fun: Callable, args: tuple, n: int, columns: bool, t: Any, y: Any) -> Any:
    """The right-hand side as a vector of the length `n`."""
    return np.reshape(np.array(fun(t, y[:, None] if columns else y, *args)), (n,))


def right_hand_side(fun: Callable, args: tuple, n: int, columns: bool = False) -> Callable:
    """The right-hand side as a function of time and state, with a vector for its value.

    With `columns` the function itself takes several states, as columns.

    A partial: what only plain values reach is not looked into by an engine.
    """
    return functools.partial(vector_at, fun, args, n, columns)


def moved_events(event: Callable, rhs: Callable, start: tuple, ts: Any, ys: Any, how: dict):
    """The times and states of the events of one kind."""
    t0, y0 = start
    known = np.concatenate([np.reshape(plain(y0), (-1, 1)), np.transpose(ys)], axis=1)
    times = np.concatenate([np.reshape(t0, (1,)), ts])
    y_at = states(rhs, times, y0, known=known, how=how)
    moved, y_moved = [], []
    again = mapping(**{**how, "path": None})
    for i in range(len(ts)):
        t, y = ts[i], y_at[:, i + 1]
        g0, slope = slope_of_event(event, rhs, ts[i], ys[i])
        for _ in range(NEWTON_STEPS):
            new = t - (np.reshape(event(t, y), ()) - g0) / slope
            y = states(rhs, np.stack([np.reshape(t, ()), new]), y, how=again)[:, -1]
            t = new
        moved.append(t)
        y_moved.append(y)
    return np.stack(moved), np.stack(y_moved)


@decompose(integrate.solve_ivp, Callable)
def solve_ivp(fun: Callable, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None,
              dense_output: bool = False, events: Any = None, vectorized: bool = False,
              args: Any = None, **options: Any) -> Any:  # fmt: skip
    args = () if args is None else tuple(args)
    t0, tf = t_span
    y0 = np.array(y0)
    rhs = right_hand_side(fun, args, np.shape(y0)[0], vectorized)
    given = options.pop("jac", None)
    jac = (lambda t, y: given(t, y, *args)) if callable(given) else plain(given)
    listed = [] if events is None else [events] if callable(events) else list(events)
    kinds = [(getattr(e, "terminal", False) or False, getattr(e, "direction", 0)) for e in listed]
    located = [lambda t, y, event=event: event(t, y, *args) for event in listed]
    outer = {"method": method, "t_eval": plain(t_eval), "dense_output": dense_output}
    found, path = solve_plainly(rhs, (t0, tf), y0, jac, {**options, **outer}, kinds, *located)
    known = {"rtol": 1e-3, "atol": 1e-6, **options, "method": method, "path": path}
    how = mapping(**known)

    moved = [
        moved_events(event, rhs, (t0, y0), ts, ys, how) if len(ts) else (ts, ys)
        for event, ts, ys in zip(located, found.t_events or [], found.y_events or [], strict=True)
    ]
    first = np.reshape(t0, (1,))
    if t_eval is None:
        last = np.reshape(tf, (1,)) if found.status == 0 else found.t[-1:]
        t = np.concatenate([first, found.t[1:-1], last])
        y = states(rhs, t, y0, known=found.y, how=how)
        for (ts, ys), plain_ts in zip(moved, found.t_events or [], strict=True):
            if found.status == 1 and len(plain_ts) and plain_ts[-1] == found.t[-1]:
                t = np.concatenate([t[:-1], ts[-1:]])
                y = np.concatenate([y[:, :-1], np.transpose(ys[-1:])], axis=1)
    elif len(found.t):
        t = np.array(t_eval)[: len(found.t)]
        known = np.concatenate([np.reshape(plain(y0), (-1, 1)), found.y], axis=1)
        y = states(rhs, np.concatenate([first, t]), y0, known=known, how=how)[:, 1:]
    else:
        t, y = found.t, found.y
    result = type(found)(found)
    result["t"], result["y"] = t, y
    if found.sol is not None:
        result["sol"] = Solution(rhs, t0, y0, how, found.sol)
    if found.t_events is not None:
        result["t_events"] = [ts for ts, _ in moved]
        result["y_events"] = [ys for _, ys in moved]
    return result


@decompose(integrate.odeint, Callable)
def odeint(func: Callable, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: int = 0,
           full_output: int = 0, ml: Any = None, mu: Any = None, rtol: Any = None,
           atol: Any = None, tcrit: Any = None, h0: float = 0.0, hmax: float = 0.0,
           hmin: float = 0.0, ixpr: int = 0, mxstep: int = 0, mxhnil: int = 0, mxordn: int = 12,
           mxords: int = 5, printmessg: int = 0, tfirst: bool = False) -> Any:  # fmt: skip
    if not isinstance(args, tuple):
        args = (args,)
    y0 = np.reshape(np.array(y0), (-1,))
    t = np.array(t)

    def in_order(t, y, *args):
        return func(t, y, *args) if tfirst else func(y, t, *args)

    rhs = right_hand_side(in_order, args, np.shape(y0)[0])
    jac = None
    if Dfun is not None:

        def jac(t, y):
            return Dfun(t, y, *args) if tfirst else Dfun(y, t, *args)

    options = {"col_deriv": col_deriv, "full_output": full_output, "ml": ml, "mu": mu,
               "rtol": rtol, "atol": atol, "tcrit": tcrit, "h0": h0, "hmax": hmax, "hmin": hmin,
               "ixpr": ixpr, "mxstep": mxstep, "mxhnil": mxhnil, "mxordn": mxordn,
               "mxords": mxords, "printmessg": printmessg, "tfirst": True}  # fmt: skip
    found = odeint_plainly(rhs, jac, y0, t, options)
    known = np.transpose(found[0] if full_output else found)
    how = mapping(
        method="LSODA",
        rtol=1.49012e-8 if rtol is None else np.min(rtol),
        atol=1.49012e-8 if atol is None else atol,
    )
    y = np.transpose(states(rhs, t, y0, known=known, how=how))
    return (y, found[1]) if full_output else y
