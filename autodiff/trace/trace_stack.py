"""Which differentiations are going on, and which arrays from outside they hold.

Pullbacks keep references to the arrays that a traced function uses as constants. If such an array
is written into before the sweep, its old values are gone and the gradient would be wrong; so a
write that is seen is refused.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.errors import MutationError
from autodiff.mutation.held_arrays import owner_of
from autodiff.trace.tape import Tape
from chainrules_core import noticed
from chainrules_core.noticed import here


class _Levels(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []
        self.around: list[Tape] = []  # those of the thread by which this one was begun
        self.draws: list | None = None  # what a checkpointed call has drawn so far


_levels = _Levels()


class recording(noticed.noticing):  # noqa: N801 - it reads like a function
    """Note for the length of a ``with`` block that a tape records, in this thread.

    An error of ours that is swallowed in it is raised at its end.
    """

    __slots__ = ("tape",)

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.error = None

    def __enter__(self) -> None:
        self._around = here.innermost
        here.innermost = self
        _levels.tapes.append(self.tape)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        _levels.tapes.remove(self.tape)
        here.innermost = self._around
        if self.error is not None or error is not None:
            self._end(error)


def is_recording(tape: Tape | None = None) -> bool:
    """Whether a tape, or any, records in this thread."""
    return bool(_levels.tapes) if tape is None else tape in _levels.tapes


def is_free() -> bool:
    """Whether nothing is differentiated or recorded, in this thread or where it was begun."""
    return not _levels.tapes and not _levels.around


def active_tapes() -> list[Tape]:
    """Return the tapes that record in this thread."""
    return _levels.tapes


def begun_here(f: Callable) -> Callable:
    """Return a function for another thread, in which the tapes of this one are known.

    What it writes into may be held by them. An error of ours that ends it would only be
    printed there, and what it was to compute be missing without a word: it is noted here.
    """
    around, block = _levels.tapes + _levels.around, noticed.innermost()

    @functools.wraps(f, updated=())
    def in_thread(*args: Any, **kwargs: Any) -> Any:
        before, _levels.around = _levels.around, around
        try:
            with noticed.within(block):
                return f(*args, **kwargs)
        finally:
            _levels.around = before

    return f if block is None else in_thread


@contextlib.contextmanager
def noting_draws() -> Iterator[list]:
    """Give a list of the random numbers that are drawn in a ``with`` block, in this thread."""
    before, _levels.draws = _levels.draws, []
    try:
        yield _levels.draws
    finally:
        drawn, _levels.draws = _levels.draws, before
        if before is not None:
            before += drawn


def note_draw(y: Any) -> None:
    """Note random numbers, if a checkpointed call draws them."""
    if _levels.draws is not None:
        _levels.draws.append(y.tobytes() if isinstance(y, (np.ndarray, np.generic)) else repr(y))


def program_tape() -> Any:
    """Return the tape of the program that is recorded in this thread, if one is."""
    return next((tape for tape in _levels.tapes if tape.program), None)


def may_hold_traced(x: Any) -> bool:
    """Whether traced values may be written into a new array: of a recording also whole numbers."""
    if type(x) is not np.ndarray:
        return False
    kind = x.dtype.kind
    return kind in "fc" or (kind in "iub" and program_tape() is not None)


def owner_id(x: np.ndarray) -> int:
    """Return the identity of the memory of an array."""
    return id(owner_of(x))


def check_free(x: Any) -> None:
    """Raise if an array that is about to be written into is held by a pullback."""
    if type(x) is memoryview:
        x = x.obj
    if type(x) is not np.ndarray:
        return
    owner = owner_of(x)
    if any(tape.holds(owner) for tape in _levels.tapes + _levels.around):
        raise MutationError(
            "an array that was made outside the function being differentiated, or inside it of "
            "plain values, is written into after it was used: the derivative needs its old values. "
            "Use a copy of it inside the function (c = c.copy())."
        )


def watch_held(goes_on: bool = False) -> None:
    """Note that code runs whose writes are not seen: what is held is compared at the end.

    With `goes_on` it is the code itself that is differentiated.
    """
    for tape in _levels.tapes:
        tape.watch(goes_on)
    for tape in _levels.around:
        tape.watch(goes_on)
