"""Arguments of a differentiated function that are one array, or share memory.

Each is traced separately and has its own gradient. So a write into one that the other would see is
an error. ``a is b`` is answered as it is for the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from autodiff.errors import MutationError
from autodiff.mutation.held_arrays import COPIED, owner_of
from autodiff.mutation.memory_layout import copy_of, view_like
from autodiff.trace.tape import CONSTANT, Tape
from autodiff.trace.tracer import Tracer, View, is_tracer, note_origin, note_view


def refuse(parent: Any) -> Any:
    """Refuse to make an argument anew from another one with the same memory."""
    raise MutationError(
        "an argument of the function being differentiated is written into that shares its memory "
        "with another argument. Give the function a copy of one of them (x.copy()), or let it "
        "write into a copy."
    )


class Same(View):
    """Notes that an argument is the same array as another one."""

    __slots__ = ()

    def __init__(self, parent: Tracer) -> None:
        super().__init__(parent, refuse)


class TracedArguments:
    """The traced arrays among the arguments, by the owner of their memory."""

    __slots__ = ("_arrays", "_copies")

    def __init__(self) -> None:
        self._arrays: dict[int, list[tuple[Tracer, Any]]] = {}
        self._copies: dict[int, np.ndarray] = {}

    def note(self, traced: Tracer, x: Any, copied: bool) -> None:
        """Note the tracer of an argument; `copied` says that the tracer holds a copy of it."""
        owner = _owner(x)
        others = self._arrays.setdefault(id(owner), [])
        others.append((traced, x))
        for other, y in others[:-1]:
            if x is y:
                traced._value = other._value
                note_origin(traced, Same(other))
                return
            if _overlap(x, y):
                if copied:
                    self._copy_together(owner, (traced, x), (other, y))
                note_view(traced, other, refuse)
                return

    def _copy_together(self, owner: Any, *pairs: tuple[Tracer, Any]) -> None:
        """Make the tracers share a copy of the owner, as their arrays share its memory."""
        for traced, x in pairs:
            view = _view_of_copy(x, owner, self._copies)
            if view is not None:
                traced._value = view

    def note_others(self, values: Iterable[Any], tape: Tape) -> None:
        """Note the arguments that are not traced and share memory with one that is."""
        if not self._arrays:
            return
        for value in values:
            parts = value if type(value) in (list, tuple) else (value,)
            for y in value.values() if type(value) is dict else parts:
                if type(y) is np.ndarray and id(_owner(y)) in self._arrays:
                    self._note_other(y, tape)

    def _note_other(self, y: np.ndarray, tape: Tape) -> None:
        for traced, x in self._arrays[id(_owner(y))]:
            if x is y or _overlap(x, y):
                traced._value = x
                Tape.hold(tape, x)
                alias = Tracer(y, CONSTANT, -1)
                note_view(alias, traced, refuse)
                tape.aliases = (*tape.aliases, (traced, y, x is y, alias))


def _owner(x: Any) -> Any:
    """Return what owns the memory of an array, or the array of which a traced one is a view."""
    if is_tracer(x):
        while getattr(x, "_origin", None) is not None:
            x = x._origin.parent
        return x
    return owner_of(x)


def _overlap(x: Any, y: Any) -> bool:
    """Whether arrays of one owner may share elements."""
    return is_tracer(x) or is_tracer(y) or bool(np.may_share_memory(x, y))


def itself(x: Any) -> Any:
    """Return the tracer that stands for a value: the first of the arguments that are one array."""
    if type(x) is not Tracer:
        return x
    while type(x._origin) is Same:
        x = x._origin.parent
    return next((y for traced, y, is_same, _ in x._tape.aliases if traced is x and is_same), x)


def copied(x: np.ndarray, memo: dict[int, np.ndarray]) -> np.ndarray:
    """Return a copy of an argument; copies of views of one array are views of one copy."""
    if id(x) not in memo:
        view = _view_of_copy(x, x.base, memo)
        memo[id(x)] = copy_of(x) if view is None else view
        if not x.flags.writeable:
            memo[id(x)].flags.writeable = False
    return memo[id(x)]


def _view_of_copy(x: np.ndarray, owner: Any, copies: dict[int, np.ndarray]) -> np.ndarray | None:
    """Return the view of a copy of the owner that `x` is of the owner; None of a large owner."""
    if type(owner) is not np.ndarray or not owner.flags.c_contiguous or owner.nbytes > COPIED:
        return None
    if id(owner) not in copies:
        copies[id(owner)] = owner.copy()
    return view_like(copies[id(owner)], x, x.ctypes.data - owner.ctypes.data)
