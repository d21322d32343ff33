"""Rules for scipy.integrate."""

from chainrules.scipy.integrate import adaptive as adaptive
from chainrules.scipy.integrate import integrals as integrals
