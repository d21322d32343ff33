"""Thunks: computed when needed, once, and like their value."""

import copy
import gc
import operator
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

from chainrules_core.errors import MutateThunkError
from chainrules_core.tangents import (
    AbstractThunk,
    InplaceableThunk,
    Tangent,
    Thunk,
    thunk,
    unthunk,
    unthunk_deep,
)


class Counter:
    """A function that counts its calls."""

    def __init__(self, value=None):
        self.value = np.array([[1.0, 2.0], [3.0, 4.0]]) if value is None else value
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return self.value


def add_nothing(buffer):
    return buffer


def plain_thunk(value=None):
    return thunk(Counter(value))


def inplaceable(value=None):
    return InplaceableThunk(add_nothing, Counter(value))


EACH_KIND = pytest.mark.parametrize("make", [plain_thunk, inplaceable])


def test_forced_once():
    f = Counter(1.5)
    t = thunk(f)
    assert f.calls == 0
    assert unthunk(t) == unthunk(t) == float(t) == t + 0.0
    assert f.calls == 1


def test_decorates():
    @thunk
    def x_bar():
        return 2.0

    assert isinstance(x_bar, Thunk)
    assert unthunk(x_bar) == 2.0


def test_unthunk_removes_one_layer_and_unthunk_deep_all():
    inner = thunk(lambda: 2.0)
    assert unthunk(thunk(lambda: inner)) is inner
    assert unthunk_deep(thunk(lambda: inner)) == 2.0
    for x in (1.0, np.ones(2), "a", None, (inner,)):
        assert unthunk(x) is x
        assert unthunk_deep(x) is x


def test_unthunk_deep_inside_tangents():
    t = Tangent[tuple](thunk(lambda: 1.0), Tangent[dict](k=thunk(lambda: thunk(lambda: 2.0))))
    forced = unthunk_deep(thunk(lambda: t))
    assert next(iter(forced)) == 1.0
    assert list(forced[1].values()) == [2.0]
    assert unthunk_deep(forced) == forced


def test_a_long_chain_is_no_recursion():
    t = thunk(lambda: 1.0)
    for _ in range(3000):
        t = thunk(lambda t=t: t)
    assert unthunk_deep(t) == 1.0


def test_two_threads_compute_it_once():
    start = threading.Barrier(4)
    calls = []

    def slow():
        calls.append(1)
        time.sleep(0.05)
        return np.ones(3)

    t, seen = thunk(slow), []

    def force():
        start.wait()
        seen.append(unthunk(t))

    threads = [threading.Thread(target=force) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all(value is seen[0] for value in seen)


def test_the_closure_is_let_go():
    class Big:
        pass

    big = Big()
    alive = weakref.ref(big)
    t = thunk(lambda big=big: 1.0)
    del big
    assert alive() is not None
    unthunk(t)
    gc.collect()
    assert alive() is None


def test_an_error_names_where_the_thunk_was_made_and_can_be_met_again():
    t = thunk(lambda: np.ones(2) @ np.ones(3))
    for _ in range(2):
        with pytest.raises(ValueError, match="matmul") as caught:
            t + 1
        (note,) = caught.value.__notes__
        assert "test_thunk.py:" in note


def test_a_value_instead_of_a_function_is_explained():
    with pytest.raises(TypeError) as caught:
        unthunk(thunk(np.ones(2)))
    assert "thunk(lambda: a @ b)" in caught.value.__notes__[0]


VALUE = np.array([[1.0, 2.0], [3.0, 4.0]])
BINARY = [
    operator.add, operator.sub, operator.mul, operator.matmul, operator.truediv,
    operator.floordiv, operator.mod, operator.pow, operator.eq, operator.ne, operator.lt,
    operator.le, operator.gt, operator.ge,
]  # fmt: skip


SECOND = [VALUE + 1, np.float64(2), 3.0]


@EACH_KIND
@pytest.mark.parametrize(
    "op, other",
    [(op, x) for op in BINARY for x in SECOND if op is not operator.matmul or np.ndim(x)],
)
def test_binary_operators(make, op, other):
    np.testing.assert_array_equal(op(make(), other), op(VALUE, other))
    np.testing.assert_array_equal(op(other, make()), op(other, VALUE))
    np.testing.assert_array_equal(op(make(), thunk(lambda: other)), op(VALUE, other))


@EACH_KIND
@pytest.mark.parametrize(
    "use",
    [
        operator.neg, abs, lambda t: t[1], lambda t: t[:, 0], list, len, np.asarray, np.sum, np.exp,
        lambda t: np.add(t, 1), lambda t: np.concatenate([t, VALUE]), np.linalg.inv,
        lambda t: np.add.reduce(t), lambda t: np.stack((t, t)), lambda t: t.shape,
        lambda t: t.dtype, lambda t: t.ndim, lambda t: t.size, lambda t: t.sum(axis=0),
        lambda t: t.reshape(4), lambda t: t.real, lambda t: 2.0 in t, np.shape, np.transpose,
        lambda t: np.asarray(t, dtype=np.float32), lambda t: np.where([True, False], t, 0.0),
        lambda t: np.einsum("ij->i", t), lambda t: np.array(t),
    ],
)  # fmt: skip
def test_uses_of_the_value(make, use):
    np.testing.assert_array_equal(use(make()), use(VALUE))


@pytest.mark.parametrize("convert", [float, complex, int, bool])
def test_conversions(convert):
    assert convert(thunk(lambda: 2.5)) == convert(2.5)


@pytest.mark.parametrize(
    "use",
    [lambda t: t.T, lambda t: t.mT, lambda t: t.conj(), lambda t: t.conjugate(),
     lambda t: t.transpose(), lambda t: t.transpose(1, 0), lambda t: t.transpose((1, 0))],
)  # fmt: skip
@pytest.mark.parametrize("kind", [Thunk, lambda f: InplaceableThunk(add_nothing, f)])
def test_what_stays_delayed(use, kind):
    f = Counter(VALUE * 1j)
    delayed = use(kind(f))
    assert type(delayed) is Thunk
    assert f.calls == 0
    np.testing.assert_array_equal(unthunk(delayed), use(VALUE * 1j))


def test_conjugate_of_a_number():
    assert unthunk(thunk(lambda: 1j).conj()) == -1j


@EACH_KIND
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv",
                                  "imod", "ipow"])  # fmt: skip
def test_in_place_operators_are_refused(make, name):
    with pytest.raises(MutateThunkError, match="cannot be changed in place"):
        getattr(operator, name)(make(), 2.0)


@EACH_KIND
@pytest.mark.parametrize(
    "write",
    [
        lambda t: operator.setitem(t, 0, 1.0), lambda t: operator.delitem(t, 0),
        lambda t: np.add(VALUE, VALUE, out=t), lambda t: np.add.at(t, 0, 1.0),
        lambda t: np.sum(VALUE, axis=0, out=t), lambda t: t.fill(0), lambda t: t.sort(),
    ],
)  # fmt: skip
def test_writing_is_refused(make, write):
    t = make()
    with pytest.raises(MutateThunkError):
        write(t)
    np.testing.assert_array_equal(unthunk(t), VALUE)


def test_adding_a_thunk_in_place_to_an_array_works():
    a = np.ones((2, 2))
    a += thunk(lambda: VALUE)
    np.testing.assert_array_equal(a, VALUE + 1)


def test_protocol_lookups_do_not_compute():
    f = Counter()
    t = thunk(f)
    assert not hasattr(t, "__array_interface__")
    assert not hasattr(t, "_repr_html_")
    assert f.calls == 0


def test_repr_does_not_compute():
    t = thunk(lambda: 2.0)
    assert "not computed" in repr(t)
    assert "test_thunk.py:" in repr(t)
    unthunk(t)
    assert repr(t) == "Thunk(2.0)"


def test_unhashable():
    with pytest.raises(TypeError):
        hash(thunk(lambda: 1.0))


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_copy_is_a_computed_thunk(clone):
    t = clone(thunk(lambda: 2.0))
    assert isinstance(t, AbstractThunk)
    assert repr(t) == "Thunk(2.0)"


def test_inplaceable_from_a_thunk_shares_its_value():
    f = Counter(2.0)
    inner = thunk(f)
    t = InplaceableThunk(add_nothing, inner)
    assert unthunk(t) == unthunk(inner) == 2.0
    assert f.calls == 1


def test_inplaceable_adds_into_a_buffer_without_computing():
    def add_into(buffer):
        buffer[1] += 5.0
        return buffer

    f, buffer = Counter(), np.zeros(3)
    t = InplaceableThunk(add_into, f)
    assert t.add_into(buffer) is buffer
    np.testing.assert_array_equal(buffer, [0.0, 5.0, 0.0])
    assert f.calls == 0


def test_a_thunk_of_a_tangent_behaves_like_it():
    t = thunk(lambda: Tangent[dict](a=1.0))
    assert t["a"] == 1.0
    assert t.a == 1.0
    assert t + t == Tangent[dict](a=2.0)
    assert Tangent[dict](a=1.0) + t == Tangent[dict](a=2.0)
    assert 3 * t == Tangent[dict](a=3.0)
