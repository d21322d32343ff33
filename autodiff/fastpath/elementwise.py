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

from autodiff.fastpath.elementwise_nodes import Elementwise
from autodiff.trace.tape import CONSTANT, Forward
from autodiff.trace.tracer import FloatTracer, Tracer, bare, shape_of, untraced, wrap
from chainrules_core import AbstractZero, NotImplementedTangent, ProjectTo, frule, rrule
from chainrules_core.define import ScalarRule
from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import (
    has_nan,
    plain_product,
    strong_product,
)
from chainrules_core.quiet import quiet
from chainrules_core.rule import Rule
from chainrules_core.rules import RuleTable

_ndarray = np.ndarray
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
        is_plain = isinstance(rule, ScalarRule) and not rule.several and rule.setup is None
        plan = Plan(rule) if is_plain else None
        if entry is not None:  # functions made in passing are not kept alive
            self[key] = plan
        return plan


plans = _Plans(rrule)
"""What is known for reverse mode …"""
forward_plans = _Plans(frule)
"""… and for forward mode, where another rule may hold."""


def _forget(rule: Rule) -> None:
    plans.clear()
    forward_plans.clear()


rrule.watch(_forget)
frule.watch(_forget)


def unary(f: Callable, a: Any) -> Any:
    """Apply a function of one traced argument; `NOT_HERE` for the general path."""
    tape = a._tape
    return NOT_HERE if tape.program else _applied(f, (a,), (a._value,), (a._index,), 1, tape)


def binary(f: Callable, a: Any, b: Any) -> Any:
    """Apply a function of two arguments, at least one traced; `NOT_HERE` for the general path."""
    kind, other = type(a), type(b)
    if kind is not Tracer and kind is not FloatTracer:
        tape, values, indices, wanted = b._tape, (a, b._value), (b._index,), 2
    elif other is not Tracer and other is not FloatTracer:
        tape, values, indices, wanted = a._tape, (a._value, b), (a._index,), 1
    else:
        tape, values = a._tape, (a._value, b._value)
        if b._tape is tape:
            indices, wanted = (a._index, b._index), 3
        elif b._tape is CONSTANT:
            indices, wanted = (a._index,), 1
        elif tape is CONSTANT:
            tape, indices, wanted = b._tape, (b._index,), 2
        else:
            return NOT_HERE
    if tape.program:
        return tape.binary(f, a, b)
    return _applied(f, (a, b), values, indices, wanted, tape)


def _applied(
    f: Callable, args: tuple, values: tuple, indices: tuple, wanted: int, tape: Any
) -> Any:
    """Apply a function to arguments that are `values` beneath the level of the tape.

    Parameters
    ----------
    f : callable
        The function.
    args, values : tuple
        The arguments, and what they are without this level.
    indices : tuple
        The places on the tape of those that are traced; on a forward level their tangents.
    wanted : int
        Which arguments are traced, as bits.
    tape : Tape
        The tape or the forward level.
    """
    if not tape.records:
        if type(tape) is Forward:
            return _pushed_call(f, values, indices, wanted, tape)
        return _of_constants(f, values) if tape is CONSTANT else NOT_HERE
    plan = plans[(f, *map(type, values))]
    is_over = plan is None
    if is_over:
        plan = _plan_over_outer(f, values)
    if plan is None:
        return NOT_HERE
    y = f(*values)
    if is_over and type(y) not in _TRACED:
        return NOT_HERE
    space = _space_of(y)
    if space is None:
        return NOT_HERE
    keep_y, *keeps = plan.keeps[wanted]
    seen = [y if keep_y else None]
    for arg, value, keep in zip(args, values, keeps, strict=True):
        is_plain_array = type(arg) is _ndarray or (is_over and type(value) is _ndarray)
        seen.append(None if not keep else tape.kept(value) if is_plain_array else value)
    node = Elementwise(indices, plan.wanted[wanted], tuple(seen), space, plan.rule)
    return wrap(y, tape, tape.add(node))


def _space_of(y: Any) -> Any:
    """Return the space of a value that is recorded, traced on an outer level or not; else None."""
    if type(y) in _TRACED:
        if y._tape is CONSTANT:
            return None
        y = bare(y)
    return ProjectTo(y) if is_inexact(y) else None


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


def _plan_over_outer(f: Callable, values: tuple) -> Plan | None:
    """Return the plan for values that an outer level sees, or for plain ones beside them."""
    if _TRACED.isdisjoint(map(type, values)):
        return None
    kinds = _kinds_beneath(values)
    if kinds is None or any(type(x) is _ndarray and x.dtype.kind == "O" for x in values):
        return None
    return plans[(f, *kinds)]


def _pushed_call(f: Callable, values: tuple, dots: tuple, wanted: int, tape: Any) -> Any:
    """Apply a function to values with tangents."""
    tape.check_open()
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
