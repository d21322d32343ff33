"""Finite differences: derivatives from values of the primal alone.

A method is a stencil and its Richardson table. The stencil's points are `k·h` for small integers
k; `h` starts as large as the method may reach and is halved until two rows of the table agree.
Each row removes one more term of the error's expansion in `h`, so smooth functions reach a
relative precision of about 1e-11 in eight evaluations, and functions with a kink nearby are
still right once the stencil is small enough not to touch it. Each component of the result takes
the entry of the table with the smallest error estimate.

`h` is a power of two: points of different rows coincide and are evaluated once.

Reference: C. Ridders, *Accurate computation of F'(x) and F'(x) F''(x)*, Advances in Engineering
Software 4 (1982).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from chainrules_core.testing.numeric.precision import coarsest, widen
from chainrules_core.testing.numeric.vectors import (
    fresh,
    tangent_to_vector,
    to_vector,
    vector_to_tangent,
)

EPSILON = float(np.finfo(np.float64).eps)

# Outside its domain a function answers with one of these, or with nan.
_OUTSIDE = (ArithmeticError, ValueError, IndexError)
_SHRINKS = 14


@dataclass(frozen=True)
class FiniteDifferences:
    """A finite difference method; made by `central_fdm`, `forward_fdm` and `backward_fdm`.

    Parameters
    ----------
    grid : tuple of int
        The stencil's points, in steps.
    order : int
        Which derivative is estimated.
    reach : float
        The farthest a point may lie from x, as a fraction of the size of x.
    max_range : float
        The farthest a point may lie from x, absolutely: for functions with an edge nearby.
    levels : int
        How often the step may be halved.
    """

    grid: tuple[int, ...]
    order: int = 1
    reach: float = 0.03125
    max_range: float = math.inf
    levels: int = 12

    def __post_init__(self) -> None:
        if not 1 <= self.order < len(self.grid):
            raise ValueError(
                f"a derivative of order {self.order} needs at least {self.order + 1} points "
                f"and an order of 1 or more; the grid {self.grid} has {len(self.grid)}."
            )

    def __call__(self, f: Callable[[Any], Any], x: float = 0.0) -> Any:
        """Return the derivative at `x` of `f`, a function of one real number.

        Examples
        --------
        >>> float(central_fdm(5, 1)(math.sin, 1.0) - math.cos(1.0)) < 1e-12
        True
        >>> round(float(central_fdm(5, 2)(math.exp, 0.0)), 6)
        1.0
        """
        x = float(x)
        shape = np.shape(f(x))
        derivative, _ = self.along(
            lambda t: np.asarray(f(x + t)).ravel(), self.farthest(np.array([x]), np.ones(1))
        )
        return derivative.reshape(shape)[()]

    def farthest(self, x: np.ndarray, direction: np.ndarray) -> float:
        """Return how far `x` may move along `direction`, by the size of its entries.

        Entries much smaller than the largest one may move further, relatively: by a twentieth
        of what the largest one may.
        """
        moved = direction != 0
        if not moved.any():
            return 0.0
        size = np.abs(x)
        largest = float(size.max())
        if not 0 < largest < math.inf:
            size, largest = np.ones_like(size), 1.0
        allowed = np.minimum(self.reach * np.maximum(size, 0.05 * largest), self.max_range)
        return float((allowed[moved] / np.abs(direction[moved])).min())

    @np.errstate(all="ignore")  # what is outside of a domain is looked for, and no surprise
    def along(
        self,
        g: Callable[[float], np.ndarray],
        farthest: float,
        y: np.ndarray | None = None,
        epsilon: float = EPSILON,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivative at 0 of `g`, a vector along a line, and its estimated error.

        Parameters
        ----------
        g : callable
            Takes a real number, returns a vector.
        farthest : float
            The largest argument to try.
        y : array, optional
            ``g(0)``, where it is known already.
        epsilon : float
            The relative precision of g's values.
        """
        y = g(0.0) if y is None else y
        if farthest == 0.0 or y.size == 0:
            return np.zeros(y.shape), np.zeros(y.shape)
        values = {0.0: y}
        finite = np.isfinite(y)
        coefficients, exponent, spacing = _stencil(self.grid, self.order)
        width = max(abs(k) for k in self.grid)
        h = 2.0 ** math.floor(math.log2(farthest / width))
        noise = epsilon * np.where(finite, np.abs(y), 0.0) * np.abs(coefficients).sum()
        table = _Table(exponent, spacing)
        level = shrinks = 0
        while level < self.levels:
            try:
                points = [_value(g, k * h, values, finite) for k in self.grid]
            except _OUTSIDE:
                shrinks += 1
                if level or shrinks > _SHRINKS:
                    if level:
                        break
                    raise
                h /= 4
                continue
            slope = sum(c * p for c, p in zip(coefficients, points, strict=True)) / h**self.order
            table.add(slope, noise / h**self.order)
            good_enough = 1e-11 * np.abs(table.best[finite]).max(initial=0.0)
            if level and (table.error <= good_enough + 4 * noise / h**self.order)[finite].all():
                break
            level, h = level + 1, h / 2
        return table.best, table.error


class _Table:
    """Richardson's table: each row halves the step, each column removes a term of the error."""

    def __init__(self, exponent: int, spacing: int) -> None:
        self.exponent, self.spacing = exponent, spacing
        self.row: list[np.ndarray] = []
        self.best = self.error = np.zeros(0)

    def add(self, slope: np.ndarray, noise: np.ndarray) -> None:
        """Add the row that starts with `slope`."""
        if not self.row:
            self.row, self.best = [slope], slope
            self.error = np.full(slope.shape, np.inf)
            return
        row = [slope]
        self._consider(slope, np.abs(slope - self.row[0]) + noise)
        for j, before in enumerate(self.row):
            factor = 2.0 ** (self.exponent + j * self.spacing)
            refined = row[j] + (row[j] - before) / (factor - 1)
            distance = np.maximum(np.abs(refined - row[j]), np.abs(refined - before))
            self._consider(refined, distance + noise)
            row.append(refined)
        self.row = row

    def _consider(self, value: np.ndarray, error: np.ndarray) -> None:
        better = ~(error >= self.error)
        self.best = np.where(better, value, self.best)
        self.error = np.where(better, error, self.error)


def _value(
    g: Callable[[float], np.ndarray], t: float, values: dict[float, np.ndarray], finite: np.ndarray
) -> np.ndarray:
    """Return ``g(t)``, from memory if possible; what is out of the domain is an error."""
    value = values.get(t)
    if value is None:
        value = g(t)
        if value.shape != finite.shape or not np.isfinite(value[finite]).all():
            raise FloatingPointError(
                "finite differences: next to the point, the function is not finite or its output "
                "has another size. At an edge of its domain use forward_fdm() or backward_fdm()."
            )
        values[t] = value
    return value


@lru_cache
def _stencil(grid: tuple[int, ...], order: int) -> tuple[np.ndarray, int, int]:
    """Return a stencil's coefficients, the power of h in its error, and the powers' spacing."""
    n = len(grid)
    powers = np.vander(np.array(grid, dtype=float), n, increasing=True).T
    right = np.zeros(n)
    right[order] = math.factorial(order)
    coefficients = np.linalg.solve(powers, right)
    symmetric = sorted(grid) == sorted(-k for k in grid)
    exponent = n - order
    while _vanishes(coefficients * np.array(grid, dtype=float) ** (exponent + order)):
        exponent += 1
    return coefficients, exponent, 2 if symmetric else 1


def _vanishes(terms: np.ndarray) -> bool:
    return abs(terms.sum()) < 1e-9 * np.abs(terms).sum()


def central_fdm(points: int = 5, order: int = 1, **options: Any) -> FiniteDifferences:
    """Make a central difference method with `points` points.

    Parameters
    ----------
    points : int
        How many points the stencil has; where it is even, x itself is left out.
    order : int
        Which derivative is estimated.
    **options
        ``reach``, ``max_range`` and ``levels`` of `FiniteDifferences`.

    Examples
    --------
    >>> central_fdm(5, 1).grid
    (-2, -1, 0, 1, 2)
    >>> round(float(central_fdm(5, 1)(abs, -3.0)), 9)
    -1.0
    """
    half = points // 2
    grid = [k for k in range(-half, half + 1) if k or points % 2]
    return FiniteDifferences(tuple(grid), order, **options)


def forward_fdm(points: int = 5, order: int = 1, **options: Any) -> FiniteDifferences:
    """Make a method that looks only to the right: for kinks, and edges of a domain.

    The parameters are those of `central_fdm`.

    Examples
    --------
    >>> round(float(forward_fdm(5, 1)(abs, 0.0)), 9)
    1.0
    """
    return FiniteDifferences(tuple(range(points)), order, **options)


def backward_fdm(points: int = 5, order: int = 1, **options: Any) -> FiniteDifferences:
    """Make a method that looks only to the left: for kinks, and edges of a domain.

    The parameters are those of `central_fdm`.

    Examples
    --------
    >>> round(float(backward_fdm(5, 1)(abs, 0.0)), 9)
    -1.0
    """
    return FiniteDifferences(tuple(-k for k in range(points)), order, **options)


def jvp_fd(
    f: Callable, args: tuple, dots: tuple, fdm: FiniteDifferences | None = None, **kwargs: Any
) -> Any:
    """Return the tangent of ``f(*args)`` along `dots`, from finite differences.

    Parameters
    ----------
    f : callable
        The function; `args` are its positional arguments, `kwargs` its options.
    args, dots : tuple
        The primals and their tangents: of any structure, zeros included.
    fdm : FiniteDifferences, optional
        The method; `central_fdm()` by default.

    Examples
    --------
    >>> float(np.round(jvp_fd(np.multiply, (2.0, 3.0), (1.0, 10.0)), 9))
    23.0
    """
    point = Point(f, args, kwargs, fdm)
    directions = [tangent_to_vector(x, dot) for x, dot in zip(args, dots, strict=True)]
    derivative, _ = point.derivative(directions)
    return vector_to_tangent(point.y, derivative)


def vjp_fd(
    f: Callable, args: tuple, y_bar: Any, fdm: FiniteDifferences | None = None, **kwargs: Any
) -> tuple:
    """Return the cotangents of `args` for the cotangent `y_bar` of ``f(*args)``.

    One directional derivative is taken for each coordinate of each argument, so this is for
    small arguments. Integers are held to be constants: give floats where they are not.

    The parameters are those of `jvp_fd`, with a cotangent of the output in place of `dots`.

    Examples
    --------
    >>> a_bar, b_bar = vjp_fd(np.multiply, (2.0, 3.0), 1.0)
    >>> float(np.round(a_bar, 9)), float(np.round(b_bar, 9))
    (3.0, 2.0)
    """
    point = Point(f, args, kwargs, fdm)
    y_vector = tangent_to_vector(point.y, y_bar)
    return tuple(
        vector_to_tangent(x, point.gradient(number, y_vector)[0]) for number, x in enumerate(args)
    )


class Point:
    """A function at a point, its arguments laid out as vectors of float64.

    What is perturbed is a copy in double precision, so that the differences are precise also
    where the arguments are float32.
    """

    def __init__(
        self, f: Callable, args: tuple, kwargs: dict[str, Any], fdm: FiniteDifferences | None
    ) -> None:
        self.f = f
        self.kwargs = kwargs
        self.fdm = fdm or central_fdm()
        self.vectors, self._rebuild = [], []
        for x in args:
            vector, rebuild = to_vector(widen(x))
            self.vectors.append(vector)
            # The function may change a constant in place: a generator of random numbers, a list.
            self._rebuild.append(rebuild if vector.size else lambda _, x=x: fresh(x))
        self.y = self._call(self.vectors)
        self.y_vector, _ = to_vector(self.y)
        self._epsilon = max(EPSILON, coarsest(self.y))

    def _call(self, vectors: list[np.ndarray]) -> Any:
        args = [rebuild(vector) for rebuild, vector in zip(self._rebuild, vectors, strict=True)]
        return self.f(*args, **fresh(self.kwargs))

    def derivative(
        self, directions: list[np.ndarray], fdm: FiniteDifferences | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivative of the output's vector along `directions`, and its error."""
        moving = [n for n, direction in enumerate(directions) if direction.any()]
        fdm = fdm or self.fdm
        farthest = min((fdm.farthest(self.vectors[n], directions[n]) for n in moving), default=0.0)

        def line(t: float) -> np.ndarray:
            vectors = list(self.vectors)
            for n in moving:
                vectors[n] = vectors[n] + t * directions[n]
            return to_vector(self._call(vectors))[0]

        return fdm.along(line, farthest, self.y_vector, self._epsilon)

    def gradient(
        self, number: int, y_bar: np.ndarray, coordinates: Sequence[int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the cotangent of one argument for the output's `y_bar`, and its error.

        Where `coordinates` are given, only these are computed.
        """
        if coordinates is None:
            coordinates = range(self.vectors[number].size)
        gradient, error = np.empty(len(coordinates)), np.empty(len(coordinates))
        directions = [np.zeros(vector.size) for vector in self.vectors]
        for i, coordinate in enumerate(coordinates):
            directions[number][coordinate] = 1.0
            column, column_error = self.derivative(directions)
            directions[number][coordinate] = 0.0
            gradient[i], error[i] = dot(y_bar, column), dot(np.abs(y_bar), column_error)
        return gradient, error

    def doubt(
        self,
        directions: list[np.ndarray],
        derivative: np.ndarray,
        error: np.ndarray,
        rtol: float,
    ) -> str:
        """Return a remark where finite differences cannot be trusted; "" where they can.

        Parameters
        ----------
        directions : list of array
            Where to look for a kink.
        derivative, error : array
            The derivative and its estimated error.
        rtol : float
            The error that is none.
        """
        known = np.isfinite(derivative) & np.isfinite(error)
        size = float(np.abs(derivative[known]).max(initial=1e-3))
        worst = float(error[known].max(initial=0.0))
        sides = self._sides(directions)
        if sides is not None and np.abs(sides[0] - sides[1]).max(initial=0.0) > 1e-3 * np.abs(
            sides
        ).max(initial=0.0):
            why = "the derivatives to the left and to the right differ"
        elif worst > rtol * size:
            why = f"their estimated error is {worst:.2g}"
        else:
            return ""
        return (
            f" But finite differences cannot be trusted here, since {why}: is there a kink, or "
            "the edge of a domain? Move the argument, or pass fdm=forward_fdm()."
        )

    def _sides(self, directions: list[np.ndarray]) -> np.ndarray | None:
        """Return the derivatives to both sides; None where there are none to be had."""
        if any(k > 0 for k in self.fdm.grid) is not any(k < 0 for k in self.fdm.grid):
            return None
        try:
            return np.array(
                [self.derivative(directions, f())[0] for f in (forward_fdm, backward_fdm)]
            )
        except _OUTSIDE:
            return None


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return the inner product of two vectors of coordinates; zeros in `a` win over Inf and NaN."""
    if not np.isfinite(b).all():
        b = np.where(a == 0, 0.0, b)
    return float(a @ b)
