"""The shape of a traced array set in place, by ``x.shape = ...`` and ``x.resize(...)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.errors import MutationError
from autodiff.mutation.assignment import disown, family
from autodiff.trace.tracer import Tracer, note_origin


def reshape_in_place(target: Tracer, made: Any) -> None:
    """Make `target` stand for `made`, the same array in another shape."""
    if np.shape(target) == np.shape(made):
        disown(made)
        return
    is_view = made._origin is not None
    shares = target._origin is not None or len(family(target)) > 1 + is_view
    if shares and not is_view:
        raise MutationError(
            "a traced array is resized that shares its memory with another one. Use "
            "np.resize(x, shape)."
        )
    if shares:
        _stand_aside(target)
    origin = made._origin
    target._value, target._tape, target._index = made._value, made._tape, made._index
    disown(made)
    if shares:
        note_origin(target, origin)


def _stand_aside(target: Tracer) -> None:
    """Put another tracer into the place that `target` has among the arrays of its memory."""
    before = Tracer(target._value, target._tape, target._index)
    for view in family(target)[1:]:
        if view._origin.parent is target:
            view._origin.parent = before
    before._views, target._views = target._views, None
    if target._origin is not None:
        origin = target._origin
        disown(target)
        note_origin(before, origin)
