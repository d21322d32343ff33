"""Whether code is the user's, or belongs to Python or an installed package."""

from __future__ import annotations

import sys
import types
from typing import Any

from chainrules_core.interpreter.places import is_library_file

_OF_PYTHON = frozenset(sys.stdlib_module_names) | frozenset(sys.builtin_module_names)


def is_library(g: types.FunctionType) -> bool:
    """Whether a function belongs to the standard library or an installed package."""
    return is_library_file(g.__code__.co_filename)


def is_ours(g: types.FunctionType) -> bool:
    """Whether a function is part of the engine, of the core or of a rule."""
    package = g.__globals__.get("__name__", "").partition(".")[0]
    return package in ("autodiff", "chainrules", "chainrules_core")


def is_of_library(x: Any) -> bool:
    """Whether a class or a module belongs to Python itself or an installed package."""
    name = x.__name__ if isinstance(x, types.ModuleType) else x.__module__
    module = x if isinstance(x, types.ModuleType) else sys.modules.get(name)
    if module is None or name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    if file is None:  # Python's own, or one that the user has made of a text
        package = name.partition(".")[0]
        file = getattr(sys.modules.get(package), "__file__", None)
        if file is None:
            return package in _OF_PYTHON
    return is_library_file(file)
