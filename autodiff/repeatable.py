"""Computations that give the same bits in each process, however long it has run.

Functions that are differentiated often are compiled automatically, and loops that have run for long
become machine code. Both may change the last bits. So a result that is compared with what another
process has computed, or is added to it, is computed without them.
"""

from __future__ import annotations

import threading


class _Thread(threading.local):
    level = 0


_thread = _Thread()


class repeatable:  # noqa: N801 - it reads like a function
    """A ``with`` block in which this thread computes what each other process would compute."""

    def __enter__(self) -> None:
        _thread.level += 1

    def __exit__(self, *error: object) -> None:
        _thread.level -= 1


def is_repeatable() -> bool:
    """Whether this thread is in such a block.

    Then no functions are compiled automatically, functions with loops are read from their source at
    the first call, what a rule differentiates is recorded at the first call, and loops do not
    become machine code.
    """
    return _thread.level > 0
