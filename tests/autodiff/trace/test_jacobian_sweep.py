"""Jacobians by one sweep with many rows: what they must give, and what takes the longer way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import jacobian
from autodiff.trace import jacobian_sweep
from chainrules_core import ChainRulesError, frule, not_implemented, rrule, scalar_rule
from tests.helpers import differences

X = np.array([0.3, -0.7, 0.5])
A = np.array([[0.2, -0.4, 0.1], [0.7, 0.3, -0.6]])


def loops(x: Any) -> Any:
    out = []
    for i in range(3):
        out.append(x[i] * x[(i + 1) % 3] + np.sin(x[i]))
    return np.array(out)


def branches(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), x * x)


CASES: dict[str, Callable[[Any], Any]] = {
    "products": lambda x: np.tanh(A @ x) * 2.0,
    "a number for all": lambda x: x * np.sum(x),
    "broadcast": lambda x: x[:, None] * x[None, :] + A[0],
    "broadcast by ones": lambda x: np.exp(x[:, None]) / (2.0 + x**2),
    "outer": lambda x: np.multiply.outer(x, A[0]) - x,
    "elements": loops,
    "elements of a matrix": lambda x: np.stack([np.outer(x, x)[0, 1] * x, x + 1]),
    "slices": lambda x: x[1:] * x[:-1],
    "by hand": lambda x: np.cumsum(x) * np.max(x),
    "sorted": lambda x: np.sort(x)[::-1],
    "complex inside": lambda x: np.abs(np.exp(1j * x) + x),
    "a solution": lambda x: np.linalg.solve(np.eye(3) * 3 + np.outer(x, x), x),
    "constant": lambda x: np.ones(2) * 3,
    "not all of it": lambda x: np.concatenate([x[:1], np.ones(2)]),
    "branches": branches,
    "empty": lambda x: x[:0] * 2,
    "number": lambda x: np.sum(x * x),
    "itself": lambda x: x,
    "written": lambda x: _written(x),
    "float32": lambda x: x.astype(np.float32) * np.float32(2),
    "powers": lambda x: np.abs(x) ** np.arange(3.0),
    "a vector times a matrix": lambda x: x @ A.T + np.dot(x, A.T),
    "a matrix times a vector": lambda x: (x[:, None] * A.T) @ x[:2] + np.dot(np.outer(x, x), x),
    "matrices": lambda x: np.outer(x, x) @ A.T @ np.dot(A, np.outer(x, x)),
    "a stack of matrices": lambda x: np.matmul(np.stack([np.outer(x, x), A.T @ A]), x),
    "scalar products": lambda x: np.dot(x, x) * x + np.matmul(x, A[0]),
    "transposed": lambda x: np.transpose(np.outer(x, x**2)[None], (1, 2, 0)) + np.outer(x, x).T,
    "repeated elements": lambda x: x[[0, 2, 2]] * x[np.array([[1], [1]])],
    "integers beside a slice": lambda x: np.outer(x, x)[:, np.array([2, 2])] ** 2,
    "integers about a slice": lambda x: np.stack([np.outer(x, x)] * 2)[1, :, np.array([0, 0, 2])],
    "integers side by side": lambda x: np.outer(x, x)[1, np.array([0, 2, 2])],
    "a mask": lambda x: (np.outer(x, x) + 1)[np.eye(3, dtype=bool)] * x,
    "a mask of an axis": lambda x: np.outer(x, x)[np.array([True, False, True])],
    "from the end": lambda x: np.outer(x, x**3)[..., -1, None],
    "an axis more": lambda x: np.expand_dims(x, 1) * np.squeeze(x[None]),
}


def _written(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] * x[0]
    return out


@pytest.mark.parametrize("name", CASES)
def test_against_differences(name: str) -> None:
    f = CASES[name]
    tolerance = 2e-2 if name == "float32" else 1e-7
    np.testing.assert_allclose(
        jacobian(f, X, mode="reverse"), differences(f, X), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", CASES)
def test_some_rows_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jacobian(CASES[name], X, mode="reverse")
    monkeypatch.setattr(jacobian_sweep, "_MOST", 7)
    np.testing.assert_array_equal(jacobian(CASES[name], X, mode="reverse"), whole)


def test_one_sweep_takes_the_place_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def partial(y: Any, x: Any) -> Any:
        seen.append(np.shape(x))
        return np.cos(x)

    def wave(x: Any) -> Any:
        return np.sin(x)

    scalar_rule(wave, partial)
    try:
        found = jacobian(lambda x: wave(x) * 2.0, X)
    finally:
        rrule.unregister(wave)
        frule.unregister(wave)
    np.testing.assert_allclose(found, np.diag(2 * np.cos(X)))
    assert len(seen) <= 3


def test_the_branch_not_taken_contributes_zero() -> None:
    x = np.array([4.0, 0.0, 1.0])
    found = jacobian(lambda x: np.where(x > 0, np.sqrt(x), 0.0) * 3.0, x)
    np.testing.assert_array_equal(found, np.diag([0.75, 0.0, 1.5]))


def test_numbers_and_nests() -> None:
    def f(p: dict, c: float) -> Any:
        return {"y": p["w"] * c + p["b"], "n": 3, "z": (p["b"] * c,)}

    p = {"w": X, "b": 0.5, "name": "w"}
    found = jacobian(f, p, 2.0)
    by_p, by_c = found["y"]
    np.testing.assert_array_equal(by_p["w"], 2.0 * np.eye(3))
    np.testing.assert_array_equal(by_p["b"], np.ones(3))
    assert by_p["name"] is None
    np.testing.assert_array_equal(by_c, X)
    assert found["n"] is None
    assert found["z"][0][1] == 0.5


def test_a_complex_argument() -> None:
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j])
    found = jacobian(lambda z: np.real(z * z), z)  # ∂/∂re + i ∂/∂im: 2 conj(z)
    np.testing.assert_allclose(found, np.diag(2 * np.conj(z)))


def test_single_precision_stays() -> None:
    x = X.astype(np.float32)
    found = jacobian(lambda x: np.exp(x) * x, x)
    assert found.dtype == np.float32


def test_under_another_level() -> None:
    def trace(x: Any) -> Any:
        return np.trace(jacobian(lambda z: z**3 * np.sum(z), x))

    h = 1e-6
    expected = [(trace(X + h * e) - trace(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(autodiff.gradient(trace, X), expected, rtol=1e-6)


def test_a_missing_derivative_is_an_error() -> None:
    def half_known(x: Any, n: Any) -> Any:
        return x * n

    scalar_rule(half_known, lambda y, x, n: n, not_implemented("n is not for it"))
    try:
        with pytest.raises(ChainRulesError, match="n is not for it"):
            jacobian(lambda n: half_known(X, n), X)
    finally:
        rrule.unregister(half_known)
        frule.unregister(half_known)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_container_that_stands_in_several_places_of_the_output(mode: str) -> None:
    def f(x: Any) -> Any:
        shared = [x * x]
        return {"a": shared, "b": shared}

    assert jacobian(f, 3.0, mode=mode) == {"a": [6.0], "b": [6.0]}
