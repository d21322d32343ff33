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


@call(sympy, 0.7, r"sympy\.lambdify")
def substituted(x):
    return float((sympy.sin(a) ** 2).subs(a, x))


@call(mpmath, 0.7, r"mpmath\.mpf was given.*mpmath\.fp")
def mp_sine(x):
    return mpmath.sin(x)


@call(mpmath, 0.7, r"mpmath\.mpf\.__(r?)mul__ was given")
def mp_quad(x):
    return mpmath.quad(lambda t: mpmath.exp(-x * t), [0, 1])


@call(mpmath, 0.7, r"mpmath\.mpf was given")
def mp_number(x):
    return mpmath.mpf(x) ** 2


@call(mpmath, 0.7, r"mpmath\.mpf\.__sub__ was given")
def mp_root(x):
    return mpmath.findroot(lambda t: t**2 - x, 1.0)


@call(mpmath, 0.7, r"mpmath\.mpf was given")
def mp_bessel(x):
    return mpmath.besselj(0, x)


@call(mpmath, 0.7, r"mpmath\.mpf was given")
def mp_determinant(x):
    return mpmath.det(mpmath.matrix([[x, 1], [2, 3]]))


@call(mpmath, 0.7, r"mpmath\.mpf\.__(r?)mul__ was given")
def mp_constant(x):
    return mpmath.pi * x


@call(mpmath, 0.7, r"mpmath\.mpf was given")
def mp_precision(x):
    with mpmath.workdps(30):
        return mpmath.exp(x)


@call(mpmath, 0.7)
def fp_quad(x):
    return mpmath.fp.quad(lambda t: np.exp(-x * t), [0, 1])


@call(sympy, 0.7, r"sympy\.lambdify")
def sympy_float(x):
    return float(sympy.Float(x) ** 2)


@call(sympy, 0.7, r"sympy\.lambdify")
def evaluated(x):
    return float((sympy.sin(a) ** 2).evalf(subs={a: x}))


@call(sympy, 0.7, r"sympy\.lambdify")
def multiplied(x):
    return float((a * x).subs(a, 2))


@call(sympy, 0.7, r"sympy\.lambdify")
def symbolic_root(x):
    return float(sympy.solve(a**2 - x, a)[1])


@call(sympy, 0.7, r"sympy\.lambdify")
def symbolic_determinant(x):
    return float(sympy.Matrix([[x, 1], [2, 3]]).det())


@call(sympy, 0.7)
def lambdified_inside(x):
    return sympy.lambdify(a, sympy.besselj(0, a) + sympy.gamma(a), "scipy")(x)


@call(sympy, 0.7)
def lambdified_pieces(x):
    return sympy.lambdify(a, sympy.Piecewise((a**2, a > 0), (a, True)), "numpy")(x)


@call(sympy, 0.7)
def lambdified_with_common_parts(x):
    return sympy.lambdify(a, sympy.sin(a) ** 2 + sympy.exp(sympy.sin(a)), "math", cse=True)(x)


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
