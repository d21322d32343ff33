"""Parse Python text, whatever runs meanwhile."""

from __future__ import annotations

import ast
import gc
from typing import Any


def tree_of(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """Parse a text without a garbage collection in between.

    A finaliser that runs meanwhile could parse something, or let another thread do so: Python 3.11
    keeps one count of the depth for all, and raises a SystemError then.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text, filename, mode)
    finally:
        if collects:
            gc.enable()
