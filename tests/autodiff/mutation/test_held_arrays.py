"""What pullbacks keep of plain arrays, and writes into these after they were used."""

import operator
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.linalg.blas
import scipy.ndimage
import scipy.sparse

import autodiff
from autodiff import MutationError, gradient, hvp, pullback, pushforward, value_and_gradient
from chainrules_core import ChainRulesError
from tests.helpers import check_gradient

X = np.array([0.5, 1.5, 2.5])
C = np.array([1.0, 2.0, 4.0])
LARGE = np.tile(C, 10_000) * 1.5
BUFFER = np.empty(3)
HIDDEN: dict[str, Any] = {"np": np}
exec("def unseen(a, k=2.0):\n    a *= k\n", HIDDEN)
unseen = HIDDEN["unseen"]
BATCHES = """
def batches():
    work = np.empty(30_000)
    for k in (1.0, 2.0, 1.0):
        work[:] = k
        yield work
"""
exec(BATCHES, HIDDEN)
batches = HIDDEN["batches"]

SHUFFLING = random.Random(0)
autodiff.compile(lambda x: x * 2.0)(3.0)  # from now on calls of generators are watched
WRITES: dict[str, Callable[[Any], Any]] = {
    "square": lambda r: np.square(r, out=r),
    "add by place": lambda r: np.add(r, 1.0, r),
    "divide where": lambda r: np.divide(r, 2.0, out=r, where=r > 0.0),
    "cumsum": lambda r: np.cumsum(r, out=r),
    "cumsum by place": lambda r: np.cumsum(r, 0, None, r),
    "clip": lambda r: np.clip(r, 0.0, 1.0, out=r),
    "take": lambda r: np.take(r * 2.0, np.arange(r.size), out=r),
    "method clip": lambda r: r.clip(0.0, 1.0, out=r),
    "method cumsum": lambda r: r.cumsum(0, None, r),
    "einsum": lambda r: np.einsum("i,i->i", r, r, out=r),
    "random": lambda r: np.random.default_rng(0).random(out=r),
    "shuffle": lambda r: np.random.default_rng(0).shuffle(r),
    "old shuffle": lambda r: np.random.shuffle(r),  # noqa: NPY002 - that is the test
    "Python's shuffle": lambda r: random.Random(0).shuffle(r),
    "shuffle by a generator outside": lambda r: SHUFFLING.shuffle(r),
    "copyto": lambda r: np.copyto(r, 2.0),
    "put": lambda r: np.put(r, [0], [9.0]),
    "place": lambda r: np.place(r, r > 0.0, [9.0]),
    "sort": lambda r: r.sort(),
    "fill": lambda r: r.fill(1.0),
    "partition": lambda r: r.partition(1),
    "item": lambda r: r.__setitem__(0, 9.0),
    "imul": lambda r: r.__imul__(2.0),
    "operator": lambda r: operator.imul(r, 2.0),
    "setitem": lambda r: operator.setitem(r, 0, 9.0),
    "methodcaller": lambda r: operator.methodcaller("fill", 0.0)(r),
    "unbound": lambda r: np.ndarray.fill(r, 0.0),
    "at": lambda r: np.add.at(r, [0], 5.0),
    "flat": lambda r: setattr(r, "flat", 3.0),
    "real": lambda r: setattr(r, "real", 3.0),
    "memoryview": lambda r: operator.setitem(memoryview(r), 0, 9.0),
    "blas": lambda r: scipy.linalg.blas.dscal(2.0, r),
    "output": lambda r: scipy.ndimage.gaussian_filter1d(r * 2.0, 1.0, output=r),
    "map": lambda r: list(map(r.__setitem__, [0], [9.0])),
    "without source": unseen,
    "nan_to_num": lambda r: np.nan_to_num(np.negative(r, r), copy=False),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_into_what_was_used(write: Callable) -> None:
    def f(x: Any) -> Any:
        r = C - 3.0
        s = np.sum(r * x)
        write(r)
        return s

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, X), C - 3.0)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_into_large_arrays_are_errors(write: Callable) -> None:
    def f(x: Any) -> Any:
        r = LARGE - 3.0
        s = np.sum(r * x)
        write(r)
        return s

    with pytest.raises(MutationError, match="old values"):
        gradient(f, np.tile(X, 10_000))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_into_arrays_made_in_the_function(write: Callable) -> None:
    def f(x: Any) -> Any:
        r = np.zeros(3)
        r += C
        s = np.sum(r * x)
        write(r)
        return s + np.sum(r * x * x)

    def plain(x: Any) -> Any:
        r = C.copy()
        write(r)
        return C + 2.0 * x * r

    if write is WRITES["memoryview"]:
        with pytest.raises(ChainRulesError, match="memoryview"):
            gradient(f, X)
        return
    value, found = value_and_gradient(f, X)
    if write not in (WRITES["old shuffle"], WRITES["shuffle by a generator outside"]):
        assert value == pytest.approx(f(X))
        np.testing.assert_allclose(found, plain(X))


def test_a_buffer_that_holds_the_same_in_the_end() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for k in (1.0, 3.0, 1.0):
            np.multiply(C, k, out=BUFFER)
            s = s + np.sum(BUFFER * x * x)
        return s

    for _ in range(20):
        np.testing.assert_allclose(gradient(f, X), 10.0 * C * X)


def test_a_large_array_that_unseen_code_restores() -> None:
    def f(x: Any) -> Any:
        r = LARGE - 3.0
        s = np.sum(r * x)
        unseen(r)
        s = s + np.sum(r * x * x)
        unseen(r, 0.5)
        return s

    with pytest.raises(MutationError, match="not followed"):
        gradient(f, np.tile(X, 10_000))


def test_a_large_buffer_that_a_generator_gives_again() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for work in batches():
            s = s + np.sum(work * x * x)
        return s

    with pytest.raises(MutationError, match="not followed"):
        gradient(f, np.tile(X, 10_000))

    def by_hand(x: Any) -> Any:
        steps = batches()
        s = np.sum(next(steps) * x * x)
        return s + np.sum(next(steps) * x * x)

    with pytest.raises(MutationError, match="not followed"):
        gradient(by_hand, np.tile(X, 10_000))


def test_a_large_buffer_in_code_without_source() -> None:
    text = """
def batches():
    work = np.zeros(30_000)
    for k in (1.0, 3.0, 1.0):
        np.add(C, k, out=work)
        yield work

def f(x):
    s = 0.0
    for work in batches():
        s = s + np.sum(work * x)
    return s
"""
    hidden: dict[str, Any] = {"np": np, "C": 1.5}
    exec(text, hidden)
    with pytest.raises(MutationError, match="not followed"):
        gradient(hidden["f"], np.tile(X, 10_000))


def of_itself(r: Any) -> None:
    np.add.at(r, [1, 0, 1], r[[0, 1, 2]])
    np.add.at(r, [1, 0, 1], r[...])


def of_a_view(r: Any) -> None:
    q = r[::-1]
    np.multiply.at(q, [0, 2], r[:2])


def with_its_view_elsewhere(r: Any) -> None:
    q = r[1:]
    np.add.at(r, [0, 1], q)
    q *= 2.0


@pytest.mark.parametrize("write", [of_itself, of_a_view, with_its_view_elsewhere])
def test_c_functions_see_memory_that_arguments_share(write: Callable) -> None:
    def f(x: Any) -> Any:
        r = C - 3.0
        write(r)
        return np.sum(r * x)

    np.testing.assert_allclose(gradient(f, X), gradient_of_linear(f))

    def g(x: Any) -> Any:
        y = x * 1.0
        write(y)
        return np.sum(y)

    assert pushforward(g, X)[0] == pytest.approx(g(X))
    assert value_and_gradient(g, X)[0] == pytest.approx(g(X))


def gradient_of_linear(f: Callable) -> np.ndarray:
    return np.array([f(e) for e in np.eye(X.size)])


def test_large_arrays_that_nobody_writes_into() -> None:
    def f(x: Any) -> Any:
        r = LARGE - 3.0
        work = np.empty(30_000)
        np.square(r, out=work)
        unseen(work)
        return np.sum(r * x) + np.sum(work * x)

    x = np.tile(X, 10_000)
    r = LARGE - 3.0
    np.testing.assert_allclose(gradient(f, x), r + 2.0 * r * r)


def indices(x: Any) -> Any:
    i, j = np.array([0, 1]), np.array([1, 2])
    y = np.outer(x, x)[i, j]
    i += 1
    return np.sum(y * y)


def mask(x: Any) -> Any:
    m = np.array([True, False, True])
    s = np.sum(x * x, where=m)
    m[:] = False
    return s


def in_a_list(x: Any) -> Any:
    d = np.outer(C, C)
    s = np.linalg.multi_dot([x, d, x])
    d *= 2.0
    return s


def in_a_sparse_array(x: Any) -> Any:
    a = scipy.sparse.csr_array(np.outer(C, C))
    y = a @ x
    a.data *= 2.0
    return np.sum(y * y)


def weights(x: Any) -> Any:
    w = C * 1.0
    s = np.average(x * x, weights=w)
    w[0] = 50.0
    return s


def captured(x: Any) -> Any:
    r = C - 3.0
    s = scipy.integrate.quad(lambda t: np.sum(r * x) * t, 0.0, 1.0)[0]
    r *= 3.0
    return s


def in_an_attribute(x: Any) -> Any:
    box = types.SimpleNamespace(r=C - 3.0)
    s = np.sum(np.tanh(box.r * x))
    box.r += 1.0
    return s


def ignored(x: Any) -> Any:
    y = np.tanh(x)
    seen = autodiff.ignore_derivatives(y)
    s = np.sum(y)
    seen *= 2.0
    return s


@pytest.mark.parametrize(
    "f",
    [indices, mask, in_a_list, in_a_sparse_array, weights, in_an_attribute],
)
def test_a_pullback_uses_the_values_before_the_write(f: Callable) -> None:
    check_gradient(f, X)


@pytest.mark.parametrize("f", [captured, ignored])
def test_a_write_after_a_value_was_captured_or_ignored_is_an_error(f: Callable) -> None:
    with pytest.raises(MutationError, match="is written into after it was used"):
        gradient(f, X)


def test_compiled_functions_do_not_hold_what_changes() -> None:
    def f(x: Any) -> Any:
        r = C - 3.0
        s = np.sum(r * x)
        np.square(r, out=r)
        return s

    compiled = autodiff.compile(f)
    namespace: dict[str, Any] = {"np": np}
    source = (
        "def g(x):\n    c = np.arange(3.0)\n    z = x * c\n    c[1] = 50.0\n    return np.sum(z)"
    )
    exec(source, namespace)
    without_source = autodiff.compile(namespace["g"])
    for k in (1.0, 2.0, 3.0):
        assert compiled(k * X) == pytest.approx(f(k * X))
        assert without_source(k * X) == pytest.approx(namespace["g"](k * X))


def test_an_array_overwritten_after_its_use_on_nested_levels() -> None:
    """Code that is generated after some calls keeps a copy, as the general path does."""
    c = np.linspace(-1.5, 2.0, 4)

    def f(x: Any) -> Any:
        r = c - 1.0
        s = np.sum(r * x * x)
        r[:] = 7.0
        return s

    x, v = np.ones(4), np.arange(4.0)
    for _ in range(20):
        np.testing.assert_allclose(hvp(f, x, v), 2 * (c - 1.0) * v)
        gradients = pullback(lambda x: gradient(f, x), x)[1]
        np.testing.assert_allclose(gradients(v), 2 * (c - 1.0) * v)
