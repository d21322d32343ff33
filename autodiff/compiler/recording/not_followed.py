"""What a function may do with variables outside that no guard can follow."""

from __future__ import annotations

import types

from autodiff.closures import outer_assignments
from chainrules_core.interpreter.places import codes_in

_OF_SYS = frozenset({"argv", "flags", "getrecursionlimit", "modules", "path"})
_ANYTHING = frozenset(
    {
        "Decimal", "__import__", "_getframe", "currentframe", "environ", "environb", "eval", "exec",
        "f_globals", "get_objects", "globals", "import_module",
    }
)  # fmt: skip
"""What may read anything, or a state that is not at hand (the context of decimal numbers)."""


def not_followed(function: types.FunctionType) -> str:
    """Say what a function does with variables outside that is not followed, "" if nothing."""
    names = {n for code in codes_in(function.__code__) for n in code.co_names}
    anything = names & _ANYTHING
    if anything:
        return f"uses {min(anything)}"
    if {"flags", "writeable"} <= names:
        return "reads whether arrays can be written into"
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
