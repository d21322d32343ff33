"""exp(t A) B by Taylor series, for a sparse A and its entries.

With the terms V_0 = B and V_j = (t/j) (A - μ) V_{j-1}, of which the value is the sum, those of the
adjoint are T_d = ȳ and T_{j-1} = ȳ + conj(t/j) (A - μ)ᴴ T_j. Then B̄ = T_0, and the entries have
Σ_j T_j conj(t/j V_{j-1})ᵀ where A stores something: one pass over the entries for all terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.scipy.sparse.products import Pattern, outer_entries, product
from chainrules_core import AbstractZero, natively, pair_rule, primitive
from chainrules_core.authoring import is_foreign


def taylor_steps(norm: float) -> tuple[int, int]:
    """Return into how many steps to cut an exponential, and the degree of each Taylor series.

    SciPy takes as many terms as the value needs, none for a zero matrix; the derivatives need more,
    and those of a nilpotent matrix need terms that are zero.
    """
    steps = max(1, math.ceil(norm / 5))
    degree, bound = 1, norm / steps
    while bound > 1e-17:
        degree += 1
        bound *= norm / steps / degree
    return steps, degree + 4


def _applied(entries: Any, v: Any, pattern: Pattern, adjoint: bool = False) -> Callable:
    """Return what multiplies by the matrix, or by its adjoint, such as `v`."""
    if is_foreign(entries) or is_foreign(v):
        if adjoint:
            return lambda v: np.conj(product(entries, np.conj(v), pattern=pattern, turned=True))
        return lambda v: product(entries, v, pattern=pattern)
    matrix = pattern.filled(entries)
    if adjoint:
        matrix = (matrix.conj() if np.iscomplexobj(entries) else matrix).T
    return lambda v: matrix @ v


def _terms(entries: Any, B: Any, t: Any, pattern: Pattern, mu: Any, degree: int) -> list:
    times, terms = natively(_applied, entries, B, pattern), [B]
    for j in range(1, degree + 1):
        term = terms[-1]
        terms.append((times(term) - mu * term) * (t / j))
    return terms


def _sum(terms: list) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


@primitive
def taylor(entries: Any, B: Any, t: Any, *, pattern: Pattern, mu: Any, degree: int) -> Any:
    """Return the Taylor series of exp(t (A - μ)) B, for the entries of A in its pattern."""
    return _sum(_terms(entries, B, t, pattern, mu, degree))


@pair_rule(taylor)
def taylor_rule(
    entries: Any, B: Any, t: Any, *, pattern: Pattern, mu: Any, degree: int
) -> tuple[Any, Callable]:
    terms = _terms(entries, B, t, pattern, mu, degree)

    def taylor_pushforward(entries_dot: Any, B_dot: Any, t_dot: Any) -> Any:
        times = natively(_applied, entries, B_dot, pattern)
        moving = None
        if not isinstance(entries_dot, AbstractZero):
            moving = natively(_applied, entries_dot, B, pattern)
        dot = 0 * B if isinstance(B_dot, AbstractZero) else B_dot
        y_dot = dot
        for j in range(1, degree + 1):
            term = terms[j - 1]
            change = times(dot) - mu * dot
            if moving is not None:
                change = change + moving(term)
            dot = change * (t / j)
            y_dot = y_dot + dot
        if not isinstance(t_dot, AbstractZero):
            known = _sum(terms[:-1])
            y_dot = y_dot + (natively(_applied, entries, B, pattern)(known) - mu * known) * t_dot
        return y_dot

    def taylor_pullback(y_bar: Any) -> tuple:
        adjoint = natively(_applied, entries, y_bar, pattern, True)
        bars, conj_mu = [y_bar], np.conj(mu)
        for j in range(degree, 0, -1):
            bar = bars[-1]
            bars.append(y_bar + (adjoint(bar) - conj_mu * bar) * np.conj(t / j))
        bars = bars[::-1]
        weighed = [bars[j] * np.conj(t / j) for j in range(1, degree + 1)]
        entries_bar = outer_entries(_side_by_side(weighed), _side_by_side(terms[:-1]), pattern)
        known = _sum(terms[:-1])
        moved = natively(_applied, entries, known, pattern)(known) - mu * known
        return entries_bar, bars[0], np.sum(np.conj(moved) * y_bar)

    return _sum(terms), taylor_pushforward, taylor_pullback


def _side_by_side(vectors: list) -> Any:
    return np.stack(vectors, axis=1) if vectors[0].ndim == 1 else np.concatenate(vectors, axis=1)
