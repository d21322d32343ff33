"""The sweep through the tape: cotangents of values that are used many times, and who owns them."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, pullback
from autodiff.structured import calls
from autodiff.trace.tracer import untraced
from chainrules_core import NoTangent, rrule

X = np.array([1.0, -2.0, 3.0])
C = np.array([4.0, 5.0, 6.0])
M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [2.0, 0.0, 1.0]])

# ---------------------------------------------------------------------- many paths to one value


def diamond(x: Any) -> Any:
    a = x * 1.0
    b = a
    return np.sum(a + b)


def deep_diamonds(x: Any) -> Any:
    for _ in range(5):
        x = x + x
    return np.sum(x)


def mixed_paths(x: Any) -> Any:
    y = x * C
    z = y + x
    w = y[0] * z[1] + z[2] * x[0]
    return np.sum(y * z) + w + np.sum(x) + x[1]


def reads_before_and_after(x: Any) -> Any:
    s = x[0] * 2.0
    y = x * x
    s = s + x[0] + x[1] + np.sum(y) + x[0]
    return s + np.sum(x[1:]) + np.sum(x[[0, 0, 2]])


def same_array_to_two_inputs(x: Any) -> Any:
    y = x * 2.0
    return np.sum((x + y) + (y + x) - x)


def subtract_itself(x: Any) -> Any:
    y = x * 1.0
    return np.sum((y - y) * C + y)


def by_arrays_without_axes(x: Any) -> Any:
    """The cotangent of a number comes from arrays and from chains of numbers in turn."""
    y = x[0] * 1.0
    first = np.zeros(())
    first[...] = y
    t = y + first * 0.1
    second = np.zeros(())
    second[...] = y
    view = second[...]
    return t * 0.5 + view + second


def scalar_paths(x: Any) -> Any:
    a = x[0] * x[1]
    b = a + a
    return b * a + a - b / (1.0 + a * a) + 2.0 * b


@pytest.mark.parametrize(
    "f",
    [
        diamond,
        deep_diamonds,
        mixed_paths,
        reads_before_and_after,
        same_array_to_two_inputs,
        subtract_itself,
        by_arrays_without_axes,
        scalar_paths,
    ],
)
def test_a_value_used_several_times(f: Callable, differences: Callable) -> None:
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6, atol=1e-6)


def test_the_cotangent_of_a_number_is_a_number() -> None:
    assert gradient(lambda x: by_arrays_without_axes([x]), 1.3) == pytest.approx(2.55)


def test_a_pullback_may_return_one_array_for_two_inputs() -> None:
    """Accumulation into the one must not be seen in the other, nor in what the rule holds."""
    held: list[np.ndarray] = []

    def plus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b

    @rrule.register(plus)
    def plus_rrule(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Callable]:
        def plus_pullback(y_bar: np.ndarray) -> tuple:
            held.append(y_bar)
            return NoTangent(), y_bar, y_bar

        return a + b, plus_pullback

    from autodiff.dispatch.call import call

    def f(a: Any, b: Any) -> Any:
        c = call(plus, (a, b))
        d = call(plus, (a, c))
        return np.sum(d) + a[0] + a[1] + np.sum(a * 3.0)

    a_bar, b_bar = gradient(f, X, C)
    np.testing.assert_array_equal(a_bar, [6.0, 6.0, 5.0])
    np.testing.assert_array_equal(b_bar, [1.0, 1.0, 1.0])
    for y_bar in held:
        np.testing.assert_array_equal(y_bar, [1.0, 1.0, 1.0])


def test_a_pullback_may_return_what_it_keeps() -> None:
    kept = np.array([10.0, 20.0, 30.0])

    def dot_kept(x: np.ndarray) -> float:
        return float(np.sum(x * kept))

    @rrule.register(dot_kept)
    def dot_kept_rrule(x: np.ndarray) -> tuple[float, Callable]:
        def dot_kept_pullback(y_bar: float) -> tuple:
            return NoTangent(), kept

        return dot_kept(x), dot_kept_pullback

    from autodiff.dispatch.call import call

    g = gradient(dot_kept, X)
    g += 1.0
    g = gradient(lambda x: call(dot_kept, (x,)) + x[0] + x[0] * x[1] + np.sum(x), X)
    np.testing.assert_array_equal(g, [10.0, 22.0, 31.0])
    np.testing.assert_array_equal(kept, [10.0, 20.0, 30.0])


# ------------------------------------------------------------------------ results are one's own


CAPTURING = {
    "times": lambda x: np.sum(x * C),
    "matmul": lambda x: x @ C,
    "rmatmul": lambda x: C @ x,
    "dot": lambda x: np.dot(x, C),
    "vdot": lambda x: np.vdot(x, C),
    "inner": lambda x: np.inner(x, C),
    "einsum": lambda x: np.einsum("i,i->", x, C),
    "matrix": lambda x: np.sum(M @ x),
    "plus": lambda x: np.sum(x + C),
    "where": lambda x: np.sum(np.where(x > 0, x, C)),
}


@pytest.mark.parametrize("n", [3, 3000, 140_000])
@pytest.mark.parametrize("plus", [lambda a, c: a + c, lambda a, c: c + a], ids=["first", "last"])
def test_a_real_and_a_complex_summand_share_no_cotangent(plus: Callable, n: int) -> None:
    x, w = np.linspace(-1.0, 1.0, n), np.exp(1j * np.arange(n))

    def f(x: np.ndarray, c: np.ndarray) -> float:
        a, c = np.sin(x), c * 1.0
        early = np.sum(np.real(np.conj(c) * c))  # added to the cotangent of c when a has its own
        y = plus(a, c)
        return early + np.sum(np.real(y * w + y))

    x_bar, c_bar = gradient(f, x, w)
    np.testing.assert_allclose(x_bar, np.cos(x) * (w.real + 1))
    np.testing.assert_allclose(c_bar, 2 * w + np.conj(w) + 1)


@pytest.mark.parametrize("name", CAPTURING)
def test_a_gradient_shares_no_memory_with_what_the_function_holds(name: str) -> None:
    f = CAPTURING[name]
    x, c, m = X.copy(), C.copy(), M.copy()
    g = gradient(f, x)
    assert g.flags.writeable
    assert not np.shares_memory(g, C)
    assert not np.shares_memory(g, x)
    g += 100.0
    for now, before in ((X, x), (C, c), (M, m)):
        np.testing.assert_array_equal(now, before)
    np.testing.assert_array_equal(gradient(f, x), g - 100.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.sum(a + b),
        lambda a, b: np.sum(a * 1.0 + b * 1.0),
        lambda a, b: np.sum(np.reshape(a, (1, 3)) + b),
        lambda a, b: np.sum(a.T) + np.sum(b[::-1]),
        lambda a, b: 0.0,
    ],
    ids=["plus", "times one", "reshape", "views", "constant"],
)
def test_gradients_share_no_memory_with_each_other(f: Callable) -> None:
    a_bar, b_bar = gradient(f, X, X)
    assert not np.shares_memory(a_bar, b_bar)
    before = b_bar.copy()
    a_bar += 1.0
    np.testing.assert_array_equal(b_bar, before)


@pytest.mark.parametrize(
    "f",
    [lambda x: x, lambda x: x * 1.0, lambda x: x + 0.0, lambda x: x.T, lambda x: np.reshape(x, -1)],
    ids=["itself", "times one", "plus zero", "transpose", "reshape"],
)
def test_a_pullback_shares_no_memory_with_its_seed(f: Callable) -> None:
    _, back = pullback(f, X)
    seed = np.array([1.0, 2.0, 3.0])
    first, second = back(seed), back(seed)
    assert not np.shares_memory(first, seed)
    assert not np.shares_memory(first, second)
    first += 1.0
    np.testing.assert_array_equal(seed, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(back(seed), second)


@pytest.mark.parametrize("f", [lambda x: x * x, np.exp, lambda x: 1.0 / x, np.tanh])
def test_a_pullback_does_not_see_its_output_change(f: Callable) -> None:
    y, back = pullback(f, X)
    before = back(np.ones(3))
    y[:] = 0.0
    np.testing.assert_array_equal(back(np.ones(3)), before)


@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: np.sin(x), lambda x: C / x])
def test_a_pullback_does_not_see_its_argument_change(f: Callable) -> None:
    x = X.copy()
    _, back = pullback(f, x)
    before = back(np.ones(3))
    x[:] = 7.0
    np.testing.assert_array_equal(back(np.ones(3)), before)


def test_a_disconnected_argument_gets_a_zero_of_its_own() -> None:
    a_bar, b_bar = gradient(lambda a, b: np.sum(a), X, C)
    np.testing.assert_array_equal(b_bar, np.zeros(3))
    b_bar += 1.0
    np.testing.assert_array_equal(C, [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(a_bar, np.ones(3))


# ---------------------------------------------------------------------------------- size, memory


def test_a_million_nodes() -> None:
    def f(x: float) -> float:
        for _ in range(1_000_000):
            x = x * 1.0000001
        return x

    assert gradient(f, 1.0) == pytest.approx(1.0000001**1_000_000)


def test_a_long_chain_of_arrays() -> None:
    def f(x: Any) -> Any:
        for _ in range(5_000):
            x = x * 1.0001
        return np.sum(x)

    np.testing.assert_allclose(gradient(f, X), np.full(3, 1.0001**5_000))


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the collector of cycles, what is not freed by counting stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Watched:
    """Functions that note their intermediate array."""

    def __init__(self) -> None:
        self.arrays: list[weakref.ref] = []

    def __call__(self, x: Any) -> Any:
        y = x * 2.0
        self.arrays.append(weakref.ref(untraced(y)))
        return np.sum(y * y)

    def fail(self, x: Any) -> Any:
        self(x)
        raise KeyError

    def nested(self, x: Any) -> Any:
        return np.sum(gradient(self, x) * x)

    @property
    def alive(self) -> int:
        return sum(a() is not None for a in self.arrays)


def test_the_tape_is_freed_as_soon_as_the_gradient_is_there(no_collector: None) -> None:
    f = Watched()
    gradient(f, X)
    assert f.alive == 0


def test_the_tape_of_a_pullback_lives_as_long_as_the_pullback(no_collector: None) -> None:
    f = Watched()
    _, back = pullback(f, X)
    assert f.alive == 1
    back(1.0)
    back(2.0)
    assert f.alive == 1
    del back
    assert f.alive == 0


def test_the_tape_is_freed_after_an_error_and_under_nesting(no_collector: None) -> None:
    f = Watched()
    with pytest.raises(KeyError):
        gradient(f.fail, X)
    gradient(f.nested, X)
    assert len(f.arrays) == 2
    assert f.alive == 0


def peak(f: Callable, x: Any) -> int:
    gradient(f, x)
    tracemalloc.start()
    try:
        gradient(f, x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def sum_of_elements(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] * x[i]
    return s


def test_reading_every_element_uses_one_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "enabled", False)
    n = 1000
    assert peak(sum_of_elements, np.ones(4 * n)) < 10 * peak(sum_of_elements, np.ones(n))


def test_reading_every_row_uses_one_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "enabled", False)

    def f(x: Any) -> Any:
        return sum(np.sum(x[i]) for i in range(len(x)))

    n = 150
    x = np.ones((n, n))
    assert peak(f, x) < 20 * x.nbytes


def test_the_gradient_of_a_sum_of_reads(differences: Callable) -> None:
    np.testing.assert_array_equal(gradient(sum_of_elements, X), 2 * X)


# --------------------------------------------------------------------------------------- threads


def test_threads_have_tapes_of_their_own() -> None:
    found: dict[int, Any] = {}
    start = threading.Barrier(4)

    def work(k: int) -> None:
        def f(x: Any) -> Any:
            y = x
            for _ in range(500):
                y = y * 1.0 + x[0] * 0.0
            return np.sum(y * k)

        start.wait()
        found[k] = gradient(f, X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        np.testing.assert_array_equal(found[k], np.full(3, float(k)))


def test_a_pullback_may_be_called_from_another_thread() -> None:
    _, back = pullback(lambda x: x * x, X)
    found: list[Any] = []
    t = threading.Thread(target=lambda: found.append(back(np.ones(3))))
    t.start()
    t.join()
    np.testing.assert_array_equal(found[0], 2 * X)
