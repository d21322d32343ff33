"""What differs from call to call: integers among the arguments, and what a function captures.

A recording takes them as constants at first, because integers decide shapes, exponents and trip
counts. What has had another value before is an input of the next program instead, like a float
among the arguments. Where Python then reads the value of an integer (``range(n)``, the index of a
list), a guard compares it. If a recording cannot follow such inputs, they are constants again.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from autodiff.closures.captured_values import content_of
from autodiff.trace.pytree import parts_of
from chainrules_core.tangents.fields import dict_of

_NUMBERS = frozenset({int, float, complex, bool, np.float64, np.float32, np.int64})
_HOLD_NONE = frozenset({float, complex, str, bytes, bool, type(None), np.ndarray, np.float64})


class VaryingInputs:
    """The integers among the arguments by their places, and the variables by what holds them.

    Attributes
    ----------
    followed : {0, 1, 2}
        What is an input if it differs: nothing, integers among the arguments, variables too.
    """

    __slots__ = ("_first", "_holders", "_varying", "followed")

    def __init__(self) -> None:
        self._first: dict[Any, Any] = {}
        self._holders: dict[Any, Any] = {}  # kept, so that their ids are not used again
        self._varying: set[Any] = set()
        self.followed = 2

    def note(self, args: Any, f: Any = None, variables: Iterable[Any] = ()) -> bool:
        """Note a call; return whether something differs that never did before.

        Parameters
        ----------
        args : tuple
            The arguments.
        f : callable, optional
            The function, if that of another call has the same code, but may hold other values.
        variables : iterable of Dependency
            Variables outside of it.
        """
        values: list[tuple[Any, Any]] = [*enumerate(_integers_in(args, set()))]
        values += [(("part", key), x) for key, x in _held_by(f)]
        for d in variables:
            self._holders.setdefault(d.place, d.container)
            values.append((d.place, d.now()))
        return self._note(values)

    def _note(self, values: Iterable[tuple[Any, Any]]) -> bool:
        kept = [(key, x if type(x) in _NUMBERS else id(x)) for key, x in values]
        new = {key for key, x in kept if _differ(self._first.setdefault(key, x), x)}
        new -= self._varying
        self._varying |= new
        return bool(new)

    def has_part(self, key: int | str) -> bool:
        """Whether what a function holds is an input.

        That is the content of a cell, or an integer among the attributes of the object of a method
        or among the arguments of a partial function. (Their floats and arrays always are.)
        """
        return self.followed == 2 and ("part", key) in self._varying

    def has_integer(self, place: int) -> bool:
        """Whether the integer at a place is an input."""
        return self.followed >= 1 and place in self._varying

    def has_variable(self, d: Any) -> bool:
        """Whether a variable is an input."""
        return self.followed == 2 and d.place in self._varying

    def follow_less(self) -> bool:
        """Follow no variables, or no integers either; return whether there are less inputs."""
        before = len(self)
        while self.followed and len(self) == before:
            self.followed -= 1
        return len(self) < before

    def __len__(self) -> int:
        """Return how many inputs there are."""
        if self.followed == 2:
            return len(self._varying)
        return sum(type(key) is int for key in self._varying) if self.followed else 0


def _differ(a: Any, b: Any) -> bool:
    """Whether two numbers, or identities of what is none, are not the same."""
    return a is not b and (type(a) is not type(b) or a != b)


def _held_by(f: Any) -> list[tuple[int | str, Any]]:
    """Return what a function holds that may be an input."""
    if type(f) is types.FunctionType:
        return [(k, content_of(cell)) for k, cell in enumerate(f.__closure__ or ())]
    held: list[tuple[int | str, Any]] = []
    if type(f) is types.MethodType:
        held = [*dict_of(f.__self__).items()]
    elif type(f) is functools.partial:
        held = [*enumerate(f.args), *f.keywords.items()]
    return [(key, x) for key, x in held if type(x) is int]


def _integers_in(x: Any, seen: set[int]) -> Iterator[int]:
    """Yield the integers in a pytree, in the order in which programs read their arguments."""
    kind = type(x)
    if kind is int:
        yield x
    elif kind is types.FunctionType:
        yield from _integers_in((x.__defaults__, x.__kwdefaults__), seen)
    elif kind not in _HOLD_NONE and (parts := parts_of(x)) and id(x) not in seen:
        if not isinstance(x, tuple):
            seen.add(id(x))
        for _, part in parts:
            yield from _integers_in(part, seen)
