"""Quotients that have a limit at 0: sin x/x, log(1+x)/x, J₁(x)/x.

A limit that is filled in as a constant has the derivative 0, so the next derivative of a rule would
be wrong there without an error. And near 0 the quotient loses digits with each derivative. So
around 0 its Taylor series takes its place, which can be differentiated as often as one likes. Where
nobody differentiates the quotient, and it loses no digits, the series is for 0 alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrules_core.authoring import is_foreign


def near_zero(
    x: Any, series: Sequence[complex], quotient: Callable, radius: float, cancels: bool = False
) -> Any:
    """Return a quotient of x, from its Taylor series where x is small.

    Parameters
    ----------
    x : float or numpy.ndarray
        The argument.
    series : sequence of complex
        The coefficients of x⁰, x¹, x² and so on.
    quotient : callable
        Returns the quotient elsewhere. It gets 1 in place of what is small.
    radius : float
        Up to this size a number is small.
    cancels : bool
        Whether the quotient itself loses digits near 0.
    """
    small = np.abs(x) <= radius if cancels or is_foreign(x) else x == 0
    if not np.any(small):
        return quotient(x)
    t = np.where(small, x, 0.0)
    total: Any = 0.0
    for coefficient in reversed(series):
        total = total * t + coefficient
    return np.where(small, total, quotient(np.where(small, 1.0, x)))


def over(y: Any, x: Any, series: Sequence[complex]) -> Any:
    """Return y/x, for a value y of a function that is 0 at x = 0."""
    return near_zero(x, series, lambda x: y / x, 1.0)


def in_powers(step: int, *coefficients: complex, first: int = 0) -> list[complex]:
    """Return the coefficients of a series in x^first, x^(first+step), x^(first+2 step), ..."""
    series: list[complex] = [0.0] * (first + step * len(coefficients))
    series[first::step] = coefficients
    return series
