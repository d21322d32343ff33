"""Linear systems, inverses and determinants in loops: source, machine code and tracing agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg

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


def of_matrices_that_stay(a, b):
    m = a + 2.0 * np.eye(3)
    for k in range(6):
        if k % 3 == 2:
            a = a + 0.1 * b
        b = np.linalg.solve(a, b) + np.linalg.solve(m, b)
        a[0, 0] = a[0, 0] + np.linalg.solve(a * 2.0, b[k % 3])[1]
    return np.sum(b * b) + np.sum(a)


def of_growing_matrices(a, b):
    total = 0.0
    for k in range(7):
        n = 1 + k // 2 % 3
        x = np.linalg.solve(a[:n, :n], b[:n, 0])
        total = total + np.sum(x * x) + np.sum(np.linalg.solve(a[:n, :n].T, b[:n]))
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


def triangular_systems(a, b):
    total = 0.0
    for k in range(3):
        x = scipy.linalg.solve_triangular(a, b[k], lower=True)
        y = scipy.linalg.solve_triangular(a, x, trans="T", lower=True)
        u = scipy.linalg.solve_triangular(a.T, y + x, trans=1)
        b = 0.5 * b + 0.1 * scipy.linalg.solve_triangular(a, b)
        total = total + u @ y + np.sum(scipy.linalg.solve_triangular(a, b[:, :2], trans=1) ** 2)
        a = a + 0.01 * np.outer(u, x)
    return total


def triangular_systems_of_constants(a, b):
    fixed, total = np.array([[2.0, 0.0], [0.5, 1.0]]), 0.0
    for k in range(3):
        x = scipy.linalg.solve_triangular(fixed, a[:2, k], lower=True)
        y = scipy.linalg.solve_triangular(b[:2, :2], np.array([1.0, 2.0]))
        total = total + x @ y
    return total


def solutions_with_a_factor(a, b):
    upper = scipy.linalg.cho_factor(a @ a.T + np.eye(3))
    c, lower = scipy.linalg.cho_factor(b @ b.T + np.eye(3), lower=True)
    total, x = 0.0, a[0]
    for k in range(3):
        x = np.tanh(x) + scipy.linalg.cho_solve(upper, b[k] + x)
        b = 0.5 * b + scipy.linalg.cho_solve((c, lower), b, check_finite=False)
        total = total + x @ scipy.linalg.cho_solve((np.linalg.cholesky(a @ a.T), True), b[0])
    return total + np.sum(b**2)


def spectra(a, b):
    total = 0.0
    for k in range(3):
        w, v = np.linalg.eigh(a @ a.T + k * b @ b.T)
        total = total + np.sum(np.sqrt(w)) + v[0, 1] * v[1, 2] * w[k]
        a = a + 0.1 * v
        v *= 2.0
        a = a - 0.01 * np.linalg.eigh(a)[1] * v[0]
        total = total + np.prod(np.linalg.eigvalsh(a)) + np.linalg.eigh(b + k * a)[0][1]
    return total


@pytest.mark.parametrize(
    "f",
    [
        solutions, of_constants, of_matrices_that_stay, of_growing_matrices, filtered,
        determinants, logarithms_of_determinants, triangular_systems,
        triangular_systems_of_constants, solutions_with_a_factor, spectra,
    ],
)  # fmt: skip
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


def by_differences(f: Callable, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    found = np.empty_like(x)
    for k in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[k] += h
        down[k] -= h
        found[k] = (f(up, B.copy()) - f(down, B.copy())) / (2 * h)
    return found


@pytest.mark.parametrize("f", [triangular_systems, spectra])
def test_differences(f: Callable) -> None:
    for _ in range(3):
        found = gradient(f, A.copy(), B.copy(), argnums=0)
        np.testing.assert_allclose(found, by_differences(f, A.copy()), rtol=1e-6, atol=1e-7)


def of_equal_values(a, b):
    total = 0.0
    for _ in range(3):
        w, v = np.linalg.eigh(np.diag(np.array([1.0, 2.0, 2.0])) * np.sum(a))
        total = total + np.sum((v * w) @ v.T * b)
    return total


def of_almost_equal_values(a, b):
    total = 0.0
    for _ in range(2):
        w, v = np.linalg.eigh(np.array([[1.0, 0.0], [0.0, 1.0]]) * np.sum(a[:1]))
        total = total + np.sum(w * w) + np.sum(np.abs(v @ v.T))
    return total


@pytest.mark.parametrize("f", [of_equal_values, of_almost_equal_values])
def test_equal_eigenvalues_are_for_the_rule(
    f: Callable, traced: Callable, by_numpy: Callable
) -> None:
    def outcome(way: Callable) -> object:
        try:
            return way(f, A.copy(), B.copy())
        except Exception as error:
            return type(error)

    expected = outcome(traced)
    for way in (gradient, by_numpy, gradient):
        np.testing.assert_equal(outcome(way), expected)


def singular_triangle(a):
    total = 0.0
    for k in range(2):
        total = total + np.sum(scipy.linalg.solve_triangular(a * k, np.ones(3)))
    return total


def infinite_triangle(a):
    total = 0.0
    for k in range(2):
        b = np.array([1.0, 2.0, np.inf if k else 1.0])
        total = total + np.sum(scipy.linalg.solve_triangular(a, b))
    return total


@pytest.mark.parametrize(
    "f, error, text",
    [
        (singular_triangle, np.linalg.LinAlgError, "singular"),
        (infinite_triangle, ValueError, "infs"),
    ],
)
def test_triangular_systems_without_a_solution(f: Callable, error: type, text: str) -> None:
    for _ in range(3):
        with pytest.raises(error, match=text):
            gradient(f, A)
