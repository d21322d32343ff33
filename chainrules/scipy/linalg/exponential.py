"""The derivative of the exponential of a matrix, ``expm_frechet``, and how that changes in turn.

With numbers ε and η whose squares are 0,

    exp(A + ε E + η F + ε η G) = exp A + ε L(A, E) + η L(A, F) + ε η (L(A, G) + L²(A, E, F)),

where L is the derivative of the exponential and L² the second one. All that the rules want stands
there: in the directions Ȧ and Ė of A and E, the change of exp A for F = Ȧ, and that of L(A, E) for
G = Ė. And the adjoint of L at A is L at Aᴴ, so that for Aᴴ, Eᴴ, the cotangent of L(A, E) as F and
that of exp A as G, the cotangents are those of E in the part with η, of A in that with ε η.

The exponential is a quotient of polynomials (Padé's of degree 13) of A / 2ˢ, squared s times. A
product of two such sums takes nine products of matrices; of sums A + ε E, by which SciPy computes
the derivative, it takes three. See N. Higham, *Functions of Matrices*, 2008, chapter 10.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint
from chainrules_core import Array, Tangent, non_differentiable, pair_rule, primitive
from chainrules_core.authoring import parts

DEGREE = 13
LARGEST = 4.0
"""The norm up to which the quotient is exact to the last digit, with its derivatives."""
TERMS = [
    math.comb(DEGREE, k) * math.factorial(2 * DEGREE - k) / math.factorial(2 * DEGREE)
    for k in range(DEGREE + 1)
]


@primitive
def halvings(a: Any) -> int:
    """How often A has to be halved."""
    norm = np.max(np.sum(np.abs(a), axis=-2), initial=0)
    return max(0, math.ceil(math.log2(norm / LARGEST))) if LARGEST < norm < math.inf else 0


non_differentiable(halvings)


def product(x: Any, y: Any) -> Any:
    """The product of two sums; the parts are those of 1, ε, η and ε η, one matrix each."""
    one, e, n, en = np.matmul(x[0], y)
    e = e + np.matmul(x[1], y[0])
    n = n + np.matmul(x[2], y[0])
    en = en + np.matmul(x[3], y[0]) + np.matmul(x[1], y[2]) + np.matmul(x[2], y[1])
    return np.stack([one, e, n, en])


def quotient(x: Any, y: Any) -> Any:
    """X⁻¹ Y."""
    one, e, n, en = np.linalg.solve(x[0], y)
    e = e - np.linalg.solve(x[0], np.matmul(x[1], one))
    n = n - np.linalg.solve(x[0], np.matmul(x[2], one))
    rest = np.matmul(x[3], one) + np.matmul(x[1], n) + np.matmul(x[2], e)
    return np.stack([one, e, n, en - np.linalg.solve(x[0], rest)])


def exponential(a: Any, e: Any, f: Any, g: Any) -> Any:
    """The four parts of exp(A + ε E + η F + ε η G)."""
    times = halvings(a)
    x = np.stack(np.broadcast_arrays(a, e, f, g)) / 2.0**times
    zero = np.zeros_like(x[0])
    unit = np.stack([zero + np.eye(np.shape(a)[-1], dtype=a.dtype), zero, zero, zero])
    x2 = product(x, x)
    x4 = product(x2, x2)
    x6 = product(x4, x2)
    b = TERMS
    odd = product(x6, b[13] * x6 + b[11] * x4 + b[9] * x2)
    odd = product(x, odd + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * unit)
    even = product(x6, b[12] * x6 + b[10] * x4 + b[8] * x2)
    even = even + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * unit
    y = quotient(even - odd, even + odd)
    for _ in range(times):
        y = product(y, y)
    return y


@pair_rule(linalg.expm_frechet, Array, Array, broadcasts=True, lists=True)
def expm_frechet_rule(A, E, *, method=None, compute_expm=True, check_finite=True):
    if np.size(A) == 0:
        return None
    options = {"compute_expm": compute_expm, "check_finite": check_finite}
    y = linalg.expm_frechet(A, E, method, **options)

    def expm_frechet_pushforward(A_dot, E_dot):
        _, _, moved, change_moved = exponential(A, E, A_dot, E_dot)
        return Tangent[type(y)](moved, change_moved) if compute_expm else change_moved

    def expm_frechet_pullback(y_bar):
        of_value, of_change = parts(y_bar, 2) if compute_expm else (None, y_bar)
        zero = np.zeros_like(A + E)
        of_value = zero if of_value is None else of_value
        of_change = zero if of_change is None else of_change
        _, _, e_bar, a_bar = exponential(adjoint(A), adjoint(E), of_change, of_value)
        return a_bar, e_bar

    return y, expm_frechet_pushforward, expm_frechet_pullback
