"""Loops over elements as functions of their own.

A program writes the same loops again and again, over other arrays. Each is one function, which is
compiled once, and the functions around it stay short: in long ones, LLVM takes longer for each
instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

from llvmlite import ir

from autodiff.structured.native.llvm.code import PTR, Code
from autodiff.structured.native.values import Array, Number, Tree


class LoopFunction(NamedTuple):
    """A loop over elements that has been written.

    Attributes
    ----------
    function : llvmlite.ir.Function
        The function.
    may_fail : bool
        Whether it may return another status than 0.
    made_for : tuple
        What it was written for: their ids are used as long as they live.
    """

    function: Any
    may_fail: bool
    made_for: tuple


class Arguments:
    """What a loop is written for, apart from the values of this function that it reads.

    Attributes
    ----------
    values : list
        These values. They are the arguments of the function.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[int, int] = {}

    def key(self, x: Any) -> Hashable:
        """Return what an operand is: equal for those for which the same loop is written."""
        if isinstance(x, Array):
            ones = tuple(self.key(n) if isinstance(n, ir.Constant) else None for n in x.shape)
            return x.dtype, ones, self.key(x.address), tuple(map(self.key, x.strides))
        if isinstance(x, Tree):
            return id(x.f), x.kind, tuple(map(self.key, x.parts))
        if isinstance(x, Number):
            return x.kind, x.letter, self.key(x.value), self.key(x.tag)
        if x is None or isinstance(x, ir.Constant):
            return str(x)
        place = self._places.setdefault(id(x), len(self.values))
        if place == len(self.values):
            self.values.append(x)
        return place

    def inside(self, x: Any, parameters: Any) -> Any:
        """Return an operand as the function has it."""
        if isinstance(x, Array):
            address, *strides = [self.inside(v, parameters) for v in (x.address, *x.strides)]
            return replace(x, address=address, strides=strides)
        if isinstance(x, Tree):
            return replace(x, parts=[self.inside(p, parameters) for p in x.parts])
        if isinstance(x, Number):
            value, tag = (self.inside(v, parameters) for v in (x.value, x.tag))
            return replace(x, value=value, tag=tag)
        place = self._places.get(id(x))
        return x if place is None else parameters[place]


def in_function(
    code: Code, write: Callable[..., None], raises: bool, target: Array, x: Any, f: Any
) -> None:
    """Call a function that writes into an array; it is made unless there is an equal one.

    Parameters
    ----------
    code : Code
        What the call belongs to.
    write : callable
        Writes the loop, given the array, what is written into it, and `f`. It reads no values but
        those of the first two.
    raises : bool
        Whether it leaves where Python would raise: see `Scalars`.
    target : Array
        The array.
    x : Array, Tree or Number
        What is written.
    f : callable or None
        What makes the new elements of the old ones and of `x`.
    """
    loops, arguments = code.module.loops, Arguments()
    shape = tuple(map(arguments.key, target.shape))
    key = (shape, arguments.key(target), arguments.key(x), id(f), raises)
    if key not in loops:
        types = [PTR if isinstance(v.type, ir.PointerType) else v.type for v in arguments.values]
        with code.another(f"elements{len(loops)}", types) as function:
            given = function.args
            own = [arguments.inside(n, given) for n in target.shape]
            target_inside = replace(arguments.inside(target, given), shape=own)
            write(target_inside, arguments.inside(x, given), f)
            may_fail = bool(code.exits)
        function.linkage = "internal"
        loops[key] = LoopFunction(function, may_fail, (x, f))
    loop = loops[key]
    status = code.b.call(loop.function, arguments.values)
    if loop.may_fail:
        code.leave_with(status)
