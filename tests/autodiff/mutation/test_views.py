"""Writes are seen in views, and writes into views in the array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import MutationError, gradient
from autodiff.dispatch.call import call
from autodiff.mutation import assignment
from autodiff.mutation.memory_layout import copy_of
from autodiff.structured import calls
from chainrules_core import NoTangent, rrule, unthunk
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5])
W = np.array([1.0, 2.0, 3.0])


VIEWS: dict[str, Callable] = {
    "slice": lambda a: a[0:2],
    "reversed": lambda a: a[::-1],
    "ellipsis": lambda a: a[...],
    "new axis": lambda a: a[None, :],
    "transpose": lambda a: a.T,
    "np.transpose": lambda a: np.transpose(a),
    "reshape": lambda a: a.reshape(3, 1),
    "reshape of a slice": lambda a: a[0:2].reshape(2, 1),
    "ravel": lambda a: np.ravel(a),
    "squeeze": lambda a: np.squeeze(a),
    "real": lambda a: a.real,
    "np.real": lambda a: np.real(a),
    "astype": lambda a: a.astype(float, copy=False),
    "astype copy": lambda a: a.astype(float),
    "atleast_1d": lambda a: np.atleast_1d(a),
    "atleast_2d": lambda a: np.atleast_2d(a),
    "asarray": lambda a: np.asarray(a),
    "ascontiguousarray": lambda a: np.ascontiguousarray(a),
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "flip": lambda a: np.flip(a),
    "swapaxes": lambda a: a[None].swapaxes(0, 1),
    "moveaxis": lambda a: np.moveaxis(a[None], 0, 1),
    "rot90": lambda a: np.rot90(a[None]),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 3)),
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, np.zeros((2, 3)))[0],
    "split": lambda a: np.split(a, [1])[0],
    "array_split": lambda a: np.array_split(a, 3)[0],
    "hsplit": lambda a: np.hsplit(a, 3)[0],
    "unstack": lambda a: np.unstack(a[:, None])[0],
    "diagonal": lambda a: np.diagonal(a[None]),
    "rows": lambda a: next(iter(a[None])),
    "elements": lambda a: np.stack(list(a)),
    "flatten": lambda a: a.flatten(),
    "copy": lambda a: a.copy(),
    "fancy": lambda a: a[[0, 1, 2]],
    "mask": lambda a: a[a < 10],
    "where": lambda a: np.where(True, a, a),
    "positive": lambda a: +a,
    "nan_to_num": lambda a: np.nan_to_num(a, copy=False),
    "real_if_close": lambda a: np.real_if_close(a),
    "mT": lambda a: a[None].mT,
    "tolist": lambda a: np.stack(a.tolist()),
    "item": lambda a: a.item(0) * np.ones(2),
}  # fmt: skip

# Views that NumPy itself does not let one write into, or warns of (warnings are errors here).
REFUSED_BY_NUMPY = {
    "broadcast_to": ((ValueError,), "read-only"),
    "diagonal": ((ValueError,), "read-only"),
    "broadcast_arrays": ((DeprecationWarning, FutureWarning), "array"),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_write_is_seen_in_views_and_not_in_copies(view: Callable) -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        v = view(a)
        a[0] = x[1] * 10.0
        a *= 2.0
        return np.sum(v * v) + np.sum(a)

    check_gradient(f, X)


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_into_a_view_is_seen_in_the_array(name: str) -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        v = VIEWS[name](a)
        v[0] = x[2] * 10.0
        v *= 2.0
        return np.sum(v * v) + np.sum(a * W)

    if name not in REFUSED_BY_NUMPY:
        check_gradient(f, X)
        return
    errors, message = REFUSED_BY_NUMPY[name]
    for call_of_f in (f, lambda x: gradient(f, x)):
        with pytest.raises(errors, match=message):
            call_of_f(X)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_on_two_levels(view: Callable) -> None:
    def f(x: Any) -> Any:
        a = x * x
        v = view(a)
        a[0] = x[1] * x[2]
        return np.sum(v * v * v) + np.sum(a * W)

    check_gradient(lambda x: np.sum(gradient(f, x) * W), X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (v := x[::-1], v.__setitem__(0, x[0] * x[0]), np.sum(x * W))[-1],
        lambda x: (b := x * x, b[1:].__setitem__(0, x[0]), np.sum(b * b))[-1],
        lambda x: (b := x * x, b[1:].__imul__(x[:-1]), np.sum(b * b))[-1],
        lambda x: (b := x * x, c := b[0:2], d := c[::-1], b.__imul__(x), np.sum(d * c))[-1],
        lambda x: (b := x * x, c := b[0:2], d := b[1:], c.__imul__(2.0), np.sum(d * d))[-1],
        lambda x: (b := x * x, c := b[0:2], c.__isub__(b[1:]), np.sum(b * b))[-1],
    ],
    ids=["argument", "view of a view", "scaled view", "twice", "overlap", "overlap in place"],
)
def test_families_of_views(f: Callable) -> None:
    check_gradient(f, X)
    check_gradient(lambda x: np.sum(gradient(f, x) * W), X)


def test_rows_of_a_matrix_are_written() -> None:
    def f(x: Any) -> Any:
        A = np.zeros_like(x, shape=(4, 3))
        A[0] = x
        for i in range(3):
            A[i + 1] = A[i] * x + 0.1
            A[i] += A[i + 1]
        return np.sum(A * A[::-1])

    check_gradient(f, X)


def by_product(y: Any, x: Any, i: int) -> Any:
    return y[i - 1] * x * y[i - 2]


def by_matrix(y: Any, x: Any, i: int) -> Any:
    return np.outer(x, x) @ y[i - 1]


@pytest.mark.parametrize("row_of", [by_product, by_matrix])
def test_rows_made_of_rows_leave_the_array_where_it_is(row_of: Callable, monkeypatch: Any) -> None:
    """Nodes keep copies of rows: if they kept views, each write would copy the whole array."""
    monkeypatch.setattr(calls.Settings, "enabled", False)
    copied = []

    def noted(x: Any) -> Any:
        copied.append(x.shape)
        return copy_of(x)

    def f(x: Any) -> Any:
        y = np.ones((40, 3))
        for i in range(2, 40):
            y[i] = row_of(y, x, i) * 0.9
        return np.sum(y[-1] * W)

    before = autodiff.automatic_compile(False)
    try:
        check_gradient(f, 1.0 + 0.1 * X)
        monkeypatch.setattr(assignment, "copy_of", noted)
        gradient(f, X)
    finally:
        autodiff.automatic_compile(before)
    assert copied.count((40, 3)) <= 1  # before it holds traced values


def test_the_parts_of_an_output_may_be_views() -> None:
    def halves(x: np.ndarray) -> tuple:
        return x[:1], x[1:]

    @rrule.register(halves)
    def halves_rrule(x: np.ndarray) -> tuple[Any, Callable]:
        def halves_pullback(y_bar: Any) -> tuple:
            parts = [unthunk(y_bar[i]) + np.zeros(n) for i, n in enumerate((1, len(x) - 1))]
            return NoTangent(), np.concatenate(parts)

        return halves(x), halves_pullback

    def first(x: Any) -> Any:
        b = x.copy()
        p, q = call(halves, (b,))
        b[0] = b[0] * 10.0
        return np.sum(p) + np.sum(q * q)

    def second(x: Any) -> Any:
        b = x.copy()
        p, _ = call(halves, (b,))
        p *= 10.0
        return np.sum(b * b)

    check_gradient(first, X)
    check_gradient(second, X)


def test_a_write_into_one_of_several_views() -> None:
    """The cotangent is divided as the array was, when the other arrays are no longer traced."""

    def write(x: Any) -> Any:
        a, b = x[:2].copy(), x[1:] * 2.0
        p, q = np.broadcast_arrays(a, b)
        p[0] = q[1]
        return np.sum(p * b * W[:2])  # 8 x_1 x_2

    np.testing.assert_allclose(gradient(write, X), [0, 8 * X[2], 8 * X[1]])


def mirrored(x: Any) -> Any:
    y = x * 1.0
    y[::-1][y > -9] = y
    return np.sum(y)


def halves(x: Any) -> Any:
    y = np.concatenate([x, 2 * x])
    y[::2][np.ones(len(x), bool)] = y[1::2]
    y[1:][y[1:] > -9] = y[1:]
    return np.sum(y * y)


def test_a_mask_is_not_filled_from_the_memory_that_it_chooses() -> None:
    """NumPy copies the value of any other write first; of a mask it reads what it has written."""
    with pytest.raises(MutationError, match="already overwritten"):
        gradient(mirrored, np.array([0.3, -0.7, 0.5]))
    x = np.array([0.3, -0.7])
    value, found = autodiff.value_and_gradient(halves, x)
    assert value == halves(x)
    np.testing.assert_allclose(found, [0.0, -11.2 - 2.8], atol=1e-12)


@pytest.mark.parametrize(
    "index",
    [
        lambda i: np.s_[i:],
        lambda i: np.s_[:i],
        lambda i: np.s_[i::2],
        lambda i: (i,),
        lambda i: (..., slice(i, None)),
    ],
)
def test_a_bound_that_changes_after_its_use(index: Callable) -> None:
    def reads(x: Any) -> Any:
        i, s = np.zeros((), int), 0.0
        for k in range(40):
            i[...] = k % 3
            s = s + np.sum(x[index(i)]) * (k + 1.0)
        return s

    def writes(x: Any) -> Any:
        i, b, s = np.zeros((), int), x * 1.0, 0.0
        for k in range(40):
            i[...] = k % 3
            part = b[index(i)] * 1.0
            b[index(i)] = x[k % 2] * (k + 1.0)
            s = s + np.sum(part)
        return s + np.sum(b * b)

    def views(x: Any) -> Any:
        i, b = np.ones((), int), x * 1.0
        part = b[index(i)]
        i[...] = 0
        b[1] = x[0] ** 2
        part *= 3.0
        return np.sum(b * np.sum(part))

    for f in (reads, writes, views):
        check_gradient(f, X)


@pytest.mark.parametrize("view", [lambda a: a.T, lambda a: a[::-1], lambda a: a, lambda a: a[0]])
def test_elements_written_in_order_of_the_array_itself(view: Callable) -> None:
    def f(x: Any) -> Any:
        y = x * W[:, None]
        y.flat[:] = view(y)
        return np.sum(y * x)

    x = np.arange(1.0, 10.0).reshape(3, 3)
    y = x.copy()
    y.flat[:] = view(y)
    if np.array_equal(y.ravel(), np.resize(view(x), 9)):
        check_gradient(f, x)
    else:  # NumPy reads elements that it has overwritten
        with pytest.raises(MutationError, match="already overwritten"):
            gradient(f, x)
