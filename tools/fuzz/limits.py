"""Limits on the time and the memory that a piece of a run may take."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Iterator
from typing import Any


class TooSlow(BaseException):
    """Time is up. Not an `Exception`: programs that catch these go on for ever."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` in what takes longer."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_memory(gigabytes: int = 8) -> None:
    """Have what takes more raise a MemoryError, from now on in this process."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes << 30, most))
