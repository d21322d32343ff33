"""Cotangents and tangents that a user gives: each belongs to a part of an output or argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import SeedError
from autodiff.trace import pytree
from autodiff.trace.tracer import untraced
from chainrules_core import ProjectTo, Tangent
from chainrules_core.rules import name_of


def seed_like(f: Callable, y: Any, bar: Any) -> Any:
    """Check a seed against the output it belongs to."""
    plain = untraced(bar)
    if not is_number_or_array(plain):
        raise SeedError(
            f"the pullback of {name_of(f)} was given {kind_of(plain)} for an output that is "
            f"{kind_of(untraced(y))}; it takes a number or array of numbers like the output."
        )
    if np.shape(plain) != np.shape(y):
        raise SeedError(
            f"the pullback of {name_of(f)} was given a cotangent of shape {np.shape(plain)} for an "
            f"output of shape {np.shape(y)}; the two must agree."
        )
    return ProjectTo(y)(bar)


def is_number_or_array(x: Any) -> bool:
    """Whether a cotangent or tangent is a number or an array of numbers."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fciub"
    return isinstance(x, (int, float, complex))


def kind_of(x: Any) -> str:
    """Return the class of a value, for a message; of an array also what it holds."""
    return f"an array of {x.dtype}" if type(x) is np.ndarray else f"a {type(x).__name__}"


MISSING: Any = object()


def seed_part(y: Any, bar: Any, key: Any) -> Any:
    """Return the part of a tangent that belongs to part `key` of a nest; `MISSING` if none does."""
    if pytree.is_sparse(type(y)) and not isinstance(bar, Tangent):
        return pytree.entries_at(y, bar)
    if isinstance(bar, (Tangent, dict)):
        try:
            return bar[key]
        except LookupError:
            return MISSING
    if isinstance(y, (tuple, list)) and isinstance(bar, (tuple, list)):
        if len(bar) != len(y):
            return MISSING
        return bar[key if type(key) is int else type(y)._fields.index(key)]  # type: ignore[union-attr] # a namedtuple
    if type(bar) is type(y) and hasattr(bar, str(key)):
        return getattr(bar, key)
    return MISSING


def part_of_seed(f: Callable, y: Any, bar: Any, key: Any) -> Any:
    """Return the part of a seed that belongs to part `key` of the output `y`."""
    part = seed_part(y, bar, key)
    if part is not MISSING:
        return part
    if isinstance(y, (tuple, list)) and isinstance(bar, (tuple, list)):
        raise SeedError(
            f"the pullback of {name_of(f)} takes {len(y)} cotangents, one for each part of the "
            f"output; it was given {len(bar)}."
        )
    raise SeedError(
        f"the pullback of {name_of(f)} was given a {type(bar).__name__} for an output that is a "
        f"{type(y).__name__}; give the same nesting."
    )
