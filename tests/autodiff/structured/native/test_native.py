"""Machine code, the NumPy source and tracing give the same results and gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient, jacobian
from autodiff.functions import known
from autodiff.structured.runtime import Structured
from tests.autodiff.structured.kernels import (
    arguments,
    joined,
    masked,
    recurrence,
    small_matrices,
    stencil,
)
from tests.helpers import check_direction

N = 9


def factorization(a, b, m):
    s = m @ m.T + 6.0 * np.eye(len(a))
    for i in range(s.shape[0]):
        for j in range(i):
            s[i, j] -= np.dot(s[i, :j], s[j, :j])
            s[i, j] /= s[j, j]
        s[i, i] -= s[i, :i] @ s[i, :i]
        s[i, i] = np.sqrt(s[i, i])
    return np.sum(np.tril(s) * m)


def refuses(a, b, m):
    """Errors that are raised in the middle of an iteration."""
    s = m @ m.T + 6.0 * np.eye(len(a))
    for i in range(len(a)):
        for j in range(i + 1):
            total = s[i, j]
            for k in range(j):
                total -= s[i, k] * s[j, k]
            if i == j:
                if total <= 0.0:
                    raise np.linalg.LinAlgError("not positive definite")
                s[i, i] = math.sqrt(total)
            else:
                s[i, j] = total / s[j, j]
        if abs(a[i]) > 50.0:
            raise ValueError("too large")
        if a[i] > 0.2:
            a[i] *= s[i, i]
        else:
            b[i] += a[i] * s[i, 0]
    return np.sum(np.tril(s)) + np.sum(a)


def products(a, b, m):
    w = a.copy()
    for i in range(4):
        w = np.tanh(m @ w + b) + 0.1 * (w @ m)
        m[:, i] += 0.1 * (a @ m)
        b[1:] += (m[i, :] @ m[:, 1:]) * 0.1
    return w.sum() + np.sum(m)


def swapped(a, b, m):
    old = a * 1.0
    new = np.zeros_like(a)
    for i in range(5):
        new[1:] = np.sin(old[:-1] + b[i])
        new[0] = old[-1]
        old, new = new, old
    return np.sum(old * a)


def search(a, b, m):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0.39:
            break
        if i % 2 == 1:
            continue
        s += a[i] * b[i]
    n = 0
    while n < 3:
        n += 1
        s = math.sin(s + b[n])
    return s


def views(a, b, m):
    for i in range(m.shape[0]):
        row = m[i]
        column = m.T[i]
        row[1:] += a[i] * row[:-1]
        column *= 0.5
    return np.sum(m * m)


def overlaps(a, b, m):
    for _ in range(3):
        a[1:] = a[:-1] * b[1:]
        a[::-1] = a * 0.9
        m[1:, 1:] -= 0.5 * m[:-1, :-1]
        a[:] = np.where(a > 0.1, a * b, 0.5 * a)
    return np.sum(a) + np.sum(m)


def gathered(a, b, m):
    places = np.array([0, 2, 2, 5, 1])
    total = 0.0
    for i in range(1, 4):
        chosen = b[places[:i]]
        total += chosen @ a[:i]
    return total


def powers(a, b, m):
    for i in range(1, len(a)):
        a[i] = a[i] ** 2 + abs(b[i]) ** 0.5 + (2.0 + np.tanh(a[i - 1])) ** 3 / (1.0 + b[i] ** 2)
        m[i] = m[i] ** 2 + (m[i - 1] ** 2 + 0.1) ** 1.5
    return np.sum(np.tanh(a)) + np.sum(np.tanh(m))


def scanned(a, b, m):
    history = np.zeros((6, len(a)))
    state = a
    for t in range(6):
        fresh = np.sin(state) * b + 0.1
        state = fresh * 0.5 + state
        history[t] = state
    return np.sum(history**2)


def branching_tests(a, b, m):
    """Loops whose tests contain branches and loops."""

    def goes_on(x, i):
        for k in range(i):
            if k > 3:
                return False
        return x < 2.0 if i else True

    total = 0.0
    step, i = 0.1, 0
    while (step < 0.4 and i < 9) or i == 0:
        if a[i % 4] > 0.1:
            total = total + step * a[i % 4]
            step *= 1.5
        else:
            total = total * (1.0 + b[0])
            step *= 1.1
        i += 1
    while 0 < i < 20:
        if i % 3 == 0:
            total = total + b[i % 4]
        i -= 1
    while goes_on(total, i):
        if i != 1:
            total = total * 0.9 + a[i]
        i += 1
    return total


KERNELS = (stencil, recurrence, factorization, products, swapped, search, views, overlaps,
           gathered, powers, scanned, branching_tests, small_matrices, refuses, masked,
           joined)  # fmt: skip


def loss_of(kernel: Callable) -> Callable:
    def loss(a, b, m):
        a, b, m = a * 1.0, b * 1.0, m * 1.0
        y = kernel(a, b, m)
        return y + np.sum(a * b) + np.sum(b) + np.sum(m * m)

    return loss


@pytest.mark.parametrize("kernel", KERNELS)
def test_three_ways(
    kernel: Callable, made: list[Structured], traced: Callable, by_numpy: Callable
) -> None:
    loss = loss_of(kernel)
    expected = by_numpy(loss, *arguments(N))
    for _ in range(2):  # the second one runs in memory that the first has used
        found = gradient(loss, *arguments(N))
        for x, y, z in zip(found, expected, traced(loss, *arguments(N)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(x, z, rtol=1e-11, atol=1e-13)
    programs = [p for p in made if p.name == kernel.__name__]
    assert programs
    assert programs[0].native is not None, programs[0].why
    assert not programs[0].native.why
    assert not programs[0].bailouts


def test_what_numpy_is_told_to_raise_is_raised() -> None:
    small = np.full(3, 1e-200)
    for _ in range(2):
        gradient(product_of_elements, small, small)
    for large, kind in ((1e-200, "under"), (1e200, "over")):
        given = np.full(3, large)
        with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError, match=f"{kind}flow"):
            gradient(product_of_elements, given, given)


def product_of_elements(x, y):
    return sum_of_products(x, y) + np.sum(x)


def sum_of_products(x, y):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * y[i]
    return total


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision_stays(kernel: Callable, made: list[Structured], traced: Callable) -> None:
    given = [x.astype(np.float32) for x in arguments(N)]
    found = gradient(loss_of(kernel), *given)
    for x, y in zip(found, traced(loss_of(kernel), *given), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_differences(kernel: Callable) -> None:
    check_direction(loss_of(kernel), *arguments(N))


def test_arrays_in_any_layout(made: list[Structured], traced: Callable) -> None:
    a, b, m = arguments(N)
    wide = np.zeros((2 * N, 2))
    wide[::2, 1] = a
    packed = np.zeros(8 * N + 1, np.uint8)[1:].view(np.float64)
    packed[:] = b
    given = (wide[::2, 1], packed, np.asfortranarray(m))

    def direct(a, b, m):
        total = 0.0
        for i in range(len(a)):
            total += a[i] * b[i] * m[i, i] + np.sum(m[i] * b)
        return total

    found = gradient(lambda *xs: direct(*xs), *given)
    for x, y in zip(found, traced(lambda *xs: direct(*xs), *given), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)


def test_a_sweep_runs_again_and_again(traced: Callable) -> None:
    def rows(x):
        y = x * 1.0
        for i in range(1, len(x)):
            y[i] = np.sin(y[i - 1]) * x[i]
        return y

    x = arguments(N)[0]
    found = jacobian(lambda v: rows(v), x)
    expected = [traced(lambda v, i=i: rows(v)[i], x) for i in range(N)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


# -- where machine code steps aside ---------------------------------------------------------------


def divided(x, d):
    y = x * 1.0
    for i in range(len(x)):
        t = 1.0 / d
        y[i] = y[i] * t
    return y


def _outcome(f: Callable, *args: object) -> object:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found: object = f(*args)
        except Exception as error:
            return type(error), str(error)
    return np.asarray(found).tobytes(), sorted({str(w.message) for w in said})


@pytest.mark.parametrize("zero", [0.0, np.float64(0.0)])
def test_divisions_by_zero(zero: float, traced: Callable) -> None:
    loss = lambda x: np.sum(divided(x, zero))  # noqa: E731
    for _ in range(2):
        assert _outcome(gradient, loss, np.ones(3)) == _outcome(traced, loss, np.ones(3))


def beyond(x, n):
    y = x * 1.0
    for i in range(n):
        y[i] = y[i] * 2.0
    return y


def test_indices_out_of_bounds(traced: Callable) -> None:
    loss = lambda x: np.sum(beyond(x, 5))  # noqa: E731
    kind, text = _outcome(gradient, loss, np.ones(3))  # type: ignore[misc]
    assert kind is IndexError
    assert (kind, text) == _outcome(traced, loss, np.ones(3))


def rooted(x):
    total = 0.0
    for i in range(len(x)):
        total += math.sqrt(x[i])
    return total


def test_errors_of_math(traced: Callable) -> None:
    x = np.array([1.0, -1.0])
    assert _outcome(gradient, lambda v: rooted(v), x) == _outcome(traced, lambda v: rooted(v), x)


def grown(x):
    k = 1
    for _ in range(len(x)):
        k = k * 1_000_003
    return x[0] * k


def test_large_integers() -> None:
    assert gradient(lambda x: grown(x), np.ones(5))[0] == float(1_000_003**5)


def overflowing(x):
    y = x * 1.0
    for i in range(1, len(x)):
        y[i] = y[i - 1] * 1e200
    return y


def test_numpy_warns_where_it_does(made: list[Structured]) -> None:
    loss = lambda x: np.sum(overflowing(x)[:2])  # noqa: E731
    with pytest.warns(RuntimeWarning, match="overflow"):
        gradient(loss, np.ones(4))


def test_machine_code_that_steps_aside_is_given_up(made: list[Structured]) -> None:
    """First that of the whole function, then that of its loop alone."""

    def overflowing(x):
        y = x * 1.0
        for i in range(1, len(x)):
            y[i] = y[i - 1] * 1e200
        return y

    loss = lambda x: np.sum(overflowing(x)[:2])  # noqa: E731
    for _ in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gradient(loss, np.ones(4))
    assert made[0].native is None
    assert made[0].why is not None


def failing(x, y):
    for i in range(4):
        y[i] = x[i]
    return y


def test_what_is_written_before_an_error() -> None:
    seen = []

    def loss(x):
        y = np.zeros(3) * x[0]
        try:
            failing(x, y)
        except IndexError:
            seen.append(y[2] * 1.0)
        return np.sum(y)

    np.testing.assert_array_equal(gradient(loss, np.ones(3)), np.ones(3))
    assert seen


def classes(x, n):
    s = 0.0
    k = 0
    for i in range(n):
        s = s + x[i]
        k = k + x[i] * 0.5
    return s, k


@pytest.mark.parametrize("n", [0, 2])
def test_classes_of_results(n: int, made: list[Structured]) -> None:
    seen = []

    def loss(x):
        s, k = classes(x, n)
        seen.append((type(s * 1), isinstance(s, np.floating), isinstance(k, int)))
        return np.sum(x) + s + k

    gradient(loss, np.ones(3))
    values = classes(np.ones(3), n)
    assert seen[0][1] == isinstance(values[0], np.floating)
    assert seen[0][2] == isinstance(values[1], int)


FUNCTIONS = sorted(
    (f for f in known("loops") if isinstance(f, np.ufunc) and "d->d" in f.types),
    key=lambda f: f.__name__,
)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_functions(f: np.ufunc, traced: Callable) -> None:
    def applied(x):
        total = 0.0
        for i in range(len(x)):
            total += f(x[i]) * 0.5
            total += np.sum(f(x[: i + 1]) * x[: i + 1])
        return total

    x = np.array([0.3, 0.7, 0.45]) + (1.0 if f is np.arccosh else 0.0)
    found, expected = gradient(lambda v: applied(v), x), traced(lambda v: applied(v), x)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def csr_product(starts, columns, values, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        y[i] = values[starts[i] : starts[i + 1]] @ x[columns[starts[i] : starts[i + 1]]]
    return y


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
def test_arrays_of_indices_of_any_class(
    dtype: str, made: list[Structured], traced: Callable
) -> None:
    starts = np.array([0, 3, 3, 5, 9], dtype)
    columns = np.array([4, 0, 4, 2, 3, 1, 1, 0, 2], dtype)
    values, x, _ = arguments(N)

    def f(v, w):
        return np.sum(np.sin(csr_product(starts, columns, v, w)))

    for found, expected in zip(gradient(f, values, x), traced(f, values, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    (program,) = [p for p in made if p.name == "csr_product"]
    assert program.native is not None
    assert not program.native.why
    assert not program.bailouts


def test_quotients_of_few_elements_do_not_step_aside(made: list[Structured]) -> None:
    def f(w, x):
        for _ in range(5):
            w = w + 0.02 * np.array([w[1] * w[2], w[2] * w[0], w[1]]) / x
        return np.sum(w * w)

    for _ in range(3):
        gradient(f, np.array([0.3, 2.0, -0.2]), np.array([1.0, 2.0, 3.0]))
    assert not made[0].bailouts
