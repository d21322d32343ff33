"""Automatic compilation of pure functions that are differentiated often.

``gradient(f, x)`` traces `f` at first. Once that has happened often, and a
:class:`~autodiff.autocompile.purity_analysis.Proof` shows that `f` is pure, a program is recorded
(:mod:`autodiff.compiler`) and used from then on. It has the same guards on arguments, outer
variables and branches as any compiled function, and its results are compared with tracing at calls
1, 2, 4, 8, and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from autodiff.autocompile.call_records import Settings as Settings
from autodiff.autocompile.derivative_dispatch import called as called


def automatic_compile(enabled: bool) -> bool:
    """Switch automatic compilation on or off, for all threads.

    It is on by default, unless the environment has ``AUTODIFF_COMPILE=0``.

    Parameters
    ----------
    enabled : bool
        Whether functions that are differentiated often may be compiled from now on.

    Returns
    -------
    bool
        Whether it was on before.

    Examples
    --------
    >>> before = automatic_compile(False)
    >>> automatic_compile(before)
    False
    """
    before, Settings.enabled = Settings.enabled, bool(enabled)
    return before


def why_not(f: Callable) -> str:
    """Return the reason why a function cannot be compiled automatically.

    Parameters
    ----------
    f : callable
        A function that is differentiated.

    Returns
    -------
    str
        The first possible side effect or hidden input in its code; "" if there is none.

    Examples
    --------
    >>> import math
    >>> why_not(lambda x: math.sin(x) * 2.0)
    ''
    """
    from autodiff.autocompile.call_records import FUNCTIONS
    from autodiff.autocompile.purity_analysis import Impurity, Proof

    if type(f) not in FUNCTIONS:
        return f"it is no function written in Python, but a {type(f).__name__}"
    try:
        Proof(f, takes_parts=True)
    except Impurity as doubt:
        return str(doubt)
    except Exception as error:
        return f"its code could not be analysed: {type(error).__name__}"
    return ""
