"""Code generation for expressions on a forward level, and on a tape that an outer level traces.

The code computes the operations and their tangents in order, with the same results as the single
operations. On a tape, it appends one node, whose `hand_on` propagates cotangents and their tangents
together. If a tangent is NaN, the operations are evaluated one by one, because strong zeros depend
on each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.fastpath import elementwise
from autodiff.fastpath.codegen.node_code import product
from autodiff.fastpath.fusion.expression_generator import CONSTANTS, Declined
from autodiff.fastpath.fusion.expression_ir import ExpressionStep, Operand, Steps
from autodiff.fastpath.fusion.fused_arrays import ArrayGenerator
from autodiff.fastpath.fusion.fused_node import FusedNode
from autodiff.trace.tape import Forward
from autodiff.trace.tracer import Tracer
from chainrules_core.define.partial import Partial

_ndarray = np.ndarray
_SLOPE = """\
        s = {function}({read})
        kind = type(s)
        if kind is ndarray and s.dtype is DTYPE or kind in NUMBERS:
            {made} = s * {dot}
        elif kind is ndarray and s.dtype is BOOL:
            {made} = where_true(s, {dot})
        else:
            return {again}
"""
_ON_LEVEL = """\
    y = {last}
    tape, place = level, d_{last}
{tracer}    return made
"""
_OVER = """\
    y = {last}
    place = d_{last}
    tape_of_node, tape = tape, level
{tracer}    y, tape = made, tape_of_node
    tape.nested = True
    node = new(Node)
    node.parents = ({parents})
    node.plain = ({values})
    node.dots = ({dots})
    node.level = level
    node.space = space
{add}{tracer}    return made
"""
_HAND_ON = """
def hand_on(self, y_bar, bars, strong):
    if strong:
        return general(self, y_bar, bars, strong)
    level, space = self.level, self.space
    level.check_open()
    if type(y_bar) is ndarray:
        b{k}, e{k} = y_bar, zeros(space.shape)
    elif type(y_bar) is Tracer and y_bar._tape is level:
        b{k}, e{k} = y_bar._value, y_bar._index
        if type(b{k}) is not ndarray or type(e{k}) is not ndarray:
            return general(self, y_bar, bars, strong)
    else:
        return general(self, y_bar, bars, strong)
    if not (b{k}.shape == e{k}.shape == space.shape and b{k}.dtype is e{k}.dtype is FLOAT64):
        return general(self, y_bar, bars, strong)
"""
_BY_FUNCTION = """\
    try:
        s = {function}({read})
    except ARITHMETIC:
        return general(self, y_bar, bars, strong)
    ds = None
    if type(s) is Tracer:
        if s._tape is not level:
            return general(self, y_bar, bars, strong)
        s, ds = s._value, s._index
    kind = type(s)
    if kind is ndarray and s.dtype is FLOAT64 or kind in NUMBERS:
        {bar} = s * b{k}
        {dot} = s * e{k}
        if ds is not None:
            {dot} = {dot} + ds * b{k}
    elif kind is ndarray and s.dtype is BOOL and s.shape == space.shape:
        {bar} = where_true(s, b{k})
        {dot} = where_true(s, e{k})
    else:
        return general(self, y_bar, bars, strong)
"""


class NestedFused(FusedNode):
    """The node of a fused expression whose values an outer forward level traces.

    Attributes
    ----------
    plain, dots : tuple
        The values that the partial derivatives read, and their tangents on the outer level.
    level : Forward
        The outer level.
    """

    __slots__ = ("dots", "level", "plain")

    plain: tuple
    dots: tuple
    level: Forward

    def in_steps(self, nodes: list) -> list:
        """Return a list of leaves for the parents, followed by a node for each operation."""
        self.values = tuple(
            [
                value if dot is None else Tracer(value, self.level, dot)
                for value, dot in zip(self.plain, self.dots, strict=True)
            ]
        )
        return super().in_steps(nodes)


class NestedGenerator(ArrayGenerator):
    """Generates code for arrays of float64 and numbers that a forward level traces."""

    def __init__(self, steps: Steps, leaves: tuple) -> None:
        traced = [leaf for leaf in leaves if type(leaf) is Tracer]
        self.is_over = any(leaf._tape.records for leaf in traced)
        self.has_level = False
        super().__init__(steps, leaves)

    def guard(self, name: str, leaf: Any) -> None:
        """Write a guard: a leaf is traced on the forward level."""
        if type(leaf) is not Tracer or (self.is_over and type(leaf._value) is not Tracer):
            raise Declined
        if self.is_over:
            self.unless(f"{name}._tape.records and type({name}._value) is Tracer")
        self.same_level(f"{name}._value._tape" if self.is_over else f"{name}._tape")

    def same_level(self, level: str) -> None:
        """Write a guard: a value is on the same level as the first one."""
        if self.has_level:
            self.unless(f"{level} is level")
        else:
            self.has_level = True
            self.lines.append(f"level = {level}")
            self.unless("type(level) is Forward")

    def read(self, operand: Operand, name: str) -> None:
        """Write the code that reads a value and its tangent."""
        super().read(operand, name)
        if name not in self.traced:
            return
        made = self.samples[name] if self.is_over else self.given(operand)
        if type(made) is not Tracer or type(made._tape) is not Forward:
            raise Declined
        if type(made._value) is not _ndarray and type(made._value) not in CONSTANTS:
            raise Declined
        self.samples[name] = made._value
        tracer = self.traced[name]
        if self.is_over:
            tracer = f"l{name}"
            self.lines.append(f"{tracer} = {name}")
            self.unless(f"type({tracer}) is Tracer and {tracer}._tape is level")
            self.lines.append(f"{name} = {tracer}._value")
        elif operand.kind == "item":
            self.unless(f"{tracer}._tape is level")
        self.tangent_of(name, tracer)

    def tangent_of(self, name: str, tracer: str) -> None:
        """Write the code that reads the tangent of a value."""
        sample = self.samples[name]
        is_tangent = f"type(d_{name}) in NUMBERS"
        if type(sample) is _ndarray:
            is_tangent = f"type(d_{name}) is ndarray and d_{name}.dtype is DTYPE"
        self.lines.append(f"d_{name} = {tracer}._index")
        self.unless(f"type({name}) is {self.constant(type(sample), 'kind')} and {is_tangent}")

    def given(self, operand: Operand) -> Any:
        """Return the traced value of a leaf or item."""
        if operand.kind == "leaf":
            return self.leaves[operand.value]
        owner, index = operand.value
        return self.leaves[owner][self.leaves[index]]

    def guard_tapes(self) -> None:
        """Write a guard: all traced values are on one tape, and the level is open."""
        if self.is_over:
            super().guard_tapes()
        self.lines.append("level.check_open()")

    def keep(self, name: str) -> None:
        """Write the code that keeps a plain array for the pullback, if there is a tape."""
        if self.is_over:
            super().keep(name)

    def function_of(self, partial: Partial, k: int, kinds: list[type]) -> Callable | None:
        """Return the function of a partial derivative; its caller switches warnings off."""
        is_array = self.is_array(Operand("step", k))
        return super().function_of(partial, k, kinds) if is_array else partial.function

    def plan_of(self, step: ExpressionStep) -> elementwise.ElementwisePlan:
        """Return the plan of an operation, which must have the same rule in both modes."""
        plan = super().plan_of(step)
        kinds = [type(self.sample(o)) for o in step.operands]
        forward = elementwise.forward_plans[(step.f, *kinds)]
        if forward is None or forward.rule is not plan.rule:
            raise Declined
        return plan

    def guard_shapes(self, last: str) -> None:
        """Write a guard: all arrays have the same shape; then compute the tangents."""
        made = [f"t{k}" for k in self.plans if type(self.samples[f"t{k}"]) is _ndarray]
        dots = [f"d_{x}" for x in self.arrays if x in self.traced]
        alike = [f"{x}.shape == shape" for x in (*self.arrays, *dots, *made[:-1])]
        self.guard_value(last, " and ".join(alike))
        self.tangents()
        self.lines += [
            f"if type(d_{last}) is not ndarray or d_{last}.shape != shape or has_nan(d_{last}):",
            f"    return {self.again}",
        ]

    def tangents(self) -> None:
        """Write the tangents of all steps; their warnings do not concern the user's program."""
        parts = [self.tangent(k, plan) for k, plan in self.plans.items()]
        self.lines += ["try:", "    with quiet():"]
        self.lines += "".join(parts).splitlines()
        self.lines += ["except ARITHMETIC:", f"    return {self.again}"]

    def tangent(self, k: int, plan: elementwise.ElementwisePlan) -> str:
        """Return the source of the tangent of a step."""
        step, terms, source = self.steps[k], [], ""
        read = [f"t{k}", *map(self.name_of, step.operands)]
        for p, operand in enumerate(step.operands):
            if not self.is_traced(operand):
                continue
            partial, dot = plan.partials[p], f"d_{self.name_of(operand)}"
            made = product(partial, dot, read, lambda c: self.factor(c, k))
            if made is None:
                made = f"p{k}_{p}"
                kinds = [type(self.sample(o)) for o in step.operands]
                function = self.constant(self.function_of(partial, k, kinds), "by")
                source += _SLOPE.format(
                    function=function, read=", ".join(read), made=made, dot=dot, again=self.again
                )
            terms.append(made)
        source += f"        d_t{k} = {' + '.join(terms)}\n".replace("+ -", "- ")
        is_array = self.is_array(Operand("step", k))
        if is_array and not all(self.is_array(o) for o in step.operands if self.is_traced(o)):
            source += f"        if type(d_t{k}) is not ndarray:\n"
            source += f"            d_t{k} = spread_to(d_t{k}, t{k}.shape)\n"
        return source

    def recorded(self, needed: dict[str, int], last: str) -> str:
        """Return the source that records the value, or attaches its tangent on a forward level."""
        if not self.is_over:
            return _ON_LEVEL.format(last=last, tracer=dispatch_cache.NEW_TRACER)
        return _OVER.format(
            last=last,
            parents="".join(f"{t}._index, " for t in self.traced.values()),
            values="".join(f"{name}, " for name in needed),
            dots="".join(f"d_{n}, " if self.has_tangent(n) else "None, " for n in needed),
            add=dispatch_cache.ADD_NODE,
            tracer=dispatch_cache.NEW_TRACER,
        )

    def has_tangent(self, name: str) -> bool:
        """Whether a value of the code has a tangent."""
        return name in self.traced or (name[0] == "t" and int(name[1:]) in self.plans)

    base: Any = NestedFused

    def hand_on(self, needed: dict[str, int], parents: dict[str, int]) -> Callable:
        """Generate the method that propagates a cotangent and its tangent through all steps."""
        k = len(self.steps) - 1
        source = _HAND_ON.format(k=k)
        names = {n: i for n, i in needed.items() if n[0] != "("}
        for name, i in names.items():
            source += f"    {name} = self.plain[{i}]\n"
            if self.has_tangent(name):
                source += f"    d_{name} = self.dots[{i}]\n"
                source += f"    l{name} = Tracer({name}, level, d_{name})\n"
        self.known: set[str] = set()
        for k in reversed(self.plans):
            source += self.back_through(k)
        found = [(f"l_{name}", f"e_{name}", position) for name, position in parents.items()]
        wrong = " or ".join(f"has_nan({dot})" for _, dot, _ in found)
        source += f"    if {wrong}:\n        return general(self, y_bar, bars, strong)\n"
        for bar, dot, position in found:
            made = f"Tracer({bar}, level, {dot})"
            source += f"    bars.put(self.parents[{position}], {made}, False)\n"
        scope = {**self.scope, "general": self.general}
        return dispatch_cache.define("hand_on", source, scope)

    def back_through(self, k: int) -> str:
        """Return the source that propagates the cotangent of a step and its tangent."""
        step, plan, source = self.steps[k], self.plans[k], ""
        read = [name or "None" for name in self.kept_by(k, plan)]
        for p, operand in enumerate(step.operands):
            if not self.is_traced(operand):
                continue
            bar, dot = f"c{k}_{p}", f"f{k}_{p}"
            source += self.products(bar, dot, k, plan.partials[p], read)
            if self.is_array(Operand("step", k)) and not self.is_array(operand):
                source += f"    {bar} = add.reduce({bar}, None)\n"
                source += f"    {dot} = add.reduce({dot}, None)\n"
            if operand.kind == "step":
                into = f"b{operand.value}", f"e{operand.value}"
            else:
                into = f"l_{self.name_of(operand)}", f"e_{self.name_of(operand)}"
            for name, made in zip(into, (bar, dot), strict=True):
                before = f"{name} + " if name in self.known else ""
                source += f"    {name} = {before}{made}\n"
                self.known.add(name)
        return source

    def products(self, bar: str, dot: str, k: int, partial: Partial, read: list[str]) -> str:
        """Return the source of the product s b with a partial derivative, and of its tangent."""
        made, made_dot = [product(partial, f"{x}{k}", read, repr) for x in "be"]
        if made is not None:
            source = f"    {bar} = {made}\n    {dot} = {made_dot}\n"
            factor = None if partial.returns is None else read[partial.returns]
            if factor is not None and self.has_tangent(factor):
                source += f"    {dot} = {dot} + d_{factor} * b{k}\n"
            return source
        function = self.constant(partial.function, "by")
        traced = [f"l{name}" if self.has_tangent(name) else name for name in read]
        return _BY_FUNCTION.format(function=function, read=", ".join(traced), bar=bar, dot=dot, k=k)
