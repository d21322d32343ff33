"""Generated node classes, and the global scope of all generated code.

When the code of a call is generated, it is known which cotangents are needed and how to compute
them. So the code gets its own node class, whose `hand_on` handles the most frequent case: arrays
whose cotangents need neither a sum nor a projection. The base class handles all other cases.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
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
)
from autodiff.mutation.write_nodes import kept_part
from autodiff.partial_source import NoSourceError, Printer
from autodiff.trace.tape import CONSTANT, FLOAT64, IN_TUPLE, PASSED, Forward, place_of
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core import BadInplaceError, ProjectTo
from chainrules_core.calling.frame import sorted_bars
from chainrules_core.define.bits import where_true
from chainrules_core.define.partial import ARITHMETIC, Partial
from chainrules_core.define.scalar import has_nan
from chainrules_core.interpreter.places import MADE_HERE
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.projection.project_to import KNOWN_SPACES

_ndarray = np.ndarray
NUMBERS = frozenset({float, np.float64})

SCOPE: dict[str, Any] = {
    "ARITHMETIC": ARITHMETIC,
    "BOOL": np.dtype(bool),
    "CONSTANT": CONSTANT,
    "FLOAT64": FLOAT64,
    "FLOAT64_SPACES": KNOWN_SPACES[FLOAT64],
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
    "kept_part": kept_part,
    "inf": math.inf,  # as floats are shown
    "nan": math.nan,
    "ndarray": _ndarray,
    "new": object.__new__,
    "place_of": place_of,
    "quiet": quiet,
    "vdot": np.vdot,
    "where_true": where_true,
}
"""The global scope of all generated code."""


KEPT_PART = "({x} if {x}.base is None else kept_part({given}))"
"""The source of what a node keeps of a traced array."""
STORE = """\
before = values[j]
        if before is None:
            values[j] = x_bar
            owned[j] = {fresh}
        elif owned[j]:
            before += x_bar
        else:
            bars.accumulate(j, before, x_bar, {fresh})"""
STORE_NUMBER = """\
    x_bar = float(x_bar) if type(nodes[j]) is tuple else nodes[j].space(x_bar)
    before = values[j]
    values[j] = x_bar if before is None else before + x_bar
"""


def product(
    partial: Partial, bar: str, names: Sequence[str], constant: Callable[[float], str]
) -> str | None:
    """Return the source of the product of a partial derivative with a cotangent or tangent.

    Parameters
    ----------
    partial : Partial
        The partial derivative.
    bar : str
        The name of the cotangent or tangent.
    names : sequence of str
        The names of ``(y, *args)``.
    constant : callable
        Returns the name of a number.

    Returns
    -------
    str or None
        An expression; None if a function has to be called first.
    """
    if partial.function is None:
        c = partial.constant
        return bar if c == 1 else f"-{bar}" if c == -1 else f"{constant(float(c))} * {bar}"
    return None if partial.returns is None else f"{names[partial.returns]} * {bar}"


def quietly(partial: Partial) -> Callable | None:
    """Return the function of a partial derivative, with NumPy warnings switched off."""
    function = partial.function
    if function is None or partial.is_arithmetic:
        return function
    return np.errstate(all="ignore")(function)


def for_arrays(partial: Partial, kinds: Sequence[type]) -> Callable:
    """Return the function of a partial derivative, with its constants as 0-d arrays.

    For small arrays, a product with a Python number takes NumPy 1.5 times as long as one with a 0-d
    array. Functions that do more than basic arithmetic on arrays are returned unchanged.
    """
    function: Any = partial.function
    if not all(i == 0 or kinds[i - 1] is _ndarray for i in partial.reads):
        return function
    names = [f"v{i}" for i in range(len(kinds) + 1)]
    printer = _ArrayPrinter(names.__getitem__)
    try:
        text = printer.expression(partial.result)
    except NoSourceError:
        return function
    if not printer.constants:
        return function
    written = f"lambda {', '.join(names)}: {text}"
    return eval(compile(written, f"{MADE_HERE}an expression>", "eval"), printer.constants)


class _ArrayPrinter(Printer):
    """Prints arithmetic of arrays, with 0-d arrays as constants."""

    operations = frozenset({"add", "sub", "mul", "truediv", "neg"})

    def __init__(self, text: Callable[[int], str]) -> None:
        super().__init__(text)
        self.constants: dict[str, Any] = {}

    def number(self, x: Any) -> str:
        """Return the name of a float, or of an integer that is exact as a float."""
        if type(x) is not float and (type(x) is not int or abs(x) >= 2**53):
            raise NoSourceError
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(float(x))
        return name


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
    """Create the node class of a plan.

    Parameters
    ----------
    plan : OfLinear or OfHand
        The plan.
    kinds : sequence of type
        The types of the values that are traced.

    Returns
    -------
    type
        Its nodes are created without `__init__`. The generated code sets ``parents``, ``space``
        and either ``seen`` and ``options``, or ``pullback``.
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
    """Return the source that propagates the cotangent to one argument of a linear function."""
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
