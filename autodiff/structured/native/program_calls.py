"""Calls of functions that have programs of their own, from machine code."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from autodiff.structured.callables.recursive_calls import (
    RecursiveCallee,
    start_program,
    sweep_program,
)
from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.lowered_values import (
    Number,
    StaticValue,
    TupleValue,
    has_tag,
    letter_of,
)
from autodiff.structured.native.variables import Variables

_OF_PROGRAMS = (start_program, sweep_program)


class Signature(NamedTuple):
    """The signature of a function of machine code, in one direction.

    It gets the state of the run, the address of its results, and the words of its arguments.

    Attributes
    ----------
    name : str
        The name of the function in the LLVM module.
    kinds : list of Kind
        The kinds of its arguments.
    results : list of Kind or None
        The kinds of its results. In the sweep these are the cotangents of the arguments; there is
        None for an argument that has none.
    """

    name: str
    kinds: list[Kind]
    results: list[Kind | None]


class ProgramCalls(Variables):
    """Lowering of calls of functions that have programs of their own: see `callees`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rooms: dict[int, Any] = {}  # number of words → where functions put that many results

    def on_call(self, node: ast.Call) -> Any:
        """Lower a call."""
        f = self.expression(node.func) if isinstance(node.func, ast.Name) else None
        if isinstance(f, StaticValue) and (type(f.x) is RecursiveCallee or f.x in _OF_PROGRAMS):
            given = node.args[1:] if f.x in _OF_PROGRAMS else node.args  # without the stack
            return self._call_of_program(f.x, [self.expression(a) for a in given])
        return super().on_call(node)

    def _call_of_program(self, f: Any, args: list) -> Any:
        """Lower a call of a function with a program: ``f(x)``, or what `start_call` writes.

        The forward function leaves on the stack what the sweep pops. If no sweep follows, the
        stack is emptied again.
        """
        code, state = self.code, self.state
        used = code.word(state, memory.USED)
        is_kept = f is start_program or f is sweep_program
        callee, *given = [args[0].x, *args[1:]] if is_kept else [f, *args]
        function = code.module.callees.function(callee, f is not sweep_program)
        words: list[Any] = []
        for x, kind in zip(given, function.kinds, strict=True):
            number = self.scalars.number(x)
            if not isinstance(number, Number):
                raise UnsupportedError("an array instead of a number")
            if f is not sweep_program:
                number = self.checked("an argument", kind, number)
            words += self.to_words(number, kind)
        room = self._room_for(sum(map(words_of, function.results)))
        target = code.module.globals[function.name]
        code.leave_with(code.b.call(target, [state, room, *words]))
        if not is_kept:
            code.set_word(state, memory.USED, used)
        results, k = [], 0
        for made in function.results:
            found = iter([code.word(room, j) for j in range(k, k + words_of(made))])
            k += words_of(made)
            results.append(None if made is None else number_from(code, made, found))
        return TupleValue(results) if f is sweep_program else results[0]

    def _room_for(self, n: int) -> Any:
        if n not in self._rooms:
            self._rooms[n] = self.code.words(n)
        return self._rooms[n]


def number_from(code: Any, kind: Kind, words: Any) -> Number:
    """Take the words of a number from an iterator."""
    letter = letter_of(kind)
    value = code.from_words(letter, words)
    return Number(kind, letter, value, next(words) if has_tag(kind) else None)


def words_of(kind: Kind | None) -> int:
    """Return how many words a number takes up, with its tag."""
    return 0 if kind is None else 1 + (letter_of(kind) in "zc") + has_tag(kind)
