"""tanhsinh: integrals of all elements of an array at once, in terms of one `integral` of arrays.

With limits that are not the same, t = a + (b - a) u makes them 0 and 1; where one is infinite, the
other one becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.refused import RefusedError
from chainrules.scipy.integrate.captured import plain
from chainrules.scipy.integrate.integrals import integral
from chainrules_core import decompose, non_differentiable


def tanhsinh_plainly(f: Callable, a: Any, b: Any, args: Any, options: dict) -> Any:
    """Call tanhsinh where nothing is traced."""
    return integrate.tanhsinh(f, a, b, args=args, **options)


def tanhsinh_body(f, a, b, *, args=(), log=False, preserve_shape=False, **options):
    args = tuple(args) if np.iterable(args) else (args,)
    found = tanhsinh_plainly(
        f, a, b, args, {"log": log, "preserve_shape": preserve_shape, **options}
    )
    if log or preserve_shape:
        raise RefusedError(
            "scipy.integrate.tanhsinh",
            "log=True and preserve_shape=True have no rule. Use scipy.integrate.quad or quad_vec.",
        )
    shape = np.shape(found.integral)
    low, high = np.asarray(plain(a), dtype=float), np.asarray(plain(b), dtype=float)
    known = {"known": found.integral, "options": {"limit": 1000}}
    if shape == () or (np.ndim(a) == 0 and np.ndim(b) == 0):
        y = integral(lambda t: np.broadcast_to(f(t, *args), shape), a, b, 0.0, **known)
    elif np.all(np.isfinite(low)) and np.all(np.isfinite(high)):
        width = b - a
        y = integral(
            lambda u: np.broadcast_to(width * f(a + width * u, *args), shape),
            0.0,
            1.0,
            0.0,
            **known,
        )
    elif np.all(np.isfinite(low)) and np.all(high == np.inf):
        y = integral(lambda s: np.broadcast_to(f(a + s, *args), shape), 0.0, np.inf, 0.0, **known)
    elif np.all(np.isfinite(high)) and np.all(low == -np.inf):
        y = integral(lambda s: np.broadcast_to(f(b - s, *args), shape), 0.0, np.inf, 0.0, **known)
    else:
        raise RefusedError(
            "scipy.integrate.tanhsinh",
            "some of its limits are finite and others infinite. Call it once for each kind.",
        )
    return type(found)({**found, "integral": y})


non_differentiable(tanhsinh_plainly, Callable)
if hasattr(integrate, "tanhsinh"):  # since SciPy 1.15
    decompose(integrate.tanhsinh, Callable)(tanhsinh_body)
