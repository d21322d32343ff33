"""The trace levels that are active in this thread, and the arrays from outside that they hold.

Pullbacks keep references to the arrays that a traced function uses as constants. If such an array
were written into before the sweep, the gradient would be computed with the new values and be wrong.
So such a write is refused.
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
from chainrules_core.interpreter import noticed
from chainrules_core.interpreter.noticed import here


class _Levels(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []
        self.around: list[Tape] = []  # those of the thread that started this one
        self.draws: list | None = None  # random numbers of a checkpointed call so far
        self.passing: dict[int, Any] = {}  # what is remembered until nothing is recorded


_levels = _Levels()


class recording(noticed.noticing):  # noqa: N801 - it reads like a function
    """A ``with`` block in which a tape records the calls of this thread.

    An error of ours that is swallowed in the block is raised at its end.
    """

    __slots__ = ("tape",)

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape

    def __enter__(self) -> None:
        self._around = here.innermost
        here.innermost = self
        _levels.tapes.append(self.tape)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        _levels.tapes.remove(self.tape)
        if _levels.passing and not _levels.tapes:
            _levels.passing = {}
        here.innermost = self._around
        if self.error is not None or error is not None:
            self._end(error)


def is_recording(tape: Tape | None = None) -> bool:
    """Whether this tape (by default any tape) records in this thread."""
    return bool(_levels.tapes) if tape is None else tape in _levels.tapes


def is_differentiating() -> bool:
    """Whether a function is differentiated in this thread, in reverse or forward mode."""
    return bool(_levels.tapes) or noticed.innermost() is not None


def is_free() -> bool:
    """Whether nothing is differentiated or recorded, in this thread or the one that started it."""
    return not _levels.tapes and not _levels.around


def apart(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function that reads nothing but plain arguments as if nothing were recorded."""
    before = _levels.tapes, _levels.around, _levels.passing
    _levels.tapes, _levels.around, _levels.passing = [], [], {}
    try:
        return f(*args, **kwargs)
    finally:
        _levels.tapes, _levels.around, _levels.passing = before


def passing() -> dict[int, Any]:
    """Return what is remembered until this thread records nothing more."""
    return _levels.passing


def active_tapes() -> list[Tape]:
    """Return the tapes that record in this thread."""
    return _levels.tapes


def begun_here(f: Callable) -> Callable:
    """Return a function to run in another thread, in which the tapes of this one are known.

    They may hold an array that it writes into. An error of ours that ends the other thread would
    only be printed there, while its results are missing here; so the error is noted here as well.
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
    """Collect the random numbers that this thread draws in a ``with`` block in a list."""
    before, _levels.draws = _levels.draws, []
    try:
        yield _levels.draws
    finally:
        drawn, _levels.draws = _levels.draws, before
        if before is not None:
            before += drawn


def note_draw(y: Any) -> None:
    """Note random numbers that were drawn, if a checkpointed call is running."""
    if _levels.draws is not None:
        _levels.draws.append(y.tobytes() if isinstance(y, (np.ndarray, np.generic)) else repr(y))


def program_tape() -> Any:
    """Return the tape of the program that is being recorded in this thread, or None."""
    return next((tape for tape in _levels.tapes if tape.program), None)


def may_hold_traced(x: Any) -> bool:
    """Whether traced values may be written into a new array; in a recording also integers."""
    if type(x) is not np.ndarray:
        return False
    kind = x.dtype.kind
    return kind in "fc" or (kind in "iub" and program_tape() is not None)


def owner_id(x: np.ndarray) -> int:
    """Return the identity of the memory of an array."""
    return id(owner_of(x))


def is_held(x: np.ndarray) -> bool:
    """Whether a pullback holds an array, or its memory, so that nobody may write into it."""
    owner = owner_of(x)
    return any(tape.holds(owner) or tape.is_given(x) for tape in _levels.tapes + _levels.around)


def check_free(x: Any) -> None:
    """Raise if an array that is about to be written into is held by a pullback."""
    if type(x) is memoryview:
        x = x.obj
    if type(x) is not np.ndarray:
        return
    if is_held(x):
        raise MutationError(
            "an array that was made outside the function being differentiated, or inside it of "
            "plain values, is written into after it was used: the derivative needs its old values. "
            "Use a copy of it inside the function (c = c.copy())."
        )


def argument_of(traced: Any) -> Any:
    """Return the argument for which a function was given this tracer; None if it is no argument."""
    tapes = _levels.tapes + _levels.around
    return next((x for tape in tapes for t, _, x in tape.copied if t is traced), None)


def watch_held(goes_on: bool = False) -> None:
    """Note that code runs whose writes are not visible: held arrays are compared at the end.

    `goes_on` tells that this code is the differentiated function itself.
    """
    for tape in _levels.tapes + _levels.around:
        tape.watch(goes_on)
