"""Observers: objects that see the calls and nodes of a differentiation, for debugging.

An observed tape has an `observer`, which gets each call that has a rule and each node that is
recorded. Fast paths are off on such a tape (`records` is False), so that the observer sees every
call. Other tapes pay for one attribute lookup in the general path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autodiff.trace.pytree import leaves_of
from autodiff.trace.tape import Forward, InsideProgram, Tape
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import is_tracer


class Observer:
    """Base class of observers; its methods do nothing."""

    def tape(self) -> Tape:
        """Return the tape for a differentiation in reverse mode that this observer sees."""
        return ObservedTape(self)

    def forward(self) -> Forward:
        """Return the trace level for a differentiation in forward mode."""
        return ObservedForward(self)

    def call(
        self, proceed: Callable[[], Any], f: Callable, args: tuple, kwargs: dict, tape: Tape
    ) -> Any:
        """Make a call that has a rule: return ``proceed()``."""
        return proceed()

    def added(self, node: Any, place: int, tape: Tape) -> None:
        """See a node that has been recorded."""

    def ignored(self, x: Any) -> None:
        """See a traced value whose derivatives are to be ignored."""


def indices_on(x: Any, tape: Tape) -> list:
    """Return the places on `tape` of the traced values in a pytree; on a forward level tangents."""
    return [t._index for t in leaves_of(x) if is_tracer(t) and t._tape is tape]


def argument_name(rule: Any, position: int) -> str | None:
    """Return the name that a rule gives to an argument, if it has one."""
    names = rule.signature.positional
    return names[position] if position < len(names) else None


class ObservedTape(Tape):
    """A tape whose calls and nodes an observer sees."""

    __slots__ = ("observer",)

    records = False

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self.observer = observer

    def add(self, node: Any) -> int:
        """Record a node; return its place."""
        place = super().add(node)
        self.observer.added(node, place, self)
        return place


class ObservedForward(Forward):
    """A forward level whose calls an observer sees."""

    __slots__ = ("observer",)

    def __init__(self, observer: Observer) -> None:
        super().__init__()
        self.observer = observer


_observer: ContextVar[Observer | None] = ContextVar("autodiff_observer", default=None)


@contextmanager
def observing(observer: Observer | None) -> Iterator[None]:
    """Let an observer see the differentiations in a ``with`` block, in this thread or task."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def is_observed() -> bool:
    """Whether there is an observer."""
    return _observer.get() is not None


def new_tape() -> Tape:
    """Return the tape for a differentiation in reverse mode."""
    observer = _observer.get()
    if observer is not None:
        return observer.tape()
    return Tape() if program_tape() is None else InsideProgram()


def new_forward() -> Forward:
    """Return the trace level for a differentiation in forward mode."""
    observer = _observer.get()
    return Forward() if observer is None else observer.forward()
