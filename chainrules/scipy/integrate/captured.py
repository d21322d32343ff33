"""What an integrand has captured, as one vector: the form in which it is integrated.

The rules here are for functions that captured what they are differentiated by (`Closure`), called
with further arguments. Cotangents of both are laid end to end, so that the cotangent of an integral
is again an integral, of a function whose value is a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import (
    AbstractZero,
    Closure,
    NoTangent,
    Tangent,
    frule_via_ad,
    non_differentiable,
    rrule_via_ad,
    unthunk,
)


def values_of(f: Callable) -> tuple:
    """What a function has captured."""
    return f.values if isinstance(f, Closure) else ()


def is_complex(x: Any) -> bool:
    """Whether a number or array is complex."""
    return np.iscomplexobj(x)


def concrete(x_bar: Any, x: Any) -> Any:
    """Return a tangent as a number or array, zeros too."""
    x_bar = unthunk(x_bar)
    return np.zeros(np.shape(x)) if isinstance(x_bar, AbstractZero) else x_bar


def plain(x: Any) -> Any:
    """The values of what may be traced."""
    return x


non_differentiable(plain)


def is_still(x_dot: Any) -> bool:
    """Whether a tangent is zero, and nothing that an outer level perturbs."""
    if isinstance(x_dot, AbstractZero):
        return True
    value = plain(x_dot)
    return value is x_dot and not np.any(value)


def parts_of_closure(f: Callable, f_bar: Any) -> list:
    """The parts of a tangent of a function, one for each value that it has captured."""
    values = values_of(f)
    f_bar = unthunk(f_bar)
    if isinstance(f_bar, AbstractZero):
        return [np.zeros(np.shape(v)) for v in values]
    parts = unthunk(f_bar["values"])
    if isinstance(parts, AbstractZero):
        return [np.zeros(np.shape(v)) for v in values]
    return [concrete(parts[i], v) for i, v in enumerate(values)]


def as_closure_tangent(f: Callable, parts: list) -> Any:
    """The tangent of a function from one of each value that it has captured."""
    return Tangent[Closure](values=Tangent[tuple](*parts)) if values_of(f) else NoTangent()


def flat(parts: list) -> Any:
    """Lay numbers and arrays end to end."""
    return np.concatenate([np.ravel(p) for p in parts])


def unflat(vector: Any, like: tuple) -> list:
    """Cut a vector into numbers and arrays of given shapes, real where these are."""
    parts, start = [], 0
    for x in like:
        size = int(np.prod(np.shape(x)))
        part = np.reshape(vector[start : start + size], np.shape(x))
        parts.append(part if is_complex(x) else np.real(part))
        start += size
    return parts


def pulled(config: Any, f: Callable, places: tuple, args: tuple, y_bar: Any) -> tuple:
    """Pull a cotangent back through ``f(*places, *args)``.

    Returns
    -------
    tuple
        The cotangents of the places, as a list, and the vector of those of what `f` has captured
        and of `args`.
    """
    y, pull = rrule_via_ad(config, f, *places, *args)
    seed = np.reshape(y_bar, np.shape(y))
    bars = pull(seed if is_complex(y) else np.real(seed))
    n = len(places)
    own = [concrete(bar, x) for bar, x in zip(bars[1 : n + 1], places, strict=True)]
    rest = [concrete(bar, x) for bar, x in zip(bars[n + 1 :], args, strict=True)]
    return own, flat([*parts_of_closure(f, bars[0]), *rest, np.zeros(0)])


def pushed(config: Any, f: Callable, dots: tuple, args: tuple) -> Any:
    """Push tangents through ``f(*args)``: those of what it has captured first, then of `args`."""
    n = len(values_of(f))
    f_dot = as_closure_tangent(f, list(dots[:n]))
    y, y_dot = frule_via_ad(config, (f_dot, *dots[n:]), f, *args)
    return concrete(y_dot, y)


def numbers(dots: tuple, args: tuple) -> tuple:
    """Tangents as numbers and arrays."""
    return tuple([concrete(d, a) for d, a in zip(dots, args, strict=True)])


def pulled_parts(config: Any, f: Callable, t: Any, y: Any, y_bar: Any) -> tuple:
    """Pull a cotangent back through ``f(t, y)``: to `y`, and to all that `f` has captured."""
    _, pull = rrule_via_ad(config, f, t, y)
    f_bar, _, bar = pull(y_bar)
    return concrete(bar, y), parts_of_closure(f, f_bar)
