"""Cubic splines: the coefficients that values and slopes at the breaks make, in one step.

With h the widths of the pieces, s the slopes at their ends and d = (y₁ - y₀)/h, a piece has

    c₀ = t/h,  c₁ = (d - s₀)/h - t,  c₂ = s₀,  c₃ = y₀,  where t = (s₀ + s₁ - 2 d)/h.

Constructors but that of `CubicSpline` are traced for the slopes, and hand them over here; its own
slopes solve a tridiagonal system, and move as its rows do. SciPy's checks of the data see plain
values.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import linalg
from scipy.interpolate import CubicHermiteSpline, CubicSpline, PPoly

from chainrules.scipy.interpolate.kernels import twin_of
from chainrules.scipy.namespaces import namespace
from chainrules.scipy.private import Private
from chainrules_core import Array, NoTangent, decompose, frule, non_differentiable, primitive, rrule
from chainrules_core.authoring import scatter

_cubic = Private("interpolate._cubic")


def per_piece(x: Any, ndim: int) -> Any:
    """Return the widths between breaks, one for each row of an array of so many axes."""
    return np.reshape(x[1:] - x[:-1], (-1,) + (1,) * (ndim - 1))


def at_both_ends(first: Any, second: Any) -> Any:
    """Add up what belongs to the first and what to the second end of each piece."""
    return np.concatenate([first[:1], first[1:] + second[:-1], second[-1:]])


@primitive
def hermite(x: Any, y: Any, s: Any) -> Any:
    """Return the coefficients of cubic pieces with values `y` and slopes `s` at breaks `x`."""
    h = per_piece(x, np.ndim(y))
    first, d = s[:-1], (y[1:] - y[:-1]) / h
    t = (first + s[1:] - 2 * d) / h
    return np.stack([t / h, (d - first) / h - t, first, y[:-1]])


@rrule.register(hermite, Array, Array, Array)
def hermite_rrule(x, y, s):
    c = hermite(x, y, s)

    def hermite_pullback(c_bar):
        return hermite_adjoint(c_bar, x, y, s, c)

    return c, hermite_pullback


def hermite_adjoint(c_bar: Any, x: Any, y: Any, s: Any, c: Any) -> tuple[Any, Any, Any]:
    """Return the cotangents of breaks, values and slopes."""
    h = per_piece(x, np.ndim(y))
    by_cube, by_square = c_bar[0] / h, c_bar[1] / h
    by_t = (by_cube - c_bar[1]) / h
    by_d = (by_square - 2 * by_t) / h
    # Each quotient by h changes by -1/h of itself.
    t, d = h * c[0], (y[1:] - y[:-1]) / h
    by_h = -(by_cube * np.conj(c[0]) + by_square * np.conj(c[1] + t))
    by_h = np.real(by_h - by_t * np.conj(t) - by_d * np.conj(d))
    by_h = np.sum(np.reshape(by_h, (np.shape(h)[0], -1)), axis=1)
    return (
        at_both_ends(-by_h, by_h),
        at_both_ends(c_bar[3] - by_d, by_d),
        at_both_ends(c_bar[2] - by_square + by_t, by_t),
    )


@frule.register(hermite, Array, Array, Array)
def hermite_frule(dots, x, y, s):
    c = hermite(x, y, s)
    return c, hermite_pushed(dots, x, y, s, c)


def hermite_pushed(dots: Any, x: Any, y: Any, s: Any, c: Any) -> Any:
    """Return how the coefficients move with breaks, values and slopes."""
    x_dot, y_dot, s_dot = dots
    h, h_dot = per_piece(x, np.ndim(y)), per_piece(x_dot, np.ndim(y))
    t, d = h * c[0], (y[1:] - y[:-1]) / h
    d_dot = (y_dot[1:] - y_dot[:-1] - d * h_dot) / h
    t_dot = (s_dot[:-1] + s_dot[1:] - 2 * d_dot - t * h_dot) / h
    square = (d_dot - s_dot[:-1] - (c[1] + t) * h_dot) / h - t_dot
    return np.stack([(t_dot - c[0] * h_dot) / h, square, s_dot[:-1], y_dot[:-1]])


def in_namespace(f: Any) -> dict[str, Any]:
    """NumPy's namespace as an option, for a function that wants one: since SciPy 1.17 some do."""
    return {"xp": namespace} if "xp" in inspect.signature(f).parameters else {}


NAMESPACE = in_namespace(_cubic.prepare_input)


@non_differentiable
def checked(*args: Any, **options: Any) -> tuple:
    return _cubic.prepare_input(*args, **options)


def prepared(data: tuple, x: Any, y: Any, dydx: Any = None) -> tuple:
    """Return traced data in the form in which SciPy has them, who has checked them."""
    _, _, plain, axis, _ = data
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=plain.dtype)
    dydx = None if dydx is None else np.asarray(dydx, dtype=plain.dtype)
    if axis:
        y = np.moveaxis(y, axis, 0)
        dydx = None if dydx is None else np.moveaxis(dydx, axis, 0)
    return x, y, axis, dydx


@decompose(_cubic.prepare_input)
def prepare_input_body(x, y, axis, dydx=None, **options):
    x, y, axis, dydx = prepared(checked(x, y, axis, dydx, **options), x, y, dydx)
    return x, np.diff(x), y, axis, dydx


@decompose(CubicHermiteSpline.__init__)
def hermite_spline_body(self, x, y, dydx, axis=0, extrapolate=None):
    data = checked(x, y, axis, dydx, **NAMESPACE)
    x, y, axis, dydx = prepared(data, x, y, dydx)
    extrapolate = True if extrapolate is None else extrapolate
    PPoly.__init__(self, hermite(x, y, dydx), x, extrapolate=extrapolate)
    self.axis = axis


# ---------------------------------------------------------------------------- slopes of CubicSpline

NOT_A_KNOT, SLOPE, CURVATURE = range(3)
"""What is asked for at an end, by the order of the derivative that is given there."""

Kinds = tuple[int, int]


def conditions(kinds: Kinds, first: Any, last: Any) -> tuple:
    """What is asked for at both ends, as SciPy takes it."""
    given = zip(kinds, (first, last), strict=True)
    return tuple("not-a-knot" if kind == NOT_A_KNOT else (kind, value) for kind, value in given)


def bands(h: Any, kinds: Kinds) -> Any:
    """Return the matrix of the system, transposed, with one diagonal on each side."""
    rows = []
    for kind, near, next_ in ((kinds[0], h[:1], h[1:2]), (kinds[1], h[-1:], h[-2:-1])):
        one = np.ones(1)
        rows.append(((next_, near + next_), (one, 0 * one), (2 * near, near))[kind])
    (first, first_beside), (last, last_beside) = rows
    none = np.zeros(1)
    return np.stack(
        [
            np.concatenate([none, h[1:], last_beside]),
            np.concatenate([first, 2 * (h[:-1] + h[1:]), last]),
            np.concatenate([first_beside, h[:-1], none]),
        ]
    )


def of_the_end(kind: int, sign: int, v: Any, h: Any, d: Any, s: Any) -> tuple:
    """Return how the residual of the row of an end changes with two widths, two d and with `v`.

    The widths, d and slopes are those of the end and those next to it. At the last end, which is
    the first one seen from the other side, curvatures count with the other `sign`.
    """
    near, beside = h
    none = 0 * d[0]
    if kind == SLOPE:
        return (none, none), (0 * near, 0 * near), 1.0
    if kind == CURVATURE:
        by_h = 3 * d[0] - 2 * s[0] - s[1] - sign * near * v
        return (by_h, none), (3 * near, 0 * near), -0.5 * sign * near**2
    both = near + beside
    mean = ((3 * near + 2 * beside) * beside * d[0] + near**2 * d[1]) / both**2
    by_near = (3 * beside * d[0] + 2 * near * d[1]) / both - mean - s[1]
    by_beside = (3 * near + 4 * beside) * d[0] / both - mean - s[0] - s[1]
    return (by_near, by_beside), ((3 * near + 2 * beside) * beside / both, near**2 / both), 0.0


class Rows:
    """The rows of the system at its solution, and how their residuals change.

    Attributes
    ----------
    h, d, s : array
        Widths, divided differences and slopes, with a column for each spline.
    matrix : array
        The bands of the matrix, transposed.
    ends : list of tuple
        What `of_the_end` returns.
    """

    def __init__(self, x: Any, y: Any, c: Any, first: Any, last: Any, kinds: Kinds) -> None:
        n = np.shape(x)[0]
        self.shape = np.shape(y)
        self.h = per_piece(x, 2)
        self.d = np.diff(np.reshape(y, (n, -1)), axis=0) / self.h
        self.columns = np.shape(self.d)[1]
        c = np.reshape(c, (4, n - 1, self.columns))
        slope = c[0, -1:] * self.h[-1:] ** 2 + 2 * self.d[-1:] - c[2, -1:]
        self.s = np.concatenate([c[2], slope])
        self.matrix = bands(self.h[:, 0], kinds)
        h, d, s = self.h, self.d, self.s
        self.ends = [
            of_the_end(kinds[0], 1, self.row(first), (h[0], h[1]), (d[0], d[1]), (s[0], s[1])),
            of_the_end(
                kinds[1], -1, self.row(last), (h[-1], h[-2]), (d[-1], d[-2]), (s[-1], s[-2])
            ),
        ]

    def row(self, v: Any) -> Any:
        """What is given at an end, for each spline."""
        return np.reshape(v, (self.columns,))

    def inner(self) -> tuple[Any, Any]:
        """How the residuals of the other rows change with the widths before and behind a break."""
        d, s = self.d, self.s
        return 3 * d[1:] - 2 * s[1:-1] - s[2:], 3 * d[:-1] - s[:-2] - 2 * s[1:-1]

    def at_ends(self, start: tuple, end: tuple) -> Any:
        """Return zeros with two rows at each end: the outer one, and that next to it."""
        m = np.shape(self.h)[0]
        places = np.array([0, 1, m - 1, m - 2])
        parts = np.stack([*start, *end])
        return scatter(parts, places, (m, *np.shape(parts)[1:]), parts.dtype)

    def back(self, s_bar: Any) -> tuple[Any, Any, Any, Any]:
        """Return the cotangents of widths, of d and of what is given at the ends."""
        bar = linalg.solve_banded((1, 1), self.matrix, s_bar, check_finite=False)
        before, behind = self.inner()
        by_h = at_both_ends(
            *[np.sum(np.real(bar[1:-1] * np.conj(p)), axis=1) for p in (before, behind)]
        )
        by_d = at_both_ends(3 * self.h[1:] * bar[1:-1], 3 * self.h[:-1] * bar[1:-1])
        outer = list(zip((bar[0], bar[-1]), self.ends, strict=True))
        by_h = by_h + self.at_ends(
            *[tuple([np.sum(np.real(b * np.conj(p))) for p in of_h]) for b, (of_h, _, _) in outer]
        )
        by_d = by_d + self.at_ends(*[tuple([p * b for p in of_d]) for b, (_, of_d, _) in outer])
        return by_h, by_d, *[b * of_v for b, (_, _, of_v) in outer]

    def forth(self, h_dot: Any, d_dot: Any, first_dot: Any, last_dot: Any) -> Any:
        """Return how the slopes move."""
        before, behind = self.inner()
        inside = before * h_dot[:-1] + behind * h_dot[1:]
        inside = inside + 3 * (self.h[1:] * d_dot[:-1] + self.h[:-1] * d_dot[1:])
        rows = []
        for i, j, v_dot, (of_h, of_d, of_v) in zip(
            (0, -1), (1, -2), (first_dot, last_dot), self.ends, strict=True
        ):
            moved = of_h[0] * h_dot[i] + of_h[1] * h_dot[j] + of_v * self.row(v_dot)
            rows.append((moved + of_d[0] * d_dot[i] + of_d[1] * d_dot[j])[None])
        matrix = self.matrix
        none = np.zeros(1)
        upright = np.stack(
            [
                np.concatenate([none, matrix[2, :-1]]),
                matrix[1],
                np.concatenate([matrix[0, 1:], none]),
            ]
        )
        moved = np.concatenate([rows[0], inside, rows[1]])
        return linalg.solve_banded((1, 1), upright, moved, check_finite=False)


@primitive
def cubic(x: Any, y: Any, first: Any, last: Any, kinds: Kinds) -> Any:
    """Return the coefficients of cubic splines with values `y` at `x`, and this at the ends."""
    return CubicSpline(x, y, bc_type=conditions(kinds, first, last)).c


@rrule.register(cubic, Array, Array, Array, Array)
def cubic_rrule(x, y, first, last, kinds):
    c = cubic(x, y, first, last, kinds)

    def cubic_pullback(c_bar):
        rows = Rows(x, y, c, first, last, kinds)
        s = np.reshape(rows.s, np.shape(y))
        x_bar, y_bar, s_bar = hermite_adjoint(c_bar, x, y, s, c)
        by_h, by_d, *ends = rows.back(np.reshape(s_bar, (np.shape(x)[0], -1)))
        by_step = by_d / rows.h
        by_h = by_h - np.sum(np.real(by_step * np.conj(rows.d)), axis=1)
        by_step = np.reshape(by_step, (-1, *np.shape(y)[1:]))
        return (
            x_bar + at_both_ends(-by_h, by_h),
            y_bar + at_both_ends(-by_step, by_step),
            *[np.reshape(bar, np.shape(first)) for bar in ends],
            NoTangent(),
        )

    return c, cubic_pullback


@frule.register(cubic, Array, Array, Array, Array)
def cubic_frule(dots, x, y, first, last, kinds):
    x_dot, y_dot, first_dot, last_dot = dots[:4]
    c = cubic(x, y, first, last, kinds)
    rows = Rows(x, y, c, first, last, kinds)
    h_dot = per_piece(x_dot, 2)
    d_dot = (np.diff(np.reshape(y_dot, np.shape(rows.s)), axis=0) - rows.d * h_dot) / rows.h
    s_dot = rows.forth(h_dot, d_dot, first_dot, last_dot)
    s, s_dot = (np.reshape(v, np.shape(y)) for v in (rows.s, s_dot))
    return c, hermite_pushed((x_dot, y_dot, s_dot), x, y, s, c)


# SciPy's own constructor, which is traced for what is rare.
by_scipy = twin_of(CubicSpline.__init__)


def ends_of(bc_type: Any, y: Any) -> tuple[Kinds, Any, Any] | None:
    """Return what is asked for at both ends; None for what is left to SciPy's constructor."""
    n, kinds, values = np.shape(y)[0], [], []
    both = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    if n < 3 or not np.size(y) or len(both) != 2:
        return None
    for end in both:
        if isinstance(end, str):
            kinds.append(END_NAMES.get(end))
            values.append(np.zeros(np.shape(y)[1:]))
        else:
            kinds.append(end[0] if len(end) == 2 and end[0] in (SLOPE, CURVATURE) else None)
            value = np.asarray(end[-1])
            values.append(value if value.dtype.kind in "fc" else value.astype(float))
    if None in kinds or (n == 3 and kinds == [NOT_A_KNOT, NOT_A_KNOT]):
        return None
    return (kinds[0], kinds[1]), values[0], values[1]


END_NAMES = {"not-a-knot": NOT_A_KNOT, "clamped": SLOPE, "natural": CURVATURE}


@decompose(CubicSpline.__init__)
def cubic_spline_body(self, x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    found_x, found_y, found_axis, _ = prepared(checked(x, y, axis, **NAMESPACE), x, y)
    ends = ends_of(bc_type, found_y)
    if ends is None:
        by_scipy(self, x, y, axis, bc_type, extrapolate)
        return
    kinds, first, last = ends
    c = cubic(found_x, found_y, first, last, kinds)
    PPoly.__init__(self, c, found_x, extrapolate=True if extrapolate is None else extrapolate)
    self.axis = found_axis
