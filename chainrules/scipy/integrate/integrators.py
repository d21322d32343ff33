"""scipy.integrate.ode and complex_ode, by what their integrators do.

An `ode` is Python that hands each call of ``integrate`` to an integrator, whose compiled code calls
the right-hand side. The rules are for these calls: the integrator runs on plain values, and the
state where it stops is moved by the state where it began and by what the right-hand side captured
(`states`). The time that was asked for can be differentiated; where one step is asked for, or the
integrator stops by itself, the time is a constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.refused import RefusedError
from chainrules.scipy.integrate.captured import is_complex, plain
from chainrules.scipy.integrate.initial_value import right_hand_side
from chainrules.scipy.integrate.states import mapping, states
from chainrules.scipy.private import Private, look_up
from chainrules_core import decompose, non_differentiable

_ode = Private("integrate._ode")
NAMES = ("vode", "zvode", "lsoda", "dopri5", "dop853")
CALLED_AT_STEPS = (
    "its solout is called from compiled code, which shows it plain numbers. Ask integrate() for "
    "one time after the other, or use scipy.integrate.solve_ivp."
)


def in_real_parts(f: Callable, t: Any, y: Any, *args: Any) -> Any:
    """The right-hand side of a complex problem, real and imaginary parts in turn."""
    slope = np.array(f(t, y[::2] + 1j * y[1::2], *args))
    return np.reshape(np.stack([np.real(slope), np.imag(slope)], axis=-1), (-1,))


def without_buffer(f: Callable) -> Callable:
    """A right-hand side; that of a complex_ode without the array that it is written into."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, integrate.complex_ode) and f.__name__ == "_wrap":
        return functools.partial(in_real_parts, owner.cf)
    return f


def run_plainly(f: Callable, jac: Callable, y0: Any, t0: Any, t1: Any, own: Callable,
                integrator: Any) -> tuple:  # fmt: skip
    """Run an integrator where nothing is traced: the time where it stopped, and the state."""
    y, t = own(integrator, f, jac, np.array(y0), t0, t1, (), ())  # it writes into the state
    return float(t), np.array(y)


non_differentiable(run_plainly, Callable)


def method_of(integrator: Any, y0: Any) -> str:
    """The method of solve_ivp that is closest to an integrator."""
    if type(integrator).__name__ in ("dopri5", "dop853"):
        return "DOP853"
    return "BDF" if is_complex(y0) else "LSODA"


def running(own: Callable) -> Callable:
    """Return the body of the method `own` of an integrator."""

    def run(
        self: Any, f: Callable, jac: Callable, y0: Any, t0: Any, t1: Any, f_params: Any,
        jac_params: Any,
    ) -> tuple:  # fmt: skip
        if getattr(self, "solout", None) is not None:
            raise RefusedError("scipy.integrate.ode.integrate", CALLED_AT_STEPS)
        y0 = np.array(y0)
        rhs = right_hand_side(without_buffer(f), tuple(f_params), np.shape(y0)[0])

        def matrix(t, y):
            return jac(t, y, *jac_params)

        t_found, y_found = run_plainly(rhs, matrix, y0, t0, t1, own, self)
        t = t1 if t_found == plain(t1) else t_found
        how = mapping(method=method_of(self, y0), rtol=np.min(self.rtol), atol=self.atol)
        known = np.stack([plain(y0), y_found], axis=1)
        times = np.stack([np.reshape(t0, ()), np.reshape(t, ())])
        return states(rhs, times, y0, known=known, how=how)[:, -1], t

    return run


for _name in NAMES:
    _own = look_up(getattr(_ode, _name), "run")
    if _own is not None and "run" in vars(getattr(_ode, _name)):
        decompose(_own)(running(_own))
