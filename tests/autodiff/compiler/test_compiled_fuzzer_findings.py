"""Programs whose compiled form differed from the eager one when random programs were compared."""

import math

import numpy as np
import pytest

from autodiff import compile, gradient, hvp, jvp, value_and_gradient

X = np.array([0.816, 1.044, 1.604, 1.88])


def part_of_complex(x):
    z = 0.5j * x + np.cos(x)
    z.imag *= 0.13
    return np.sum(np.abs(z) ** 2)


def view_of_part(x):
    z = 0.5j * x + np.cos(x)
    v = np.real(z)
    v[1:3] = x[:2] * v[1:3]
    np.imag(z)[...] = v
    return np.sum(np.abs(z) ** 2)


def part_of_rows(x):
    z = (x + 1j * x**2).reshape(2, 2)
    z.T.imag[0] = np.sin(x[:2])
    z.real[:, 1] += x[2:]
    return np.sum((z * np.conj(z)).real * np.arange(1.0, 5.0).reshape(2, 2))


def object_of_a_class(x):
    y = np.deg2rad(np.round(x, 1) * 10.0)
    return np.sum(np.polymul(y, x))


def polynomial(x):
    p = np.poly1d(x * 2.0)
    return p(0.7) + np.sum(p.deriv().coeffs)


def integer_exponents(x):
    return np.sum(np.ldexp(x * x, 3) * np.arange(4.0)) + np.ldexp(x[0] * x[1], -2)


def exponents_of_equal_elements(x):
    return np.sum(np.ldexp(np.sin(x), np.full(4, 2)) ** 2)


def many_exponents(x):
    return np.sum(np.sin(np.ldexp(np.tile(x, 1 << 13), 2) * 0.1))


def zeros_of_both_signs(x):
    a, b = np.copysign(x, -0.0), np.copysign(x * x, 0.0)
    return np.sum(a * np.arange(4.0) + b * x)


def view_as_floats(x):
    y = np.asarray(x * 2.0, dtype=float)
    y[::-1][1:3] = x[:2] * 3.0
    z = np.asarray(y, dtype=float)
    z[np.array([3, 0])] = x[1]
    y[:] = y[::-1].copy()
    return np.sum(y * y * np.arange(4.0))


def array_without_axes(x):
    a = np.asarray(x[0] * 2.0)[()] * np.ones(())
    y = np.array(a)
    y[...] = np.max(x) * y
    y[()] += x[1]
    y[None] = y * np.ones(1) * 0.5
    return y[()] * np.sin(y) + np.sum(np.stack([y, x[2] * y]))


def whole_array_without_axes(x):
    y = np.i0(x[0])
    np.max(np.stack([x[0], y * 0.53]), axis=0, out=y)
    z = x[0] * -0.16 + y[()]
    return z * np.sum(np.sort(np.asarray([z, x[1] * z])) * np.array([0.3, -1.7]))


def integers_among_choices(x):
    a, b = np.where(x[0] > 0, 0, x[0]), np.where(x[0] > x[1], x[1], True)
    c, d = np.maximum(x[2] - 1.7, 0), np.minimum(x[3], x[0] > 0)
    return (a + b) * (c + x[1]) * np.where(x[0] < 0, 0, d)


def truth_as_a_number(x):
    return x[1] * (x[0] > x[1]).astype(float) + np.sum(x) * np.float64(x[2] > 0.0)


def choice_at_the_end(x):
    return np.where(x[0] > 0, 3, x[0])


def largest_at_the_end(x):
    return np.maximum(x[0], 2)


def reversed_and_scaled(x):
    y = (x * x)[::-1]
    return np.sum((4.0 * y) ** 2 * np.cos(np.arange(4.0)))


def transposed_and_scaled(x):
    y = np.outer(x, np.sin(x)).T
    return np.sum(np.tanh(3.0 * y) * np.arange(16.0).reshape(4, 4))


def turned_round(x):
    y = x * 1.0
    y[1:] *= y[:-1].copy()
    np.add.at(y[1:][::-1], [-3, 2, 0], -0.21)
    return np.sum(y[1:] ** 2 * np.array([0.88, 0.93, 0.38]))


def first_turn_shares(x):
    v = np.tanh(x)
    h = v.copy()
    for _ in range(5):  # in the first turn both products are the same one
        h = np.tanh(0.5 * h + 0.5 * v)
    return np.sum(h * h * np.arange(1.0, 5.0))


def repeated_places(x):
    v = x[np.array([1, -3, -1, -1])]
    h = v * 1.0
    for _ in range(5):
        h = np.tanh(0.5 * h + 0.5 * v)
    return np.sum(h * h * np.arange(1.0, 5.0))


def last_turn_is_empty(x):
    y = np.outer(x, np.sin(x)) + np.eye(4)
    for k in range(4):
        y[k + 1 :, k] /= y[k, k] ** 2 + 1.0
        y[k + 1 :, k + 1 :] -= np.outer(y[k + 1 :, k], y[k, k + 1 :])
    return np.sum(y * y * np.arange(16.0).reshape(4, 4))


PROGRAMS = [
    first_turn_shares,
    repeated_places,
    turned_round,
    part_of_complex,
    view_of_part,
    part_of_rows,
    object_of_a_class,
    polynomial,
]
KERNELS = [
    integer_exponents, exponents_of_equal_elements, many_exponents, zeros_of_both_signs,
    view_as_floats, array_without_axes, whole_array_without_axes, integers_among_choices,
    truth_as_a_number, choice_at_the_end, largest_at_the_end, reversed_and_scaled,
    transposed_and_scaled, last_turn_is_empty,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_compiled_is_eager(f, backend):
    for g in (f, lambda x: gradient(f, x)):
        compiled = compile(g, backend=backend)
        for scale in (1.0, 1.0, 0.7, -1.2):
            x = scale * X
            np.testing.assert_allclose(compiled(x.copy()), g(x.copy()), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("f", KERNELS)
def test_kernels_are_eager(f, backend, interpreted):
    for g in (f, lambda x: gradient(f, x), lambda x: hvp(f, x, np.arange(4.0))):
        compiled = compile(g, backend=backend)
        for scale in (1.0, 1.0, 0.7, -1.2):
            x = scale * X
            expected, found = g(x.copy()), compiled(x.copy())
            assert type(found) is type(expected)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
        assert compiled.eager_because is None


@pytest.mark.parametrize("backend", ["python", "native"])
def test_truths_are_of_their_class(backend, interpreted):
    def f(x, y):
        return x[0] > x[1], y > 1.0, x > 1.0, np.sum(x) > 0.0, np.float64(y) > 0.0

    compiled = compile(f, backend=backend)
    for scale in (1.0, 1.0, -1.2):
        expected, found = f(scale * X, scale), compiled(scale * X, scale)
        assert [type(a) for a in found] == [type(a) for a in expected]
        np.testing.assert_equal(found, expected)


COUNTS = {
    "where": lambda x, k: np.where(x > 0)[0].size,
    "ix_": lambda x, k: np.ix_(x > 0)[0].size,
    "tile": lambda x, k: np.tile(x, k[0]).size + np.tile(x, k[:2]).size,
    "reshape": lambda x, k: np.reshape(x, (k[0], -1)).shape[0],
    "reshape to what it is": lambda x, k: np.reshape(x[None], (k[0], -1)).shape[0],
    "method": lambda x, k: x[:2].reshape(k[:2]).shape[0],
    "broadcast_to": lambda x, k: np.broadcast_to(x[0], k[:2]).shape[0],
    "split": lambda x, k: np.split(x, k[:1])[0].size,
    "diag": lambda x, k: np.diag(x, k[0]).size,
    "diff": lambda x, k: np.diff(x, n=k[0]).size,
    "full_like": lambda x, k: np.full_like(x, 1.0, shape=(k[0],)).size,
    "zeros_like": lambda x, k: np.zeros_like(x, shape=(k[0],)).size,
    "axis": lambda x, k: np.sum(np.outer(x, x[:3]), axis=k[0] - 1).size,
    "take": lambda x, k: np.take(np.outer(x, x[:3]), k[:1], k[0] - 1).size,
    "average": lambda x, k: np.average(np.outer(x, x[:3]), k[0] - 1).size,
}


@pytest.mark.filterwarnings("ignore:Elementwise")
@pytest.mark.parametrize("name", COUNTS)
def test_forms_may_depend_on_integers_given(name):
    def f(x, k):
        return COUNTS[name](x, k) * x

    compiled = compile(f, backend="python")
    for x, k in ((X, [1, 2]), (X, [2, 1]), (X - 1.0, [1, 2]), (X, [1, 2])):
        np.testing.assert_array_equal(compiled(x, np.array(k)), f(x, np.array(k)))
    assert compiled.eager_because is None


@pytest.mark.parametrize("backend", ["python", "native"])
def test_truths_are_counted(backend):
    def f(x):
        count = math.isnan(x[0]) + math.isnan(x[1]) - math.isfinite(x[2])
        return count * x + -math.isnan(x[3])

    compiled = compile(f, backend=backend)
    for x in (X, X, np.array([np.nan, np.nan, 1.0, np.nan])):
        np.testing.assert_array_equal(compiled(x), f(x))


@pytest.mark.parametrize("backend", ["python", "native"])
def test_powers_and_complex_numbers_of_python(backend):
    def f(s):
        z = s + 1j
        return (-2.0) ** s, s**0.5, z * 2, z**2, z / (s - 1j), -z, z == 1.7 + 1j, abs(z)

    compiled = compile(f, backend=backend)
    for s in (1.7, 1.7, 2.0, -0.4, 3.0, -8.0, np.float64(2.0)):
        expected, found = f(s), compiled(s)
        assert [type(a) for a in found] == [type(a) for a in expected]
        np.testing.assert_allclose(found, expected)


def sum_of_squares(x, b):
    return b * b + 1.1 * np.square(0.45 + np.sum(x) * 0.1)


SINGLE = {
    "sums of numbers": lambda x, b: (np.sum(b * b) + np.sum(x),),
    "numbers of NumPy's": lambda x, b: (x * np.float64(b), x * b, x * float(np.float64(b))),
    "sums": lambda x, b: (np.sum(b) * x, b * x, +b * x, np.positive(b) * x),
    "equal products": lambda x, b: (np.multiply(b, b) * x, (b * b) * x),
    "gradients": lambda x, b: gradient(sum_of_squares, x, b),
}


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("name", SINGLE)
def test_numbers_beside_single_precision(name, backend):
    compiled = compile(SINGLE[name], backend=backend)
    for scale in (1.0, 1.0, 0.7):
        x = (scale * X).astype(np.float32)
        for a, b in zip(compiled(x, scale), SINGLE[name](x, scale), strict=True):
            assert type(a) is type(b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_slopes_of_floats_are_floats():
    def f(x, b):
        v = x * 1.0
        v[1:3][1] += b
        return np.sum(v * v)

    g = lambda x, b: gradient(f, x, b)  # noqa: E731
    compiled = compile(g)
    for b in (0.5, 0.5, np.float64(0.5)):
        assert type(compiled(X, b)[1]) is type(g(X, b)[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_methods_of_numbers_that_are_constant(dtype):
    def f(x, s):
        y = np.zeros(3, x.dtype)
        z = np.zeros(3)
        y[1], z[1], z[2] = x[0], s, s * s
        z += z[::-1]
        numbers = y[0].astype(np.float32) * x, y[2].astype(int) + x, y[0] * x
        return *numbers, z[1].astype(np.float32) * x, z[0] * x, z[1] * x, z[2] * x

    compiled = compile(f, backend="python")
    for x in (X.astype(dtype), X.astype(dtype)):
        for found, expected in zip(compiled(x, 0.3), f(x, 0.3), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_strong_zeros_of_numbers(kind):
    def f(x, b):
        h = x * 1.0
        h[0] = 0.25
        return h[0] * b + h[1]

    g = lambda x, b: jvp(lambda x: f(x, b), (x,), (np.ones_like(x),))[1]  # noqa: E731
    compiled = compile(g)
    x = X.astype(np.float32 if kind is np.float32 else float)
    for b in (kind(2.0), kind(3.0), kind(np.inf), kind(2.0)):
        with np.errstate(invalid="ignore"):
            expected, found = g(x, b), compiled(x, b)
        assert type(found) is type(expected)
        assert found == expected == 1.0


def test_functions_of_math_that_nobody_reads_raise():
    def f(s):
        math.sin(s), math.cos(s), math.tan(s)
        return s * 2.0

    compiled = compile(f)
    for s in (1.0, 2.0, math.nan):
        np.testing.assert_equal(compiled(s), f(s))
    with pytest.raises(ValueError, match=r"math domain|finite"):
        compiled(math.inf)


@pytest.mark.parametrize("x", [np.array([-0.0, 0.0, -1.0]), -0.0, 0.0])
def test_signs_of_zeros_are_kept(x):
    def signs(x):
        half = [np.copysign(3.0, x + 0.0), np.copysign(5.0, 0.0 - x), np.copysign(7.0, -x - x)]
        return sum(np.sum(y) for y in half) + np.sum(np.angle(x + 0))

    run = compile(lambda x: value_and_gradient(lambda x: signs(x) + np.sum(x * x), x))
    for _ in range(2):
        value, found = run(x)
        assert value == signs(x) + np.sum(x * x)
        np.testing.assert_array_equal(found, 2 * x)


def test_an_argument_made_read_only():
    def f(x):
        y = np.require(x, float, "W")
        s = np.sum(x)
        y.flags.writeable = False
        return s + 1.0 if y is x else s

    run = compile(lambda x: value_and_gradient(f, x))
    x = np.arange(3.0)
    for _ in range(3):
        assert run(x)[0] == 4.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x) * np.float32(0.1),
        lambda x: np.float32(0.1) * np.float64(x),
        lambda x: np.prod(x) + np.float16(0.1),
        lambda x: (np.sum(x) * np.complex64(0.1 + 0.2j)).real,
        lambda x: np.sum(np.sum(x) * np.array([0.1, 0.2], np.float32)),
        lambda x: np.maximum(np.sum(x), [np.float32(0.1)])[0] * np.float32(0.3),
        lambda x: x * np.float32(0.1),
    ],
)
@pytest.mark.parametrize("x", [1.1, 1.1e20, np.float64(1.1), np.float32(1.1), np.array(1.1)])
def test_the_precision_beside_a_constant_of_single_precision(f, x):
    """Next to it, ``np.float64`` computes in double precision, and a float of Python does not."""
    compiled = compile(lambda x: value_and_gradient(f, x))
    for _ in range(2):
        for expected, found in zip(value_and_gradient(f, x), compiled(x), strict=True):
            assert type(found) is type(expected)
            assert found == expected


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.trace(np.atleast_2d(x)),
        lambda x: math.prod(np.ravel(x)),
        lambda x: np.sum(np.diff(np.ravel(x))),
        lambda x: np.sum(np.ravel(x) * 2.0),
    ],
)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.longdouble, np.array])
def test_a_gradient_that_does_not_depend_on_the_argument_has_its_type(f, kind):
    x = kind(1.5)
    compiled = compile(lambda x: gradient(f, x))
    for _ in range(2):
        assert type(compiled(x)) is type(gradient(f, x))


@pytest.mark.parametrize("is_frozen_first", [False, True])
def test_a_read_only_argument_of_a_derivative_that_writes_into_it(is_frozen_first):
    def f(x, into):
        y = x * 1.0
        (x if into else y)[::2] = -0.3
        return np.sum(x * y)

    frozen = X.copy()
    frozen.flags.writeable = False
    for into in (True, False):
        compiled = compile(lambda x, into=into: gradient(lambda x: f(x, into), x))
        for x in [frozen, X.copy(), frozen][not is_frozen_first :]:
            if into and x is frozen:
                with pytest.raises(ValueError, match="read-only"):
                    compiled(x)
            else:
                expected = gradient(lambda x: f(x, into), x.copy())  # noqa: B023
                np.testing.assert_allclose(compiled(x), expected)
