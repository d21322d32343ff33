"""Generated code for expressions of several elementwise operations, recorded as one value.

For leaves of given types (:mod:`autodiff.intercept.source.fusion_sites`) the code computes the
operations one after the other, with the results of the single operations, and appends one node.
For floats the node holds the partial derivatives by the leaves. For small arrays of float64 of one
shape it holds what the partial derivatives of the operations read
(:class:`autodiff.fastpath.fusion.fused_node.Fused`). In all other cases the code evaluates the
generic form of the expression, which records each operation by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autodiff.fastpath.fusion.builder import Declined, Writer
from autodiff.fastpath.fusion.fused_arrays import OfArrays
from autodiff.fastpath.fusion.fused_nested import OnLevels
from autodiff.fastpath.fusion.fused_scalars import OfFloats
from autodiff.fastpath.fusion.steps import Steps


def of_plain(writer: Writer) -> Callable:
    """Return code for values of which none is traced."""
    body = "".join(f"    t{k} = {writer.computed(s)}\n" for k, s in enumerate(writer.steps))
    return writer.function(f"{body}    return t{len(writer.steps) - 1}\n")


def write_way(
    steps: Steps, leaves: tuple, leave: Callable, on_levels: Callable | None
) -> Callable | None:
    """Generate code for an expression with leaves like these; None if that is impossible.

    It calls `leave` where the arrays are too large for it to be of use, and `on_levels` for leaves
    of other levels; for such the code is written where that is None.
    """
    try:
        if on_levels is None:
            code = OnLevels(steps, leaves)
            code.scope["leave"] = leave
            return code.way()
        writer = Writer(steps, leaves)
        if not writer.traced:
            return of_plain(writer)
        kinds = {type(writer.samples[name]) for name in writer.inputs.values()}
        if np.ndarray not in kinds:
            return OfFloats(steps, leaves).way()
        arrays = OfArrays(steps, leaves)
        arrays.scope |= {"leave": leave, "on_levels": on_levels}
        return arrays.way()
    except Declined:
        pass
    return None
