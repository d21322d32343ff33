"""Elementwise operations as code, for arrays of float64 on one tape.

What :mod:`autodiff.fastpath.elementwise` does with a function and arguments of given types, written
out after a number of calls: guards, the operation itself and its node. `NO_RULE` leaves a call to
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath import elementwise
from autodiff.fastpath.codegen import jvp_code
from autodiff.fastpath.codegen.node_code import NUMBERS
from autodiff.fastpath.codegen.operation import Operation
from autodiff.trace.tape import Forward
from autodiff.trace.tracer import Tracer, wrap

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
_calls: dict[tuple, int] = caches.register("calls before code is written", {}, of_rules=True)

_TEMPLATE = (
    """
def way({parameters}):
    tape = {first}._tape
    if not tape.records:
        made = pushed_way({parameters})
        return otherwise({parameters}) if made is NO_RULE else made{same_tape}
{values}
    y = {expression}
    if type(y) is ndarray and y.dtype is FLOAT64:
        try:
            space = FLOAT64_SPACES[y.shape]
        except KeyError:
            space = ProjectTo(y)
    elif is_recorded(y):
        space = ProjectTo(y)
    else:
        return NO_RULE
{kept}
    node = new(Node)
{parents}
    node.values = ({seen},)
    node.space = space
"""
    + dispatch_cache.ADD_NODE
    + """\
    if type(y) is not ndarray:
        return wrap(y, tape, place)
"""
    + dispatch_cache.NEW_TRACER
    + """\
    return made
"""
)
_VALUE = """\
    x{i} = _{i}._value
    if type(x{i}) is not kind{i}{is_float64}:
        made = way_over({parameters})
        return otherwise({parameters}) if made is NO_RULE else made"""

# Numbers that are no `FloatTracer`: those of forward levels, and those that an outer level sees.
_OF_NUMBERS = """
def way({parameters}):
    made = way_over({parameters}) if {first}._tape.records else pushed_way({parameters})
    return otherwise({parameters}) if made is NO_RULE else made
"""


def _is_recorded(y: Any) -> bool:
    """Whether a value of another kind is recorded; to make it twice would warn twice."""
    return type(y) is float or getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")


def note(f: Callable, args: tuple, result: Any) -> None:
    """Note a call that was recorded; after a few the code for such calls is written."""
    if type(result) is not Tracer or not (result._tape.records or type(result._tape) is Forward):
        return
    y = result._value
    kind = type(y)
    if (y.dtype is not _FLOAT64) if kind is _ndarray else kind not in NUMBERS:
        return
    beneath = [type(a._value) if type(a) is Tracer else None for a in args]
    key = (f, *map(type, args), *beneath)
    _calls[key] = n = _calls.get(key, 0) + 1
    if n == dispatch_cache.OFTEN:
        _write(f, args, kind is _ndarray)


def _write(f: Callable, args: tuple, makes_array: bool) -> None:
    operation = Operation(f, args)
    plan = elementwise.plan_of(f, *operation.kinds)
    if plan is None or operation.makes_array != makes_array:
        return
    operation.make_node(plan)
    values = [
        _VALUE.format(
            i=i,
            is_float64=f" or x{i}.dtype is not FLOAT64" if operation.kinds[i] is _ndarray else "",
            parameters=operation.text["parameters"],
        )
        for i in operation.wanted
    ]
    scope = {
        **operation.scope,
        "is_recorded": _is_recorded,
        "otherwise": _not_known,
        "wrap": wrap,
    }
    # Few functions are used on all kinds of levels.
    dispatch_cache.define_later("pushed_way", scope, lambda: jvp_code.pushed_way(operation))
    dispatch_cache.define_later("way_over", scope, lambda: jvp_code.way_over(operation))
    template = _TEMPLATE if operation.makes_array else _OF_NUMBERS
    source = template.format(**operation.text, values="\n".join(values))
    _add(f, args, dispatch_cache.define("way", source, scope))


def _not_known(*args: Any) -> Any:
    return NO_RULE


def _add(f: Callable, args: tuple, way: Any) -> None:
    """Have code called for arguments like these; behind such for other values, if there is some."""
    known: Any = dispatch_cache.find(dispatch_cache.ways_of(f), args, {})
    if known is None:
        dispatch_cache.add(f, args, {}, way)
        return
    while known is not _not_known:
        scope = getattr(known, "__globals__", {})
        if "otherwise" not in scope:
            return
        known = scope["otherwise"]
    scope["otherwise"] = way
