"""When functions are read from their source, and when their loops become machine code."""

from __future__ import annotations

import threading


class Settings:
    """How calls are made.

    Attributes
    ----------
    enabled : bool
        Whether programs are made and used.
    worth : float
        Seconds of tracing after which the source of a function is read.
    least : float
        Seconds that one traced call takes at the least: a program saves nothing in shorter ones.
    native : float
        Seconds that a program has to take before its loops become machine code.
    """

    enabled = True
    worth = 0.03
    least = 0.0005
    native = 0.1


class _Thread(threading.local):
    level = 0


_thread = _Thread()


class repeatable:  # noqa: N801 - it reads like a function
    """A ``with`` block in which this thread computes the same bits as any other process.

    So nothing depends on how long functions have run before: each one is read from its source at
    the first call, and there is no machine code, which may differ in the last bits.
    """

    def __enter__(self) -> None:
        _thread.level += 1

    def __exit__(self, *error: object) -> None:
        _thread.level -= 1


def is_repeatable() -> bool:
    """Whether this thread is in such a block."""
    return _thread.level > 0
