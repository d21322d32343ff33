"""Code generation for single elementwise operations, which are expressions of one step.

When a function has been called often with arguments of the same types, generated code replaces
:mod:`autodiff.fastpath.elementwise`: guards, the operation itself, and its node or tangent. Each
operation has four functions; the last three are generated at their first call:

* ``way`` for arrays on one tape;
* ``constants`` for arrays that the traced function has made, without traced values in them;
* ``on`` for arrays and numbers on a forward level. It computes the tangent at once from the partial
  derivatives of the rule for forward mode;
* ``over`` for a tape whose values one outer level traces. The operation, and the products of its
  node, are operations of that level.

So ``hvp`` runs generated code as well. The code is for arrays of given dtypes. If a guard fails, it
calls ``otherwise``: the code for other dtypes, or a function that returns `NO_RULE`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import dispatch_cache
from autodiff.dispatch.call import NO_RULE
from autodiff.fastpath.codegen.node_code import NUMBERS, STORE
from autodiff.fastpath.elementwise import (
    NOT_HERE,
    ElementwisePlan,
    forward_plans,
    is_inexact,
    plans,
    pushed,
    with_dot,
)
from autodiff.fastpath.elementwise_nodes import Elementwise, propagate_product
from autodiff.fastpath.fusion.expression_generator import Declined, ExpressionGenerator
from autodiff.fastpath.fusion.expression_ir import ExpressionStep, Operand
from autodiff.fastpath.fusion.fused_arrays import ArrayGenerator
from autodiff.fastpath.fusion.fused_nested import NestedGenerator
from autodiff.trace.tape import CONSTANT, FLOAT64, Forward
from autodiff.trace.tracer import FloatTracer, Tracer, wrap
from chainrules_core.define.partial import Partial
from chainrules_core.projection.project_to import KNOWN_SPACES

_ndarray = np.ndarray
_calls: dict[tuple, int] = caches.register("calls before code is written", {}, of_rules=True)


def _not_known(*args: Any) -> Any:
    return NO_RULE


_RECORDED = (
    """\
    node = new(Node)
    node.parents = ({parents})
    node.values = ({seen},)
    node.space = space
"""
    + dispatch_cache.ADD_NODE
)
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
    + _RECORDED
    + """\
    if type(y) is not ndarray:
        return wrap(y, tape, place)
"""
    + dispatch_cache.NEW_TRACER
    + "    return made\n"
)
_OF_CONSTANTS = """\
    y = {value}
    if type(y) is not ndarray:
        return y
    return Tracer(y, CONSTANT, -1) if y.dtype.kind in "fc" else NO_RULE
"""
_OVER = (
    """\
    y = on({values}) if {first}._tape.forward else NO_RULE
    if y is NO_RULE:
        y = {expression}
    if type(y) is not Tracer or y._tape is CONSTANT:
        return NO_RULE
    t0, beneath = y, y._value
    if {is_other}:
        return NO_RULE
    space = ProjectTo(beneath)
"""
    + _RECORDED
    + "    tape.nested = True\n"
    + dispatch_cache.NEW_TRACER
    + "    return made\n"
)
_ON_LEVEL = (
    """\
    y = t0
    tape, place = level, d_t0
"""
    + dispatch_cache.NEW_TRACER
    + "    return made\n"
)
_KEPT = '{x} = {x}.copy("K") if {x}.nbytes <= tape.small else tape.kept({x})'

# -- the backward sweep --------------------------------------------------------------------------

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
_OTHER_SPACE = """\
if nodes[j].space.shape:
            bars.put(j, x_bar, {fresh})
        else:
            propagate_product(by_{position}, self, y_bar, bars, j, False, False)"""
# The left argument may have taken over the cotangent, or a view of its real part.
_OWNED_BY_RIGHT = """\
    taken = values[left]
    owns = bool(bars.owns_current) and taken is not y_bar
    owns = owns and (type(taken) is not ndarray or taken.base is None)
"""
_SUM_BY_FUNCTION = """\
    try:
        d = {function}({read})
    except ARITHMETIC:
        return general(self, y_bar, bars, strong)
    if type(d) is not ndarray or d.dtype is not DTYPE or d.shape != space.shape:
        return general(self, y_bar, bars, strong)
    {bar} = vdot(d, y_bar)
"""


class OperationGenerator(ArrayGenerator):
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
    """

    base: Any = Elementwise
    general = staticmethod(Elementwise.hand_on)
    is_other = ArrayGenerator.is_other + " or space.size > SMALL or space.dtype is not DTYPE"
    put = _OTHER_SPACE
    owns = "bool(bars.owns_current)"

    def __init__(self, f: Callable, samples: tuple, wanted: list[int], y: Any) -> None:
        self.f, self.wanted, self.y = f, wanted, y
        self.dtype = getattr(y, "dtype", None)
        step = ExpressionStep(f, tuple([Operand("leaf", i) for i in range(len(samples))]))
        ExpressionGenerator.__init__(self, (step,), samples, has_generic=False)
        self.makes_array = type(y) is _ndarray
        arrays = [x for x in (*samples, y) if type(x) is _ndarray]
        self.is_of_float64 = all(x.dtype is FLOAT64 for x in arrays)
        self.scope |= {"DTYPE": self.dtype, "otherwise": _not_known}
        self.value = self.computed(step)

    def read_inputs(self) -> None:
        """Write the code that reads the arguments."""
        self.samples["t0"] = self.y
        for i, (name, sample) in enumerate(zip(self.names, self.leaves, strict=True)):
            x = self.inputs[Operand("leaf", i)] = f"x{i}"
            self.samples[x] = sample
            if i in self.wanted:
                self.traced[x] = name
                self.read_traced(x, name, len(self.traced) == 1)
            else:
                self.lines.append(f"{x} = {name}")
                self.has_dtype(x)

    def read_traced(self, x: str, name: str, is_first: bool) -> None:
        """Write the code that reads a traced argument."""
        given = ", ".join(self.names)
        if is_first:
            self.lines.append(f"tape = {name}._tape")
            self.unless("tape.records", f"(constants if tape is CONSTANT else on)({given})")
        else:
            self.unless(f"{name}._tape is tape")
        self.lines.append(f"{x} = {name}._value")
        kind = self.constant(type(self.samples[x]), "kind")
        self.unless(f"type({x}) is {kind}", f"over({given})")
        self.has_dtype(x)

    def has_dtype(self, x: str) -> None:
        """Write a guard: an array has the dtype of its sample."""
        if type(self.samples[x]) is _ndarray:
            self.unless(f"{x}.dtype is {self.constant(self.samples[x].dtype, 'dtype')}")

    def way(self) -> Callable:
        """Generate the function, which calls those for other levels."""
        plan = plans[(self.f, *map(type, self.leaves))]
        if plan is None or plan.loses_precision(self.leaves):
            raise Declined
        self.plans = {0: plan}
        bits = sum(1 << i for i in self.wanted)
        values = zip(self.kept_by(0, plan), plan.keeps[bits], strict=True)
        seen = [x if keep else "None" for x, keep in values]
        known = {"__slots__": (), "partials": plan.wanted[bits], "rule": plan.rule}
        if self.makes_array:
            known["hand_on"] = self.hand_on_or_general()
        text = {
            "parents": "".join(f"{name}._index, " for name in self.traced.values()),
            "seen": ", ".join(seen),
        }
        scope = self.scope
        scope |= {"Node": type("Elementwise", (Elementwise,), known), "is_inexact": is_inexact}
        scope["wrap"] = wrap
        given = self.f, self.leaves, self.wanted, self.y
        # Few functions are used on all kinds of levels.
        dispatch_cache.define_later(
            "constants", scope, lambda: ConstantsGenerator(*given).generated()
        )
        dispatch_cache.define_later("on", scope, lambda: on_level(scope, *given))
        dispatch_cache.define_later(
            "over", scope, lambda: OuterLevelGenerator(*given).generated(scope, text)
        )
        if not self.makes_array:
            # Numbers in a `Tracer`: on forward levels, or traced by an outer level.
            names, first = ", ".join(self.names), self.names[self.wanted[0]]
            self.lines = [f"return (over if {first}._tape.records else on)({names})"]
            return self.function("")
        scope["SPACES"] = KNOWN_SPACES[self.dtype]
        self.lines.append(f"y = t0 = {self.value}")
        self.keep(seen)
        return self.function(_ON_TAPE.format(**text))

    def keep(self, seen: Iterable[str]) -> None:
        """Write copies of the arrays that a node keeps and that the user may write into."""
        for x in self.inputs.values():
            if x in seen and x not in self.traced and type(self.samples[x]) is _ndarray:
                self.lines.append(_KEPT.format(x=x))

    # -- the backward sweep ----------------------------------------------------------------------

    def hand_on_or_general(self) -> Callable:
        """Return a generated `hand_on`, or the general method if that is as fast."""
        (plan,) = self.plans.values()
        partials = [plan.partials[i] for i in self.wanted]
        dtypes = [getattr(x, "dtype", None) for x in (*self.leaves, self.y)]
        if not all(map(_is_number_or_function, partials)) or any(
            dtype is not None and dtype.kind == "c" for dtype in dtypes
        ):
            return self.general
        self.scope |= {"propagate_product": propagate_product, "together": plan.rule.together}
        self.scope |= {f"by_{position}": partial for position, partial in enumerate(partials)}
        self.scope["NUMBERS"] = NUMBERS if self.dtype is FLOAT64 else frozenset({float})
        try:
            return self.hand_on(
                dict.fromkeys(["t0", *self.inputs.values()], 0),
                {x: position for position, x in enumerate(self.traced)},
            )
        except Declined:
            return self.general

    def kept_by(self, k: int, plan: ElementwisePlan) -> list[Any]:
        """Return the names of ``(y, *args)``: the node has a field for each of them."""
        return ["t0", *self.inputs.values()]

    def special_cases(self) -> str:
        """Return the source for two equal arguments, and for products computed together."""
        if len(self.wanted) < 2:
            return ""
        names = self.kept_by(0, self.plans[0])
        returned = [p.returns for p in self.plans[0].partials]
        are_arrays = all(type(x) is _ndarray for x in self.leaves)
        source = _SAME
        if None not in returned and are_arrays:
            left, right = [names[i] for i in returned if i is not None]
            store = STORE.format(fresh="True")
            source = _SQUARE.format(left=left, right=right, store=store)
        has_together = self.scope["together"] is not None and are_arrays and self.is_of_float64
        return source + (_TOGETHER if has_together else "")

    def stored(self, name: str, position: int) -> str:
        """Return the source that adds to the cotangent of an argument."""
        passed = [p.function is None and p.constant == 1 for p in self.plans[0].partials]
        if position == 0 or not passed[self.wanted[1]]:
            return super().stored(name, position)
        self.fresh[f"l{name}"] = "owns"
        return _OWNED_BY_RIGHT + super().stored(name, position)

    def summed(self, bar: str, k: int, partial: Partial, read: list[str]) -> str:
        """Return the source of the cotangent of a broadcast number: a dot product."""
        if partial.function is None:
            return super().summed(bar, k, partial, read)
        if partial.returns is not None:
            if type(self.samples[read[partial.returns]]) is not _ndarray:
                raise Declined
            return f"    {bar} = vdot({read[partial.returns]}, y_bar)\n"
        function = self.constant(self.function_of(partial, k, list(map(type, self.leaves))), "by")
        return _SUM_BY_FUNCTION.format(function=function, read=", ".join(read), bar=bar)


class ConstantsGenerator(OperationGenerator):
    """Generates code for constant arrays of a traced function; results can become traced."""

    def read_traced(self, x: str, name: str, is_first: bool) -> None:
        """Write the code that reads an array."""
        self.lines.append(f"{x} = {name}._value")
        if not is_first:
            self.unless(f"{name}._tape is CONSTANT")

    def generated(self) -> Callable:
        """Generate the function."""
        return self.function(_OF_CONSTANTS.format(value=self.value))


class OuterLevelGenerator(OperationGenerator):
    """Generates code for a function on a tape whose values one outer level traces."""

    def read_traced(self, x: str, name: str, is_first: bool) -> None:
        """Write the code that reads a traced argument as a value of the outer level."""
        if is_first:
            self.lines.append(f"tape = {name}._tape")
        else:
            self.unless(f"{name}._tape is tape")
        kind = self.constant(type(self.samples[x]), "kind")
        self.lines.append(f"{x} = {name}._value")
        self.unless(f"type({x}) is Tracer and type({x}._value) is {kind}")

    def generated(self, scope: dict[str, Any], text: dict[str, str]) -> Callable:
        """Generate the function; `scope` is that of the code for one tape."""
        is_other = "type(beneath) is not ndarray or beneath.dtype is not DTYPE"
        self.keep(text["seen"].split(", "))
        self.scope |= _linked(scope, "otherwise", "on") | {"Node": scope["Node"]}
        return self.function(
            _OVER.format(
                **text,
                expression=self.value,
                first=next(iter(self.traced)),
                is_other=is_other if self.makes_array else "type(beneath) not in NUMBERS",
                values=", ".join(self.inputs.values()),
            )
        )


class ForwardGenerator(OperationGenerator, NestedGenerator):
    """Generates code for a function on a forward level, which computes the tangent at once."""

    has_level = is_over = False

    def read_traced(self, x: str, name: str, is_first: bool) -> None:
        """Write the code that reads a traced argument and its tangent."""
        self.same_level(f"{name}._tape")
        self.lines.append(f"{x} = {name}._value")
        self.tangent_of(x, name)
        self.has_dtype(x)

    def way(self) -> Callable:
        """Generate the function."""
        plan = forward_plans[(self.f, *map(type, self.leaves))]
        partials = () if plan is None else tuple([plan.partials[i] for i in self.wanted])
        if plan is None or not all(map(_is_number_or_function, partials)):
            raise Declined
        self.plans = {0: plan}
        self.scope |= {"partials": partials, "pushed": pushed, "with_tangent": _with_tangent}
        dots = "".join(f"d_{x}, " for x in self.traced)
        values = "".join(f"{x}, " for x in self.inputs.values())
        self.again = f"with_tangent(t0, pushed(partials, (t0, {values}), ({dots})), level)"
        self.lines += ["level.check_open()", f"t0 = {self.value}"]
        is_array = "type({x}) is ndarray and {x}.dtype is DTYPE"
        is_known = is_array if self.makes_array else "type({x}) in NUMBERS"
        self.unless(is_known.format(x="t0"), self.again)
        self.tangents()
        if any(partial.function is not None for partial in partials):
            is_right = "not has_nan(d_t0)" if self.makes_array else "d_t0 == d_t0"
            self.unless(is_right, self.again)
        fits = "type(d_t0) is type(t0)"
        if self.makes_array:
            fits = is_array.format(x="d_t0") + " and d_t0.shape == t0.shape"
        self.unless(fits, "with_tangent(t0, d_t0, level)")
        return self.function(_ON_LEVEL)


def on_level(scope: dict[str, Any], *given: Any) -> Callable:
    """Generate the function for a forward level; `scope` is that of the code for one tape."""
    code = ForwardGenerator(*given)
    code.scope |= _linked(scope, "otherwise")
    try:
        return code.way()
    except Declined:
        return code.scope["otherwise"]


def _linked(scope: dict[str, Any], *names: str) -> dict[str, Callable]:
    """Return functions that call those of a scope by name, because they may be replaced there."""
    return {name: lambda *args, name=name: scope[name](*args) for name in names}


def _with_tangent(y: Any, y_dot: Any, tape: Any) -> Any:
    made = with_dot(y, y_dot, tape)
    return NO_RULE if made is NOT_HERE else made


def _is_number_or_function(partial: Partial) -> bool:
    return partial.function is not None or type(partial.constant) in (int, float)


def _sample_of(x: Any) -> Any:
    """Return a small value with the type and dtype of a plain value."""
    return np.empty(1, x.dtype) if type(x) is _ndarray else x


def note(f: Callable, args: tuple, result: Any) -> None:
    """Count a call; generate code after some calls with the same types."""
    if type(result) is not Tracer:
        return
    tape = result._tape
    if not (tape.records or tape is CONSTANT or type(tape) is Forward):
        return
    y = result._value
    if type(y) is not _ndarray and type(y) not in NUMBERS:
        return
    wanted = [i for i, a in enumerate(args) if type(a) in (Tracer, FloatTracer)]
    plain = tuple([a._value if i in wanted else a for i, a in enumerate(args)])
    key = (f, *wanted, *[(type(x), getattr(x, "dtype", None)) for x in plain])
    _calls[key] = n = _calls.get(key, 0) + 1
    if n != dispatch_cache.OFTEN:
        return
    if (type(y) is _ndarray) != (_ndarray in map(type, plain)):
        return
    with contextlib.suppress(Declined):
        _add(
            f,
            args,
            OperationGenerator(f, tuple(map(_sample_of, plain)), wanted, _sample_of(y)).way(),
        )


def _add(f: Callable, args: tuple, way: Any) -> None:
    """Register code for arguments of these types, after code for other dtypes if there is any."""
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
