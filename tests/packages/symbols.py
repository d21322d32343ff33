"""Mathematics by Python: mpmath, sympy, NumPy's masked arrays."""

import numpy as np

from tests.packages.table import V, call, imported

mpmath = imported("mpmath")
sympy = imported("sympy")
masked = imported("numpy.ma")
if sympy is not None:
    a, b = sympy.symbols("a b")
    of_numpy = sympy.lambdify((a, b), sympy.sin(a) * b**2 + sympy.exp(-a), "numpy")
    of_math = sympy.lambdify((a, b), sympy.sin(a) * b**2 + sympy.Max(a, b), "math")
    jacobian = sympy.lambdify((a, b), sympy.Matrix([sympy.sin(a), a * b]), "numpy")


@call(sympy, 0.7)
def lambdified(x):
    return of_numpy(x, 2.0)


@call(sympy, V)
def lambdified_arrays(x):
    return of_numpy(x, V).sum()


@call(sympy, 0.7)
def lambdified_math(x):
    return of_math(x, 0.2)


@call(sympy, 0.7)
def lambdified_matrix(x):
    return jacobian(x, 2.0).sum()


@call(sympy, 0.7, "sympy")
def substituted(x):
    return float((sympy.sin(a) ** 2).subs(a, x))


@call(mpmath, 0.7, "turned into an integer")
def mp_sine(x):
    return mpmath.sin(x)


@call(mpmath, 0.7, "source is not to be had|operator.mul has no rule")
def mp_quad(x):
    return mpmath.quad(lambda t: mpmath.exp(-x * t), [0, 1])


@call(mpmath, 0.7, "turned into an integer")
def mp_number(x):
    return mpmath.mpf(x) ** 2


@call(mpmath, 0.7)
def fp_sine(x):
    return mpmath.fp.sin(x)


@call(masked, V)
def masked_mean(x):
    return np.ma.masked_array(x, mask=[0, 1, 0, 0, 1]).mean()


@call(masked, V)
def masked_sum(x):
    return (np.ma.masked_where(V > 1.5, x) ** 2).sum()


@call(masked, V)
def masked_filled(x):
    return (np.ma.masked_invalid(x).filled(0.0) ** 2).sum()


@call(masked, 1.4)
def masked_data(p):
    data = np.ma.masked_array(V, mask=[0, 1, 0, 0, 1])
    return ((data - p) ** 2).sum()
