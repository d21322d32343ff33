"""Rules for scipy.signal; loaded once it has been imported.

What is written in Python over NumPy is traced. Here are the rules of what is beneath it: filters,
convolutions, splines, which run in C, and of functions that write into arrays.
"""

from chainrules.scipy import namespaces as namespaces
from chainrules.scipy.signal import (
    analytic as analytic,
    convolution as convolution,
    filters as filters,
    peaks as peaks,
    planes as planes,
    resampling as resampling,
    responses as responses,
    segments as segments,
    splines as splines,
    systems as systems,
    waveforms as waveforms,
)
