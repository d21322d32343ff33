"""Sums and products of ``numpy.polynomial``: NumPy drops trailing coefficients that are 0.

Their derivatives are not 0, and would be lost. Inside of the functions of a family (a product of
Legendre series is a recurrence of sums) nothing is lost: products are bilinear, conversions linear,
and their derivatives are the same functions of unit vectors. What a result itself drops is an error
where its derivative is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import (
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
    polyutils,
)

from chainrules.calculus.polynomials import DROPS
from chainrules.dropped import without
from chainrules_core import (
    AbstractZero,
    Tangent,
    ZeroTangent,
    conj,
    decompose,
    pair_rule,
    primitive,
)

# -- what is dropped ------------------------------------------------------------------------------

_DROPPED = f"numpy.polynomial {DROPS}"


@decompose(polyutils.trimseq)
def trimseq_body(seq):
    if type(seq) in (list, tuple) or len(seq) == 0 or seq[-1] != 0:
        return seq if len(seq) == 0 or seq[-1] != 0 else seq[: _length(seq)]
    n = _length(seq)
    return without(seq[:n], seq[n:], why=_DROPPED) if n < len(seq) else seq


def _length(seq: Any) -> int:
    n = len(seq)
    while n > 1 and seq[n - 1] == 0:
        n -= 1
    return n


@decompose(polyutils.trimcoef)
def trimcoef_body(c, tol=0):
    if tol < 0:
        raise ValueError("tol must be non-negative")
    [c] = polyutils.as_series([c], trim=False)
    [places] = np.nonzero(np.abs(c) > tol)
    return c[: places[-1] + 1].copy() if len(places) else c[:1] * 0


# -- functions of a family ------------------------------------------------------------------------

_PRODUCTS: dict[str, Callable] = {}
_DIVISIONS: dict[str, Callable] = {}
_MAPS: dict[str, Callable] = {}


@primitive
def product(c1: Any, c2: Any, *, family: str) -> Any:
    """Return the coefficients of a product, those that are 0 as well."""
    return _filled(_PRODUCTS[family](c1, c2), np.size(c1) + np.size(c2) - 1)


@primitive
def mapped(c: Any, *, by: str) -> Any:
    """Return what a linear function makes of coefficients, those that are 0 as well."""
    return _filled(_MAPS[by](c), np.size(c) + by.endswith("mulx"))


def _filled(c: Any, n: int) -> Any:
    y = np.zeros(n, c.dtype)
    y[: len(c)] = c
    return y


def _units(c: Any) -> Any:
    return np.eye(np.size(c), dtype=c.dtype)


@pair_rule(product)
def product_rule(c1, c2, *, family):
    def product_pushforward(c1_dot, c2_dot):
        return product(c1_dot, c2, family=family) + product(c1, c2_dot, family=family)

    def product_pullback(y_bar):
        by_first = np.stack([product(e, c2, family=family) for e in _units(c1)])
        by_second = np.stack([product(c1, e, family=family) for e in _units(c2)])
        return np.matmul(conj(by_first), y_bar), np.matmul(conj(by_second), y_bar)

    return product(c1, c2, family=family), product_pushforward, product_pullback


@primitive
def division(c1: Any, c2: Any, *, family: str) -> Any:
    """Return the quotient and the remainder of division by series of at least two coefficients."""
    quo, rem = _DIVISIONS[family](c1, c2)
    n = max(np.size(c1) - np.size(c2) + 1, 1)
    return _filled(quo, n), _filled(rem, np.size(c2) - 1)


def _change(c1_dot: Any, quo: Any, c2: Any, c2_dot: Any, family: str) -> tuple:
    """Return how both move: c1 = quo c2 + rem, where quo and rem are linear in c1."""
    return division(c1_dot - product(quo, c2_dot, family=family), c2, family=family)


@pair_rule(division)
def division_rule(c1, c2, *, family):
    quo, rem = division(c1, c2, family=family)

    def division_pushforward(c1_dot, c2_dot):
        return Tangent[tuple](*_change(c1_dot, quo, c2, c2_dot, family))

    def division_pullback(y_bar):
        def along(c1_dots, c2_dots):
            moved = [_change(a, quo, c2, b, family) for a, b in zip(c1_dots, c2_dots, strict=True)]
            total = ZeroTangent()
            for i, bar in enumerate(y_bar):
                if not isinstance(bar, AbstractZero):
                    total = total + np.matmul(conj(np.stack([m[i] for m in moved])), bar)
            return total

        return (
            along(_units(c1), [np.zeros_like(c2)] * np.size(c1)),
            along([np.zeros_like(c1)] * np.size(c2), _units(c2)),
        )

    return (quo, rem), division_pushforward, division_pullback


@pair_rule(mapped)
def mapped_rule(c, *, by):
    def mapped_pushforward(c_dot):
        return mapped(c_dot, by=by)

    def mapped_pullback(y_bar):
        return (np.matmul(np.stack([mapped(e, by=by) for e in _units(c)]), y_bar),)

    return mapped(c, by=by), mapped_pushforward, mapped_pullback


def _product_of(family: str, multiply: Callable) -> None:
    @decompose(multiply)
    def body(c1, c2):
        c1, c2 = polyutils.as_series([c1, c2])
        if len(c1) == 1 or len(c2) == 1:
            return polyutils.trimseq(c1 * c2)  # of which a 0 that is a constant has no derivative
        if family == "poly":
            return polyutils.trimseq(np.convolve(c1, c2))
        if family == "cheb":
            both = np.convolve(_both_sides(c1), _both_sides(c2))[len(c1) + len(c2) - 2 :]
            return polyutils.trimseq(np.append(both[:1], 2 * both[1:]))
        return polyutils.trimseq(product(c1, c2, family=family))


def _both_sides(c: Any) -> Any:
    """Return the coefficients of a Chebyshev series by powers of z, where x = (z + 1/z)/2."""
    return np.concatenate([c[:0:-1] / 2, c[:1], c[1:] / 2])


def _division_of(family: str, divide: Callable) -> None:
    _DIVISIONS[family] = divide

    @decompose(divide)
    def body(c1, c2):
        c1, c2 = polyutils.as_series([c1, c2], trim=False)
        n, m = _length(c1), _length(c2)
        lost = np.append(c1[n:], c2[m:])
        c1, c2 = c1[:n], c2[:m]
        if c2[-1] == 0:
            raise ZeroDivisionError
        if n < m:
            quo, rem = c1[:1] * 0, c1
        elif m == 1:
            quo, rem = c1 / c2[-1], c1[:1] * 0
        else:
            quo, rem = division(c1, c2, family=family)
        if len(lost):
            quo, rem = (without(part, lost, why=_DROPPED) for part in (quo, rem))
        return quo, polyutils.trimseq(rem)


def _map_of(name: str, function: Callable) -> None:
    _MAPS[name] = function

    @decompose(function)
    def body(c):
        [c] = polyutils.as_series([c])
        return polyutils.trimseq(mapped(c, by=name))


def _line_of(line: Callable) -> None:
    @decompose(line)
    def body(off, scl):
        by_scl = line(0, 1.0)
        return polyutils.trimseq(np.array([off + by_scl[0] * scl, by_scl[1] * scl]))


for _module, _name in (
    (polynomial, "poly"),
    (chebyshev, "cheb"),
    (legendre, "leg"),
    (hermite, "herm"),
    (hermite_e, "herme"),
    (laguerre, "lag"),
):
    _map_of(f"{_name}mulx", getattr(_module, f"{_name}mulx"))
    _line_of(getattr(_module, f"{_name}line"))
    if _name != "poly":
        _map_of(f"{_name}2poly", getattr(_module, f"{_name}2poly"))
        _map_of(f"poly2{_name}", getattr(_module, f"poly2{_name}"))
    _PRODUCTS[_name] = getattr(_module, f"{_name}mul")
    _division_of(_name, getattr(_module, f"{_name}div"))
    _product_of(_name, _PRODUCTS[_name])
