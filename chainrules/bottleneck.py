"""Functions of bottleneck: NumPy's, and moving windows, in C.

Each is differentiated through what bottleneck itself computes in NumPy where its C code does not
know the type of an array. This module is loaded when somebody has imported bottleneck; where that
is not installed, it has no rules.
"""

import importlib

from chainrules_core.authoring import Array, decompose

_WRITING = "replace"  # into its argument, which the C code alone can do


def _add_rules() -> None:
    try:
        fast, slow = map(importlib.import_module, ("bottleneck", "bottleneck.slow"))
    except ImportError:
        return
    for name in sorted(set(dir(slow)) & set(dir(fast)) - {_WRITING}):
        if type(getattr(fast, name)).__name__ == "builtin_function_or_method":
            decompose(getattr(fast, name), Array)(getattr(slow, name))


_add_rules()
