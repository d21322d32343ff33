"""Programs that call functions of libraries: NumPy's own Python code, SciPy's."""

import math

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special as sc
from numpy.polynomial import Polynomial, chebyshev, polynomial
from scipy import integrate, interpolate, spatial, stats

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]


def rosenbrock(x):
    return scipy.optimize.rosen(x)


def rosenbrock_gradient(x):
    return np.sum(scipy.optimize.rosen_der(x)) * 0.01


def error_functions(x):
    return np.sum(sc.erf(x) * sc.erfc(x)) + sc.erfinv(x[3] / 2)


def gamma_functions(x):
    return np.sum(sc.gammaln(x)) + sc.gamma(x[0]) * sc.digamma(x[1]) + sc.beta(x[2], x[3])


def logistic_functions(x):
    return np.sum(sc.expit(x)) + sc.logit(x[0] / 2) * sc.log_expit(x[1]) + sc.xlogy(x[0], x[2])


def bessel_functions(x):
    return sc.j0(x[0]) * sc.j1(x[1]) + sc.i0(x[2]) + sc.jv(2, x[3])


def scipy_logsumexp(x):
    return sc.logsumexp(x * x) + np.sum(sc.softmax(x) * np.arange(4)) + sc.log_softmax(x)[1]


def normal_distribution(x):
    return np.sum(sc.ndtr(x)) + sc.log_ndtr(x[0]) + sc.entr(x[2])


def incomplete_gamma(x):
    return sc.gammainc(2.0, x[0]) * sc.gammaincc(1.5, x[1])


def numpy_var_and_std(x):
    return np.var(x) * np.std(x, ddof=1) + np.mean(x) ** 2 + x.std()


def numpy_median(x):
    return np.median(x) * x[0] + np.median(x[:3])


def numpy_percentile(x):
    return np.percentile(x, 30.0) * np.quantile(x, 0.8)


def numpy_norms(x):
    return (
        np.linalg.norm(x) * np.linalg.norm(x, 1) + np.linalg.norm(x, 3) + np.linalg.norm(x, np.inf)
    )


def numpy_cross(x):
    return np.sum(np.cross(x[:3], x[1:]) ** 2)


def numpy_trace_and_triangles(x):
    M = np.outer(x, x + 1.0)
    return np.trace(M) + np.sum(np.triu(M, 1)) * np.sum(np.tril(M))


def numpy_rolls(x):
    M = x.reshape(2, 2)
    flips = np.flip(x) * np.roll(x, 1) + np.fliplr(M).ravel() * np.rot90(M).ravel()
    return np.sum(flips * np.arange(4.0))


def numpy_stacks(x):
    a, b = np.split(x, 2)
    M = np.vstack([np.hstack([a, b]), np.concatenate([b, a])])
    return np.sum(np.stack([M, M * 2]) ** 2) + np.column_stack([a, b])[0, 1]


def numpy_block(x):
    A = x.reshape(2, 2)
    return np.sum(np.block([[A, A.T], [np.eye(2), A @ A]]) ** 2)


def numpy_tiles(x):
    return np.sum(np.tile(x, 2) * np.repeat(x, 2)) + np.sum(np.meshgrid(x, x)[0] ** 2)


def numpy_differences(x):
    return np.sum(np.diff(x, n=2) ** 2) + np.sum(np.ediff1d(x) ** 3) + np.sum(np.gradient(x) ** 2)


def numpy_trapezoid(x):
    return np.trapezoid(x**2, dx=0.5) + np.trapezoid(x, [0.0, 0.5, 2.0, 3.0])


def numpy_select(x):
    y = np.select([x < 0, x < 1], [x**2, np.sin(x)], default=x)
    return np.sum(y) + np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda a: a**2, lambda a: a**3]))


def numpy_clips(x):
    return np.sum(np.clip(x, -1.0, 1.0) ** 2) + np.nan_to_num(x)[0]


def clip_method(x):
    return np.sum(x.clip(-1.0, 1.0) ** 2)


def clip_method_from_below(x):
    return np.sum(x.clip(1.0) ** 2)


def numpy_takes(x):
    return np.sum(np.take(x, [0, 0, 2]) ** 2) + np.sum(np.compress(x > 0, x) ** 3)


def numpy_sorts(x):
    return np.sum(np.sort(x)[::-1] * x) + x[np.argsort(x)][1] ** 2 + np.ptp(x)


def numpy_polynomials(x):
    return np.sum(np.polyadd(x, np.polyder(x)) ** 2) + np.polyint(x)[0]


def numpy_polymul(x):
    return np.sum(np.polymul(x, x) ** 2)


def numpy_polynomial_module(x):
    return polynomial.polyval(0.5, x) * chebyshev.chebval(0.3, x) + Polynomial([1.0, 2.0])(x[0])


def numpy_polyfit(x):
    return np.sum(np.polyfit([0.0, 1.0, 2.0, 3.0], x * x, 1) ** 2)


def numpy_covariance(x):
    M = np.stack([x, np.sin(x)])
    return np.cov(M)[0, 1] + np.corrcoef(M)[0, 1]


def numpy_histogram_constant(x):
    counts, _ = np.histogram(x, bins=3, range=(-2.0, 3.0))
    return np.sum(counts) * x[0] + np.count_nonzero(x > 0) * x[1]


def numpy_linear_algebra(x):
    A = x.reshape(2, 2)
    Q, R = np.linalg.qr(A)
    powers = np.linalg.matrix_power(A, 3)
    return np.sum(powers) + R[0, 1] * Q[0, 0] + np.linalg.multi_dot([A, A, x[:2]])[0]


def numpy_pseudo_inverse(x):
    return np.sum(np.linalg.pinv(np.vander(x, 3)) ** 2) * 1e-2


def numpy_windows(x):
    W = np.lib.stride_tricks.sliding_window_view(x, 2)
    return np.sum(W.mean(axis=1) ** 2)


def numpy_nan_functions(x):
    y = np.where(x > 2.0, np.nan, x)
    return np.nansum(y**2) + np.nanmean(y) * np.nanmax(y)


def numpy_applied(x):
    return np.sum(np.apply_over_axes(np.sum, np.outer(x, x), [0]) * x)


def numpy_broadcasts(x):
    y = np.broadcast_to(x, (3, 4)) * np.arange(3.0)[:, None]
    return np.sum(np.atleast_2d(x).T * y.T) + np.sum(np.expand_dims(x, 0) ** 3) + y.squeeze()[2, 1]


def numpy_axes(x):
    T = np.outer(x, x).reshape(2, 2, 4)
    return np.sum(np.moveaxis(T, 0, 2)[1] ** 2) + np.swapaxes(T, 0, 1).max(axis=2)[0, 1]


def numpy_einsum(x):
    return np.einsum("i,j,ij->", x, x, np.cos(np.outer(x, x)))


def numpy_logical(x):
    return np.sum(x[np.logical_and(x > 0, x < 2)]) + np.sum(x**2, where=x > 0) * np.isclose(1, 1)


def numpy_append(x):
    return np.sum(np.append(x, x[0]) ** 2) + np.insert(x, 1, x[2])[1] + np.delete(x, 0)[0] ** 2


def numpy_unwrap(x):
    return np.sum(np.unwrap(x * 3.0) * np.arange(4.0)) + np.sinc(x[0]) * np.i0(x[1])


def numpy_setdiff_constant(x):
    kept = np.setdiff1d(np.arange(4), [2])
    return np.sum(x[kept] ** 2) + np.unique([1, 1, 2]).size * x[2]


def numpy_ufunc_methods(x):
    return np.add.reduce(x**2) + np.multiply.accumulate(x)[2] + np.sum(np.multiply.outer(x, x)[0])


def numpy_random_constant(x):
    noise = np.random.default_rng(0).normal(size=4)
    return np.mean((x + 0.1 * noise) ** 2)


def scipy_solve(x):
    A = np.outer(x, x) + 3.0 * np.eye(4)
    return np.sum(scipy.linalg.solve(A, np.arange(4.0)) ** 2)


def scipy_cho_solve(x):
    A = np.outer(x, x) + 3.0 * np.eye(4)
    return x @ scipy.linalg.cho_solve(scipy.linalg.cho_factor(A), x)


def scipy_normal_logpdf(x):
    return np.sum(stats.norm.logpdf(x, loc=x[0], scale=2.0))


def scipy_distribution_functions(x):
    return stats.norm.cdf(x[0]) + stats.expon.logpdf(x[1]) * stats.gamma.pdf(x[2], 2.0)


def scipy_solve_triangular(x):
    L = np.tril(np.outer(x, x)) + np.eye(4)
    return np.sum(scipy.linalg.solve_triangular(L, x, lower=True) ** 2)


def scipy_quadrature(x):
    return integrate.quad(lambda t: math.exp(-x[0] * t), 0.0, 1.0)[0]


def scipy_trapezoid(x):
    return integrate.trapezoid(x**2, dx=0.5)


def scipy_simpson(x):
    return integrate.simpson(x, dx=0.5)


def scipy_spline(x):
    return float(interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.5))


def scipy_cdist(x):
    return np.sum(spatial.distance.cdist(x[:, None], np.array([[0.0], [1.0]])))


def scipy_euclidean(x):
    return spatial.distance.euclidean(x[:2], x[2:])


def scipy_minkowski(x):
    return spatial.distance.cityblock(x[:2], x[2:]) * spatial.distance.cosine(x[:2], x[2:])


def scipy_zscore(x):
    return np.sum(stats.zscore(x) ** 3)


def scipy_gmean(x):
    return stats.gmean(np.exp(x))


PROGRAMS = [(f, P) for f in [
    rosenbrock, rosenbrock_gradient, error_functions, gamma_functions, logistic_functions,
    bessel_functions, scipy_logsumexp, normal_distribution, incomplete_gamma, numpy_var_and_std,
    numpy_median, numpy_percentile, numpy_norms, numpy_cross, numpy_trace_and_triangles,
    numpy_rolls, numpy_stacks, numpy_block, numpy_tiles, numpy_differences, numpy_trapezoid,
    numpy_select, numpy_clips, clip_method, numpy_takes, numpy_sorts, numpy_polynomials,
    numpy_polynomial_module, numpy_polyfit, numpy_covariance, numpy_histogram_constant,
    numpy_linear_algebra, numpy_pseudo_inverse, numpy_nan_functions, numpy_applied,
    numpy_broadcasts, numpy_axes, numpy_einsum, numpy_logical, numpy_append, numpy_unwrap,
    numpy_setdiff_constant, numpy_ufunc_methods, numpy_random_constant, scipy_normal_logpdf,
    scipy_distribution_functions, scipy_trapezoid, scipy_minkowski, scipy_gmean,
    numpy_polymul, numpy_windows, clip_method_from_below, scipy_simpson, scipy_zscore,
    scipy_solve, scipy_cho_solve, scipy_solve_triangular, scipy_quadrature, scipy_spline,
    scipy_cdist, scipy_euclidean,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
