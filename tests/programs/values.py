"""Programs of values: what numbers are asked for, and the modules that compute."""

import cmath
import decimal
import fractions
import json
import math
import numbers
import statistics

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]


def exponentials(x):
    return math.exp(x[0]) + math.expm1(x[1]) * math.exp2(x[2]) + math.pow(x[2], x[3])


def logarithms(x):
    return (
        math.log(x[0]) + math.log(x[1], 3) * math.log2(x[2]) + math.log10(x[3]) * math.log1p(x[0])
    )


def log_with_traced_base(x):
    return math.log(x[0], x[2])


def trigonometry(x):
    return math.sin(x[0]) * math.cos(x[1]) + math.tan(x[2]) * math.sin(x[3])


def inverse_trigonometry(x):
    return math.asin(x[0] / 3) + math.acos(x[1] / 3) * math.atan(x[2]) + math.atan2(x[3], x[0])


def hyperbolic(x):
    return math.sinh(x[0]) * math.cosh(x[1]) + math.tanh(x[2]) + math.asinh(x[3])


def inverse_hyperbolic(x):
    return math.acosh(1.0 + x[0]) * math.atanh(x[3] / 2)


def gamma_and_error(x):
    return math.gamma(x[0]) + math.lgamma(x[1]) * math.erf(x[2]) + math.erfc(x[3])


def roots(x):
    return math.sqrt(x[0]) * math.cbrt(x[1]) + math.hypot(x[2], x[3], x[0])


def degrees_and_radians(x):
    return math.degrees(x[0]) * 0.01 + math.radians(x[1] * 100) + math.copysign(x[2], -1.0)


def distance(x):
    return math.dist([x[0], x[1]], [x[2], x[3]]) + math.dist(x, [0.1, 0.2, 0.3, 0.4])


def sums_and_products(x):
    return math.fsum(x) * math.prod(x) + math.fsum([a * a for a in x])


def fsum_of_generator(x):
    return math.fsum(a * a for a in x)


def math_of_parts(x):
    fraction, whole = math.modf(x[1])
    return fraction * whole + math.fabs(x[1]) * math.fmod(x[2], 0.8)


def remainders(x):
    return math.remainder(x[2], 0.8) * x[0] + x[1] % 0.9 + x[2] // 0.8


def frexp_and_ldexp(x):
    mantissa, exponent = math.frexp(x[2])
    return mantissa * exponent + math.ldexp(x[0], 3)


def floor_and_ceil(x):
    return math.floor(x[1]) * x[0] + math.ceil(x[2]) * x[1] + math.trunc(x[2]) * x[3]


def predicates(x):
    y = x[0] if math.isfinite(x[0]) and not math.isnan(x[1]) and not math.isinf(x[2]) else x[1]
    return y**2 + (x[3] if math.isclose(x[0], 0.7, abs_tol=0.5) else 0.0)


def float_of_element(x):
    return float(x[0]) * float(x[1]) ** 2 + float(np.sum(x))


def float_of_size_one(x):
    return float(x[0:1].sum()) * x[1].item() + x[2:3].item()


def complex_numbers(x):
    z = complex(x[0], x[1])
    return abs(z) + (z * z.conjugate()).real + (z**2).imag


def complex_arithmetic(x):
    z = (x[0] + 1j * x[1]) / (x[2] - 2j * x[3])
    return z.real * z.imag + abs(z * 1j)


def complex_exponential(x):
    z = cmath.exp(complex(x[0], x[1])) * cmath.sqrt(complex(x[2], x[3]))
    return z.real + z.imag**2


def complex_logarithm(x):
    z = cmath.log(complex(x[0], x[1])) + cmath.sin(complex(x[2], x[3]))
    return abs(z) + cmath.phase(z)


def complex_polar(x):
    r, phi = cmath.polar(complex(x[0], x[1]))
    z = cmath.rect(r * 2.0, phi + x[2])
    return z.real * z.imag


def int_as_index(x):
    i = int(x[2])
    return x[i] * x[2] + int(x[0] * 10 + 0.5) * x[3]


def rounding(x):
    return round(x[2]) * x[0] + round(x[1], 1) * x[3]


def absolute_values(x):
    return abs(x[0]) + abs(x[1]) ** 3 + sum(abs(a) for a in x)


def builtin_sum(x):
    return sum(x) ** 2 + sum([a * a for a in x], 1.0) + sum(x[1:], start=x[0] * 2.0)


def minimum_and_maximum(x):
    return min(x) * max(x) + max(x[0], x[1], 0.0) + min(x[2], 1.0) + max([], default=x[3])


def powers(x):
    return pow(x[0], 2) + pow(x[0], x[1]) + x[2] ** x[3] + 2.0 ** x[1] + x[2] ** -1


def power_of_zero_exponent(x):
    return x[0] ** 0 + x[1] ** 1 + x[2] ** 0.5 + x[3] ** 3


def division_with_remainder(x):
    q, r = divmod(x[2], 0.8)
    return q * x[0] + r * r


def unary_operators(x):
    return -x[0] * +x[1] + (-x).sum() ** 2 + (not x[0] > 0)


def is_instance(x):
    y = x[0] * x[0] if isinstance(x[0], float) else 0.0
    return y + (np.sum(x**3) if isinstance(x, np.ndarray) else 1e9)


def is_number(x):
    return x[0] ** 2 if isinstance(x[0], numbers.Real) else 0.0 * x[0]


def type_of(x):
    names = {"ndarray": 2.0, "float64": 3.0}
    return names.get(type(x[0]).__name__, 3.0) * x[0] ** 2


def class_comparison(x):
    y = x if x.__class__ is np.ndarray else np.array(x)
    return np.sum(np.sin(y))


def lengths_and_shapes(x):
    n, (m,) = len(x), x.shape
    return np.sum(x**2) / n + x[0] * x.ndim * x.size * m


def attributes_of_arrays(x):
    M = np.outer(x, x)
    return np.trace(M.T) * M.shape[0] + x.itemsize * x[0] + (x[1] if x.dtype == float else 0.0)


def formatted_strings(x):
    text = f"{x[0]:.3f} and {x[1]!r:>10} of {x.shape}"
    return x[0] * x[1] + (1.0 if "and" in text else 0.0) * x[2]


def percent_and_format(x):
    text = f"{x[1]:8.3e}" + "{:>12}".format(str(x[2]))  # noqa: UP032
    return x[0] * math.sin(x[1]) * min(len(text), 1)


def percent_of_float(x):
    text = "%.2f" % x[0]  # noqa: UP031
    return x[0] * x[1] * min(len(text), 1)


def printed(x):
    print("loss:", x[0], x[1:], end="")
    return np.sum(x**2)


def json_of_shape(x):
    text = json.dumps({"shape": x.shape, "size": x.size, "dtype": str(x.dtype)})
    return json.loads(text)["size"] * np.sum(x * x)


def comparisons(x):
    y = x[0] if x[0] > x[1] else x[1]
    return y * (x[2] if -5.0 < x[2] <= 3.0 else 0.0) * (x[0] != x[1])


def booleans(x):
    return x[0] * (x[1] < 0) + bool(x[2]) * x[2] ** 2 + (x[3] or 5.0) + (x[0] and x[1])


def mixed_with_int(x):
    return 3 * x[0] + x[1] / 2 - (1 - x[2]) * True + 2 / x[3]


def statistics_mean(x):
    return statistics.fmean(x) * 2.0


def statistics_of_lists(x):
    values = [a * a for a in x]
    return statistics.median(values) * values[0]


def statistics_exact_mean(x):
    return statistics.mean([a * a for a in x])


def statistics_deviation(x):
    return statistics.stdev(x) + statistics.pvariance(x)


def constant_fraction(x):
    return float(fractions.Fraction(1, 3)) * x[0] + float(decimal.Decimal("0.25")) * x[1] ** 2


def to_list(x):
    values = x.tolist()
    return values[0] * values[1] + sum(values)


def array_of_floats(x):
    y = np.array([x[0], 2.0, x[1] * x[2]])
    return np.sum(y**2) * y[2]


def numpy_scalar_types(x):
    return np.float64(x[0]) * np.float64(2.0) + np.asarray(x[1]) ** 2


def astype_float(x):
    return np.sum(x.astype(float) ** 2) + x[0].astype(np.float64)


def real_and_imaginary(x):
    z = x[:2] + 1j * x[2:]
    return np.sum(z.real * z.imag) + np.abs(z).sum() + np.sum(np.angle(z))


def complex_array(x):
    z = np.exp(1j * x) * np.conj(x * (1 + 2j))
    return np.real(np.sum(z * z)) + np.imag(z[0])


def numpy_of_scalars(x):
    return np.sin(x[0]) * np.maximum(x[1], x[2]) + np.hypot(x[2], x[3]) + np.square(x[0])


def hash_of_constant(x):
    lookup = {round(1.5): "two", x.shape: "shape"}
    return len(lookup) * math.sin(x[0])


def membership(x):
    return (x[0] if 0.7 in [0.7, 1.0] else x[1]) * (2.0 if x.size in (3, 4) else 1.0)


def sorting(x):
    ordered = sorted(x)
    return ordered[0] * ordered[1] - ordered[-1] ** 2 + list(reversed(ordered))[1]


def range_from_value(x):
    return sum(x[1] ** i for i in range(int(x[2]) + 2))


def power_modes(x):
    return np.power(x[0], 3) + np.float_power(x[2], x[1]) + math.pow(2.0, x[3])


def index_of_maximum(x):
    return x[np.argmax(x)] * x[int(np.argmin(x))]


def sign_and_where(x):
    return np.sign(x[1]) * x[1] ** 2 + (np.where(x > 0, x, 0.1 * x) ** 2).sum()


PROGRAMS = [(f, P) for f in [
    exponentials, logarithms, log_with_traced_base, trigonometry, inverse_trigonometry,
    hyperbolic, inverse_hyperbolic, gamma_and_error, roots, degrees_and_radians, distance,
    sums_and_products, math_of_parts, remainders, frexp_and_ldexp, floor_and_ceil, predicates,
    float_of_element, float_of_size_one, complex_numbers, complex_arithmetic,
    complex_exponential, complex_logarithm, complex_polar, int_as_index, rounding,
    absolute_values, builtin_sum, minimum_and_maximum, powers, power_of_zero_exponent,
    division_with_remainder, unary_operators, is_instance, is_number, type_of, class_comparison,
    lengths_and_shapes, attributes_of_arrays, formatted_strings, percent_and_format, printed,
    json_of_shape, comparisons, booleans, mixed_with_int, statistics_mean, statistics_of_lists,
    constant_fraction, array_of_floats, numpy_scalar_types, astype_float, real_and_imaginary,
    complex_array, numpy_of_scalars, hash_of_constant, membership, sorting, range_from_value,
    power_modes, index_of_maximum, sign_and_where, fsum_of_generator, statistics_exact_mean,
    statistics_deviation, to_list, percent_of_float,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
