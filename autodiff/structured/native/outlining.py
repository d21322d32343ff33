"""Outlining of elementwise loops.

Array code repeats the same loops over different arrays. Each distinct loop becomes one function,
which is compiled once. The functions that call it stay short, which matters because LLVM takes more
time per instruction in long functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

from llvmlite import ir

from autodiff.structured.native.llvm.function_builder import PTR, FunctionBuilder
from autodiff.structured.native.lowered_values import Array, LazyArray, Number


class OutlinedLoop(NamedTuple):
    """An outlined loop.

    Attributes
    ----------
    function : llvmlite.ir.Function
        The function.
    may_fail : bool
        Whether it may bail out: return a nonzero status.
    kept_alive : list
        The operands, which have the functions whose ids are in the key of the loop.
    """

    function: Any
    may_fail: bool
    kept_alive: list


class OutlinedOperands:
    """The operands of a loop, with the values of the caller replaced by parameters.

    Attributes
    ----------
    values : list
        The values of the caller that the loop reads. They are passed as arguments.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._positions: dict[int, int] = {}
        self._arrays: dict[int, int] = {}  # id → number: an array may occur several times
        self._inside: dict[int, Any] = {}

    def key(self, x: Any) -> Hashable:
        """Return a key of an operand. Operands with equal keys give the same loop."""
        if isinstance(x, (tuple, list)):
            return tuple(map(self.key, x))
        if isinstance(x, (Array, LazyArray)):
            if id(x) in self._arrays:
                return self._arrays[id(x)]
            self._arrays[id(x)] = len(self._arrays)
            return self._key_of_array(x)
        if isinstance(x, Number):
            return x.kind, x.letter, self.key(x.value), self.key(x.tag)
        if x is None or isinstance(x, ir.Constant):
            return str(x)
        if not isinstance(x, ir.NamedValue):
            return id(x)  # a function
        position = self._positions.setdefault(id(x), len(self.values))
        if position == len(self.values):
            self.values.append(x)
        return position

    def _key_of_array(self, x: Array | LazyArray) -> Hashable:
        if isinstance(x, LazyArray):
            return id(x.f), x.kind, tuple(map(self.key, x.parts))
        ones = tuple(self.key(n) if isinstance(n, ir.Constant) else None for n in x.shape)
        return x.dtype, ones, self.key(x.address), tuple(map(self.key, x.strides))

    def inside(self, x: Any, parameters: Any) -> Any:
        """Return an operand in terms of the parameters of the outlined function.

        Of the shape of an array only constants are known there; others are operands of their own.
        """
        if isinstance(x, (tuple, list)):
            return [self.inside(part, parameters) for part in x]
        if isinstance(x, (Array, LazyArray)):
            if id(x) not in self._inside:
                self._inside[id(x)] = self._array_inside(x, parameters)
            return self._inside[id(x)]
        if isinstance(x, Number):
            value, tag = (self.inside(v, parameters) for v in (x.value, x.tag))
            return replace(x, value=value, tag=tag)
        position = self._positions.get(id(x))
        return x if position is None else parameters[position]

    def _array_inside(self, x: Array | LazyArray, parameters: Any) -> Array | LazyArray:
        if isinstance(x, LazyArray):
            return replace(x, parts=self.inside(x.parts, parameters), shape=[])
        address, *strides = self.inside([x.address, *x.strides], parameters)
        known = [n if isinstance(n, ir.Constant) else None for n in x.shape]
        return replace(x, address=address, strides=strides, shape=known, window=None)


def call_outlined(
    code: FunctionBuilder, write: Callable[..., None], raises: bool, operands: list
) -> None:
    """Outline a loop that writes into arrays, and call it. An equal loop is reused.

    Parameters
    ----------
    code : FunctionBuilder
        The calling function.
    write : callable
        A method that emits the loop, given the operands. It reads no other values.
    raises : bool
        Whether the loop bails out where Python would raise: see `Scalars`.
    operands : list
        Arrays, lazy arrays, numbers, LLVM values, functions, and lists of these.
    """
    loops, arguments = code.module.loops, OutlinedOperands()
    key = (write.__qualname__, arguments.key(operands), raises)
    if key not in loops:
        types = [PTR if isinstance(v.type, ir.PointerType) else v.type for v in arguments.values]
        with code.another(code.module.get_unique_name("elements"), types) as function:
            write(*arguments.inside(operands, function.args))
            may_fail = bool(code.exits)
        function.linkage = "internal"
        loops[key] = OutlinedLoop(function, may_fail, operands)
    loop = loops[key]
    status = code.b.call(loop.function, arguments.values)
    if loop.may_fail:
        code.leave_with(status)
