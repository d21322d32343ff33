"""Roots of polynomials, and the ends of their coefficients.

Where p(r) = Σ p_k r^(n-k) = 0, a change of p_k moves a simple root by -r^(n-k) / p'(r). That of a
multiple root is infinite. (All other functions of polynomials are NumPy's own Python code, which is
differentiated as it is written.)

`np.poly1d` drops leading coefficients that are 0, and their derivatives with them, which are not:
that is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import Array, ChainRulesError, Numeric, conj, decompose, pair_rule, primitive
from chainrules_core.authoring import fit


def shifts(r: Any, p: Any) -> Any:
    """Return ∂r_i/∂p_k as a matrix."""
    powers = np.vander(r, np.shape(p)[0])
    return -powers / np.expand_dims(np.polyval(np.polyder(p), r), -1)


@pair_rule(np.roots, Numeric, lists=True)
def roots_rule(p):
    r = np.roots(p)

    def roots_pushforward(p_dot):
        return fit(np.matmul(shifts(r, p), p_dot), r)

    def roots_pullback(r_bar):
        return np.matmul(r_bar, conj(shifts(r, p)))

    return r, roots_pushforward, roots_pullback


# ---------------------------------------------------------------------- coefficients that are 0


DROPS = (
    "drops coefficients of the highest powers that are exactly 0, and their derivatives, which are "
    "not 0, would be lost. Leave the coefficient out, or compute with np.polyval, np.convolve and "
    "sums of coefficients, which drop nothing."
)


class DroppedCoefficientError(ChainRulesError, ValueError):
    """A coefficient that is 0 would be dropped, and its derivative with it."""

    def __init__(self) -> None:
        super().__init__(f"np.poly1d {DROPS}")


@primitive
def kept(c: Any) -> Any:
    """Return coefficients; where they are differentiated, the last must not be 0."""
    return c


def checked(c: Any) -> Any:
    if np.size(c) > 1 and c[-1] == 0:
        raise DroppedCoefficientError()
    return c


@pair_rule(kept, Array)
def kept_rule(c):
    def kept_pushforward(c_dot):
        return c_dot

    def kept_pullback(c_bar):
        return c_bar

    return checked(c), kept_pushforward, kept_pullback


@decompose(np.poly1d.__init__)
def poly1d_body(self, c_or_r, r=False, variable=None):
    if isinstance(c_or_r, np.poly1d):
        self._coeffs, self._variable = c_or_r._coeffs, variable or c_or_r._variable
        return
    c = np.atleast_1d(np.poly(c_or_r) if r else np.asarray(c_or_r))
    if np.ndim(c) > 1:
        raise ValueError("Polynomial must be 1d only.")
    c = np.flip(kept(np.flip(c)))
    first = np.flatnonzero(c)
    self._coeffs = c[first[0] :] if np.size(first) else c[-1:] if np.size(c) else np.zeros(1)
    self._variable = variable or "x"
