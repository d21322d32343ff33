"""Nodes and weights of Gauss quadrature, by the shapes of the weight function.

The nodes are the eigenvalues of the symmetric tridiagonal matrix of the recurrence, the weights μ₀
times the squared first components of its eigenvectors, μ₀ the integral of the weight function
(Golub and Welsch, 1969). For Jacobi's (1-x)^a (1+x)^b, with s = a + b, its elements are

    α_k = (b² - a²)/((2k+s)(2k+s+2))    β_k² = 4k(k+a)(k+b)(k+s)/((2k+s)² (2k+s+1)(2k+s-1))

and α_0 = (b-a)/(s+2), β_1² = 4(1+a)(1+b)/((s+2)²(s+3)); for Laguerre's x^a e^-x they are
2k+a+1 and k(k+a). Written so, the rule of eigh differentiates them.

Polynomials as objects (`jacobi` and its kin) are made of them by SciPy's own code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from chainrules_core import decompose


def gauss(diagonal: Any, beside: Any, mu0: Any, mu: bool) -> tuple:
    matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    nodes, vectors = np.linalg.eigh(matrix)
    weights = mu0 * np.square(vectors[0])
    return (nodes, weights, mu0) if mu else (nodes, weights)


def jacobi_nodes(n: int, a: Any, b: Any, mu: bool) -> tuple:
    s = a + b
    mu0 = np.exp((s + 1) * np.log(2.0) + special.betaln(a + 1.0, b + 1.0))
    k = np.arange(1.0, n)
    first = np.reshape((b - a) / (s + 2.0), (1,))
    later = (b - a) * s / ((2 * k + s) * (2 * k + s + 2))
    start = np.reshape(2 / (s + 2.0) * np.sqrt((1 + a) * (1 + b) / (s + 3.0)), (1,))
    k = np.arange(2.0, n)
    rest = (
        2
        / (2 * k + s)
        * np.sqrt(k * (k + a) * (k + b) * (k + s) / ((2 * k + s + 1) * (2 * k + s - 1)))
    )
    beside = np.concatenate([start, rest]) if n > 1 else rest
    return gauss(np.concatenate([first, later]), beside, mu0, mu)


@decompose(special.roots_jacobi)
def roots_jacobi(n: Any, alpha: Any, beta: Any, mu: bool = False) -> tuple:
    return jacobi_nodes(int(n), alpha, beta, mu)


@decompose(special.roots_gegenbauer)
def roots_gegenbauer(n: Any, alpha: Any, mu: bool = False) -> tuple:
    return jacobi_nodes(int(n), alpha - 0.5, alpha - 0.5, mu)


@decompose(special.roots_sh_jacobi)
def roots_sh_jacobi(n: Any, p1: Any, q1: Any, mu: bool = False) -> tuple:
    nodes, weights, mu0 = jacobi_nodes(int(n), p1 - q1, q1 - 1.0, True)
    scale = np.power(2.0, -p1)
    shifted = (nodes + 1) / 2, weights * scale
    return (*shifted, mu0 * scale) if mu else shifted


@decompose(special.roots_genlaguerre)
def roots_genlaguerre(n: Any, alpha: Any, mu: bool = False) -> tuple:
    k = np.arange(int(n) * 1.0)
    beside = np.sqrt(k[1:] * (k[1:] + alpha))
    return gauss(2 * k + alpha + 1, beside, special.gamma(alpha + 1.0), mu)
