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
from autodiff.fastpath.elementwise_nodes import Elementwise
from autodiff.trace.tape import CONSTANT, Forward, Tape, place_of
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
_NUMBERS = frozenset(
    {float, int, complex, np.float64, np.float32, np.complex128, np.complex64, np.int64}
)
_PLAIN = _NUMBERS | {np.ndarray}
_TRACED = frozenset({Tracer, FloatTracer})
_VALUES = frozenset({np.ndarray, float, int, np.float64, Tracer, FloatTracer})
_SPECIAL = (AbstractZero, NotImplementedTangent)

NOT_HERE: Any = object()


class Plan:
    """What a function of arguments of given types needs of its rule.

    Attributes
    ----------
    rule : ScalarRule
        The rule.
    partials : tuple of Partial
        The partial derivative by each argument.
    keeps : list of list of bool
        For each set of arguments that are traced, as bits: which of ``(y, *args)`` their partial
        derivatives read.
    wanted : list of tuple of Partial
        For each such set the partial derivatives.
    """

    __slots__ = ("keeps", "partials", "rule", "wanted")

    def __init__(self, rule: ScalarRule) -> None:
        self.rule = rule
        self.partials = rule.partials[0]
        n = len(self.partials)
        sets = [[j for j in range(n) if bits >> j & 1] for bits in range(1 << n)]
        self.keeps = [[i in read for i in range(n + 1)] for read in map(rule.reads, sets)]
        self.wanted = [tuple([self.partials[j] for j in traced]) for traced in sets]


class _Plans(dict):
    """Functions and the types of their arguments → plans, or None; filled at need."""

    def __init__(self, table: RuleTable) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, key: tuple) -> Plan | None:
        """Find a plan for the first time."""
        f, *kinds = key
        entry = self.table.entry(f)
        rule = entry.find(tuple(kinds)) if entry is not None and _PLAIN.issuperset(kinds) else None
        plan = None
        if isinstance(rule, ScalarRule) and not rule.several and rule.setup is None:
            plan = Plan(rule)
        if entry is not None:  # functions made in passing are not kept alive
            self[key] = plan
        return plan


plans = caches.register("elementwise plans", _Plans(rrule), of_rules=True)
"""What is known for reverse mode …"""
forward_plans = caches.register("elementwise plans of forward mode", _Plans(frule), of_rules=True)
"""… and for forward mode, where another rule may hold."""


def unary(f: Callable, a: Any) -> Any:
    """Apply a function of one traced argument; `NOT_HERE` for the general path."""
    tape = a._tape
    x = a._value
    if not tape.records:
        if type(tape) is Forward:
            return _pushed_call(f, (x,), (a._index,), 1, tape)
        return _of_constants(f, (x,)) if tape is CONSTANT else NOT_HERE
    plan = plans[f, type(x)]
    if plan is None:
        return _over_outer(f, (x,), (a._index,), 1, tape)
    y = f(x)
    keep_y, keep_x = plan.keeps[1]
    seen = (y if keep_y else None, x if keep_x else None)
    return _recorded(y, (a._index,), plan.partials, seen, plan.rule, tape)


def binary(f: Callable, a: Any, b: Any) -> Any:
    """Apply a function of two arguments, at least one traced; `NOT_HERE` for the general path."""
    kind = type(a)
    other = type(b)
    x, z = a, b
    if kind is Tracer or kind is FloatTracer:
        tape = a._tape
        x = a._value
        indices: tuple = (a._index,)
        wanted = 1
        if other is Tracer or other is FloatTracer:
            z = b._value
            if b._tape is tape:
                indices = (a._index, b._index)
                wanted = 3
            elif b._tape is not CONSTANT:
                if tape is not CONSTANT:
                    return NOT_HERE
                tape = b._tape
                indices = (b._index,)
                wanted = 2
    else:
        tape = b._tape
        z = b._value
        indices = (b._index,)
        wanted = 2
    if not tape.records:
        if type(tape) is Forward:
            return _pushed_call(f, (x, z), indices, wanted, tape)
        if tape is CONSTANT:
            return _of_constants(f, (x, z))
        return tape.binary(f, a, b) if tape.program else NOT_HERE
    plan = plans[f, type(x), type(z)]
    if plan is None:
        return _over_outer(f, (x, z), indices, wanted, tape)
    y = f(x, z)
    keep_y, keep_x, keep_z = plan.keeps[wanted]
    if other is _ndarray:
        if keep_z:
            z = tape.kept(b)
    elif kind is _ndarray and keep_x:
        x = tape.kept(a)
    seen = (y if keep_y else None, x if keep_x else None, z if keep_z else None)
    return _recorded(y, indices, plan.wanted[wanted], seen, plan.rule, tape)


def _recorded(
    y: Any, parents: tuple, partials: tuple, seen: tuple, rule: ScalarRule, tape: Tape
) -> Any:
    """Record a plain value with its node; `NOT_HERE` where it is not for it."""
    is_array = type(y) is _ndarray
    dtype: Any = y.dtype if is_array else None
    space: Any
    if dtype is _FLOAT64 or (is_array and dtype.kind in "fc"):
        try:
            space = KNOWN_SPACES[dtype][y.shape]
        except KeyError:
            space = ProjectTo(y)
    elif not is_array and is_inexact(y):
        space = ProjectTo(y)
    else:
        return NOT_HERE
    node = Elementwise(parents, partials, seen, space, rule)
    nodes = tape.nodes
    place = len(nodes)
    nodes.append(node)
    if nodes[place] is not node:
        place = place_of(node, nodes)
    return Tracer(y, tape, place) if is_array else wrap(y, tape, place)


def _of_constants(f: Callable, values: tuple) -> Any:
    """Apply a function to arrays made inside, which may be written into: so may the result."""
    if plans[(f, *map(type, values))] is None:
        return NOT_HERE
    y = f(*values)
    if type(y) is not _ndarray:
        return y
    return Tracer(y, CONSTANT, -1) if y.dtype.kind in "fc" else NOT_HERE


# --------------------------------------------------------------------------- other levels


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


def _over_outer(f: Callable, values: tuple, indices: tuple, wanted: int, tape: Tape) -> Any:
    """Apply a function to values that an outer level sees, or to plain ones beside them."""
    if _TRACED.isdisjoint(map(type, values)):
        return NOT_HERE
    kinds = _kinds_beneath(values)
    plan = None if kinds is None else plans[(f, *kinds)]
    if plan is None or any(type(x) is _ndarray and x.dtype.kind == "O" for x in values):
        return NOT_HERE
    y = f(*values)
    if type(y) not in _TRACED or y._tape is CONSTANT or not is_inexact(bare(y)):
        return NOT_HERE
    kept = [tape.kept(x) if type(x) is _ndarray else x for x in values]
    seen = [v if keep else None for v, keep in zip((y, *kept), plan.keeps[wanted], strict=True)]
    node = Elementwise(indices, plan.wanted[wanted], tuple(seen), ProjectTo(bare(y)), plan.rule)
    return wrap(y, tape, tape.add(node))


def _pushed_call(f: Callable, values: tuple, dots: tuple, wanted: int, tape: Any) -> Any:
    """Apply a function to values with tangents."""
    tape.check_open()
    plan = forward_plans.get((f, *map(type, values)))
    if plan is None:
        kinds = _kinds_beneath(values)
        plan = None if kinds is None else forward_plans[(f, *kinds)]
    if plan is None:
        return NOT_HERE
    y = f(*values)
    if type(y) is _ndarray and y.dtype.kind == "O":
        return NOT_HERE
    return with_dot(y, pushed(plan.wanted[wanted], (y, *values), dots), tape)


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
