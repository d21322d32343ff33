"""How cotangents are propagated, as code: the nodes that written calls make.

What a node finds out for each cotangent is known when the code of a call is written: which
derivatives are wanted, and what they consist of. So such code has a class of nodes of its own,
whose `hand_on` is for what is most frequent, arrays in which nothing has to be summed or projected;
all else it leaves to the class above.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.dispatch.plan_types import (
    HandNode,
    LinearNode,
    OfHand,
    OfLinear,
    PlannedNode,
    hand_factors,
)
from autodiff.fastpath.elementwise_nodes import (
    ALONE,
    SMALL,
    Elementwise,
    hand_product,
)
from autodiff.trace.tape import CONSTANT, IN_TUPLE, PASSED, Forward, place_of
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import BadInplaceError, ProjectTo
from chainrules_core.define import ScalarRule
from chainrules_core.define.bits import where_true
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.define.scalar import has_nan
from chainrules_core.define.symbolic import Symbol, parameter
from chainrules_core.frame import sorted_bars
from chainrules_core.projection import KNOWN_SPACES
from chainrules_core.quiet import quiet

_ndarray = np.ndarray
_FLOAT64 = np.dtype(np.float64)
NUMBERS = frozenset({float, np.float64})
_NAMES = ("y", "x0", "x1")
_PARENTS: dict[int, tuple[str, ...]] = {1: ("parent",), 2: ("left", "right")}

SCOPE: dict[str, Any] = {
    "ARITHMETIC": ARITHMETIC,
    "BOOL": np.dtype(bool),
    "CONSTANT": CONSTANT,
    "FLOAT64": _FLOAT64,
    "FLOAT64_SPACES": KNOWN_SPACES[_FLOAT64],
    "FloatTracer": FloatTracer,
    "Forward": Forward,
    "NO_RULE": NO_RULE,
    "NUMBERS": NUMBERS,
    "OBJECTS": np.dtype(object),
    "ProjectTo": ProjectTo,
    "SMALL": SMALL,
    "Tracer": Tracer,
    "__name__": __name__,  # for filters of warnings
    "add": np.add,
    "float64": np.float64,
    "getrefcount": sys.getrefcount,
    "has_nan": has_nan,
    "ndarray": _ndarray,
    "new": object.__new__,
    "place_of": place_of,
    "quiet": quiet,
    "vdot": np.vdot,
    "where_true": where_true,
}
"""What all written code reads."""

_OPERATORS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "truediv": "({} / {})",
    "neg": "(-{})",
}

_TEMPLATE = """
def hand_on(self, y_bar, bars, strong):
    space = self.space
    if strong or bars.nested or type(y_bar) is not ndarray or space.size > SMALL:
        return general(self, y_bar, bars, strong)
    if space.dtype is not FLOAT64:
        return general(self, y_bar, bars, strong)
    nodes, values, owned = bars.nodes, bars.values, bars.owned
    {parents}, = self.parents
    {unpacked} = self.values{same}
"""
_SAME = """
    if left == right:
        return general(self, y_bar, bars, strong)"""
# The product of a value with itself, of which both derivatives are the value.
_SQUARE = """
    if left == right:
        j = left
        if {left} is not {right} or nodes[j].space is not space:
            return general(self, y_bar, bars, strong)
        x_bar = {left} * y_bar
        x_bar += x_bar
        {store}
        return"""
_TOGETHER = """
    if nodes[left].space is space and nodes[right].space is space:
        made = together(y_bar, *self.values)
        if made is not None:
            for j, x_bar in zip((left, right), made):
                bars.put(j, x_bar, True)
            return
"""
_OWNED_BY_RIGHT = """
    left_bar = values[left]
    is_new = type(left_bar) is not ndarray or left_bar.base is None
    owns = bool(bars.owns_current) and left_bar is not y_bar and is_new"""
# A cotangent has the shape and the precision of its space, and one space stands for both.
_ARRAY = """
    j = {parent}
    if nodes[j].space is space:
        x_bar = {product}
        {store}
    else:
        {leave}"""
_ARRAY_BY_FUNCTION = """
    j = {parent}
    x_bar = None
    if nodes[j].space is space:
        try:
            d = function_{parent}({read})
        except ARITHMETIC:
            d = None
        if type(d) is ndarray:
            if d.dtype is FLOAT64:
                x_bar = d * y_bar
            elif d.dtype is BOOL:
                x_bar = where_true(d, y_bar)
        elif type(d) in NUMBERS:
            x_bar = d * y_bar
    if x_bar is not None:
        {store}
    else:
        {leave}"""
STORE = """\
before = values[j]
        if before is None:
            values[j] = x_bar
            owned[j] = {fresh}
        elif owned[j]:
            before += x_bar
        else:
            bars.accumulate(j, before, x_bar, {fresh})"""
_LEAVE = "hand_product(by_{parent}, self, y_bar, bars, {parent}, False, {owned})"
STORE_NUMBER = """\
    x_bar = float(x_bar) if type(nodes[j]) is tuple else nodes[j].space(x_bar)
    before = values[j]
    values[j] = x_bar if before is None else before + x_bar
"""
# The cotangent of a number that was spread to an array is the sum.
_NUMBER = (
    """
    j = {parent}
    x_bar = {total}
"""
    + STORE_NUMBER
)
_NUMBER_BY_FUNCTION = """
    try:
        d = function_{parent}({read})
    except ARITHMETIC:
        d = None
    if type(d) is not ndarray or d.dtype is not FLOAT64 or d.shape != space.shape:
        {leave}
    else:
        j = {parent}
        x_bar = vdot(d, y_bar)
""" + indent(STORE_NUMBER, " " * 4)


def product(
    partial: Partial, bar: str, names: Sequence[str], constant: Callable[[float], str]
) -> str | None:
    """Write the product of a partial derivative with a cotangent or tangent.

    Parameters
    ----------
    partial : Partial
        The partial derivative.
    bar : str
        The cotangent or the tangent.
    names : sequence of str
        What ``(y, *args)`` are called.
    constant : callable
        Returns the name of a number.

    Returns
    -------
    str or None
        An expression; None where a function has to be called first.
    """
    if partial.function is None:
        c = partial.constant
        return bar if c == 1 else f"-{bar}" if c == -1 else f"{constant(float(c))} * {bar}"
    return None if partial.returns is None else f"{names[partial.returns]} * {bar}"


def node_class(rule: ScalarRule, kinds: Sequence[type], wanted: Sequence[int]) -> type[Elementwise]:
    """Write the class of nodes for the results of an operation.

    Parameters
    ----------
    rule : ScalarRule
        Its rule.
    kinds : sequence of type
        The types of the arguments, those of arrays and numbers.
    wanted : sequence of int
        Which of them are traced.

    Returns
    -------
    type
        Its nodes are made without `__init__`: ``parents``, ``values`` and ``space`` are set.
    """
    partials = tuple([rule.partials[0][i] for i in wanted])
    known: dict[str, Any] = {"__slots__": (), "partials": partials, "rule": rule}
    hand_on = _hand_on(rule, partials, kinds, wanted)
    if hand_on is not None:
        known["hand_on"] = hand_on
    return type("Elementwise", (Elementwise,), known)


def _hand_on(
    rule: ScalarRule, partials: Sequence[Partial], kinds: Sequence[type], wanted: Any
) -> Callable | None:
    """Write the method; None where it has nothing to gain."""
    if any(p.function is None and type(p.constant) not in (int, float) for p in partials):
        return None
    parents = _PARENTS[len(wanted)]
    of_arrays = len(wanted) == 2 and list(kinds) == [_ndarray, _ndarray]
    together = rule.together if of_arrays else None
    scope: dict[str, Any] = {
        **SCOPE,
        "general": Elementwise.hand_on,
        "hand_product": hand_product,
        "together": together,
    }
    same = ""
    if len(wanted) == 2:
        returned = [None if p.returns is None else _NAMES[p.returns] for p in partials]
        same = _SAME
        if None not in returned and of_arrays:
            same = _SQUARE.format(
                left=returned[0], right=returned[1], store=STORE.format(fresh="True")
            )
    source = _TEMPLATE.format(
        parents=", ".join(parents),
        same=same,
        unpacked=", ".join(_NAMES[: len(kinds) + 1]),
    )
    if together is not None:
        source += _TOGETHER
    for parent, partial, i in zip(parents, partials, wanted, strict=True):
        source += _step(parent, partial, kinds, i, scope)
    return dispatch_cache.define("hand_on", source, scope)


def _step(parent: str, partial: Partial, kinds: Sequence[type], i: int, scope: dict) -> str:
    """Write how the cotangent is propagated to one argument."""

    def constant(c: float) -> str:
        scope[f"c_{parent}"] = np.array(c)
        return f"c_{parent}"

    scope[f"by_{parent}"] = partial
    returns, function = partial.returns, partial.function
    passes = function is None and partial.constant == 1
    before, owned = "", "False"
    if passes and parent != "left":
        owned = "bool(bars.owns_current)"
        if parent == "right":  # the cotangent may have become that of the left argument
            before, owned = _OWNED_BY_RIGHT, "owns"
    leave = _LEAVE.format(parent=parent, owned=owned)
    read = ", ".join(_NAMES[: len(kinds) + 1])
    if function is not None and returns is None:
        scope[f"function_{parent}"] = for_arrays(partial, kinds)
        if kinds[i] is not _ndarray:
            return _NUMBER_BY_FUNCTION.format(parent=parent, read=read, leave=leave)
        store = STORE.format(fresh="True")
        return _ARRAY_BY_FUNCTION.format(parent=parent, read=read, store=store, leave=leave)
    if kinds[i] is not _ndarray:
        total = product(partial, "add.reduce(y_bar, None)", _NAMES, constant)
        if returns is not None:
            if not returns or kinds[returns - 1] is not _ndarray:
                return f"\n    {leave}"
            total = f"vdot({_NAMES[returns]}, y_bar)"
        return before + _NUMBER.format(parent=parent, total=total)
    made = product(partial, "y_bar", _NAMES, constant)
    store = STORE.format(fresh=owned if passes else "True")
    return before + _ARRAY.format(parent=parent, product=made, store=store, leave=leave)


def quietly(partial: Partial) -> Callable | None:
    """Return the function of a partial derivative, without warnings of NumPy's."""
    function = partial.function
    if function is None or partial.is_arithmetic:
        return function
    return np.errstate(all="ignore")(function)


def for_arrays(partial: Partial, kinds: Sequence[type]) -> Callable:
    """Return the function of a partial derivative, with arrays in the place of its constants.

    NumPy takes half as long again for a product with a number of Python's as for one with an array,
    if it is small. Functions that do more than to add, multiply and divide arrays are left alone.
    """
    function: Any = partial.function
    if not all(i == 0 or kinds[i - 1] is _ndarray for i in partial.reads):
        return function
    constants: dict[str, Any] = {}
    text = _arithmetic(partial.result, constants)
    if text is None or not constants:
        return function
    return eval(f"lambda {', '.join(_NAMES[: len(kinds) + 1])}: {text}", constants)


def _arithmetic(x: Any, constants: dict[str, Any]) -> str | None:
    """Write what a partial derivative computes; None if it is not arithmetic alone."""
    if type(x) is float or (type(x) is int and abs(x) < 2**53):
        name = f"c{len(constants)}"
        constants[name] = np.array(float(x))
        return name
    if type(x) is not Symbol:
        return None
    if not x.operands:
        places = [i for i in range(len(_NAMES)) if x.operation == parameter(i)]
        return _NAMES[places[0]] if places else None
    parts = [_arithmetic(part, constants) for part in x.operands]
    if x.operation not in _OPERATORS or None in parts:
        return None
    return _OPERATORS[x.operation].format(*parts)


# ------------------------------------------------------------------------------------ plans

_PLANNED = """
def hand_on(self, y_bar, bars, strong):
    if bars.nested:
        return general(self, y_bar, bars, strong)
    nodes, values, owned, parents = bars.nodes, bars.values, bars.owned, self.parents
"""
_SEEN = """\
    {seen}, = self.seen
"""
_FOUND = """\
    found = self.pullback(y_bar)
    if type(found) is not tuple or len(found) != {n}:
        found = sorted_bars(rule, self.pullback, {n}, found)[1:]
"""
_FACTORS = """
    j = parents[{position}]
    space = nodes[j].space
    if type(y_bar) is ndarray and y_bar.ndim == 1 and not self.options:
        is_done = hand_factors(factors_{position}(y_bar, {seen}), bars, j)
    else:
        is_done = False
    if not is_done:
"""
_ADD_INTO = """
    j = parents[{position}]
    space = nodes[j].space
    bar = values[j]
    if owned[j] or bar is None or type(bar) is ndarray:
        buffer = bar if owned[j] else bars.buffer(j)
        result = add_into(buffer, y_bar, {seen}{options})
        if result is not buffer:
            raise BadInplaceError(add_into, result)
    else:
"""
_PULLED = """
{indent}    j = parents[{position}]
{indent}    space = nodes[j].space
{indent}    x_bar = {x_bar}
{indent}    if type(x_bar) is ndarray and x_bar.dtype is space.dtype and x_bar.shape == space.shape:
{indent}        before = values[j]
{indent}        if owned[j]:
{indent}            before += x_bar
{indent}        else:
{indent}            fresh = getrefcount(x_bar) == {references} and x_bar.base is None
{indent}            fresh = fresh and x_bar.flags.writeable
{indent}            if before is None:
{indent}                values[j] = x_bar
{indent}                owned[j] = fresh
{indent}            else:
{indent}                bars.accumulate(j, before, x_bar, fresh)
{indent}    else:
{indent}        bars.add(j, x_bar, self, {position}, {passed})
"""


def planned_node_class(plan: OfLinear | OfHand, kinds: Sequence[type]) -> type[PlannedNode]:
    """Write the class of nodes for the results of calls that go by a plan.

    Parameters
    ----------
    plan : OfLinear or OfHand
        The plan.
    kinds : sequence of type
        The types of the values that are traced.

    Returns
    -------
    type
        Its nodes are made without `__init__`: ``parents`` and ``space`` are set, and ``seen`` and
        ``options`` or ``pullback``.
    """
    base: Any = LinearNode if isinstance(plan, OfLinear) else HandNode
    known: dict[str, Any] = {"__slots__": (), "plan": plan}
    if isinstance(plan, OfLinear):
        known["nested"] = False
    if all(kind is _ndarray for kind in kinds):
        known["hand_on"] = _planned_hand_on(plan, base)
    return type(base.__name__, (base,), known)


def _planned_hand_on(plan: OfLinear | OfHand, base: Any) -> Callable:
    scope: dict[str, Any] = {
        **SCOPE,
        "BadInplaceError": BadInplaceError,
        "general": base.hand_on,
        "hand_factors": hand_factors,
        "rule": plan.rule,
        "sorted_bars": sorted_bars,
    }
    source = _PLANNED
    if isinstance(plan, OfHand):
        source += _FOUND.format(n=len(plan.places))
        for position, i in enumerate(plan.wanted):
            source += _PULLED.format(
                indent="", position=position, x_bar=f"found[{i}]", references=ALONE + 1,
                passed=IN_TUPLE,
            )  # fmt: skip
    else:
        scope["add_into"] = plan.rule.add_into
        seen = [f"seen_{i}" for i in range(len(plan.places))]
        source += _SEEN.format(seen=", ".join(seen))
        for position, i in enumerate(plan.wanted):
            source += _pulled_by_adjoint(
                plan, position, [*seen[:i], "space", *seen[i + 1 :]], scope
            )
    return dispatch_cache.define("hand_on", source, scope)


def _pulled_by_adjoint(plan: OfLinear, position: int, seen: list[str], scope: dict) -> str:
    """Write how the cotangent is propagated to one argument of a linear function."""
    adjoint, factors = plan.adjoints[position], plan.factors[position]
    scope[f"adjoint_{position}"], scope[f"factors_{position}"] = adjoint, factors
    given, options = ", ".join(seen), ", **self.options" if plan.options or plan.fixed else ""
    short = ""
    if factors is not None:
        short = _FACTORS.format(position=position, seen=given)
    elif plan.rule.add_into is not None:
        short = _ADD_INTO.format(position=position, seen=given, options=options)
    return short + _PULLED.format(
        indent="    " if short else "",
        position=position,
        x_bar=f"adjoint_{position}(y_bar, {given}{options})",
        references=ALONE,
        passed=PASSED,
    )
