"""What programs call of the engine's own: the function itself, where it calls itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from autodiff.structured.form.kinds import Kind, UnsupportedError


class CallsItselfError(UnsupportedError):
    """A function calls itself, and what it returns is not known yet."""

    def __init__(self) -> None:
        super().__init__("a function that calls itself and always does so")


class OwnRule:
    """A function of the engine's that records its own pullback, as rules do."""

    __slots__ = ()

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return what it returns, and the pullback of the arguments that are wanted."""
        raise NotImplementedError


class Itself(OwnRule):
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
    lowered : Lowered, optional
        The program, if it is one that others call.
    copies_arguments : bool
        Whether it returns a copy where the function returns an argument: nobody may write into
        either, or return it further.
    """

    lowered: Any = None
    copies_arguments = False

    def __init__(self, name: str, kind: Kind) -> None:
        self.__name__ = name
        self.kind = kind
        self.code: tuple[Callable, Callable]
        self.returned: Any = None
        self._running = threading.local()  # how many calls of it in itself this thread makes

    def is_outermost(self) -> bool:
        """Whether the caller is not the function itself."""
        return getattr(self._running, "depth", 0) == 0

    def __call__(self, *args: Any) -> Any:
        """Return what the function returns."""
        return self._run(self.code[0], args)[0][0]

    def record(self, args: tuple, options: dict[str, Any], wanted: tuple[int, ...]) -> tuple:
        """Return what the function returns, and the pullback of the arguments that are wanted."""
        forward, backward = self.code
        outs, frame, tape = self._run(forward, args)

        def pullback(g: Any) -> list:
            found = backward(frame, tape, outs, (g,))
            return [found[i] for i in wanted]

        return outs[0], pullback

    def _run(self, forward: Callable, args: tuple) -> tuple:
        running = self._running
        running.depth = getattr(running, "depth", 0) + 1
        try:
            return forward(*args)
        finally:
            running.depth -= 1
