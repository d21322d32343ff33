"""Rules for scipy.integrate."""

from chainrules.scipy.integrate import (
    adaptive as adaptive,
    boundary_value as boundary_value,
    elementwise as elementwise,
    initial_value as initial_value,
    integrals as integrals,
    integrators as integrators,
    iterated as iterated,
    sampled as sampled,
    series as series,
    states as states,
    stepping as stepping,
)
