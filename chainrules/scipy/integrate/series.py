"""nsum and qmc_quad: sums of the values of a function, at points that plain values determine.

A series whose end is infinite is its first terms and, for the others, the formula of Euler and
Maclaurin, h the step and b where they begin,

    Σ f(b + kh) = 1/h ∫ f dt + f(b)/2 - (f(b + h) - f(b - h)) / 24 + O(h⁴ f''''),

in which a difference stands for the derivative. Its value is compared with what SciPy has found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, special

from chainrules.refused import RefusedError
from chainrules.scipy.found import with_value
from chainrules.scipy.integrate.captured import plain
from chainrules.scipy.integrate.integrals import integral
from chainrules.scipy.optimize.implicit import apart
from chainrules_core import ChainRulesError, decompose, non_differentiable

FIRST_TERMS = 512
AGREEMENT = 1e-5


class SeriesError(ChainRulesError, ArithmeticError):
    """A series is not summed well enough for its derivative."""


def nsum_plainly(f: Callable, a: Any, b: Any, step: Any, args: tuple, options: dict) -> Any:
    """Call nsum where nothing is traced."""
    return integrate.nsum(f, a, b, step=step, args=args, **options)


def quad_plainly(func: Callable, a: Any, b: Any, options: dict) -> tuple:
    """Call qmc_quad where nothing is traced; also the points, those of each estimate in a row."""
    seen = []

    def noted(x):
        seen.append(np.array(x))
        return func(x)

    found = integrate.qmc_quad(noted, a, b, **options)
    n = options.get("n_estimates", 8)
    return found, np.stack(seen[-n:])  # one call tells SciPy what the function returns


for _f in (nsum_plainly, quad_plainly):
    non_differentiable(_f, Callable)


def first_terms(f: Callable, a: Any, n: Any, step: Any, args: tuple) -> Any:
    """The sum of the terms up to the number `n`, that one included, element by element."""
    k = np.arange(np.max(n, initial=0.0) + 1)
    k = np.reshape(k, (-1,) + (1,) * max(map(np.ndim, (a, n, step, *args))))
    is_term = k <= n
    return np.sum(np.where(is_term, f(a + np.where(is_term, k, 0) * step, *args), 0.0), axis=0)


def to_the_right(f: Callable, a: Any, step: Any, args: tuple, shape: tuple) -> Any:
    """The sum of all terms from `a` on."""
    b = a + FIRST_TERMS * step
    y = first_terms(f, a, np.full(shape, FIRST_TERMS - 1.0), step, args)
    rest = integral(lambda t: np.broadcast_to(f(b + t, *args) / step, shape), 0.0, np.inf, 0.0,
                    options={"limit": 1000})  # fmt: skip
    return y + rest + f(b, *args) / 2 - (f(b + step, *args) - f(b - step, *args)) / 24


def _few_digits(x: Any) -> str:
    """Return numbers as an error shows them: the last digits differ among processors."""
    return np.array2string(np.asarray(x), precision=8)


def nsum(f: Callable, a: Any, b: Any, *, step: Any = 1, args: Any = (), log: bool = False,
         maxterms: int = 2**20, tolerances: Any = None) -> Any:  # fmt: skip
    args = args if isinstance(args, tuple) else (args,)
    options = {"log": log, "maxterms": maxterms, "tolerances": tolerances}
    a, step = np.asarray(a) * 1.0, np.asarray(step) * 1.0
    found = nsum_plainly(f, a, b, step, args, options)
    shape = np.shape(found.sum)
    low, high = plain(a), np.asarray(plain(b), float)

    def g(t, *args):  # of a series of logarithms, what they are of, as parts of the sum
        return np.exp(f(t, *args) - found.sum) if log else f(t, *args)

    def backward(t, *args):
        return g(-t, *args)

    number = np.floor((high - low) / plain(step))
    if np.all(number < maxterms):
        y = first_terms(g, a, np.broadcast_to(number, shape), step, args)
    elif np.all(np.isfinite(low)) and np.all(number >= maxterms):
        y = to_the_right(g, a, step, args, shape)
    elif np.all(np.isfinite(high)) and np.all(low == -np.inf):
        y = to_the_right(backward, -np.asarray(b), step, args, shape)
    elif np.all(high == np.inf) and np.all(low == -np.inf):
        zero = np.zeros(shape)
        y = to_the_right(g, zero, step, args, shape)
        y = y + to_the_right(backward, zero + step, step, args, shape)
    else:
        raise RefusedError(
            "scipy.integrate.nsum",
            "some of its sums are finite and others infinite. Call it once for each kind.",
        )
    expected = np.ones(shape) if log else found.sum
    if np.any(high - low < 0):  # no terms: 0, or NaN in older versions of SciPy
        y = np.where(high < low, expected, y)
    if not np.allclose(plain(y), expected, rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True):
        raise SeriesError(
            "the derivative of scipy.integrate.nsum needs the sum itself, and two ways to find it "
            f"do not agree: {_few_digits(expected)} and {_few_digits(plain(y))}. Sum more terms, "
            "with maxterms, or a series that converges faster."
        )
    y = np.log(y) if log else y
    result = type(found)(found)
    result["sum"] = with_value(found.sum, y)
    result["error"] = apart(found.error, y, field="error in the result of scipy.integrate.nsum")
    return result


def qmc_quad(func: Callable, a: Any, b: Any, *, log: bool = False, **options: Any) -> Any:
    a, b = np.atleast_1d(np.asarray(a) * 1.0), np.atleast_1d(np.asarray(b) * 1.0)
    low, high = np.asarray(plain(a)), np.asarray(plain(b))
    if np.any(low == high):
        raise RefusedError(
            "scipy.integrate.qmc_quad",
            "a limit is equal to the other one, and no point is evaluated. Move one of them.",
        )
    found, seen = quad_plainly(func, low, high, {"log": log, **options})
    estimates = []
    for x in seen:
        part = (np.transpose(x) - low) / (high - low)
        values = func(np.transpose(a + part * (b - a)))
        if log:
            estimates.append(special.logsumexp(values) - np.log(np.shape(x)[1]))
        else:
            estimates.append(np.mean(values))
    estimates = np.stack(estimates)
    volume = np.prod(b - a)
    if log:
        y = special.logsumexp(estimates) - np.log(len(seen)) + np.log(np.abs(volume))
        field = "standard_error in the result of scipy.integrate.qmc_quad with log=True"
        return type(found)(
            with_value(found.integral, y), apart(found.standard_error, y, field=field)
        )
    error = np.abs(volume) * np.std(estimates, ddof=1) / np.sqrt(len(seen))
    y = volume * np.mean(estimates)
    return type(found)(with_value(found.integral, y), with_value(found.standard_error, error))


for _target, _body in (("nsum", nsum), ("qmc_quad", qmc_quad)):
    if hasattr(integrate, _target):
        decompose(getattr(integrate, _target), Callable)(_body)
