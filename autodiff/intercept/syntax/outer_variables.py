"""Global variables that a recording replaces by traced values of its own.

Nothing is bound in the user's globals, so no other thread sees these values. Rewritten code asks
for such a variable by ``variable(x, "x")`` (`source.rewritten_code.give`).
"""

from __future__ import annotations

import sys
from typing import Any

from autodiff.trace.trace_stack import active_tapes


def variable(x: Any, name: str) -> Any:
    """Return the value of a global variable of the caller: `x`, or what a recording gives it."""
    for tape in active_tapes():
        if tape.program:
            return tape.variables.get((id(sys._getframe(1).f_globals), name), x)  # type: ignore[attr-defined] # it has them
    return x
