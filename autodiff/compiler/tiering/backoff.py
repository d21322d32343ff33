"""Backoff: stop recording a function again and again if none of its programs fits a second call.

Recording takes many times as long as the call. Compiling a function whose path differs in each call
(a moving index, a counter) would make it slower. So would a recording that is too long; what is too
long depends on the seconds that calls take as written, which are known after some of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from autodiff.compiler.compile_errors import MISMATCH
from autodiff.compiler.tiering import budget

TRUSTED, WATCHED, SHORTEST, LONGEST = 8, 8, 16, 1024
"""Recordings that need no hit; further recordings that wait for one; and the calls that then run as
written, at first and at most. The pause doubles each time."""


class Backoff:
    """Counts the recordings, without those whose programs have fitted a second call.

    Each program answers for its own recording: where branches differ at random, a few programs fit
    a call by chance.
    """

    __slots__ = ("_calls_to_wait", "_debt", "_longest_call", "_pause", "_recordings", "_total")

    def __init__(self) -> None:
        self._debt = self._longest_call = self._total = 0.0
        self._recordings, self._calls_to_wait, self._pause = 0, 0, SHORTEST

    def must_wait(self) -> bool:
        """Count a call that no program fits; return whether it has to run as written."""
        self._calls_to_wait = max(0, self._calls_to_wait - 1)
        return self._calls_to_wait > 0

    def budget(self) -> budget.Budget:
        """Return the budget of the next program: at least the time of all calls as written."""
        known = budget.TIMES * self._longest_call
        return budget.Budget(max(budget.SECONDS, known, self._total))

    def note_too_long(self, seconds: float, as_written: float) -> None:
        """Note that a recording was too long: its seconds, and those of the call as written.

        Calls then run as written for twice these seconds. The time that a program may take for
        such a call is deducted, so that a slow function is recorded again at once.
        """
        self._count_call(as_written)
        self._debt = max(0.0, 2 * seconds - budget.TIMES * self._longest_call)

    @property
    def has_debt(self) -> bool:
        """Whether a recording that was too long has not yet been paid off by calls as written."""
        return self._debt > 0.0

    def pay_off(self, run: Callable[[], Any]) -> Any:
        """Make a call as written, and count its seconds."""
        start = time.perf_counter()
        try:
            return run()
        finally:
            self._count_call(time.perf_counter() - start)

    def _count_call(self, seconds: float) -> None:
        """Count a call as written."""
        self._debt -= seconds
        self._total += seconds
        self._longest_call = max(self._longest_call, seconds)

    def note_recording(self, variant: Any) -> None:
        """Note that a call was recorded as this variant."""
        self._recordings += 1
        if self._recordings <= TRUSTED:
            return
        self._expect_hit(variant)
        if self._recordings > TRUSTED + WATCHED:
            self._calls_to_wait = self._pause
            self._pause = min(2 * self._pause, LONGEST)

    def _expect_hit(self, variant: Any) -> None:
        """Do not count the recording of a variant once that fits a call."""
        run, is_hit = variant.run, False

        def until_hit(*args: Any) -> Any:
            nonlocal is_hit
            y = run(*args)
            if y is not MISMATCH and not is_hit:
                is_hit = True
                self._recordings, self._calls_to_wait = self._recordings - 1, 0
                if self._recordings <= TRUSTED:
                    self._pause = SHORTEST
                if variant.run is until_hit:
                    variant.run = run
            return y

        variant.run = until_hit
