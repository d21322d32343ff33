"""Fast paths for elementwise functions of plain numbers and arrays.

What a function of one or two arguments needs of its rule is found once for each pair of types and
remembered until a rule changes. A call then computes the primal and appends one node, which keeps
what its partial derivatives read and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.tape import Cotangents
from autodiff.tracer import FloatTracer, Tracer, wrap
from chainrules_core import AbstractZero, NotImplementedTangent, ProjectTo, rrule, unbroadcast
from chainrules_core.define import ScalarRule
from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import plain_product, pull_product, strong_product
from chainrules_core.rule import Rule

_ndarray = np.ndarray
_NUMBERS = frozenset(
    {float, int, complex, np.float64, np.float32, np.complex128, np.complex64, np.int64}
)
_PLAIN = _NUMBERS | {np.ndarray}

NOT_HERE: Any = object()


class Elementwise:
    """A value made by an elementwise function; one parent for each traced argument."""

    __slots__ = ("parents", "partials", "rule", "shapes", "space", "values")

    def __init__(
        self,
        parents: tuple[int, ...],
        partials: tuple[Partial, ...],
        shapes: tuple,
        values: tuple,
        space: Any,
        rule: ScalarRule,
    ) -> None:
        self.parents = parents
        self.partials = partials
        self.shapes = shapes
        self.values = values
        self.space = space
        self.rule = rule

    def hand_on(self, y_bar: Any, bars: Cotangents, strong: bool) -> None:
        """Hand conj(∂y/∂x) ȳ on to each parent."""
        if self.rule.together is not None and len(self.parents) == self.rule.n:
            both = self.rule.products_together(y_bar, self.values, strong)
            if both is not None:
                for j, x_bar, shape in zip(self.parents, both, self.shapes, strict=True):
                    bars.put(j, x_bar if shape is None else unbroadcast(x_bar, shape), True)
                return
        product = strong_product if strong else plain_product
        own_shape = self.space.shape
        for j, partial, shape in zip(self.parents, self.partials, self.shapes, strict=True):
            if shape is None:
                shape = own_shape
            x_bar = pull_product(partial, self.values, y_bar, shape, product)
            if not isinstance(x_bar, AbstractZero):
                fresh = x_bar is not y_bar and not isinstance(x_bar, NotImplementedTangent)
                bars.put(j, x_bar, fresh)


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


_plans: dict[tuple, Plan | None] = {}


def _plan(f: Callable, *kinds: type) -> Plan | None:
    """Find the plan for a function and the types of its arguments for the first time."""
    plan = None
    if all(kind in _PLAIN for kind in kinds):
        entry = rrule.entry(f)
        rule = None if entry is None else entry.find(kinds)
        if isinstance(rule, ScalarRule) and not rule.several and rule.setup is None:
            plan = Plan(rule)
    _plans[(f, *kinds)] = plan
    return plan


def _forget(rule: Rule) -> None:
    _plans.clear()


rrule.watch(_forget)


def binary(f: Callable, a: Any, b: Any) -> Any:
    """Apply a function of two arguments, at least one traced; `NOT_HERE` for the general path."""
    kind_a, kind_b = type(a), type(b)
    if kind_a is Tracer or kind_a is FloatTracer:
        tape = a._tape
        x = a._value
        if kind_b is Tracer or kind_b is FloatTracer:
            if b._tape is not tape:
                return NOT_HERE
            z = b._value
            wanted = 3
        else:
            z = b
            wanted = 1
    else:
        x = a
        z = b._value
        tape = b._tape
        wanted = 2
    if not tape.records:
        return tape.binary(f, a, b) if tape.program else NOT_HERE
    key = (f, type(x), type(z))
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plan(*key)
    if plan is None:
        sources = (a, b) if wanted == 3 else (a,) if wanted == 1 else (b,)
        return _over_recording(f, (x, z), sources, wanted, tape)
    y = f(x, z)
    dtype = getattr(y, "dtype", None)
    if dtype is None:
        if type(y) is not float:
            return NOT_HERE
    elif dtype.kind not in "fc":
        return NOT_HERE
    shape = y.shape if dtype is not None else ()
    if wanted != 3:
        constant = z if wanted == 1 else x
        if type(constant) is _ndarray:
            tape.hold(constant)
    keep_y, keep_x, keep_z = plan.keeps[wanted]
    values = (y if keep_y else None, x if keep_x else None, z if keep_z else None)
    by_a, by_b = plan.partials
    if wanted == 3:
        node = Elementwise(
            (a._index, b._index),
            plan.partials,
            (_other_shape(x, shape), _other_shape(z, shape)),
            values,
            ProjectTo(y),
            plan.rule,
        )
    elif wanted == 1:
        node = Elementwise(
            (a._index,), (by_a,), (_other_shape(x, shape),), values, ProjectTo(y), plan.rule
        )
    else:
        node = Elementwise(
            (b._index,), (by_b,), (_other_shape(z, shape),), values, ProjectTo(y), plan.rule
        )
    nodes = tape.nodes
    nodes.append(node)
    return wrap(y, tape, len(nodes) - 1)


def unary(f: Callable, a: Any) -> Any:
    """Apply a function of one traced argument; `NOT_HERE` for the general path."""
    tape = a._tape
    if not tape.records:
        return NOT_HERE
    x = a._value
    key = (f, type(x))
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plan(*key)
    if plan is None:
        return _over_recording(f, (x,), (a,), 1, tape)
    y = f(x)
    dtype = getattr(y, "dtype", None)
    if dtype is None or dtype.kind not in "fc":
        return NOT_HERE
    keep_y, keep_x = plan.keeps[1]
    node = Elementwise(
        (a._index,),
        plan.partials,
        (None,),
        (y if keep_y else None, x if keep_x else None),
        ProjectTo(y),
        plan.rule,
    )
    nodes = tape.nodes
    nodes.append(node)
    return wrap(y, tape, len(nodes) - 1)


def _over_recording(f: Callable, args: tuple, sources: tuple, wanted: int, tape: Any) -> Any:
    """Apply a function to values that a recording sees, or to plain ones beside them."""
    kinds: list[Any] = []
    is_seen = False
    for x in args:
        if type(x) is Tracer:
            if not x._tape.program:
                return NOT_HERE
            is_seen = True
            kinds.append(x.__class__)
        else:
            kinds.append(type(x))
    if not is_seen:
        return NOT_HERE
    key = (f, *kinds)
    plan = _plans[key] if key in _plans else _plan(*key)
    if plan is None:
        return NOT_HERE
    y = f(*args)
    if type(y) is not Tracer or not isinstance(y, (float, np.ndarray, np.generic)):
        return NOT_HERE
    space: Any = ProjectTo(y)
    if getattr(y, "dtype", space.dtype).kind not in "fc":
        return NOT_HERE
    positions = [i for i in range(len(args)) if wanted >> i & 1]
    keeps = plan.keeps[wanted]
    shapes = [np.shape(args[i]) for i in positions]
    tape.nodes.append(
        Elementwise(
            tuple([s._index for s in sources]),
            tuple([plan.partials[i] for i in positions]),
            tuple([None if shape == space.shape else shape for shape in shapes]),
            tuple([v if keep else None for v, keep in zip((y, *args), keeps, strict=True)]),
            space,
            plan.rule,
        )
    )
    return wrap(y, tape, len(tape.nodes) - 1)


def _other_shape(x: Any, shape: tuple) -> tuple | None:
    """Return the shape of an argument if it is not that of the output."""
    own = x.shape if type(x) is _ndarray else ()
    return None if own == shape else own
