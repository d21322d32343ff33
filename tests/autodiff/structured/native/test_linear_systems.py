"""Linear systems, inverses and determinants in loops: as source, as machine code, and traced."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient

A = np.array([[3.0, 0.4, -0.2], [0.3, -2.5, 0.6], [0.1, 0.7, 2.0]])
B = np.array([[0.5, 1.0, -0.3], [0.2, 0.8, 0.4], [-0.6, 0.1, 0.9]])


def solutions(a, b):
    for k in range(3):
        a = a + 0.1 * np.linalg.solve(a, b)
        b[k] = np.linalg.solve(a.T, b[k]) + np.linalg.solve(a, b[:, k])
    return np.sum(b * b) + np.sum(a)


def of_constants(a, b):
    fixed = np.array([[2.0, 0.5], [0.1, 1.0]])
    total = 0.0
    for k in range(3):
        x = np.linalg.solve(fixed, a[:2, k])
        y = np.linalg.solve(a[1:, :2] + 3.0 * np.eye(2), np.ones(2))
        total = total + x @ y + np.sum(np.linalg.inv(fixed) @ b[:2])
    return total


def filtered(a, b):
    m, p = np.zeros(3), np.eye(3)
    total = 0.0
    for k in range(3):
        m, p = a @ m * 0.2, a @ p @ a.T + np.eye(3)
        s = p + b @ b.T
        inverse = np.linalg.inv(s)
        v = b[k] - m
        m = m + p @ inverse @ v
        p = p - p @ inverse @ p
        total = total - v @ inverse @ v - np.log(np.linalg.det(s))
    return total


def determinants(a, b):
    total = 0.0
    for k in range(3):
        total = total * 0.5 + np.linalg.det(a) * np.linalg.det(b + k * np.eye(3))
        a = a[::-1] * 1.1
    return total


def logarithms_of_determinants(a, b):
    total = 0.0
    for k in range(3):
        sign, size = np.linalg.slogdet(a + k * b)
        total = total + sign * size * np.linalg.slogdet(a @ b).logabsdet
        a = a[::-1] * 1.1 - np.linalg.slogdet(b[::-1])[0] * 0.01
    return total


@pytest.mark.parametrize(
    "f", [solutions, of_constants, filtered, determinants, logarithms_of_determinants]
)
def test_machine_code(f: Callable, runs: list[str], check_machine_code: Callable) -> None:
    check_machine_code(f, lambda: (A.copy(), B.copy()), rtol=1e-11)
    assert runs.count(f.__name__) == 4


def singular_system(a):
    total = 0.0
    for k in range(2):
        total = total + np.sum(np.linalg.solve(a * k, np.ones(3)))
    return total


def singular_inverse(a):
    total = 0.0
    for k in range(2):
        total = total + np.sum(np.linalg.inv(a * k))
    return total


@pytest.mark.parametrize("f", [singular_system, singular_inverse])
def test_a_singular_matrix(f: Callable) -> None:
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            gradient(f, A)


def test_the_determinant_of_a_singular_matrix(traced: Callable, by_numpy: Callable) -> None:
    def f(a):
        total = 0.0
        for k in range(2):
            total = total + np.linalg.det(a * k + np.ones((3, 3)) * (1 - k))
        return total

    for way in (gradient, by_numpy, gradient):
        np.testing.assert_allclose(way(f, A), traced(f, A))


def test_the_logarithm_of_the_determinant_of_a_singular_matrix(
    traced: Callable, by_numpy: Callable
) -> None:
    def f(a):
        total = 0.0
        for k in range(2):
            total = total + np.exp(np.linalg.slogdet(a * k)[1])
        return total

    def outcome(way: Callable) -> object:
        try:
            with np.errstate(all="ignore"):
                return way(f, A)
        except Exception as error:
            return type(error)

    expected = outcome(traced)
    for way in (gradient, by_numpy, gradient):
        np.testing.assert_equal(outcome(way), expected)


def test_shapes_that_do_not_fit() -> None:
    def f(a, b):
        for _ in range(2):
            b = np.linalg.solve(a, b)
        return np.sum(b)

    for a, b in ((A[:2], np.ones(3)), (A, np.ones(2))):
        with pytest.raises(ValueError, match=r"square|mismatch|differ"):
            gradient(f, a, b)
