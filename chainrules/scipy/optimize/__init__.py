"""Rules for scipy.optimize: roots, minima, fits and programs, by the conditions that hold there."""

from chainrules.scipy.optimize import (
    assignments as assignments,
    fitting as fitting,
    linear as linear,
    minima as minima,
    programs as programs,
    roots as roots,
    searches as searches,
)
