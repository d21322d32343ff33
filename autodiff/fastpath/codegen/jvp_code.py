"""Elementwise operations as code on other levels: forward ones, and those that see outer levels.

What :mod:`autodiff.fastpath.codegen.elementwise_code` writes for a tape and plain arrays of float64
has these two behind it, so that ``hvp`` is written code as well. The tangent of ``y = f(x)`` is
made at once, by the partial derivatives of the rule for forward mode. Where the values are traced
on an outer level, the operation is one of that level, and the node hands its cotangents on by
operations of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.codegen.node_code import NUMBERS, for_arrays
from autodiff.fastpath.codegen.operation import Operation
from autodiff.fastpath.elementwise import NOT_HERE, forward_plan_of, pushed, with_dot
from autodiff.trace.tape import CONSTANT, Forward
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.define.scalar import has_nan
from chainrules_core.quiet import quiet

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)

_PUSHED = (
    """
def pushed_way({parameters}):
    tape = {first}._tape
    if type(tape) is not Forward:
        return NO_RULE{same_tape}{no_objects}
{values}
    tape.check_open()
    y = {expression}
    if {is_other_value}:
        made = with_dot(y, pushed(partials, (y, {inputs}), ({dots})), tape)
        return NO_RULE if made is NOT_HERE else made
{tangent}
    if {is_other_tangent}:
        made = with_dot(y, y_dot, tape)
        return NO_RULE if made is NOT_HERE else made
    place = y_dot
"""
    + dispatch_cache.NEW_TRACER
    + """\
    return made
"""
)
_VALUE_AND_DOT = """\
    x{i} = _{i}._value
    t{i} = _{i}._index
    if type(x{i}) is not kind{i} or {is_other}:
        return NO_RULE"""
_OTHER_ARRAY = "type(t{i}) is not ndarray or x{i}.dtype is not FLOAT64 or t{i}.dtype is not FLOAT64"
# Of arrays of float64, and of numbers: what leaves a value and its tangent to the others.
_OF_ARRAYS = {
    "is_other_value": "type(y) is not ndarray or y.dtype is not FLOAT64",
    "is_other_tangent": "type(y_dot) is not ndarray or y_dot.shape != y.shape"
    " or y_dot.dtype is not FLOAT64",
    "is_wrong": "has_nan(y_dot)",
}
_OF_NUMBERS = {
    "is_other_value": "type(y) not in NUMBERS",
    "is_other_tangent": "type(y_dot) is not type(y)",
    "is_wrong": "y_dot != y_dot",
}
_CURVED = """\
    with quiet():
        try:
            {slopes}
        except ARITHMETIC:
            y_dot = None
        else:
            y_dot = {sum}
        if y_dot is None or {is_wrong}:
            y_dot = pushed(partials, (y, {inputs}), ({dots}))"""


def pushed_way(operation: Operation) -> Callable:
    """Write an operation on a forward level; what is written gives `NO_RULE` for all else."""
    f, kinds, wanted = operation.f, operation.kinds, operation.wanted
    plan = forward_plan_of(f, *kinds)
    partials = None if plan is None else plan.partials
    if partials is None or not all(_is_number_or_function(partials[i]) for i in wanted):
        return _never
    scope: dict[str, Any] = {
        **operation.scope,
        "ARITHMETIC": ARITHMETIC,
        "Forward": Forward,
        "NOT_HERE": NOT_HERE,
        "NUMBERS": NUMBERS,
        "quiet": quiet,
        "has_nan": has_nan,
        "partials": tuple([partials[i] for i in wanted]),
        "pushed": pushed,
        "with_dot": with_dot,
    }
    source = _PUSHED.format(
        **operation.text,
        **(_OF_ARRAYS if operation.makes_array else _OF_NUMBERS),
        values="\n".join(
            _VALUE_AND_DOT.format(
                i=i,
                is_other=_OTHER_ARRAY.format(i=i)
                if kinds[i] is _ndarray
                else f"type(t{i}) not in NUMBERS",
            )
            for i in wanted
        ),
        dots="".join(f"t{i}, " for i in wanted),
        tangent=_tangent(partials, operation, scope),
    )
    return dispatch_cache.define("pushed_way", source, scope)


def _never(*args: Any) -> Any:
    return NO_RULE


def _is_number_or_function(partial: Partial) -> bool:
    return partial.function is not None or type(partial.constant) in (int, float)


def _tangent(partials: Sequence[Partial], operation: Operation, scope: dict) -> str:
    """Write the tangent: the sum of the products of partial derivatives and tangents."""
    names = ["y", *operation.inputs]
    kinds = operation.kinds
    slopes, products, conditions = [], [], []
    for i in operation.wanted:
        partial, c = partials[i], partials[i].constant
        if partial.function is None:
            scope[f"c{i}"] = np.array(float(c)) if kinds[i] is _ndarray else float(c)
            products.append(f"t{i}" if c == 1 else f"-t{i}" if c == -1 else f"c{i} * t{i}")
        elif partial.returns is not None:
            products.append(f"{names[partial.returns]} * t{i}")
        else:
            scope[f"function{i}"] = for_arrays(partial, kinds)
            slopes.append(f"d{i} = function{i}({', '.join(names)})")
            products.append(f"d{i} * t{i}")
            # Truth values, and what stands for no derivative, are left to the products.
            is_array = f"d{i}.dtype is FLOAT64 if type(d{i}) is ndarray else "
            conditions.append(f"({is_array if operation.makes_array else ''}type(d{i}) in NUMBERS)")
    total = " + ".join(products).replace("+ -", "- ")
    if all(partials[i].function is None for i in operation.wanted):
        return f"    y_dot = {total}"
    if conditions:
        total = f"{total} if {' and '.join(conditions)} else None"
    return _CURVED.format(
        slopes="; ".join(slopes) or "pass",
        sum=total,
        is_wrong=(_OF_ARRAYS if operation.makes_array else _OF_NUMBERS)["is_wrong"],
        inputs=operation.text["inputs"],
        dots="".join(f"t{i}, " for i in operation.wanted),
    )


_OVER = (
    """
def way_over({parameters}):
    tape = {first}._tape{same_tape}{no_objects}
{values}
    y = pushed_way({inputs})
    if y is NO_RULE:
        y = {expression}
    if type(y) is not Tracer or y._tape is CONSTANT:
        return NO_RULE
    beneath = y._value
{space}
{kept}
    node = new(Node)
{parents}
    node.values = ({seen},)
    node.space = space
    tape.nested = True
"""
    + dispatch_cache.ADD_NODE
    + dispatch_cache.NEW_TRACER
    + """\
    return made
"""
)
_SPACE_OF_ARRAY = """\
    if type(beneath) is not ndarray or beneath.dtype is not FLOAT64:
        return NO_RULE
    try:
        space = FLOAT64_SPACES[beneath.shape]
    except KeyError:
        space = ProjectTo(beneath)"""
_SPACE_OF_NUMBER = """\
    if type(beneath) not in NUMBERS:
        return NO_RULE
    space = ProjectTo(beneath)"""
_VALUE_OVER = """\
    x{i} = _{i}._value
    if type(x{i}) is not Tracer or type(x{i}._value) is not kind{i}:
        return NO_RULE"""


def way_over(operation: Operation) -> Callable:
    """Write an operation on a tape, of values that one outer level sees."""
    scope = {**operation.scope, "CONSTANT": CONSTANT, "NUMBERS": NUMBERS}
    dispatch_cache.define_later("pushed_way", scope, lambda: pushed_way(operation))
    values = "\n".join(_VALUE_OVER.format(i=i) for i in operation.wanted)
    space = _SPACE_OF_ARRAY if operation.makes_array else _SPACE_OF_NUMBER
    source = _OVER.format(**operation.text, values=values, space=space)
    return dispatch_cache.define("way_over", source, scope)
