"""Recursive calls in programs: callables of the engine that record their own pullbacks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from autodiff.structured.form.function_ir import FunctionIR, ops_of
from autodiff.structured.form.kinds import Kind, UnsupportedError


class RecursionKindError(UnsupportedError):
    """A recursive call is read before the kind of its result is known."""

    def __init__(self) -> None:
        super().__init__("a function that calls itself and always does so")


class HidesDecisionsError(UnsupportedError):
    """What decides in functions that have programs may not be seen in what they return.

    Attributes
    ----------
    callees : set of RecursiveCallee
        The functions.
    """

    def __init__(self, callees: set[RecursiveCallee]) -> None:
        super().__init__("a function that calls itself, and may be a search")
        self.callees = callees


class RuleLike:
    """A callable of the engine that records its own pullback, as rules do."""

    __slots__ = ()
    returns_new = False  # whether its results share no memory with anything else

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return the result, and the pullback for the arguments at the positions `wanted`."""
        raise NotImplementedError


def start_program(push: Callable, callee: RecursiveCallee, *args: Any) -> Any:
    """Call a program, and push what `sweep_program` pops."""
    result, back = callee.start(*args)
    push(back)
    return result


def sweep_program(pop: Callable, callee: RecursiveCallee, bar: Any) -> tuple:
    """Return the cotangents of the arguments of the last call that was not swept yet."""
    backward, *given = pop()
    return backward(*given, (bar,))


class RecursiveCallee(RuleLike):
    """The callee of a recursive call: the function that the program itself implements.

    Parameters
    ----------
    name : str
        The name of the function.
    kind : Kind
        The kind of its result.

    Attributes
    ----------
    code : tuple of callable
        The forward and backward functions, once they are compiled.
    returned : Value
        The result of the program.
    lowered : Lowered, optional
        The program, if other programs call it.
    copies_arguments : bool
        Whether it returns a copy where the function returns an argument. Then nobody may write into
        either of them, or return it in turn.
    counts_depth : bool
        Whether its code asks `is_outermost`.
    written : tuple of (int, bool), optional
        The position of the argument that the function writes into, and whether it returns that.
        The program returns a copy that has what is written.
    """

    lowered: Any = None
    copies_arguments = False
    counts_depth = False
    written: tuple[int, bool] | None = None

    def __init__(self, name: str, kind: Kind) -> None:
        self.__name__ = name
        self.kind = kind
        self.code: tuple[Callable, Callable]
        self.returned: Any = None
        self._running = threading.local()  # .depth: the recursion depth of this thread

    def is_outermost(self) -> bool:
        """Whether this call is not recursive."""
        return getattr(self._running, "depth", 0) == 0

    def __call__(self, *args: Any) -> Any:
        """Return the result of the function."""
        forward = self.code[0]
        outs, _, _ = self._counted(forward, args) if self.counts_depth else forward(*args)
        return outs[0]

    def start(self, *args: Any) -> tuple:
        """Return the result, and the backward function with what it needs besides the seeds."""
        forward, backward = self.code
        found = self._counted(forward, args) if self.counts_depth else forward(*args)
        outs, frame, tape = found
        return outs[0], (backward, frame, tape, outs)

    def _counted(self, forward: Callable, args: tuple) -> tuple:
        running = self._running
        running.depth = getattr(running, "depth", 0) + 1
        try:
            return forward(*args)
        finally:
            running.depth -= 1


def callees_of(program: FunctionIR) -> list[RecursiveCallee]:
    """Return the functions with programs that a program calls, callers before what they call."""
    found: list[RecursiveCallee] = []

    def visit(caller: FunctionIR) -> None:
        for op in ops_of(caller.body):
            f: Any = op.f
            if type(f) is RecursiveCallee and f is not caller.itself and f not in found:
                visit(f.lowered.program)
                found.append(f)

    visit(program)
    return found[::-1]
