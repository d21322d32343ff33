"""When a program is made and its loops are compiled: thresholds, and the times of traced calls."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from autodiff.repeatable import is_repeatable

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
    inlined : int
        How many calls are inlined before functions of numbers get programs of their own.
    """

    enabled = True
    worth = 0.03
    turns = 3000
    least = 0.0005
    native = 0.002
    inlined = 16


class TracedTimes:
    """The times of the traced calls of a function, which decide whether a program may pay.

    Attributes
    ----------
    spent, last, first : float
        Seconds: of all calls, of the last one, and of the first one.
    calls : int
        The number of calls.
    """

    def __init__(self) -> None:
        self.spent = self.last = self.first = 0.0
        self.calls = 0

    def timed(self, body: Callable, args: tuple) -> Any:
        """Trace a call and record how long it takes."""
        start = time.perf_counter()
        result = body(*args)
        self.note_time(time.perf_counter() - start)
        return result

    def note_time(self, seconds: float) -> None:
        """Note how long tracing a call has taken."""
        self.last = seconds
        self.spent += seconds
        self.calls += 1
        if self.calls == 1:
            self.first = seconds

    def has_paid(self) -> bool:
        """Whether the traced calls have taken long enough for a program.

        The first one takes longer than the others: it makes the code of what it calls.
        """
        later = (self.spent - self.first) / max(self.calls - 1, 1)
        usual = min(self.last, later) if self.calls > 1 else self.last
        return self.spent >= Settings.worth and usual >= Settings.least

    def may_be_worth_it(self) -> bool:
        """Whether a program may be expected to pay, before anything is known of the arguments."""
        return not self.spent or self.has_paid() or is_repeatable()


@functools.cache
def has_llvm() -> bool:
    """Whether loops can become machine code: llvmlite is installed and recent enough."""
    try:
        from llvmlite import __version__  # `importlib.metadata` would take 50 ms to import
    except ImportError:
        return False
    first, second = __version__.split(".")[:2]
    return (int(first), int(second)) >= _LLVMLITE
