"""Rules for scipy.interpolate; loaded once it has been imported."""

from chainrules.scipy.interpolate import (
    barycentric as barycentric,
    bsplines as bsplines,
    cubic as cubic,
    fitpack as fitpack,
    fitting as fitting,
    gridded as gridded,
    least_squares as least_squares,
    monotone as monotone,
    newton as newton,
    penalties as penalties,
    piecewise as piecewise,
    scattered as scattered,
    scattered_smoothing as scattered_smoothing,
    selections as selections,
    surfaces as surfaces,
)
