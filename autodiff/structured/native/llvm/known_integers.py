"""Integers and addresses that are computed once: which are equal for sure, or constants."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from autodiff.structured.form.kinds import UnsupportedError

_WORD, _TRUTH = ir.IntType(64), ir.IntType(1)
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_LARGE = 1 << 62
_COMMUTATIVE = frozenset({"add", "mul", "or", "and", "xor", "icmp eq", "icmp ne"})
_COMPUTED: dict[str, Callable] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
_COMPARED: dict[str, Callable] = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le,
    "sgt": operator.gt, "sge": operator.ge,
}  # fmt: skip
_HOLDS_FOR_EQUAL = frozenset({"eq", "sle", "sge", "ule", "uge"})


class KnownIntegers:
    """What is known in one block, and so in all blocks that are reached only through it.

    Parameters
    ----------
    outer : KnownIntegers, optional
        What is known where the block begins.
    """

    __slots__ = ("_equal", "_made", "_outer")

    def __init__(self, outer: KnownIntegers | None = None) -> None:
        self._outer = outer
        self._made: dict[tuple, Any] = {}  # operation and operands → the instruction
        self._equal: dict[int, Any] = {}  # id of a value → another one that is equal

    def inner(self) -> KnownIntegers:
        """Return what is known where a branch or the body of a loop begins."""
        return KnownIntegers(self)

    def representative(self, x: Any) -> Any:
        """Return the same for all values that are known to be equal."""
        scope: KnownIntegers | None = self
        while scope is not None:
            found = scope._equal.get(id(x))
            if found is None:
                scope = scope._outer
            else:
                x, scope = found, self
        return x

    def key(self, x: Any) -> Any:
        """Return a key of a value: values with equal keys are equal."""
        x = self.representative(x)
        return (x.type.width, x.constant) if _is_number(x) else id(x)

    def equate(self, x: Any, y: Any) -> None:
        """Note that two values are equal from here on."""
        x, y = self.representative(x), self.representative(y)
        if isinstance(x, ir.Constant):
            x, y = y, x
        if x is not y and not isinstance(x, ir.Constant):
            self._equal[id(x)] = y

    def note(self, test: Any, holds: bool) -> None:
        """Note whether a test holds from here on."""
        test = self.representative(test)
        if not isinstance(test, ir.Instruction):
            return
        self._equal[id(test)] = ir.Constant(_TRUTH, int(holds))
        if test.opname == ("and" if holds else "or"):
            for part in test.operands:
                self.note(part, holds)
        elif test.opname == "xor" and _is_number(test.operands[1]):
            self.note(test.operands[0], holds != bool(test.operands[1].constant & 1))
        elif test.opname == "icmp" and test.op == ("eq" if holds else "ne"):
            self.equate(*test.operands)

    def computed(self, name: str, operands: tuple, emit: Callable[..., Any], more: str = "") -> Any:
        """Return the result of an operation without side effects.

        It is a constant or an earlier instruction, if there is one that is equal; else `emit` makes
        the instruction, given the operands.
        """
        operands = tuple([self.representative(x) for x in operands])
        found = _folded(name, operands)
        if found is not None:
            return found
        keys = [self.key(x) for x in operands]
        if name in _COMMUTATIVE:
            keys.sort(key=str)
        key = (name, more, *keys)
        scope: KnownIntegers | None = self
        while scope is not None:
            if key in scope._made:
                return scope._made[key]
            scope = scope._outer
        found = self._made[key] = emit(*operands)
        return found


def _is_number(x: Any) -> bool:
    return isinstance(x, ir.Constant) and isinstance(x.constant, int)


def _folded(name: str, operands: tuple) -> Any:
    """Return an operation's result that is a constant or an operand; None if it is neither."""
    if name == "select":
        test, x, y = operands
        if _is_number(test):
            return x if test.constant & 1 else y
        return x if x is y else None
    x, y = operands[:2]
    if name.startswith("icmp "):
        if x is y:
            return ir.Constant(_TRUTH, int(name[5:] in _HOLDS_FOR_EQUAL))
        compare = _COMPARED.get(name[5:])
        if compare is None or not (_is_number(x) and _is_number(y)):
            return None
        return ir.Constant(_TRUTH, int(compare(x.constant, y.constant)))
    if name in _COMPUTED:
        return _sum_or_product(name, x, y)
    return _logical(name, x, y) if x.type == _TRUTH else None


def _sum_or_product(name: str, x: Any, y: Any) -> Any:
    if _is_number(x) and _is_number(y):
        n = _COMPUTED[name](x.constant, y.constant)
        return ir.Constant(x.type, n) if abs(n) < _LARGE else None
    if _is_number(x) and name != "sub":
        x, y = y, x
    if name == "sub" and x is y:
        return ir.Constant(x.type, 0)
    if not _is_number(y):
        return None
    if name == "mul" and y.constant == 0:
        return y
    return x if y.constant == (name == "mul") else None


def _logical(name: str, x: Any, y: Any) -> Any:
    """Return a folded operation on truth values."""
    if _is_number(x):
        x, y = y, x
    if not _is_number(y):
        return x if x is y and name != "xor" else None
    holds = y.constant & 1
    if name == "or":
        return y if holds else x
    if name == "and":
        return x if holds else y
    if name == "xor" and _is_number(x):
        return ir.Constant(_TRUTH, (x.constant & 1) ^ holds)
    return x if name == "xor" and not holds else None


class IntegerBuilder(ir.IRBuilder):
    """Builder of instructions that computes no integer or address twice.

    The lengths and strides of views would be most of what LLVM has to compile.

    Attributes
    ----------
    most : float
        The most instructions that it may emit.
    """

    def __init__(self, block: Any) -> None:
        super().__init__(block)
        self.most = float("inf")
        self._emitted = 0
        self._known: dict[Any, KnownIntegers] = {}  # by the block

    @property
    def known(self) -> KnownIntegers:
        """What is known of integers in the current block: nothing, unless somebody has set it."""
        found = self._known.get(self.block)
        if found is None:
            found = self._known[self.block] = KnownIntegers()
        return found

    @known.setter
    def known(self, known: KnownIntegers) -> None:
        self._known[self.block] = known

    def _insert(self, instruction: Any) -> None:
        self._emitted += 1
        if self._emitted > self.most:
            raise UnsupportedError("so long a loop")
        super()._insert(instruction)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """Add integers."""
        if flags:
            return super().add(lhs, rhs, name, flags)
        if isinstance(rhs, ir.Constant) and isinstance(lhs, ir.Instruction):
            before = lhs.operands[1] if lhs.opname == "add" and not lhs.flags else None
            if isinstance(before, ir.Constant):  # (x + 1) - 2
                total = self.add(before, rhs)
                if isinstance(total, ir.Constant):
                    return self.add(lhs.operands[0], total)
        return self.known.computed("add", (lhs, rhs), super().add)

    def sub(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """Subtract integers."""
        if flags:
            return super().sub(lhs, rhs, name, flags)
        if isinstance(rhs, ir.Constant) and rhs.type == _WORD:
            return self.add(lhs, ir.Constant(_WORD, -rhs.constant))
        return self.known.computed("sub", (lhs, rhs), super().sub)

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """Multiply integers."""
        if flags:
            return super().mul(lhs, rhs, name, flags)
        return self.known.computed("mul", (lhs, rhs), super().mul)

    def or_(self, lhs: Any, rhs: Any) -> Any:
        """Return the bitwise disjunction of integers."""
        return self.known.computed("or", (lhs, rhs), super().or_)

    def and_(self, lhs: Any, rhs: Any) -> Any:
        """Return the bitwise conjunction of integers."""
        return self.known.computed("and", (lhs, rhs), super().and_)

    def xor(self, lhs: Any, rhs: Any, name: str = "") -> Any:
        """Return the bitwise exclusive disjunction of integers."""
        return self.known.computed("xor", (lhs, rhs), super().xor)

    def _icmp(self, prefix: str, cmpop: str, lhs: Any, rhs: Any, name: str) -> Any:
        """Compare integers or addresses."""
        emit = functools.partial(super()._icmp, prefix, cmpop)
        is_signed = prefix if cmpop not in ("==", "!=") else ""
        operation = f"icmp {is_signed}{_COMPARISONS[cmpop]}"
        return self.known.computed(operation, (lhs, rhs), lambda x, y: emit(x, y, name))

    def gep(
        self, ptr: Any, indices: Any, inbounds: bool = False, name: str = "",
        source_etype: Any = None,
    ) -> Any:  # fmt: skip
        """Compute an address."""
        emit = super().gep

        def address(ptr: Any, *indices: Any) -> Any:
            return emit(ptr, list(indices), inbounds, name, source_etype)

        return self.known.computed("address", (ptr, *indices), address, str(source_etype))

    def select(self, cond: Any, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """Select one of two values."""
        emit = super().select
        if lhs.type == _WORD and not flags:
            return self.known.computed("select", (cond, lhs, rhs), emit)
        return emit(cond, lhs, rhs, name, flags)
