"""Rules for scipy.integrate."""

from chainrules.scipy.integrate import (
    adaptive as adaptive,
    initial_value as initial_value,
    integrals as integrals,
    others as others,
    states as states,
)
