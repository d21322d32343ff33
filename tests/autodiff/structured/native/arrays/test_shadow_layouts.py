"""Machine code: shadows with contiguous planes or columns, and shapes on the tape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured
from tests.autodiff.structured.writing.test_shadow_layouts import OTHER, _arguments


def made_in_turns(q, w, m):
    s = 0.0
    for k in range(4):
        a = q * w[k]
        for j in range(6):
            a[:, j] = np.sin(a[:, j]) + a[:, j - 1] * m[:, j]
        s = s + np.sum(a[:, 2] * a[:, 3])
    return s


def read_twice(q, w, m):
    """The written array is read again, so the sweep needs its shape."""
    for k in range(1, 6):
        t = q[:, k] * m[:, k]
        u = t / (1.0 + q[:, k - 1] ** 2)
        q[:, k] = u
        m[:, k] = np.sin(u) * t
    return np.sum(q * m)


def one_row(q, w, m):
    """The written array is broadcast."""
    for k in range(6):
        q[k : k + 1] = (w[None] * m[k : k + 1]) * q[k : k + 1]
        m[:, :] = q[k : k + 1] * w[k]
    return np.sum(q * m)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kernel", [*OTHER, made_in_turns, read_twice, one_row])
def test_gradients(kernel: Callable, order: str, made: list[Structured], traced: Callable) -> None:
    expected = traced(kernel, *_arguments(order))
    for _ in range(3):
        found = gradient(kernel, *_arguments(order))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    for program in made if order == "C" else ():  # machine code is for rows that lie in a row
        assert program.native is not None, program.why
        assert not program.native.why
        assert kernel is one_row or not program.bailouts


def test_the_stack_holds_shapes() -> None:
    program = Structured(read_twice, (None,) * 3, _arguments(), (0, 1, 2))
    program._make_native()
    text = "\n".join(program.native.emitter.forward_lines)
    assert ".shape, " in text or ".shape)" in text


def scan(a, b):
    """The arguments are copied into the layout, and the written one back."""
    c, d = np.zeros_like(a), np.empty((a.shape[0], a.shape[1], a.shape[2]), dtype=a.dtype)
    d[:, :, 0] = a[:, :, 0]
    for k in range(1, a.shape[2]):
        c[:, :, k] = a[:, :, k] / (2.0 + a[:, :, k] ** 2 - 0.1 * c[:, :, k - 1])
        d[:, :, k] = b[:, :, k] - 0.2 * d[:, :, k - 1] * c[:, :, k]
        b[:, :, k] = d[:, :, k] * c[:, :, k] * b[:, :, k]
    return d


def result_is_an_argument(a, b):
    for k in range(1, a.shape[2]):
        a[:, :, k] = a[:, :, k] * b[:, :, k] + a[:, :, k - 1]
    return a


def a_plane_in_the_place_of_another(a, b):
    plane = a[:, :, 0]
    for k in range(1, a.shape[2]):
        b[:, :, k] = b[:, :, k] * plane
        plane = a[:, :, k] - b[:, :, k - 1] * plane
    return b


def all_of_it(a, b):
    for k in range(1, a.shape[2]):
        a[:, :, k] = a[:, :, k - 1] * b[:, :, k]
        b[:, :, k] = b[:, :, k] + np.sum(a[:, :, k])
    return a * b


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 4, 5), (3, 1, 2), (3, 4, 1)])
@pytest.mark.parametrize(
    "kernel", [scan, result_is_an_argument, a_plane_in_the_place_of_another, all_of_it]
)
def test_arrays_in_the_layout_of_their_shadows(
    kernel: Callable, shape: tuple[int, ...], dtype: type, order: str, traced: Callable,
    made: list[Structured],
) -> None:  # fmt: skip
    def given() -> tuple:
        x = np.cos(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)
        return tuple(np.array(y, dtype=dtype, order=order) for y in (x, x * x + 0.5))

    def loss(a, b):
        c = kernel(a, b)
        assert c.flags.c_contiguous or order == "F"
        return np.sum(c * c) + np.sum(a * a * b) + np.sum(np.sin(b))

    expected = traced(loss, *given())
    rtol = 1e-10 if dtype is np.float64 else 1e-3
    for _ in range(3):
        for x, y in zip(gradient(loss, *given()), expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kernel", [scan, result_is_an_argument])
def test_which_arrays_have_a_layout(kernel: Callable) -> None:
    x = np.cos(np.arange(60.0)).reshape(3, 4, 5)
    program = Structured(kernel, (None,) * 2, (x, x + 2.0), (0, 1))
    program._make_native()
    assert program.native is not None, program.why
    text = "\n".join(program.native.emitter.forward_head)
    assert text.count("laid_out(") == 2


def columns_then_rows(x, w):
    y = np.empty_like(x)
    y[:, 0] = x[:, 0] * w[:, 0]
    for j in range(1, x.shape[1]):
        y[:, j] = x[:, j] + 0.5 * w[:, j - 1] * y[:, j - 1]
    z = x + y
    for i in range(1, x.shape[0]):
        y[i, :] = z[i, :] + 0.3 * y[i - 1, :]
    return np.sum(y * y)


def test_results_of_calls_outside_of_loops_are_in_c_order(check_machine_code: Callable) -> None:
    """NumPy would give `empty_like` and sums the layout of an argument that is laid out."""
    x = np.cos(np.arange(20.0)).reshape(4, 5)
    check_machine_code(columns_then_rows, lambda: (x.copy(), x + 2.0), 1e-12)
