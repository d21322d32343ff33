"""The fast Hankel transform ``fht`` and its inverse, by the array and by the parameters.

FFTLog (Hamilton 2000, MNRAS 312, 257) multiplies the Fourier coefficients of the array by

    u_m = (kr)^{-iy} U_μ(q + iy),  U_μ(x) = 2^x Γ((μ+1+x)/2) / Γ((μ+1-x)/2),  y = 2πm / (n dln)

and reverses the result. Its body here is SciPy's in plain NumPy, without writes into arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import fft, special

from chainrules_core import decompose
from chainrules_core.authoring import array_of

LOG_2 = math.log(2)


def coefficients(n: int, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    """Return u_m, and u_0 alone: it may be 0 or infinite."""
    plus, minus = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    y = np.arange(n // 2 + 1) * (np.pi / n) / dln
    logarithm = special.loggamma(plus + 1j * y) - np.conj(special.loggamma(minus + 1j * y))
    u = np.exp(logarithm + LOG_2 * bias + 2j * (LOG_2 - offset) * y)
    first = u[:1]
    if not np.all(np.isfinite(first)):
        first = np.reshape(2**bias * special.poch(minus, plus - minus), (1,)) + 0j
    rest = u[1:] if n % 2 else np.concatenate([u[1:-1], np.real(u[-1:])])
    return first, rest


def transformed(a: Any, first: Any, rest: Any) -> Any:
    """Multiply the Fourier coefficients, of which a singular one is left out, and reverse."""
    if not np.all(np.isfinite(first)):
        first = np.zeros(1)
    n = np.shape(a)[-1]
    return np.flip(np.fft.irfft(np.fft.rfft(a) * np.concatenate([first, rest]), n), -1)


def powers(n: int, dln: Any, offset: Any, exponent: Any) -> Any:
    """The power law by which an array is biased."""
    return np.exp(exponent * ((np.arange(n) - (n - 1) / 2) * dln + offset))


@decompose(fft.fht)
def fht_body(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    a = array_of(a)
    n = np.shape(a)[-1]
    y = transformed(a * powers(n, dln, 0, -bias), *coefficients(n, dln, mu, offset, bias))
    return y * powers(n, dln, offset, -bias)


@decompose(fft.ifht)
def ifht_body(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    a = array_of(A)
    n = np.shape(a)[-1]
    first, rest = coefficients(n, dln, mu, offset, bias)
    inverse = 1 / np.conj(first), 1 / np.conj(rest)
    return transformed(a * powers(n, dln, offset, bias), *inverse) * powers(n, dln, 0, bias)
