"""Functions that are differentiated again and again, compiled by themselves where they are pure.

``gradient(f, x)`` runs `f` as it is written, each time. Where this has been done often, and a
:class:`~autodiff.autocompile.purity_analysis.Proof` says that `f` does nothing but compute its
value, a program is recorded (:mod:`autodiff.compiler`, without machine code), and runs from then
on: with the same guards on arguments, variables outside and branches as any compiled function, and
compared with the function itself at calls 1, 2, 4, 8, and so on.
"""

from __future__ import annotations

from collections.abc import Callable

from autodiff.autocompile.call_records import Settings as Settings
from autodiff.autocompile.calls import called as called


def automatic_compile(enabled: bool) -> bool:
    """Switch automatic compilation on or off, for all threads.

    It is on at the start, unless the environment has ``AUTODIFF_COMPILE=0``.

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
    """Say what prevents a function from being compiled automatically.

    Parameters
    ----------
    f : callable
        A function that is differentiated.

    Returns
    -------
    str
        The first thing in its code that may do something, or depend on something, that a program
        would not notice; "" if there is none.

    Examples
    --------
    >>> import math
    >>> why_not(lambda x: math.sin(x) * 2.0)
    ''
    """
    from autodiff.autocompile.call_records import can_be_known
    from autodiff.autocompile.purity_analysis import Doubt, Proof

    if not can_be_known(f):
        return f"it is no function written in Python, but a {type(f).__name__}"
    try:
        Proof(f)
    except Doubt as doubt:
        return str(doubt)
    except Exception as error:
        return f"its code could not be looked at: {type(error).__name__}"
    return ""
