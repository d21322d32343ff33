"""Code generation of the tangent function of a program, which pushes tangents forward.

It is source like the user's own: each operation is followed by its tangent, and each active
variable ``x`` has a tangent variable ``x_d``. So it can be read, swept and compiled like any
function with loops. Second derivatives are its derivatives.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autodiff.structured.callables.recursive_calls import RecursiveCallee
from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WRITES,
    Block,
    For,
    If,
    Op,
    Slot,
    Value,
    While,
    ops_of,
)
from autodiff.structured.form.indices import WHOLE
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.runtime_library import ChangedError, check_array
from autodiff.structured.writing.activity import depends, holds_active, is_active
from autodiff.structured.writing.list_mutations import mutation
from autodiff.structured.writing.result_guards import needs_guard
from autodiff.structured.writing.source_writer import CodeLines, new_bindings
from autodiff.structured.writing.tangent_calls import CallTangents

_READS = frozenset({"const", "read", "form", "tuple", "part", "length", "draw"})
_PARTS = frozenset({"view", "load", "item", "join"})
_DISPLAYS = frozenset({"list", "dict"})


class TangentWriter(CallTangents):
    """Writes the function that returns the results of a program and their tangents."""

    def tangent(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the source of the tangent function, and the constants that it reads by name.

        The function takes the parameters of the program, then the tangents of the active ones. It
        returns the results of the program and the arrays that it writes into, then the tangents of
        the active ones among these.

        Raises
        ------
        UnsupportedError
            If the tangent of an operation cannot be written as source.
        """
        program = self.program
        calls_one = any(type(op.f) is RecursiveCallee for op in ops_of(program.body))
        if program.catches or program.has_errstates or calls_one:
            raise UnsupportedError("exceptions, error states or recursion in a tangent")
        ends: list[Slot | Value] = [*program.parameters, *self.outputs]
        if any(x.kind is not None and x.kind.has_items for x in ends):
            raise UnsupportedError("lists as arguments or results in a tangent")
        out = self.out = CodeLines()
        self.constants.scope["Changed"] = ChangedError
        active = [s for s in program.parameters if holds_active(s)]
        if any(s.kind is not None and s.kind.is_complex for s in active):
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
        for slot in program.slots:  # results of inlined functions that return in a loop
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
            f"{s.name}_given" if s in self.written_parameters else f"{s.name}_d" for s in active
        ]
        return "\n".join([f"def {name}({', '.join(given)}):", *out.lines, ""]), self.constants.scope

    # -- values and their tangents -----------------------------------------------------------------

    def text(self, v: Value) -> str:
        """Return a value as source."""
        if v.op.code == "tuple":
            return self.operation(v.op, self.text)
        return super().text(v)

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
        """Bind a variable to a zero of its kind: reading the source would find it unbound."""
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
            self.out.inside("while True:", lambda: self._while_body(node), last)

    def _while_body(self, node: While) -> None:
        self._nodes(node.before)
        self.out.add(f"if not {self.text(node.test)}: break")
        self._nodes(node.body)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op, block)
            self._check(op)
        names, values = [], []
        for slot, v in new_bindings(block):
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
            if self._is_rebound(v, block):
                self.out.add(f"{v.name} = {op.data.name}")
                if is_active(v):
                    self.out.add(f"{v.name}_d = {op.data.name}_d")
                self.renamed.add(v)
            return
        if op.code not in ("call", *_READS, *_PARTS, *_DISPLAYS):
            raise UnsupportedError(f"{op.code} in a tangent")
        if op.code == "call" and is_active(v):
            self._call(op)
            return
        self.out.add(f"{v.name} = {self._user_source(op, self.text)}")
        if not is_active(v):
            return
        dot = self._dot_of(op)
        assert dot is not None  # it is no call
        self._bind_dot(op, dot)

    def _check(self, op: Op) -> None:
        """Write the guard of an array that may turn out to be something else.

        The code after it is written for an array: ``s += t`` changes an array, and binds a number.
        """
        v = op.out
        if v is not None and v.kind.is_array and needs_guard(op):
            check, dtype = map(self.constants.name, (check_array, v.kind.dtype))
            self.out.add(f"{check}({v.name}, {v.kind.ndim}, {dtype})")

    def _bind_dot(self, op: Op, dot: str) -> None:
        v: Any = op.out
        if dot != self._zeros_like(v) and self._needs_own_memory(op, dot):
            self._in_own_memory(dot, self.dot(v), v.name)
        else:
            self.out.add(f"{v.name}_d = {dot}")

    def _needs_own_memory(self, op: Op, dot: str) -> bool:
        """Whether a new array, or an argument with the same tangent, is written into somewhere."""
        if not makes_new(op):
            return False
        same = [a for a in op.args if a.memory is not None and is_active(a) and self.dot(a) == dot]
        arrays = [v for v in (op.out, *same) if v is not None and v.memory is not None]
        return any(v.root.is_written for v in arrays)

    def _in_own_memory(self, given: str, dot: str, array: str) -> None:
        """Copy a tangent to new memory with the layout of its array.

        Each write into the array becomes a write into the tangent, too. So no other tangent may
        share its memory (the tangent of ``x + 1.0`` is that of ``x``), and views of the array and
        of the tangent must correspond (``x.reshape(-1)`` is a copy for some layouts).
        """
        self.out.add(f"{dot} = {self.constants.name(np.zeros_like)}({array})")
        self.out.add(f"{dot} += {given}")

    def _write(self, op: Op) -> None:
        if op.code == "break":
            self.out.add(f"{op.data} = True")
            return
        if op.code == "raise":
            self.out.add("raise Changed")
            return
        if op.code in LIST_WRITES:
            self._change_list(op)
            return
        if op.code not in WRITES:
            raise UnsupportedError(f"{op.code} in a tangent")
        base, value, *at = op.args
        index = self.index(op.data, list(map(self.text, at)))
        if is_active(base) and (op.code == "store" or is_active(value)):
            dot = self.dot(value) if is_active(value) else "0.0"
            self._change(op, self.dot(base), index, dot)
        self._change(op, self.text(base), index, self.text(value))

    def _change_list(self, op: Op) -> None:
        """Write the mutation of a list or dict, and that of the list of its tangents.

        The latter comes first: the index may be an item of the list.
        """
        xs, *rest = op.args
        both: list[tuple[str, Any]] = []
        if is_active(xs):
            both.append((self.dot(xs), self._dot_of_item))
        both.append((self.text(xs), self.text))
        value = [] if op.code == "drop" else [rest.pop(0)]
        at = "".join(map(self.text, rest))
        for name, text in both:
            item = "".join(map(text, value))
            if op.code == "insert" and xs.kind.is_queue and text == self.text:  # at the left
                self.out.add(f"{name}.appendleft({item})")
            else:
                self.out.add(mutation(op, name, item, at))

    def _change(self, op: Op, base: str, index: str, value: str) -> None:
        """Write a write into an array or its tangent."""
        if op.f is np.add:
            if ":" in index:
                raise UnsupportedError("np.add.at with slices in a tangent")
            self.out.add(f"{self.constants.name(np.add)}.at({base}, ({index}), {value})")
            return
        sign = {"store": "=", "add": "+=", "sub": "-="}[op.code]
        is_whole = op.data == WHOLE and op.code != "store"
        self.out.add(f"{base} {sign} {value}" if is_whole else f"{base}[{index}] {sign} {value}")

    def _dot_of(self, op: Op) -> str | None:
        """Return the tangent of the result of an operation; None if source cannot express it."""
        v: Any = op.out
        if v.is_complex or any(a.is_complex for a in op.args):
            raise UnsupportedError("complex numbers in a tangent")
        if op.code in _DISPLAYS:
            return self._displayed(op)
        if op.code in _PARTS and is_active(op.args[0]):
            return self._with(op, {op.args[0]: self.dot(op.args[0])})
        if op.code in _PARTS or not depends(op):  # active only by a later write
            return self._zeros_like(v) if v.kind.is_array else "0.0"
        if op.code == "part":  # of the tuple that `_pushed_by_rule` returns
            made = op.args[0]
            return f"{self.text(made)}[{len(made.kind.parts) + op.data}]"
        return self._dot_of_call(op)

    def _displayed(self, op: Op) -> str:
        """Return a display of the tangents of the items of a list or dict display."""
        if op.code == "dict":
            return self.dict_of(op, list(map(self._dot_of_item, op.args)))
        if op.f is not None:  # an empty deque: the program itself drops items beyond its length
            return "[]"
        items, times = (op.args[:-1], op.args[-1:]) if op.data else (op.args, [])
        made = f"[{', '.join(map(self._dot_of_item, items))}]"
        return " * ".join([made, *map(self.text, times)])

    def _dot_of_item(self, v: Value) -> str:
        """Return the tangent of an item that is put into a list; if inactive, it is never read."""
        if is_active(v):
            return self.dot(v)
        return "0.0" if v.kind.is_scalar else self.text(v)
