"""The numeric fallback: right within its tolerance, or an error; nothing unless it is asked for."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.linalg import _umath_linalg
from scipy.integrate import _quadpack
from scipy.sparse import _sparsetools
from scipy.spatial import cKDTree
from scipy.special import _ufuncs, cython_special

import autodiff
from autodiff import explain, gradient, jacobian, numeric_fallback, pullback, pushforward
from autodiff.api.numeric_fallback import differences

X = np.array([0.3, 1.2, -0.5])

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.cosh.restype, LIBM.cosh.argtypes = ctypes.c_double, [ctypes.c_double]
ONE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
TWO = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)

# Functions that the engine sees nothing of.
cube = ONE(lambda x: x**3)
step = ONE(lambda x: 1.0 if x > 1.0 else 0.0)
absolute = ONE(abs)
root = ONE(lambda x: math.sqrt(x) if x >= 0 else math.nan)
noisy = ONE(lambda x: x + 1e-3 * np.random.rand())  # noqa: NPY002 - any will do
whole = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double)(int)
product = TWO(lambda x, y: x * y**2)


def quad(x: Any) -> Any:
    """An integral whose integrand has captured a traced value."""
    return _quadpack._qagse(lambda t: np.exp(-x * t * t), 0.0, 1.0, (), 0, 1e-10, 1e-10, 50)[0]


REAL: dict[str, tuple[Callable, Any]] = {
    "pointer to a function": (lambda x: cube(x) * 2.0, 1.3),
    "analytic in C": (lambda x: LIBM.cosh(x) ** 2, 0.7),
    "captured by an integrand": (quad, 1.3),
    "two arguments": (lambda x: product(x, x + 1.0), 0.7),
    "fused types of Cython": (lambda x: cython_special.erfcx(x) * x, 0.7),
    "ufunc": (lambda x: _ufuncs._sinpi(x) * x, 0.7),
    "not analytic": (lambda x: absolute(x) * x, -2.0),
    "flat": (lambda x: step(x) + x, 0.5),
    "near the end of its domain": (lambda x: root(x), 1e-4),
    "large": (lambda x: cube(x), 1e6),
    "small": (lambda x: cube(x) + cube(x + 1.0), 1e-9),
    "in a loop": (lambda x: sum(LIBM.cosh(x * i) for i in range(4)), 0.3),
}


@pytest.mark.parametrize("f, x", REAL.values(), ids=REAL)
def test_derivatives(f: Callable, x: float) -> None:
    h = 1e-5 * max(abs(x), 1e-2)
    expected = (f(x + h) - f(x - h)) / (2 * h)
    assert gradient(f, x, fallback="numeric") == pytest.approx(expected, rel=1e-5, abs=1e-7)
    _, push = pushforward(f, x, fallback="numeric")
    assert push(2.0) == pytest.approx(2 * expected, rel=1e-5, abs=1e-7)
    assert push(0.0) == 0.0


def test_an_exact_step_is_exact() -> None:
    expected = math.pi * math.cos(math.pi * 0.7)
    assert gradient(_ufuncs._sinpi, 0.7, fallback="numeric") == pytest.approx(expected, rel=1e-14)


def solution(x: Any) -> Any:
    """What solves linear systems in C, with no rule of its own."""
    return _umath_linalg.solve1(np.outer(x, x) + np.diag(x + 4.0), np.ones(3))


def two_parts(x: Any) -> Any:
    """One with two outputs."""
    sign, logarithm = _umath_linalg.slogdet(np.outer(x, x) + np.diag(x + 4.0))
    return np.sin(logarithm) * sign


ARRAYS: dict[str, Callable] = {
    "array to array": lambda x: np.sum(solution(x) ** 2),
    "several outputs": two_parts,
    "ufunc": lambda x: np.sum(_ufuncs._sinpi(x) ** 2 * x),
    "ufunc of two": lambda x: np.sum(_ufuncs._beta_ppf(0.3, np.abs(x) + 1.0, x[1])),
    "ufunc of real numbers": lambda x: np.sum(_ufuncs._log1pmx(x / 2.0)),
    "generalised ufunc": lambda x: _umath_linalg.det(np.outer(x, x) + np.diag(x + 4.0)),
    "by name": lambda x: np.sum(TREE.query(x=np.stack([x, x + 1.0]), k=1)[0]),
    "method of an object": lambda x: TREE.query(np.stack([x, x + 1.0]))[0] @ np.array([1.0, 2.0]),
    "element by element": lambda x: np.sum(np.array([cube(v) for v in x])),
    "lists": lambda x: of_a_list([*x]),
}


TREE = cKDTree([[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]])


def of_a_list(values: list) -> Any:
    return TREE.query([values, [1.0, 2.0, 3.0]])[0][0]


@pytest.mark.parametrize("f", ARRAYS.values(), ids=ARRAYS)
def test_arrays(f: Callable, differences: Callable) -> None:
    expected = differences(f, X)
    np.testing.assert_allclose(gradient(f, X, fallback="numeric"), expected, rtol=1e-6, atol=1e-8)
    _, push = pushforward(f, X, fallback="numeric")
    np.testing.assert_allclose(push(X), expected @ X, rtol=1e-6, atol=1e-8)


def test_jacobian() -> None:
    expected = (
        [[1 if i == j else 0 for j in range(3)] for i in range(3)] * np.cos(np.pi * X) * np.pi
    )
    for mode in ("forward", "reverse"):
        found = jacobian(_ufuncs._sinpi, X, mode=mode, fallback="numeric")
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_precision_stays() -> None:
    x = X.astype(np.float32)
    found = gradient(lambda x: np.sum(_ufuncs._sinpi(x)), x, fallback="numeric")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.pi * np.cos(np.pi * x), rtol=1e-5, atol=1e-6)


def test_an_empty_array() -> None:
    found = gradient(lambda x: np.sum(_ufuncs._sinpi(x)), np.zeros(0), fallback="numeric")
    assert found.shape == (0,)


def test_every_entry() -> None:
    expected = 2.0 * math.sinh(0.7)

    def f(x: Any) -> Any:
        return 2.0 * LIBM.cosh(x)

    assert autodiff.derivative(f, 0.7, fallback="numeric") == pytest.approx(expected)
    assert autodiff.value_and_gradient(f, 0.7, fallback="numeric")[1] == pytest.approx(expected)
    assert pullback(f, 0.7, fallback="numeric")[1](1.0) == pytest.approx(expected)
    with numeric_fallback():
        assert autodiff.grad(f)(0.7) == pytest.approx(expected)
        assert autodiff.jvp(f, (0.7,), (1.0,))[1] == pytest.approx(expected)


def test_a_rule_goes_before() -> None:
    called: list[float] = []

    def f(x: Any) -> Any:
        called.append(0.0)
        return math.sin(x)

    assert gradient(f, 0.3, fallback="numeric") == math.cos(0.3)
    assert len(called) == 1


def test_explain_shows_it() -> None:
    with numeric_fallback():
        calls = [(c.name, c.kind) for c in explain(lambda x: LIBM.cosh(x) * x, 0.7).calls()]
    assert ("cosh", "numeric") in [(name.rpartition(".")[2], kind) for name, kind in calls]


@pytest.mark.parametrize("f", [cube, LIBM.cosh, quad, lambda x: product(x, 2.0)])
def test_it_is_off_by_default(f: Callable) -> None:
    with pytest.raises(autodiff.DifferentiationError):
        gradient(lambda x: f(x) * 1.0, 0.7)
    with numeric_fallback():
        pass
    with pytest.raises(autodiff.DifferentiationError):
        gradient(lambda x: f(x) * 1.0, 0.7)


@pytest.mark.parametrize(
    "f, x, says",
    [
        (lambda x: step(x) * x, 1.0, "differences do not converge"),
        (lambda x: root(x), 0.0, "differences do not converge"),
        (lambda x: noisy(x), 1.0, "differences do not converge"),
        (lambda x: gradient(cube, x), 1.3, "cannot be done twice"),
        (lambda x: np.real(_ufuncs._sinpi(x)), 1.0 + 2.0j, "is for real arguments"),
    ],
)
def test_what_it_cannot_do_is_an_error(f: Callable, x: Any, says: str) -> None:
    with pytest.raises(autodiff.DifferentiationError, match=says):
        gradient(f, x, fallback="numeric")


def test_whole_numbers_are_constant() -> None:
    assert gradient(lambda x: whole(x) * x, 2.5, fallback="numeric") == 2.0


def test_a_function_that_fails_fails_as_it_does() -> None:
    with pytest.raises(TypeError, match="at least 2 arguments"):
        gradient(lambda x: product(x) * 1.0, -1.0, fallback="numeric")


def test_writing_into_an_argument_is_refused() -> None:
    def f(x: Any) -> Any:
        places = np.arange(4, dtype=np.int32)
        _sparsetools.csr_matvec(3, 3, places, places[:3], np.ones(3), np.ones(3), x)
        return np.sum(x)

    with pytest.raises(autodiff.MutationError, match="writes into an array that it is given"):
        gradient(lambda x: f(x * 1.0), X, fallback="numeric")


@pytest.mark.parametrize("kind", ["symbolic", True, ""])
def test_other_kinds_are_refused(kind: Any) -> None:
    with pytest.raises(autodiff.ArgumentError, match='fallback= is "numeric" or None'):
        gradient(lambda x: x, 1.0, fallback=kind)


@pytest.mark.parametrize(
    "f, expected",
    [
        (np.sin, 1.0),
        (lambda t: np.exp(2 * t), 2.0),
        (lambda t: t**3, 0.0),
        (np.abs, 0.0),
        (lambda t: 5.0 + 0 * t, 0.0),
    ],
)
def test_differences(f: Callable, expected: float) -> None:
    slope, error, _ = differences(lambda t: np.array([f(t)]), 1)
    assert abs(slope[0] - expected) <= 1e-11
    assert error[0] < 1e-9


def test_arrays_in_containers_and_compiled_functions():
    numba = pytest.importorskip("numba")

    @numba.njit
    def squares(x):
        return np.sum(x * x)

    @numba.njit
    def of_pair(pair):
        return pair[0] * np.sum(pair[1])

    fixed = np.array([1.0, 2.0])
    np.testing.assert_allclose(gradient(squares, X, fallback="numeric"), 2 * X, rtol=1e-8)
    assert gradient(lambda x: of_pair((x, fixed)), 2.0, fallback="numeric") == pytest.approx(3.0)
    held = {"a": 2.0, "fixed": fixed}
    found = gradient(lambda d: of_pair((d["a"], d["fixed"])), held, fallback="numeric")
    assert found["a"] == pytest.approx(3.0)
    np.testing.assert_allclose(found["fixed"], [2.0, 2.0], rtol=1e-8)
    with numeric_fallback():
        assert pushforward(squares, X)[1](X) == pytest.approx(2 * np.sum(X * X))
