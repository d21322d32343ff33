"""What Python observes of a recorded value becomes a guard: truth, identity, repetition, errors."""

import collections
import functools
import math
import operator

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient

X = np.array([0.5, -0.2, 0.9, -0.4])


def identity(x):
    return 2.0 * x if (x > 1.0) is True else 3.0 * x


def identity_of_falsehood(x):
    return 2.0 * x if (x > 1.0) is not False else 3.0 * x


def identity_of_both(x):
    a, b = x > 1.0, x > 0.0
    return 2.0 * x if a is b else 3.0 * x


def identity_of_a_chain(x):
    ok = x > 0.5 and x < 5.0
    return 2.0 * x if ok is True else 3.0 * x


def identity_among_comparisons(x):
    held = [x > 1.0]
    return 2.0 * x if held[0] is (x < 5.0) is True else 3.0 * x


def identity_by_a_function(x):
    return 2.0 * x if operator.is_(x > 1.0, True) else 3.0 * x


def identity_by_a_partial(x):
    same = functools.partial(operator.is_not, x > 1.0)
    return 2.0 * x if same(True) else 3.0 * x


def identity_by_number(x):
    return 2.0 * x if id(x > 1.0) == id(True) else 3.0 * x


def identity_in_a_pattern(x):
    match x > 1.0:
        case True:
            return 2.0 * x
        case False:
            return 3.0 * x
    return 4.0 * x


def identity_within_a_pattern(x):
    match (x > 1.0, 1):
        case (True, _):
            return 2.0 * x
    return 3.0 * x


def identity_in_a_list_pattern(x):
    match [x > 1.0]:
        case [True]:
            return 2.0 * x
    return 3.0 * x


def identity_of_whole_numbers(x):
    return 2.0 * x if (x.is_integer() is False) else 3.0 * x


def identity_of_closeness(x):
    return 2.0 * x if math.isclose(x, 1.5) is True else 3.0 * x


def identity_of_a_count(x):
    return 2.0 * x if ((x > 1.0) + (x > 0.0)) is 1 + int(x > 1.0) else 3.0 * x


def type_of_a_power(x):
    return 2.0 * x if isinstance(x**0.5, complex) else 3.0 * x


def type_of_a_part(x):
    values = np.linalg.eig(np.array([[0.0, x - 1.2], [-1.0, 0.0]]))[0]
    return 2.0 * x if np.iscomplexobj(values) else 3.0 * x


SCALARS = [value for name, value in globals().items() if name.startswith(("identity", "type_of"))]


@pytest.mark.parametrize("f", SCALARS)
def test_scalars(f):
    compiled, slope = compile(f), compile(lambda x: gradient(f, x))
    for x in (1.5, 0.7, 2.0, -1.0, 1.5, 0.3):
        assert compiled(x) == f(x)
        assert slope(x) == gradient(f, x)


def repeated(k):
    return sum([2.0] * k)


COUNTS = {
    "argmax": lambda x: np.argmax(x),
    "sum": lambda x: np.sum(x > 0),
    "sum of Python's": lambda x: sum(x > 0),
    "count_nonzero": lambda x: np.count_nonzero(x > 0),
    "astype": lambda x: np.abs(3.0 * x).astype(int)[0],
    "a comparison": lambda x: 1.0 * x[0] > 0,
    "two comparisons": lambda x: bool(x[0] > 0) + bool(x[1] > 0),
    "searchsorted": lambda x: np.searchsorted([-0.5, 0.0, 0.5], x[0]),
}
REPETITIONS = {
    "list": lambda k: sum([2.0] * int(k)) + len([2.0] * k),
    "reflected": lambda k: len(k * [1.0, 2.0]),
    "tuple": lambda k: len((1.0, 2.0) * k),
    "text": lambda k: len("ab" * k),
    "bytes": lambda k: len(k * b"ab"),
    "deque": lambda k: len(collections.deque([1.0]) * k),
    "operator.mul": lambda k: len(operator.mul([1.0], k)),
    "operator.imul": lambda k: len(operator.imul([1.0], k)),
    "arguments": lambda k: (lambda *a: len(a))(*[1.0] * k),
    "shape": lambda k: np.ones((2,) * k).size,
    "coefficients": lambda k: np.polyval([1.0] * (k + 1), 0.5),
    "loop": lambda k: sum(1.0 for _ in [None] * k),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("way", REPETITIONS)
def test_repetitions(count, way):
    counted, repeat = COUNTS[count], REPETITIONS[way]
    if count == "a comparison" and way not in ("shape", "arguments"):
        counted = lambda x: bool(x[0] > 0)  # noqa: E731

    def f(x):
        return (1.0 + repeat(counted(x))) * np.sum(x * x)

    compiled, slope = compile(f), compile(lambda x: gradient(f, x))
    for x in (X, -X, X[::-1].copy(), np.abs(X), X):
        try:
            expected = f(x)
        except TypeError:  # NumPy's truth values repeat nothing
            continue
        np.testing.assert_allclose(compiled(x), expected)
        np.testing.assert_allclose(slope(x), gradient(f, x))


def test_repeated_elements_are_recorded():
    def f(x, k):
        parts = [x, 1.0]
        parts *= int(k)
        return sum(parts)

    compiled = compile(f)
    assert [compiled(2.0, k) for k in (1.0, 3.0, 2.0, 3.0)] == [3.0, 9.0, 6.0, 9.0]


def test_a_list_that_is_repeated_in_place_stays_the_same_list():
    def f(x):
        parts = other = [x]
        parts *= (x > 0.0) + (x > 1.0)
        return float(len(other))

    compiled = compile(f)
    assert [compiled(x) for x in (2.0, 0.5, -1.0, 3.0)] == [2.0, 1.0, 0.0, 2.0]


# -- errors --------------------------------------------------------------------------------------


def singular(x):
    try:
        np.linalg.inv(np.array([[x, 0.0], [0.0, 1.0]]))
    except np.linalg.LinAlgError:
        return 0.0
    return 2.0 * x


def indefinite(x):
    try:
        np.linalg.cholesky(np.array([[x, 0.0], [0.0, 1.0]]))
    except np.linalg.LinAlgError:
        return 0.0
    return 2.0 * x


def out_of_bounds(x):
    try:
        np.array([1.0, 2.0, 3.0])[np.floor(10.0 * x).astype(int)]
    except IndexError:
        return 0.0
    return 2.0 * x


def a_power_of_zero(x):
    try:
        0.0**x
    except ZeroDivisionError:
        return 0.0
    return 2.0 * x


@pytest.mark.parametrize("f", [singular, indefinite, out_of_bounds, a_power_of_zero])
def test_errors_of_results_that_nobody_reads(f):
    compiled = compile(f)
    for x in (0.1, 0.2, -1.0, 0.0, 0.7, 0.1):
        assert compiled(x) == f(x), x


def logarithm(x):
    try:
        return 2.0 * math.log(x)
    except ValueError as error:
        return x * len(error.args)


def quotient(x):
    y = 0.5
    try:
        y = 1.0 / x
        y = y / (x - 0.25)
    except ZeroDivisionError:
        y += x
    return y


def whole(x):
    try:
        return x * int(1.0 / x)
    except (OverflowError, ValueError, ZeroDivisionError) as error:
        return 3.0 * x + (type(error) is ValueError)


@pytest.mark.parametrize("f", [logarithm, quotient, whole])
def test_errors_that_are_caught(f):
    compiled, slope = compile(f), compile(lambda x: gradient(f, x))
    for x in (0.0, 0.0, 2.0, -1.0, 0.25, 0.0, 3.0, math.inf, math.nan, -math.inf, 0.25, 2.0):
        for got, expected in ((compiled(x), f(x)), (slope(x), gradient(f, x))):
            assert got == pytest.approx(expected, rel=1e-14, nan_ok=True), x
    assert compiled.variants > 1
    assert slope.variants > 1


def test_floating_point_errors_that_are_caught():
    def f(x):
        with np.errstate(all="raise"):
            try:
                return float(np.log(np.float64(x)))
            except FloatingPointError:
                return 0.5

    compiled = compile(f)
    assert [compiled(x) for x in (1.0, 0.0, 1.0)] == [0.0, 0.5, 0.0]
    assert "floating-point" in compiled.eager_because


def test_floating_point_errors_that_raise():
    compiled = compile(lambda x: np.exp(x[0]) * x[1])
    x = np.array([-1e3, 1.0])
    assert compiled(x) == 0.0
    with np.errstate(under="raise"), pytest.raises(FloatingPointError):
        compiled(x)
    seen = []
    with np.errstate(under="call", call=lambda *a: seen.append(a)):
        assert compiled(x) == 0.0
    assert seen
    assert compiled(x) == 0.0


# -- what cannot be known --------------------------------------------------------------------------


def test_functions_without_source():
    f = eval("lambda x: 2.0 * x if (x > 1.0) is True else 3.0 * x")
    compiled = compile(f)
    assert [compiled(x) for x in (2.0, 0.5, 3.0)] == [4.0, 1.5, 6.0]
    assert "source" in compiled.eager_because


@pytest.mark.parametrize(
    "is_one",
    [
        lambda x, y: x is y,
        lambda x, y: x is not y,
        lambda x, y: operator.is_(x, y),
        lambda x, y: np.shares_memory(x, y),
        lambda x, y: max(x[0], y[0]) is x[0],
        lambda x, y: np.asarray(x) is (y if x[0] > 0 else x),
    ],
)
def test_whether_values_are_one_object(is_one):
    def f(x, y):
        return 2.0 * x[0] if is_one(x, y) else 3.0 * x[0]

    compiled = compile(f)
    a, b = np.array([1.0, 2.0]), np.array([1.0, 2.0])
    for given in ((a, b), (a, a), (b, b), (a, b)):
        assert compiled(*given) == f(*given)


def test_sentinels_are_compared():
    missing = object()

    def f(x, scale=missing):
        return 2.0 * x if scale is missing and x is not missing else scale * x

    compiled = compile(f)
    assert [compiled(1.0), compiled(1.0, 5.0), compiled(2.0)] == [2.0, 5.0, 4.0]
    assert compiled.variants == 2


def rounds_in_a_block_that_swallows(v):
    r = 0.5
    try:
        r = round(v, 2)
    finally:
        return r * v  # noqa: B012 - that is the test


def swallows_what_cannot_be_recorded(x):
    try:
        x[::2][0:1][...] = f"{x[0]}"
    except Exception:
        return np.sum(x)
    return np.sum(x * x)


def test_errors_of_a_recording_that_the_function_swallows():
    compiled = autodiff.compile(
        lambda v: autodiff.value_and_gradient(rounds_in_a_block_that_swallows, v)
    )
    for v in (1.6224, 2.5, 0.31):
        expected = autodiff.value_and_gradient(rounds_in_a_block_that_swallows, v)
        assert compiled(v) == pytest.approx(expected)
    compiled = autodiff.compile(swallows_what_cannot_be_recorded)
    for x in (np.ones(4), np.full(4, 2.0)):
        assert compiled(x.copy()) == pytest.approx(swallows_what_cannot_be_recorded(x.copy()))
