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
    kept_alive : tuple
        The objects whose ids are in the key of the loop.
    """

    function: Any
    may_fail: bool
    kept_alive: tuple


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

    def key(self, x: Any) -> Hashable:
        """Return a key of an operand. Operands with equal keys give the same loop."""
        if isinstance(x, Array):
            ones = tuple(self.key(n) if isinstance(n, ir.Constant) else None for n in x.shape)
            return x.dtype, ones, self.key(x.address), tuple(map(self.key, x.strides))
        if isinstance(x, LazyArray):
            return id(x.f), x.kind, tuple(map(self.key, x.parts))
        if isinstance(x, Number):
            return x.kind, x.letter, self.key(x.value), self.key(x.tag)
        if x is None or isinstance(x, ir.Constant):
            return str(x)
        position = self._positions.setdefault(id(x), len(self.values))
        if position == len(self.values):
            self.values.append(x)
        return position

    def inside(self, x: Any, parameters: Any) -> Any:
        """Return an operand in terms of the parameters of the outlined function."""
        if isinstance(x, Array):
            address, *strides = [self.inside(v, parameters) for v in (x.address, *x.strides)]
            return replace(x, address=address, strides=strides)
        if isinstance(x, LazyArray):
            return replace(x, parts=[self.inside(p, parameters) for p in x.parts])
        if isinstance(x, Number):
            value, tag = (self.inside(v, parameters) for v in (x.value, x.tag))
            return replace(x, value=value, tag=tag)
        position = self._positions.get(id(x))
        return x if position is None else parameters[position]


def call_outlined(
    code: FunctionBuilder, write: Callable[..., None], raises: bool, target: Array, x: Any, f: Any
) -> None:
    """Outline a loop that writes into an array, and call it. An equal loop is reused.

    Parameters
    ----------
    code : FunctionBuilder
        The calling function.
    write : callable
        Emits the loop, given `target`, `x` and `f`. It reads no other values.
    raises : bool
        Whether the loop bails out where Python would raise: see `Scalars`.
    target : Array
        The array to write into.
    x : Array, LazyArray or Number
        What to write.
    f : callable or None
        Combines the old elements with `x`.
    """
    loops, arguments = code.module.loops, OutlinedOperands()
    shape = tuple(map(arguments.key, target.shape))
    key = (shape, arguments.key(target), arguments.key(x), id(f), raises)
    if key not in loops:
        types = [PTR if isinstance(v.type, ir.PointerType) else v.type for v in arguments.values]
        with code.another(f"elements{len(loops)}", types) as function:
            params = function.args
            own_shape = [arguments.inside(n, params) for n in target.shape]
            own_target = replace(arguments.inside(target, params), shape=own_shape)
            write(own_target, arguments.inside(x, params), f)
            may_fail = bool(code.exits)
        function.linkage = "internal"
        loops[key] = OutlinedLoop(function, may_fail, (x, f))
    loop = loops[key]
    status = code.b.call(loop.function, arguments.values)
    if loop.may_fail:
        code.leave_with(status)
