"""Sample calls of NumPy's subpackages; see test_samples.py for what a row means."""

import numpy as np

V = np.array([0.3, -0.7, 0.55, 0.85])
W = np.array([0.5, 0.25, -0.35, 0.6])
P = np.array([0.4, 0.9, 1.7, 2.3])
A = np.array([[0.4, -0.2, 0.75], [0.15, 0.6, -0.45]])
M = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.45, 1.8]])
Z = np.array([0.3 + 0.4j, -0.7 + 0.2j, 0.55 - 0.85j, 0.1 + 0.6j])
Q = np.array([[0.4, -0.2, 0.75, 0.3], [0.15, 0.6, -0.45, 0.1], [0.9, 0.2, 0.3, -0.5]])


def symmetric(x):
    return x + np.swapaxes(x, -1, -2)


def definite(x):
    return x @ x.T + np.eye(len(x))


def family(short, name):
    """The same sample calls for each family of polynomials."""
    c, d, x, y, z = V[:3], W, 0.5 * V, 0.5 * W, 0.25 * P
    return [
        (f"{short}add {short}sub {short}mul", c, d),
        (f"{short}div", d, c),
        (f"{short}pow", lambda f, c: f(c, 3), c),
        (f"{short}mulx {short}der {short}int {short}trim", d),
        (f"{short}companion", P),
        (f"{short}fromroots", c),
        (f"{short}line", 0.3, 0.7),
        (f"{short}roots", lambda f, c: np.real(f(c)), np.array([-1.1, 0.2, 1.3])),
        (f"{short}val", x, d),
        (f"{short}vander", lambda f, x: f(x, 3), x),
        (f"{short}val2d", x, y, M),
        (f"{short}val3d", x, y, z, M.reshape(3, 3, 1) * V[:2]),
        (f"{short}valnd", lambda f, x, y, c: f((x, y), c), x, y, M),
        (f"{short}grid2d", x, y, M),
        (f"{short}grid3d", x, y, z, M.reshape(3, 3, 1) * V[:2]),
        (f"{short}vander2d", lambda f, x, y: f(x, y, [1, 2]), x, y),
        (f"{short}vander3d", lambda f, x, y, z: f(x, y, z, [1, 1, 1]), x, y, z),
        (f"{short}fit", lambda f, x, y: f(x, y, 2), P, V),
        (name, lambda f, c, x: f(c)(x), V, 0.4),
        *([] if short == "poly" else [(f"{short}2poly poly2{short}", d)]),
    ]


def convenience(f, c, d, x):
    """Arithmetic, calculus and evaluation by a convenience class."""
    p, q = f(c), f(d)
    return (p * q + p - 2 * q).deriv().integ()(x) + (p**2)(x)


SAMPLES = {
    "numpy.linalg": [
        ("inv det slogdet pinv norm matrix_norm cond qr svdvals trace diagonal", M),
        ("norm vector_norm", V),
        ("pinv svdvals matrix_transpose diagonal", A),
        ("solve", M, V[:3]),
        ("lstsq", lambda f, a, b: f(a, b, rcond=None)[0], Q.T, V),
        ("matmul", M, M.T),
        ("outer vecdot", V, W),
        ("cross", V[:3], W[:3]),
        ("tensordot", lambda f, a, b: f(a, b, axes=1), A, M),
        ("matrix_power", lambda f, a: f(a, 3), M),
        ("multi_dot", lambda f, a, b: f([a, b, b]), A, M),
        ("cholesky", lambda f, x: f(definite(x)), M),
        ("eigh", lambda f, x: np.abs(f(symmetric(x)).eigenvectors), M),
        ("eigvalsh", lambda f, x: f(symmetric(x)), M),
        ("eig", lambda f, x: f(x).eigenvalues, np.triu(M)),
        ("eigvals", np.triu(M)),
        ("svd", lambda f, x: np.abs(f(x, full_matrices=False)[2]), A),
        ("tensorinv", lambda f, x: f(x.reshape(3, 3, 9), 2), np.kron(M, M) + np.eye(9)),
        ("tensorsolve", lambda f, a, b: f(a.reshape(3, 3), b), M, V[:3]),
    ],
    "numpy.fft": [
        ("fft ifft rfft ihfft fftshift ifftshift", V),
        ("fft ifft irfft hfft", Z),
        ("fft2 ifft2 fftn ifftn rfft2 rfftn irfft2 irfftn", Q),
        ("fftfreq rfftfreq", lambda f, d: f(5, d), 0.7),
    ],
    "numpy.lib.scimath": [
        ("sqrt log log2 log10", P),
        ("sqrt log log2 log10", -P),
        ("arcsin arccos arctanh", V),
        ("arcsin arccos arctanh", 1 + P),
        ("power", lambda f, x: f(x, 3), V),
        ("power", lambda f, x: f(x, 1.5), -P),
        ("logn", lambda f, n, x: f(n, x), 2.5, P),
    ],
    "numpy.lib.stride_tricks": [
        ("sliding_window_view", lambda f, x: f(x, 2), V),
        ("as_strided", lambda f, x: f(x, (3, 2), (8, 8)), V),
    ],
    "numpy.polynomial.polynomial": [
        *family("poly", "Polynomial"),
        ("polyvalfromroots", 0.5 * V, W),
        ("Polynomial", convenience, V, W, 0.4),
    ],
    "numpy.polynomial.chebyshev": [
        *family("cheb", "Chebyshev"),
        ("chebweight", 0.5 * V),
        ("chebinterpolate", lambda f, a: f(lambda x: np.sin(a * x), 3), 0.7),
        ("Chebyshev", convenience, V, W, 0.4),
    ],
    "numpy.polynomial.legendre": [*family("leg", "Legendre"), ("legweight", 0.5 * V)],
    "numpy.polynomial.hermite": [*family("herm", "Hermite"), ("hermweight", 0.5 * V)],
    "numpy.polynomial.hermite_e": [*family("herme", "HermiteE"), ("hermeweight", 0.5 * V)],
    "numpy.polynomial.laguerre": [*family("lag", "Laguerre"), ("lagweight", P)],
    "numpy.polynomial": [
        ("Polynomial Chebyshev Legendre Hermite HermiteE Laguerre", convenience, V, W, 0.4),
    ],
}  # fmt: skip
