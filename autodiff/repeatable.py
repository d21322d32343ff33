"""Computations that give the same bits in each process, however long it has run.

Functions that are differentiated often are compiled automatically, and loops that have run for long
become machine code. Both may change the last bits. So a result that is compared with what another
process has computed, or is added to it, is computed without them.
"""

from __future__ import annotations

import threading


class _Thread(threading.local):
    is_on = False


_thread = _Thread()


class repeatable:  # noqa: N801 - it reads like a function
    """A ``with`` block in which this thread computes what each other process would compute.

    Parameters
    ----------
    on : bool
        Whether it does; False for a part of such a block in which it need not.
    """

    def __init__(self, on: bool = True) -> None:
        self._on = on

    def __enter__(self) -> None:
        self._before, _thread.is_on = _thread.is_on, self._on

    def __exit__(self, *error: object) -> None:
        _thread.is_on = self._before


def is_repeatable() -> bool:
    """Whether this thread is in such a block.

    Then no functions are compiled automatically, functions with loops are read from their source at
    the first call, what a rule differentiates is recorded at the first call, and loops do not
    become machine code.
    """
    return _thread.is_on
