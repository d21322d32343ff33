"""exp, tanh, sin, cos, log, … without branches, for loops over several elements at once.

They are written in the Python that machine code is made of, where a call of the C library for each
element would cost more than all else. With y = n ln 2 + r, |r| < 0.35, and p(r) = exp(r) - 1 by its
series: exp(y) = 2ⁿ + 2ⁿ p(r), and tanh(x) = e / (e + 2) for e = exp(2x) - 1, which is
2ⁿ p(r) + (2ⁿ - 1). Errors are a few units in the last place; what is no normal number is zero.

Sines and cosines are series of what is left of x less a multiple of π/2 that has three parts. With
products and sums in one instruction nothing is lost by that up to `FAR`; errors are below two units
in the last place. Who calls them looks for numbers beyond.

Logarithms are of m 2ᵏ with m between √½ and √2: with f = m - 1 and s = f / (2 + f), log(m) is
f - f²/2 + s (f²/2 + t), t = 2 (s²/3 + s⁴/5 + …), exact to the last place. log(1 + x) is that of
u = 1 + x rounded, plus what was lost over u.
"""

from __future__ import annotations

import math

import numpy as np

FAR = 2.0**40
"""Up to which absolute value sines and cosines are computed."""


def bits_of(x: float) -> int:
    """Return the bits of a float as an integer."""
    return int(np.float64(x).view(np.int64))


def float_of(bits: int) -> float:
    """Return the float that has these bits."""
    return float(np.int64(bits).view(np.float64))


def power_of_two(x: float) -> float:
    """Return 2ⁿ for a float n + 1.5 · 2⁵², whose last bits are those of n."""
    return 2.0 ** (x - 6755399441055744.0)


def fused(a: float, b: float, c: float) -> float:
    """Return the product of two plus the third, in machine code rounded once."""
    return a * b + c


def shifted_exponent(y: float) -> float:
    """Return n + 1.5 · 2⁵² for y = n ln 2 + r: a number so large that no fraction is left."""
    return y * 1.4426950408889634 + 6755399441055744.0


def rest_of_exponent(y: float, shifted: float) -> float:
    """Return r for y = n ln 2 + r."""
    n = shifted - 6755399441055744.0
    return (y - n * 0.6931471803691238) - n * 1.9082149292705877e-10


def exp_less_one(r: float) -> float:
    """Return exp(r) - 1 by its series, for |r| < 0.35."""
    y = (r * (1 / 6227020800) + 1 / 479001600) * r + 1 / 39916800
    y = ((y * r + 1 / 3628800) * r + 1 / 362880) * r + 1 / 40320
    y = ((y * r + 1 / 5040) * r + 1 / 720) * r + 1 / 120
    y = ((y * r + 1 / 24) * r + 1 / 6) * r + 1 / 2
    return (y * r + 1.0) * r


def exp(x: float) -> float:
    """Return the exponential; where 2ⁿ would be too large, e times that of one less."""
    y = min(max(x - 1.0 if x > 708.0 else x, -708.0), 709.0)
    shifted = shifted_exponent(y)
    s = power_of_two(shifted)
    y = s + s * exp_less_one(rest_of_exponent(y, shifted))
    y = 0.0 if x < -708.0 else y
    y = y * 2.718281828459045 if x > 708.0 else y
    return y if x == x else x


def expm1(x: float) -> float:
    """Return the exponential less one."""
    y = min(max(x - 1.0 if x > 708.0 else x, -40.0), 709.0)
    shifted = shifted_exponent(y)
    s = power_of_two(shifted)
    y = s * exp_less_one(rest_of_exponent(y, shifted)) + (s - 1.0)
    y = y * 2.718281828459045 if x > 708.0 else y
    return y if x == x and x != 0.0 else x


def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    y = 2.0 * min(abs(x), 20.0)
    shifted = shifted_exponent(y)
    s = power_of_two(shifted)
    e = s * exp_less_one(rest_of_exponent(y, shifted)) + (s - 1.0)
    y = e / (e + 2.0)
    y = y if x > 0.0 else -y
    return y if x == x and x != 0.0 else x


def wave(x: float, quarters: float) -> float:
    """Return the sine of an angle and a quarter of a turn, or none."""
    shifted = x * 0.6366197723675814 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = fused(-n, 1.5707963267948966, x)
    r = fused(-n, 6.123233995736766e-17, r)
    r = fused(-n, -1.4973849048591698e-33, r)
    z = r * r
    y = ((1 / 355687428096000 * z - 1 / 1307674368000) * z + 1 / 6227020800) * z - 1 / 39916800
    y = ((y * z + 1 / 362880) * z - 1 / 5040) * z + 1 / 120
    s = r + r * (z * (y * z - 1 / 6))
    y = ((1 / 20922789888000 * z - 1 / 87178291200) * z + 1 / 479001600) * z - 1 / 3628800
    y = ((y * z + 1 / 40320) * z - 1 / 720) * z + 1 / 24
    c = 1.0 - 0.5 * z
    c = c + ((1.0 - c) - 0.5 * z) + z * z * y
    q = bits_of(shifted + quarters)
    y = c if q & 1 else s
    return -y if q & 2 else y


def sin(x: float) -> float:
    """Return the sine."""
    return wave(x, 0.0) if x != 0.0 else x


def cos(x: float) -> float:
    """Return the cosine."""
    return wave(x, 1.0)


def log(x: float) -> float:
    """Return the logarithm."""
    is_tiny = x < 2.3e-308
    y = x * (18014398509481984.0 if is_tiny else 1.0)
    bits = bits_of(y)
    k = float_of((bits >> 52) | 0x4330000000000000) - 4503599627371519.0
    k = k - 54.0 if is_tiny else k
    m = float_of((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000)
    k = k + 1.0 if m > 1.4142135623730951 else k
    m = 0.5 * m if m > 1.4142135623730951 else m
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    y = ((2 / 21 * z + 2 / 19) * z + 2 / 17) * z + 2 / 15
    y = ((y * z + 2 / 13) * z + 2 / 11) * z + 2 / 9
    t = (((y * z + 2 / 7) * z + 2 / 5) * z + 2 / 3) * z
    y = k * 0.6931471805601177 - ((h - (s * (h + t) + k * -1.7239444525614835e-13)) - f)
    y = math.inf if x == math.inf else y
    y = -math.inf if x == 0.0 else y
    return y if x >= 0.0 else math.nan


def log1p(x: float) -> float:
    """Return the logarithm of one more than a number."""
    u = 1.0 + x
    y = log(u)
    y = y + (x - (u - 1.0)) / u if u > 0.0 and u < math.inf else y
    return y if u != 1.0 else x
