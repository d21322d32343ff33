"""Rules for scipy.integrate."""

from chainrules.scipy.integrate import integrals as integrals
from chainrules.scipy.integrate import adaptive as adaptive
from chainrules.scipy.integrate import states as states
from chainrules.scipy.integrate import initial_value as initial_value
