"""A function that calls itself: its program calls its own two functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.structured.form.kinds import Kind, UnsupportedError


class CallsItselfError(UnsupportedError):
    """A function calls itself, and what it returns is not known yet."""

    def __init__(self) -> None:
        super().__init__("a function that calls itself and always does so")


class Itself:
    """The function that a program is made of, as it is called in it.

    Parameters
    ----------
    name : str
        Its name.
    kind : Kind
        The kind of what it returns.

    Attributes
    ----------
    code : tuple of callable
        The two functions of the program, once they are compiled.
    returned : Value
        What the program returns.
    depth : int
        How many calls of it in itself run now.
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.__name__ = name
        self.kind = kind
        self.code: tuple[Callable, Callable]
        self.returned: Any = None
        self.depth = 0

    def is_outermost(self) -> bool:
        """Whether the caller is not the function itself."""
        return self.depth == 0

    def __call__(self, *args: Any) -> Any:
        """Return what the function returns."""
        return self._run(args)[0][0]

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return what the function returns, and the pullback of the arguments that are wanted."""
        backward = self.code[1]
        outs, frame, tape = self._run(args)

        def pullback(g: Any) -> list:
            found = backward(frame, tape, outs, (g,))
            return [found[i] for i in wanted]

        return outs[0], pullback

    def _run(self, args: tuple) -> tuple:
        self.depth += 1
        try:
            return self.code[0](*args)
        finally:
            self.depth -= 1
