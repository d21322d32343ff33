"""Rules of a solver of linear equations and of the one of their adjoint, both at once.

A structured A says for which K some linear map of K, itself linear in A, is X; `solve` finds K from
A and X, and `solve_adjoint` the cotangent of X from A and that of K. Either is linear in its second
argument, and by A both say the same: K̇ = solve(A, Ẋ + X'), where X' is by how much what K gives
falls short as A changes by Ȧ. So all four rules follow from X' and its adjoints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from chainrules.linalg.matrices import adjoint, commutator
from chainrules_core import Array, frule, rrule


class Change(NamedTuple):
    """By how much the right side changes with A: X' is linear in Ȧ and in K, and reads no more.

    Attributes
    ----------
    forward : callable
        ``forward(a, a_dot, k)``: X'.
    back : callable
        ``back(a, a_dot, x_bar)``: its adjoint by K.
    by_a : callable
        ``by_a(a, x_bar, k)``: its adjoint by Ȧ.
    """

    forward: Callable[[Any, Any, Any], Any]
    back: Callable[[Any, Any, Any], Any]
    by_a: Callable[[Any, Any, Any], Any]


def of_commutator(read: Callable[[Any, Any], Any]) -> Change:
    """The change of equations for A K - K A: of Ȧ counts what `read(a, a_dot)` projects it onto."""
    return Change(
        lambda a, a_dot, k: commutator(read(a, a_dot), k),
        lambda a, a_dot, x_bar: commutator(adjoint(read(a, a_dot)), x_bar),
        lambda a, x_bar, k: read(a, commutator(x_bar, adjoint(k))),
    )


def solver_rules(solve: Callable, solve_adjoint: Callable, change: Change) -> None:
    """Register the rules of two primitives of (a, x) and (a, k_bar)."""

    @rrule.register(solve, Array, Array)
    def solve_rrule(a, x):
        k = solve(a, x)

        def solve_pullback(k_bar):
            x_bar = solve_adjoint(a, k_bar)
            return change.by_a(a, x_bar, k), x_bar

        return k, solve_pullback

    @frule.register(solve, Array, Array)
    def solve_frule(dots, a, x):
        k = solve(a, x)
        return k, solve(a, dots[1] + change.forward(a, dots[0], k))

    @rrule.register(solve_adjoint, Array, Array)
    def solve_adjoint_rrule(a, k_bar):
        x_bar = solve_adjoint(a, k_bar)

        def solve_adjoint_pullback(bar):
            k = solve(a, bar)
            return change.by_a(a, x_bar, k), k

        return x_bar, solve_adjoint_pullback

    @frule.register(solve_adjoint, Array, Array)
    def solve_adjoint_frule(dots, a, k_bar):
        x_bar = solve_adjoint(a, k_bar)
        return x_bar, solve_adjoint(a, dots[1] + change.back(a, dots[0], x_bar))
