"""Code generation for elementwise functions of one or two arguments.

Generated code replaces :mod:`autodiff.fastpath.elementwise` for frequent calls: guards, the
operation itself, and its node or tangent. Each operation has four functions; the last three are
generated at their first call:

* ``way`` for arrays on one tape;
* ``constants`` for arrays that the traced function has made, without traced values in them;
* ``on`` and ``over`` for other levels (:mod:`autodiff.fastpath.codegen.operation_jvp_code`).

The code is for arrays of given dtypes. If a guard fails, it calls ``otherwise``: the code for other
dtypes, or a function that returns `NO_RULE`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.codegen.node_code import (
    KEPT_PART,
    NUMBERS,
    SCOPE,
    STORE,
    STORE_NUMBER,
    for_arrays,
    product,
)
from autodiff.fastpath.elementwise import ElementwisePlan, is_inexact, plans
from autodiff.fastpath.elementwise_nodes import Elementwise, propagate_product
from autodiff.functions import OPERATORS
from autodiff.trace.tape import FLOAT64
from autodiff.trace.tracer import wrap
from chainrules_core.define.partial import Partial
from chainrules_core.projection.project_to import KNOWN_SPACES

_ndarray = np.ndarray


class Declined(Exception):  # noqa: N818 - it is no error
    """No code is generated for this operation."""


def not_known(*args: Any) -> Any:
    """Return `NO_RULE`: there is no code for other dtypes."""
    return NO_RULE


RECORDED = (
    """\
    node = new(Node)
    node.parents = ({parents})
    node.values = ({seen},)
    node.space = space
"""
    + dispatch_cache.ADD_NODE
)
"""The source that records a node."""
# A value of another kind is recorded here as well: computing it again would warn again.
_ON_TAPE = (
    """\
    if type(y) is ndarray and y.dtype is DTYPE:
        try:
            space = SPACES[y.shape]
        except KeyError:
            space = ProjectTo(y)
    elif is_inexact(y):
        space = ProjectTo(y)
    else:
        return NO_RULE
"""
    + RECORDED
    + """\
    if type(y) is not ndarray:
        return wrap(y, tape, place)
"""
    + dispatch_cache.NEW_TRACER
    + "    return made\n"
)
_OF_CONSTANTS = """\
    if type(y) is not ndarray:
        return y
    return Tracer(y, CONSTANT, -1) if y.dtype.kind in "fc" else NO_RULE
"""
_KEPT = '({x}.copy("K") if {x}.nbytes <= tape.small else tape.kept({x}))'

# -- the backward sweep --------------------------------------------------------------------------

_HAND_ON = """
def hand_on(self, y_bar, bars, strong):
    space = self.space
    if strong or bars.nested or type(y_bar) is not ndarray:
        return general(self, y_bar, bars, strong)
    if space.size > SMALL or space.dtype is not DTYPE:
        return general(self, y_bar, bars, strong)
    nodes, values, owned = bars.nodes, bars.values, bars.owned
    {names}, = self.values
"""
_SAME = """\
    left, right = self.parents
    if left == right:
        return general(self, y_bar, bars, strong)
"""
# The square of a value: both partial derivatives are the value.
_SQUARE = """\
    left, right = self.parents
    if left == right:
        j = left
        if {left} is not {right} or nodes[j].space is not space:
            return general(self, y_bar, bars, strong)
        x_bar = {left} * y_bar
        x_bar += x_bar
        {store}
        return
"""
_TOGETHER = """\
    if nodes[left].space is space and nodes[right].space is space:
        made = together(y_bar, *self.values)
        if made is not None:
            for j, x_bar in zip((left, right), made):
                bars.put(j, x_bar, True)
            return
"""
_BY_FUNCTION = """\
    try:
        d = by_{position}({names})
    except ARITHMETIC:
        return general(self, y_bar, bars, strong)
    kind = type(d)
    if kind is ndarray and d.dtype is DTYPE or kind in NUMBERS:
        bar_{position} = d * y_bar
    elif kind is ndarray and d.dtype is BOOL and d.shape == space.shape:
        bar_{position} = where_true(d, y_bar)
    else:
        return general(self, y_bar, bars, strong)
"""
_SUM_BY_FUNCTION = """\
    try:
        d = by_{position}({names})
    except ARITHMETIC:
        return general(self, y_bar, bars, strong)
    if type(d) is not ndarray or d.dtype is not DTYPE or d.shape != space.shape:
        return general(self, y_bar, bars, strong)
    bar_{position} = vdot(d, y_bar)
"""
_STORE = """\
    j = self.parents[{position}]
    x_bar = bar_{position}
    if nodes[j].space is space:
        {store}
    elif nodes[j].space.shape:
        bars.put(j, x_bar, {fresh})
    else:
        propagate_product(partial_{position}, self, y_bar, bars, j, False, False)
"""
_STORE_NUMBER = (
    """\
    j = self.parents[{position}]
    x_bar = bar_{position}
"""
    + STORE_NUMBER
)
# The left argument may have taken over the cotangent, or a view of its real part.
_OWNED_BY_RIGHT = """\
    taken = values[left]
    owns = bool(bars.owns_current) and taken is not y_bar
    owns = owns and (type(taken) is not ndarray or taken.base is None)
"""


class OperationGenerator:
    """Generates code for a function of one or two arguments, on a tape.

    Parameters
    ----------
    f : callable
        The function.
    samples : tuple
        Plain values of the types and dtypes of its arguments.
    wanted : list of int
        Which of them are traced.
    y : Any
        A value of the type and dtype of its result.

    Attributes
    ----------
    given, plain : list of str
        The names of the arguments, and of their plain values.
    lines : list of str
        The statements before the node is made.
    """

    def __init__(self, f: Callable, samples: tuple, wanted: list[int], y: Any) -> None:
        self.f, self.samples, self.wanted, self.y = f, samples, wanted, y
        self.given = [f"a{i}" for i in range(len(samples))]
        self.plain = [f"x{i}" for i in range(len(samples))]
        self.arguments = ", ".join(self.given)
        self.is_array = [type(x) is _ndarray for x in samples]
        arrays = [x for x in (*samples, y) if type(x) is _ndarray]
        self.is_of_float64 = all(x.dtype is FLOAT64 for x in arrays)
        self.lines: list[str] = []
        self.makes_array = type(y) is _ndarray
        self.scope: dict[str, Any] = {
            **SCOPE,
            "DTYPE": getattr(y, "dtype", None),
            "is_inexact": is_inexact,
            "otherwise": not_known,
            "wrap": wrap,
        }

    def constant(self, value: Any, name: str) -> str:
        """Add a value to the scope of the code; return its name there."""
        name = f"{name}_{len(self.scope)}"
        self.scope[name] = value
        return name

    def unless(self, condition: str, otherwise: str = "") -> None:
        """Write a guard: return `otherwise` if the condition fails."""
        self.lines.append(f"if not ({condition}):")
        self.lines.append(f"    return {otherwise or f'otherwise({self.arguments})'}")

    def compute(self) -> None:
        """Write the code that reads the arguments, and the operation."""
        self.read()
        self.lines.append(f"y = {self.value()}")

    def read(self) -> None:
        """Write the code that reads the arguments."""
        for i, (name, x) in enumerate(zip(self.given, self.plain, strict=True)):
            if i in self.wanted:
                self.read_traced(i, name, x)
            else:
                self.lines.append(f"{x} = {name}")
                self.has_dtype(i)

    def has_dtype(self, i: int) -> None:
        """Write a guard: an array has the dtype of its sample."""
        if self.is_array[i]:
            dtype = self.constant(self.samples[i].dtype, "dtype")
            self.unless(f"{self.plain[i]}.dtype is {dtype}")

    def value(self) -> str:
        """Return the source of the operation."""
        symbol = OPERATORS.get(self.f)
        if symbol is not None:
            return f" {symbol} ".join(self.plain)
        if self.f is operator.neg:
            return "-x0"
        return f"{self.constant(self.f, 'f')}({', '.join(self.plain)})"

    def read_traced(self, i: int, name: str, x: str) -> None:
        """Write the code that reads a traced argument."""
        if i == self.wanted[0]:
            self.lines.append(f"tape = {name}._tape")
            others = f"(constants if tape is CONSTANT else on)({self.arguments})"
            self.unless("tape.records", others)
        else:
            self.unless(f"{name}._tape is tape")
        self.lines.append(f"{x} = {name}._value")
        kind = self.constant(type(self.samples[i]), "kind")
        self.unless(f"type({x}) is {kind}", f"over({self.arguments})")
        self.has_dtype(i)

    def function(self, body: str) -> Callable:
        """Generate the function."""
        lines = "".join(f"    {line}\n" for line in self.lines)
        return dispatch_cache.define(
            "way", f"def way({self.arguments}):\n{lines}{body}", self.scope
        )

    def way(self) -> Callable:
        """Generate the function that records an operation."""
        plan = self.plan_of(plans)
        if plan.loses_precision(self.samples):
            raise Declined
        bits = sum(1 << i for i in self.wanted)
        known = {"__slots__": (), "partials": plan.wanted[bits], "rule": plan.rule}
        if self.makes_array:
            known["hand_on"] = self.hand_on(plan)
        self.scope["Node"] = type("Elementwise", (Elementwise,), known)
        if not self.makes_array:
            # Numbers in a `Tracer`: on forward levels, or traced by an outer level.
            first = self.given[self.wanted[0]]
            self.lines = [f"return (over if {first}._tape.records else on)({self.arguments})"]
            return self.function("")
        self.scope["SPACES"] = KNOWN_SPACES[self.y.dtype]
        seen = self.seen(plan)
        self.compute()
        self.keep(seen)
        return self.function(_ON_TAPE.format(parents=self.parents(), seen=", ".join(seen)))

    def plan_of(self, table: dict) -> ElementwisePlan:
        """Return the plan of the operation."""
        plan = table[(self.f, *map(type, self.samples))]
        if plan is None:
            raise Declined
        return plan

    def seen(self, plan: ElementwisePlan) -> list[str]:
        """Return the names of those of ``(y, *args)`` that the partial derivatives read."""
        keeps = plan.keeps[sum(1 << i for i in self.wanted)]
        return [x if keep else "None" for x, keep in zip(["y", *self.plain], keeps, strict=True)]

    def parents(self) -> str:
        """Return the source of the places of the traced arguments."""
        return "".join(f"{self.given[i]}._index, " for i in self.wanted)

    def keep(self, seen: Iterable[str]) -> None:
        """Write copies of the arrays that a node keeps and that may be written into."""
        for i, x in enumerate(self.plain):
            if x in seen and self.is_array[i]:
                kept = KEPT_PART if i in self.wanted else _KEPT
                self.lines.append(f"{x} = {kept.format(x=x, given=self.given[i])}")

    # -- the backward sweep ----------------------------------------------------------------------

    def hand_on(self, plan: ElementwisePlan) -> Callable:
        """Return a generated `hand_on`, or the general method if that is as fast."""
        partials = [plan.partials[i] for i in self.wanted]
        are_real = all(getattr(x, "dtype", FLOAT64).kind != "c" for x in (*self.samples, self.y))
        if not are_real or not all(map(is_number_or_function, partials)):
            return Elementwise.hand_on
        scope = self.scope
        scope |= {"propagate_product": propagate_product, "together": plan.rule.together}
        scope |= {f"partial_{position}": partial for position, partial in enumerate(partials)}
        scope["NUMBERS"] = NUMBERS if self.y.dtype is FLOAT64 else frozenset({float})
        try:
            products = [self.product(k, partial) for k, partial in enumerate(partials)]
        except Declined:
            return Elementwise.hand_on
        stored = [self.stored(k, partials) for k in range(len(partials))]
        head = _HAND_ON.format(names=", ".join(["y", *self.plain]))
        source = "".join([head, self.special_cases(plan), *products, *stored])
        return dispatch_cache.define("hand_on", source, {**scope, "general": Elementwise.hand_on})

    def product(self, position: int, partial: Partial) -> str:
        """Return the source of the product with a partial derivative; a sum, for a number."""
        i, names = self.wanted[position], ["y", *self.plain]
        returned = None if partial.returns is None else names[partial.returns]
        if partial.function is not None and returned is None:
            self.scope[f"by_{position}"] = self.function_of(partial)
            template = _BY_FUNCTION if self.is_array[i] else _SUM_BY_FUNCTION
            return template.format(position=position, names=", ".join(names))
        made = product(partial, "y_bar", names, self.factor)
        if not self.is_array[i]:
            made = f"add.reduce({made}, None)"
            if returned is not None:
                if returned != "y" and not self.is_array[self.plain.index(returned)]:
                    raise Declined
                made = f"vdot({returned}, y_bar)"
        return f"    bar_{position} = {made}\n"

    def function_of(self, partial: Partial) -> Callable | None:
        """Return the function of a partial derivative, in the fastest form."""
        if self.makes_array and self.is_of_float64:
            return for_arrays(partial, list(map(type, self.samples)))
        return partial.function

    def factor(self, number: float) -> str:
        """Return the name of a factor: an array for float64, which NumPy multiplies faster."""
        is_array = self.makes_array and self.is_of_float64
        return self.constant(np.array(number) if is_array else number, "c")

    def special_cases(self, plan: ElementwisePlan) -> str:
        """Return the source for two equal arguments, and for products computed together."""
        if len(self.wanted) < 2:
            return ""
        names = ["y", *self.plain]
        returned = [names[p.returns] for p in plan.partials if p.returns is not None]
        source = _SAME
        if len(returned) == 2 and all(self.is_array):
            store = STORE.format(fresh="True")
            source = _SQUARE.format(left=returned[0], right=returned[1], store=store)
        has_together = self.scope["together"] is not None and self.is_of_float64
        return source + (_TOGETHER if has_together and all(self.is_array) else "")

    def stored(self, position: int, partials: list[Partial]) -> str:
        """Return the source that adds to the cotangent of an argument."""
        before, fresh = "", "True"
        if partials[position].function is None and partials[position].constant == 1:
            fresh = "bool(bars.owns_current)" if len(partials) == 1 else "False"
            if position == 1:
                before, fresh = _OWNED_BY_RIGHT, "owns"
        if not self.is_array[self.wanted[position]]:
            return before + _STORE_NUMBER.format(position=position)
        store = STORE.format(fresh=fresh)
        return before + _STORE.format(position=position, store=store, fresh=fresh)


class ConstantsGenerator(OperationGenerator):
    """Generates code for constant arrays of a traced function; results can become traced."""

    def read_traced(self, i: int, name: str, x: str) -> None:
        """Write the code that reads an array."""
        self.lines.append(f"{x} = {name}._value")
        if i != self.wanted[0]:
            self.unless(f"{name}._tape is CONSTANT")

    def way(self) -> Callable:
        """Generate the function."""
        self.compute()
        return self.function(_OF_CONSTANTS)


def is_number_or_function(partial: Partial) -> bool:
    """Whether a partial derivative is a plain number, or a function."""
    return partial.function is not None or type(partial.constant) in (int, float)
