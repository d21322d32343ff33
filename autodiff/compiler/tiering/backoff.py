"""How long a function is recorded again and again when none of its programs fits a second call.

A recording takes many times as long as the call. A function that takes another way each time (an
index that moves, an integer that counts up) would be slower compiled than as it is. So would one
whose recording is too long. How long that is depends on how long calls take as they are written,
which is known after some of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from autodiff.compiler.compile_errors import MISMATCH
from autodiff.compiler.tiering import budget

TRUSTED, WATCHED, SHORTEST, LONGEST = 16, 8, 16, 1024
"""So many recordings need no hit; so many more are waited for one; then so many calls run as they
are, twice as many each time."""


class Patience:
    """Counts the recordings since one of them was of use."""

    __slots__ = ("_as_written", "_left", "_longest", "_owed", "_pause", "_recordings")

    def __init__(self) -> None:
        self._owed = self._longest = self._as_written = 0.0
        self._hit()

    def _hit(self) -> None:
        self._recordings, self._left, self._pause = 0, 0, SHORTEST

    def is_over(self) -> bool:
        """Whether a call that no program fits is to run as it is."""
        self._left = max(0, self._left - 1)
        return self._left > 0

    def budget(self) -> budget.Budget:
        """Return what the next program may cost: as much as all calls as they are written did."""
        known = budget.TIMES * self._longest
        return budget.Budget(max(budget.SECONDS, known, self._as_written))

    def owe(self, seconds: float, as_written: float) -> None:
        """Note that a recording was too long: the seconds that it took, and those of the call.

        If a program may take much longer than that, the next recording does not wait.
        """
        self._note(as_written)
        self._owed = max(0.0, 2 * seconds - budget.TIMES * self._longest)

    @property
    def owes(self) -> bool:
        """Whether calls have not yet run as they are for twice as long as that recording took."""
        return self._owed > 0.0

    def pays(self, run: Callable[[], Any]) -> Any:
        """Make a call as it is, and count its seconds."""
        start = time.perf_counter()
        try:
            return run()
        finally:
            self._note(time.perf_counter() - start)

    def _note(self, seconds: float) -> None:
        """Count a call as it is written."""
        self._owed -= seconds
        self._as_written += seconds
        self._longest = max(self._longest, seconds)

    def note(self, variant: Any) -> None:
        """Note that a call was recorded, as this program."""
        self._recordings += 1
        if self._recordings <= TRUSTED:
            return
        self._wait_for(variant)
        if self._recordings > TRUSTED + WATCHED:
            self._left = self._pause
            self._pause = min(2 * self._pause, LONGEST)

    def _wait_for(self, variant: Any) -> None:
        run = variant.run

        def first(*args: Any) -> Any:
            y = run(*args)
            if y is not MISMATCH:
                self._hit()
                if variant.run is first:
                    variant.run = run
            return y

        variant.run = first
