"""Functions of NumPy in the spelling of the array API, by which SciPy's own code calls them.

What it asks of arrays beforehand, such as their common type, is constant, and what it makes of them
is mostly what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.scipy.private import Private
from chainrules_core import decompose, non_differentiable

_array_api = Private("_lib._array_api")

namespace = _array_api.array_namespace(np.zeros(1)) if _array_api.has("array_namespace") else np
solve = getattr(getattr(namespace, "linalg", None), "solve", np.linalg.solve)

if solve is not np.linalg.solve:

    @decompose(solve)
    def solve_body(x1: Any, x2: Any) -> Any:
        return np.linalg.solve(x1, x2)


for _name in ("xp_result_type", "xp_result_device", "xp_device", "_length_nonmasked"):
    if _array_api.has(_name):
        non_differentiable(getattr(_array_api, _name))

promote = _array_api.get("xp_promote")

if promote is not None:

    @decompose(promote)
    def promote_body(*args: Any, broadcast: bool = False, force_floating: bool = False, xp: Any):
        arrays = [np.asanyarray(a) if type(a) in (list, tuple) else a for a in args]
        dtype = _array_api.xp_result_type(*arrays, force_floating=force_floating, xp=xp)
        made = [
            a if a is None or is_array_of(a, dtype) else np.asanyarray(a, dtype=dtype)
            for a in arrays
        ]
        if broadcast:
            shapes = [np.shape(a) for a in made if a is not None]
            if len(set(shapes)) > 1:
                shape = common_shape(shapes)
                made = [a if a is None else np.broadcast_to(a, shape) for a in made]
        return made[0] if len(made) == 1 else tuple(made)


def is_array_of(a: Any, dtype: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == dtype


def common_shape(shapes: list) -> tuple[int, ...]:
    """Return the shape to which all are broadcast, or raise SciPy's error."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ValueError("Array shapes are incompatible for broadcasting.") from error
