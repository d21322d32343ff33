"""Public functions of NumPy and SciPy for the checkers of other systems, from all rooms of rules.

Each is a function of real arrays that returns one real array, at a point where it is smooth: no
ties, kinks or edges. All arguments are differentiated. `test_functions.py` compares each with
finite differences of the plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)  # fmt: skip
from scipy.cluster import hierarchy
from scipy.sparse import linalg as sparse_linalg
from scipy.spatial import distance

from chainrules_core.testing import (
    ABOVE_ONE,
    POSITIVE,
    SYMMETRIC_UNIT,
    UNIT,
    Domain,
    hermitian_matrix,
    separated_singular_values,
    spd_matrix,
    well_conditioned_matrix,
)  # fmt: skip
from tests.helpers import real


@dataclass(frozen=True)
class Function:
    """A function and the arguments at which it is differentiated.

    Parameters
    ----------
    name : str
        The public function that it calls.
    function : callable
        Takes the arguments, returns one array or number.
    arguments : tuple
        Arrays of float64 and Python floats.
    """

    name: str
    function: Callable
    arguments: tuple[Any, ...]


def draw(domain: Domain, *shape: int, seed: int = 1) -> np.ndarray:
    return domain.draw(shape, rng=[seed, *shape])


def positive(*shape: int, seed: int = 1) -> np.ndarray:
    return draw(POSITIVE, *shape, seed=seed)


def unit(*shape: int, seed: int = 1) -> np.ndarray:
    return draw(UNIT, *shape, seed=seed)


def symmetric_part(a):
    return (a + a.T) / 2


TIMES = np.linspace(0.0, 1.0, 6)
NODES = np.array([0.0, 0.7, 1.5, 2.6, 3.2, 4.0])
INSIDE = np.array([0.3, 1.1, 2.2, 3.7])
MATRIX = well_conditioned_matrix(3, rng=1)
SPD = spd_matrix(3, rng=2)
TALL = separated_singular_values(4, 2, rng=3)
SYMMETRIC = hermitian_matrix(3, rng=4)
TRIANGLE = np.array([[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [-0.7, 0.3, 1.8]])
ELEMENTS = np.array([1.5, -0.4, 0.8, 2.2])
CORNERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.1, 2.0]])
MEASURED = 2.0 * np.exp(-0.7 * TIMES) + np.array([0.05, -0.03, 0.02, 0.04, -0.06, 0.01])
STABLE = np.array([[0.5, 0.2], [-0.1, 0.4]])


def decay(t, y, rate):
    return -rate * y


def pendulum(y, t, damping):
    return np.stack([y[1], -np.sin(y[0]) - damping * y[1]])


def two_equations(z, p):
    return np.stack([z[0] ** 2 + z[1] - p[0], z[1] ** 3 + z[1] - z[0] - p[1]])


def bowl(z, p):
    return np.sum(np.cosh(z - p)) + 0.5 * np.sum(z) ** 2


def slope_of_bowl(z, p):
    return np.sinh(z - p) + np.sum(z)


def matrix_of(values):
    return sparse.csr_array((values, ([0, 0, 1, 2], [0, 2, 1, 2])), shape=(3, 3))


def dominant(values):
    return sparse.diags_array([4.0 + values, values[:-1]], offsets=[0, 1], format="csc")


# fmt: off
ELEMENTWISE = [
    ("np.add", np.add, real(3), real(3, seed=2)),
    ("np.multiply", np.multiply, real(2, 3), real(3)),
    ("np.divide", np.divide, real(3), positive(3)),
    ("np.power", np.power, positive(3), real(3)),
    ("np.float_power", np.float_power, positive(3), real(3)),
    ("np.square", np.square, real(3)),
    ("np.exp", np.exp, real(3)),
    ("np.log", np.log, positive(3)),
    ("np.log1p", np.log1p, positive(3)),
    ("np.sqrt", np.sqrt, positive(3)),
    ("np.cbrt", np.cbrt, positive(3)),
    ("np.logaddexp", np.logaddexp, real(3), real(3, seed=2)),
    ("np.sin", np.sin, real(3)),
    ("np.arcsin", np.arcsin, draw(SYMMETRIC_UNIT, 3)),
    ("np.arctan2", np.arctan2, positive(3), positive(3, seed=2)),
    ("np.hypot", np.hypot, positive(3), positive(3, seed=2)),
    ("np.sinc", np.sinc, real(3)),
    ("np.tanh", np.tanh, real(3)),
    ("np.arccosh", np.arccosh, draw(ABOVE_ONE, 3)),
    ("np.abs", np.abs, real(3)),
    ("np.i0", np.i0, positive(3)),
    ("np.maximum", np.maximum, real(4), real(4, seed=5)),
    ("np.where", lambda x, y: np.where(x > 0.0, x * y, y), real(4), real(4, seed=5)),
    ("np.clip", lambda x: np.clip(x, -1.0, 1.0) * x, real(4)),
    ("np.real", lambda x, y: np.real((x + 1j * y) ** 3), real(3), real(3, seed=2)),
    ("np.angle", lambda x, y: np.angle(x + 1j * y), positive(3), positive(3, seed=2)),
]

REDUCTIONS = [
    ("np.sum", lambda x: np.sum(x * x, axis=0), real(3, 2)),
    ("np.mean", lambda x: np.mean(x**3, axis=1, keepdims=True), real(2, 3)),
    ("np.average", lambda x, w: np.average(x, weights=w), real(4), positive(4)),
    ("np.prod", np.prod, real(4)),
    ("np.cumprod", np.cumprod, real(4)),
    ("np.cumsum", lambda x: np.cumsum(np.exp(x)), real(4)),
    ("np.var", lambda x: np.var(x, axis=0), real(3, 2)),
    ("np.std", np.std, real(4)),
    ("np.max", lambda x: np.max(x, axis=0) ** 2, real(3, 2)),
    ("np.sort", lambda x: np.sort(x) ** 3, real(4)),
    ("np.median", lambda x: np.median(x) ** 2, real(5)),
    ("np.quantile", lambda x: np.quantile(x, 0.3) ** 2, real(5)),
    ("np.cov", np.cov, real(2, 4)),
    ("np.corrcoef", np.corrcoef, real(2, 4)),
    ("np.trapezoid", np.trapezoid, real(4), np.sort(real(4, seed=2))),
    ("np.diff", lambda x: np.diff(x, n=2) ** 2, real(5)),
    ("np.gradient", lambda x: np.gradient(x, NODES) ** 2, real(6)),
    ("np.multiply.reduce", lambda x: np.multiply.reduce(x, axis=1), real(2, 3)),
    ("np.add.accumulate", lambda x: np.add.accumulate(x * x), real(4)),
]

SHAPES = [
    ("np.reshape", lambda x: np.reshape(x, (2, 3)) @ x[:3], real(6)),
    ("np.transpose", lambda x: np.transpose(x) @ x, real(2, 3)),
    ("np.roll", lambda x: x * np.roll(x, 1), real(4)),
    ("np.tile", lambda x: np.tile(x, 2) ** 2, real(3)),
    ("np.concatenate", lambda x, y: np.concatenate([x, x * y]), real(3), real(3, seed=2)),
    ("np.stack", lambda x, y: np.stack([x, x * y], axis=1), real(3), real(3, seed=2)),
    ("np.split", lambda x: np.split(x, 2)[0] * np.split(x, 2)[1], real(6)),
    ("np.insert", lambda x: np.insert(x, 1, x[0] * x[1]), real(3)),
    ("np.pad", lambda x: np.pad(x, 2, mode="reflect") ** 2, real(4)),
    ("np.lib.stride_tricks.sliding_window_view",
     lambda x: np.lib.stride_tricks.sliding_window_view(x, 3) @ x[:3], real(5)),
    ("operator.getitem", lambda x: x[::2] * x[[0, 3, 3]], real(6)),
    ("np.take_along_axis", lambda x: np.take_along_axis(x, np.argsort(x), 0) ** 2, real(4)),
    ("np.diag", lambda x: np.diag(x) @ x, real(3)),
    ("np.tril", lambda x: np.tril(x) @ x, real(3, 3)),
    ("np.array", lambda x, y: np.array([[x[0], y], [1.0, x[1] * y]]), real(2), 0.7),
    ("np.linspace", lambda a, b: np.linspace(a, a * b, 4), 0.3, 1.7),
    ("np.vander", lambda x: np.vander(x, 3), real(3)),
]

NUMPY_LINALG = [
    ("np.matmul", np.matmul, real(2, 3), real(3, 2)),
    ("np.tensordot", lambda a, b: np.tensordot(a, b, axes=1), real(2, 2, 2), real(2, 3)),
    ("np.kron", np.kron, real(2, 2), real(2)),
    ("np.cross", np.cross, real(3), real(3, seed=2)),
    ("np.einsum", lambda a, b: np.einsum("ij,jk,ik->k", a, b, a @ b), real(2, 3), real(3, 2)),
    ("np.linalg.multi_dot", lambda a, b: np.linalg.multi_dot([a, b, a]), real(2, 3), real(3, 2)),
    ("np.linalg.matrix_power", lambda a: np.linalg.matrix_power(a, 3), MATRIX),
    ("np.linalg.inv", np.linalg.inv, MATRIX),
    ("np.linalg.solve", np.linalg.solve, MATRIX, real(3)),
    ("np.linalg.det", np.linalg.det, MATRIX),
    ("np.linalg.slogdet", lambda a: np.linalg.slogdet(a)[1], MATRIX),
    ("np.linalg.cholesky", lambda a: np.linalg.cholesky(symmetric_part(a)), SPD),
    ("np.linalg.norm", lambda a: np.linalg.norm(a, axis=0), real(3, 2)),
    ("np.linalg.qr", lambda a: np.linalg.qr(a)[1], TALL),
    ("np.linalg.eigvalsh", lambda a: np.linalg.eigvalsh(symmetric_part(a)), SYMMETRIC),
    ("np.linalg.eigvals", lambda a: np.sort(np.linalg.eigvals(a).real), TRIANGLE),
    ("np.linalg.svdvals", lambda a: np.linalg.svd(a, compute_uv=False), TALL),
    ("np.linalg.pinv", np.linalg.pinv, TALL),
    ("np.linalg.lstsq", lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], TALL, real(4)),
]

TRANSFORMS = [
    ("np.convolve", np.convolve, real(4), real(3)),
    ("np.correlate", np.correlate, real(4), real(3)),
    ("np.fft.fft", lambda x: np.abs(np.fft.fft(x)) ** 2, real(5)),
    ("np.fft.irfft", lambda x: np.fft.irfft(np.fft.rfft(x) ** 2), real(6)),
    ("np.fft.fft2", lambda x: np.fft.ifft2(np.fft.fft2(x) ** 2).real, real(2, 3)),
    ("np.interp", lambda x, fp: np.interp(x, NODES, fp) ** 2, INSIDE, real(6)),
    ("np.polyval", np.polyval, real(4), real(3)),
    ("np.roots", lambda p: np.sort(np.roots(p).real), np.array([0.2, -0.8, -0.4, 1.6])),
    ("np.polynomial.chebyshev.chebval", np.polynomial.chebyshev.chebval, real(3), real(4)),
    ("np.histogram", lambda w: np.histogram(INSIDE, 2, weights=w)[0] ** 2, real(4)),
    ("np.bincount", lambda w: np.bincount([0, 2, 2], w) ** 2, real(3)),
    ("scipy.fft.dct", lambda x: fft.dct(x) ** 2, real(4)),
    ("scipy.fft.rfft", lambda x: np.abs(fft.rfft(x)) ** 2, real(5)),
    ("scipy.fft.fht", lambda x: fft.fht(x, 0.3, 0.5) ** 2, real(4)),
]

SPECIAL = [
    ("scipy.special.gamma", special.gamma, positive(3)),
    ("scipy.special.gammaln", special.gammaln, positive(3)),
    ("scipy.special.digamma", special.digamma, positive(3)),
    ("scipy.special.beta", special.beta, positive(3), positive(3, seed=2)),
    ("scipy.special.gammainc", special.gammainc, positive(3), positive(3, seed=2)),
    ("scipy.special.betainc", special.betainc, positive(3), positive(3, seed=2), unit(3)),
    ("scipy.special.erf", special.erf, real(3)),
    ("scipy.special.erfcx", special.erfcx, real(3)),
    ("scipy.special.erfinv", special.erfinv, draw(SYMMETRIC_UNIT, 3)),
    ("scipy.special.ndtri", special.ndtri, unit(3)),
    ("scipy.special.log_ndtr", special.log_ndtr, real(3)),
    ("scipy.special.expit", special.expit, real(3)),
    ("scipy.special.logit", special.logit, unit(3)),
    ("scipy.special.xlogy", special.xlogy, positive(3), positive(3, seed=2)),
    ("scipy.special.entr", special.entr, positive(3)),
    ("scipy.special.logsumexp", special.logsumexp, real(4)),
    ("scipy.special.softmax", special.softmax, real(4)),
    ("scipy.special.j0", special.j0, positive(3)),
    ("scipy.special.jv", lambda x: special.jv(1.5, x), positive(3)),
    ("scipy.special.kve", lambda x: special.kve(1.5, x), positive(3)),
    ("scipy.special.spherical_jn", lambda x: special.spherical_jn(2, x), positive(3)),
    ("scipy.special.airy", lambda x: special.airy(x)[0], real(3)),
    ("scipy.special.ellipk", special.ellipk, unit(3)),
    ("scipy.special.ellipeinc", special.ellipeinc, unit(3), unit(3, seed=2)),
    ("scipy.special.hyp2f1", lambda x: special.hyp2f1(0.5, 1.2, 2.5, x), unit(3)),
    ("scipy.special.hyp1f1", lambda x: special.hyp1f1(0.5, 1.2, x), real(3)),
    ("scipy.special.expi", special.expi, positive(3)),
    ("scipy.special.sici", lambda x: special.sici(x)[0], positive(3)),
    ("scipy.special.dawsn", special.dawsn, real(3)),
    ("scipy.special.eval_legendre", lambda x: special.eval_legendre(3, x), unit(3)),
    ("scipy.special.huber", lambda r: special.huber(1.0, r), np.array([0.3, -0.6, 2.0])),
    ("scipy.special.lambertw", lambda x: special.lambertw(x).real, positive(3)),
    ("scipy.special.kl_div", special.kl_div, positive(3), positive(3, seed=2)),
    ("scipy.special.zeta", lambda q: special.zeta(2.5, q), positive(3)),
    ("scipy.special.pbdv", lambda x: special.pbdv(1.3, x)[0], real(3)),
    ("scipy.special.ker", special.ker, positive(3)),
]

SCIPY_LINALG = [
    ("scipy.linalg.expm", linalg.expm, MATRIX / 4),
    ("scipy.linalg.logm", linalg.logm, SPD),
    ("scipy.linalg.sqrtm", linalg.sqrtm, SPD),
    ("scipy.linalg.solve", linalg.solve, MATRIX, real(3)),
    ("scipy.linalg.solve_triangular",
     lambda a, b: linalg.solve_triangular(a, b, lower=True), TRIANGLE, real(3)),
    ("scipy.linalg.cho_solve",
     lambda a, b: linalg.cho_solve(linalg.cho_factor(symmetric_part(a)), b), SPD, real(3)),
    ("scipy.linalg.lu", lambda a: linalg.lu(a)[2], MATRIX),
    ("scipy.linalg.lu_solve",
     lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), MATRIX, real(3)),
    ("scipy.linalg.eigh", lambda a: linalg.eigh(symmetric_part(a))[0], SYMMETRIC),
    ("scipy.linalg.svd", lambda a: linalg.svd(a)[1], TALL),
    ("scipy.linalg.polar", lambda a: linalg.polar(a)[0], MATRIX),
    ("scipy.linalg.lstsq", lambda a, b: linalg.lstsq(a, b)[0], TALL, real(4)),
    ("scipy.linalg.solve_banded",
     lambda ab, b: linalg.solve_banded((1, 1), ab, b),
     np.array([[0.0, 0.4, -0.3], [2.0, 1.8, 2.4], [0.5, 0.2, 0.0]]), real(3)),
    ("scipy.linalg.solve_toeplitz",
     lambda c, b: linalg.solve_toeplitz(c, b), np.array([3.0, 0.5, -0.4]), real(3)),
    ("scipy.linalg.circulant", lambda c: linalg.circulant(c) @ c, real(3)),
    ("scipy.linalg.block_diag", lambda a, b: linalg.block_diag(a, a @ b), real(2, 2), real(2, 2)),
    ("scipy.linalg.solve_sylvester",
     linalg.solve_sylvester, MATRIX, STABLE, real(3, 2)),
    ("scipy.linalg.solve_discrete_lyapunov",
     linalg.solve_discrete_lyapunov, STABLE, spd_matrix(2, rng=5)),
    ("scipy.linalg.hessenberg", linalg.hessenberg, MATRIX),
]

SIGNAL = [
    ("scipy.signal.convolve", signal.convolve, real(4), real(3)),
    ("scipy.signal.fftconvolve", signal.fftconvolve, real(4), real(3)),
    ("scipy.signal.lfilter", lambda b, x: signal.lfilter(b, [1.0, 0.4], x), real(3), real(5)),
    ("scipy.signal.sosfilt",
     lambda x: signal.sosfilt([[1.0, 0.3, 0.1, 1.0, -0.2, 0.1]], x) ** 2, real(5)),
    ("scipy.signal.freqz", lambda b: np.abs(signal.freqz(b, worN=4)[1]), positive(3)),
    ("scipy.signal.hilbert", lambda x: np.abs(signal.hilbert(x)), real(6)),
    ("scipy.signal.detrend", lambda x: signal.detrend(x) ** 2, real(5)),
    ("scipy.signal.savgol_filter", lambda x: signal.savgol_filter(x, 3, 1) ** 2, real(6)),
    ("scipy.signal.resample", lambda x: signal.resample(x, 4) ** 2, real(6)),
    ("scipy.signal.periodogram", lambda x: signal.periodogram(x)[1], real(6)),
    ("scipy.signal.gausspulse", lambda t: signal.gausspulse(t, fc=0.5), real(3)),
    ("scipy.signal.convolve2d", signal.convolve2d, real(2, 3), real(2, 2)),
    ("scipy.signal.cspline1d", lambda x: signal.cspline1d(x) ** 2, real(5)),
]

NDIMAGE = [
    ("scipy.ndimage.gaussian_filter",
     lambda x: ndimage.gaussian_filter(x, 1.0) ** 2, real(3, 3)),
    ("scipy.ndimage.convolve", ndimage.convolve, real(3, 3), real(2, 2)),
    ("scipy.ndimage.sobel", lambda x: ndimage.sobel(x) ** 2, real(3, 3)),
    ("scipy.ndimage.shift", lambda x: ndimage.shift(x, 0.4) ** 2, real(5)),
    ("scipy.ndimage.map_coordinates",
     lambda a, at: ndimage.map_coordinates(a, at, order=3), real(6), np.array([[1.3, 2.6, 3.4]])),
    ("scipy.ndimage.zoom", lambda x: ndimage.zoom(x, 1.5) ** 2, real(4)),
    ("scipy.ndimage.fourier_gaussian",
     lambda x: np.fft.ifft(ndimage.fourier_gaussian(np.fft.fft(x), 0.6)).real ** 2, real(5)),
    ("scipy.ndimage.maximum_filter", lambda x: ndimage.maximum_filter(x, 3) ** 2, real(6)),
    ("scipy.ndimage.mean", lambda x: ndimage.mean(x * x, [1, 1, 2, 2, 2], [1, 2]), real(5)),
    ("scipy.ndimage.spline_filter", lambda x: ndimage.spline_filter(x) ** 2, real(3, 3)),
]

INTERPOLATE = [
    ("scipy.interpolate.CubicSpline",
     lambda y, x: interpolate.CubicSpline(NODES, y)(x), real(6), INSIDE),
    ("scipy.interpolate.make_interp_spline",
     lambda y, x: interpolate.make_interp_spline(NODES, y)(x), real(6), INSIDE),
    ("scipy.interpolate.PchipInterpolator",
     lambda y: interpolate.PchipInterpolator(NODES, y)(INSIDE),
     np.array([0.1, 1.0, 1.4, 2.9, 3.1, 5.0])),
    ("scipy.interpolate.BarycentricInterpolator",
     lambda y: interpolate.BarycentricInterpolator(NODES, y)(INSIDE) ** 2, real(6)),
    ("scipy.interpolate.KroghInterpolator",
     lambda y: interpolate.KroghInterpolator(NODES, y)(INSIDE) ** 2, real(6)),
    ("scipy.interpolate.BSpline",
     lambda c, x: interpolate.BSpline(np.arange(8.0), c, 3)(x), real(4), np.array([3.2, 3.8, 4.5])),
    ("scipy.interpolate.RegularGridInterpolator",
     lambda v, x: interpolate.RegularGridInterpolator((NODES[:3], NODES[:2]), v)(x),
     real(3, 2), np.array([[0.3, 0.2], [1.1, 0.5]])),
    ("scipy.interpolate.RBFInterpolator",
     lambda y: interpolate.RBFInterpolator(NODES[:, None], y)(INSIDE[:, None]) ** 2, real(6)),
    ("scipy.interpolate.griddata",
     lambda v: interpolate.griddata(CORNERS, v, [[0.6, 0.5]]) ** 2,
     real(4)),
    ("scipy.interpolate.splev",
     lambda y: interpolate.splev(INSIDE, interpolate.splrep(NODES, y)) ** 2, real(6)),
    ("scipy.interpolate.pade", lambda a: interpolate.pade(a, 2)[0].coeffs, real(4)),
]

INTEGRATE = [
    ("scipy.integrate.quad",
     lambda a, b: integrate.quad(lambda t: np.exp(-a * t * t), 0.0, b)[0], 0.8, 1.3),
    ("scipy.integrate.fixed_quad",
     lambda a, b: integrate.fixed_quad(lambda t: np.sin(a * t), 0.0, b)[0], 0.8, 1.3),
    ("scipy.integrate.dblquad",
     lambda a: integrate.dblquad(lambda y, x: np.exp(-a * x * y), 0.0, 1.0, 0.0, 1.0)[0], 0.8),
    ("scipy.integrate.quad_vec",
     lambda a: integrate.quad_vec(lambda t: np.sin(a * t), 0.0, 1.0)[0], positive(3)),
    ("scipy.integrate.simpson", integrate.simpson, real(5), np.sort(real(5, seed=2))),
    ("scipy.integrate.trapezoid", integrate.trapezoid, real(4), np.sort(real(4, seed=2))),
    ("scipy.integrate.cumulative_trapezoid",
     lambda y, x: integrate.cumulative_trapezoid(y, x), real(4), np.sort(real(4, seed=2))),
    ("scipy.integrate.cumulative_simpson",
     lambda y: integrate.cumulative_simpson(y, dx=0.5) ** 2, real(5)),
    ("scipy.integrate.romb", lambda y: integrate.romb(y, dx=0.25) ** 2, real(5)),
    ("scipy.integrate.solve_ivp",
     lambda y0, rate: integrate.solve_ivp(
         decay, (0.0, 1.0), y0, args=(rate,), t_eval=[0.5, 1.0], rtol=1e-10, atol=1e-12).y,
     positive(2), 0.7),
    ("scipy.integrate.odeint",
     lambda y0, damping: integrate.odeint(
         pendulum, y0, TIMES[:3], args=(damping,), rtol=1e-10, atol=1e-12),
     np.array([0.5, 0.2]), 0.3),
]

OPTIMIZE = [
    ("scipy.optimize.root",
     lambda p: optimize.root(two_equations, [1.0, 1.0], args=(p,), tol=1e-13).x,
     np.array([2.0, 0.7])),
    ("scipy.optimize.fsolve",
     lambda p: optimize.fsolve(two_equations, [1.0, 1.0], args=(p,), xtol=1e-13),
     np.array([2.0, 0.7])),
    ("scipy.optimize.brentq",
     lambda a, b: optimize.brentq(lambda t: t**3 + a * t - b, 0.0, 4.0, xtol=1e-14), 0.8, 3.0),
    ("scipy.optimize.newton",
     lambda a: optimize.newton(lambda t: np.cos(t) - a * t, 0.5, tol=1e-14), 0.9),
    ("scipy.optimize.bisect",
     lambda a: optimize.bisect(lambda t: t * t - a, 0.0, 4.0, xtol=1e-14), 2.5),
    ("scipy.optimize.fixed_point",
     lambda a: optimize.fixed_point(lambda t: a * np.cos(t), 0.6, xtol=1e-14), 0.8),
    ("scipy.optimize.minimize",
     lambda p: optimize.minimize(bowl, [0.1, 0.1], (p,), jac=slope_of_bowl, tol=1e-12).x,
     np.array([0.6, -0.3])),
    ("scipy.optimize.minimize_scalar",
     lambda a: optimize.minimize_scalar(lambda t: np.cosh(t - a) + t * t, tol=1e-12).x, 0.7),
    ("scipy.optimize.least_squares",
     lambda y: optimize.least_squares(
         lambda z: z[0] * np.exp(-z[1] * TIMES) - y, [1.0, 1.0],
         jac=lambda z: np.stack([np.exp(-z[1] * TIMES), -z[0] * TIMES * np.exp(-z[1] * TIMES)], 1),
         xtol=1e-15, ftol=1e-15, gtol=1e-15).x,
     MEASURED),
    ("scipy.optimize.curve_fit",
     lambda y: optimize.curve_fit(
         lambda t, a, b: a * np.exp(-b * t), TIMES, y, [1.0, 1.0], ftol=1e-13, xtol=1e-13)[0],
     MEASURED),
    ("scipy.optimize.nnls",
     lambda a, b: optimize.nnls(a, b)[0], np.abs(TALL) + np.eye(4, 2), positive(4)),
    ("scipy.optimize.approx_fprime",
     lambda x: optimize.approx_fprime(x, lambda z: np.sum(z**3), 1e-6), positive(2)),
]

STATS = [
    ("scipy.stats.norm.logpdf", stats.norm.logpdf, real(3), 0.4, 1.3),
    ("scipy.stats.norm.ppf", stats.norm.ppf, unit(3), 0.4, 1.3),
    ("scipy.stats.gamma.logpdf",
     lambda x, a, s: stats.gamma.logpdf(x, a, scale=s), positive(3), 2.5, 1.2),
    ("scipy.stats.gamma.cdf", stats.gamma.cdf, positive(3), 2.5),
    ("scipy.stats.beta.pdf", stats.beta.pdf, unit(3), 2.5, 1.7),
    ("scipy.stats.t.logpdf", stats.t.logpdf, real(3), 4.2),
    ("scipy.stats.weibull_min.logpdf", stats.weibull_min.logpdf, positive(3), 1.8),
    ("scipy.stats.lognorm.cdf", stats.lognorm.cdf, positive(3), 0.7),
    ("scipy.stats.poisson.logpmf", lambda m: stats.poisson.logpmf([0, 2, 5], m), 2.3),
    ("scipy.stats.norm.expect", lambda m: stats.norm.expect(lambda t: np.sin(t), loc=m), 0.6),
    ("scipy.stats.multivariate_normal.logpdf",
     lambda x, m, c: stats.multivariate_normal.logpdf(x, m, symmetric_part(c)),
     real(3), real(3, seed=2), SPD),
    ("scipy.stats.gaussian_kde", lambda d, x: stats.gaussian_kde(d)(x), real(5), real(2, seed=2)),
    ("scipy.stats.zscore", stats.zscore, real(4)),
    ("scipy.stats.skew", stats.skew, real(5)),
    ("scipy.stats.gmean", stats.gmean, positive(4)),
    ("scipy.stats.pearsonr", lambda x, y: stats.pearsonr(x, y).statistic, real(5), real(5, seed=2)),
    ("scipy.stats.ttest_ind",
     lambda x, y: stats.ttest_ind(x, y).statistic, real(5), real(4, seed=2)),
    ("scipy.stats.wasserstein_distance",
     lambda x, y: stats.wasserstein_distance(x, y) ** 2, real(4), 5.0 + real(4, seed=2)),
    ("scipy.stats.boxcox", lambda x, power: stats.boxcox(x, power), positive(4), 0.6),
    ("scipy.stats.entropy", lambda p: stats.entropy(p), positive(4)),
    ("scipy.stats.qmc.discrepancy", lambda x: stats.qmc.discrepancy(x), unit(3, 2)),
]

SPARSE = [
    ("scipy.sparse.csr_array", lambda v, x: matrix_of(v) @ x, ELEMENTS, real(3)),
    ("scipy.sparse.kron", lambda v: sparse.kron(matrix_of(v), matrix_of(v)).sum(axis=0), ELEMENTS),
    ("scipy.sparse.linalg.spsolve",
     lambda v, b: sparse_linalg.spsolve(dominant(v), b), real(3), real(3, seed=2)),
    ("scipy.sparse.linalg.cg",
     lambda a, b: sparse_linalg.cg(symmetric_part(a), b, rtol=1e-13)[0], SPD, real(3)),
    ("scipy.sparse.linalg.expm_multiply", sparse_linalg.expm_multiply, MATRIX / 4, real(3)),
    ("scipy.sparse.linalg.norm", lambda v: sparse_linalg.norm(matrix_of(v)), ELEMENTS),
    ("scipy.sparse.csgraph.laplacian",
     lambda a: sparse.csgraph.laplacian(a * a.T), positive(3, 3)),
]

OTHERS = [
    ("scipy.spatial.distance.cdist", distance.cdist, real(3, 2), real(2, 2, seed=2)),
    ("scipy.spatial.distance.pdist", distance.pdist, real(3, 2)),
    ("scipy.spatial.distance.cosine", distance.cosine, real(3), real(3, seed=2)),
    ("scipy.spatial.transform.Rotation",
     lambda r, v: spatial.transform.Rotation.from_rotvec(r).apply(v), unit(3), real(3)),
    ("scipy.spatial.ConvexHull", lambda x: spatial.ConvexHull(x).volume, real(6, 2)),
    ("scipy.spatial.KDTree",
     lambda x, y: spatial.KDTree(x).query(y)[0], real(4, 2), real(3, 2, seed=2)),
    ("scipy.cluster.hierarchy.linkage", lambda x: hierarchy.linkage(x)[:, 2], real(4, 2)),
    ("scipy.cluster.vq.whiten", lambda x: cluster.vq.whiten(x), real(4, 2)),
    ("np.random.Generator.normal",
     lambda m, s: np.random.default_rng(7).normal(m, s) ** 2, real(3), positive(3)),
    ("np.random.Generator.gamma scale",
     lambda s: np.random.default_rng(7).gamma(2.0, s) ** 2, positive(3)),
    ("np.random.RandomState.weibull",
     lambda a: np.random.RandomState(7).weibull(a), positive(3)),
    ("np.vectorize", lambda x: np.vectorize(lambda t: t * np.exp(t))(x), real(3)),
    ("np.apply_along_axis",
     lambda x: np.apply_along_axis(lambda row: row / np.sum(row * row), 1, x), real(2, 3)),
    ("builtins.sum", lambda x: sum(t * t for t in x), real(3)),
]
# fmt: on

FUNCTIONS: list[Function] = [
    Function(name, function, tuple(arguments))
    for room in (
        ELEMENTWISE, REDUCTIONS, SHAPES, NUMPY_LINALG, TRANSFORMS, SPECIAL, SCIPY_LINALG, SIGNAL,
        NDIMAGE, INTERPOLATE, INTEGRATE, OPTIMIZE, STATS, SPARSE, OTHERS,
    )
    for name, function, *arguments in room
]  # fmt: skip
