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
from chainrules_core import Array, pair_rule


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
    one_way(solve, solve_adjoint, change.forward, lambda a, k, x_bar: change.by_a(a, x_bar, k))
    one_way(solve_adjoint, solve, change.back, change.by_a)


def one_way(f: Callable, adjoint_of_f: Callable, moved: Callable, by_a: Callable) -> None:
    """Register both rules of one of them; ``by_a(a, y, x_bar)`` is the cotangent of `a`."""

    @pair_rule(f, Array, Array)
    def solver_rule(a, x):
        y = f(a, x)

        def solver_pushforward(a_dot, x_dot):
            return f(a, x_dot + moved(a, a_dot, y))

        def solver_pullback(y_bar):
            x_bar = adjoint_of_f(a, y_bar)
            return by_a(a, y, x_bar), x_bar

        return y, solver_pushforward, solver_pullback
