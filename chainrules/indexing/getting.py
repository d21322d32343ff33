"""Reading elements: ``x[index]``; the adjoint adds into the elements that were read."""

from __future__ import annotations

import operator

from chainrules_core import Array, linear_rule
from chainrules_core.scattering import scatter, scatter_into

# The adjoint of a read is a scatter, and that of a scatter is the read.
linear_rule(
    operator.getitem,
    lambda y_bar, x, index: scatter(y_bar, index, x.shape, x.dtype),
    add_into=scatter_into,
    types=(Array,),
)
linear_rule(scatter, lambda x_bar, y_bar, index, shape, dtype: x_bar[index])
