"""One pair of singular vectors, for a singular value that is known.

A norm by the largest or smallest singular value has the gradient u vᴴ. The primal has the value;
to find all vectors would take more than twice as long as it did. Of the matrix

    [ -s  A  ]
    [ Aᴴ  -s ]

(u, v) is the null vector, to which a few solutions with any right-hand side lead: each multiplies
the part of (u, v) by 10¹⁶, and that of other vectors by one over the gap between the values. That
is as exact as a decomposition, whose vectors are wrong by rounding over the gap as well. Two
right-hand sides lead to the same pair only where no other value is near.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core.authoring import is_foreign

LARGE = 32
"""Smaller matrices are decomposed as quickly."""
SOLUTIONS = 3
WIDEST = 2
"""Up to this ratio of rows and columns the system is not larger than what it saves."""


def singular_pair(a: Any, value: Any) -> tuple[Any, Any] | None:
    """Return u and v with A v = s u, Aᴴ u = s v; None where that is not certain.

    That is so for traced, small, flat and nearly singular matrices, single precision, and where
    another singular value coincides with this one or nearly so.
    """
    if is_foreign(a) or is_foreign(value) or np.ndim(a) != 2 or a.dtype.char not in "dD":
        return None
    m, n = a.shape
    size = np.linalg.norm(a)
    if min(m, n) < LARGE or max(m, n) > WIDEST * min(m, n) or not value > 1e-8 * size:
        return None
    from scipy.linalg import get_lapack_funcs  # where it is needed: it takes a while to load

    system = np.zeros((m + n, m + n), a.dtype, order="F")
    system[:m, m:] = a
    system[m:, :m] = a.conj().T
    np.fill_diagonal(system, -value)
    getrf, getrs = get_lapack_funcs(("getrf", "getrs"), (system,))
    lu, pivots, info = getrf(system, overwrite_a=True)
    if info != 0:
        return None
    x = np.random.default_rng(0).standard_normal((m + n, 2)).astype(a.dtype)
    for _ in range(SOLUTIONS):
        x, _ = getrs(lu, pivots, x)
        x = x / np.max(np.abs(x), axis=0)
    us, vs = [part / np.linalg.norm(part, axis=0) for part in (x[:m], x[m:])]
    (u, v), tolerance = (us[:, 0], vs[:, 0]), 1e-11
    is_alone = all(
        np.linalg.norm(y[:, 0] - np.vdot(y[:, 1], y[:, 0]) * y[:, 1]) < tolerance for y in (us, vs)
    )
    away = np.linalg.norm(a @ v - value * u) + np.linalg.norm(u.conj() @ a - value * v.conj())
    return (u, v) if is_alone and away < tolerance * size else None
