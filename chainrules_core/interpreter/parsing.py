"""Parse Python text, whatever runs meanwhile."""

from __future__ import annotations

import ast
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Parses:
    """How many parses run, in all threads, and whether garbage was collected before the first."""

    running = 0
    collects = False

    def __init__(self) -> None:
        # One thread may take it twice: a finaliser may run, and parse, as long as it collects.
        self.lock = threading.RLock()

    def begin_anew(self) -> None:
        """Forget parses of other threads, which a forked process does not have."""
        if self.running and self.collects:
            gc.enable()
        self.lock, self.running = threading.RLock(), 0


_parses = _Parses()
if hasattr(os, "register_at_fork"):  # other threads may hold the lock, and are gone in the fork
    os.register_at_fork(after_in_child=_parses.begin_anew)


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile.

    A finaliser that runs in the middle of a parse could parse something, or let another thread do
    so: Python 3.11 keeps one count of the depth for all, and raises a SystemError then.
    """
    with _parses.lock:
        if not _parses.running:
            _parses.collects = gc.isenabled()
            gc.disable()
        _parses.running += 1
    try:
        yield
    finally:
        with _parses.lock:
            _parses.running -= 1
            if not _parses.running and _parses.collects:
                gc.enable()


def tree_of(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """Parse a text without a garbage collection in between."""
    with uncollected():
        return ast.parse(text, filename, mode)
