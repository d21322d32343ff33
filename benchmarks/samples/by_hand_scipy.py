"""Pullbacks of functions of SciPy written by hand, where SciPy has none within the limit.

As in `by_hand`: what somebody who knows NumPy and SciPy would write, given the cotangent, the
output and the arguments. Ties are shared equally, as the rules do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, signal

SAMPLES: list = []  # the samples that these belong to are in the tables of their topics


def sums_of_differences(y_bar: Any, y: Any, a: Any, b: Any, metric: str) -> tuple:
    """``cdist`` by "cityblock": the sign of each difference, one coordinate after the other."""
    a_bar, b_bar = np.empty_like(a), np.empty_like(b)
    ones = np.ones(len(b)), np.ones(len(a))
    for c in range(a.shape[1]):
        t = np.sign(np.subtract.outer(a[:, c], b[:, c]))
        t *= y_bar
        a_bar[:, c], b_bar[:, c] = t @ ones[0], -(ones[1] @ t)
    return a_bar, b_bar


def largest_differences(y_bar: Any, y: Any, a: Any, b: Any, metric: str) -> tuple:
    """``cdist`` by "chebyshev": the same where a difference is the largest."""
    terms, count = [], np.zeros(y.shape, np.int8)
    for c in range(a.shape[1]):
        d = np.subtract.outer(a[:, c], b[:, c])
        hit = np.abs(d) == y
        count += hit
        t = np.sign(d, out=d)
        t *= y_bar
        t *= hit
        terms.append(t)
    if np.any(count > 1):  # there are ties
        terms = [t / count for t in terms]
    ones = np.ones(len(b)), np.ones(len(a))
    a_bar = np.stack([t @ ones[0] for t in terms], 1)
    return a_bar, -np.stack([ones[1] @ t for t in terms], 1)


def eigenvalues_of_band(y_bar: Any, y: Any, a_band: Any) -> Any:
    """The eigenvalues of an upper band: the vectors, where the primal needs the values only."""
    v = linalg.eig_banded(a_band)[1]
    moved, above = v * y_bar, len(a_band) - 1
    bar = np.zeros_like(a_band)
    bar[above] = np.sum(moved * v, 1)
    for k in range(1, above + 1):
        bar[above - k, k:] = 2 * np.sum(moved[k:] * v[:-k], 1)
    return bar


def tridiagonal_eigenvectors(y_bar: Any, y: Any, d: Any, e: Any) -> tuple:
    """Values and vectors of a tridiagonal matrix."""
    w, v = y
    gaps = w - w[:, None]
    np.fill_diagonal(gaps, np.inf)
    m = v.T @ y_bar[1]
    inner = (m - m.T) / gaps
    inner /= 2
    np.fill_diagonal(inner, y_bar[0])
    moved = v @ inner
    beside = np.einsum("ij,ij->i", moved[:-1], v[1:]) + np.einsum("ij,ij->i", moved[1:], v[:-1])
    return np.einsum("ij,ij->i", moved, v), beside


def matrix_exponential(y_bar: Any, y: Any, a: Any) -> Any:
    """The derivative along the cotangent, of the transposed matrix."""
    return linalg.expm_frechet(a.T, y_bar, compute_expm=False)


def hyperbolic_sine(y_bar: Any, y: Any, a: Any) -> Any:
    """Half the difference of two exponentials."""
    first = linalg.expm_frechet(a.T, y_bar, compute_expm=False)
    return (first + linalg.expm_frechet(-a.T, y_bar, compute_expm=False)) / 2


def hyperbolic_cosine(y_bar: Any, y: Any, a: Any) -> Any:
    """Half the sum of two exponentials."""
    first = linalg.expm_frechet(a.T, y_bar, compute_expm=False)
    return (first - linalg.expm_frechet(-a.T, y_bar, compute_expm=False)) / 2


def square_root(y_bar: Any, y: Any, a: Any) -> Any:
    """The equation of Sylvester with the root."""
    return linalg.solve_sylvester(y.T, y.T, y_bar)


def cascade(y_bar: Any, y: Any, sos: Any, x: Any) -> tuple:
    """``sosfilt``: each section forward, but for the last, and backward."""
    us, n = [x], len(x)
    for row in sos[:-1]:
        us.append(signal.lfilter(row[:3], row[3:], us[-1]))
    us.append(y)
    sos_bar, numerator, bar = np.zeros_like(sos), np.array([1.0, 0.0, 0.0]), y_bar[::-1]
    for k in reversed(range(len(sos))):
        bar = signal.lfilter(numerator, sos[k, 3:], bar)
        e, numerator = bar[::-1].copy(), sos[k, :3]
        for lag in range(3):
            sos_bar[k, lag] = us[k][: n - lag] @ e[lag:]
            if lag:
                sos_bar[k, 3 + lag] = -(us[k + 1][: n - lag] @ e[lag:])
    return sos_bar, signal.lfilter(numerator, [1.0], bar)[::-1]


def cascade_there_and_back(y_bar: Any, y: Any, sos: Any, x: Any) -> tuple:
    """``sosfiltfilt``, but for what its ends and initial states add: `cascade` twice."""
    there = signal.sosfilt(sos, x)  # the primal throws it away
    back_sos, bar = cascade(y_bar[::-1], y[::-1], sos, there[::-1])
    there_sos, x_bar = cascade(bar[::-1], there, sos, x)
    return there_sos + back_sos, x_bar
