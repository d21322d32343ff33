"""How long traced calls of a function take, which decides whether a program is expected to pay."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from autodiff.repeatable import is_repeatable
from autodiff.structured.settings import Settings


class TracedTimes:
    """The times of the traced calls of a function.

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
