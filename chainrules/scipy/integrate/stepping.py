"""Solvers that take one step at a time: RK23, RK45, DOP853, Radau, BDF, LSODA, and their output.

A solver of SciPy's takes the steps, on plain values. Each step ends in the state that the exact
solution has there, as moved by the state before it and by what the right-hand side captured
(`states`): the derivative of a loop of steps is that of ``solve_ivp``. As there, the sizes of the
steps are constants; the ends of the interval can be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.refused import RefusedError
from chainrules.scipy.integrate.captured import plain
from chainrules.scipy.integrate.initial_value import evaluated, right_hand_side
from chainrules.scipy.integrate.runge_kutta import EXPLICIT, Step, explicit_name
from chainrules.scipy.integrate.states import known_path, mapping, states
from chainrules_core import decompose, non_differentiable

CLASSES = (*EXPLICIT.values(), integrate.Radau, integrate.BDF, integrate.LSODA)
SETTINGS = ("direction", "max_step", "n", "n_stages", "nfev", "njev", "nlu", "order", "rtol",
            "atol", "status", "vectorized")  # fmt: skip
"""What a solver says of itself that has no derivative."""


def made_plainly(fun: Callable, t0: Any, y0: Any, t_bound: Any, jac: Any, kind: type,
                 options: dict) -> Any:  # fmt: skip
    """Make a solver where nothing is traced."""
    if jac is not None:
        options = {**options, "jac": jac}
    return kind(fun, t0, y0, t_bound, **options)


def step_plainly(solver: Any) -> tuple:
    """Take a step: the message, and what is known of the step; None where it failed."""
    before = solver.nfev
    message = solver.step()
    if solver.status == "failed":
        return message, None
    t = float(solver.t_old)
    h = float(solver.t) - t
    name = explicit_name(type(solver))
    if h == 0:
        return message, known_path("RK23", [], 0, None)
    if name:
        step = Step(t, h, solver.y_old, solver.K.copy())
        return message, known_path(name, [step], 0, None)
    between = integrate.OdeSolution([t, solver.t], [solver.dense_output()])
    return message, known_path(None, None, solver.nfev - before, between)


non_differentiable(made_plainly, Callable)
non_differentiable(step_plainly)


class Output(integrate.DenseOutput):
    """A dense output over one step, whose values have derivatives."""

    def __init__(self, fun: Callable, start: tuple, t: Any, how: Any, found: Any) -> None:
        super().__init__(start[0], t)
        self._fun, self._y_old, self._how, self._found = fun, start[1], how, found

    def _call_impl(self, t: Any) -> Any:
        return evaluated(t, self._fun, self.t_old, self._y_old, self._how, self._found)


class Solver(integrate.OdeSolver):
    """A solver whose states have derivatives.

    Parameters
    ----------
    kind : type
        The class of SciPy's.
    fun : callable
        The right-hand side.
    t0, y0, t_bound : Any
        Where it begins, and where it ends.
    options : dict
        The options of `kind`.
    """

    def __init__(
        self, kind: type, fun: Callable, t0: Any, y0: Any, t_bound: Any, options: dict
    ) -> None:
        self._kind, self.t_bound = kind, t_bound
        self.t_old: Any = None
        self.t, self.y_old, self.y = t0, None, np.array(y0)
        vectorized = options.get("vectorized", False)
        self.fun = right_hand_side(fun, (), np.shape(self.y)[0], vectorized)
        options = {k: plain(v) for k, v in options.items() if k != "vectorized"}
        jac = options.pop("jac", None)
        self._solver = made_plainly(self.fun, t0, self.y, t_bound, jac, kind, options)
        known = {"rtol": 1e-3, "atol": 1e-6, **options}
        self._known = {k: known[k] for k in ("rtol", "atol", "max_step") if k in known}
        self._path: Any = None

    def __getattr__(self, name: str) -> Any:
        """Return what the solver of SciPy's says of itself."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._solver, name)
        if name in SETTINGS:
            return value
        raise RefusedError(
            f"scipy.integrate.{self._kind.__name__}.{name}",
            "it belongs to the method of the solver. Use t, y and dense_output().",
        )

    def step(self) -> str | None:
        """Take a step."""
        message, path = step_plainly(self._solver)
        if path is None:
            return message
        found = self._solver
        t = self.t_bound if found.t == plain(self.t_bound) else found.t
        self.t_old, self.y_old, self._path = self.t, self.y, path
        known = np.stack([plain(self.y_old), found.y], axis=1)
        times = np.stack([np.reshape(self.t_old, ()), np.reshape(t, ())])
        self.t, self.y = t, states(self.fun, times, self.y_old, known=known, how=self._how())[:, -1]
        return message

    def dense_output(self) -> Any:
        """Return the interpolant of the last step."""
        found = self._solver.dense_output()
        return Output(self.fun, (self.t_old, self.y_old), self.t, self._how(), found)

    def _how(self) -> Any:
        return mapping(**self._known, method=self._kind, path=self._path)


def stepping(kind: type) -> Callable:
    """Return the body of a constructor."""
    signature = inspect.signature(kind)
    own = {"fun", "t0", "y0", "t_bound"}

    def made(*args: Any, **kwargs: Any) -> Solver:
        call = signature.bind(*args, **kwargs).arguments
        more = call.pop("extraneous", {})
        options = {k: v for k, v in call.items() if k not in own}
        return Solver(kind, *[call[k] for k in ("fun", "t0", "y0", "t_bound")], {**options, **more})

    return made


for _kind in CLASSES:
    decompose(_kind, Callable)(stepping(_kind))
