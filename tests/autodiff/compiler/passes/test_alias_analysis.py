"""What compiled programs write into: never their arguments, nor what they returned before."""

import itertools

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.passes.alias_analysis import AliasAnalysis
from autodiff.compiler.recording.ir import Program, Ref, Step, meta_of, part
from autodiff.structured.recorded_calls import Sweep

W = np.random.default_rng(0).standard_normal((16, 16))
LAYOUTS = (W, W, 0.7 * W, np.asfortranarray(W), W.T, W[::-1, ::-1], np.repeat(W, 2, axis=0)[::2])

VIEWS = {
    "einsum": lambda w: np.einsum("ij->ji", w),
    "diagonal by einsum": lambda w: np.tile(np.einsum("ii->i", w), (16, 1)),
    "einsum of two": lambda w: np.einsum("ij,->ji", w, 2.0),
    "diff": lambda w: np.diff(w, n=0),
    "diff, by place": lambda w: np.diff(w, 0),
    "array": lambda w: np.array(w, copy=None),
    "asarray": np.asarray,
    "real": np.real,
    "squeeze": np.squeeze,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_arguments_are_not_written_into(name):
    def f(w):
        return np.sin(VIEWS[name](w) * 2.0 + 1.0)

    compiled = compile(f, backend="python")
    for w in LAYOUTS:
        given = w.copy(order="K")
        np.testing.assert_allclose(compiled(given), f(w))
        np.testing.assert_array_equal(given, w)


def columns_written(w):
    y = np.asfortranarray(w) + 1.0
    y[2:5] *= 2.0
    v = y[:, 1]
    v[:] = 3.0
    return y


def transposed_and_written(w):
    y = np.array(w.T * 1.0, order="F")
    v = y[::2].T
    v[1:3] = 7.0
    u = v[::-1]
    u += w[:, :8]
    v[3, 4] = 2.0
    return y, np.sum(y * w)


def number_written(w):
    y = np.array(w[0, 0] * 2.0)
    y[None][:] = 3.0
    v = y.reshape(1, 1)
    v[0] *= w[0, 1]
    return y * np.sin(w)


@pytest.mark.parametrize("f", [columns_written, transposed_and_written, number_written])
def test_views_are_written_into_however_they_lie(f):
    compiled = compile(f, backend="python")
    for w in LAYOUTS:
        for expected, found in zip(f(w), compiled(w), strict=True):
            np.testing.assert_allclose(found, expected)
    assert compiled.eager_because is None


def equal_calls(w):
    a, b = w * 2.0, w * 2.0
    return a[1:], b[:2]


def neutral_calls(w):
    y = np.sin(w)
    return y[1:], y + 0.0, y * 1.0, +y, y.copy(), y**1


def arguments_again(w):
    return w + 0.0, w * 1, +w, w.copy()


def all_views(w):
    y = np.sin(w)
    return y, y[1:], y.T, w[0]


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("f", [equal_calls, neutral_calls, arguments_again, all_views])
def test_results_share_what_they_share_eagerly(f, backend, interpreted):
    compiled = compile(f, backend=backend)
    for w in LAYOUTS:
        expected, found = (*f(w), w), (*compiled(w), w)
        for i, j in itertools.combinations(range(len(found)), 2):
            if np.shares_memory(found[i], found[j]):
                assert np.shares_memory(expected[i], expected[j])


@pytest.mark.parametrize("backend", ["python", "native"])
def test_results_stay_what_they_are(backend, interpreted):
    def f(w):
        y = np.sin(w) * 2.0
        return y[::2], np.cumsum(y, axis=0) + w, {"rows": [y @ w, y.T]}

    compiled = compile(f, backend=backend)
    kept = [(w, compiled(w)) for w in LAYOUTS]
    for w, (a, b, c) in kept:
        expected = f(w)
        np.testing.assert_allclose(a, expected[0])
        np.testing.assert_allclose(b, expected[1])
        np.testing.assert_allclose(c["rows"][0], expected[2]["rows"][0])
        np.testing.assert_allclose(c["rows"][1], expected[2]["rows"][1])


ORDERS = {
    "flags": lambda w: 1.0 if w.flags.c_contiguous else 2.0,
    "strides": lambda w: float(w.strides[0]),
    "ravel": lambda w: w.ravel(order="K")[:3],
    "ravel, by place": lambda w: np.ravel(w, "A")[:3],
    "reshape": lambda w: w.reshape(-1, order="A")[:3],
    "flatten": lambda w: w.flatten("K")[:3],
    "nditer": lambda w: next(iter(np.nditer(w[:, ::3]))),
    "in order": lambda w: w.ravel(order="F")[:3],
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_in_memory_is_not_recorded(name):
    def f(w):
        y = np.sin(w) * 2.0
        return np.sum(ORDERS[name](w)) * np.sum(ORDERS[name](y))

    compiled = compile(f, backend="python")
    for w in LAYOUTS:
        np.testing.assert_allclose(compiled(w), f(w))


def writes_into_the_first(x, y):
    x[0] = 5.0
    return np.sum(x * y), x * 1.0


def halves_the_first(x, y):
    v = x[::2]
    v *= 0.5
    return np.sum(x * y), np.cumsum(y)


@pytest.mark.parametrize("f", [writes_into_the_first, halves_the_first])
def test_an_argument_that_is_written_into_may_share_memory(f):
    compiled = compile(f)

    def pairs():
        a, b = np.arange(6.0), np.arange(1.0, 7.0)
        yield a.copy(), b
        yield a.copy(), b
        yield from ((c, c) for c in (b.copy(),))
        yield from ((c, c[::-1]) for c in (b.copy(),))
        yield a.copy(), b

    for given, again in zip(pairs(), pairs(), strict=True):
        for expected, found in zip(f(*given), compiled(*again), strict=True):
            np.testing.assert_allclose(found, expected)
    x = np.arange(6.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(x, x + 1.0)


def ravelled_and_written(w):
    v = np.ravel(w)
    v[2] *= 3.0
    w[0] += 0.5
    return v, w * 1.0


def reshaped_copy_written(w):
    h = w * 1.0
    v = h.reshape(-1)
    h[1] = 7.0
    v[3:9] = 2.0
    return np.sum(v * np.arange(256.0)), h


def made_contiguous(w):
    h = np.sin(w)
    v = np.ascontiguousarray(h)
    v[1] = 2.0
    return h, v


@pytest.mark.parametrize("f", [ravelled_and_written, reshaped_copy_written, made_contiguous])
def test_the_layout_of_arguments_decides_what_is_a_view(f):
    compiled = compile(f)
    for w in (*LAYOUTS, *LAYOUTS):
        for expected, found in zip(f(w.copy(order="K")), compiled(w.copy(order="K")), strict=True):
            np.testing.assert_allclose(found, expected)


def test_ravel_copies_what_it_copies_eagerly():
    compiled = compile(lambda x: np.ravel(x))
    for x in (np.arange(6.0), np.arange(12.0)[::2]):
        for _ in range(2):
            assert np.shares_memory(compiled(x), x) == np.shares_memory(np.ravel(x), x)


BROADCAST = {
    "gradient of a sum": lambda x: gradient(lambda y: np.sum(y) ** 2, x),
    "copy": lambda x: np.broadcast_to(np.sum(x), (5,)).copy(),
    "copy of rows": lambda x: np.array(np.broadcast_to(x * 2.0, (2, 3))),
}


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("name", BROADCAST)
def test_results_can_be_written_into(name, backend, interpreted):
    compiled = compile(BROADCAST[name], backend=backend)
    for _ in range(3):
        found = compiled(np.arange(3.0))
        np.testing.assert_allclose(found, BROADCAST[name](np.arange(3.0)))
        found[..., 0] = 9.0
        assert np.count_nonzero(found == 9.0) == (2 if found.ndim == 2 else 1)


@pytest.mark.parametrize("n", [1, 2])
def test_a_part_that_is_taken_twice_is_not_apart(n):
    """Each step has its own reference to the whole."""
    x = np.ones(3)
    steps = [Step(Sweep.__new__(Sweep), (Ref(0),), None, 1)]
    steps += [Step(part, (Ref(1), 0), None, 2 + k) for k in range(n)]
    metas = [meta_of(x), meta_of((x, x)), *[meta_of(x)] * n]
    memory = AliasAnalysis(Program(steps, metas, [0], [Ref(1 + n)]))
    assert (memory.owners[2] == {2}) == (n == 1)
