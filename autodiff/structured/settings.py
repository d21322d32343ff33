"""Thresholds for making programs and for compiling loops to machine code."""

from __future__ import annotations

import functools

_LLVMLITE = (0, 45)


class Settings:
    """Thresholds, which tests may change.

    Attributes
    ----------
    enabled : bool
        Whether programs are made and used.
    worth : float
        Seconds of tracing before the source of a function is read.
    turns : int
        Estimated loop iterations from which the source is read at the first call. The estimate is
        the size of the largest argument to the power of the loop depth.
    least : float
        The shortest traced call, in seconds, that a program is made for.
    native : float
        Seconds for each line of its source that a program has to run before its loops become
        machine code.
    """

    enabled = True
    worth = 0.03
    turns = 3000
    least = 0.0005
    native = 0.002


@functools.cache
def has_llvm() -> bool:
    """Whether loops can become machine code: llvmlite is installed and recent enough."""
    try:
        from llvmlite import __version__  # `importlib.metadata` would take 50 ms to import
    except ImportError:
        return False
    first, second = __version__.split(".")[:2]
    return (int(first), int(second)) >= _LLVMLITE
