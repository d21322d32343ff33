"""Parse Python text, whatever runs meanwhile."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile.

    A finaliser that runs in the middle of a parse could parse something, or let another thread do
    so: Python 3.11 keeps one count of the depth for all, and raises a SystemError then.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def tree_of(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """Parse a text without a garbage collection in between."""
    with uncollected():
        return ast.parse(text, filename, mode)
