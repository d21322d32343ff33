"""Functions of SciPy in two forms.

Newer versions of SciPy wrap a public function in one that hands the call on to CuPy or JAX where an
argument is theirs. SciPy's own code calls what is inside, so a rule is for both.
"""

from __future__ import annotations

from collections.abc import Callable

from chainrules_core import decompose


def trace_body(*functions: Callable) -> None:
    """Have the body of functions traced also where no argument is.

    For helpers of libraries that make an array, into which a traced value is written later.
    """
    for f in functions:
        decompose(f)(f)


def both(*functions: Callable) -> tuple[Callable, ...]:
    """Each function, and the one inside it if there is one."""
    inner = [getattr(f, "__wrapped__", None) for f in functions]
    return (*functions, *[f for f in inner if f is not None])
