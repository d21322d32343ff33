"""Analysis: which numbers a program may compute with Python floats instead of NumPy's.

Python computes with its own floats about twice as fast as with NumPy's, and reads an element
through a `memoryview` twice as fast as from an array, with the same bits. So in loops, elements of
float64 arrays are read and written through memoryviews, and arithmetic on them uses Python floats.
From arrays that an iteration makes, elements are read by the method `item`.

A number is *loose* if it may be a `float` where the user's function has a `numpy.float64`, or a
`bool` where that has a `numpy.bool`. Operations are *lenient* if they give the same result for
both: arithmetic, ufuncs, `math`, comparisons, branches, writes into arrays. All others, and the
caller, get the number converted to NumPy's class. A variable that holds a `numpy.float64` or a
number of another class cannot be converted: if its class matters, it is not loose.

Python raises an error where NumPy divides by zero, and does not warn of an overflow. After the
first such error, or the first result that is not finite, the program is rewritten without loose
numbers (`Structured.run`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator

import numpy as np

from autodiff.structured.form.function_ir import (
    WRITES,
    Block,
    For,
    FunctionIR,
    If,
    Op,
    Slot,
    Value,
    While,
    blocks_of,
    flat,
    known,
)
from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.kinds import Kind
from autodiff.structured.form.order import bound_in
from autodiff.structured.writing.rules.known_adjoints import is_display

_LOOSE = frozenset([np.float64, np.bool_])  # NumPy's classes that a loose number replaces
_REAL = frozenset([bool, int, float, np.float64, np.int64])
_FLOATS = frozenset([float, np.float64])
_TRUTHS = frozenset([bool, np.bool_])
_INTEGERS = frozenset([int, np.int64])
_REAL_ARRAYS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
_COMPARE = frozenset(
    {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, min, max}
)
_KEEPS_LOOSE = _COMPARE | {
    operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
    operator.abs, abs, operator.pow,
}  # fmt: skip
"""Python functions whose result for a loose number is loose."""
_MATH = [getattr(math, name) for name in dir(math) if not name.startswith("_")]
_ENDS_LOOSE = frozenset({operator.not_, bool, int, float, *_MATH})
"""Functions whose result for a loose number has the class that it would have anyway."""


class PlainFloats:
    """The result of the analysis of a program; empty without one.

    Attributes
    ----------
    arrays : set of Slot
        The variables whose arrays are accessed through a memoryview.
    elements : set of Op
        The accesses through memoryviews.
    items : set of Op
        The reads of elements of other arrays, by the method ``item``.
    lenient : set of Op
        The operations that take loose numbers.
    loose : set of Value and Slot
        The loose numbers, and the variables that may hold one.
    """

    def __init__(self, program: FunctionIR | None = None) -> None:
        self.arrays: set[Slot] = set()
        self.elements: set[Op] = set()
        self.items: set[Op] = set()
        self.lenient: set[Op] = set()
        self.loose: set[Value | Slot] = set()
        self._strict: set[Value | Slot] = set()  # whose class matters and cannot be restored
        if program is None:
            return
        self._find_elements(program.body, None)
        if self.elements or self.items:
            blocks = list(blocks_of(program.body))
            self._find_lenient(program, blocks)
            self._keep_lenient_items(blocks)
            self._find_loose(blocks)

    def _find_elements(self, nodes: list, bound: set[Slot] | None) -> None:
        """Find element accesses in loops: by memoryview, if the loop does not rebind the array.

        `bound` has the variables that the innermost loop binds; it is None outside of loops.
        """
        for node in nodes:
            if isinstance(node, If):
                self._find_elements(node.then, bound)
                self._find_elements(node.otherwise, bound)
            elif isinstance(node, For):
                self._find_elements(node.body, bound_in(node.body))
            elif isinstance(node, While):
                body = [*node.before, *node.body]
                self._find_elements(body, bound_in(body))
            elif bound is not None:
                for op in filter(_is_element, node.ops):
                    base = op.args[0].op
                    slot = base.data if base.code == "read" else None
                    if slot is not None and (slot.is_stable or slot not in bound):
                        self.elements.add(op)
                        self.arrays.add(slot)
                    elif op.code == "load":
                        self.items.add(op)

    def _keep_lenient_items(self, blocks: list[Block]) -> None:
        """Keep only those reads by ``item`` whose class never matters."""
        others = {v for block in blocks for v in block.writes.values()}
        for op in [op for block in blocks for op in block.ops if op not in self.lenient]:
            others.update(op.operands)
        self.items = {op for op in self.items if op.out not in others}

    def _find_lenient(self, program: FunctionIR, blocks: list[Block]) -> None:
        """Find the operations that take loose numbers, and the numbers that must not be loose."""
        ops = [op for block in blocks for op in block.ops]
        self.lenient = set(filter(_is_lenient, ops))
        for op in filter(_is_display_of_floats, ops):
            self.lenient.add(op)
            self.lenient.update(_tuples_in(op.args[0]))
        strict = self._strict
        strict.update([v for v in flat(program.returned) if _is_mixed(v)])
        strict.update([slot for slot in program.slots if not _is_number(slot.kind)])
        before = -1
        while before < len(strict):
            before = len(strict)
            for op in ops:
                if op.out in strict:
                    self.lenient.discard(op)
                    if op.code == "read":
                        strict.add(op.data)
                if op not in self.lenient:
                    strict.update([v for v in op.operands if _is_mixed(v)])
            for block in blocks:
                strict.update([v for s, v in block.writes.items() if s in strict and _is_mixed(v)])

    def _find_loose(self, blocks: list[Block]) -> None:
        """Find the loose numbers: elements, and what lenient operations compute from them."""
        loose = self.loose
        loose.update([op.out for op in (*self.elements, *self.items) if op.out is not None])
        # Numbers that are bound before the loops are converted there.
        slots = [s for block in blocks for s, v in block.writes.items() if _is_float(v)]
        loose.update([s for s in slots if s.is_stable and s not in self._strict])
        before = -1
        while before < len(loose):
            before = len(loose)
            for block in blocks:
                for op in block.ops:
                    if op.out is not None and self._is_loose(op):
                        loose.add(op.out)
                loose.update([
                    slot for slot, v in block.writes.items()
                    if v in loose and slot not in self._strict
                ])  # fmt: skip

    def _is_loose(self, op: Op) -> bool:
        """Whether the result of an operation is a loose number."""
        if op.out in self._strict or op.out.kind.classes.isdisjoint(_LOOSE):
            return False
        if op.code == "read":
            return op.data in self.loose
        return op in self.lenient and op.f in _KEEPS_LOOSE and not self.loose.isdisjoint(op.args)


def _is_element(op: Op) -> bool:
    """Whether an operation reads or writes one element of a float64 array."""
    if op.code == "load":
        base, *at = op.args
    elif op.code in WRITES and op.args[1].kind.classes <= _REAL:
        base, _, *at = op.args
    else:
        return False
    if base.kind.dtype != np.float64:
        return False
    if base.op.code == "read" and base.op.data.kind.dtype != np.float64:  # holds others, too
        return False
    if type(op.data) is not tuple or not at or len(at) != base.kind.ndim:
        return False
    is_one = all(part[0] == "value" for part in parts_of_index(op.data))
    return is_one and all(v.kind.classes <= _INTEGERS for v in at)


def _is_lenient(op: Op) -> bool:
    """Whether an operation gives the same result for loose numbers, judged by its arguments."""
    if op.code in WRITES:
        base, value = op.args[:2]
        return base.kind.dtype == np.float64 and value.kind.classes <= _REAL
    if op.code != "call" or op.options:
        return False
    if op.f in (operator.not_, bool):
        return all(_is_number(v.kind) for v in op.args)
    if not all(map(_is_real, op.args)):
        return False
    if op.f is operator.pow:  # fractional powers of negative Python floats are complex
        exponent = known(op.args[1])
        return type(exponent) is int and exponent >= 0
    if op.f in _COMPARE and not all(map(_is_compared_as_float, op.args)):
        return False
    if op.f in (min, max):
        return len(op.args) > 1
    return isinstance(op.f, np.ufunc) or op.f in _KEEPS_LOOSE or op.f in _ENDS_LOOSE


def _is_display_of_floats(op: Op) -> bool:
    """Whether an operation makes a float64 array from a display of numbers."""
    is_one = op.code == "call" and is_display(op) and op.out.kind.dtype == np.float64
    return is_one and all(v.kind.classes <= _REAL for v in _numbers_in(op.args[0]))


def has_low_precision(kind: Kind) -> bool:
    """Whether a number or array may be less precise than a Python float."""
    kinds = kind.classes if kind.dtype is None else {kind.dtype.type}
    return not kinds.isdisjoint((np.float16, np.float32, np.complex64))


def mixes_precisions(program: FunctionIR) -> bool:
    """Whether a program has numbers of low precision.

    A Python float would take the precision of the other factor, so no cotangent may be one.
    """
    kinds = [slot.kind for slot in program.slots if slot.kind]
    kinds += [op.out.kind for block in blocks_of(program.body) for op in block.ops if op.out]
    return any(map(has_low_precision, kinds))


def _tuples_in(v: Value) -> Iterator[Op]:
    """Yield the nested tuples of a display that nothing else reads."""
    if v.op.code == "tuple" and v.uses == 1:
        yield v.op
        for part in v.op.args:
            yield from _tuples_in(part)


def _numbers_in(v: Value) -> Iterator[Value]:
    if v.op.code != "tuple":
        yield v
        return
    for part in v.op.args:
        yield from _numbers_in(part)


def _is_real(v: Value) -> bool:
    if v.kind.is_array:  # no float32: unlike `numpy.float64`, a Python float does not promote it
        return v.kind.dtype in _REAL_ARRAYS
    return v.kind.classes <= _REAL


def _is_compared_as_float(v: Value) -> bool:
    """Whether Python compares a value as a float, and not as an exact larger integer."""
    if v.kind.is_array or v.kind.classes <= _FLOATS:
        return True
    return v.kind.is_known and abs(v.kind.value) <= 2**53


def _is_number(kind: Kind | None) -> bool:
    return kind is not None and (kind.classes <= _REAL or kind.classes <= _TRUTHS)


def _is_float(v: Value) -> bool:
    return v.kind.classes == {np.float64}


def _is_mixed(v: Value) -> bool:
    """Whether a number may be of a class that loose numbers replace, or of another."""
    return len(v.kind.classes) > 1 and not v.kind.classes.isdisjoint(_LOOSE)
