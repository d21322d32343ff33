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
