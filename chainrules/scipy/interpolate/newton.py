"""``KroghInterpolator``: polynomials in Newton's form, Σ c_k Π_{m<k} (x - x_m).

The coefficients are divided differences: with V₀ the values, c_i is the first of V_i, and

    V_{i+1} = (c_i - V_i[1:]) / (x_i - x[i+1:]).

They are evaluated by Horner's rule, q_k = c_k + (x - x_k) q_{k+1}. Nodes that are repeated, for
derivatives that are given, are left to SciPy's constructor, which is traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import KroghInterpolator

from chainrules.scipy.interpolate.kernels import twin_of
from chainrules_core import (
    Array,
    decompose,
    ignore_derivatives,
    non_differentiable,
    pair_rule,
    primitive,
)


def columns(x: Any, y: Any) -> list:
    """Return the divided differences of each order."""
    found = [y]
    for i in range(np.shape(x)[0] - 1):
        before = found[-1]
        found.append((before[0] - before[1:]) / (x[i] - x[i + 1 :])[:, None])
    return found


@primitive
def differences(x: Any, y: Any) -> Any:
    """Return the coefficients of the polynomials, a column each, with values `y` at `x`."""
    return np.stack([v[0] for v in columns(x, y)])


@pair_rule(differences, Array, Array)
def differences_rule(x, y):
    found = columns(x, y)

    def differences_pushforward(x_dot, dot):
        moved = [dot[0]]
        for i in range(np.shape(x)[0] - 1):
            h, h_dot = x[i] - x[i + 1 :], x_dot[i] - x_dot[i + 1 :]
            dot = (dot[0] - dot[1:] - found[i + 1] * h_dot[:, None]) / h[:, None]
            moved.append(dot[0])
        return np.stack(moved)

    def differences_pullback(c_bar):
        n = np.shape(x)[0]
        bar, x_bar = c_bar[n - 1 :], np.zeros(1)
        for i in range(n - 2, -1, -1):
            h = x[i] - x[i + 1 :]
            part = bar / h[:, None]
            by_h = -np.sum(np.real(part * np.conj(found[i + 1])), axis=1)
            x_bar = np.concatenate([np.sum(by_h)[None], x_bar - by_h])
            bar = np.concatenate([(c_bar[i] + np.sum(part, axis=0))[None], -part])
        return x_bar, bar

    return np.stack([v[0] for v in found]), differences_pushforward, differences_pullback


def sums(c: Any, nodes: Any, x: Any) -> list:
    """Return the sums of Horner's rule, the last of which is the polynomial."""
    n = np.shape(nodes)[0]
    found = [c[n - 1] + np.zeros((np.shape(x)[0], 1))]
    for k in range(n - 2, -1, -1):
        found.append(c[k] + (x - nodes[k])[:, None] * found[-1])
    return found


@primitive
def polynomial(c: Any, nodes: Any, x: Any) -> Any:
    """Evaluate polynomials with coefficients in the columns of `c`."""
    return sums(c, nodes, x)[-1]


@pair_rule(polynomial, Array, Array, Array)
def polynomial_rule(c, nodes, x):
    found = sums(c, nodes, x)

    def polynomial_pushforward(c_dot, nodes_dot, x_dot):
        n = np.shape(nodes)[0]
        dot = c_dot[n - 1] + np.zeros((np.shape(x)[0], 1))
        for k in range(n - 2, -1, -1):
            before = found[n - 2 - k]
            dot = (
                c_dot[k] + (x - nodes[k])[:, None] * dot + (x_dot - nodes_dot[k])[:, None] * before
            )
        return dot

    def polynomial_pullback(y_bar):
        at, read = x, found
        if not np.all(np.isfinite(ignore_derivatives(found[-1]))):
            silent = np.all(ignore_derivatives(y_bar) == 0, axis=1)  # places without a value
            at = np.where(silent, 0.0, x)
            read = sums(c, nodes, at)
        bar, x_bar = y_bar, np.zeros(np.shape(x))
        c_bars, nodes_bar = [], []
        for k in range(np.shape(nodes)[0] - 1):
            part = np.sum(np.real(bar * np.conj(read[-2 - k])), axis=1)
            x_bar = x_bar + part
            nodes_bar.append(-np.sum(part))
            c_bars.append(np.sum(bar, axis=0))
            bar = bar * (at - nodes[k])[:, None]
        nodes_bar.append(np.zeros(()))
        c_bars.append(np.sum(bar, axis=0))
        return np.stack(c_bars), np.stack(nodes_bar), x_bar

    return found[-1], polynomial_pushforward, polynomial_pullback


by_scipy = twin_of(KroghInterpolator.__init__)


@non_differentiable
def checked(xi: Any, yi: Any, axis: int) -> tuple[Any, bool]:
    """Return SciPy's interpolant of plain values, and whether all nodes are different."""
    return KroghInterpolator(xi, yi, axis), len(set(np.asarray(xi).tolist())) == len(xi)


@decompose(KroghInterpolator.__init__)
def krogh_body(self, xi, yi, axis=0):
    made, is_simple = checked(xi, yi, axis)
    if not is_simple or np.asarray(xi).dtype.kind == "c":
        by_scipy(self, xi, yi, axis)
        return
    self._y_axis, self._y_extra_shape, self.dtype = made._y_axis, made._y_extra_shape, made.dtype
    self.n, self.r = made.n, made.r
    self.xi = np.asarray(xi, dtype=np.float64)
    self.yi = self._reshape_yi(np.asarray(yi, dtype=made.dtype))
    none = np.zeros((1, made.r), made.dtype)
    self.c = np.concatenate([differences(self.xi, self.yi), none])


@decompose(KroghInterpolator._evaluate)
def evaluate_body(self, x):
    return polynomial(self.c[: self.n], self.xi, x)
