"""Numbers of Python's own: ``math``, ``cmath``, and the builtins that compute with numbers.

Where NumPy has the function, the partial derivatives are NumPy's, taken from its rule. They are
computed by NumPy's functions, which can be traced, and come back as Python's numbers.

``cmath`` takes a real argument for the complex number with the imaginary part +0, which tells the
side of a branch cut; so do the partial derivatives. (Subtracting 0j keeps a -0 in an imaginary
part, adding would not.)
"""

from __future__ import annotations

import cmath
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.elementwise.arithmetic import NUMERIC
from chainrules.elementwise.complex import (
    Complex,
    angle_expression,
    angle_gradient,
    complex_size_expression,
    direction,
    real_size_expression,
    real_valued,
)
from chainrules.elementwise.trigonometric import hypot_partials, nonzero
from chainrules.nondifferentiable import named
from chainrules_core import (
    Array,
    Real,
    Tangent,
    frule,
    non_differentiable,
    rrule,
    scalar_rule,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import EVERY, conjugate, expression, fit
from chainrules_core.define import ScalarRule

UNSET: Any = object()  # an argument that the call leaves out


def rule_of(ufunc: np.ufunc) -> ScalarRule:
    """Return the rule of a ufunc for real numbers."""
    entry = rrule.entry(ufunc)
    rule = None if entry is None else entry.find((float,) * ufunc.nin)
    if not isinstance(rule, ScalarRule):
        raise TypeError(f"{ufunc.__name__} has no rule of partial derivatives to take over.")
    return rule


def as_numpy(f: Callable, ufunc: np.ufunc, types: tuple = ()) -> None:
    """Register for `f` the partial derivatives of a ufunc."""
    rule = rule_of(ufunc)
    rows = tuple(
        tuple(p.constant if p.function is None else p.function for p in row)
        for row in rule.partials
    )
    scalar_rule(f, *(rows if rule.several else rows[0]), setup=rule.setup, types=types)


# ------------------------------------------------------------------------------------------ math

# NumPy's complex numbers pass for real ones, with a warning: there is no rule for what is lost.
REAL = (*Real, Array)

for name, ufunc in {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt,
    "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs, "fmod": np.fmod,
    "frexp": np.frexp, "ldexp": np.ldexp, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "modf": np.modf, "nextafter": np.nextafter, "pow": np.power,
    "radians": np.radians, "remainder": np.fmod, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}.items():  # fmt: skip
    as_numpy(getattr(math, name), ufunc, types=(REAL,) * ufunc.nin)

expression(math.fabs, *real_size_expression, of="real number")


def atan2_expression_y(angle: Any, y: Any, x: Any) -> Any:
    """Return x/r², without squares, which may be beyond the numbers; 0 where r is 0."""
    r = math.hypot(y, x) + (math.hypot(y, x) == 0.0)
    return x / r / r


def atan2_expression_x(angle: Any, y: Any, x: Any) -> Any:
    """Return -y/r²."""
    r = math.hypot(y, x) + (math.hypot(y, x) == 0.0)
    return -y / r / r


expression(math.atan2, atan2_expression_y, atan2_expression_x, of="real number")


def digamma(x: Any) -> Any:
    """Return the logarithmic derivative of the gamma function; loads scipy.special at need."""
    from scipy.special import digamma

    return digamma(x)


scalar_rule(math.gamma, lambda y, x: y * digamma(x), types=(REAL,))
scalar_rule(math.lgamma, lambda y, x: digamma(x), types=(REAL,))
scalar_rule(math.erf, lambda y, x: 2 / math.sqrt(math.pi) * np.exp(-x * x), types=(REAL,))
scalar_rule(math.erfc, lambda y, x: -2 / math.sqrt(math.pi) * np.exp(-x * x), types=(REAL,))


# With a base, y = log x / log base; its rule is another, for calls with two arguments.
scalar_rule(math.log, lambda y, x: 1 / x, types=(REAL,))
scalar_rule(cmath.log, lambda y, x: 1 / x, types=(object,))
scalar_rule(
    math.log,
    lambda y, x, base: 1 / (x * np.log(base)),
    lambda y, x, base: -y / (base * np.log(base)),
    types=(REAL, REAL),
)
scalar_rule(
    cmath.log,
    lambda y, x, base: 1 / (x * np.log(base - 0j)),
    lambda y, x, base: -y / (base * np.log(base - 0j)),
    types=(object, object),
)

non_differentiable(
    named("comb factorial gcd isnormal isqrt issubnormal lcm perm signbit ulp", math)
)


# ---------------------------------------------------------------- math: any number of numbers


def like(x: Any, parts: list) -> Any:
    """Return a cotangent of the sequence `x` from those of its elements."""
    if not isinstance(x, np.ndarray):
        return Tangent[type(x)](*parts)
    return np.stack(parts) if parts else np.zeros_like(x)


@rrule.register(math.hypot, [REAL], shaped_by=EVERY)
def hypot_rrule(*coordinates: Any) -> Any:
    y = math.hypot(*coordinates)

    def hypot_pullback(y_bar: Any) -> tuple:
        size = nonzero(y)
        return tuple([y_bar * (c / size) for c in coordinates])

    return y, hypot_pullback


@frule.register(math.hypot, [REAL])
def hypot_frule(dots: tuple, *coordinates: Any) -> Any:
    y = math.hypot(*coordinates)
    size = nonzero(y)
    products = [c / size * c_dot for c, c_dot in zip(coordinates, dots, strict=True)]
    return y, fit(sum(products, 0.0), y)


expression(math.hypot, *hypot_partials, of="real number")


def is_complex(x: Any) -> bool:
    """Whether an element is complex; its imaginary part would be left out."""
    return any(map(np.iscomplexobj, x))


@rrule.register(math.dist, shaped_by=(0, 1))
def dist_rrule(p: Any, q: Any) -> Any:
    if is_complex(p) or is_complex(q):
        return None
    y = math.dist(p, q)

    def dist_pullback(y_bar: Any) -> tuple:
        size = nonzero(y)
        steps = [y_bar * ((a - b) / size) for a, b in zip(p, q, strict=True)]
        return like(p, steps), like(q, [-s for s in steps])

    return y, dist_pullback


@frule.register(math.dist)
def dist_frule(dots: tuple, p: Any, q: Any) -> Any:
    if is_complex(p) or is_complex(q):
        return None
    y = math.dist(p, q)
    size = nonzero(y)
    products = [(p[i] - q[i]) / size * (dots[0][i] - dots[1][i]) for i in range(len(p))]
    return y, fit(sum(products, 0.0), y)


SEQUENCE = (list, tuple, Array)


@rrule.register(math.fsum, SEQUENCE, shaped_by=(0,))
def fsum_rrule(seq: Any) -> Any:
    if is_complex(seq):
        return None
    n = len(seq)

    def fsum_pullback(y_bar: Any) -> Any:
        return like(seq, [y_bar] * n)

    return math.fsum(seq), fsum_pullback


@frule.register(math.fsum, SEQUENCE)
def fsum_frule(dots: tuple, seq: Any) -> Any:
    if is_complex(seq):
        return None
    (seq_dot,) = dots
    y = math.fsum(seq)
    return y, fit(sum([seq_dot[i] for i in range(len(seq))], 0.0), y)


def sumprod_rrule(p: Any, q: Any) -> Any:
    def sumprod_pullback(y_bar: Any) -> tuple:
        return like(p, [y_bar * b for b in q]), like(q, [y_bar * a for a in p])

    return math.sumprod(p, q), sumprod_pullback


def sumprod_frule(dots: tuple, p: Any, q: Any) -> Any:
    y = math.sumprod(p, q)
    products = [dots[0][i] * q[i] + p[i] * dots[1][i] for i in range(len(p))]
    return y, fit(sum(products, 0.0), y)


if hasattr(math, "sumprod"):  # Python 3.12
    rrule.register(math.sumprod, SEQUENCE, SEQUENCE, shaped_by=(0, 1))(sumprod_rrule)
    frule.register(math.sumprod, SEQUENCE, SEQUENCE)(sumprod_frule)

if hasattr(math, "fma"):  # Python 3.13
    scalar_rule(math.fma, lambda r, x, y, z: y, lambda r, x, y, z: x, 1)


def products_of_others(values: list) -> list:
    """Return for each value the product of the others, without a division: zeros are no matter."""
    before = [1]
    for value in values[:-1]:
        before.append(before[-1] * value)
    after: Any = 1
    others = []
    for value, product in zip(reversed(values), reversed(before), strict=True):
        others.append(product * after)
        after = after * value
    return others[::-1]


@rrule.register(math.prod, SEQUENCE, shaped_by=(0,))
def prod_rrule(iterable: Any, start: Any = UNSET) -> Any:
    values = [1 if start is UNSET else start, *iterable]
    y = math.prod(iterable, start=values[0])

    def prod_pullback(y_bar: Any) -> Any:
        start_bar, *parts = [
            unbroadcast(conjugate(others) * y_bar, np.shape(value))
            for value, others in zip(values, products_of_others(values), strict=True)
        ]
        iterable_bar = like(iterable, parts)
        return iterable_bar if start is UNSET else (iterable_bar, start_bar)

    return y, prod_pullback


@frule.register(math.prod, SEQUENCE)
def prod_frule(dots: tuple, iterable: Any, start: Any = UNSET) -> Any:
    values = [1 if start is UNSET else start, *iterable]
    y = math.prod(iterable, start=values[0])
    start_dot = 0 if start is UNSET else dots[1]
    value_dots = [start_dot, *[dots[0][i] for i in range(len(iterable))]]
    others = products_of_others(values)
    return y, fit(sum([o * d for o, d in zip(others, value_dots, strict=True)], 0.0), y)


# ----------------------------------------------------------------------------------------- cmath


def on_plane(partial: Any) -> Callable:
    """Return a partial derivative that takes a real number for a complex one."""
    return lambda y, x: partial(y, x - 0j)


# Their slopes have the same value whether a real number is a complex one or not.
WITHOUT_CUTS = frozenset({"exp", "cos", "sin", "cosh", "sinh", "tan", "tanh", "sqrt"})

for name, ufunc in {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "log10": np.log10, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh,
}.items():  # fmt: skip
    ((partial,),) = rule_of(ufunc).partials
    scalar_rule(getattr(cmath, name), on_plane(partial.function))
    if name in WITHOUT_CUTS:
        expression(getattr(cmath, name), partial.function, of="complex")

scalar_rule(
    cmath.rect, lambda y, r, phi: np.exp(1j * phi), lambda y, r, phi: 1j * y, types=(Real, Real)
)
real_valued(cmath.phase, angle_gradient)
expression(cmath.phase, angle_expression, of="complex")


@rrule.register(cmath.polar, shaped_by=(0,))
def polar_rrule(x: Any) -> Any:
    y = cmath.polar(x)

    def polar_pullback(y_bar: Any) -> Any:
        return unthunk(y_bar[0]) * direction(y[0], x) + unthunk(y_bar[1]) * angle_gradient(y[1], x)

    return y, polar_pullback


@frule.register(cmath.polar)
def polar_frule(dots: tuple, x: Any) -> Any:
    (x_dot,) = dots
    y = cmath.polar(x)
    gradients = direction(y[0], x), angle_gradient(y[1], x)
    parts = [fit(np.real(np.conj(g) * x_dot), part) for g, part in zip(gradients, y, strict=True)]
    return y, Tangent[tuple](*parts)


non_differentiable((cmath.isclose, cmath.isfinite, cmath.isinf, cmath.isnan))

# -------------------------------------------------------------------------------------- builtins

as_numpy(abs, np.absolute, types=(Real,))
real_valued(abs, direction, types=((*Complex, Array),))
expression(abs, lambda y, x: np.sign(x))
expression(abs, *real_size_expression, of="real number")
expression(abs, *complex_size_expression, of="complex")
as_numpy(divmod, np.divmod, types=(NUMERIC, NUMERIC))
as_numpy(pow, np.power, types=(NUMERIC, NUMERIC))
scalar_rule(float, 1, types=(NUMERIC,))
scalar_rule(complex, 1, types=(NUMERIC,))
scalar_rule(complex, 1, 1j, types=(NUMERIC, NUMERIC))
non_differentiable((int, bool, round, time.sleep))
