"""Functions of NumPy that call a function: for each element, along an axis, piece by piece."""

import functools
import math

import numpy as np
import pytest

import autodiff

V = np.array([0.7, -1.3, 2.1, 0.4])
P = np.array([0.6, 1.7, 2.2, 0.9])
W = np.array([0.3, 0.5, -0.8])
S = np.array(0.8)
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.6, -0.9]])


def wave(a, b=1.0):
    return math.sin(a) * b if a > 0 else a * a * b


@np.vectorize
def cubed(a):
    return a**3


waves = np.vectorize(wave)
line = np.vectorize(lambda p, t: p[0] * t + p[1], excluded=[0])
named = np.vectorize(lambda t, p: p[0] * t + p[1], excluded={"p"})
product = np.frompyfunc(lambda a, b: a * a * b, 2, 1)
times = np.frompyfunc(lambda a, b: a * b, 2, 1)
halves = np.frompyfunc(lambda a: (a * a, a + 1), 1, 2)

# fmt: off
LOOPS = [
    ("vectorize", waves, V),
    ("vectorize two", waves, V, P),
    ("vectorize, broadcast", lambda x, y: waves(x[:, None], y), V, P),
    ("vectorize by name", lambda x, y: waves(x, b=y), V, P),
    ("vectorize a list", lambda x: waves([x[0], x[1]]), V),
    ("vectorize a number", waves, S),
    ("vectorize an element", lambda x: waves(x[0]), V),
    ("vectorize a closure", lambda p: np.vectorize(lambda t: t * p[0])(V), W),
    ("vectorize several outputs", lambda x: np.vectorize(lambda a: (a * a, np.sin(a)))(x), V),
    ("vectorize otypes", lambda x: np.vectorize(wave, otypes=[float])(x), V),
    ("vectorize otypes text", lambda x: np.vectorize(wave, otypes="d")(x), V),
    ("vectorize excluded", line, W, V),
    ("vectorize excluded name", lambda x, p: named(x, p=p), V, W),
    ("vectorize cache", lambda x: np.vectorize(wave, cache=True)(x), V),
    ("vectorize signature", np.vectorize(np.dot, signature="(n),(n)->()"), M, M),
    ("vectorize signature of rows", lambda x: np.vectorize(np.cumsum, signature="(n)->(n)")(x), M),
    ("vectorize decorator", cubed, V),
    ("vectorize of nothing", lambda x: (np.vectorize(wave, otypes=[float])(x[:0]), x), V),
    ("frompyfunc", lambda x, y: product(x, y).astype(float), V, P),
    ("frompyfunc and a sum", lambda x: np.sum(product(x, 2.0)), V),
    ("frompyfunc of a list", lambda x: product([x[0], 1.0], x[:2]), V),
    ("frompyfunc of a number", lambda x: product(x[0], 3.0), V),
    ("frompyfunc, several outputs", lambda x: list(halves(x)), V),
    ("frompyfunc of math", lambda x: np.frompyfunc(math.sin, 1, 1)(x), V),
    ("frompyfunc of a class", lambda x: np.frompyfunc(float, 1, 1)(x), V),
    ("frompyfunc made inside", lambda x, s: np.frompyfunc(lambda a: a * s, 1, 1)(x), V, S),
    ("frompyfunc of plain arrays", lambda s: np.frompyfunc(lambda a: a * s, 1, 1)(V), S),
    ("frompyfunc reduce", lambda x: times.reduce(x), V),
    ("frompyfunc accumulate", lambda x: times.accumulate(x, 1), M),
    ("fromiter", lambda x: np.fromiter((t * t for t in x), float), V),
    ("fromiter count", lambda x: np.fromiter([t * t for t in x], dtype=float, count=3), V),
    ("fromiter map", lambda x: np.fromiter(map(np.sin, x), float), V),
    ("fromiter rows", lambda x: np.fromiter([x[:2], x[2:]], np.dtype((float, 2))), V),
    ("fromiter of plain values", lambda x: x * np.fromiter(range(4), float), V),
    ("fromfunction", lambda p: np.fromfunction(lambda i, j: p[0] * i + p[1] * j, (2, 3)), W),
    ("fromfunction int", lambda p: np.fromfunction(lambda i: p[i], (3,), dtype=int), W),
    ("fromfunction by name", lambda p: np.fromfunction(lambda i, a: a * i, (3,), a=p[0]), W),
    ("apply_along_axis", lambda x: np.apply_along_axis(np.cumsum, 1, x), M),
    ("apply_along_axis to numbers", lambda x: np.apply_along_axis(lambda r: r @ r, 0, x), M),
    ("apply_along_axis to matrices", lambda x: np.apply_along_axis(np.diag, 1, x), M),
    ("apply_along_axis, more", lambda x, k: np.apply_along_axis(np.multiply, -1, x, k), M, S),
    ("apply_along_axis, closure", lambda p: np.apply_along_axis(lambda r: r * p[0], 1, M), W),
    ("apply_along_axis, list", lambda x: np.apply_along_axis(np.sum, 0, [x[0], x[1]]), M),
    ("apply_along_axis by name", lambda x: np.apply_along_axis(func1d=np.sort, axis=1, arr=x), M),
    ("apply_over_axes", lambda x: np.apply_over_axes(np.sum, x, [0, 1]), M),
    ("apply_over_axes one", lambda x: np.apply_over_axes(np.mean, x, 1), M),
    ("piecewise", lambda x: np.piecewise(x, [x < 0, x >= 0], [np.sin, lambda a: a**3]), V),
    ("piecewise rest", lambda x, c: np.piecewise(x, [x < 0], [c, lambda a: a * a]), V, S),
    ("piecewise, more", lambda x, c: np.piecewise(x, [x < 0], [lambda a, k: a * k, 2.0], c), V, S),
    ("piecewise of a number", lambda x: np.piecewise(x, [x < 0, x >= 0], [np.sin, np.cos]), S),
    ("piecewise of a list", lambda x: np.piecewise([x[0], x[1]], [[True, False]], [np.sin]), V),
    ("piecewise, closure", lambda p: np.piecewise(V, [V < 0], [lambda a: a * p[0], p[1]]), W),
    ("select, default", lambda d: np.select([V < 0, V < 1], [V**2, np.sin(V)], d), S),
    ("pad by a function", lambda x: np.pad(x, 2, edged, p=2.0), V),
    ("pad with a value", lambda x, c: np.pad(x, 1, constant_values=c), V, S),
    ("pad with values", lambda x, c: np.pad(x, (1, 2), constant_values=((c, 2.0), (1.0, c))), M, S),
    ("pad a ramp", lambda x, c: np.pad(x, ((1, 2), (2, 1)), "linear_ramp", end_values=c), M, S),
    ("pad a plain array", lambda c: np.pad(V, 2, "constant", constant_values=c), W[:2]),
]
# fmt: on


def edged(vector, width, axis, options):
    vector[: width[0]] = options["p"] * vector[width[0]]
    vector[-width[1] :] = vector[-width[1] - 1] ** 2


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in LOOPS], ids=[r[0] for r in LOOPS])
def test_loop(f, xs, check_modes):
    check_modes(f, *xs)


def test_the_first_result_decides_the_dtype_as_in_numpy():
    step = np.vectorize(lambda t: 0 if t > 0 else t)
    assert step(V).dtype == np.int64
    with pytest.warns(autodiff.NoPathWarning, match="only through comparisons"):
        value, slope = autodiff.value_and_gradient(lambda x: np.sum(step(x) * 1.0), V)
    np.testing.assert_array_equal(slope, 0.0)
    assert value == np.sum(step(V))


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("c", [0.3 + 0.2j, np.float64(0.3)], ids=repr)
def test_padding_keeps_the_dtype_of_the_array(c):
    x = np.ones(3, np.float32)

    def padded(c):
        y = np.pad(x, 1, constant_values=c)
        assert y.dtype == np.float32
        return np.sum(y * y)

    value, slope = autodiff.value_and_gradient(padded, c)
    assert value == padded(c)
    np.testing.assert_allclose(slope, 4.0 * np.real(c), rtol=1e-6)


def test_fromiter_of_too_few():
    with pytest.raises(ValueError, match="iterator too short: Expected 9 but iterator had only 4"):
        autodiff.gradient(lambda x: np.sum(np.fromiter(iter(x), float, 9)), V)


def test_further_options_of_a_reduction_by_a_function_are_refused():
    f = np.frompyfunc(lambda a, b: a * b, 2, 1)
    with pytest.raises(
        autodiff.DifferentiationError, match=r"made by np\.frompyfunc only reduce and accumulate"
    ):
        autodiff.gradient(lambda x: np.sum(f.outer(x, x)), V)
    with pytest.raises(autodiff.DifferentiationError, match="along one axis and without"):
        autodiff.gradient(lambda x: f.reduce(x, axis=0, keepdims=True)[0], V)


def test_plain_results_are_those_of_numpy():
    def compared(x):
        made = product(V, 2.0)
        assert made.dtype == object
        assert list(made) == list(V * V * 2.0)
        assert functools.reduce(lambda a, b: a + b, waves(V)) == sum(waves(V))
        return np.sum(x)

    autodiff.gradient(compared, V)


def by_class(a, k=2):
    """A function that can tell Python's numbers from NumPy's."""
    if type(a) is float:
        return a * a * k if type(k) is int else a * 0.5
    return a.item() * 3.0 if type(a) is np.float64 else a * 4.0


CLASSES = [
    ("vectorize", np.vectorize(by_class)),
    ("vectorize otypes", np.vectorize(by_class, otypes=[float])),
    ("vectorize cache", np.vectorize(by_class, cache=True)),
    ("vectorize decorator", lambda x: np.vectorize(otypes=[float])(by_class)(x)),
    ("vectorize integers", lambda x: np.vectorize(by_class, otypes=[float])(x, np.arange(4))),
    ("vectorize power", lambda x: np.vectorize(lambda a, n: a * 10**n)(x, np.arange(18, 22))),
    ("vectorize lists", lambda x: np.vectorize(by_class)(x.tolist(), [1, 2, 3, 4])),
    ("vectorize complex", lambda x: np.vectorize(lambda z: (z * z).real)(x + 1j)),
    ("vectorize outputs", lambda x: np.vectorize(lambda a: (by_class(a), a))(x)[0]),
    ("frompyfunc", lambda x: np.frompyfunc(by_class, 1, 1)(x).astype(float)),
    ("frompyfunc integers", lambda x: np.frompyfunc(by_class, 2, 1)(x, 3).astype(float)),
    ("frompyfunc reduce", lambda x: np.frompyfunc(lambda a, b: by_class(a) + b, 2, 1).reduce(x)),
]


@pytest.mark.parametrize("f", [r[1] for r in CLASSES], ids=[r[0] for r in CLASSES])
def test_elements_are_numbers_of_python(f, check_modes):
    check_modes(f, V)
    expected = np.sum(np.asarray(f(V), float))
    for slope in (autodiff.value_and_gradient, autodiff.compile(autodiff.value_and_gradient)):
        assert slope(lambda x: np.sum(f(x)), V)[0] == pytest.approx(expected)


def test_elements_of_single_precision_are_numbers_of_python():
    single = V.astype(np.float32)
    f = np.vectorize(by_class, otypes=[float])
    value, slope = autodiff.value_and_gradient(lambda x: np.sum(f(x)), single)
    assert value == pytest.approx(np.sum(f(single)))
    assert slope.dtype == np.float32
    np.testing.assert_allclose(slope, 4 * single)


@pytest.mark.parametrize("options", [{}, {"cache": True}, {"otypes": [float]}])
def test_the_function_is_called_as_often_as_by_numpy(options):
    calls = []

    def noted(a):
        calls.append(0)
        return a * len(calls)

    f = np.vectorize(noted, **options)
    value = np.sum(f(V))
    often = len(calls)
    calls.clear()
    assert autodiff.value_and_gradient(lambda x: np.sum(f(x)), V)[0] == pytest.approx(value)
    assert len(calls) == often


@pytest.mark.parametrize("make", [np.vectorize, lambda f: np.frompyfunc(f, 2, 1)])
def test_numbers_of_lists_keep_their_classes(make):
    def scaled(a, k):
        return a * 10.0 if type(k) is int else a * k

    f = make(scaled)
    np.testing.assert_array_equal(autodiff.grad(lambda x: np.sum(f(x, [1.5, 2])))(V[:2]), [1.5, 10])
