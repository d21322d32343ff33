"""What scipy.integrate has besides, and what to use in its place."""

from __future__ import annotations

from collections.abc import Callable

from scipy import integrate

from chainrules.refused import refuse

IN_PLACE = (
    "it evaluates the function in arrays of its own, which hold no derivative. Use "
    "scipy.integrate.{}, which is differentiated."
)
REASONS = {
    "qmc_quad": IN_PLACE.format("cubature or nquad"),
    "nsum": "it sums in arrays of its own, which hold no derivative. Write the sum with numpy.sum.",
    "solve_bvp": "its collocation is solved by iteration, without a rule. Write the problem as an "
    "initial value problem for solve_ivp, whose free initial values scipy.optimize.root finds.",
    **dict.fromkeys(
        ("ode", "complex_ode", "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"),
        "it is an object that steps in place. Use scipy.integrate.solve_ivp, which is "
        "differentiated by its arguments, times and captured values.",
    ),
}
for name, reason in REASONS.items():
    f = getattr(integrate, name, None)
    if f is not None:
        refuse(f, reason, Callable)
