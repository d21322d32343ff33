"""Sylvester, Lyapunov and Riccati equations, by the implicit function theorem.

For A X + X B = Q the adjoint solves Aᴴ Z + Z Bᴴ = X̄, and Q̄ = Z, Ā = -Z Xᴴ, B̄ = -Xᴴ Z.
Lyapunov equations are the case B = Aᴴ; the discrete one, A X Aᴴ - X + Q = 0, has the
adjoint Aᴴ Z A - Z + X̄ = 0, Q̄ = Z and Ā = Z A Xᴴ + Zᴴ A X.

The solution X of a Riccati equation is Hermitian. With the gain G and the closed loop C = A
- B G the residual changes, for a fixed X, by

    Ḟ = Q̇ + Gᴴ Ṙ G - Ṡ G - (Ṡ G)ᴴ + Nᴴ X M + (Nᴴ X M)ᴴ + ...,   N = Ȧ - Ḃ G,

where M = E and Ėᴴ X C is added in the continuous case, M = C and Ėᴴ X E is taken away in
the discrete one. A Lyapunov equation with C E⁻¹ tells how X answers to that, and its
adjoint the cotangent of F (I. Kao and G. Hennequin, *Automatic differentiation of
Sylvester, Lyapunov, and algebraic Riccati equations*, 2020, have it for E = 1, S = 0).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, hermitian
from chainrules_core import Array, NoTangent, pair_rule, thunk

# ----------------------------------------------------------------------------- linear equations


def sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve A X + X B = Q, with complex matrices if one is: SciPy fails on a mixture."""
    if any(map(np.iscomplexobj, (a, b, q))):
        a, b, q = a + 0j, b + 0j, q + 0j
    return linalg.solve_sylvester(a, b, q)


def lyapunov(a: Any, q: Any) -> Any:
    """The same of A X + X Aᴴ = Q."""
    return linalg.solve_continuous_lyapunov(a + 0j if np.iscomplexobj(q) else a, q)


def discrete_lyapunov(a: Any, q: Any, method: Any) -> Any:
    """The same of A X Aᴴ - X + Q = 0."""
    return linalg.solve_discrete_lyapunov(a + 0j if np.iscomplexobj(q) else a, q, method)


def check_mixture(name: str, matrices: tuple, q: Any, found: Any) -> None:
    """Refuse what is no solution: SciPy takes blocks of real Schur forms for numbers."""
    complex_ones = [*map(np.iscomplexobj, matrices)]
    if all(complex_ones) or not (any(complex_ones) or np.iscomplexobj(q)):
        return
    if not np.allclose(found, q, 1e-6, 1e-6 * np.max(np.abs(q), initial=0)):
        raise ValueError(
            f"scipy.linalg.{name} does not solve the equation of complex and real matrices, if a "
            "real one has complex eigenvalues: give all of them as complex ones."
        )


@pair_rule(linalg.solve_sylvester, Array, Array, Array, broadcasts=True, lists=True)
def solve_sylvester_rule(a, b, q):
    y = linalg.solve_sylvester(a, b, q)
    check_mixture("solve_sylvester", (a, b), q, np.matmul(a, y) + np.matmul(y, b))

    def solve_sylvester_pushforward(a_dot, b_dot, q_dot):
        return sylvester(a, b, q_dot - np.matmul(a_dot, y) - np.matmul(y, b_dot))

    def solve_sylvester_pullback(y_bar):
        z, yh = sylvester(adjoint(a), adjoint(b), y_bar), adjoint(y)
        return thunk(lambda: -np.matmul(z, yh)), thunk(lambda: -np.matmul(yh, z)), z

    return y, solve_sylvester_pushforward, solve_sylvester_pullback


@pair_rule(linalg.solve_continuous_lyapunov, Array, Array, broadcasts=True, lists=True)
def solve_continuous_lyapunov_rule(a, q):
    y = linalg.solve_continuous_lyapunov(a, q)
    name = "solve_continuous_lyapunov"
    check_mixture(name, (a,), q, np.matmul(a, y) + np.matmul(y, adjoint(a)))

    def solve_continuous_lyapunov_pushforward(a_dot, q_dot):
        return lyapunov(a, q_dot - np.matmul(a_dot, y) - np.matmul(y, adjoint(a_dot)))

    def solve_continuous_lyapunov_pullback(y_bar):
        z = lyapunov(adjoint(a), y_bar)
        return thunk(lambda: -np.matmul(z, adjoint(y)) - np.matmul(adjoint(z), y)), z

    return y, solve_continuous_lyapunov_pushforward, solve_continuous_lyapunov_pullback


@pair_rule(linalg.solve_discrete_lyapunov, Array, Array, broadcasts=True, lists=True)
def solve_discrete_lyapunov_rule(a, q, *, method=None):
    y = linalg.solve_discrete_lyapunov(a, q, method)
    name = "solve_discrete_lyapunov"
    check_mixture(name, (a,), q, y - np.matmul(np.matmul(a, y), adjoint(a)))

    def solve_discrete_lyapunov_pushforward(a_dot, q_dot):
        first = np.matmul(np.matmul(a_dot, y), adjoint(a))
        second = np.matmul(np.matmul(a, y), adjoint(a_dot))
        return discrete_lyapunov(a, q_dot + first + second, method)

    def solve_discrete_lyapunov_pullback(y_bar):
        z = discrete_lyapunov(adjoint(a), y_bar, method)

        def a_bar():
            return np.matmul(np.matmul(z, a), adjoint(y)) + np.matmul(np.matmul(adjoint(z), a), y)

        return thunk(a_bar), z

    return y, solve_discrete_lyapunov_pushforward, solve_discrete_lyapunov_pullback


# ----------------------------------------------------------------------------- Riccati equations


class Loop:
    """A solved Riccati equation: its gain, its closed loop, and how its solution answers."""

    def __init__(self, x: Any, a: Any, b: Any, r: Any, e: Any, s: Any, discrete: bool) -> None:
        self.x, self.e, self.discrete = x, e, discrete
        xb = np.matmul(x, b)
        if discrete:
            right, r = np.matmul(adjoint(xb), a), r + np.matmul(adjoint(b), xb)
        else:
            right = adjoint(xb) if e is None else np.matmul(adjoint(xb), e)
        self.gain = np.linalg.solve(r, right if s is None else right + adjoint(s))
        self.closed = a - np.matmul(b, self.gain)
        self.back = None if e is None else np.linalg.inv(e)

    def transition(self) -> Any:
        """C E⁻¹."""
        return self.closed if self.e is None else np.matmul(self.closed, self.back)

    def with_e(self, x: Any) -> Any:
        """X E."""
        return x if self.e is None else np.matmul(x, self.e)

    def answer(self, f_dot: Any) -> Any:
        """The tangent of the solution, from that of the residual."""
        if self.e is not None:
            f_dot = np.matmul(np.matmul(adjoint(self.back), f_dot), self.back)
        m = adjoint(self.transition())
        if self.discrete:
            return linalg.solve_discrete_lyapunov(m, f_dot)
        return linalg.solve_continuous_lyapunov(m, -f_dot)

    def weight(self, x_bar: Any) -> Any:
        """The cotangent of the residual, from that of the solution: the adjoint of `answer`."""
        m = self.transition()
        if self.discrete:
            z = linalg.solve_discrete_lyapunov(m, x_bar)
        else:
            z = -linalg.solve_continuous_lyapunov(m, x_bar)
        if self.e is None:
            return z
        return np.matmul(np.matmul(self.back, z), adjoint(self.back))


def riccati_pullback(loop: Loop, x_bar: Any, e: Any, s: Any) -> tuple:
    """The cotangents of a, b, q, r, e and s."""
    w = hermitian(loop.weight(hermitian(x_bar)))
    gain_h, x = adjoint(loop.gain), loop.x
    wg = np.matmul(w, gain_h)
    of_closed, of_e = np.matmul(np.matmul(x, loop.closed), w), np.matmul(loop.with_e(x), w)
    a_bar = 2 * (of_closed if loop.discrete else of_e)
    e_bar = -2 * of_e if loop.discrete else 2 * of_closed
    return (
        a_bar,
        thunk(lambda: -np.matmul(a_bar, gain_h)),
        w,
        thunk(lambda: np.matmul(loop.gain, wg)),
        *([] if e is None else [e_bar]),
        *([] if s is None else [-2 * wg]),
    )


def twice_hermitian(x: Any) -> Any:
    return x + adjoint(x)


def riccati_tangent(loop: Loop, dots: tuple) -> Any:
    """The tangent of the solution."""
    a_dot, b_dot, q_dot, r_dot, e_dot, s_dot = dots
    g = loop.gain
    nh_x = np.matmul(adjoint(a_dot - np.matmul(b_dot, g)), loop.x)
    f_dot = q_dot + np.matmul(np.matmul(adjoint(g), r_dot), g)
    moved = np.matmul(nh_x, loop.closed) if loop.discrete else loop.with_e(nh_x)
    if s_dot is not None:
        moved = moved - np.matmul(s_dot, g)
    if e_dot is not None:
        eh_x = np.matmul(adjoint(e_dot), loop.x)
        moved = moved + (-loop.with_e(eh_x) if loop.discrete else np.matmul(eh_x, loop.closed))
    return hermitian(loop.answer(f_dot + twice_hermitian(moved)))


def register_riccati(f: Any, discrete: bool) -> None:
    """Register both rules, with and without the last two arguments."""

    def solved(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> tuple[Any, Loop]:
        x = f(a, b, q, r, e, s, balanced)
        return x, Loop(x, a, b, r, e, s, discrete)

    @pair_rule(f, Array, Array, Array, Array, lists=True)
    def riccati_rule(a, b, q, r, e=None, s=None, *, balanced=True):
        if np.ndim(a) != 2:
            return None
        y, loop = solved(a, b, q, r, e, s, balanced)

        def solve_are_pushforward(*dots):
            given = [None if x is None else dot for x, dot in zip((e, s), dots[4:], strict=True)]
            return riccati_tangent(loop, (*dots[:4], *given))

        def solve_are_pullback(y_bar):
            a_bar, b_bar, q_bar, r_bar, *more = riccati_pullback(loop, y_bar, e, s)
            e_bar = NoTangent() if e is None else more.pop(0)
            return a_bar, b_bar, q_bar, r_bar, e_bar, NoTangent() if s is None else more[0]

        return y, solve_are_pushforward, solve_are_pullback


register_riccati(linalg.solve_continuous_are, discrete=False)
register_riccati(linalg.solve_discrete_are, discrete=True)
