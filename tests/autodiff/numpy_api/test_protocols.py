"""A traced value passes for the value: types, comparisons, iteration, NumPy's functions."""

from __future__ import annotations

import copy
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient
from autodiff.trace.tracer import untraced

X = np.array([1.5, -2.0, 3.0])
M = np.array([[1.0, 2.1, 0.5], [0.3, -1.0, 3.0]])


def looked_at(look: Callable, x: Any) -> Any:
    """What `look` sees of x while it is traced."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(look(x))
        return np.sum(x)

    gradient(f, x)
    return seen[0]


LOOKS: dict[str, Callable] = {
    "isinstance": lambda x: [
        isinstance(x, t)
        for t in (float, int, np.floating, np.float64, np.ndarray, numbers.Real, numbers.Complex,
                  complex, str, (int, float), float | int)
    ],
    "class": lambda x: x.__class__,
    "bool": lambda x: bool(np.all(x)),
    "str": str,
    "format": lambda x: f"{x}|{x!s}",
    "shape": lambda x: (np.shape(x), np.ndim(x), np.size(x)),
    "dtype": lambda x: np.result_type(x),
    "less": lambda x: x < 2.0,
    "reflected": lambda x: x < 2.0,
    "equal": lambda x: x == -2.0,
    "not equal": lambda x: x != 1.5,
    "to itself": lambda x: (x == x, x >= x, x > x),
    "isnan": lambda x: np.isnan(x),
    "isfinite": np.isfinite,
    "sign": np.sign,
    "floor": np.floor,
    "rint": np.rint,
    "argmax": np.argmax,
    "argsort": np.argsort,
    "allclose": lambda x: np.allclose(x, 1.5),
    "callable": callable,
    "truth": lambda x: not np.any(x > 100),
}  # fmt: skip

ARRAY_LOOKS: dict[str, Callable] = {
    "len": len,
    "attributes": lambda x: (x.shape, x.ndim, x.size, x.dtype, x.itemsize, x.nbytes, x.strides),
    "argsort method": lambda x: x.argsort(),
    "nonzero": lambda x: np.nonzero(x > 0),
    "any": lambda x: (x > 0).any(),
    "contains": lambda x: (1.5 in x, 99.0 in x),
    "searchsorted": lambda x: np.searchsorted(np.sort(X), x),
    "where": lambda x: np.where(x > 0)[0],
    "elements": lambda x: [v > 0 for v in x],
    "nested lists": lambda x: x == [1.5, -2.0, 3.0],
}

SCALAR_LOOKS: dict[str, Callable] = {
    "int": int,
    "round": round,
    "round digits": lambda x: round(x, 1),
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "format spec": lambda x: f"{x:.3f} {x:>10.1e}",
    "str.format": lambda x: "{:.2f}".format(x),  # noqa: UP032
    "floor division": lambda x: x // 0.4,
    "divmod": lambda x: divmod(x, 0.4)[0],
    "is_integer": lambda x: x.is_integer(),
    "chained": lambda x: 1.0 < x < 2.0,
    "in": lambda x: x in [1.5, 2.0],
    "range": lambda x: list(range(int(x))),
    "index": lambda x: "abc"[int(x)],
    "bool": bool,
    "real": lambda x: isinstance(x.real, float),
}


@pytest.mark.parametrize("x", [1.5, np.float64(1.5), X, M[:, 0], X.astype(np.float32)])
@pytest.mark.parametrize("name", LOOKS)
def test_what_can_be_seen_of_any_value(name: str, x: Any) -> None:
    compare(looked_at(LOOKS[name], x), LOOKS[name](x))


@pytest.mark.parametrize("name", ARRAY_LOOKS)
def test_what_can_be_seen_of_an_array(name: str) -> None:
    compare(looked_at(ARRAY_LOOKS[name], X), ARRAY_LOOKS[name](X))


@pytest.mark.parametrize("x", [1.5, np.float64(1.5)])
@pytest.mark.parametrize("name", SCALAR_LOOKS)
def test_what_can_be_seen_of_a_number(name: str, x: Any) -> None:
    compare(looked_at(SCALAR_LOOKS[name], x), SCALAR_LOOKS[name](x))


def compare(seen: Any, expected: Any) -> None:
    seen = untraced(seen)
    if isinstance(expected, (tuple, list)):
        assert len(seen) == len(expected)
        for s, e in zip(seen, expected, strict=True):
            compare(s, e)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(seen, expected)
    else:
        assert bool(seen == expected)


def test_an_array_has_no_truth_value() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        gradient(lambda x: 1.0 if x > 0 else 2.0 * x[0], X)
    with pytest.raises(TypeError, match="not iterable"):
        gradient(lambda x: sum(x), 1.5)
    with pytest.raises(TypeError):
        gradient(lambda x: len(x) * x, 1.5)
    with pytest.raises(AttributeError, match="no_such"):
        gradient(lambda x: x.no_such, X)
    with pytest.raises(AttributeError):
        gradient(lambda x: x.no_such, 1.5)
    with pytest.raises(TypeError, match="not callable"):
        gradient(lambda x: x(), 1.5)
    with pytest.raises(TypeError, match="unsupported operand"):
        gradient(lambda x: x + "text", 1.5)
    with pytest.raises(IndexError):
        gradient(lambda x: x[7], X)


def test_match_statements() -> None:
    def f(x: Any) -> Any:
        match x:
            case np.ndarray():
                return sum(f(v) for v in x)
            case complex():
                return (x * x).real
            case float(v):
                return v * v
            case [a, b]:
                return a * b
            case {"w": w}:
                return w**3
        raise AssertionError(x)

    np.testing.assert_array_equal(gradient(f, X), 2 * X)
    assert gradient(f, 3.0) == 6.0
    assert gradient(f, [2.0, 3.0]) == [3.0, 2.0]
    assert gradient(f, {"w": 2.0}) == {"w": 12.0}
    assert gradient(f, 1 + 1j) == 2 - 2j


# ------------------------------------------------------------------------------------- operators


@pytest.mark.parametrize(
    "op",
    [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod],
)
@pytest.mark.parametrize(
    "a, b",
    [
        (2.5, 1.5), (np.float64(2.5), 1.5), (2.5, np.float64(1.5)), (2.5, 2), (3, 1.7),
        (2.5, np.int64(2)), (np.int64(3), 1.7), (2.5, np.float32(1.5)), (2.5, True),
        (np.array([2.5, 3.5]), 1.5), (2.5, np.array([1.6, 0.8])), (np.array(2.5), 1.5),
        (np.array([2.5, 3.5]), np.array([[1.6], [0.8]])), (np.array([[2.5]]), np.array([1.5, 2.0])),
        (np.array([2.5, 3.5]), np.array([2, 3])), (np.array([2, 3]), np.array([2.5, 3.5])),
        (2.5, np.bool_(True)), ([2.0, 3.0], np.array([2.5, 3.5])),
    ],
)  # fmt: skip
def test_binary_operators_on_either_side(
    op: Callable, a: Any, b: Any, differences: Callable
) -> None:
    for i, x in enumerate((a, b)):
        kind = np.asarray(x).dtype.kind
        if kind != "f" or isinstance(x, list):
            continue

        def f(v: Any, i: int = i) -> Any:
            return np.sum(op(v, b) if i == 0 else op(a, v))

        found = gradient(f, x)
        tolerance = 1e-3 if np.asarray(x).dtype == np.float32 else 1e-5
        np.testing.assert_allclose(found, differences(f, x), rtol=tolerance)
        assert np.shape(found) == np.shape(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: -x * +x,
        lambda x: abs(x) * x,
        lambda x: x**3 - 2**x,
        lambda x: 1 / x - x / 3,
        lambda x: divmod(x, 0.8)[1] * x,
        lambda x: pow(x, 2) + pow(2.0, x),
        lambda x: (x + 1) % 0.8,
        lambda x: 7.0 % (x * x),
        lambda x: x.conjugate() * x.real,
    ],
)
@pytest.mark.parametrize("x", [1.3, np.float64(1.3), np.array([1.3, 2.1])])
def test_unary_and_mixed_operators(f: Callable, x: Any, differences: Callable) -> None:
    np.testing.assert_allclose(
        gradient(lambda x: np.sum(f(x)), x), differences(lambda x: np.sum(f(x)), x), rtol=1e-5
    )


@pytest.mark.parametrize("op", ["iadd", "isub", "imul", "itruediv", "ipow"])
def test_in_place_operators_on_numbers_make_new_ones(op: str) -> None:
    in_place = getattr(operator, op)

    def f(x: Any) -> Any:
        a = x
        b = a
        a = in_place(a, 1.5)
        a = in_place(a, x)
        return a * b

    for x in (1.3, np.float64(1.3)):
        expected = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        assert gradient(f, x) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, m: np.sum(m @ x),
        lambda x, m: np.sum((x @ m.T) ** 2),
        lambda x, m: np.sum(m.dot(x)),
        lambda x, m: x @ x,
        lambda x, m: np.sum((m @ m.T) @ (m @ m.T)),
        lambda x, m: np.sum(np.linalg.inv(m @ m.T + np.eye(2))),
    ],
)
def test_matmul(f: Callable, differences: Callable) -> None:
    x_bar, m_bar = gradient(f, X, M)
    np.testing.assert_allclose(x_bar, differences(lambda x: f(x, M), X), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(m_bar, differences(lambda m: f(X, m), M), rtol=1e-5, atol=1e-8)


# -------------------------------------------------------------------------------------- indexing


@pytest.mark.parametrize(
    "index",
    [
        0, -1, (1, 2), np.int64(1), slice(None), slice(0, 1), slice(None, None, -1), ..., None,
        (0, ...), (..., 0), (slice(None), 1), (None, 0), [0, 1, 0], ([0, 1, 0], [1, 1, 1]),
        np.array([1, 1]), np.array([[0, 1], [1, 1]]), (0, [2, 2]), (slice(None), [0, 0, 1]),
        M > 0, np.array([True, False]), (1, np.array([True, True, False])), ([0], slice(1, 3)),
        [True, False], (np.array(0), 1), [], (), np.zeros((0,), int), (slice(0, 0),),
    ],
)  # fmt: skip
def test_every_form_of_index(index: Any, differences: Callable) -> None:
    def f(m: Any) -> Any:
        return np.sum(m[index] * m[index]) * 0.5 + np.sum(m[index])

    np.testing.assert_allclose(gradient(f, M), differences(f, M), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("index", [(), ..., None, True, False, (..., None), (None, None), (...,)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_a_numpy_number_is_indexed_like_an_array_without_axes(index: Any, dtype: type) -> None:
    def f(m: Any) -> Any:
        element = np.sum(m)[index]
        expected = dtype(1)[index]
        assert isinstance(element, type(expected))
        assert np.shape(element) == np.shape(expected)
        if isinstance(element, np.ndarray):
            element[...] = element * 2.0
        return np.sum((element * element).real)

    plain = np.array([1.0, 2.0], dtype)
    size, scale = np.size(dtype(1)[index]), 1.0 if index == () else 4.0
    for g in (f, compile(f)):
        found = gradient(g, plain)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, np.full(2, scale * 6.0 * size), rtol=1e-6)


def test_iteration_unpacking_and_zip(differences: Callable) -> None:
    def f(m: Any) -> Any:
        (a, b, c), row = m
        s = a * b + c
        for i, v in enumerate(row):
            s = s + i * v * a
        for u, v in zip(m[0], reversed(row), strict=True):
            s = s + u * v
        return s + sum(map(sum, m)) + max(row) * min(m[0]) + sorted(row)[1]

    np.testing.assert_allclose(gradient(f, M), differences(f, M), rtol=1e-6)


# ------------------------------------------------------------------------------ NumPy's functions


@pytest.mark.parametrize(
    "f",
    [
        np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.linalg.norm,
        lambda m: m.sum(), lambda m: m.mean(), lambda m: m.max(), lambda m: m.prod(),
        lambda m: m.var(), lambda m: m.std(ddof=1),
        lambda m: np.sum(np.sum(m, axis=0) ** 2), lambda m: np.sum(m.sum(1, keepdims=True) * m),
        lambda m: np.sum(np.sum(a=m, axis=-1) ** 2), lambda m: np.sum(m.max(axis=0)),
        lambda m: np.sum(np.cumsum(m) ** 2), lambda m: np.sum(np.cumsum(m, axis=0) * m),
        lambda m: np.add.reduce(m, axis=None) ** 2,
        lambda m: np.sum(np.reshape(m, (3, 2)) @ m), lambda m: np.sum(m.reshape(-1)[2:] ** 2),
        lambda m: np.sum(m.T @ m), lambda m: np.sum(np.transpose(m, (1, 0))[0]),
        lambda m: np.sum(m.ravel() * m.flatten()), lambda m: np.sum(m.swapaxes(0, 1) ** 2),
        lambda m: np.sum(np.concatenate([m, m * 2.0]) ** 2),
        lambda m: np.sum(np.concatenate((m, M), axis=1)[:, 1:5] ** 2),
        lambda m: np.sum(np.stack([m[0], m[1], m[0]]) ** 2),
        lambda m: np.sum(np.vstack([m, m[0]]) ** 3), lambda m: np.sum(np.hstack([m, m]) ** 3),
        lambda m: np.sum(np.broadcast_to(m, (4, 2, 3)) ** 2),
        lambda m: np.sum(np.where(m > 0, m, m * m)), lambda m: np.sum(np.where(m > 0, 2.0, m)),
        lambda m: np.sum(np.einsum("ij,kj->ik", m, m) ** 2),
        lambda m: np.einsum("ij,ij", m, M), lambda m: np.sum(np.dot(m, X) ** 2),
        lambda m: np.sum(np.maximum(m, 0.3)), lambda m: np.sum(np.minimum(m, M * M)),
        lambda m: np.sum(np.exp(m) * np.tanh(m)), lambda m: np.sum(np.sqrt(m * m + 1)),
        lambda m: np.sum(np.add(m, m, dtype=np.float64)), lambda m: np.sum(np.hypot(m, 1.0)),
        lambda m: np.sum(np.arctan2(m, 2.0)), lambda m: np.sum(np.sin(x=m) if False else np.sin(m)),
        lambda m: np.sum(np.abs(m)), lambda m: np.sum(np.zeros_like(m) + np.ones_like(m) * m),
        lambda m: np.sum(np.copy(m) * copy.copy(m) * copy.deepcopy(m)),
        lambda m: np.sum(np.squeeze(m[None]) * np.expand_dims(m, 0)),
        lambda m: np.sum(np.linalg.solve(m[:, :2] + 3 * np.eye(2), m[:, 2])),
        lambda m: np.linalg.det(m[:, :2] + 3 * np.eye(2)),
        lambda m: np.linalg.slogdet(m[:, :2] + 3 * np.eye(2))[1],
        lambda m: np.sum(np.linalg.cholesky(m @ m.T + np.eye(2))),
    ],
)  # fmt: skip
def test_functions_and_methods(f: Callable, differences: Callable) -> None:
    np.testing.assert_allclose(gradient(f, M), differences(f, M), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add.at(np.zeros(3), [0, 0, 1], x) or x[0],
        lambda x: np.sum(np.multiply.outer(x, x)),
        lambda x: np.sum(np.add.accumulate(x)),
        lambda x: np.sum(np.add.reduceat(x, [0, 1])),
        lambda x: x.flat[0] * 1.0,
        lambda x: np.sum(np.fft.fft(x).real),
    ],
)
def test_methods_of_ufuncs_iterators_and_transforms(call: Callable, differences: Callable) -> None:
    np.testing.assert_allclose(gradient(call, X), differences(call, X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: np.sum(x.view(np.int64)) * 1.0, autodiff.DifferentiationError, "reads the bits"),
        (lambda x: np.sum(np.nditer(x)), autodiff.LostValueError, "Converting to an array"),
    ],
)
def test_what_has_no_derivative_is_an_error_and_never_a_constant(
    call: Callable, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        gradient(call, X)


def test_ignored_derivatives() -> None:
    assert gradient(lambda x: x * autodiff.ignore_derivatives(x), 3.0) == 3.0
    assert gradient(lambda x: x * autodiff.stop_gradient(x * x), 3.0) == 9.0
    assert gradient(lambda x: x * autodiff.ignore_derivatives(lambda: x * x), 3.0) == 9.0
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(x * autodiff.ignore_derivatives(x)), X), X
    )
    assert gradient(lambda p: p[0] * autodiff.ignore_derivatives(p)[1], [2.0, 3.0]) == [3.0, 0.0]
    second = gradient(lambda x: gradient(lambda y: y**2 * autodiff.ignore_derivatives(y), x), 3.0)
    assert second == 6.0
