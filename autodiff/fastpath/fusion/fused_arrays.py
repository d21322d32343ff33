"""Code generation for expressions whose value is a small array of float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import dispatch_cache
from autodiff.fastpath import elementwise
from autodiff.fastpath.codegen.node_code import STORE, STORE_NUMBER, for_arrays, product, quietly
from autodiff.fastpath.fusion.expression_generator import CONSTANTS, Declined, ExpressionGenerator
from autodiff.fastpath.fusion.expression_ir import Operand
from autodiff.fastpath.fusion.fused_node import FusedNode, FusedStep
from autodiff.trace.tape import FLOAT64
from chainrules_core import ProjectTo
from chainrules_core.define.partial import Partial

_ndarray = np.ndarray
_ARRAYS = """\
    node = new(Node)
    node.parents = ({parents})
    node.values = ({values})
    node.space = space
{add}    y = {y}
{tracer}    return made
"""
_HAND_ON = """
def hand_on(self, y_bar, bars, strong):
    space = self.space
    if {is_other}:
        return general(self, y_bar, bars, strong)
    nodes, values, owned = bars.nodes, bars.values, bars.owned
"""
_BY_FUNCTION = """\
    try:
        d = {function}({read})
    except ARITHMETIC:
        return general(self, y_bar, bars, strong)
    kind = type(d)
    if kind is ndarray and d.dtype is DTYPE or kind in NUMBERS:
        {bar} = d * {y_bar}
    elif kind is ndarray and d.dtype is BOOL and d.shape == space.shape:
        {bar} = where_true(d, {y_bar})
    else:
        return general(self, y_bar, bars, strong)
"""
_STORE = """\
    j = self.parents[{position}]
    x_bar = {bar}
    if nodes[j].space is not space:
        {put}
    else:
        {store}
"""
_STORE_NUMBER = (
    """\
    j = self.parents[{position}]
    x_bar = {bar}
"""
    + STORE_NUMBER
)


class ArrayGenerator(ExpressionGenerator):
    """Generates code for arrays of float64 and numbers.

    All results that are arrays have the shape of the value; an argument may be broadcast to it.
    """

    # The node class; its general method, and when that is called; the source for a cotangent of
    # another shape; whether the cotangent of the value may be reused; the dtype.
    base: Any = FusedNode
    general: Any = staticmethod(FusedNode.hand_on_stepwise)
    is_other = "strong or bars.nested or type(y_bar) is not ndarray"
    put = "bars.put(j, x_bar, {fresh})"
    owns = "False"
    dtype: Any = FLOAT64
    is_of_float64 = True

    def way(self) -> Callable:
        """Generate the function."""
        self.guard_tapes()
        self.evaluate()
        self.guard_precisions()
        needed: dict[str, int] = {}
        self.plans: dict[int, elementwise.ElementwisePlan] = {}
        for k, step in enumerate(self.steps):
            self.lines.append(f"t{k} = {self.computed(step)}")
            if not any(map(self.is_traced, step.operands)):
                continue
            plan = self.plans[k] = self.plan_of(step)
            for name in self.kept_by(k, plan):
                if name is not None:
                    needed.setdefault(name, len(needed))
        last = f"t{len(self.steps) - 1}"
        self.guard_shapes(last)
        self.lines += [
            "try:",
            "    space = FLOAT64_SPACES[shape]",
            "except KeyError:",
            f"    space = ProjectTo({last})",
        ]
        for name in needed:
            if name in self.samples and name not in self.traced and name[0] == "x":
                self.keep(name)
        self.scope["Node"] = self.node_class(needed)
        return self.function(self.recorded(needed, last))

    def recorded(self, needed: dict[str, int], last: str) -> str:
        """Return the source that records the value."""
        return _ARRAYS.format(
            parents="".join(f"{t}._index, " for t in self.traced.values()),
            values="".join(f"{name}, " for name in needed),
            y=last,
            add=dispatch_cache.ADD_NODE,
            tracer=dispatch_cache.NEW_TRACER,
        )

    def guard_precisions(self) -> None:
        """Write a guard: all arrays are small and of float64."""
        self.arrays = [n for n in self.inputs.values() if type(self.samples[n]) is _ndarray]
        for made in self.samples.values():
            # The results of operations on arrays without axes are numbers, not arrays.
            is_array = type(made) is _ndarray and made.dtype is FLOAT64 and made.ndim
            if not is_array and type(made) not in CONSTANTS:
                raise Declined
        if type(self.samples[f"t{len(self.steps) - 1}"]) is not _ndarray:
            raise Declined
        self.unless(
            " and ".join(
                f"{n}.dtype is FLOAT64 and {n}.size <= SMALL and {n}.shape" for n in self.arrays
            )
        )

    def guard_shapes(self, last: str) -> None:
        """Write a guard: all recorded arrays have the same shape."""
        inputs = " and ".join(f"{name}.shape == shape" for name in self.arrays)
        made = [f"t{k}" for k in self.plans if type(self.samples[f"t{k}"]) is _ndarray]
        steps = " and ".join(f"{name}.shape == shape" for name in made[:-1])
        self.guard_value(last, f"({inputs} or {steps})" if steps else "True")

    def guard_value(self, last: str, is_alike: str) -> None:
        """Write a guard: the value is a small array, and all shapes are alike."""
        self.lines += [
            f"shape = {last}.shape",
            f"if not ({last}.dtype is FLOAT64 and {last}.size <= SMALL and {is_alike}):",
            "    leave()",
            f"    return {self.again}",
        ]

    def kept_by(self, k: int, plan: elementwise.ElementwisePlan) -> list[str | None]:
        """Return the names of the values (y, *args) that the partial derivatives of a step read."""
        operands = self.steps[k].operands
        keeps = plan.keeps[sum(1 << p for p, o in enumerate(operands) if self.is_traced(o))]
        names = [f"t{k}", *map(self.name_of, operands)]
        return [name if keep else None for name, keep in zip(names, keeps, strict=True)]

    def keep(self, name: str) -> None:
        """Write the code that keeps a plain array for the pullback."""
        if type(self.samples[name]) is _ndarray:
            self.lines.append(f"{name} = tape.kept({name})")

    def node_class(self, needed: dict[str, int]) -> type[FusedNode]:
        """Return the node class."""
        parents = {name: i for i, name in enumerate(self.traced)}
        places: dict[int, int] = {}
        steps = []
        for k, plan in self.plans.items():
            places[k] = len(parents) + len(places)
            wanted = tuple(
                [
                    (p, places[o.value] if o.kind == "step" else parents[self.name_of(o)])
                    for p, o in enumerate(self.steps[k].operands)
                    if self.is_traced(o)
                ]
            )
            seen = tuple([-1 if n is None else needed[n] for n in self.kept_by(k, plan)])
            made = self.samples[f"t{k}"]
            space = None if type(made) is _ndarray else ProjectTo(made)
            steps.append(FusedStep(plan.rule, wanted, seen, space))
        known = {"__slots__": (), "steps": tuple(steps), "hand_on": self.hand_on(needed, parents)}
        return type("FusedNode", (self.base,), known)

    def hand_on(self, needed: dict[str, int], parents: dict[str, int]) -> Callable:
        """Generate the method that propagates a cotangent through all steps."""
        names = "".join("_, " if name[0] == "(" else f"{name}, " for name in needed)
        last = f"b{len(self.steps) - 1}"
        source = _HAND_ON.format(is_other=self.is_other)
        source += f"    {names} = self.values\n" if names else ""
        source += f"    {last} = y_bar\n"
        source += self.special_cases()
        self.fresh: dict[str, str] = {last: self.owns}
        for k in reversed(self.plans):
            source += self.back_through(k)
        for name, position in parents.items():
            source += self.stored(name, position)
        scope = {**self.scope, "general": self.general}
        return dispatch_cache.define("hand_on", source, scope)

    def special_cases(self) -> str:
        """Return the source of special cases that have a faster path."""
        return ""

    def stored(self, name: str, position: int) -> str:
        """Return the source that adds to the cotangent of a leaf."""
        fresh = self.fresh[f"l{name}"]
        store = _STORE if type(self.samples[name]) is _ndarray else _STORE_NUMBER
        return store.format(
            position=position,
            bar=f"l{name}",
            put=self.put.format(fresh=fresh, position=position),
            store=STORE.format(fresh=fresh),
        )

    def back_through(self, k: int) -> str:
        """Return the source that propagates the cotangent of a step to its operands."""
        step, plan, source = self.steps[k], self.plans[k], ""
        wanted = [p for p, o in enumerate(step.operands) if self.is_traced(o)]
        operands = [step.operands[p] for p in wanted]
        read = [name or "None" for name in self.kept_by(k, plan)]
        partials = [plan.partials[p] for p in wanted]
        passed = [p.function is None and p.constant == 1 for p in partials]
        # The square of a value: both partial derivatives are the value.
        factors = {None if p.returns is None else read[p.returns] for p in partials}
        is_square = len(wanted) == 2 and operands[0] == operands[1]
        is_square = is_square and len(factors) == 1 and None not in factors
        for position, (p, operand) in enumerate(zip(wanted, operands, strict=True)):
            if is_square and position:
                continue  # twice the first one
            bar = f"b{operand.value}" if operand.kind == "step" else f"c{k}_{p}"
            is_summed = self.is_array(Operand("step", k)) and not self.is_array(operand)
            if passed[position]:
                source += f"    {bar} = b{k}\n"
                self.fresh[bar] = self.fresh[f"b{k}"] if len(wanted) == 1 else "False"
            else:
                write = self.summed if is_summed else self.product
                source += write(bar, k, partials[position], read)
                self.fresh[bar] = "True"
            if is_square:
                source += f"    {bar} += {bar}\n"
            if is_summed and passed[position]:
                source += f"    {bar} = add.reduce({bar}, None)\n"
            if operand.kind != "step":
                source += self.added(f"l{self.name_of(operand)}", bar)
        return source

    def summed(self, bar: str, k: int, partial: Partial, read: list[str]) -> str:
        """Return the source of the sum of the products, for a broadcast number."""
        return self.product(bar, k, partial, read) + f"    {bar} = add.reduce({bar}, None)\n"

    def product(self, bar: str, k: int, partial: Partial, read: list[str]) -> str:
        """Return the source of the product of a cotangent with a partial derivative."""
        # Literal numbers are treated as other constants.
        names = [self.factor(float(n.strip("()")), k) if n[0] == "(" else n for n in read]
        made = product(partial, f"b{k}", names, lambda c: self.factor(c, k))
        if made is not None:
            return f"    {bar} = {made}\n"
        kinds = [type(self.sample(o)) for o in self.steps[k].operands]
        written = self.function_of(partial, k, kinds)
        function = self.constant(written, "by")
        return _BY_FUNCTION.format(function=function, read=", ".join(read), bar=bar, y_bar=f"b{k}")

    def function_of(self, partial: Partial, k: int, kinds: list[type]) -> Callable | None:
        """Return the function of a partial derivative of a step, in the fastest form."""
        if self.is_of_float64 and self.is_array(Operand("step", k)):
            return for_arrays(partial, kinds)
        return partial.function if self.is_array(Operand("step", k)) else quietly(partial)

    def factor(self, number: float, k: int) -> str:
        """Return the name of a factor: an array for float64, which NumPy multiplies faster."""
        is_array = self.is_of_float64 and self.is_array(Operand("step", k))
        return self.constant(np.array(number) if is_array else number, "c")

    def is_array(self, operand: Operand) -> bool:
        """Whether an operand is an array."""
        return type(self.sample(operand)) is _ndarray

    def added(self, leaf: str, bar: str) -> str:
        """Return the source that adds to the cotangent of a leaf within this expression."""
        if leaf not in self.fresh:
            self.fresh[leaf] = self.fresh[bar]
            return f"    {leaf} = {bar}\n"
        if self.fresh[leaf] == "True":
            return f"    {leaf} += {bar}\n"
        self.fresh[leaf] = "True"
        return f"    {leaf} = {leaf} + {bar}\n"
