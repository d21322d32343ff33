"""Histograms: the number of elements in a bin is constant, the sum of their weights is linear.

``np.histogram`` and its kin are NumPy's own Python code around ``np.bincount``, through which the
weights, and around ``np.linspace``, through which the edges of the bins are differentiated.
"""

from __future__ import annotations

import numpy as np

from chainrules_core import Array, linear_rule, non_differentiable

non_differentiable(np.bincount, object, type(None))
linear_rule(
    np.bincount,
    lambda y_bar, x, weights, *, minlength=0: y_bar[x],
    argnums=(1,),
    types=(object, Array),
)
