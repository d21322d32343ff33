"""Covariances and correlations.

With the rows of D the deviations of the variables, W the weights of the observations (fweights
times aweights) and ν the normalisation, C = D W Dᴴ / ν. As D W 1 = 0, what the means add drops out:

    X̄ = (C̄ + C̄ᴴ) D W / ν,    w̄_k = (Re d_kᴴ C̄ d_k - Re⟨C̄, C⟩ ∂ν/∂w_k) / ν

for the k-th observation d_k, a column of D. Correlations are R_ij = C_ij / (s_i s_j), s² = diag C;
that rounding errors beyond 1 are clipped is no part of the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import AbstractZero, NoTangent, Numeric, ZeroTangent, conj, pair_rule, thunk
from chainrules_core.authoring import fit


class Sample:
    """The variables of `m` and `y`, one in each row, and how observations are weighted."""

    def __init__(
        self, m: Any, y: Any, rowvar: Any, bias: Any, ddof: Any, fweights: Any, aweights: Any
    ) -> None:
        self.m_shape = np.shape(m)
        self.y_shape = None if y is None else np.shape(y)
        self.rowvar = bool(rowvar)
        self.ddof = ddof if ddof is not None else int(not bias)
        self.f = 1.0 if fweights is None else fweights
        self.a = np.real(aweights) if np.iscomplexobj(aweights) else aweights  # as NumPy does
        x = self.stacked(m, y)
        n = np.shape(x)[1]
        w = np.ones(n) * self.f
        self.w = w if self.a is None else w * self.a
        self.total = np.sum(self.w)
        self.deviations = x - np.sum(x * self.w, axis=1, keepdims=True) / self.total
        if self.a is None or self.ddof == 0:
            self.norm = self.total - self.ddof
        else:
            self.norm = self.total - self.ddof * np.sum(self.w * self.a) / self.total
        if self.norm <= 0:  # too few observations: NumPy divides by zero
            self.norm = self.norm * 0

    def variables(self, x: Any, is_single: bool) -> Any:
        """`x` with a variable in each row."""
        x = np.reshape(x, (1, -1)) if np.ndim(x) < 2 else x
        return x if self.rowvar or is_single else np.transpose(x)

    def stacked(self, m: Any, y: Any) -> Any:
        """The variables of both arguments."""
        x = self.variables(m, len(self.m_shape) == 1)
        if self.y_shape is None:
            return x
        return np.concatenate([x, self.variables(y, self._is_row(self.y_shape))], axis=0)

    @staticmethod
    def _is_row(shape: tuple[int, ...]) -> bool:
        return len(shape) < 2 or shape[0] == 1

    def unstacked(self, x_bar: Any) -> tuple[Any, Any]:
        """Undo `stacked`."""
        if self.y_shape is None:
            return self._as_given(x_bar, self.m_shape, len(self.m_shape) == 1), NoTangent()
        single = self._is_row(self.y_shape)
        flat = len(self.y_shape) < 2 or self.rowvar or single
        rows = (1 if len(self.y_shape) < 2 else self.y_shape[0]) if flat else self.y_shape[1]
        cut = np.shape(x_bar)[0] - rows
        m_bar = self._as_given(x_bar[:cut], self.m_shape, len(self.m_shape) == 1)
        return m_bar, self._as_given(x_bar[cut:], self.y_shape, single)

    def _as_given(self, x_bar: Any, shape: tuple[int, ...], is_single: bool) -> Any:
        if len(shape) == 2 and not self.rowvar and not is_single:
            x_bar = np.transpose(x_bar)
        return np.reshape(x_bar, shape)

    def standard_deviations(self) -> Any:
        """The standard deviation of each variable."""
        d = self.deviations
        return np.sqrt(np.sum(np.real(d * conj(d)), axis=1) / self.norm)

    def norm_by_weights(self) -> Any:
        """The derivative of the normalisation by the aweights, an element for each observation."""
        if self.ddof == 0:
            return self.f * np.ones_like(self.a)
        mean = np.sum(self.w * self.a) / self.total
        return self.f * (1 - self.ddof * (2 * self.a - mean) / self.total)

    def pull(self, c_bar: Any) -> Any:
        """The cotangent of the variables."""
        return ((c_bar + conj(np.transpose(c_bar))) @ self.deviations) * (self.w / self.norm)

    def pull_weights(self, c: Any, c_bar: Any) -> Any:
        """The cotangent of the aweights."""
        d = self.deviations
        by_w = np.sum(np.real(conj(d) * (c_bar @ d)), axis=0) * self.f
        by_norm = np.sum(np.real(conj(c_bar) * c)) * self.norm_by_weights()
        return (by_w - by_norm) / self.norm

    def push(self, x_dot: Any) -> Any:
        """The tangent of the covariances by the variables."""
        half = (x_dot * (self.w / self.norm)) @ conj(np.transpose(self.deviations))
        return half + conj(np.transpose(half))

    def push_weights(self, c: Any, a_dot: Any) -> Any:
        """The tangent of the covariances by the aweights."""
        d = self.deviations
        moved = (d * (self.f * a_dot)) @ conj(np.transpose(d))
        return (moved - c * np.sum(self.norm_by_weights() * a_dot)) / self.norm


def square(c: Any) -> Any:
    """Covariances as a matrix: those of one variable are squeezed to a number."""
    return np.reshape(c, (1, 1)) if np.ndim(c) == 0 else c


@pair_rule(np.cov, Numeric, lists=True, shaped_by=(0, 1))
def cov_rule(
    m, y=None, aweights=None, *, rowvar=True, bias=False, ddof=None, fweights=None, dtype=None
):
    options = {"rowvar": rowvar, "bias": bias, "ddof": ddof, "fweights": fweights, "dtype": dtype}
    c = np.cov(m, **options, y=y, aweights=aweights)

    def cov_pushforward(*dots):
        sample = Sample(m, y, rowvar, bias, ddof, fweights, aweights)
        c_dot = sample.push(stacked_tangents(sample, dots, (m, y)))
        if not isinstance(dots[2], AbstractZero):
            c_dot = c_dot + sample.push_weights(square(c), np.real(dots[2]))
        return fit(np.reshape(c_dot, np.shape(c)), c)

    def cov_pullback(c_bar):
        sample = Sample(m, y, rowvar, bias, ddof, fweights, aweights)
        m_bar, y_bar = sample.unstacked(sample.pull(square(c_bar)))
        if aweights is None:
            return m_bar, y_bar, NoTangent()
        return m_bar, y_bar, thunk(lambda: sample.pull_weights(square(c), square(c_bar)))

    return c, cov_pushforward, cov_pullback


def stacked_tangents(sample: Sample, dots: tuple, arguments: tuple) -> Any:
    """The tangents of the variables; of what has none, zeros."""
    made = [
        np.zeros(np.shape(x)) if isinstance(dot, AbstractZero) and x is not None else dot
        for dot, x in zip(dots[:2], arguments, strict=True)
    ]
    return sample.stacked(*made)


# ------------------------------------------------------------------------------------ correlations


@pair_rule(np.corrcoef, Numeric, lists=True, shaped_by=(0, 1))
def corrcoef_rule(x, y=None, *, rowvar=True, dtype=None):
    r = np.corrcoef(x, rowvar=rowvar, dtype=dtype, y=y)

    def corrcoef_pushforward(*dots):
        if np.ndim(r) == 0:
            return ZeroTangent()
        sample = Sample(x, y, rowvar, False, None, None, None)
        s = sample.standard_deviations()
        c_dot = sample.push(stacked_tangents(sample, dots, (x, y)))
        s_dot = np.real(np.diagonal(c_dot)) / (2 * s)
        r_dot = c_dot / (s[:, None] * s) - r * ((s_dot / s)[:, None] + s_dot / s)
        return fit(r_dot, r)

    def corrcoef_pullback(r_bar):
        if np.ndim(r) == 0:  # of one variable with itself: always 1
            return ZeroTangent(), NoTangent()
        sample = Sample(x, y, rowvar, False, None, None, None)
        s = sample.standard_deviations()
        c_bar = r_bar / (s[:, None] * s)
        both = np.real(conj(r_bar) * r)
        s_bar = -(np.sum(both, axis=0) + np.sum(both, axis=1)) / s
        c_bar = c_bar + np.diag(s_bar / (2 * s))
        return sample.unstacked(sample.pull(c_bar))

    return r, corrcoef_pushforward, corrcoef_pullback
