"""Fast paths for elementwise functions of numbers and arrays.

What a function of one or two arguments needs of its rule is found once for each pair of types and
remembered until a rule changes. A call then computes the primal and appends one node, which keeps
what its partial derivatives read and nothing else. Values that are traced on an outer level take
the same way: the primal and the products are then operations of that level. On a forward level
the tangent is computed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.fastpath.elementwise_nodes import Elementwise, ElementwiseOfTwo
from autodiff.trace.tape import CONSTANT, Forward, place_of
from autodiff.trace.tracer import FloatTracer, Tracer, bare, shape_of, untraced, wrap
from chainrules_core import AbstractZero, NotImplementedTangent, ProjectTo, frule, rrule
from chainrules_core.define import ScalarRule
from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import (
    has_nan,
    plain_product,
    strong_product,
)
from chainrules_core.projection import KNOWN_SPACES
from chainrules_core.quiet import quiet
from chainrules_core.rules import RuleTable

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
_FLOAT64_SPACES = KNOWN_SPACES[_FLOAT64]
_NUMBERS = frozenset(
    {float, int, complex, np.float64, np.float32, np.complex128, np.complex64, np.int64}
)
_PLAIN = _NUMBERS | {np.ndarray}
_TRACED = frozenset({Tracer, FloatTracer})
_VALUES = frozenset({np.ndarray, float, int, np.float64, Tracer, FloatTracer})
_SPECIAL = (AbstractZero, NotImplementedTangent)

NOT_HERE: Any = object()


class Plan:
    """What a function of arguments of given types needs of its rule."""

    __slots__ = ("keeps", "partials", "rule")

    def __init__(self, rule: ScalarRule) -> None:
        self.rule = rule
        self.partials = rule.partials[0]
        # For each set of wanted arguments, as bits: which of (y, *args) their partials read.
        n = len(self.partials)
        reads = [rule.reads([j for j in range(n) if wanted >> j & 1]) for wanted in range(1 << n)]
        self.keeps = [[i in read for i in range(n + 1)] for read in reads]


_plans: dict[tuple, Plan | None] = caches.register("elementwise plans", {}, of_rules=True)
_forward_plans: dict[tuple, Plan | None] = caches.register(
    "elementwise forward plans", {}, of_rules=True
)


def _found(table: RuleTable, f: Callable, *kinds: type) -> Plan | None:
    """Find the plan for a function and the types of its arguments."""
    if not _PLAIN.issuperset(kinds):
        return None
    entry = table.entry(f)
    rule = None if entry is None else entry.find(kinds)
    if isinstance(rule, ScalarRule) and not rule.several and rule.setup is None:
        return Plan(rule)
    return None


def _plan(f: Callable, *kinds: Any) -> Plan | None:
    """Find the plan for a function and the types of its arguments for the first time."""
    plan = _found(rrule, f, *kinds)
    if rrule.entry(f) is not None:  # functions made in passing are not kept alive
        _plans[(f, *kinds)] = plan
    return plan


def plan_of(f: Callable, *kinds: Any) -> Plan | None:
    """Return the plan for a function and the types of its arguments."""
    key = (f, *kinds)
    return _plans[key] if key in _plans else _plan(*key)


def _forward_plan(f: Callable, *kinds: type) -> Plan | None:
    """Do the same for forward mode, where another rule may hold."""
    plan = _found(frule, f, *kinds)
    if frule.entry(f) is not None:
        _forward_plans[(f, *kinds)] = plan
    return plan


def binary(f: Callable, a: Any, b: Any) -> Any:
    """Apply a function of two arguments, at least one traced; `NOT_HERE` for the general path."""
    kind = type(a)
    other = type(b)
    x, z = a, b
    if kind is Tracer or kind is FloatTracer:
        tape = a._tape
        x = a._value
        wanted = 1
        if other is Tracer or other is FloatTracer:
            z = b._value
            if b._tape is tape:
                wanted = 3
            elif b._tape is not CONSTANT:
                if tape is not CONSTANT:
                    return NOT_HERE
                tape = b._tape
                wanted = 2
    else:
        tape = b._tape
        z = b._value
        wanted = 2
    if not tape.records:
        if type(tape) is Forward:
            return _binary_forward(f, a, b, x, z, wanted, tape)
        if tape is CONSTANT:
            return _of_constants(f, x, z)
        return tape.binary(f, a, b) if tape.program else NOT_HERE
    key = (f, type(x), type(z))
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plan(*key)
    if plan is None:
        sources = (a, b) if wanted == 3 else (a,) if wanted == 1 else (b,)
        return _over_outer(f, (x, z), sources, wanted, tape)
    y = f(x, z)
    is_array = type(y) is _ndarray
    space: Any
    if is_array:
        dtype = y.dtype
        if dtype is _FLOAT64:
            try:
                space = _FLOAT64_SPACES[y.shape]
            except KeyError:
                space = ProjectTo(y)
        elif dtype.kind in "fc":
            space = ProjectTo(y)
        else:
            return NOT_HERE
    else:
        dtype = getattr(y, "dtype", None)
        if type(y) is not float and (dtype is None or dtype.kind not in "fc"):
            return NOT_HERE
        space = ProjectTo(y)
    keep_y, keep_x, keep_z = plan.keeps[wanted]
    if other is _ndarray:
        if keep_z:
            z = tape.kept(b)
    elif kind is _ndarray and keep_x:
        x = tape.kept(a)
    values = (y if keep_y else None, x if keep_x else None, z if keep_z else None)
    node: Any
    if wanted == 3:
        node = ElementwiseOfTwo(a._index, b._index, values, space, plan.rule)
    elif wanted == 1:
        node = Elementwise(a._index, plan.partials[0], values, space, plan.rule)
    else:
        node = Elementwise(b._index, plan.partials[1], values, space, plan.rule)
    nodes = tape.nodes
    place = len(nodes)
    nodes.append(node)
    if nodes[place] is not node:
        place = place_of(node, nodes)
    return Tracer(y, tape, place) if is_array else wrap(y, tape, place)


def _of_constants(f: Callable, *values: Any) -> Any:
    """Apply a function to arrays made inside, which may be written into: so may the result."""
    if plan_of(f, *map(type, values)) is None:
        return NOT_HERE
    y = f(*values)
    if type(y) is not _ndarray:
        return y
    return Tracer(y, CONSTANT, -1) if y.dtype.kind in "fc" else NOT_HERE


def unary(f: Callable, a: Any) -> Any:
    """Apply a function of one traced argument; `NOT_HERE` for the general path."""
    tape = a._tape
    x = a._value
    if not tape.records:
        if tape is CONSTANT:
            return _of_constants(f, x)
        return _unary_forward(f, a, x, tape) if type(tape) is Forward else NOT_HERE
    key = (f, type(x))
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plan(*key)
    if plan is None:
        return _over_outer(f, (x,), (a,), 1, tape)
    y = f(x)
    dtype = getattr(y, "dtype", None)
    if dtype is None or (dtype is not _FLOAT64 and dtype.kind not in "fc"):
        return NOT_HERE
    is_array = type(y) is _ndarray
    try:
        space = _FLOAT64_SPACES[y.shape] if is_array and dtype is _FLOAT64 else ProjectTo(y)
    except KeyError:
        space = ProjectTo(y)
    keep_y, keep_x = plan.keeps[1]
    values = (y if keep_y else None, x if keep_x else None)
    nodes = tape.nodes
    node = Elementwise(a._index, plan.partials[0], values, space, plan.rule)
    place = len(nodes)
    nodes.append(node)
    if nodes[place] is not node:
        place = place_of(node, nodes)
    return Tracer(y, tape, place) if is_array else wrap(y, tape, place)


# --------------------------------------------------------------------------- nested levels


def _kinds_beneath(args: tuple) -> tuple | None:
    """Return the types of values, some traced on outer levels; None where one is a constant."""
    kinds: list[Any] = []
    for x in args:
        kind = type(x)
        if kind is Tracer or kind is FloatTracer:
            if x._tape is CONSTANT:
                return None
            kind = x.__class__
        kinds.append(kind)
    return tuple(kinds)


def _over_outer(f: Callable, args: tuple, sources: tuple, wanted: int, tape: Any) -> Any:
    """Apply a function to values that an outer level sees, or to plain ones beside them."""
    if _TRACED.isdisjoint(map(type, args)):
        return NOT_HERE
    kinds = _kinds_beneath(args)
    if kinds is None:
        return NOT_HERE
    key = (f, *kinds)
    plan = plan_of(*key)
    if plan is None:
        return NOT_HERE
    if any(type(x) is _ndarray and x.dtype.kind == "O" for x in args):
        return NOT_HERE
    y = f(*args)
    if type(y) not in _TRACED or y._tape is CONSTANT:
        return NOT_HERE
    beneath = bare(y)
    if not is_inexact(beneath):
        return NOT_HERE
    space: Any = ProjectTo(beneath)
    keeps = plan.keeps[wanted]
    args = tuple([tape.kept(x) if type(x) is _ndarray else x for x in args])
    values = tuple([v if keep else None for v, keep in zip((y, *args), keeps, strict=True)])
    node: Any
    if wanted == 3:
        left, right = sources
        node = ElementwiseOfTwo(left._index, right._index, values, space, plan.rule)
    else:
        partial = plan.partials[wanted - 1]
        node = Elementwise(sources[0]._index, partial, values, space, plan.rule)
    return wrap(y, tape, tape.add(node))


# --------------------------------------------------------------------------- forward levels


def forward_plan_of(f: Callable, *kinds: Any) -> Plan | None:
    """Return the plan for forward mode for a function and the types of its arguments."""
    key = (f, *kinds)
    return _forward_plans[key] if key in _forward_plans else _forward_plan(*key)


def _plan_beneath(f: Callable, args: tuple) -> Plan | None:
    kinds = _kinds_beneath(args)
    if kinds is None:
        return None
    return forward_plan_of(f, *kinds)


def _unary_forward(f: Callable, a: Any, x: Any, tape: Any) -> Any:
    tape.check_open()
    plan = _forward_plans.get((f, type(x))) or _plan_beneath(f, (x,))
    if plan is None:
        return NOT_HERE
    y = f(x)
    return with_dot(y, pushed(plan.partials, (y, x), (a._index,)), tape)


def _binary_forward(f: Callable, a: Any, b: Any, x: Any, z: Any, wanted: int, tape: Any) -> Any:
    tape.check_open()
    plan = _forward_plans.get((f, type(x), type(z))) or _plan_beneath(f, (x, z))
    if plan is None:
        return NOT_HERE
    y = f(x, z)
    if type(y) is _ndarray and y.dtype.kind == "O":
        return NOT_HERE
    by_x, by_z = plan.partials
    values = (y, x, z)
    if wanted == 1:
        y_dot = pushed((by_x,), values, (a._index,))
    elif wanted == 2:
        y_dot = pushed((by_z,), values, (b._index,))
    else:
        y_dot = pushed((by_x, by_z), values, (a._index, b._index))
    return with_dot(y, y_dot, tape)


def pushed(partials: tuple[Partial, ...], values: tuple, dots: tuple) -> Any:
    """Return Σ ∂y/∂x ẋ for ``values = (y, *args)``, where a zero of ẋ wins over Inf and NaN.

    It is `NOT_HERE` if that is no value.
    """
    if partials[0].function is None and (len(partials) == 1 or partials[1].function is None):
        return _sum_of_products([p.constant for p in partials], dots, plain_product)
    with quiet():
        slopes = [partial(*values) for partial in partials]
        total = _sum_of_products(slopes, dots, plain_product)
        if type(total) is NotImplementedTangent:
            return NOT_HERE
        plain = untraced(total)  # what a recording sees is left to the products
        if total is NOT_HERE or (type(plain) not in _TRACED and not has_nan(plain)):
            return total
        # Which of the products a zero wins, their sum does not tell.
        return _sum_of_products(slopes, dots, strong_product)


def _sum_of_products(slopes: list, dots: tuple, product: Callable) -> Any:
    total: Any = NOT_HERE
    for d, dot in zip(slopes, dots, strict=True):
        if type(d) not in _VALUES and isinstance(d, _SPECIAL):
            if not isinstance(d, AbstractZero):
                return NOT_HERE
            continue
        part = product(d, dot)
        total = part if total is NOT_HERE else total + part
    return total


def with_dot(y: Any, y_dot: Any, tape: Any) -> Any:
    """Return a value that carries its tangent; `NOT_HERE` for the general path."""
    if y_dot is NOT_HERE or type(y_dot) is NotImplementedTangent:
        return NOT_HERE
    kind = type(y)
    if kind is _ndarray:
        beneath = y
    elif kind in _TRACED:
        if y._tape is CONSTANT:
            return NOT_HERE
        beneath = bare(y)
    else:
        beneath = y
    if not is_inexact(beneath):
        return NOT_HERE
    if type(beneath) is _ndarray:
        plain_dot = bare(y_dot)
        if (
            type(plain_dot) is _ndarray
            and plain_dot.dtype is beneath.dtype
            and plain_dot.shape == beneath.shape
        ):
            return wrap(y, tape, y_dot)
    shape = np.shape(beneath)
    if shape_of(y_dot) != shape:
        y_dot = np.broadcast_to(y_dot, shape)
    return wrap(y, tape, ProjectTo(beneath)(y_dot))


def is_inexact(y: Any) -> bool:
    """Whether a plain value is a number or array that is recorded."""
    kind = type(y)
    if kind is float or kind is np.float64:
        return True
    if kind is _ndarray or isinstance(y, np.generic):
        return y.dtype.kind in "fc"
    return kind is complex
