"""Limits on the time and the memory that a piece of a run may take."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Iterator
from typing import Any


class TooSlow(BaseException):
    """Time is up. Not an `Exception`: programs that catch these go on for ever."""


WAITING = 30
"""How many times longer than its processor time something may take: beside others, or for ever."""

_CLOCKS = ((signal.ITIMER_PROF, signal.SIGPROF, 1), (signal.ITIMER_REAL, signal.SIGALRM, WAITING))


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` in what takes more processor time, or waits for much longer."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"more than {seconds} seconds")

    before = [signal.signal(number, stop) for _, number, _ in _CLOCKS]
    for clock, _, factor in _CLOCKS:
        signal.setitimer(clock, factor * seconds)
    try:
        yield
    finally:
        for (clock, number, _), old in zip(_CLOCKS, before, strict=True):
            signal.setitimer(clock, 0)
            signal.signal(number, old)


def limit_memory(gigabytes: int = 8) -> None:
    """Have what takes more raise a MemoryError, from now on in this process."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, most))
