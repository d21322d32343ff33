"""Run without the garbage collector."""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Callable
from typing import Any


class _Uncollected:
    """Collects no garbage while something runs, in any thread.

    A finaliser that runs in the middle of a parse could parse something, or let another thread do
    so: Python 3.11 keeps one count of the depth for all, and raises a SystemError then. What makes
    many objects that last takes half as long if nobody looks at them again and again.
    """

    running = 0  # in all threads
    collects = False  # whether garbage was collected before the first

    def __init__(self) -> None:
        # One thread may take it twice: a finaliser may run, and parse, as long as it collects.
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        with self.lock:
            if not self.running:
                self.collects = gc.isenabled()
                gc.disable()
            self.running += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.running -= 1
            if not self.running and self.collects:
                gc.enable()

    def __call__(self, f: Callable) -> Callable:
        """Return a function that collects no garbage while it runs."""

        @functools.wraps(f)
        def call(*args: Any) -> Any:
            with self:
                return f(*args)

        return call

    def begin_anew(self) -> None:
        """Forget what runs in other threads, which a forked process does not have."""
        if self.running and self.collects:
            gc.enable()
        self.lock, self.running = threading.RLock(), 0


uncollected = _Uncollected()
"""Within ``with uncollected``, and in functions decorated by it, no garbage is collected."""

if hasattr(os, "register_at_fork"):  # other threads may hold the lock, and are gone in the fork
    os.register_at_fork(after_in_child=uncollected.begin_anew)
