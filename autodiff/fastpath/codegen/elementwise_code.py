"""Elementwise operations as code, for arguments of given types.

After a number of calls, what :mod:`autodiff.fastpath.elementwise` does with a function is written
out: guards, the operation itself, and its node or tangent. There are three pieces of code for each
operation, the last two written when they are needed:

* ``way`` for arrays of float64 on one tape;
* ``pushed_way`` for arrays and numbers on a forward level, where the tangent is computed at once by
  the partial derivatives of the rule for forward mode;
* ``way_over`` for a tape whose values one outer level sees. There the operation is one of that
  level, and the node propagates its cotangents by operations of it.

So ``hvp`` is written code as well. Each returns `NO_RULE` for what it is not for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.codegen.node_code import NUMBERS, SCOPE, for_arrays, node_class, product
from autodiff.fastpath.elementwise import NOT_HERE, Plan, forward_plans, plans, pushed, with_dot
from autodiff.functions import OPERATORS
from autodiff.trace.tape import Forward
from autodiff.trace.tracer import FloatTracer, Tracer, wrap
from chainrules_core.define.partial import Partial

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
_calls: dict[tuple, int] = caches.register("calls before code is written", {}, of_rules=True)


def _is_recorded(y: Any) -> bool:
    """Whether a value of another kind is recorded; to make it twice would warn twice."""
    return type(y) is float or getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")


def _not_known(*args: Any) -> Any:
    return NO_RULE


_SCOPE: dict[str, Any] = {
    **SCOPE,
    "NOT_HERE": NOT_HERE,
    "is_recorded": _is_recorded,
    "otherwise": _not_known,
    "pushed": pushed,
    "with_dot": with_dot,
    "wrap": wrap,
}

_RECORD = (
    """\
{kept}\
    node = new(Node)
    node.parents = ({indices})
    node.values = ({seen},)
    node.space = space
"""
    + dispatch_cache.ADD_NODE
)

_ON_TAPE = (
    """
def way({parameters}):
    tape = {first}._tape
    if not tape.records:
        made = pushed_way({parameters})
        return otherwise({parameters}) if made is NO_RULE else made
{same_tape}{values}\
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
"""
    + _RECORD
    + """\
    if type(y) is not ndarray:
        return wrap(y, tape, place)
"""
    + dispatch_cache.NEW_TRACER
    + """\
    return made
"""
)
# Numbers that are no `FloatTracer`: those of forward levels, and those that an outer level sees.
_OF_NUMBERS = """
def way({parameters}):
    made = way_over({parameters}) if {first}._tape.records else pushed_way({parameters})
    return otherwise({parameters}) if made is NO_RULE else made
"""

_PUSHED = (
    """
def pushed_way({parameters}):
    tape = {first}._tape
    if type(tape) is not Forward:
        return NO_RULE
{same_tape}{no_objects}{values}\
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

_OVER = (
    """
def way_over({parameters}):
    tape = {first}._tape
{same_tape}{no_objects}{values}\
    y = pushed_way({inputs})
    if y is NO_RULE:
        y = {expression}
    if type(y) is not Tracer or y._tape is CONSTANT:
        return NO_RULE
    beneath = y._value
    if {is_other_beneath}:
        return NO_RULE
{space_beneath}
"""
    + _RECORD
    + """\
    tape.nested = True
"""
    + dispatch_cache.NEW_TRACER
    + """\
    return made
"""
)
_VALUE = """\
    x{i} = _{i}._value
    if type(x{i}) is not kind{i}{is_other}:
        made = way_over({parameters})
        return otherwise({parameters}) if made is NO_RULE else made
"""
_VALUE_AND_DOT = """\
    x{i} = _{i}._value
    t{i} = _{i}._index
    if type(x{i}) is not kind{i} or {is_other}:
        return NO_RULE
"""
_VALUE_OVER = """\
    x{i} = _{i}._value
    if type(x{i}) is not Tracer or type(x{i}._value) is not kind{i}:
        return NO_RULE
"""
_KEPT = """\
    x{i} = _{i}.copy("K") if _{i}.nbytes <= tape.small else tape.kept(_{i})
"""
_UNLESS = """\
    if {condition}:
        return NO_RULE
"""
# What leaves a value and its tangent to the others: of arrays of float64, and of numbers.
_OTHER_ARRAY = {
    "space_beneath": """\
    try:
        space = FLOAT64_SPACES[beneath.shape]
    except KeyError:
        space = ProjectTo(beneath)""",
    "is_other_beneath": "type(beneath) is not ndarray or beneath.dtype is not FLOAT64",
    "is_other_value": "type(y) is not ndarray or y.dtype is not FLOAT64",
    "is_other_tangent": "type(y_dot) is not ndarray or y_dot.shape != y.shape"
    " or y_dot.dtype is not FLOAT64",
    "is_wrong": "has_nan(y_dot)",
}
_OTHER_NUMBER = {
    "space_beneath": "    space = ProjectTo(beneath)",
    "is_other_beneath": "type(beneath) not in NUMBERS",
    "is_other_value": "type(y) not in NUMBERS",
    "is_other_tangent": "type(y_dot) is not type(y)",
    "is_wrong": "y_dot != y_dot",
}


class Operation:
    """Writes the code for a function of one or two arguments, some of them traced.

    In the code arguments are called ``_0`` and ``_1``, the values of those that are traced ``x0``
    and ``x1``, and their tangents ``t0`` and ``t1``.

    Attributes
    ----------
    f : callable
        The function.
    kinds : list of type
        The types of the plain values: arrays and numbers.
    wanted : list of int
        Which arguments are traced.
    makes_array : bool
        Whether the result is an array; else it is a number.
    inputs : list of str
        The names of the plain values.
    scope, text : dict
        What all code of this operation reads, and what it is put together from.
    """

    def __init__(self, f: Callable, args: tuple) -> None:
        self.f = f
        traced = [type(a) in (Tracer, FloatTracer) for a in args]
        self.kinds = [type(a._value) if t else type(a) for a, t in zip(args, traced, strict=True)]
        self.wanted = [i for i, t in enumerate(traced) if t]
        self.makes_array = _ndarray in self.kinds
        self.inputs = [f"x{i}" if t else f"_{i}" for i, t in enumerate(traced)]
        symbol = OPERATORS.get(f) if len(args) == 2 else None
        constants = [i for i, k in enumerate(self.kinds) if k is _ndarray and i not in self.wanted]
        self.text = {
            **(_OTHER_ARRAY if self.makes_array else _OTHER_NUMBER),
            "dots": "".join(f"t{i}, " for i in self.wanted),
            "expression": f" {symbol} ".join(self.inputs)
            if symbol
            else f"f({', '.join(self.inputs)})",
            "first": f"_{self.wanted[0]}",
            "indices": "".join(f"_{i}._index, " for i in self.wanted),
            "inputs": ", ".join(self.inputs),
            "no_objects": "".join(
                _UNLESS.format(condition=f"_{i}.dtype is OBJECTS") for i in constants
            ),
            "parameters": ", ".join(f"_{i}" for i in range(len(args))),
            "same_tape": "".join(
                _UNLESS.format(condition=f"_{i}._tape is not tape") for i in self.wanted[1:]
            ),
        }
        kinds = {f"kind{i}": kind for i, kind in enumerate(self.kinds)}
        self.scope: dict[str, Any] = {**_SCOPE, **kinds, "f": f}

    def way(self, plan: Plan) -> Callable:
        """Write the operation by a plan for reverse mode, and what leads to the other levels."""
        keep_y, *keeps = plan.keeps[sum(1 << i for i in self.wanted)]
        held, seen = "", ["y" if keep_y else "None"]
        for i, (name, keep) in enumerate(zip(self.inputs, keeps, strict=True)):
            if keep and i not in self.wanted and self.kinds[i] is _ndarray:
                held += _KEPT.format(i=i)
                name = f"x{i}"
            seen.append(name if keep else "None")
        self.text |= {"kept": held, "seen": ", ".join(seen)}
        self.scope["Node"] = node_class(plan.rule, self.kinds, self.wanted)
        # Few functions are used on all kinds of levels.
        scope = {**self.scope}
        dispatch_cache.define_later("pushed_way", scope, self.pushed_way)
        dispatch_cache.define_later("way_over", scope, self.way_over)
        values = "".join(
            _VALUE.format(
                i=i,
                is_other=f" or x{i}.dtype is not FLOAT64" if self.kinds[i] is _ndarray else "",
                parameters=self.text["parameters"],
            )
            for i in self.wanted
        )
        template = _ON_TAPE if self.makes_array else _OF_NUMBERS
        return dispatch_cache.define("way", template.format(**self.text, values=values), scope)

    def way_over(self) -> Callable:
        """Write the operation on a tape, of values that one outer level sees."""
        scope = {**self.scope}
        dispatch_cache.define_later("pushed_way", scope, self.pushed_way)
        values = "".join(_VALUE_OVER.format(i=i) for i in self.wanted)
        return dispatch_cache.define("way_over", _OVER.format(**self.text, values=values), scope)

    def pushed_way(self) -> Callable:
        """Write the operation on a forward level."""
        plan = forward_plans[(self.f, *self.kinds)]
        partials = () if plan is None else tuple([plan.partials[i] for i in self.wanted])
        if plan is None or not all(map(_is_number_or_function, partials)):
            return _not_known
        scope = {**self.scope, "partials": partials}
        values = ""
        for i in self.wanted:
            is_other = f"type(t{i}) not in NUMBERS"
            if self.kinds[i] is _ndarray:
                is_other = f"type(t{i}) is not ndarray"
                is_other += f" or x{i}.dtype is not FLOAT64 or t{i}.dtype is not FLOAT64"
            values += _VALUE_AND_DOT.format(i=i, is_other=is_other)
        tangent = self._tangent(partials, scope)
        source = _PUSHED.format(**self.text, values=values, tangent=tangent)
        return dispatch_cache.define("pushed_way", source, scope)

    def _tangent(self, partials: Sequence[Partial], scope: dict) -> str:
        """Write the tangent: the sum of the products of partial derivatives and tangents."""
        names = ["y", *self.inputs]
        slopes, products, conditions = [], [], []
        for i, partial in zip(self.wanted, partials, strict=True):

            def constant(c: float, i: int = i) -> str:
                scope[f"c{i}"] = np.array(c) if self.kinds[i] is _ndarray else c
                return f"c{i}"

            made = product(partial, f"t{i}", names, constant)
            if made is None:
                scope[f"function{i}"] = for_arrays(partial, self.kinds)
                slopes.append(f"d{i} = function{i}({', '.join(names)})")
                made = f"d{i} * t{i}"
                # Truth values, and what stands for no derivative, are left to the products.
                is_array = f"d{i}.dtype is FLOAT64 if type(d{i}) is ndarray else "
                conditions.append(f"({is_array if self.makes_array else ''}type(d{i}) in NUMBERS)")
            products.append(made)
        total = " + ".join(products).replace("+ -", "- ")
        if all(partial.function is None for partial in partials):
            return f"    y_dot = {total}"
        if conditions:
            total = f"{total} if {' and '.join(conditions)} else None"
        return _CURVED.format(**self.text, slopes="; ".join(slopes) or "pass", sum=total)


def _is_number_or_function(partial: Partial) -> bool:
    return partial.function is not None or type(partial.constant) in (int, float)


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
    if n != dispatch_cache.OFTEN:
        return
    operation = Operation(f, args)
    plan = plans[(f, *operation.kinds)]
    if plan is not None and operation.makes_array == (kind is _ndarray):
        _add(f, args, operation.way(plan))


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
