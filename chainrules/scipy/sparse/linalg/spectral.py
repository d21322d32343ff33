"""Some eigenvalues and singular values of sparse matrices, with their vectors.

SciPy finds a pair (w, v). It is the root of

    F(v, w) = (A v - w M v,  cᴴ v - 1),      c = M v as found, a constant,

so Newton's step from there, with the Jacobian [[A - w M, -M v], [cᴴ, 0]], changes no digit of the
value and has the derivatives of the pair: each step doubles the order up to which it has them, and
there are two. That takes simple eigenvalues, and a sparse factorisation for each pair. The length
of v is put right at the end. Singular triples are the eigenpairs of [[0, A], [Aᴴ, 0]].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from chainrules.scipy.sparse.entries import (
    as_format,
    from_places,
    is_sparse,
    places_of,
    refused,
    vector_of,
)
from chainrules.scipy.sparse.in_place import decompose_function
from chainrules.scipy.sparse.linalg.operators import dense_of, is_operator, plain
from chainrules.scipy.sparse.linalg.solving import System
from chainrules_core import ignore_derivatives, natively


def array_of(x: Any) -> Any:
    """Return a matrix as a sparse array in CSR."""
    if is_operator(x):
        x = dense_of(x)
    if is_sparse(x):
        coo = as_format(x, "coo")
        return as_format(from_places(vector_of(coo), places_of(coo), coo.shape), "csr")
    x = np.asarray(x)
    places = tuple([a.ravel() for a in np.indices(np.shape(x))])
    return as_format(from_places(np.reshape(x, (-1,)), places, np.shape(x)), "csr")


def refined(a: Any, m: Any, w: Any, v: Any) -> tuple[Any, Any]:
    """Return an eigenpair with its derivatives, from what is known of it."""
    n = len(v)
    weight = sp.eye_array(n, format="csr") if m is None else m
    c = np.conj(v if m is None else ignore_derivatives(m) @ v)
    c = c / (c @ v)
    for _ in range(2):
        moved = weight @ v
        top = a - w * weight
        border = np.reshape(-moved, (n, 1))
        rows = from_places(c, (np.zeros(n, int), np.arange(n)), (1, n))
        side = from_places(np.reshape(border, (-1,)), (np.arange(n), np.zeros(n, int)), (n, 1))
        jacobian = sp.block_array([[top, side], [rows, None]], format="csr")
        residual = np.concatenate([a @ v - w * moved, np.reshape(c @ v - 1, (1,))])
        step = System(jacobian).solve(residual)
        v = v - step[:n]
        w = w - step[n]
    length = np.sqrt(np.real(np.sum(np.conj(v) * (weight @ v))))
    return w, v / length


def pairs(name: str, a: Any, m: Any, values: Any, vectors: Any) -> tuple[Any, Any]:
    """Return the eigenpairs with their derivatives."""
    check_simple(name, values)
    plain_a, plain_m = ignore_derivatives(a), ignore_derivatives(m)
    made = []
    for w, v in zip(values, vectors.T, strict=True):
        right = v if plain_m is None else plain_m @ v
        residual = np.linalg.norm(plain_a @ v - w * right)
        scale = np.linalg.norm(right) * max(abs(w), float(np.max(np.abs(vector_of(plain_a)))))
        if residual > 1e-3 * scale:
            refused(
                f"scipy.sparse.linalg.{name}",
                "it has not converged. Give a smaller tol or a larger maxiter.",
            )
        length = np.sqrt(abs(np.conj(v) @ right)) if name != "eigs" else np.linalg.norm(v)
        made.append(refined(a, m, w, v / length))
    w = np.stack([p[0] for p in made])
    v = np.stack([p[1] for p in made], axis=1)
    if name == "eigs" and m is not None:
        v = v / np.sqrt(np.sum(np.abs(v) ** 2, axis=0))
    return w, v


def check_simple(name: str, values: Any) -> None:
    """Raise where two of the values are equal: their vectors have no derivatives."""
    ordered = np.sort_complex(values)
    gaps = np.abs(np.diff(ordered))
    if np.any(gaps <= 1e-9 * np.max(np.abs(values), initial=0.0)):
        refused(
            f"scipy.sparse.linalg.{name}",
            "two of the values that it found are equal, so neither they nor their vectors have "
            "derivatives. Use a function of the matrix that does not tell them apart, such as the "
            "trace, the determinant or a norm.",
        )


def _eigen(f: Any, real: bool) -> Any:
    def body(
        A: Any,
        k: Any = 6,
        M: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        named = {n: plain(v) for n, v in kwargs.items()}
        wants_vectors = named.pop("return_eigenvectors", True)
        a = array_of(A)
        m = None if M is None else array_of(M)
        A = ignore_derivatives(A) if not is_operator(A) else ignore_derivatives(a)
        given = (A, k, ignore_derivatives(m), *args[:5])
        values, vectors = natively(f, *given, **named)
        if not wants_vectors:
            alone = natively(f, *given, **named, return_eigenvectors=False)
            order = np.argsort(np.argsort(alone)) if real else _order(alone, values)
            chosen = np.argsort(values)[order] if real else order
            values, vectors = values[chosen], vectors[:, chosen]
        w, v = pairs(f.__name__, a, m, values, vectors)
        if real:
            w = np.real(w)
        return (w, v) if wants_vectors else w

    return body


def _order(wanted: Any, values: Any) -> Any:
    """Return where the wanted values stand among others, in another order."""
    return np.array([int(np.argmin(np.abs(values - w))) for w in wanted])


decompose_function(spl.eigsh)(_eigen(spl.eigsh, True))
decompose_function(spl.eigs)(_eigen(spl.eigs, False))


@decompose_function(spl.svds)
def svds(A: Any, k: Any = 6, *args: Any, **kwargs: Any) -> Any:
    """Return the largest or smallest singular values, and their vectors."""
    named = {n: plain(v) for n, v in kwargs.items()}
    wanted = named.pop("return_singular_vectors", True)
    a = array_of(A)
    m, _n = a.shape
    u, s, vh = natively(spl.svds, ignore_derivatives(a), k, *args, **named)
    if np.min(s) <= 1e-10 * np.max(s):
        refused(
            "scipy.sparse.linalg.svds",
            "one of the singular values that it found is 0, where it has a kink. Ask for a smaller "
            "number k of them.",
        )
    whole = sp.block_array([[None, a], [a.conj().T, None]], format="csr")
    both = np.concatenate([u, np.conj(vh.T)]) / np.sqrt(2.0)
    w, z = pairs("svds", whole, None, s, both)
    w = np.real(w)
    if wanted is False:
        return w
    u = z[:m] * np.sqrt(2.0)
    vh = np.conj(z[m:].T) * np.sqrt(2.0)
    return (None if wanted == "vh" else u), w, (None if wanted == "u" else vh)


@decompose_function(spl.lobpcg)
def lobpcg(A: Any, X: Any, B: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the extreme eigenvalues and their vectors."""
    named = {n: plain(v) for n, v in kwargs.items()}
    if named.get("Y") is not None or (len(args) > 1 and args[1] is not None):
        refused(
            "scipy.sparse.linalg.lobpcg",
            "constraints (Y=) have no rule. Ask for more eigenvalues without Y, and choose among "
            "them.",
        )
    if callable(A) or callable(B):
        refused(
            "scipy.sparse.linalg.lobpcg",
            "a function in place of a matrix has no rule. Give a matrix, or a LinearOperator.",
        )
    a = array_of(A)
    b = None if B is None else array_of(B)
    given = [plain(v) for v in args]
    constants = (ignore_derivatives(a), ignore_derivatives(X), ignore_derivatives(b))
    values, vectors, *histories = natively(spl.lobpcg, *constants, *given, **named)
    w, v = pairs("lobpcg", a, b, values, vectors)
    return (np.real(w), v, *histories)
