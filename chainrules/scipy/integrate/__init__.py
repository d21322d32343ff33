"""Rules for scipy.integrate."""

from chainrules.scipy.integrate import (
    adaptive as adaptive,
    elementwise as elementwise,
    initial_value as initial_value,
    integrals as integrals,
    iterated as iterated,
    others as others,
    sampled as sampled,
    states as states,
)
