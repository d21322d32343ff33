"""Functions of sparse matrices: the exponential, norms and their estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as linalg
import scipy.sparse.linalg as spl

from chainrules.scipy.sparse.entries import (
    ARRAYS,
    MATRICES,
    as_format,
    canonical,
    is_sparse,
    places_of,
    refused,
    summed,
    vector_of,
)
from chainrules.scipy.sparse.in_place import decompose_function, decompose_method
from chainrules.scipy.sparse.linalg.solving import may_depend, stored
from chainrules.scipy.sparse.linalg.spectral import array_of
from chainrules.scipy.sparse.linalg.taylor import taylor, taylor_steps
from chainrules.scipy.sparse.products import Pattern
from chainrules_core import ignore_derivatives, natively
from chainrules_core.authoring import with_entries


@decompose_function(spl.onenormest)
def onenormest(
    A: Any,
    t: Any = 2,
    itmax: Any = 5,
    compute_v: Any = False,
    compute_w: Any = False,
) -> Any:
    """Return the estimate of a norm: that of A v for a v which SciPy chooses, a constant."""
    a = array_of(A)
    _, v = natively(spl.onenormest, ignore_derivatives(a), t, itmax, True, False)
    w = a @ v
    estimate = np.sum(np.abs(w))
    parts = [p for p, wanted in ((v, compute_v), (w, compute_w)) if wanted]
    return (estimate, *parts) if parts else estimate


@decompose_function(spl.expm)
def expm(A: Any) -> Any:
    """Return the exponential: computed dense, stored where SciPy's has entries."""
    if not is_sparse(A):
        return linalg.expm(np.asarray(A))
    pattern = natively(spl.expm, ignore_derivatives(as_format(A, "csc")))
    whole = linalg.expm(array_of(A).toarray())
    coo = as_format(pattern, "coo")
    depends = natively(may_depend, Pattern(as_format(ignore_derivatives(A), "csr")))
    _, entries = stored(whole, depends, coo.coords)
    return as_format(with_entries(coo, entries), pattern.format)


def action(A: Any, B: Any, t: Any, mu: Any, norm: float) -> Any:
    """Return exp(tA) B, by Taylor series of t (A - μ)."""
    steps, degree = taylor_steps(norm * abs(ignore_derivatives(t)))
    if not is_sparse(A):
        return dense_action(A, B, t / steps, mu, steps, degree)
    A = as_format(A, "csr")
    entries, pattern = vector_of(A), Pattern(A)
    for _ in range(steps):
        B = np.exp(mu * t / steps) * taylor(
            entries, B, t / steps, pattern=pattern, mu=mu, degree=degree
        )
    return B


def dense_action(A: Any, B: Any, t: Any, mu: Any, steps: int, degree: int) -> Any:
    """Return exp(A t steps) B for a dense matrix."""
    for _ in range(steps):
        term = B
        for j in range(1, degree + 1):
            term = (A @ term - mu * term) * (t / j)
            B = B + term
        B = np.exp(mu * t) * B
    return B


@decompose_function(spl.expm_multiply, (*ARRAYS, *MATRICES, np.ndarray))
def expm_multiply(A, B, start=None, stop=None, num=None, endpoint=None, traceA=None):
    """Return the action of the exponential of a matrix at one time or several."""
    A, B = array_of(A) if is_sparse(A) else np.asarray(A), np.asarray(B)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected A to be like a square matrix")
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"shapes of matrices A {A.shape} and B {B.shape} are incompatible")
    plain = ignore_derivatives(A)
    mu = plain.trace() / max(A.shape[0], 1)
    norm = float(np.max(abs(plain).sum(axis=0), initial=0)) + abs(mu)
    if all(option is None for option in (start, stop, num, endpoint)):
        return action(A, B, 1.0, mu, norm)
    number = 50 if num is None else num
    step = (stop - start) / max(number - (endpoint is None or endpoint), 1)
    states = [action(A, B, start, mu, norm)]
    while len(states) < number:
        states.append(action(A, states[-1], step, mu, norm))
    return np.stack(states)


@decompose_function(spl.matrix_power)
def matrix_power(A: Any, power: Any) -> Any:
    """Return a power of a square sparse array."""
    if A.shape[0] != A.shape[1]:
        raise TypeError("sparse matrix is not square")
    if power < 0:
        raise ValueError("exponent must be >= 0")
    if power == 0:
        return natively(spl.matrix_power, ignore_derivatives(A), 0)
    made = A
    for _ in range(int(power) - 1):
        made = made @ A
    return made if power > 1 else A.copy()


decompose_method("__pow__", matrix_power, MATRICES)


# -- norms ----------------------------------------------------------------------------------------


def _sums(x: Any, axis: int) -> Any:
    """Return the sums along an axis of a sparse array of two axes."""
    x = as_format(x, "coo")
    return summed(vector_of(x), places_of(x)[1 - axis], x.shape[1 - axis])


def _largest(x: Any, axis: int, f: Any) -> Any:
    return f(np.abs(array_of(x).toarray()), axis=axis)


@decompose_function(spl.norm)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a sparse array, or of its rows or columns."""
    if not is_sparse(x):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    x = canonical(x.copy())  # whose entries may be put in order
    if axis is None or (isinstance(axis, tuple) and len(axis) == 2):
        first, second = (0, 1) if axis is None else [int(a) % 2 for a in axis]
        if first == second:
            raise ValueError("Duplicate axes given.")
        if ord in (None, "f", "fro"):
            return np.linalg.norm(vector_of(x))
        if ord in (1, -1, np.inf, -np.inf):
            along = first if abs(ord) == 1 else second
            sums = _sums(abs(x), along)
            return np.max(sums) if ord > 0 else np.min(sums)
        if ord == 2:
            return spl.svds(x, k=1, solver="lobpcg")[1][0]
        natively(spl.norm, ignore_derivatives(x), ord, axis)  # SciPy's own error
        refused(
            f"scipy.sparse.linalg.norm(ord={ord!r})",
            "it has no rule. Use numpy.linalg.norm(x.toarray(), ord).",
        )
    along = axis[0] if isinstance(axis, tuple) else axis
    if not -2 <= along < 2:
        raise ValueError(f"Invalid axis {axis!r} for an array with shape {x.shape!r}")
    along %= 2
    if ord in (np.inf, -np.inf):
        return _largest(x, along, np.max if ord > 0 else np.min)
    if ord == 0:
        return natively(spl.norm, ignore_derivatives(x), ord, axis)
    if ord == 1:
        return _sums(abs(x), along)
    return np.linalg.norm(array_of(x).toarray(), ord=2 if ord is None else ord, axis=along)
