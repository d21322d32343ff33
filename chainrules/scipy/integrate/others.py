"""What scipy.integrate has besides, and what to use in its place."""

from __future__ import annotations

from collections.abc import Callable

from scipy import integrate

from chainrules.refused import refuse

IN_PLACE = (
    "it evaluates the function in arrays of its own, which hold no derivative. Use "
    "scipy.integrate.{}, which is differentiated."
)
STEPPING = (
    "it is an object that changes with each step. Use scipy.integrate.solve_ivp, which has rules "
    "for its arguments, its times and what the function captures."
)
REASONS = {
    "qmc_quad": IN_PLACE.format("cubature or nquad"),
    "nsum": "it has no rule. Use numpy.sum of enough terms.",
    "solve_bvp": "it has no rule. Write the problem as an initial value problem for solve_ivp, and "
    "find the free initial values with scipy.optimize.root.",
    **dict.fromkeys(
        ("ode", "complex_ode", "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"),
        STEPPING,
    ),
}
for name, reason in REASONS.items():
    f = getattr(integrate, name, None)
    if f is not None:
        refuse(f, reason, Callable)
# What it is given later goes to the same compiled code.
for cls in (integrate.ode, integrate.complex_ode):
    for name in ("set_initial_value", "set_f_params", "set_jac_params", "set_solout"):
        method = vars(cls).get(name)
        if method is not None:
            refuse(method, STEPPING)
