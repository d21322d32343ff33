"""The budget for recording and compiling one call.

A recording unrolls loops, so it has no natural end. It takes a hundred times as long as the call's
own operations, and the passes take about as long as the recording. So both have a time limit, which
grows with the time of the operations: a call that runs for minutes may be recorded for minutes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from autodiff.compiler.compile_errors import BudgetExceededError

SECONDS, TIMES, BYTES = 3.0, 20, 1 << 32
_RECORDING = 0.6  # the share of the recording; the passes have the rest
_STRICT_SHARES = 0.4, 0.75
"""The share of the recording, and of this and the passes, if the limit must hold: the passes take
somewhat longer than the recording, and so does Python to compile the source that they make."""
AT_ONCE = 3.0  # seconds within which the first call may compile machine code, if requested

clock = time.thread_time  # does not count what other processes take


class Budget:
    """The time and the memory that recording and compiling one program may take.

    Parameters
    ----------
    seconds : float, optional
        The time limit if the operations are fast; `SECONDS` by default.
    memory : int
        The bytes that the arrays of the recording may take: all of them live until it ends.
    is_automatic : bool
        Whether automatic compilation makes the program. A long recording may then unroll loops that
        a structured program could run: the program competes with the function as written, and the
        faster one is kept. And the limit holds, whatever the operations take.

    Attributes
    ----------
    inside : float
        Seconds that the recorded operations took themselves, a lower bound for a traced call. The
        limit is at least `TIMES` as much, unless it is automatic.
    """

    __slots__ = ("_memory", "_seconds", "_start", "inside", "is_automatic")

    def __init__(
        self, seconds: float | None = None, memory: int = BYTES, is_automatic: bool = False
    ) -> None:
        self._seconds = SECONDS if seconds is None else seconds
        self._memory = memory
        self.is_automatic = is_automatic
        self._start = clock()
        self.inside = 0.0

    @property
    def spent(self) -> float:
        """The seconds since the start."""
        return clock() - self._start

    @property
    def left(self) -> float:
        """The remaining seconds."""
        return self._allowed - self.spent

    @property
    def _allowed(self) -> float:
        return self._seconds if self.is_automatic else max(self._seconds, TIMES * self.inside)

    @contextlib.contextmanager
    def uncounted(self) -> Iterator[None]:
        """Do not count what follows: it takes as long however many turns the loops have."""
        before = self.spent
        try:
            yield
        finally:
            if not self.is_automatic:
                self._start = clock() - before

    def allows(self, seconds: float) -> bool:
        """Whether the first call may compile machine code that takes so many seconds more."""
        return self.spent + seconds <= max(AT_ONCE, TIMES * self.inside)

    def has_time_to_compile(self, seconds: float) -> bool:
        """Whether machine code for loops may be made, which takes so many seconds."""
        return not self.is_automatic or seconds <= self.left

    def check(self) -> None:
        """Raise if the time is up."""
        share = _STRICT_SHARES[1] if self.is_automatic else 1.0
        if self.spent > share * self._allowed:
            raise BudgetExceededError(f"making a program takes more than {self._allowed:.3g} s")

    def check_recording(self) -> None:
        """Raise if the recording has used up its share of the time."""
        share = _STRICT_SHARES[0] if self.is_automatic else _RECORDING
        most = share * self._allowed
        if self.spent > most:
            raise BudgetExceededError(
                f"recording all of its operations takes more than {most:.3g} s"
            )

    def take(self, n: int) -> None:
        """Reserve memory for an array of `n` bytes; raise if there is not enough."""
        self._memory -= n
        if self._memory < 0:
            raise BudgetExceededError("the arrays that are recorded take too much memory")
