"""Histograms: the number of elements in a bin is constant, the sum of their weights is linear.

``np.histogram`` and its kin are NumPy's own Python code around ``np.bincount``, through which the
weights, and around ``np.linspace``, through which the edges of the bins are differentiated.
"""

from __future__ import annotations

import numpy as np

from chainrules_core import NoTangent, Numeric, frule, non_differentiable, rrule
from chainrules_core.authoring import fit

non_differentiable(np.bincount)


@rrule.register(np.bincount, object, Numeric, lists=True)
def bincount_rrule(x, weights, *, minlength=0):
    def bincount_pullback(y_bar):
        return NoTangent(), y_bar[x]

    return np.bincount(x, weights, minlength), bincount_pullback


@frule.register(np.bincount, object, Numeric, lists=True)
def bincount_frule(dots, x, weights, *, minlength=0):
    y = np.bincount(x, weights, minlength)
    return y, fit(np.bincount(x, dots[1], minlength), y)
