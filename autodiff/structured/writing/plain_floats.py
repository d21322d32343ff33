"""Which numbers a program computes with Python's own floats, and which arrays it reads for that.

Python adds and multiplies its own floats about twice as fast as NumPy's, and reads an element
through a `memoryview` twice as fast as from an array. Both give the same bits. So in loops,
elements of arrays of float64 are read and written through memoryviews, and what is computed from
them are Python's floats. Of an array that is made anew in each turn, elements are read by its
method `item`.

A number is *loose* if it may be a `float` where the function has a `numpy.float64`, or a `bool`
where it has a `numpy.bool`. Only operations that make the same of both take loose numbers:
arithmetic, ufuncs, `math`, comparisons, branches, and writes into arrays. All others, and the
caller, get the number in NumPy's class. That is not possible for a variable which holds a
`numpy.float64` at one time and another number at another: if its class matters, it is not loose.

Python raises an error where NumPy divides by zero, and does not warn where NumPy warns of an
overflow. The first such error, or a result that is not finite, makes the program one without loose
numbers (`Structured.run`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator

import numpy as np

from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.ir import (
    WRITES,
    Block,
    For,
    If,
    Op,
    Program,
    Slot,
    Value,
    While,
    blocks_of,
    flat,
    known,
)
from autodiff.structured.form.kinds import Kind
from autodiff.structured.form.order import binds
from autodiff.structured.writing.rules.calls_without_rules import is_display

_LOOSE = frozenset([np.float64, np.bool_])  # the classes that a loose number stands for
_REAL = frozenset([bool, int, float, np.float64, np.int64])
_FLOATS = frozenset([float, np.float64])
_TRUTHS = frozenset([bool, np.bool_])
_INTEGERS = frozenset([int, np.int64])
_REAL_ARRAYS = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_))
_COMPARE = frozenset(
    {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, min, max}
)
_HAND_ON = _COMPARE | {
    operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
    operator.abs, abs, operator.pow,
}  # fmt: skip
"""Functions of Python that make a loose number of a loose number."""
_MATH = [getattr(math, name) for name in dir(math) if not name.startswith("_")]
_END = frozenset({operator.not_, bool, int, float, *_MATH})
"""Functions that make the same of a loose number, in the same class."""


class PlainFloats:
    """What is found of a program; nothing without one.

    Attributes
    ----------
    arrays : set of Slot
        The variables whose arrays are read and written through a memoryview.
    elements : set of Op
        Where that happens.
    items : set of Op
        Where an element of any other array is read by its method ``item``.
    lenient : set of Op
        The operations that take loose numbers.
    loose : set of Value and Slot
        The loose numbers, and the variables that may hold one.
    """

    def __init__(self, program: Program | None = None) -> None:
        self.arrays: set[Slot] = set()
        self.elements: set[Op] = set()
        self.items: set[Op] = set()
        self.lenient: set[Op] = set()
        self.loose: set[Value | Slot] = set()
        self._right: set[Value | Slot] = set()  # whose class matters, and cannot be put right
        if program is not None:
            self._find_elements(program.body, None)
        if program is not None and (self.elements or self.items):
            blocks = list(blocks_of(program.body))
            self._find_lenient(program, blocks)
            self._keep_lenient_items(blocks)
            self._find_loose(blocks)

    def _find_elements(self, nodes: list, loop: list | None) -> None:
        """Find elements in loops that do not bind the variable of the array themselves."""
        for node in nodes:
            if isinstance(node, If):
                self._find_elements(node.then, loop)
                self._find_elements(node.otherwise, loop)
            elif isinstance(node, For):
                self._find_elements(node.body, node.body)
            elif isinstance(node, While):
                body = [*node.before, *node.body]
                self._find_elements(body, body)
            elif loop is not None:
                for op in filter(_is_element, node.ops):
                    base = op.args[0].op
                    slot = base.data if base.code == "read" else None
                    if slot is not None and (slot.is_stable or not binds(loop, slot)):
                        self.elements.add(op)
                        self.arrays.add(slot)
                    elif op.code == "load":
                        self.items.add(op)

    def _keep_lenient_items(self, blocks: list[Block]) -> None:
        """Keep the elements that are read by ``item`` alone whose class nobody asks for."""
        others = {v for block in blocks for v in block.writes.values()}
        for op in [op for block in blocks for op in block.ops if op not in self.lenient]:
            others.update((*op.args, *op.options.values()))
        self.items = {op for op in self.items if op.out not in others}

    def _find_lenient(self, program: Program, blocks: list[Block]) -> None:
        """Find the operations that take loose numbers, and the numbers that cannot be loose."""
        ops = [op for block in blocks for op in block.ops]
        self.lenient = set(filter(_is_lenient, ops))
        for op in filter(_is_display_of_floats, ops):
            self.lenient.add(op)
            self.lenient.update(_tuples_in(op.args[0]))
        right = self._right
        right.update([v for v in flat(program.returned) if _is_mixed(v)])
        right.update([slot for slot in program.slots if not _is_number(slot.kind)])
        before = -1
        while before < len(right):
            before = len(right)
            for op in ops:
                if op.out in right:
                    self.lenient.discard(op)
                    if op.code == "read":
                        right.add(op.data)
                if op not in self.lenient:
                    right.update([v for v in (*op.args, *op.options.values()) if _is_mixed(v)])
            for block in blocks:
                right.update([v for s, v in block.writes.items() if s in right and _is_mixed(v)])

    def _find_loose(self, blocks: list[Block]) -> None:
        """Find what may be loose, from the elements on."""
        loose = self.loose
        loose.update([op.out for op in (*self.elements, *self.items) if op.out is not None])
        # Numbers that are bound before the loops are converted there.
        slots = [s for block in blocks for s, v in block.writes.items() if _is_float(v)]
        loose.update([s for s in slots if s.is_stable and s not in self._right])
        before = -1
        while before < len(loose):
            before = len(loose)
            for block in blocks:
                for op in block.ops:
                    if op.out is not None and self._is_loose(op):
                        loose.add(op.out)
                loose.update([
                    slot for slot, v in block.writes.items()
                    if v in loose and slot not in self._right
                ])  # fmt: skip

    def _is_loose(self, op: Op) -> bool:
        """Whether an operation makes a loose number."""
        if op.out in self._right or op.out.kind.classes.isdisjoint(_LOOSE):  # type: ignore[union-attr]
            return False
        if op.code == "read":
            return op.data in self.loose
        return op in self.lenient and op.f in _HAND_ON and not self.loose.isdisjoint(op.args)


def _is_element(op: Op) -> bool:
    """Whether an operation reads or writes one element of an array of float64."""
    if op.code == "load":
        base, *at = op.args
    elif op.code in WRITES and op.args[1].kind.classes <= _REAL:
        base, _, *at = op.args
    else:
        return False
    if base.kind.dtype != np.float64:
        return False
    if base.op.code == "read" and base.op.data.kind.dtype != np.float64:  # or other things, too
        return False
    if type(op.data) is not tuple or not at or len(at) != base.kind.ndim:
        return False
    is_one = all(part[0] == "value" for part in parts_of_index(op.data))
    return is_one and all(v.kind.classes <= _INTEGERS for v in at)


def _is_lenient(op: Op) -> bool:
    """Whether an operation makes the same of both classes, as far as its arguments tell."""
    if op.code in WRITES:
        base, value = op.args[:2]
        return base.kind.dtype == np.float64 and value.kind.classes <= _REAL
    if op.code != "call" or op.options:
        return False
    if op.f in (operator.not_, bool):
        return all(_is_number(v.kind) for v in op.args)
    if not all(map(_is_real, op.args)):
        return False
    if op.f is operator.pow:  # of a negative number, floats may become complex
        exponent = known(op.args[1])
        return type(exponent) is int and exponent >= 0
    if op.f in _COMPARE and not all(map(_is_compared_as_float, op.args)):
        return False
    if op.f in (min, max):
        return len(op.args) > 1
    return isinstance(op.f, np.ufunc) or op.f in _HAND_ON or op.f in _END


def _is_display_of_floats(op: Op) -> bool:
    """Whether an operation makes an array of float64 of single numbers."""
    is_one = op.code == "call" and is_display(op) and op.out.kind.dtype == np.float64  # type: ignore[union-attr]
    return is_one and all(v.kind.classes <= _REAL for v in _numbers_in(op.args[0]))


def _tuples_in(v: Value) -> Iterator[Op]:
    """Yield the tuples that an array is made of, if nobody else reads them."""
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
    if v.kind.is_array:  # in single precision, a float of Python would stay single
        return v.kind.dtype in _REAL_ARRAYS
    return v.kind.classes <= _REAL


def _is_compared_as_float(v: Value) -> bool:
    """Whether it is a float, or an integer that is one: Python compares larger ones exactly."""
    if v.kind.is_array or v.kind.classes <= _FLOATS:
        return True
    return v.kind.is_known and abs(v.kind.value) <= 2**53


def _is_number(kind: Kind | None) -> bool:
    return kind is not None and (kind.classes <= _REAL or kind.classes <= _TRUTHS)


def _is_float(v: Value) -> bool:
    return v.kind.classes == {np.float64}


def _is_mixed(v: Value) -> bool:
    """Whether a number may be of a class that a loose one stands for, or of another."""
    return len(v.kind.classes) > 1 and not v.kind.classes.isdisjoint(_LOOSE)
