"""Fast path for elementwise functions of one or two numbers or arrays.

The relevant parts of a rule are looked up once for each combination of types, and cached until a
rule changes. A call computes the primal and appends one node, which keeps only the values that its
partial derivatives read. If an outer level traces the values, the primal and the products are
operations of that level. A forward level computes the tangent at once. For frequent calls,
:mod:`autodiff.fastpath.codegen.frequent_operations` generates code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.fastpath.elementwise_nodes import ORDINARY, SPECIAL, Elementwise
from autodiff.trace.tape import CONSTANT, Forward
from autodiff.trace.tracer import TRACERS, FloatTracer, Tracer, bare, shape_of, untraced, wrap
from chainrules_core import AbstractZero, NotImplementedTangent, ProjectTo, frule, rrule
from chainrules_core.define import ScalarRule
from chainrules_core.define.output_precision import is_less_precise
from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import (
    has_nan,
    plain_product,
    strong_product,
)
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.rules import RuleTable

_ndarray = np.ndarray
_NUMBERS = frozenset(
    {float, int, complex, np.float64, np.float32, np.complex128, np.complex64, np.int64}
)
_PLAIN = _NUMBERS | {np.ndarray}
NOT_HERE: Any = object()


class ElementwisePlan:
    """The relevant parts of a rule for arguments of given types.

    Attributes
    ----------
    rule : ScalarRule
        The rule.
    partials : tuple of Partial
        The partial derivative with respect to each argument.
    keeps : list of list of bool
        For each set of traced arguments, as a bit mask: which of ``(y, *args)`` their partial
        derivatives read.
    wanted : list of tuple of Partial
        For each such set, the partial derivatives.
    computes : bool
        Whether a partial derivative is more than a constant or one of ``(y, *args)``.
    """

    __slots__ = ("computes", "keeps", "partials", "rule", "wanted")

    def __init__(self, rule: ScalarRule) -> None:
        self.rule = rule
        self.partials = rule.partials[0]
        n = len(self.partials)
        sets = [[j for j in range(n) if bits >> j & 1] for bits in range(1 << n)]
        self.keeps = [[i in read for i in range(n + 1)] for read in map(rule.reads, sets)]
        self.wanted = [tuple([self.partials[j] for j in traced]) for traced in sets]
        self.computes = any(p.function is not None and p.returns is None for p in self.partials)

    def loses_precision(self, values: Sequence[Any]) -> bool:
        """Whether a partial derivative would have a lower precision than the result.

        The general path computes it in the precision of the result.
        """
        a, b = values[0], values[-1]
        low = a if is_less_precise(a, b) else b if is_less_precise(b, a) else None
        return low is not None and (self.computes or type(low) is not _ndarray)


class _Plans(dict):
    """Function and types of its arguments → plan or None; filled on demand."""

    def __init__(self, table: RuleTable) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, key: tuple) -> ElementwisePlan | None:
        """Look up a plan for the first time."""
        f, *kinds = key
        entry = self.table.entry(f)
        rule = entry.find(tuple(kinds)) if entry is not None and _PLAIN.issuperset(kinds) else None
        plan = None
        if isinstance(rule, ScalarRule) and not rule.several and rule.setup is None:
            plan = ElementwisePlan(rule)
        if entry is not None:  # do not keep temporary functions alive
            self[key] = plan
        return plan


plans = caches.register("elementwise plans", _Plans(rrule), of_rules=True)
"""The plans for reverse mode …"""
forward_plans = caches.register("elementwise plans of forward mode", _Plans(frule), of_rules=True)
"""… and for forward mode, where another rule may match."""


def apply(f: Callable, args: tuple) -> Any:
    """Apply a function of one or two arguments, some of them traced.

    Return `NOT_HERE` if the general path has to be taken.
    """
    tape: Any = CONSTANT
    values: Any = []
    for a in args:
        kind = type(a)
        if kind is Tracer or kind is FloatTracer:
            if a._tape is not CONSTANT:
                if tape is not CONSTANT and a._tape is not tape:
                    return NOT_HERE
                tape = a._tape
            a = a._value
        values.append(a)
    if tape is CONSTANT:  # traced values may be written into the result, as into the arguments
        y = NOT_HERE if plans[(f, *map(type, values))] is None else f(*values)
        if type(y) is not _ndarray:
            return y
        return Tracer(y, CONSTANT, -1) if y.dtype.kind in "fc" else NOT_HERE
    is_forward = type(tape) is Forward
    if not (tape.records or is_forward):
        return tape.binary(f, *args) if tape.program and len(args) == 2 else NOT_HERE
    kinds = _kinds_beneath(values)
    plan = None if kinds is None else (forward_plans if is_forward else plans)[(f, *kinds)]
    if plan is None or plan.loses_precision(values):
        return NOT_HERE
    if is_forward:
        tape.check_open()
    y = f(*values)
    if type(y) is _ndarray and y.dtype.kind not in "fc":
        return NOT_HERE
    traced = [i for i, a in enumerate(args) if type(a) in TRACERS and a._tape is tape]
    indices = tuple([args[i]._index for i in traced])
    bits = sum([1 << i for i in traced])
    if is_forward:
        return with_dot(y, pushed(plan.wanted[bits], (y, *values), indices), tape)
    if type(y) in TRACERS and y._tape is CONSTANT:
        return NOT_HERE
    plain = bare(y)
    if not is_inexact(plain):
        return NOT_HERE
    keep_y, *keeps = plan.keeps[bits]
    seen = [y if keep_y else None]
    for a, x, keep in zip(args, values, keeps, strict=True):
        seen.append((tape.kept(a) if type(a) is _ndarray else x) if keep else None)
    node = Elementwise(indices, plan.wanted[bits], tuple(seen), ProjectTo(plain), plan.rule)
    return wrap(y, tape, tape.add(node))


def _kinds_beneath(values: list) -> tuple | None:
    """Return the types of values beneath outer levels.

    Return None if a value of an outer level is a constant, or is next to an array of objects.
    """
    kinds = tuple(map(type, values))
    if TRACERS.isdisjoint(kinds):
        return kinds
    if any(
        x._tape is CONSTANT if kind in TRACERS else kind is _ndarray and x.dtype.kind == "O"
        for x, kind in zip(values, kinds, strict=True)
    ):
        return None
    return tuple([x.__class__ for x in values])


# -- forward levels ------------------------------------------------------------------------------


def pushed(partials: tuple[Partial, ...], values: tuple, dots: tuple) -> Any:
    """Return Σ ∂y/∂x ẋ for ``values = (y, *args)``, with strong zeros of ẋ.

    Return `NOT_HERE` if the general path has to be taken.
    """
    if partials[0].function is None and (len(partials) == 1 or partials[1].function is None):
        with quiet():  # warnings of a derivative do not concern the user's program
            return _sum_of_products([p.constant for p in partials], dots, plain_product)
    with quiet():
        slopes = [partial(*values) for partial in partials]
        total = _sum_of_products(slopes, dots, plain_product)
        if type(total) is NotImplementedTangent:
            return NOT_HERE
        plain = untraced(total)  # still traced in a recording, which needs the strong products
        if total is NOT_HERE or (type(plain) not in TRACERS and not has_nan(plain)):
            return total
        # The sum does not tell in which products a zero is strong.
        return _sum_of_products(slopes, dots, strong_product)


def _sum_of_products(slopes: list, dots: tuple, product: Callable) -> Any:
    total: Any = NOT_HERE
    for d, dot in zip(slopes, dots, strict=True):
        if type(d) not in ORDINARY and isinstance(d, SPECIAL):
            if not isinstance(d, AbstractZero):
                return NOT_HERE
            continue
        part = product(d, dot)
        total = part if total is NOT_HERE else total + part
    return total


def with_dot(y: Any, y_dot: Any, tape: Any) -> Any:
    """Return a value with its tangent; `NOT_HERE` if the general path has to be taken."""
    if y_dot is NOT_HERE or type(y_dot) is NotImplementedTangent:
        return NOT_HERE
    kind = type(y)
    if kind is _ndarray:
        beneath = y
    elif kind in TRACERS:
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
    """Whether a plain value is a float or complex number, or an array of them."""
    kind = type(y)
    if kind is float or kind is np.float64:
        return True
    if kind is _ndarray or isinstance(y, np.generic):
        return y.dtype.kind in "fc"
    return kind is complex
