"""What a function may do with variables outside that no guard can follow."""

from __future__ import annotations

import sys
import types
from typing import Any

from autodiff.closures import outer_assignments
from autodiff.closures.captured_values import content_of
from autodiff.compiler.recording.mentioned_names import BY_TEXT
from chainrules_core.interpreter.places import codes_in

_OF_SYS = frozenset({"argv", "flags", "getrecursionlimit", "modules", "path"})
_ANYTHING = frozenset(
    {
        "Decimal", "__import__", "__subclasses__", "_getframe", "currentframe", "environ",
        "environb", "eval", "exec", "f_globals", "get_objects", "globals", "import_module",
    }
)  # fmt: skip
"""What may read anything, or a state that is not at hand (the context of decimal numbers)."""
_NAMED = (types.BuiltinFunctionType, types.FunctionType, types.ModuleType, type)


def is_reader(x: Any) -> bool:
    """Whether this is a function of Python's that reads variables or attributes by text."""
    if isinstance(x, types.BuiltinFunctionType):
        is_function = isinstance(x.__self__, types.ModuleType)
    else:
        is_function = isinstance(x, (types.FunctionType, type))
    if not is_function or (x.__name__ not in BY_TEXT and x.__name__ not in _ANYTHING):
        return False
    return (x.__module__ or "").partition(".")[0].lstrip("_") in sys.stdlib_module_names


def mentioned_by(function: types.FunctionType) -> set[str]:
    """Return the names that a function mentions, and the own names of functions and modules.

    These may go by another name: ``from builtins import eval as run``, ``import sys as system``.
    """
    names = {n for code in codes_in(function.__code__) for n in code.co_names}
    scope = function.__globals__
    held = [scope[n] for n in names & scope.keys()]
    held += map(content_of, function.__closure__ or ())
    return names.union(str(getattr(x, "__name__", "")) for x in held if isinstance(x, _NAMED))


def not_followed(function: types.FunctionType) -> str:
    """Say what a function does with variables outside that is not followed, "" if nothing."""
    names = mentioned_by(function)
    anything = names & _ANYTHING
    if anything:
        return f"uses {min(anything)}"
    if {"flags", "writeable"} <= names or "setflags" in names:
        return "asks or says whether arrays can be written into"
    if "sys" in names and names & _OF_SYS:
        return f"uses sys.{min(names & _OF_SYS)}"
    found = outer_assignments.of(function)
    if found is None:
        return "may write variables outside of it: its source is not at hand"
    for name in sorted(found.to_globals):
        return f"writes the global variable {name!r}"
    for name in sorted(found.to_captured.intersection(function.__code__.co_freevars)):
        return f"writes the variable {name!r} of the function around it"
    return ""
