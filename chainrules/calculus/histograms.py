"""Histograms: the number of elements in a bin is constant, the sum of their weights is linear.

``np.histogram`` and its kin are NumPy's own Python code around ``np.bincount``, through which the
weights, and around ``np.linspace``, through which the edges of the bins are differentiated.
"""

from __future__ import annotations

import numpy as np

from chainrules_core import NoTangent, Numeric, non_differentiable, pair_rule
from chainrules_core.authoring import fit

non_differentiable(np.bincount)


@pair_rule(np.bincount, object, Numeric, lists=True, shaped_by=(1,))
def bincount_rule(x, weights, *, minlength=0):
    y = np.bincount(x, weights, minlength)

    def bincount_pushforward(x_dot, weights_dot):
        return fit(np.bincount(x, weights_dot, minlength), y)

    def bincount_pullback(y_bar):
        return NoTangent(), y_bar[x]

    return y, bincount_pushforward, bincount_pullback
