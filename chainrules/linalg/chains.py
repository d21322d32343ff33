"""Products of many matrices: ``multi_dot`` and powers.

Reverse mode goes back through the products that were made, at two products for each, instead of
writing out Ā_k = (A_1 … A_{k-1})ᴴ Ȳ (A_{k+1} … A_n)ᴴ for every factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.linalg.matrices import adjoint
from chainrules.linalg.products import first_of_dot, second_of_dot
from chainrules_core import (
    Array,
    ProjectTo,
    Tangent,
    ZeroTangent,
    frule,
    pair_rule,
    rrule,
    unbroadcast,
)
from chainrules_core.authoring import array_of, natural

# --------------------------------------------------------------------------------------- multi_dot


def best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """The splits of each part of the chain that need the fewest multiplications.

    Matrix k has ``sizes[k]`` rows and ``sizes[k + 1]`` columns.

    Examples
    --------
    >>> best_splits([10, 100, 5, 50])[0, 2]  # (A B) C
    1
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return split


class Chain:
    """A chain of matrices and the products that it takes to multiply them.

    The first and the last may be vectors.
    """

    def __init__(self, arrays: list) -> None:
        self.split = {(0, 1): 0}
        if len(arrays) > 2:
            first, last = np.shape(arrays[0]), np.shape(arrays[-1])
            inner = [np.shape(a)[0] for a in arrays[1:]]
            self.split = best_splits(
                [1 if len(first) == 1 else first[0], *inner, 1 if len(last) == 1 else last[1]]
            )
        self.last = len(arrays) - 1
        self.products = {(i, i): a for i, a in enumerate(arrays)}
        self.value = self.product(0, self.last)

    def product(self, i: int, j: int) -> Any:
        """Multiply the matrices from `i` to `j`."""
        if i < j:
            k = self.split[i, j]
            self.products[i, j] = np.dot(self.product(i, k), self.product(k + 1, j))
        return self.products[i, j]

    def tangent(self, dots: list, i: int, j: int) -> Any:
        """Return the tangent of that product."""
        if i == j:
            return dots[i]
        k = self.split[i, j]
        left, right = self.products[i, k], self.products[k + 1, j]
        return np.dot(self.tangent(dots, i, k), right) + np.dot(left, self.tangent(dots, k + 1, j))

    def cotangents(self, y_bar: Any, i: int, j: int) -> list:
        """Return the cotangents of the matrices from `i` to `j` from that of their product."""
        if i == j:  # a number times an array is a product too
            return [unbroadcast(y_bar, np.shape(self.products[i, i]))]
        k = self.split[i, j]
        left, right = self.products[i, k], self.products[k + 1, j]
        return [
            *self.cotangents(first_of_dot(y_bar, left, right), i, k),
            *self.cotangents(second_of_dot(y_bar, left, right), k + 1, j),
        ]


@pair_rule(np.linalg.multi_dot, (list, tuple), shaped_by=(0,))
def multi_dot_rule(arrays):
    chain = Chain([np.asarray(array_of(a)) for a in arrays])
    kind = type(arrays)
    lists = {i: ProjectTo(a) for i, a in enumerate(arrays) if isinstance(a, (list, tuple))}

    def multi_dot_pushforward(arrays_dot):
        return chain.tangent(natural(arrays_dot, arrays), 0, chain.last)

    def multi_dot_pullback(y_bar):
        bars = chain.cotangents(y_bar, 0, chain.last)
        return Tangent[kind](*[lists[i](b) if i in lists else b for i, b in enumerate(bars)])

    return chain.value, multi_dot_pushforward, multi_dot_pullback


# ------------------------------------------------------------------------------------ matrix_power


def squarings(a: Any, n: int) -> tuple[Any, list[tuple[Any, Any, bool]]]:
    """Aⁿ by repeated squaring, and its steps: the power so far, the square, whether it is taken."""
    power, square, steps = None, a, []
    while n:
        n, bit = divmod(n, 2)
        steps.append((power, square, bool(bit)))
        if bit:
            power = square if power is None else np.matmul(power, square)
        if n:
            square = np.matmul(square, square)
    return power, steps


def squarings_back(y_bar: Any, steps: list) -> Any:
    """The cotangent of A from that of Aⁿ."""
    power_bar, square_bar = y_bar, None
    for power, square, is_taken in reversed(steps):
        adjoint_square = adjoint(square)
        if square_bar is not None:  # of the next square
            square_bar = np.matmul(square_bar, adjoint_square) + np.matmul(
                adjoint_square, square_bar
            )
        if is_taken:
            to_square = power_bar if power is None else np.matmul(adjoint(power), power_bar)
            square_bar = to_square if square_bar is None else square_bar + to_square
            power_bar = None if power is None else np.matmul(power_bar, adjoint_square)
    return square_bar


@rrule.register(np.linalg.matrix_power, Array, lists=True)
def matrix_power_rrule(a, *, n):
    if n == 0:

        def constant_pullback(y_bar):
            return ZeroTangent()

        return np.linalg.matrix_power(a, 0), constant_pullback
    base = np.linalg.inv(a) if n < 0 else a
    y, steps = squarings(base, abs(n))

    def matrix_power_pullback(y_bar):
        base_bar = squarings_back(y_bar, steps)
        if n < 0:
            adjoint_base = adjoint(base)
            base_bar = -np.matmul(np.matmul(adjoint_base, base_bar), adjoint_base)
        return base_bar

    return y, matrix_power_pullback


@frule.register(np.linalg.matrix_power, Array, lists=True)
def matrix_power_frule(dots, a, *, n):
    a_dot = dots[0]
    if n == 0:
        return np.linalg.matrix_power(a, 0), ZeroTangent()
    square = a
    if n < 0:
        square = np.linalg.inv(a)
        a_dot = -np.matmul(np.matmul(square, a_dot), square)
    y, steps = squarings(square, abs(n))
    y_dot: Any = None
    square_dot, before = a_dot, None
    for power, square, is_taken in steps:
        if before is not None:
            square_dot = np.matmul(square_dot, before) + np.matmul(before, square_dot)
        before = square
        if is_taken and power is None:
            y_dot = square_dot
        elif is_taken:
            y_dot = np.matmul(y_dot, square) + np.matmul(power, square_dot)
    return y, y_dot
