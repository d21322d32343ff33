"""When functions are read from their source, and when their loops become machine code."""

from __future__ import annotations

import functools
import importlib.util

_LLVMLITE = (0, 45)


class Settings:
    """How calls are made.

    Attributes
    ----------
    enabled : bool
        Whether programs are made and used.
    worth : float
        Seconds of tracing after which the source of a function is read.
    turns : int
        Turns of its loops from which on it is read at the first call, if they go over the largest
        argument.
    least : float
        Seconds that one traced call takes at the least: a program saves nothing in shorter ones.
    native : float
        Seconds that a program has to take before its loops become machine code.
    """

    enabled = True
    worth = 0.03
    turns = 3000
    least = 0.0005
    native = 0.1


@functools.cache
def has_llvm() -> bool:
    """Whether loops can become machine code: llvmlite is there, and not too old."""
    if importlib.util.find_spec("llvmlite") is None:
        return False
    from importlib.metadata import version  # which takes 50 ms to import

    first, second = version("llvmlite").split(".")[:2]
    return (int(first), int(second)) >= _LLVMLITE
