"""Functions whose result does not depend differentiably on their arguments.

Their outputs are indices, truth values, shapes, types, texts, or steps: constant wherever they are
continuous, so the gradient is zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from chainrules_core import non_differentiable

TRUTH = """
    all any allclose array_equal array_equiv equal greater greater_equal isclose iscomplex
    iscomplexobj isfinite isfortran isin isinf isnan isneginf isposinf isreal isrealobj isscalar
    iterable less less_equal logical_and logical_not logical_or logical_xor may_share_memory
    not_equal shares_memory signbit
"""
INDICES = """
    argmax argmin argpartition argsort argwhere count_nonzero diag_indices_from digitize
    flatnonzero lexsort nanargmax nanargmin nonzero ravel_multi_index searchsorted unravel_index
"""
SHAPES_AND_TYPES = """
    broadcast_shapes can_cast common_type min_scalar_type ndim promote_types result_type shape
    size typename
"""
STEPS = "ceil fix floor rint round around spacing trunc"
CREATION = "empty_like ones_like zeros_like"
TEXT = "array2string array_repr array_str format_float_positional format_float_scientific"


def named(names: str, module: object = np) -> tuple[Callable, ...]:
    """Return the functions of these names that this version of the module has, aliases once."""
    found = [getattr(module, name) for name in names.split() if hasattr(module, name)]
    return tuple(dict.fromkeys(found))


for group in (TRUTH, INDICES, SHAPES_AND_TYPES, STEPS, CREATION, TEXT):
    non_differentiable(named(group))

non_differentiable(np.linalg.matrix_rank)
non_differentiable((np.floor_divide, operator.floordiv))
non_differentiable((operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt))
non_differentiable(named("isfinite isinf isnan isclose floor ceil trunc", math))
