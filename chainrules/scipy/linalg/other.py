"""Sketches, and what is beneath scipy.linalg: the functions of BLAS and LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from chainrules.refused import refuse
from chainrules.scipy.delegated import both
from chainrules_core import Array, frule, non_differentiable, rrule


def sketch(a: Any, sketch_size: int, options: dict) -> Any:
    """The matrix that is drawn, once: what becomes of the identity."""
    return linalg.clarkson_woodruff_transform(np.eye(np.shape(a)[-2]), sketch_size, **options)


@rrule.register(linalg.clarkson_woodruff_transform, Array)
def clarkson_woodruff_transform_rrule(input_matrix, *, sketch_size, **options):
    s = sketch(input_matrix, sketch_size, options)

    def clarkson_woodruff_transform_pullback(y_bar):
        return np.matmul(s.T, y_bar)

    return np.matmul(s, input_matrix), clarkson_woodruff_transform_pullback


@frule.register(linalg.clarkson_woodruff_transform, Array)
def clarkson_woodruff_transform_frule(dots, input_matrix, *, sketch_size, **options):
    s = sketch(input_matrix, sketch_size, options)
    return np.matmul(s, input_matrix), np.matmul(s, dots[0])


non_differentiable(both(linalg.bandwidth, linalg.issymmetric, linalg.ishermitian))

WRAPPED = (
    "it is a bare routine of BLAS or LAPACK. Use the function of NumPy or scipy.linalg that is "
    "made of it."
)


def routines(module: Any) -> list:
    """The wrapped routines of a module, of a type that each module has for itself."""
    found = [getattr(module, name, None) for name in dir(module)]
    return list({id(f): f for f in found if type(f).__name__ == "fortran"}.values())


for _module in (blas, lapack):
    refuse(routines(_module), WRAPPED)
