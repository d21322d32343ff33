"""Random programs against central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient

BLOCKS = 10
PER_BLOCK = 30


def random_program(seed: int) -> tuple[Callable, np.ndarray]:
    """A program on values that all have the shape of x, its sums, and its elements."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 4, size=rng.integers(1, 3)))
    size = int(np.prod(shape))
    steps = [
        (int(rng.integers(11)), *map(int, rng.integers(0, 3, 2)), float(rng.uniform(0.5, 1.5)),
         int(rng.integers(size)), rng.integers(0, shape[0], 3).tolist())
        for _ in range(rng.integers(3, 14))
    ]  # fmt: skip

    def program(x: Any) -> Any:
        values = [x, x * 0.5 + 1.0, np.sin(x)]
        s = 0.0
        for op, i, j, c, k, rows in steps:
            a, b = values[i], values[j]
            match op:
                case 0:
                    values[i] = a + b * c
                case 1:
                    values[i] = c - a
                case 2:
                    values[i] = a * b
                case 3:
                    values[i] = a / (1.5 + b * b)
                case 4:
                    values[i] = np.sin(a + s)
                case 5:
                    values[i] = np.exp(-(a * a))
                case 6:
                    s = s + np.sum(a[rows] * c)
                case 7:
                    s = s * c + np.reshape(a, -1)[k] * np.reshape(b, (size,))[0]
                case 8:
                    values[j] = np.reshape(np.reshape(a, (size,))[::-1], shape)
                case 9:
                    s = s + np.sum(np.sum(a, axis=0) * b[-1])
                case 10:
                    values[j] = a * s + c
        return s + np.sum(values[0] * values[1]) - np.sum(values[2])

    return program, rng.uniform(-1.0, 1.0, shape)


def random_writes(seed: int) -> tuple[Callable, np.ndarray]:
    """A program on arrays that it writes into, under several names and through views."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))

    def index() -> Any:
        return [
            int(rng.integers(-n, n)), slice(0, int(rng.integers(1, n + 1))), slice(None, None, -1),
            rng.integers(0, n, 2).tolist(), rng.integers(0, n, 2), rng.integers(0, 2, n) == 1, ...,
        ][rng.integers(7)]  # fmt: skip

    steps = [
        (int(rng.integers(19)), *map(int, rng.integers(0, 4, 3)), float(rng.uniform(0.5, 1.5)),
         index(), int(rng.integers(n)))
        for _ in range(rng.integers(3, 12))
    ]  # fmt: skip

    def program(x: Any) -> Any:
        v = [np.copy(x), x * 1.5, x, np.zeros(n)]
        s = 0.0
        for op, a, b, c, u, i, k in steps:
            match op:
                case 0:
                    v[a] = v[b] + v[c] * u
                case 1:
                    v[a] = v[b] / (2.0 + v[c] * v[c])
                case 2:
                    v[a] = v[b]  # another name
                case 3:
                    v[a] += v[b] * u
                case 4:
                    v[a] *= u
                case 5:
                    v[a][i] = v[b][k] * u
                case 6:
                    v[a][i] = np.copy(v[b][i]) * u
                case 7:
                    v[a][k] += v[b][0]
                case 8:
                    s = s + np.sum(v[a][i]) * u
                case 9:
                    v[a] = np.copy(v[b])
                case 10:
                    s = s + v[a][k] * v[b][-1]
                case 11:
                    v[a][k] = 3.0
                case 12:
                    v[a] = v[b][::-1]  # a view
                case 13:
                    v[a] = v[b].reshape(1, n)[0]
                case 14:
                    v[a][1:] = v[b][:-1]
                case 15:
                    v[a][1:] *= v[b][:-1]
                case 16:
                    np.multiply(v[b], u, out=v[a])
                case 17:
                    v[a] = np.full(n, u)
                case 18:
                    v[a] -= v[a][::-1]
        return s + np.sum(v[0]) + np.sum(v[1] * v[2]) + v[3][0]

    return program, rng.uniform(-1.0, 1.0, n)


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("make", [random_program, random_writes])
def test_programs_agree_with_central_differences(
    make: Callable, block: int, differences: Callable
) -> None:
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        program, x = make(seed)
        before = x.copy()
        value, found = value_and_gradient(program, x)
        np.testing.assert_array_equal(x, before, err_msg=f"seed {seed}: the argument has changed")
        expected = differences(program, x)
        scale = max(1.0, float(np.abs(expected).max()))
        message = f"{make.__name__}({seed})"
        np.testing.assert_allclose(value, program(x.copy()), rtol=1e-9, err_msg=message)
        np.testing.assert_allclose(found / scale, expected / scale, atol=1e-5, err_msg=message)


@pytest.mark.parametrize("make", [random_program, random_writes])
def test_second_derivatives_of_programs(make: Callable, differences: Callable) -> None:
    for seed in range(25):
        program, x = make(seed)
        w = np.arange(1.0, x.size + 1).reshape(x.shape)

        def slope(x: Any, program: Callable = program, w: np.ndarray = w) -> Any:
            return np.sum(gradient(program, x) * w)

        found = gradient(slope, x)
        expected = differences(slope, x, 1e-5)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(
            found / scale, expected / scale, atol=1e-4, err_msg=f"{make.__name__}({seed})"
        )
