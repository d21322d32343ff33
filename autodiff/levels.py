"""Which differentiations are going on, and which arrays from outside they hold.

Pullbacks keep references to the arrays that a traced function uses as constants. If such an array
is written into before the sweep, its old values are gone and the gradient would be wrong; so a
write that is seen is refused.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import MutationError
from autodiff.tape import Tape
from chainrules_core.errors import ChainRulesError


class _Levels(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []
        self.around: list[Tape] = []  # those of the thread by which this one was begun
        self.failed: list[ChainRulesError] = []  # what ended threads that were begun by this one


_levels = _Levels()


class recording:  # noqa: N801 - it reads like a function
    """Note for the length of a ``with`` block that a tape records, in this thread."""

    __slots__ = ("tape",)

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def __enter__(self) -> None:
        _levels.tapes.append(self.tape)

    def __exit__(self, *error: object) -> None:
        _levels.tapes.remove(self.tape)
        if _levels.failed and not _levels.tapes:
            failed, _levels.failed = _levels.failed, []
            if error[0] is None:
                raise failed[0]


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

    What it writes into may be held by them. An error of the engine's that ends it would only be
    printed there, and what it was to compute be missing without a word.
    """
    around, failed = _levels.tapes + _levels.around, _levels.failed

    @functools.wraps(f, updated=())
    def in_thread(*args: Any, **kwargs: Any) -> Any:
        before, _levels.around = _levels.around, around
        try:
            return f(*args, **kwargs)
        except ChainRulesError as error:
            failed.append(error)
            raise
        finally:
            _levels.around = before

    return in_thread if around else f


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
    return id(x if x.base is None else x.base)


def check_free(x: Any) -> None:
    """Raise if an array that is about to be written into is held by a pullback."""
    if type(x) is not np.ndarray:
        return
    owner = x if x.base is None else x.base
    if any(tape.holds(owner) for tape in _levels.tapes + _levels.around):
        raise MutationError(
            "an array that was made outside the function being differentiated is written into "
            "after it was used: the derivative needs its old values. Use a copy of it inside the "
            "function (c = c.copy())."
        )
