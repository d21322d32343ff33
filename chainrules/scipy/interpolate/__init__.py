"""Rules for scipy.interpolate; loaded once it has been imported."""

from chainrules.scipy.interpolate import (
    bsplines as bsplines,
    piecewise as piecewise,
)
