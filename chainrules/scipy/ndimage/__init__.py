"""Rules for scipy.ndimage; loaded once it has been imported.

Its functions are Python over a few functions in C that write their result into an array. The rules
are for these: what is above them is traced.
"""

from chainrules.scipy.ndimage import (
    correlation as correlation,
    distances as distances,
    fourier as fourier,
    functions as functions,
    interpolation as interpolation,
    labels as labels,
    selection as selection,
    splines as splines,
)
