"""What a function leaves out because it happens to be 0, though it moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import frule, not_implemented, primitive, rrule


@primitive
def without(y: Any, lost: Any, *, why: str) -> Any:
    """Return `y`, what is left of an array where its elements `lost`, which are 0, are left out.

    Their derivatives are an error where something depends on them.

    Parameters
    ----------
    y, lost : array_like
        What is left, and what is not.
    why : str
        The error, with a way out.
    """
    return y


@rrule.register(without)
def without_rrule(y, lost, *, why):
    def without_pullback(y_bar):
        return y_bar, not_implemented(why)  # also where y_bar is 0: what is lost may count alone

    return without(y, lost, why=why), without_pullback


@frule.register(without)
def without_frule(dots, y, lost, *, why):
    y_dot, lost_dot = dots
    if np.any(lost_dot):
        y_dot = not_implemented(why)
    return without(y, lost, why=why), y_dot
