"""Functions of NumPy that write: into their first argument, or into out=."""

import functools
import operator

import numpy as np
import pytest

import autodiff
from autodiff import MutationError, gradient
from autodiff.mutation.memory_layout import overlaps
from autodiff.numpy_api.out_arguments import added_at, turns_of
from chainrules_core.testing.checks.check import check_rule

V = np.array([0.7, -1.3, 2.1, 0.4])
P = np.array([0.6, 1.7, 2.2, 0.9])
W = np.array([0.3, 0.5, -0.8])
S = np.array(0.8)
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.6, -0.9]])
SQUARE = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.2, 0.5, 1.8]])
TALL = np.arange(15.0).reshape(5, 3) * 0.3
CUBE = np.arange(27.0).reshape(3, 3, 3) * 0.1
COLUMNS = np.array([[1], [0]])
ODD = np.array([True, False, True])


def writing(f, *args, **kwargs):
    """What an array holds after ``f(array, ...)`` wrote into a copy of it."""

    def written(x, *more):
        y = np.copy(x)
        f(y, *args, *more, **kwargs)
        return y

    return written


along = functools.partial(writing, np.put_along_axis)

# fmt: off
WRITERS = [
    ("put", writing(np.put, [0, -1, 2]), V, W),
    ("put wrap", writing(np.put, [5, -9, 2], mode="wrap"), V, W),
    ("put clip", writing(np.put, [9, -9], mode="clip"), V, W),
    ("put a number", writing(np.put, [1, 4]), M, S),
    ("put fewer values", writing(np.put, [0, 1, 2, 3]), M, W[:2]),
    ("put nothing", writing(np.put, [], []), V),
    ("put into a number", writing(np.put, [0]), S, W[:1]),
    ("put a list", lambda x, v: writing(np.put, [0, 2], [v[0], 1.0])(x), V, W),
    ("place", writing(np.place, M > 0), M, W),
    ("place a list", lambda x, v: writing(np.place, mask=M > 0, vals=[v[0], v[1]])(x), M, W),
    ("putmask", writing(np.putmask, M > 0), M, W),
    ("putmask from an array", lambda x, v: writing(np.putmask, x > 0, v**2)(x), M, M),
    ("copyto", lambda x, v: writing(np.copyto, v, where=V > 0)(x), V, S),
    ("copyto, broadcast", lambda x: writing(np.copyto, src=x)(np.zeros((2, 3))), W),
    ("copyto, a list", lambda x: writing(np.copyto, [x[0], x[1] * 2])(np.zeros(2)), V),
    ("fill_diagonal", writing(np.fill_diagonal), SQUARE, W),
    ("fill_diagonal, a number", writing(np.fill_diagonal), M, S),
    ("fill_diagonal, wide", writing(np.fill_diagonal), TALL.T, W),
    ("fill_diagonal, tall", writing(np.fill_diagonal), TALL, W),
    ("fill_diagonal, wrap", lambda x, v: writing(np.fill_diagonal, v, wrap=True)(x), TALL, S),
    ("fill_diagonal, cube", writing(np.fill_diagonal), CUBE, W),
    ("fill_diagonal, list", lambda x, v: writing(np.fill_diagonal, [v[0], 1.0])(x), SQUARE, W),
    ("put, nothing", lambda x: writing(np.put, [0], [])(x), V),
    ("put, float places", lambda x, v: writing(np.put, [0.0, 2.0], v)(x), V, W),
    ("putmask, nothing", lambda x: writing(np.putmask, V > 0, [])(x), V),
    ("putmask, other axes", lambda x, v: writing(np.putmask, ODD[None], v)(x), W, V),
    ("put_along_axis", lambda x, v: along(COLUMNS, v[:, None], 1)(x), M, W[:2]),
    ("put_along_axis 0", lambda x, v: along(np.array([[1, 0, 1]]), v, axis=0)(x), M, S),
    ("put_along_axis None", lambda x, v: along(np.array([1, -2]), v, None)(x), M, W[:2]),
]
# fmt: on


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in WRITERS], ids=[r[0] for r in WRITERS])
def test_a_writer(f, xs, check_modes):
    check_modes(f, *xs)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: np.put(y, [7], 1.0),
        lambda y, x: np.put(y, [-9], x[0]),
        lambda y, x: np.put(y[:0], [0], x),
        lambda y, x: y.put([0, 7], x[0]),
        lambda y, x: np.putmask(y, [True], x),
        lambda y, x: np.place(y, y > 0, []),
        lambda y, x: y.fill(x),
        lambda y, x: y.fill([1.0]),
    ],
)
def test_errors_are_those_of_numpy(write):
    def f(x):
        y = x * 1.0
        write(y, x)
        return np.sum(y)

    with pytest.raises((IndexError, ValueError)) as plain:
        f(V)
    with pytest.raises(plain.type):
        gradient(f, V)


def out(f, *args, shape=None, fill=0.0, **kwargs):
    """What is in a new array given as ``out=``."""

    def result(*xs):
        y = np.full(np.shape(xs[0]) if shape is None else shape, fill)
        f(*xs, *args, out=y, **kwargs)
        return y * 2

    return result


def two_outs(x):
    a, b = np.zeros(4), np.zeros(4)
    np.modf(x, out=(a, b))
    return a * 2 + b


def first_out(x):
    a = np.zeros(4)
    made = np.modf(x, out=(a, None))
    return a * 2 + made[1]


def in_a_tuple(x, y):
    made = np.cos(x * y)
    np.multiply(x, y, out=(made,))
    return made * 2


def in_a_tuple_where(x):
    made = np.cos(x)
    np.exp(x, out=(made,), where=V > 0)
    return made * x


def both_traced(x):
    a, b = np.cos(x), np.sin(x)
    np.modf(x, out=(a, b))
    return a * x + b


def of_a_list_where(x):
    made = np.cos(x)
    np.add(x, [x[0], 2.0, x[1], x[2]], out=made, where=V > 0)
    return made * x


def into_itself(x):
    y = np.copy(x)
    np.exp(y, out=y)
    np.multiply(y, y, out=y)
    return y


# fmt: off
OUTS = [
    ("out", out(np.multiply), V, P),
    ("where and out", out(np.multiply, where=V > 0), V, P),
    ("where and out, filled", out(np.sqrt, where=V > 0, fill=3.0), V),
    ("where, broadcast", out(np.multiply, where=ODD, shape=(2, 3)), M[0], M),
    ("where, inputs broadcast", out(np.add, 1.0, where=ODD, shape=(2, 3)), W),
    ("where, nowhere", out(np.sin, where=False), V),
    ("where of a number", out(np.sin, where=ODD, shape=3), S),
    ("where, traced out", lambda x: np.log(x, where=V > 0, out=x * 0 + 5.0), V),
    ("where, zeros_like", lambda x: np.sqrt(x, out=np.zeros_like(x), where=x > 0), V),
    ("where of clip", out(np.clip, -0.17, 0.55, where=V > 0), V),
    ("where of clip, max", lambda x, s: np.clip(x, max=s, where=ODD, out=np.ones(3)), W, S),
    ("where alone", lambda x: np.sqrt(x, where=V > 0, out=None)[V > 0], V),
    ("where alone, two", lambda x, y: np.add(x, y, where=V > 0, out=None)[V > 0], V, P),
    ("where, two outputs", lambda x: np.modf(x, where=V > 0, out=(np.zeros(4), None))[0], V),
    ("where true", lambda x: np.sin(x, where=True), V),
    ("a tuple", lambda x: np.sin(x, out=(np.zeros(4),)), V),
    ("a tuple of a traced one", in_a_tuple, V, P),
    ("a tuple and where", in_a_tuple_where, V),
    ("two traced outputs", both_traced, V),
    ("a list and where", of_a_list_where, V),
    ("two outputs", two_outs, V),
    ("the first of two outputs", first_out, V),
    ("into itself", into_itself, V),
    ("reduce with where", out(np.add.reduce, 1, where=M > 0, shape=2), M),
    ("accumulate", out(np.multiply.accumulate), V),
    ("outer", lambda x: np.multiply.outer(x, x, out=np.zeros((4, 4))), V),
    ("a method", lambda x: x.cumsum(1, out=np.zeros((2, 3))), M),
    ("median", out(np.median, 1, shape=2), M),
    ("broadcast to out", out(np.sin, shape=(2, 4)), V),
    ("of a plain array, where", lambda x: x * np.add(V, P, where=V > 0, out=np.zeros(4)), V),
    ("of a plain array", lambda x: x * np.add(V, P, out=np.zeros(4)), V),
]
# fmt: on


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in OUTS], ids=[r[0] for r in OUTS])
def test_out(f, xs, check_modes):
    check_modes(f, *xs)


TWO = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.power, np.hypot, np.logaddexp)


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
def test_at(f, check_modes):
    check_modes(writing(f.at, [0, 2, 0]), P, np.array([0.5, 1.9, 2.3]))
    check_modes(writing(f.at, np.array([3, 1, 1])), P, S)


# fmt: off
AT = [
    ("one argument", writing(np.exp.at, [0, 2, 0]), V),
    ("a tuple", writing(np.multiply.at, ([0, 1, 0], [1, 1, 1])), M, W),
    ("a slice and a list", writing(np.multiply.at, (slice(None), [0, 0, 2])), M, W),
    ("rows", writing(np.multiply.at, [0, 0, 1]), M, W),
    ("a mask", lambda x: writing(np.multiply.at, V > 0, x[0])(x), V),
    ("one place", lambda x: writing(np.multiply.at, 1, x[0])(x), V),
    ("a number", writing(np.multiply.at, ()), S, W[0]),
    ("nowhere", lambda x: writing(np.multiply.at, [], x[0])(x), V),
    ("add a list", lambda x: writing(np.add.at, [0, 1, 1], [x[0], x[1], 1.0])(np.zeros(3)), V),
    ("add to zeros", lambda x: writing(np.add.at, [0, 1, 1, 2], x)(np.zeros(3)), V),
    ("add complex", writing(np.add.at, [0, 0]), W + 1j, W[:2] - 2j),
]
# fmt: on


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in AT], ids=[r[0] for r in AT])
def test_at_an_index(f, xs, check_modes):
    check_modes(f, *xs)


def test_added_at():
    check_rule(added_at, V, W, fkwargs={"index": [0, 2, 0]})
    check_rule(added_at, M, 1.5, fkwargs={"index": (slice(None), [1, 1])})


def test_turns():
    np.testing.assert_array_equal(turns_of(np.array([7, 3, 7, 7, 3])), [0, 0, 1, 2, 1])
    assert turns_of(np.zeros(0, int)).shape == (0,)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: np.put(y, [0], x[0]),
        lambda y, x: np.copyto(y, x),
        lambda y, x: np.multiply.at(y, [0], x[0]),
        lambda y, x: np.sin(x, out=y),
        lambda y, x: np.sin(x, out=y, where=V > 0),
        lambda y, x: np.put(y, [0, 1], [x[0], 2.0]),
    ],
)
def test_an_array_from_outside_does_not_take_traced_values(write):
    outside = np.zeros(4)
    with pytest.raises(autodiff.MutationError, match="not traced, and its derivative would be"):
        autodiff.gradient(lambda x: write(outside, x) or np.sum(outside), V)
    np.testing.assert_array_equal(outside, np.zeros(4))


@pytest.mark.parametrize("where", [True, V > 0])
def test_copyto_casts_as_numpy_does(where):
    def f(x, y):
        z = x * 1.0
        np.copyto(z, y, where=where)
        return np.sum(z)

    for run in (f, autodiff.gradient):
        given = (f, V, V * 1j) if run is not f else (V, V * 1j)
        with pytest.raises(TypeError, match="same_kind"):
            run(*given)
    np.testing.assert_array_equal(autodiff.gradient(f, V, 2)[0], np.where(where, 0.0, 1.0))


def test_a_complex_part_written_under_two_levels(check_modes):
    def parts(z):
        y = z * 1
        y.real[1:] = 2.0
        y.imag[:2] *= np.real(z[:2])
        return y

    check_modes(parts, np.array([0.7 + 0.2j, -1.3 + 0.5j, 2.1 - 0.3j]))


def test_a_real_array_takes_no_complex_numbers():
    z = V + 1j
    for write in (
        lambda y, z: np.sqrt(z, out=y),
        lambda y, z: np.sqrt(z, out=y, where=V > 0),
        lambda y, z: np.multiply.at(y, [0], z[0]) or y,
    ):
        with pytest.raises(
            autodiff.MutationError, match=r"dtype float64 cannot take .* complex128"
        ):
            autodiff.gradient(lambda z, write=write: np.abs(write(np.ones(4), z)[0]), z)


def test_views_that_overlap_are_told_from_those_that_do_not():
    x = np.arange(24.0).reshape(2, 3, 4)
    apart = [x, x.T, x[::-1, 1:, ::2], x[:, :1], np.real(x + 0j), x[:0], x.reshape(4, 6)[:, None]]
    assert not any(overlaps(y) for y in apart)
    windows = np.lib.stride_tricks.sliding_window_view
    assert overlaps(np.broadcast_to(x, (2, 2, 3, 4)))
    assert overlaps(windows(x, 2, axis=1))
    assert not overlaps(windows(x, 3, axis=1))


def test_an_array_with_the_identity_of_another_that_is_gone_is_free():
    def many(x):
        total = 0.0
        for _ in range(200):
            total = total + np.sum(x + np.ones(4) * 0.5)  # held, then gone
            step = np.arange(4)
            step += 1  # may stand where that one stood
        return total

    np.testing.assert_array_equal(autodiff.gradient(many, V), np.full(4, 200.0))


def test_a_constant_is_copied_into_a_plain_array():
    """As NumPy's own ``full`` does, called by code that is not rewritten with a constant."""
    plain = np.empty(2)
    full = np.copyto

    def f(x):
        c = np.zeros(2)  # may be written into, so that it is followed
        operator.call(full, plain, c)
        return np.sum(x * plain)

    np.testing.assert_array_equal(autodiff.gradient(f, np.ones(2)), 0.0)


@pytest.mark.parametrize("n", [3, 300])
def test_a_constant_written_into_before_the_pullback_is_called(n):
    matrix, x = np.eye(n), np.linspace(0.1, 1.0, n)
    _, back = autodiff.pullback(lambda x: np.tanh(matrix @ x) * x, x)
    first = back(np.ones(n))
    np.testing.assert_array_equal(back(np.ones(n)), first)
    matrix[0, -1] = 2.0
    if n == 3:  # of small arrays the pullback has copies
        np.testing.assert_array_equal(back(np.ones(n)), first)
        return
    with pytest.raises(autodiff.MutationError, match="written into since"):
        back(np.ones(n))
    matrix[0, -1] = 0.0
    np.testing.assert_array_equal(back(np.ones(n)), first)


def test_a_number_that_is_filled_in_place_is_no_view():
    """``np.nan_to_num(x, copy=False)`` of an array without axes returns a number."""

    def f(x):
        y = np.array(x)
        z = np.nan_to_num(y, copy=False)
        y[...] = 0.5
        return z * y * x

    assert autodiff.value_and_gradient(f, -1.2) == (f(-1.2), pytest.approx(2 * 0.5 * -1.2))


@pytest.mark.parametrize("times", [1, 3])
def test_einsum_into_a_plain_array(times):
    """Its rule takes any keyword; an array to be written into is none of them."""

    def f(x):
        for _ in range(times):
            out = np.arange(3) * 1.0
            np.einsum("i->i", x, out=out)
        return out.sum()

    with pytest.raises(MutationError, match="not traced"):
        gradient(f, np.array([0.3, 0.5, 0.2]))

    def into_a_new_one(x):
        out = np.zeros(3)
        np.einsum("i,i->i", x, x, out=out)
        return out.sum()

    np.testing.assert_allclose(gradient(into_a_new_one, np.array([0.3, 0.5, 0.2])), [0.6, 1, 0.4])


ELLIPSIS = [
    lambda x: np.multiply(x[..., 0], x[..., 1], out=...),
    lambda x: np.add.reduce(x, out=...),
    lambda x: np.modf(x[0], out=...)[0],
    lambda x: np.divmod(x[0], 0.3, out=...)[1],
]


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="out=... is new in NumPy 2.3"
)
@pytest.mark.parametrize("make", ELLIPSIS)
def test_an_ellipsis_as_out_asks_for_an_array(make, check_modes):
    def written(x):
        t = make(x)
        assert isinstance(t, np.ndarray)
        before = np.sum(t)
        np.multiply(x[..., 1], x[..., 1], out=t)  # a number would not take it
        return before * np.sum(t)

    check_modes(written, V)


def test_a_number_takes_no_result():
    def f(x):
        t = np.multiply(x[0], x[1])
        np.multiply(x[0], x[0], out=t)
        return t

    for run in (f, lambda x: gradient(f, x), lambda x: autodiff.jvp(f, (x,), (x,))):
        with pytest.raises(TypeError, match=r"return arrays must be|must be a numpy\.ndarray"):
            run(V)
