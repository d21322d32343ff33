"""Writing the tangent of a program: the function that pushes tangents forward beside the values.

It is source like the user's own: each operation stands there with its tangent behind it, and each
variable that depends on the variables has a second one, which ends in ``_d``. So it is read, swept
and compiled as any function with loops is, and second derivatives are the derivatives of it.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff.partial_source import partial_source
from autodiff.structured.form.ir import (
    WRITES,
    Block,
    For,
    If,
    Op,
    Slot,
    Value,
    While,
)
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import (
    CALLED,
    function_of,
    is_own_rule,
    makes_new,
)
from autodiff.structured.runtime_calls import ChangedError
from autodiff.structured.writing.activity import depends, holds_active, is_active
from autodiff.structured.writing.rules.bound_rules import (
    Bound,
    differentiated_again,
    is_elementwise,
)
from autodiff.structured.writing.rules.calls_without_rules import (
    is_copy,
    is_display,
    is_reshape,
    joined_axis,
    of_matrices,
    reduced,
    summed_axes,
)
from autodiff.structured.writing.sweep.slopes import slope_of_power
from autodiff.structured.writing.writer import Source, Writer
from chainrules_core.define import LinearRule

_READS = frozenset({"const", "read", "form", "tuple", "part", "length"})
_OF_ARRAYS = frozenset({"view", "load"})
_METHODS = (types.MethodDescriptorType, types.GetSetDescriptorType)
_MULTILINEAR = frozenset({np.einsum})
_LINEAR = frozenset({np.sum, np.mean, np.cumsum})
_EXTREMA = frozenset({np.maximum, np.minimum, max, min})


class TangentWriter(Writer):
    """Writes a function that returns what a program returns, and the tangents of it."""

    def tangent(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return its source, and what that reads by name.

        It is given the parameters of the program, then the tangents of those that are variables. It
        returns what the program returns and what it leaves in the arrays that it writes into, then
        the tangents of those of these that depend on the variables.

        Raises
        ------
        UnsupportedError
            If an operation has no tangent that is written as source.
        """
        program = self.program
        if program.catches or program.has_errstates or program.itself is not None:
            raise UnsupportedError("exceptions, error states or recursion in a tangent")
        if any(s.kind is not None and s.kind.has_items for s in program.parameters):
            raise UnsupportedError("lists in a tangent")
        out = self.out = Source()
        self.constants.scope["Changed"] = ChangedError
        variables = [s for s in program.parameters if holds_active(s)]
        if any(s.kind is not None and s.kind.is_complex for s in variables):
            raise UnsupportedError("complex numbers in a tangent")
        for slot in self.written_parameters:
            x = slot.name
            out.add(f"{x} = {self.constants.name(np.array)}({x}, order='K')")
            if holds_active(slot):
                self._in_own_memory(f"{x}_given", f"{x}_d", x)
            if not slot.is_stable:
                out.add(f"{x}_in = {x}")
                if holds_active(slot):
                    out.add(f"{x}_d_in = {x}_d")
        for slot in program.slots:  # results of functions that return in a loop
            if slot.name.startswith("_") and not slot.is_stable and slot.reads:
                self._bind_first(slot)
        self._nodes(program.body)
        written = [self._initial(s) for s in self.written_parameters]
        outs = [self.text(v) for v in self.outputs]
        dots = [self.dot(v) for v in self.outputs if is_active(v)]
        dots += [
            f"{s.name}_d" if s.is_stable else f"{s.name}_d_in"
            for s in self.written_parameters
            if holds_active(s)
        ]
        out.add(f"return ({''.join(f'{x}, ' for x in [*outs, *written, *dots])})")
        given = [s.name for s in program.parameters]
        given += [
            f"{s.name}_given" if s in self.written_parameters else f"{s.name}_d" for s in variables
        ]
        return "\n".join([f"def {name}({', '.join(given)}):", *out.lines, ""]), self.constants.scope

    # -- values and their tangents -----------------------------------------------------------------

    def text(self, v: Value) -> str:
        """Return a value as it is written."""
        if v.op.code == "tuple":
            return self.operation(v.op, self.text)
        return super().text(v)

    def dot(self, v: Value) -> str:
        """Return the tangent of a value that depends on the variables."""
        if v.op.code == "read" and v not in self.renamed:
            return f"{v.op.data.name}_d"
        return f"{v.name}_d"

    def _dot_or_zero(self, v: Value) -> str:
        """Return the tangent of a value, in its shape."""
        if is_active(v):
            return self.dot(v)
        return self._zeros_like(v) if v.kind.is_array else "0.0"

    def _zeros_like(self, v: Value) -> str:
        return f"{self.constants.name(np.zeros_like)}({self.text(v)})"

    # -- nodes -------------------------------------------------------------------------------------

    def _nodes(self, nodes: list) -> None:
        for node in nodes:
            if isinstance(node, Block):
                self._block(node)
            elif isinstance(node, If):
                head = f"if {self.text(node.test)}:"
                self.out.inside(head, functools.partial(self._nodes, node.then))
                if node.otherwise:
                    self.out.inside("else:", functools.partial(self._nodes, node.otherwise))
            else:
                self._loop(node)

    def _bind_first(self, slot: Slot) -> None:
        """Bind a variable to something of its kind: the source does not show that it is bound."""
        kind = slot.kind
        if kind is None or kind.is_complex or not (kind.is_array or kind.is_scalar):
            return
        zero = "0.0" if kind.has_floats else "0" if int in kind.classes else "False"
        if kind.is_array:
            dtype = self.constants.name(kind.dtype)
            zero = f"{self.constants.name(np.zeros)}({(0,) * kind.ndim}, {dtype})"
        self.out.add(f"{slot.name} = {zero}")
        if holds_active(slot):
            self.out.add(f"{slot.name}_d = {zero}")

    def _loop(self, node: For | While) -> None:
        last = []
        if node.broken is not None:
            self.out.add(f"{node.broken} = False")
            last = [f"if {node.broken}: break"]
        if isinstance(node, For):
            bounds = ", ".join(map(self.text, node.bounds))
            head = f"for {node.slot.name} in range({bounds}):"
            self.out.inside(head, lambda: self._nodes(node.body), last)
        else:
            self.out.inside("while True:", lambda: self._turn(node), last)

    def _turn(self, node: While) -> None:
        self._nodes(node.before)
        self.out.add(f"if not {self.text(node.test)}: break")
        self._nodes(node.body)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op, block)
        names, values = [], []
        for slot, v in block.writes.items():
            if v.op.code == "read" and v.op.data is slot:
                continue
            names.append(slot.name)
            values.append(self.text(v))
            if holds_active(slot):
                names.append(f"{slot.name}_d")
                values.append(self._dot_or_zero(v))
        if names:
            self.out.add(f"{', '.join(names)} = {', '.join(values)}")

    # -- operations --------------------------------------------------------------------------------

    def _op(self, op: Op, block: Block) -> None:
        v = op.out
        if v is None:
            self._write(op)
            return
        if op.code in ("const", "tuple"):
            return
        if op.code == "read":
            if op.data in block.writes and block.writes[op.data] is not v:
                self.out.add(f"{v.name} = {op.data.name}")
                if is_active(v):
                    self.out.add(f"{v.name}_d = {op.data.name}_d")
                self.renamed.add(v)
            return
        if op.code not in ("call", *_READS, *_OF_ARRAYS) or v.kind.has_items:
            raise UnsupportedError(f"{op.code} in a tangent")
        self.out.add(f"{v.name} = {self._written(op, self.text)}")
        if not is_active(v):
            return
        dot = self._dot_of(op)
        if dot != self._zeros_like(v) and self._needs_own_memory(op, dot):
            self._in_own_memory(dot, self.dot(v), v.name)
        else:
            self.out.add(f"{v.name}_d = {dot}")

    def _needs_own_memory(self, op: Op, dot: str) -> bool:
        """Whether a new array, or an argument that has the same tangent, may be written into."""
        if not makes_new(op):
            return False
        same = [a for a in op.args if a.memory is not None and is_active(a) and self.dot(a) == dot]
        arrays = [v for v in (op.out, *same) if v is not None and v.memory is not None]
        return any(v.memory.root().is_written for v in arrays)  # type: ignore[union-attr] # above

    def _in_own_memory(self, given: str, dot: str, array: str) -> None:
        """Bind a tangent to memory of its own that is laid out as the array is.

        What is written into the array is written into the tangent, too. So no other tangent may
        share its memory (that of ``x + 1.0`` is the tangent of x), and what is a view of one must
        be a view of the other (``x.reshape(-1)`` is a copy for some layouts).
        """
        self.out.add(f"{dot} = {self.constants.name(np.zeros_like)}({array})")
        self.out.add(f"{dot} += {given}")

    def _written(self, op: Op, text: Any) -> str:
        """Return an operation as the user may write it: methods of arrays as such."""
        f = op.f if op.code == "call" or op.data == CALLED else None
        if isinstance(f, _METHODS) and op.args:
            named = [f"{name}={text(x)}" for name, x in op.options.items()]
            return (
                f"{text(op.args[0])}.{f.__name__}({', '.join([*map(text, op.args[1:]), *named])})"
            )
        return self.operation(op, text)

    def _with(self, op: Op, dots: dict[Value, str]) -> str:
        """Return an operation in which some arguments are tangents."""

        def text(v: Value) -> str:
            if v.op.code == "tuple" and v not in dots:
                return self.operation(v.op, text)
            return dots.get(v) or self.text(v)

        return self._written(op, text)

    def _write(self, op: Op) -> None:
        if op.code == "break":
            self.out.add(f"{op.data} = True")
            return
        if op.code == "raise":
            self.out.add("raise Changed")
            return
        if op.code not in WRITES:
            raise UnsupportedError(f"{op.code} in a tangent")
        base, value, *at = op.args
        index = self.index(op.data, list(map(self.text, at)))
        if is_active(base) and (op.code == "store" or is_active(value)):
            dot = self.dot(value) if is_active(value) else "0.0"
            self._change(op, self.dot(base), index, dot)
        self._change(op, self.text(base), index, self.text(value))

    def _change(self, op: Op, base: str, index: str, value: str) -> None:
        if op.f is np.add:
            if ":" in index:
                raise UnsupportedError("np.add.at with slices in a tangent")
            self.out.add(f"{self.constants.name(np.add)}.at({base}, ({index}), {value})")
            return
        sign = {"store": "=", "add": "+=", "sub": "-="}[op.code]
        is_whole = op.data == ("known", Ellipsis) and op.code != "store"
        self.out.add(f"{base} {sign} {value}" if is_whole else f"{base}[{index}] {sign} {value}")

    def _dot_of(self, op: Op) -> str:
        """Return the tangent of what an operation makes."""
        v: Any = op.out
        if v.is_complex or any(a.is_complex for a in op.args):
            raise UnsupportedError("complex numbers in a tangent")
        if op.code in _OF_ARRAYS and is_active(op.args[0]):
            return self._with(op, {op.args[0]: self.dot(op.args[0])})
        if op.code in _OF_ARRAYS or not depends(op):  # something is written into a new array later
            return self._zeros_like(v) if v.kind.is_array else "0.0"
        if op.code != "call" or v.kind.parts:
            raise UnsupportedError(f"{op.code} in a tangent")
        if is_display(op) or joined_axis(op) is not None:
            return self._with(op, self._dots_of_parts(op.args[0].op.args))
        if is_copy(op) or is_reshape(op) or summed_axes(op) is not None:
            return self._with(op, {op.args[0]: self.dot(op.args[0])})
        if reduced(op) is not None:
            return self._dot_of_reduced(op)
        if of_matrices(op) is not None:
            return self._dot_of_matrices(op)
        if op.f in _EXTREMA and len(op.args) == 2 and is_own_rule(op.rule.rule):
            return self._dot_of_chosen(op)
        if is_elementwise(op):
            return self._by_partials(op, differentiated_again(op))
        return self._dot_of_linear(op)

    def _dot_of_chosen(self, op: Op) -> str:
        """Return the tangent of the larger or smaller of two: of equal ones it is the mean."""
        (a, b), y = op.args, self.text(op.out)  # type: ignore[arg-type] # a call makes a value
        a_dot, b_dot = [self.dot(x) if is_active(x) else "0.0" for x in op.args]
        is_a, is_b = f"({y} == {self.text(a)})", f"({y} == {self.text(b)})"
        mean = f"0.5 * ({a_dot} + {b_dot})"
        if not op.out.kind.is_array:  # type: ignore[union-attr] # a call makes a value
            of_a = f"({mean} if {is_b} else {a_dot})"
            return f"{of_a} if {is_a} else ({b_dot} if {is_b} else 0.0)"
        where = self.constants.name(np.where)
        of_a = f"{where}({is_b}, {mean}, {a_dot})"
        return f"{where}({is_a}, {of_a}, {where}({is_b}, {b_dot}, 0.0))"

    def _dot_of_linear(self, op: Op) -> str:
        """Return the tangent of what is linear in its arguments, together or one by one."""
        active = [a for a in dict.fromkeys((*op.args, *op.options.values())) if is_active(a)]
        if function_of(op.f) in _MULTILINEAR or (
            function_of(op.f) in _LINEAR and active == op.args[:1] and is_own_rule(op.rule.rule)
        ):
            return self._sum_over(op, active)
        rule = getattr(op.rule, "rule", None)
        if not isinstance(rule, LinearRule):
            raise UnsupportedError(f"the tangent of {op.f}")
        linear = [a for j in rule.argnums for a in op.rule.args[j : j + 1] if isinstance(a, Value)]
        if not set(active) <= set(linear) or not set(active).isdisjoint(op.options.values()):
            raise UnsupportedError(f"the tangent of {op.f}")
        if not rule.joint:
            return self._sum_over(op, active)
        return self._with(op, {a: self._dot_or_zero(a) for a in linear})

    def _sum_over(self, op: Op, active: list[Value]) -> str:
        """Return the tangent of what is linear in each argument by itself."""
        terms = []
        for j, a in enumerate(op.args):
            if a in active:
                moved = copy.copy(a)  # the array may be another argument, too
                args = [*op.args[:j], moved, *op.args[j + 1 :]]
                term = Op(op.code, args, f=op.f, options=op.options, data=op.data)
                terms.append(self._with(term, {moved: self.dot(a)}))
        return " + ".join(terms)

    def _dots_of_parts(self, parts: Iterable[Value]) -> dict[Value, str]:
        found: dict[Value, str] = {}
        for part in parts:
            if part.op.code == "tuple":
                found |= self._dots_of_parts(part.op.args)
            else:
                found[part] = self._dot_or_zero(part)
        return found

    def _by_partials(self, op: Op, bound: Bound) -> str:
        """Return the sum of partial derivatives times tangents, in the shape of the result."""
        out: Any = op.out
        read: set[int] = set()

        def argument(i: int) -> Any:
            return out if i == 0 else bound.args[i - 1]

        def text(i: int) -> str:
            a = argument(i)
            read.add(i)
            return self.text(a) if isinstance(a, Value) else self.const(a)

        terms: list[str] = []
        for j, a in enumerate(bound.args):
            if not (isinstance(a, Value) and is_active(a)):
                continue
            partial = bound.rule.partials[0][j]
            d = slope_of_power(op, bound, j, text)
            d = d or partial_source(partial, text, bound.rule.n + 1, self.constants)
            if d is None:
                raise UnsupportedError("a partial derivative that is not a number")
            if d == "0":
                continue
            read.add(j + 1)
            one = {"1": self.dot(a), "-1": f"(-{self.dot(a)})"}
            terms.append(one.get(d) or f"({d} * {self.dot(a)})")
        if out.kind.is_array:
            arrays = {i for i, a in enumerate(bound.args, 1) if _is_array(a)}
            if not terms or not (0 in read or arrays <= read):
                terms.append(self._zeros_like(out))
        return " + ".join(terms) if terms else "0.0"

    def _dot_of_reduced(self, op: Op) -> str:
        """Return the tangent of an extremum or of a norm: that of the elements that it is."""
        _, axes, keepdims = reduced(op)  # type: ignore[misc] # it is one
        x, y = op.args[0], self.text(op.out)  # type: ignore[arg-type] # a call makes a value
        total, ndim = self.constants.name(np.sum), x.kind.ndim
        whole = len(axes) == ndim
        kept = "" if keepdims or whole else _index_of_kept(axes, ndim)
        along = "" if whole and not keepdims else f", axis={axes!r}, keepdims={keepdims!r}"
        if function_of(op.f) is np.linalg.norm:
            return f"{total}({self.text(x)} * {self.dot(x)}{along}) / {y}"
        is_one = f"({self.text(x)} == {y}{kept})"
        where = self.constants.name(np.where)
        chosen = f"{total}({where}({is_one}, {self.dot(x)}, 0.0){along})"
        return f"{chosen} / {total}({where}({is_one}, 1.0, 0.0){along})"

    def _dot_of_matrices(self, op: Op) -> str:
        """Return the tangent of an inverse, determinant or solution."""
        out: Any = op.out
        a, y = op.args[0], self.text(out)
        if op.f is np.linalg.inv:
            return f"-({y} @ {self.dot(a)} @ {y})"
        if op.f is np.linalg.det:
            inverse = f"{self.constants.name(np.linalg.inv)}({self.text(a)})"
            return f"{y} * {self.constants.name(np.sum)}({inverse}.T * {self.dot(a)})"
        b = op.args[1]
        right = [self.dot(b)] if is_active(b) else []
        right += [f"- {self.dot(a)} @ {y}"] if is_active(a) else []
        return f"{self.constants.name(np.linalg.solve)}({self.text(a)}, {' '.join(right)})"


def _index_of_kept(axes: tuple[int, ...], ndim: int) -> str:
    return f"[{', '.join('None' if k in axes else ':' for k in range(ndim))}]"


def _is_array(x: Any) -> bool:
    return x.kind.is_array if isinstance(x, Value) else np.ndim(x) > 0
