"""Calls with placeholders for their traced values, to be made again with other values.

The traced values are those in the arguments and those that the function has captured (see
`captured_values`). Values reached through globals or class bodies are not found: callers must
notice these by the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures.captured_values import Hole, with_captures
from autodiff.intercept import intercept
from autodiff.trace.pytree import map_leaves
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, is_tracer


class Template:
    """A call with placeholders for its traced values.

    Attributes
    ----------
    f : callable
        The function of the call, with placeholders for the traced values that it has captured.
    sources : list
        The traced values, each once.
    held : list of numpy.ndarray
        The plain arrays in the call: they must not change.
    """

    __slots__ = ("_constants", "_filled", "_owner", "args", "f", "held", "kwargs", "sources")

    def __init__(self, f: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
        self.sources: list[Tracer] = []
        self.held: list[np.ndarray] = []
        self._constants: dict[str, np.ndarray] = {}
        self._owner = object()
        places: dict[int, Hole] = {}

        def taken_out(leaf: Any) -> Any:
            if not is_tracer(leaf):
                if type(leaf) is np.ndarray:
                    self.held.append(leaf)
                return leaf
            hole = places.get(id(leaf))
            if hole is None:
                constant = leaf._tape is CONSTANT
                name = f"c{len(places)}" if constant else str(len(self.sources))
                hole = places[id(leaf)] = Hole(name, self._owner)
                if constant:
                    self._constants[hole] = leaf._value
                else:
                    self.sources.append(leaf)
            return hole

        made: dict[int, Any] = {}
        self.f = with_captures(f, taken_out, made)
        self.args, self.kwargs = with_captures((args, kwargs), taken_out, made)

    def filled(
        self, values: Any, buffer: Callable[[np.ndarray], Any] | None = None
    ) -> tuple[Callable, tuple, dict[str, Any], list[Any]]:
        """Return the call with `values` in place, and the buffers made for constant arrays."""
        constants: dict[str, Any] = {}

        def put_in(leaf: Any) -> Any:
            if type(leaf) is not Hole or leaf.owner is not self._owner:
                return leaf
            if leaf not in self._constants:
                return values[int(leaf)]
            if leaf not in constants:
                constants[leaf] = (buffer or _buffer)(self._constants[leaf])
            return constants[leaf]

        made: dict[int, Any] = {}
        f = with_captures(self.f, put_in, made)
        args, kwargs = with_captures((self.args, self.kwargs), put_in, made)
        return f, args, kwargs, list(constants.values())

    def run(self, values: Any) -> Any:
        """Make the call with `values` in place, and trace it."""
        f, args, kwargs, constants = self.filled(values)
        before = [c._value for c in constants]
        y = intercept(f)(*args, **kwargs)
        if any(c._value is not b for c, b in zip(constants, before, strict=True)):
            raise WrittenError
        return y

    def plain(self, values: Any) -> Any:
        """Make the call with copies of plain values in place, without tracing it."""
        copies = [v.copy("K") if type(v) is np.ndarray else v for v in values]
        f, args, kwargs, buffers = self.filled(copies, np.copy)
        before = [b.copy("K") for b in buffers]
        y = f(*args, **kwargs)
        for old, new in zip((*values, *before), (*copies, *buffers), strict=True):
            if type(new) is np.ndarray and new.tobytes() != old.tobytes():
                raise WrittenError
        return map_leaves(y, lambda leaf: leaf._value if is_tracer(leaf) else leaf)

    def hold(self, tape: Any) -> None:
        """Tell a tape which arrays must not change."""
        for x in self.held:
            tape.hold(x)


def _buffer(x: np.ndarray) -> Tracer:
    return Tracer(x, CONSTANT, -1)


class WrittenError(Exception):
    """A call has written into an array that it was given."""
