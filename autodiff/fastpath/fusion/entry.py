"""Code generation for fused expressions: several elementwise operations recorded as one node.

The code is for an expression (:mod:`autodiff.intercept.source.fusion_sites`) with leaves of given
types. It computes the operations in order, with the same results as the single operations, and
appends one node. For floats, the node holds the partial derivatives with respect to the leaves. For
small arrays of float64 of one shape, it holds the values that the partial derivatives of the
operations read (:class:`autodiff.fastpath.fusion.fused_node.FusedNode`). In all other cases, the
code evaluates the generic form of the expression, which records each operation separately.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autodiff.fastpath.fusion.expression_generator import Declined, ExpressionGenerator
from autodiff.fastpath.fusion.expression_ir import Steps
from autodiff.fastpath.fusion.fused_arrays import ArrayGenerator
from autodiff.fastpath.fusion.fused_nested import NestedGenerator
from autodiff.fastpath.fusion.fused_scalars import FloatGenerator


def of_plain(generator: ExpressionGenerator) -> Callable:
    """Return code for leaves that are not traced."""
    body = "".join(f"    t{k} = {generator.computed(s)}\n" for k, s in enumerate(generator.steps))
    return generator.function(f"{body}    return t{len(generator.steps) - 1}\n")


def generate_fused_code(
    steps: Steps, leaves: tuple, leave: Callable, on_levels: Callable | None
) -> Callable | None:
    """Generate code for an expression with leaves of these types; return None if impossible.

    The code calls `leave` if the arrays are too large for it to be useful, and `on_levels` for
    leaves of other levels. If `on_levels` is None, the code is for leaves of other levels.
    """
    try:
        if on_levels is None:
            code = NestedGenerator(steps, leaves)
            code.scope["leave"] = leave
            return code.way()
        generator = ExpressionGenerator(steps, leaves)
        if not generator.traced:
            return of_plain(generator)
        kinds = {type(generator.samples[name]) for name in generator.inputs.values()}
        if np.ndarray not in kinds:
            return FloatGenerator(steps, leaves).way()
        arrays = ArrayGenerator(steps, leaves)
        arrays.scope |= {"leave": leave, "on_levels": on_levels}
        return arrays.way()
    except Declined:
        pass
    return None
