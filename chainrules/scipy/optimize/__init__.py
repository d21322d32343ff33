"""Rules for scipy.optimize: roots, minima, fits and programs, by the conditions that hold there."""

from chainrules.scipy.optimize import (
    fitting as fitting,
    minima as minima,
    roots as roots,
    searches as searches,
)
