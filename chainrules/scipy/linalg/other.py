"""Sketches, the structure of matrices, and products of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import conj
from chainrules.scipy.delegated import both
from chainrules_core import AbstractZero, Array, decompose, non_differentiable, pair_rule


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


@pair_rule(linalg.khatri_rao, Array, Array, lists=True, shaped_by=(0, 1))
def khatri_rao_rule(a, b):
    if np.ndim(a) != 2 or np.ndim(b) != 2:
        return None  # stacks are traced
    y = linalg.khatri_rao(a, b)
    shape = np.shape(a)[0], np.shape(b)[0], np.shape(a)[1]

    def khatri_rao_pushforward(a_dot, b_dot):
        moved: Any = 0.0
        if not isinstance(a_dot, AbstractZero):
            moved = linalg.khatri_rao(a_dot, b)
        if not isinstance(b_dot, AbstractZero):
            moved = moved + linalg.khatri_rao(a, b_dot)
        return moved

    def khatri_rao_pullback(y_bar):
        bar = np.reshape(y_bar, shape)
        return np.einsum("ijk,jk->ik", bar, conj(b)), np.einsum("ijk,ik->jk", bar, conj(a))

    return y, khatri_rao_pushforward, khatri_rao_pullback
