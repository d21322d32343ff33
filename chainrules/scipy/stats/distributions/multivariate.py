"""Multivariate normal densities, and updates of arrays, whose traced values an object holds.

SciPy keeps a covariance matrix in an object, and reads its determinant there as a plain array. The
bodies here read what the object holds:

    log f = -(r log 2π + log|Σ| + |W(x-m)|²)/2,    WᵀW the pseudo-inverse of Σ, r its rank

`at(x, index).set(y)`, with which SciPy replaces some elements, is such an object too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, special, stats

from chainrules.scipy.private import Private, first_of
from chainrules.scipy.stats.quadrature import plain
from chainrules_core import decompose, non_differentiable, primitive

array_api_extra = first_of("_external.array_api_extra", "_lib.array_api_extra")
_multivariate = Private("stats._multivariate")

LOG_2PI = math.log(2 * math.pi)
normal = type(stats.multivariate_normal)
frozen_normal = type(stats.multivariate_normal())


def log_density(x: Any, mean: Any, cov: Any) -> Any:
    deviation = with_components(x, mean) - mean
    root = np.sum(np.square(cov.whiten(deviation)), axis=-1)
    y = -0.5 * (cov._rank * LOG_2PI + cov._log_pdet + root)
    if np.any(cov.rank < np.shape(deviation)[-1]):
        y = np.where(cov._support_mask(deviation), y, -np.inf)
    return y[()] if np.ndim(y) == 0 else np.squeeze(y)


def with_components(x: Any, mean: Any) -> Any:
    """Return points with components along the last axis."""
    if np.ndim(x) == 0:
        return np.reshape(x, (1,))
    if np.ndim(x) == 1 and np.size(mean) == 1:
        return np.reshape(x, (-1, 1))
    return x if hasattr(x, "shape") else np.array(x)


def entropy_of(cov: Any) -> Any:
    return 0.5 * (cov._rank * (LOG_2PI + 1) + cov._log_pdet)


@decompose(normal.logpdf)
def normal_logpdf(self: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False):
    _, mean, cov = self._process_parameters(mean, cov, allow_singular)
    return log_density(x, mean, cov)


@decompose(normal.pdf)
def normal_pdf(self: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False):
    return np.exp(normal_logpdf(self, x, mean, cov, allow_singular))


@decompose(normal.entropy)
def normal_entropy(self: Any, mean: Any = None, cov: Any = 1) -> Any:
    return entropy_of(self._process_parameters(mean, cov)[2])


class TracedNormal(frozen_normal):
    """A multivariate normal distribution with traced parameters."""

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density."""
        return log_density(x, self.mean, self.cov_object)

    def pdf(self, x: Any) -> Any:
        """Return the density."""
        return np.exp(self.logpdf(x))

    def entropy(self) -> Any:
        """Return the differential entropy."""
        return entropy_of(self.cov_object)


@decompose(normal.__call__)
def freeze_normal(
    self: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False, seed: Any = None
) -> TracedNormal:
    return TracedNormal(mean, cov, allow_singular=allow_singular, seed=seed)


# ------------------------------------------------------------- factors of covariance matrices


class Factored(_multivariate._PSD):
    """A covariance matrix of full rank, by Cholesky's factor.

    Its eigenvectors have no derivative where eigenvalues meet.
    """

    def __init__(self, found: Any, M: Any) -> None:
        lower = np.linalg.cholesky(M)
        self._M, self.rank, self.eps, self.V = M, found.rank, found.eps, found.V
        identity = np.eye(np.shape(M)[0])
        self.U = np.transpose(linalg.solve_triangular(lower, identity, lower=True))
        self.log_pdet = 2 * np.sum(np.log(np.diagonal(lower)))
        self._pinv = None


class Projected(_multivariate._PSD):
    """A covariance matrix of less than full rank, by its eigenvectors."""

    def __init__(self, found: Any, M: Any, lower: bool) -> None:
        values, vectors = linalg.eigh(M, lower=lower)
        kept = slice(np.shape(M)[0] - found.rank, None)  # the largest come last
        self._M, self.rank, self.eps, self.V = M, found.rank, found.eps, found.V
        self.U = vectors[:, kept] / np.sqrt(values[kept])
        self.log_pdet = np.sum(np.log(values[kept]))
        self._pinv = None


@decompose(_multivariate._PSD)
def factored(
    M: Any, cond: Any = None, rcond: Any = None, lower: bool = True, check_finite: bool = True,
    allow_singular: bool = True,
) -> Any:  # fmt: skip
    found = checked(M, cond, rcond, lower, check_finite, allow_singular)
    if found.rank == np.shape(M)[0]:
        return Factored(found, M)
    return Projected(found, M, lower)


@non_differentiable
def checked(*args: Any) -> Any:
    return _multivariate._PSD(*args)


invwishart = type(stats.invwishart)


@decompose(invwishart._logpdf)
def invwishart_logpdf(self: Any, x: Any, dim: Any, df: Any, log_det_scale: Any, C: Any) -> Any:
    values = []
    for i in range(np.shape(x)[-1]):
        lower = np.linalg.cholesky(x[:, :, i])
        root = linalg.solve_triangular(lower, C, lower=True)
        log_det = 2 * np.sum(np.log(np.diagonal(lower)))
        values.append(-0.5 * (df + dim + 1) * log_det - 0.5 * np.sum(np.square(root)))
    constant = 0.5 * df * log_det_scale - 0.5 * df * dim * math.log(2)
    return np.stack(values) + constant - special.multigammaln(0.5 * df, dim)


# ---------------------------------------------------------------------- elements replaced


@primitive
def updated(x: Any, y: Any, *, index: Any = None, change: Callable | None = None) -> Any:
    """Return a copy of x with other elements at the index."""
    z = np.array(x, copy=True)
    z[index] = y if change is None else change(z[index], y)
    return z


@decompose(updated)
def updated_body(x: Any, y: Any, *, index: Any = None, change: Callable | None = None) -> Any:
    z = np.array(x, copy=True)
    z[index] = y if change is None else change(z[index], y)
    return z


class TracedAt:
    """An index into an array, some of whose elements are to be replaced."""

    def __init__(self, x: Any, index: Any = None) -> None:
        self.x, self.index = x, index

    def __getitem__(self, index: Any) -> TracedAt:
        return TracedAt(self.x, index)

    def set(self, y: Any, /, copy: bool | None = None, **options: Any) -> Any:
        """Replace the elements at the index, in place as SciPy does; a number is made anew."""
        return replaced(self.x, self.index, y, None, copy)


def replaced(x: Any, index: Any, y: Any, change: Callable | None, copy: bool | None) -> Any:
    if copy is None:
        copy = not (isinstance(x, np.ndarray) and plain(x).flags.writeable)
    if copy:
        return updated(x, y, index=index, change=change)
    x[index] = y if change is None else change(x[index], y)
    return x


def changing(change: Callable) -> Callable:
    def method(self: TracedAt, y: Any, /, copy: bool | None = None, **options: Any) -> Any:
        return replaced(self.x, self.index, y, change, copy)

    return method


for name, operation in {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "min": np.minimum,
    "max": np.maximum,
}.items():
    setattr(TracedAt, name, changing(operation))

if array_api_extra.has("at"):
    decompose(array_api_extra.at)(TracedAt)
