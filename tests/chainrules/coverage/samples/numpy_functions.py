"""Sample calls of NumPy's functions; see test_samples.py for what a row means."""

import numpy as np

V = np.array([0.3, -0.7, 0.55, 0.85])
W = np.array([0.5, 0.25, -0.35, 0.6])
P = np.array([0.4, 0.9, 1.7, 2.3])
A = np.array([[0.4, -0.2, 0.75], [0.15, 0.6, -0.45]])
B = np.array([[0.5, 0.9, -0.3], [0.25, -0.65, 0.8]])
M = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.45, 1.8]])
T = np.array([[[0.1, -0.4], [0.7, 0.35]], [[-0.25, 0.9], [0.55, -0.6]]])
Z = np.array([0.3 + 0.4j, -0.7 + 0.2j, 0.55 - 0.85j])
I = np.array([1, 0, 2])  # noqa: E741 - indices
N = np.array([0.4, np.nan, -0.9, 1.3])


def with_write(f, x, *args, **options):
    """What a function leaves in an array into which it writes."""
    y = np.copy(x)
    f(y, *args, **options)
    return y


def evens(x):
    return x[::2] * x[1]


SAMPLES = {
    "numpy": [
        # elementwise, one argument
        ("abs absolute fabs sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh", V),
        ("asin acos atan asinh atanh exp exp2 expm1 log1p sinc i0 square negative positive", V),
        ("degrees radians deg2rad rad2deg reciprocal conj conjugate real nan_to_num", V),
        ("log log2 log10 sqrt cbrt", P),
        ("arccosh acosh", 1.0 + P),
        ("sin cos exp square conj conjugate real imag angle abs absolute log sqrt tanh", Z),
        ("frexp modf", 1.3 * P),
        ("real_if_close", V),
        # elementwise, several
        ("add subtract multiply divide true_divide maximum minimum fmax fmin hypot arctan2", V, W),
        ("atan2 logaddexp logaddexp2 copysign", V, W),
        ("power float_power pow", P, V),
        ("mod remainder fmod divmod", 1.9 * P, P[::-1] - 0.1),
        ("add multiply subtract divide", A, np.array([0.4, 0.7, -1.1])),
        ("ldexp", lambda f, x: f(x, np.array([1, -1, 2, 0])), V),
        ("nextafter", lambda f, x: f(x, 2.0), V),
        ("clip", lambda f, x, lo, hi: f(x, lo, hi), V, -0.5, 0.6),
        ("where", lambda f, x, y: f(x > y, x, y), V, W),
        ("select", lambda f, x, y: f([x > 0.4, x > 0.0], [x * x, y], 0.5), V, W),
        ("choose", lambda f, x, y: f([0, 1, 1, 0], [x, y]), V, W),
        ("piecewise", lambda f, x: f(x, [x < 0, x >= 0], [lambda t: t * t, lambda t: 3 * t]), V),
        ("interp", lambda f, x, xp, fp: f(x, xp, fp), np.array([0.5, 1.2]), P, V),
        ("unwrap", 3 * P),
        ("vectorize frompyfunc", lambda f, x: VECTORIZED[f.__name__](f)(x), V),
        # sums and their kin
        ("sum prod mean std var max min amax amin ptp median average nansum nanprod", A),
        ("nanmean nanstd nanvar nanmax nanmin nanmedian cumsum cumprod nancumsum nancumprod", A),
        ("sum mean std var max min ptp median average prod", lambda f, x: f(x, axis=0), A),
        ("nanmean nanvar nanstd nanmedian nanmax nanprod", N),
        ("cumulative_sum cumulative_prod", lambda f, x: f(x, axis=1), A),
        ("quantile percentile nanquantile nanpercentile", lambda f, x: f(x, 0.3), V),
        ("average", lambda f, x, w: f(x, weights=w), V, P),
        ("cov corrcoef", A),
        ("diff ediff1d gradient trapezoid", P),
        ("trapezoid", V, P),
        ("gradient", lambda f, y, x: f(y, x), V, P),
        ("bincount", lambda f, w: f([0, 1, 1, 3], weights=w), V),
        ("histogram", lambda f, w: f([0.1, 0.5, 0.6, 0.9], 3, weights=w), V),
        ("histogram2d", lambda f, w: f([0.1, 0.5, 0.6, 0.9], [1, 2, 3, 4.0], 2, weights=w), V),
        ("histogramdd", lambda f, w: f(np.eye(4), 2, weights=w)[0], V),
        ("histogram_bin_edges", lambda f, x: f(x, 3), P),
        ("sort", V),
        ("sort_complex", lambda f, x: f(x), V),
        ("partition", lambda f, x: f(x, 2), V),
        # products
        ("dot inner outer vdot kron convolve correlate vecdot", V, W),
        ("dot matmul matvec", M, V[:3]),
        ("matmul dot", A, M),
        ("vecmat", V[:3], M),
        ("vdot vecdot outer", Z, Z[::-1]),
        ("cross", V[:3], W[:3]),
        ("tensordot", lambda f, a, b: f(a, b, axes=([1], [1])), A, B),
        ("einsum", lambda f, a, b: f("ij,ij->i", a, b), A, B),
        ("trace diag diagonal", M),
        ("diag diagflat", V),
        # shapes
        ("ravel transpose flip fliplr flipud rot90 squeeze matrix_transpose tril triu permute_dims",
         A),
        ("atleast_1d atleast_2d atleast_3d array asarray asanyarray ascontiguousarray", V),
        ("asfortranarray asarray_chkfinite copy require", A),
        ("atleast_1d array asarray copy", 0.7),
        ("reshape", lambda f, x: f(x, (3, 2)), A),
        ("resize", lambda f, x: f(x, (3, 3)), A),
        ("broadcast_to", lambda f, x: f(x, (2, 4)), V),
        ("broadcast_arrays", A, V[:3]),
        ("moveaxis rollaxis swapaxes", lambda f, x: f(x, 0, 1), A),
        ("expand_dims unstack", lambda f, x: f(x, axis=1), A),
        ("repeat tile roll", lambda f, x: f(x, 2), V),
        ("pad", lambda f, x: f(x, 1, mode="reflect"), A),
        ("split array_split hsplit", lambda f, x: f(x, 2), V),
        ("vsplit", lambda f, x: f(x, 2), A),
        ("dsplit", lambda f, x: f(x, 2), T),
        ("concatenate concat stack vstack hstack dstack column_stack row_stack block",
         lambda f, x, y: f([x, y]), V, W),
        ("append", lambda f, x, y: f(x, y), V, W),
        ("insert", lambda f, x, y: f(x, 1, y), V, 0.35),
        ("delete", lambda f, x: f(x, 1), V),
        ("trim_zeros", V),
        ("meshgrid", V, W),
        ("astype", lambda f, x: f(x, complex), V),
        # picking
        ("take", lambda f, x: f(x, I), V),
        ("take_along_axis", lambda f, x: f(x, np.array([[0, 2], [1, 1]]), 1), A),
        ("compress extract", lambda f, x: f(np.array([True, False, True, True]), x), V),
        ("unique union1d intersect1d setxor1d setdiff1d",
         lambda f, x, y: f(x) if f is np.unique else f(x, np.append(y, x[:2])), V, W),
        ("unique_all", lambda f, x: f(x).values, V),
        ("unique_counts", lambda f, x: f(x).values, V),
        ("unique_inverse", lambda f, x: f(x).values, V),
        ("unique_values", lambda f, x: np.sort(f(x)), V),
        ("ndenumerate", lambda f, x: [v * i[0] for i, v in f(x)], V),
        ("fromiter", lambda f, x: f((a * a for a in x), float), V),
        # creation
        ("full", lambda f, x: f((2, 3), x), 0.7),
        ("full_like", lambda f, x: f(np.zeros((2, 3)), x), 0.7),
        ("linspace", lambda f, a, b: f(a, b, 5), 0.3, 2.2),
        ("logspace", lambda f, a, b: f(a, b, 4), 0.3, 1.2),
        ("geomspace", lambda f, a, b: f(a, b, 4), 0.3, 2.2),
        ("arange", lambda f, a, b, c: f(a, b, c), 0.3, 2.25, 0.4),
        ("vander", V),
        ("kaiser", lambda f, beta: f(5, beta), 2.5),
        ("fromfunction", lambda f, x: f(lambda i, j: x * i + j, (2, 3)), 0.7),
        # writes
        ("copyto", lambda f, x, y: with_write(f, x, y), V, W),
        ("fill_diagonal", lambda f, x, y: with_write(f, x, y), M, 0.35),
        ("place putmask", lambda f, x, y: with_write(f, x, x > 0.4, y), V, W),
        ("put", lambda f, x, y: with_write(f, x, [0, 2], y), V, W[:2]),
        ("put_along_axis", lambda f, x, y: with_write(f, x, np.array([[0], [2]]), y, 1),
         A, W[:2, None]),
        # functions of functions
        ("apply_along_axis", lambda f, x: f(evens, 1, x), A),
        ("apply_over_axes", lambda f, x: f(np.sum, x, [0]), A),
        # polynomials
        ("polyval", V, P),
        ("polyadd polysub polymul", V, W),
        ("polydiv", V, P[:2]),
        ("polyder polyint", V),
        ("poly", V),
        ("roots", lambda f, x: np.sort(np.real(f(x))), np.array([1.1, -0.3, -2.2])),
        ("polyfit", lambda f, x, y: f(x, y, 2), P, V),
        ("poly1d", lambda f, c, x: f(c)(x), V, 0.7),
        # casts and kinds of numbers
        ("float64 double complex128 cdouble longdouble float128 clongdouble complex256", 0.7),
        ("flatiter", lambda f, x: [a * a for a in x.flat], A),
    ],
}  # fmt: skip
VECTORIZED = {
    "vectorize": lambda f: f(lambda t: t * t + 1),
    "frompyfunc": lambda f: f(lambda t: t * t + 1, 1, 1),
}
