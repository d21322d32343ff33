"""Sample calls of the methods of splines and interpolants."""

import numpy as np
from scipy import interpolate

X = np.array([0.0, 0.4, 0.9, 1.5, 2.2, 3.0])
Y = np.array([0.3, -0.7, 0.55, 0.85, -0.2, 0.4])
AT = np.array([0.25, 1.1, 2.6])
NODES = np.linspace(0.0, 3.0, 9)
VALUES = np.array([0.3, -0.7, 0.55, 0.85, -0.2, 0.4, 0.9, -0.5, 0.1])
C = np.array([[0.4, -0.3, 0.8], [0.2, 0.9, -0.6], [-0.5, 0.3, 0.7], [0.1, 0.6, -0.2]])
BREAKS = np.array([0.0, 1.0, 2.0, 3.0])
KNOTS = np.array([0.0, 0, 0, 0, 1.0, 2.0, 3.0, 3, 3, 3])
B = np.array([0.4, -0.3, 0.8, 0.2, 0.9, -0.6])


def pieces(make, *data):
    """The rows of a piecewise polynomial made of its data."""
    return [
        ("__call__", lambda cls, call, x, *d: call(make(cls, *d), x), AT, *data),
        ("derivative antiderivative", lambda cls, call, x, *d: call(make(cls, *d))(x), AT, *data),
        ("integrate", lambda cls, call, a, b, *d: call(make(cls, *d), a, b), 0.2, 2.3, *data),
        ("c x", lambda cls, call, *d: call(make(cls, *d)), *data),
    ]


def zeros(make, *data):
    return [
        ("roots", lambda cls, call, *d: call(make(cls, *d), False, False), *data),
        ("solve", lambda cls, call, v, *d: call(make(cls, *d), v, False, False), 0.25, *data),
    ]


CLASSMETHODS = [
    ("from_spline", lambda cls, call, c: call(cls, (KNOTS, c, 3)).c, B),
    ("from_bernstein_basis",
     lambda cls, call, c: call(cls, interpolate.BPoly(c, BREAKS)).c, C),
    ("extend", lambda cls, call, c: extended(interpolate.PPoly(c, BREAKS), call, c), C),
]  # fmt: skip


def extended(p, call, c):
    call(p, c[:, :1], np.array([3.5]))
    return p(np.array([1.4, 3.3]))


def plain(cls, c):
    return cls(c, BREAKS)


def interpolant(cls, y):
    return cls(X, y)


def hermite(cls, y, d):
    return cls(X, y, d)


CUBIC = CLASSMETHODS
BPOLY = [
    *pieces(plain, C),
    ("extend", lambda cls, call, c: extended(cls(c, BREAKS), call, c), C),
    ("from_power_basis", lambda cls, call, c: call(cls, interpolate.PPoly(c, BREAKS)).c, C),
    ("from_derivatives", lambda cls, call, y, d: call(cls, X, np.stack([y, d], 1))(AT), Y, B),
]
GRID = np.array([[0.0, 1.0, 2.5], [0.0, 1.5, 3.0]])
NDC = np.cos(np.arange(2 * 2 * 2 * 2.0)).reshape(2, 2, 2, 2)
PLACES = np.array([[0.4, 0.7], [1.7, 2.1]])


def nd(cls, c):
    return cls(c, (GRID[0], GRID[1]))


NDPPOLY = [
    ("__call__", lambda cls, call, c, x: call(nd(cls, c), x), NDC, PLACES),
    ("derivative antiderivative", lambda cls, call, c: call(nd(cls, c), (1, 1))(PLACES), NDC),
    ("integrate", lambda cls, call, c: call(nd(cls, c), [[0.2, 2.0], [0.3, 2.5]]), NDC),
    ("integrate_1d", lambda cls, call, c: call(nd(cls, c), 0.2, 2.0, 0)(AT[:2]), NDC),
]


def bspline(cls, c):
    return cls(KNOTS, c, 3)


BSPLINE = [
    ("__call__", lambda cls, call, c, x: call(bspline(cls, c), x), B, AT),
    ("derivative antiderivative", lambda cls, call, c, x: call(bspline(cls, c))(x), B, AT),
    ("integrate", lambda cls, call, c, a, b: call(bspline(cls, c), a, b), B, 0.2, 2.3),
    ("c", lambda cls, call, c: call(bspline(cls, c)), B),
    ("t", lambda cls, call, t: call(cls(t, B, 3)), np.linspace(0.0, 3.0, 10)),
    ("tck", lambda cls, call, c: call(bspline(cls, c))[1], B),
    ("insert_knot", lambda cls, call, c, x: call(bspline(cls, c), 1.4)(x), B, AT),
    ("basis_element", lambda cls, call, x: call(cls, [0.0, 0.7, 1.9, 3.0])(x), AT),
    ("design_matrix", lambda cls, call, x: call(cls, x, KNOTS, 3), AT),
    ("from_power_basis",
     lambda cls, call, y: call(cls, interpolate.CubicSpline(X, y, bc_type="natural"),
                               bc_type="natural")(AT), Y),
]  # fmt: skip
NDB = np.cos(np.arange(36.0)).reshape(6, 6)


def nd_spline(cls, c):
    return cls((KNOTS, KNOTS), c, 3)


NDBSPLINE = [
    ("__call__", lambda cls, call, c, x: call(nd_spline(cls, c), x), NDB, PLACES),
    ("derivative", lambda cls, call, c, x: call(nd_spline(cls, c), [1, 0])(x), NDB, PLACES),
    ("c", lambda cls, call, c: call(nd_spline(cls, c)), NDB),
    ("t", lambda cls, call, c: [2.0 * t for t in call(nd_spline(cls, c))] + [c], NDB),
    ("design_matrix", lambda cls, call, x: call(cls, x, (KNOTS, KNOTS), 3), PLACES),
]


def univariate(make):
    return [
        ("__call__", lambda cls, call, y, x: call(make(cls, y), x), VALUES, AT),
        ("derivative antiderivative", lambda cls, call, y, x: call(make(cls, y))(x), VALUES, AT),
        ("derivatives", lambda cls, call, y: call(make(cls, y), 1.1), VALUES),
        ("integral", lambda cls, call, y, a, b: call(make(cls, y), a, b), VALUES, 0.2, 2.3),
        ("roots get_coeffs", lambda cls, call, y: call(make(cls, y)), VALUES),
        ("get_knots", lambda cls, call, y, x: (call(make(cls, y)), make(cls, y)(x)), VALUES, AT),
        ("get_residual", lambda cls, call, y: call(make(cls, y)) + y[0], VALUES),
        ("set_smoothing_factor", lambda cls, call, y: smoothed(make(cls, y), call), VALUES),
    ]


def smoothed(s, call):
    # So large that a polynomial is left. With s=0 SciPy 1.18 returns memory that nothing was
    # written to (see tests/chainrules/scipy/interpolate/test_smoothing.py).
    call(s, 100.0)
    return s(AT)


U, V = np.linspace(0.0, 2.0, 5), np.linspace(0.0, 3.0, 6)
SURFACE = np.cos(np.arange(30.0)).reshape(5, 6)
_grid = np.meshgrid(U, V, indexing="ij")
SCATTERED = (_grid[0].ravel() + 0.01, _grid[1].ravel())


def surface(make, z):
    return [
        ("__call__", lambda cls, call, z, x: call(make(cls, z), x[:2], x), z, AT / 1.5),
        ("ev", lambda cls, call, z, x: call(make(cls, z), x, x[::-1]), z, AT / 1.5),
        ("get_coeffs", lambda cls, call, z: call(make(cls, z)), z),
        ("get_residual", lambda cls, call, z: call(make(cls, z)) + z.ravel()[0], z),
        ("get_knots", lambda cls, call, z: (call(make(cls, z)), z), z),
        ("partial_derivative", lambda cls, call, z, x: call(make(cls, z), 1, 1)(x, x), z, AT / 2),
    ]


def over_box(make, z):
    return [
        ("integral", lambda cls, call, z, a, b: call(make(cls, z), a, 1.4, 0.3, b), z, 0.3, 2.2)
    ]


def rectangular(cls, z):
    return cls(U, V, z)


def least_squares(cls, z):
    return cls(*SCATTERED, z, [1.0], [1.5])


def smooth(cls, z):
    # FITPACK meets a smaller s to a thousandth only, which shows in differences. Tests with a
    # smaller one are in tests/chainrules/scipy/interpolate/test_scattered_smoothing.py.
    return cls(*SCATTERED, z, s=100.0)


# On the sphere: angles from a pole, and around it.
FROM_POLE, AROUND = np.linspace(0.3, 2.8, 7), np.linspace(0.1, 6.0, 8)
ANGLES = [a.ravel() for a in np.meshgrid(FROM_POLE, AROUND)]
ON_SPHERE = np.cos(ANGLES[0]) + 0.3 * ANGLES[0] * np.sin(ANGLES[1] + 0.4)


def smooth_on_sphere(cls, z):
    return cls(*ANGLES, z, s=100.0)


def least_squares_on_sphere(cls, z):
    return cls(*ANGLES, z, np.array([1.2, 2.1]), np.array([1.4, 3.1, 4.6]))


def grid_on_sphere(cls, z):
    return cls(FROM_POLE, AROUND, z.reshape(8, 7).T)


def one_dimensional(make):
    return [
        ("__call__", lambda cls, call, y, x: call(make(cls, y), x), Y, AT),
        ("derivative", lambda cls, call, y, x: call(make(cls, y), x), Y, AT),
        ("derivatives", lambda cls, call, y, x: call(make(cls, y), x), Y, AT),
    ]


def with_values(b, call, y):
    call(b, y)
    return b(AT)


def with_point(b, call, y):
    call(b, [3.4], y[:1])
    return b(AT)


TARGET = np.exp(X) / (X - 2.5)


def rational(cls, f):
    return cls(X, f, max_terms=3, clean_up=False)


def real_sums(z):
    return np.real(np.sum(z)), np.real(np.sum(z * z))


AAA_ROWS = [
    ("__call__", lambda cls, call, f: call(rational(cls, f), 0.77), TARGET),
    ("poles residues roots", lambda cls, call, f: real_sums(call(rational(cls, f))), TARGET),
    ("support_values", lambda cls, call, f: call(rational(cls, f)), TARGET),
    ("support_points", lambda cls, call, f: (call(rational(cls, f)), f), TARGET),
    ("clean_up", lambda cls, call, f: cleaned(rational(cls, f), call), TARGET),
]


def cleaned(a, call):
    call(a, 1e-13)
    return a(0.77)


FLOATER = [
    ("__call__", lambda cls, call, y, x: call(cls(X, y), x), Y, AT),
    ("roots", lambda cls, call, y: real_sums(call(cls(X, y))), Y),
    ("residues", lambda cls, call, y: real_sums(np.abs(call(cls(X, y)))), Y),
    ("poles", lambda cls, call, y: np.size(call(cls(X, y))) * y, Y),
]
POINTS = np.array([[0.0, 0.1], [2.0, 0.0], [0.1, 3.0], [2.1, 2.9], [0.9, 1.4], [1.5, 0.8]])
SPHERE = (np.linspace(0.3, 2.8, 7), np.linspace(0.2, 6.0, 9))

SAMPLES = {
    "scipy.interpolate.PPoly": [*pieces(plain, C), *zeros(plain, C), *CLASSMETHODS],
    "scipy.interpolate.BPoly": BPOLY,
    "scipy.interpolate.NdPPoly": NDPPOLY,
    "scipy.interpolate.BSpline": BSPLINE,
    "scipy.interpolate.NdBSpline": NDBSPLINE,
    "scipy.interpolate.CubicHermiteSpline": [
        *pieces(hermite, Y, B), *zeros(hermite, Y, B), *CLASSMETHODS,
    ],
    **{
        f"scipy.interpolate.{name}": [
            *pieces(interpolant, Y), *zeros(interpolant, Y), *CLASSMETHODS,
        ]
        for name in ("CubicSpline", "PchipInterpolator")
    },
    "scipy.interpolate.Akima1DInterpolator": [
        *pieces(interpolant, Y), *zeros(interpolant, Y), CLASSMETHODS[-1],
    ],
    "scipy.interpolate.UnivariateSpline": univariate(lambda cls, y: cls(NODES, y, s=0)),
    "scipy.interpolate.InterpolatedUnivariateSpline": univariate(lambda cls, y: cls(NODES, y)),
    "scipy.interpolate.LSQUnivariateSpline": univariate(
        lambda cls, y: cls(NODES, y, [0.8, 2.1])
    ),
    "scipy.interpolate.RectBivariateSpline": [
        *surface(rectangular, SURFACE), *over_box(rectangular, SURFACE),
    ],
    "scipy.interpolate.BivariateSpline": [  # what its subclasses inherit
        *surface(lambda cls, z: interpolate.RectBivariateSpline(U, V, z), SURFACE),
        *over_box(lambda cls, z: interpolate.RectBivariateSpline(U, V, z), SURFACE),
    ],
    "scipy.interpolate.LSQBivariateSpline": [
        *surface(least_squares, SURFACE.ravel()), *over_box(least_squares, SURFACE.ravel()),
    ],
    "scipy.interpolate.SmoothBivariateSpline": [
        *surface(smooth, SURFACE.ravel()), *over_box(smooth, SURFACE.ravel()),
    ],
    "scipy.interpolate.SmoothSphereBivariateSpline": surface(smooth_on_sphere, ON_SPHERE),
    "scipy.interpolate.LSQSphereBivariateSpline": surface(least_squares_on_sphere, ON_SPHERE),
    "scipy.interpolate.RectSphereBivariateSpline": surface(grid_on_sphere, ON_SPHERE),
    "scipy.interpolate.BarycentricInterpolator": [
        *one_dimensional(interpolant),
        ("set_yi", lambda cls, call, y: with_values(cls(X), call, y), Y),
        ("add_xi", lambda cls, call, y: with_point(cls(X, y), call, y), Y),
    ],
    "scipy.interpolate.KroghInterpolator": one_dimensional(interpolant),
    "scipy.interpolate.interp1d": [
        ("__call__", lambda cls, call, y, x: call(cls(X, y, kind="cubic"), x), Y, AT),
        ("fill_value", lambda cls, call, v: call(cls(X, Y, bounds_error=False, fill_value=v)),
         0.4),
    ],
    "scipy.interpolate.AAA": AAA_ROWS,
    "scipy.interpolate.FloaterHormannInterpolator": FLOATER,
    "scipy.interpolate.LinearNDInterpolator": [
        ("__call__", lambda cls, call, z, x: call(cls(POINTS, z), x), Y, PLACES / 2),
    ],
    "scipy.interpolate.CloughTocher2DInterpolator": [
        ("__call__", lambda cls, call, z, x: call(cls(POINTS, z), x), Y, PLACES / 2),
    ],
    "scipy.interpolate.NearestNDInterpolator": [
        ("__call__", lambda cls, call, z: call(cls(POINTS, z), PLACES / 2), Y),
    ],
    "scipy.interpolate.RBFInterpolator": [
        ("__call__", lambda cls, call, z, x: call(cls(POINTS, z), x), Y, PLACES),
    ],
    "scipy.interpolate.Rbf": [
        ("__call__", lambda cls, call, z, x: call(cls(POINTS[:, 0], POINTS[:, 1], z), x, x[::-1]),
         Y, AT),
        ("A", lambda cls, call, p: call(cls(p[:, 0], p[:, 1], Y)), POINTS),
    ],
    "scipy.interpolate.RegularGridInterpolator": [
        ("__call__", lambda cls, call, z, x: call(cls((U, V), z), x), SURFACE, PLACES),
        ("values", lambda cls, call, z: call(cls((U, V), z)), SURFACE),
        ("grid", lambda cls, call, u: call(cls((u, V), SURFACE)), U),
    ],
}  # fmt: skip
