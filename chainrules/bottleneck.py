"""Functions of bottleneck: NumPy's, and moving windows, in C.

Each is differentiated through what bottleneck itself computes in NumPy where its C code does not
know the type of an array. This module is loaded when somebody has imported bottleneck.
"""

import sys

from chainrules_core.authoring import Array, decompose

_fast, _slow = sys.modules["bottleneck"], sys.modules["bottleneck.slow"]
_WRITING = "replace"  # into its argument, which the C code alone can do

for _name in set(dir(_slow)) & set(dir(_fast)) - {_WRITING}:
    if type(getattr(_fast, _name)).__name__ == "builtin_function_or_method":
        decompose(getattr(_fast, _name), Array)(getattr(_slow, _name))
