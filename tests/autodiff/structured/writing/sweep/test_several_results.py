"""Functions that return tuples of arrays and numbers: each part has a cotangent of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from autodiff import gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

M = np.sin(np.arange(48.0)).reshape(3, 4, 4) + 4.0 * np.eye(4) + 0.1 * np.arange(4.0) + 0.037


def factors(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        q, r = np.linalg.qr(m[k])
        found = np.linalg.qr(m[k] @ m[k], "complete")
        total += np.sum(q[0] ** 3) + np.sum(r**2) + found.R[0, 1] * found[0][1, 1]
    return total


def with_signs(m: Any) -> Any:
    """The pullback of a factorization holds the factors, into which the function writes."""
    total = 0.0
    for k in range(3):
        q, r = np.linalg.qr(m[k])
        for j in range(4):
            if r[j, j] < 0:
                r[j] *= -1
                q[:, j] = -q[:, j]
        total += np.sum(q[0] ** 3) + np.sum(r[0])
    return total


def spectra(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        s = m[k] + m[k].T
        w, v = np.linalg.eigh(s)
        v *= np.sign(v[0])
        w += 1.0
        w[0] = w[1] * w[2]
        total += np.sum(v[:, 0] ** 3) + np.sum(w**2) + np.linalg.eigh(s @ s).eigenvalues[1]
        total += np.max(np.abs(np.linalg.eig(s @ s)[0]))
    return total


def singular(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        u, s, vh = np.linalg.svd(m[k][:, :3], full_matrices=False)
        sign, size = np.linalg.slogdet(m[k])
        total += np.sum(s**2) + abs(u[0, 0]) * np.abs(vh[0, 1]) + sign * size
        total += np.linalg.slogdet(m[k] * 2.0).logabsdet
    return total


def iterated(m: Any) -> Any:
    """A part is carried to the next turn, another one behind the loop."""
    q, r = np.eye(4), np.eye(4)
    for k in range(6):
        q, r = np.linalg.qr(m[k % 3] @ q)
    return np.sum(np.abs(np.diag(r))) + q[0, 0] ** 2


def kept(m: Any) -> Any:
    """Parts are kept in a list; a named tuple is bound anew in a branch."""
    found, last = [], np.linalg.qr(m[0])
    for k in range(3):
        q, r = np.linalg.qr(m[k])
        found.append((q, r))
        if k == 1:
            last = np.linalg.qr(m[k] @ m[2])
    total = np.sum(last.R**2)
    for q, r in found:
        total += np.sum(q**3) + np.sum(r**2)
    return total


def fitted(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        y, _, rank, _ = np.linalg.lstsq(m[k][:, :2], m[k][:, 3], rcond=None)
        lu, _ = scipy.linalg.lu_factor(m[k])
        c, _ = scipy.linalg.cho_factor(m[k] @ m[k].T)
        total += np.sum(y**2) + rank * y[0] + np.sum(np.triu(c)) + np.sum(lu)
    return total


def parts_of_numbers(m: Any) -> Any:
    total = 0.0
    for k in range(4):
        fractions, whole = np.modf(m[0, k])
        fraction, number = math.modf(m[0, 0, k] * 1.5)
        turns, rest = divmod(m[0, k, k], 0.7)
        total += np.sum(fractions**2 * m[1, k]) + np.sum(whole * m[2, k])
        total += fraction**2 + number * m[1, 0, k] + rest**2 * m[1, k, k] + turns * m[2, 0, 0]
    return total


ALL = [factors, with_signs, spectra, singular, iterated, kept, fitted, parts_of_numbers]


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep that fails is an error: the call is not traced instead."""

    def cotangents(self: calls.ProgramRun, bars: list) -> tuple:
        return self.swept(bars)

    monkeypatch.setattr(calls.ProgramRun, "cotangents", cotangents)


@pytest.mark.usefixtures("swept")
@pytest.mark.parametrize("f", ALL)
def test_gradients(f: Callable, traced: Callable, runs: list[str]) -> None:
    for _ in range(2):
        np.testing.assert_allclose(gradient(f, M), traced(f, M), rtol=1e-9, atol=1e-12)
    assert f.__name__ in runs
    check_gradient(f, M)


@pytest.mark.usefixtures("swept")
@pytest.mark.parametrize("f", ALL[:-2])
def test_single_precision(f: Callable, traced: Callable) -> None:
    x = M.astype(np.float32)
    found = gradient(f, x)
    assert found.dtype == np.float32
    expected = traced(f, x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def complex_ones(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        a = m[k] + 1j * m[k - 1]
        q, r = np.linalg.qr(a)
        w, v = np.linalg.eigh(a @ a.conj().T)
        total += np.sum(np.abs(r)) + np.abs(q[0, 1]) ** 2 + w[1] * np.abs(v[0, 0])
    return total


@pytest.mark.usefixtures("swept")
def test_complex_numbers(traced: Callable, runs: list[str]) -> None:
    np.testing.assert_allclose(gradient(complex_ones, M), traced(complex_ones, M), rtol=1e-9)
    assert "complex_ones" in runs
    check_gradient(complex_ones, M)


def apart(m: Any) -> Any:
    total = 0.0
    for v in np.unstack(m):
        total += np.sum(v**2)
    for _ in range(2):
        total += m[0, 0, 0]
    return total


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="this NumPy has no unstack")
def test_as_many_parts_as_there_are(traced: Callable) -> None:
    """How many parts a tuple has may depend on shapes: samples do not tell."""
    np.testing.assert_allclose(gradient(apart, M), traced(apart, M))


def held_in_tuples(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        a = m[k] * 1.0
        y = np.linalg.multi_dot([a, a * 2.0, a + 1.0])
        a[0] = 7.0
        total += np.sum(y * y) + np.sum(a)
    return total


def solved(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        lu, pivots = scipy.linalg.lu_factor(m[k])
        y = scipy.linalg.lu_solve((lu, pivots), m[k, 0])
        lu[0] = y
        total += np.sum(y**2) + np.sum(lu)
    return total


@pytest.mark.parametrize("f", [held_in_tuples, solved])
def test_writes_into_what_a_tuple_holds(f: Callable, traced: Callable) -> None:
    """The pullback of a call holds arrays that it was given in a list: they are put back."""
    np.testing.assert_allclose(gradient(f, M), traced(f, M), rtol=1e-9)
    check_gradient(f, M)
