"""Calls of SciPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats

from tools.calls.draw import Call, Draw, Maker, of_two, table_of

LINES, calls = table_of(scipy)
MARGINS = ("reflect", "constant", "nearest", "mirror", "wrap")


def image(r: Draw) -> tuple[int, ...]:
    return tuple([n + 3 for n in r.sized()])


def axis_of(r: Draw, shape: tuple[int, ...]) -> int:
    return r.axis(len(shape), none=False, several=False)


# ----------------------------------------------------------------------------------------- ndimage


def along(**options: Any) -> Maker:
    """Return what draws a filter along one axis; functions of `options` draw their values."""

    def make(r: Draw) -> Call:
        shape = image(r)
        rest = {name: value(r) for name, value in options.items() if name[0] != "_"}
        first = [options["_first"](r)] if "_first" in options else []
        margins = r.some(mode=lambda: r.one(*MARGINS), cval=r.number)
        drawn = {name: value for name, value in rest.items() if r.flip()}
        return Call((r.array(*shape), *first), {"axis": axis_of(r, shape), **margins, **drawn})

    return make


def over_image(first: Callable, ndim: int | None = None, **options: Any) -> Maker:
    """Return what draws a filter of an image; `first` draws its arguments by the shape."""

    def make(r: Draw) -> Call:
        shape = image(r) if ndim is None else tuple([n + 3 for n in r.shape(ndim)])
        drawn = {name: value(r, shape) for name, value in options.items() if r.flip()}
        margins = r.some(mode=lambda: r.one(*MARGINS), cval=r.number)
        return Call((r.array(*shape), *first(r, shape)), {**margins, **drawn})

    return make


def one_axis(r: Draw, shape: tuple) -> tuple:
    return r.order(len(shape), 1)


calls("ndimage.correlate1d", along(_first=lambda r: r.array(3), origin=lambda r: r.one(-1, 1)))
calls("ndimage.convolve1d", along(_first=lambda r: r.array(4), origin=lambda r: r.one(-1, 1)))
calls(
    "ndimage.gaussian_filter1d", along(_first=lambda r: r.number() + 3, order=lambda r: r.one(1, 2))
)
calls(
    "ndimage.uniform_filter1d", along(_first=lambda r: r.one(2, 3), origin=lambda r: r.one(0, -1))
)
calls(
    "ndimage.maximum_filter1d", along(_first=lambda r: r.one(2, 3), origin=lambda r: r.one(0, -1))
)
calls("ndimage.sobel ndimage.prewitt", along())
calls("ndimage.gaussian_filter", over_image(lambda r, s: (r.number() + 3,), axes=one_axis))
calls("ndimage.uniform_filter", over_image(lambda r, s: (r.one(2, 3),), axes=one_axis))
calls(
    "ndimage.maximum_filter ndimage.minimum_filter ndimage.median_filter",
    over_image(lambda r, s: (r.one(2, 3),), axes=one_axis),
)
calls("ndimage.correlate", over_image(lambda r, s: (r.array(*(2,) * len(s)),)))
calls("ndimage.laplace", over_image(lambda r, s: ()))
calls(
    "ndimage.shift",
    over_image(lambda r, s: (r.rng.uniform(-1, 1, len(s)),), order=lambda r, s: r.one(1, 2, 3)),
)
calls(
    "ndimage.map_coordinates",
    over_image(
        lambda r, s: (r.rng.uniform(0.1, 1.9, (len(s), 4)),), order=lambda r, s: r.one(2, 3)
    ),
)
calls(
    "ndimage.affine_transform", over_image(lambda r, s: (np.eye(2) + 0.1 * r.array(2, 2),), ndim=2)
)
calls("ndimage.spline_filter1d", lambda r: Call((r.array(4, 5), r.one(2, 3, 5), r.one(0, 1))))

# ------------------------------------------------------------------------------------------ signal


def filtered(r: Draw) -> Call:
    shape = image(r)
    a = np.concatenate([[r.number() + 3], 0.2 * np.atleast_1d(r.array(r.integer(1, 3)))])
    return Call((r.array(r.integer(1, 4)), a, r.array(*shape)), {"axis": axis_of(r, shape)})


def sections(r: Draw) -> Any:
    return np.concatenate([r.array(2, 3), np.ones((2, 1)), 0.2 * r.array(2, 2)], axis=1)


def convolved(r: Draw) -> Call:
    ndim = r.integer(1, 3)
    arrays = (r.array(*[n + 3 for n in r.shape(ndim)]), r.array(*(2,) * ndim))
    return Call(arrays, r.some(mode=lambda: r.one("full", "same", "valid")))


calls("signal.convolve signal.correlate signal.fftconvolve signal.oaconvolve", convolved)
calls(
    "signal.convolve2d signal.correlate2d",
    lambda r: Call(
        (r.array(4, 5), r.array(2, 3)),
        r.some(
            mode=lambda: r.one("full", "same", "valid"),
            boundary=lambda: r.one("fill", "wrap", "symm"),
        ),
    ),
)
calls("signal.lfilter", filtered)
calls(
    "signal.filtfilt",
    lambda r: Call(
        (r.array(2), np.array([1.0, 0.3]), r.array(2, 30)),
        r.some(padtype=lambda: r.one("odd", "even", "constant", None)),
    ),
)
calls("signal.sosfilt", lambda r: Call((sections(r), r.array(3, 8)), r.some(axis=0)))
calls("signal.sosfiltfilt", lambda r: Call((sections(r), r.array(30, 2)), {"axis": 0}))
calls("signal.detrend", lambda r: Call((r.array(4, 6),), r.some(axis=0, type="constant")))
calls(
    "signal.savgol_filter",
    lambda r: Call(
        (r.array(9, 8), 5, 2),
        r.some(axis=0, deriv=1, mode=lambda: r.one("mirror", "constant", "nearest", "wrap")),
    ),
)
calls("signal.resample", lambda r: Call((r.array(5, 6), r.one(3, 4, 7, 9)), r.some(axis=1)))
calls(
    "signal.resample_poly",
    lambda r: Call(
        (r.array(9, 8), r.one(2, 3), r.one(1, 2)),
        r.some(axis=1, padtype=lambda: r.one("line", "mean")),
    ),
)
calls("signal.hilbert", lambda r: Call((r.array(5, 6),), r.some(axis=0, N=7)))
calls(
    "signal.upfirdn",
    lambda r: Call((r.array(3), r.array(4, 5), r.one(1, 2), r.one(1, 2, 3)), r.some(axis=0)),
)
calls(
    "signal.welch",
    lambda r: Call(
        (r.array(2, 32),),
        {
            "nperseg": 8,
            **r.some(
                noverlap=2,
                scaling="spectrum",
                average="median",
                detrend=lambda: r.one("linear", False),
            ),
        },
    ),
)
calls(
    "signal.stft",
    lambda r: Call(
        (r.array(32),),
        {
            "nperseg": 8,
            **r.some(
                boundary=lambda: r.one("even", "odd", "constant", None), return_onesided=False
            ),
        },
    ),
)

# --------------------------------------------------------------------------------------------- fft


def cosines(r: Draw) -> Call:
    shape = image(r)
    options = r.some(
        n=lambda: r.one(3, 5, 7), norm=lambda: r.one("ortho", "forward"), orthogonalize=r.flip
    )
    return Call((r.array(*shape), r.integer(1, 5)), {"axis": axis_of(r, shape), **options})


calls("fft.dct fft.dst fft.idct fft.idst", cosines)
calls(
    "fft.dctn fft.dstn fft.idctn",
    lambda r: Call(
        (r.array(3, 4, 3), r.integer(1, 5)), {"axes": r.order(3), **r.some(norm="ortho")}
    ),
)
calls("fft.rfftn fft.ifftn", lambda r: Call((r.array(3, 4, 2),), {"axes": r.order(3)}))

# ------------------------------------------------------------------------------------------ linalg


def solve_banded(ab: Any, b: Any) -> Any:
    return scipy.linalg.solve_banded((1, 1), ab, b)


def cho_solve(a: Any, b: Any, **options: Any) -> Any:
    return scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, **options), b)


def lu_solve(a: Any, b: Any, **options: Any) -> Any:
    return scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b, **options)


def definite_pair(r: Draw) -> tuple:
    return r.definite(3, False), r.definite(3, False)


calls("linalg.inv linalg.expm linalg.det", lambda r: Call((r.square(),)))
calls("linalg.sqrtm linalg.logm", lambda r: Call((r.definite(3, False),)))
calls("linalg.solve", lambda r: Call((r.square(3, False), r.array(3, 2)), r.some(transposed=True)))
calls(
    "linalg.solve",
    lambda r: Call((r.definite(3, False), r.array(3)), {"assume_a": r.one("sym", "pos")}),
)
calls(
    "linalg.solve_triangular",
    lambda r: Call(
        (r.square(3, False), r.array(3, 2)), r.some(trans=1, lower=True, unit_diagonal=True)
    ),
)
calls("linalg.cholesky", lambda r: Call((r.definite(3, False),), r.some(lower=True)))
calls(
    "linalg.cho_solve",
    lambda r: Call((r.definite(3, False), r.array(3)), r.some(lower=True)),
    cho_solve,
)
calls(
    "linalg.lu_solve", lambda r: Call((r.square(3, False), r.array(3)), r.some(trans=1)), lu_solve
)
calls("linalg.lu", lambda r: Call((r.array(*r.one((3, 3), (4, 3))),), r.some(permute_l=True)))
calls("linalg.qr", lambda r: Call((r.array(4, 3),), {"mode": r.one("economic", "r")}))
calls("linalg.eigvalsh", lambda r: Call(definite_pair(r), r.some(type=lambda: r.one(2, 3))))
calls("linalg.svdvals linalg.pinv linalg.polar", lambda r: Call((r.array(4, 3),)))
calls("linalg.expm_frechet", lambda r: Call((r.array(3, 3), r.array(*r.one((3, 3), (2, 3, 3))))))
calls(
    "linalg.solve_sylvester",
    lambda r: Call((r.square(3, False), r.square(2, False), r.array(3, 2))),
)
calls("linalg.solve_discrete_lyapunov", lambda r: Call((r.array(3, 3) / 5, r.array(3, 3))))
calls(
    "linalg.solve_banded",
    lambda r: Call((r.array(3, 5) + np.array([[0], [5], [0]]), r.array(5))),
    solve_banded,
)
calls(
    "linalg.norm",
    lambda r: Call(
        (r.array(3, 4),),
        {"ord": r.one(1, -1, 2, -2, "fro", "nuc"), **r.some(axis=(1, 0), keepdims=True)},
    ),
)
calls("linalg.toeplitz linalg.hankel", lambda r: Call((r.array(3), r.array(4))))

# ------------------------------------------------------------------------------------------- stats


def described(r: Draw, positive: bool = False, **options: Any) -> Call:
    shape = image(r)
    x = r.positive(*shape) if positive else r.array(*shape)
    drawn = {name: value(r) for name, value in options.items() if r.flip()}
    return Call((x,), {"axis": r.one(axis_of(r, shape), None), **drawn})


calls(
    "stats.gmean stats.hmean stats.variation", partial(described, positive=True, keepdims=Draw.flip)
)
calls("stats.skew stats.kurtosis", partial(described, bias=Draw.flip, keepdims=Draw.flip))
calls("stats.zscore stats.sem", partial(described, ddof=lambda r: r.one(0, 1)))
calls("stats.iqr", partial(described, rng=lambda r: (20, 70), keepdims=Draw.flip))
calls("stats.entropy", lambda r: Call((r.positive(3, 4), r.positive(3, 4)), r.some(axis=1, base=2)))
calls("stats.ttest_ind", lambda r: Call((r.array(6, 3), r.array(5, 3)), r.some(equal_var=False)))
calls("stats.pmean", lambda r: Call((r.positive(3, 4), r.number()), r.some(axis=1)))
calls("stats.boxcox", lambda r: Call((r.positive(5), r.number())))

# ------------------------------------------------------------------------- distances and integrals

METRICS = [
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "minkowski",
    "cosine",
    "correlation",
    "canberra",
    "braycurtis",
    "seuclidean",
    "mahalanobis",
    "jensenshannon",
]


def integrated(r: Draw) -> Call:
    shape = tuple([n + 1 for n in image(r)])
    axis = axis_of(r, shape)
    return Call(
        (r.array(*shape),), {"axis": axis, **r.one({"dx": 0.7}, {"x": r.rising(shape[axis])})}
    )


def spline(x: Any, y: Any, t: Any, **options: Any) -> Any:
    return scipy.interpolate.CubicSpline(x, y, **options)(t)


def on_grid(values: Any, points: Any, **options: Any) -> Any:
    grid = (np.arange(4.0), np.arange(5.0))
    return scipy.interpolate.RegularGridInterpolator(grid, values, **options)(points)


calls(
    "spatial.distance.cdist",
    lambda r: Call((r.positive(4, 3), r.positive(5, 3)), {"metric": r.one(*METRICS)}),
)
calls("spatial.distance.pdist", lambda r: Call((r.positive(5, 3),), {"metric": r.one(*METRICS)}))
calls("integrate.trapezoid integrate.simpson integrate.cumulative_trapezoid", integrated)
calls("integrate.cumulative_simpson", integrated)
calls(
    "interpolate.CubicSpline",
    lambda r: Call(
        (r.rising(6), r.array(6, 2), 1 + r.positive(4)),
        r.some(bc_type=lambda: r.one("natural", "clamped")),
    ),
    spline,
)
calls(
    "interpolate.RegularGridInterpolator",
    lambda r: Call(
        (r.array(4, 5), r.rng.uniform(0.2, 2.8, (6, 2))), {"method": r.one("linear", "slinear")}
    ),
    on_grid,
)

# ----------------------------------------------------------------------------------------- special


def summed(r: Draw) -> Call:
    shape = r.sized()
    return Call((r.array(*shape),), r.some(axis=lambda: r.axis(len(shape))))


calls(
    "special.gammaln special.digamma special.erf special.expit special.j0 special.entr special.k0e",
    lambda r: Call((r.positive(*r.shape()),)),
)
calls(
    "special.beta special.xlogy special.gammainc special.jv special.iv special.poch "
    "special.rel_entr special.boxcox",
    partial(of_two, positive=True),
)
calls(
    "special.stdtr",
    lambda r: Call((float(r.positive()), r.one(0.0, r.number()))),
)
calls(
    "special.stdtrit",
    lambda r: Call((float(r.positive()) + 1, r.one(0.5, float(r.rng.uniform(0.1, 0.9))))),
)
calls("special.eval_chebyt", lambda r: Call((float(r.positive()) + 1, r.one(1.0, 0.4, 1.7))))
calls("special.logsumexp special.softmax special.log_softmax", summed)
