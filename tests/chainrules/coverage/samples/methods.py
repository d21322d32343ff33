"""Sample calls of methods: of arrays, and of NumPy's generators of random numbers."""

import copy

import numpy as np

V = np.array([0.3, -0.7, 0.55, 0.85])
W = np.array([0.5, 0.25, -0.35, 0.6])
P = np.array([0.4, 0.9, 1.7, 2.3])
A = np.array([[0.4, -0.2, 0.75], [0.15, 0.6, -0.45]])
M = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.45, 1.8]])
Z = np.array([0.3 + 0.4j, -0.7 + 0.2j, 0.55 - 0.85j])


def written(f, x, *args):
    """What a method leaves in an array into which it writes."""
    y = np.copy(x)
    f(y, *args)
    return y


def set_item(f, x, y):
    z = np.copy(x)
    z[1:3] = y
    return z


def in_place(write):
    def body(f, x, y):
        z = np.copy(x)
        return write(z, y)

    return body


def add(x, y):
    x += y
    return x


def subtract(x, y):
    x -= y
    return x


def multiply(x, y):
    x *= y
    return x


def divide(x, y):
    x /= y
    return x


def modulo(x, y):
    x %= y
    return x


def power(x, y):
    x **= y
    return x


def matrix_product(x, y):
    x @= y
    return x


# Of location and scale, so that a draw is a smooth function of them.
LOCATION_SCALE = "normal laplace logistic gumbel"

SAMPLES = {
    "numpy.ndarray": [
        ("T mT", lambda f, x: f(x), A),
        ("real imag", lambda f, x: f(x), Z),
        ("flat", lambda f, x: [a * a for a in x.flat], A),
        ("conj conjugate copy flatten ravel __abs__ __neg__ __pos__ cumsum cumprod", A),
        ("max mean min prod sum std var squeeze transpose tolist trace diagonal", A),
        ("max mean min prod sum std var cumsum cumprod", lambda f, x: f(x, 1), A),
        ("item", lambda f, x: f(x, 1), V),
        ("astype", lambda f, x: f(x, complex), V),
        ("choose", lambda f, x, y: np.array([0, 1, 1, 0]).choose([x, y]), V, W),
        ("clip", lambda f, x: f(x, -0.5, 0.6), V),
        ("compress", lambda f, x: f(x, [True, False, True], axis=1), A),
        ("dot __matmul__ __rmatmul__", M, M.T),
        ("repeat", lambda f, x: f(x, 2), V),
        ("reshape", lambda f, x: f(x, 3, 2), A),
        ("swapaxes", lambda f, x: f(x, 0, 1), A),
        ("take", lambda f, x: f(x, [2, 0, 2]), V),
        ("view", lambda f, x: f(x) * 2, V),
        ("getfield", lambda f, x: f(x, float), V),
        ("fill", lambda f, x, y: written(f, x, y), V, 0.35),
        ("put", lambda f, x, y: written(f, x, [0, 2], y), V, W[:2]),
        ("sort", lambda f, x: written(f, x), V),
        ("sort", lambda f, x: written(f, x, -1, "stable"), V),
        ("partition", lambda f, x: written(f, x, 2), V),
        ("setfield", lambda f, x, y: written(f, x, y, float), V, 0.35),
        ("resize", lambda f, x: written(f, x, (2, 2)), V),
        ("__copy__", lambda f, x: copy.copy(x) * 2, V),
        ("__deepcopy__", lambda f, x: copy.deepcopy(x) * 2, V),
        ("__getitem__", lambda f, x: x[1:] * x[0], V),
        ("__iter__", lambda f, x: [a * a for a in x], V),
        ("__setitem__", set_item, V, W[:2]),
        ("__float__", lambda f, x: float(x[1]), V),
        ("__complex__", lambda f, x: complex(x[1]), V),
        ("__array__", lambda f, x: np.asarray(x), V),
        ("__add__ __radd__", lambda f, x, y: x + y + 2.0 + (2.0 + x), V, W),
        ("__add__", lambda f, x, y: np.ndarray.__add__(x, y), V, W),
        ("__sub__ __rsub__", lambda f, x, y: x - y - 2.0 + (2.0 - x), V, W),
        ("__mul__ __rmul__", lambda f, x, y: x * y + 2.0 * x, V, W),
        ("__truediv__ __rtruediv__", lambda f, x, y: x / y + 2.0 / x, V, W),
        ("__mod__ __rmod__", lambda f, x, y: x % y + 5.3 % x, 1.9 * P, P[::-1]),
        ("__divmod__ __rdivmod__", lambda f, x, y: (divmod(x, y), divmod(5.3, x)),
         1.9 * P, P[::-1]),
        ("__pow__ __rpow__", lambda f, x, y: x**y + 2.0**x, P, V),
        ("__iadd__", in_place(add), V, W),
        ("__isub__", in_place(subtract), V, W),
        ("__imul__", in_place(multiply), V, W),
        ("__itruediv__", in_place(divide), V, W),
        ("__imod__", in_place(modulo), 1.9 * P, P[::-1]),
        ("__ipow__", in_place(power), P, V),
        ("__imatmul__", in_place(matrix_product), M, M.T),
    ],
    "numpy.random.Generator": [
        (LOCATION_SCALE, lambda f, m, s: f(m, s, size=4), 0.3, 1.2),
        (LOCATION_SCALE, V, P),
        (LOCATION_SCALE, lambda f, m, s: f(loc=m, scale=s, size=(3, 4)), V, P),
        (LOCATION_SCALE, lambda f, s: f(scale=s), 1.2),
        ("uniform", lambda f, a, b: f(a, b, 4), 0.3, 1.2),
        ("uniform", lambda f, a, b: f(low=a, high=b, size=(2, 4)), V, P),
        ("triangular", lambda f, a, b, c: f(a, b, c, 4), 0.3, 0.9, 1.7),
        ("lognormal", lambda f, m, s: f(m, s, 4), 0.3, 1.2),
        ("lognormal", lambda f, m, s: f(mean=m, sigma=s), V, P),
        ("exponential rayleigh", lambda f, s: f(s, 4), 1.2),
        ("exponential rayleigh", lambda f, s: f(scale=s, size=(3, 4)), P),
        ("weibull pareto power", lambda f, a: f(a, 4), 1.2),
        ("weibull pareto power", lambda f, a: f(a, size=(3, 4)), P),
        ("gamma", lambda f, s: f(2.0, s, 4), 1.2),
        ("gamma", lambda f, s: f(2.0, scale=s, size=(3, 4)), P),
        ("multivariate_normal", lambda f, m: f(m, np.eye(4) + 0.1, 3), V),
        ("multivariate_normal", lambda f, m: f(mean=m, cov=np.eye(4) + 0.1), V),
        ("choice", lambda f, x: f(x, 3), V),
        ("choice", lambda f, x: f(x, (2, 2), replace=False, p=[0.1, 0.2, 0.3, 0.4]), V),
        ("choice", lambda f, x: f(x, 2, axis=1) if f.__name__ != "choice" else f(x[0], 2), A),
        ("permutation", V),
        ("permuted", V),
        ("permutation", A),
        ("permuted", lambda f, x: f(x, axis=1), A),
        ("shuffle", lambda f, x: written(f, x), V),
        ("shuffle", lambda f, x: written(f, x), A),
        ("vonmises", lambda f, m: f(m, 2.0, 4), 0.3),
    ],
}  # fmt: skip
SAMPLES["numpy.random"] = [row for row in SAMPLES["numpy.random.Generator"] if row[0] != "permuted"]
