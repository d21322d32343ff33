"""Frequency responses h = B(z) / A(z) of filters: ``freqz`` and ``freqs``; and ``bilinear``.

With P the matrix of powers of z and g = h̄ / conj(A): b̄ = Pᴴ g and ā = -Pᴴ (conj(h) g); where the
frequencies vary, too, h' = (B' - h A') / A. Other calls, of many filters at once, are traced.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from scipy import signal

from chainrules.dropped import without
from chainrules.scipy.delegated import both
from chainrules.scipy.signal.filters.states import checked
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    Tangent,
    decompose,
    ignore_derivatives,
    natively,
    pair_rule,
)
from chainrules_core.authoring import parts


def powers(z: Any, count: int) -> Any:
    """Return 1, z, z², …, as columns."""
    found = [np.ones_like(z)]
    for _ in range(count - 1):
        found.append(found[-1] * z)
    return np.stack(found, axis=-1)


def response_bars(h_bar: Any, h: Any, P: Any, below: Any, counts: tuple[int, int]) -> tuple:
    """The cotangents of the coefficients, the lowest first; `below` is A(z)."""
    known, g = np.conj(P), h_bar / np.conj(below)
    b_bar = np.matmul(g, known[:, : counts[0]])
    return b_bar, -np.matmul(np.conj(h) * g, known[:, : counts[1]])


def response_dot(dots: tuple, h: Any, P: Any, a: Any, counts: tuple[int, int]) -> Any:
    """The tangent of the response, from those of the coefficients."""
    total: Any = 0.0
    if not isinstance(dots[0], AbstractZero):
        total = np.matmul(P[:, : counts[0]], dots[0])
    if not isinstance(dots[1], AbstractZero):
        total = total - h * np.matmul(P[:, : counts[1]], dots[1])
    return total / np.matmul(P[:, : counts[1]], a)


def is_one_filter(b: Any, a: Any) -> bool:
    """Whether these are the coefficients of one filter."""
    return np.ndim(b) == np.ndim(a) == 1 and np.size(b) > 0 and np.size(a) > 0


def is_grid(worN: Any, plot: Any) -> bool:
    """Whether frequencies are so many equal steps."""
    return plot is None and (worN is None or isinstance(worN, numbers.Integral))


# ---------------------------------------------------------------------------------------- digital


def on_circle(w: Any, fs: Any) -> Any:
    """The places on the unit circle at which the polynomials are taken."""
    return np.exp(-1j * (ignore_derivatives(w) * (2 * math.pi / ignore_derivatives(fs))))


@pair_rule(both(signal.freqz), Numeric, Numeric, lists=True)
def freqz_rule(
    b, a, worN=512, whole=False, plot=None, fs=2 * math.pi, include_nyquist=False
):  # fmt: skip
    if not is_one_filter(b, a) or not is_grid(worN, plot):
        return None
    w, h = signal.freqz(b, a, worN, whole, None, fs, include_nyquist)
    counts = np.shape(b)[0], np.shape(a)[0]

    def freqz_pushforward(*dots):
        P = natively(powers, on_circle(w, fs), max(counts))
        h_dot = response_dot(dots[:2], h, P, a, counts)
        fs_dot = dots[5] if len(dots) > 5 else NoTangent()
        w_dot = NoTangent() if isinstance(fs_dot, AbstractZero) else w / fs * fs_dot
        return Tangent[tuple](w_dot, h_dot)

    def freqz_pullback(bars):
        w_bar, h_bar = parts(bars, 2)
        b_bar = a_bar = fs_bar = NoTangent()
        if h_bar is not None:
            P = natively(powers, on_circle(w, fs), max(counts))
            below = np.matmul(P[:, : counts[1]], a)
            b_bar, a_bar = response_bars(h_bar, h, P, below, counts)
        if w_bar is not None:
            fs_bar = np.sum(w_bar * w) / fs
        rest = NoTangent()
        return b_bar, a_bar, rest, rest, rest, fs_bar, rest

    return (w, h), freqz_pushforward, freqz_pullback


# ----------------------------------------------------------------------------------------- analog


def slope(c: Any, P: Any) -> Any:
    """The derivative of a polynomial, given by its coefficients, the lowest first."""
    count = np.shape(c)[0]
    return np.matmul(P[:, : count - 1], c[1:] * np.arange(1, count))


def of_frequencies(h: Any, P: Any, b: Any, a: Any, below: Any) -> Any:
    """The derivative of the response by the frequencies."""
    return 1j * (slope(b, P) - h * slope(a, P)) / below


@pair_rule(both(signal.freqs), Numeric, Numeric, lists=True)
def freqs_rule(b, a, worN=200, plot=None):
    if not is_one_filter(b, a) or plot is not None:
        return None
    w, h = signal.freqs(b, a, worN)
    is_given = not is_grid(worN, None)
    b, a = b[::-1], a[::-1]
    counts = np.shape(b)[0], np.shape(a)[0]

    def freqs_pushforward(b_dot, a_dot, w_dot, _plot_dot):
        flipped = [d if isinstance(d, AbstractZero) else d[::-1] for d in (b_dot, a_dot)]
        P = powers(1j * w, max(counts))
        h_dot = response_dot(tuple(flipped), h, P, a, counts)
        if not is_given or isinstance(w_dot, AbstractZero):
            return Tangent[tuple](NoTangent(), h_dot)
        w_dot, below = np.reshape(w_dot, np.shape(w)), np.matmul(P[:, : counts[1]], a)
        return Tangent[tuple](w_dot, h_dot + of_frequencies(h, P, b, a, below) * w_dot)

    def freqs_pullback(bars):
        w_bar, h_bar = parts(bars, 2)
        b_bar = a_bar = at_bar = NoTangent()
        if h_bar is not None:
            P = powers(1j * w, max(counts))
            below = np.matmul(P[:, : counts[1]], a)
            b_bar, a_bar = response_bars(h_bar, h, P, below, counts)
            b_bar, a_bar = b_bar[::-1], a_bar[::-1]
            if is_given:
                at_bar = np.real(np.conj(of_frequencies(h, P, b, a, below)) * h_bar)
        if is_given and w_bar is not None:
            at_bar = w_bar if isinstance(at_bar, AbstractZero) else at_bar + w_bar
        if is_given and not isinstance(at_bar, AbstractZero):
            at_bar = np.reshape(at_bar, np.shape(worN))
        return b_bar, a_bar, at_bar, NoTangent()

    return (w, h), freqs_pushforward, freqs_pullback


# --------------------------------------------------------------------------------------- bilinear


def products(n: int, count: int) -> np.ndarray:
    """The coefficients of (z - 1)^q (z + 1)^(n - q) for each q, as rows, the highest first.

    Examples
    --------
    >>> products(2, 2)
    array([[ 1.,  2.,  1.],
           [ 1.,  0., -1.]])
    """
    rows = []
    for q in range(count):
        row = np.ones(1)
        for k in range(n):
            row = np.convolve(row, [1.0, -1.0] if k < q else [1.0, 1.0])
        rows.append(row)
    return np.stack(rows)


def without_leading_zeros(c: Any) -> int:
    """How many coefficients there are without leading zeros."""
    return np.size(c) - int(np.flatnonzero(ignore_derivatives(c))[0]) if np.any(c) else 0


def last(c: Any, n: int) -> Any:
    """Return the last `n` coefficients; those before are 0."""
    k = np.shape(c)[-1] - n
    return c if k <= 0 else without(c[..., k:], c[..., :k], why=_LEADING)


_LEADING = (
    "scipy.signal drops leading coefficients that are 0 and depend on what is differentiated by, "
    "and their derivatives would be lost. Leave them out."
)


@decompose(both(signal.normalize))
def normalize_body(b: Any, a: Any) -> tuple[Any, Any]:
    """Both over the first coefficient of the denominator."""
    known = checked(signal.normalize, b, a)
    num, den = np.atleast_2d(aligned(b)), np.atleast_1d(np.asarray(a))
    den = last(den, np.size(known[1]))
    num = last(num, np.shape(known[0])[-1]) / den[0]
    return np.reshape(num, np.shape(known[0])), den / den[0]


def aligned(b: Any) -> Any:
    """Return numerators, which may differ in length, as rows."""
    if not isinstance(b, (list, tuple)) or all(np.ndim(c) == 0 for c in b):
        return np.asarray(b)
    rows = [np.atleast_1d(np.asarray(c)) for c in b]
    n = max(map(np.size, rows))
    return np.stack([np.concatenate([np.zeros(n - np.size(c)), c]) for c in rows])


@decompose(both(signal.bilinear))
def bilinear_body(b: Any, a: Any, fs: Any = 1.0) -> tuple[Any, Any]:
    """Each power s^q becomes (2 fs)^q (z - 1)^q (z + 1)^(n - q)."""
    known = checked(signal.bilinear, b, a, fs)
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    n = max(without_leading_zeros(b), without_leading_zeros(a))
    if n < np.size(known[1]):  # SciPy before 1.16 keeps leading zeros
        n = max(np.size(b), np.size(a))
    n -= 1
    made = []
    for c, plain in zip((b, a), known, strict=True):
        c = last(c, n + 1)
        q = np.arange(np.size(c))
        rows = natively(products, n, np.size(c))
        whole = np.matmul(np.flip(c) * (2 * fs) ** (q - n / 2), rows)
        made.append(last(whole, np.size(plain)))
    return made[0] / made[1][0], made[1] / made[1][0]
