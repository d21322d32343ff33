"""Sketches, and what is beneath scipy.linalg: the functions of BLAS and LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from chainrules.refused import refuse
from chainrules.scipy.delegated import both
from chainrules_core import decompose, non_differentiable


@non_differentiable
def sketch(a: Any, sketch_size: int, rng: tuple, options: dict) -> Any:
    """Return the matrix that is drawn, once: what becomes of the identity."""
    return linalg.clarkson_woodruff_transform(np.eye(len(a)), sketch_size, *rng, **options)


# A body, since a number for `rng` means another stream by position than by name.
@decompose(linalg.clarkson_woodruff_transform)
def clarkson_woodruff_transform_body(input_matrix, sketch_size, *rng, **options):
    a = np.asarray(input_matrix)
    return np.matmul(sketch(a, sketch_size, rng, options), a)


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
