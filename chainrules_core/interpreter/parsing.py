"""Parse Python text, whatever runs meanwhile."""

from __future__ import annotations

import ast
from typing import Any

from chainrules_core.interpreter.collector import uncollected


def tree_of(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """Parse a text without a garbage collection in between."""
    with uncollected:
        return ast.parse(text, filename, mode)
