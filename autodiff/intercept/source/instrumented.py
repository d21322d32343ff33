"""Functions that typeguard has changed: the same change made to the text of their module.

What it makes of a module is a text like any other, and counts only if it compiles to the running
code.
"""

from __future__ import annotations

import ast
import copy
import sys
import types
from collections.abc import Iterator
from typing import Any


def changed_trees(tree: ast.Module, code: types.CodeType) -> Iterator[ast.Module]:
    """Yield what typeguard makes of a module for a function with this code, if it has changed it.

    By its decorator it changes one function, by its import hook all of a module.
    """
    module: Any = sys.modules.get("typeguard._transformer")
    if module is None or not any(name.partition(".")[0] == "typeguard" for name in code.co_names):
        return
    path = [part for part in code.co_qualname.split(".") if part != "<locals>"]
    lines = {
        node.decorator_list[0].lineno if node.decorator_list else node.lineno
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name
    }
    for target in (*[(path, line) for line in sorted(lines)], ()):
        changed = copy.deepcopy(tree)
        try:
            module.TypeguardTransformer(*target).visit(changed)
        except Exception:  # another version of typeguard
            continue
        yield ast.fix_missing_locations(changed)
