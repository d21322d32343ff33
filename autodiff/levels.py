"""Which differentiations are going on, and which arrays from outside they hold.

Pullbacks keep references to the arrays that a traced function uses as constants. If such an array
is written into before the sweep, its old values are gone and the gradient would be wrong; so a
write that is seen is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff.errors import MutationError
from autodiff.tape import Tape


class _Levels(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []


_levels = _Levels()


@contextmanager
def recording(tape: Tape) -> Iterator[None]:
    """Note for the length of a ``with`` block that a tape records, in this thread."""
    _levels.tapes.append(tape)
    try:
        yield
    finally:
        _levels.tapes.remove(tape)


def is_recording() -> bool:
    """Whether a tape records in this thread."""
    return bool(_levels.tapes)


def program_tape() -> Any:
    """Return the tape of the program that is recorded in this thread, if one is."""
    return next((tape for tape in _levels.tapes if tape.program), None)


def owner_id(x: np.ndarray) -> int:
    """Return the identity of the memory of an array."""
    return id(x if x.base is None else x.base)


def check_free(x: Any) -> None:
    """Raise if an array that is about to be written into is held by a pullback."""
    if type(x) is not np.ndarray:
        return
    owner = x if x.base is None else x.base
    if any(tape.holds(owner) for tape in _levels.tapes):
        raise MutationError(
            "an array that was made outside the function being differentiated is written into "
            "after it was used: the derivative needs its old values. Use a copy of it inside the "
            "function (c = c.copy())."
        )
