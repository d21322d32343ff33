"""What making a program of one call may cost.

A recording has all turns of a loop that no program can run, so it has no natural end. It takes a
hundred times as long as the call's own operations, and the passes behind it take about as long as
the recording. So both have a limit, of seconds, which grows with what the operations themselves
take: a call on large arrays may be recorded for minutes, because it runs for as long.
"""

from __future__ import annotations

import time

from autodiff.compiler.compile_errors import TooLongError

SECONDS, TIMES, BYTES = 10.0, 20, 1 << 32
_RECORDING = 0.6  # the share of a recording; the passes have the rest
_AT_ONCE = 3.0  # seconds up to which the first call makes machine code, if it is asked for

clock = time.thread_time  # what other processes take is not counted


class Budget:
    """The seconds and the memory that one program may take to make.

    Parameters
    ----------
    seconds : float, optional
        What it may take at the least; without it `SECONDS`.
    memory : int
        How many bytes the arrays of the recording may have: all of them live until it ends.
    may_unroll : bool
        Whether a long recording may have all turns of loops that could run from their source: the
        function as it is written takes turns with the program, and the faster one stays.

    Attributes
    ----------
    inside : float
        Seconds that the recorded operations took themselves. A traced call takes at least as long,
        so a program may take `TIMES` as long.
    """

    __slots__ = ("_memory", "_seconds", "_start", "inside", "may_unroll")

    def __init__(
        self, seconds: float | None = None, memory: int = BYTES, may_unroll: bool = False
    ) -> None:
        self._seconds = SECONDS if seconds is None else seconds
        self._memory = memory
        self.may_unroll = may_unroll
        self._start = clock()
        self.inside = 0.0

    @property
    def spent(self) -> float:
        """The seconds since the beginning."""
        return clock() - self._start

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self._allowed - self.spent

    @property
    def _allowed(self) -> float:
        return max(self._seconds, TIMES * self.inside)

    def allows(self, seconds: float) -> bool:
        """Whether machine code that takes so many seconds more can be made in the first call."""
        return self.spent + seconds <= max(_AT_ONCE, TIMES * self.inside)

    def check(self) -> None:
        """Raise if nothing is left."""
        if self.left < 0.0:
            raise TooLongError(f"making a program takes more than {self._allowed:.3g} s")

    def check_recording(self) -> None:
        """Raise if nothing is left for a recording."""
        most = _RECORDING * self._allowed
        if self.spent > most:
            raise TooLongError(f"recording all of its operations takes more than {most:.3g} s")

    def take(self, n: int) -> None:
        """Note that an array of so many bytes is kept; raise if there is no room for it."""
        self._memory -= n
        if self._memory < 0:
            raise TooLongError("the arrays that are recorded take too much memory")
