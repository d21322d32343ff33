"""Results that are the argument itself, arguments that are one array, read-only arrays."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import MutationError, gradient, pushforward, value_and_gradient
from chainrules_core import NoTangent, rrule

X = np.array([0.5, 1.5, 2.5])
M = np.arange(6.0).reshape(2, 3)

FORMS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "asarray of float": lambda x: np.asarray(x, float),
    "asarray of float32": lambda x: np.asarray(x, np.float32),
    "asanyarray": np.asanyarray,
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_1d of two": lambda x: np.atleast_1d(x, 1.0)[0],
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "require": np.require,
    "require C": lambda x: np.require(x, float, "C"),
    "array without a copy": lambda x: np.array(x, copy=None),
    "array": np.array,
    "astype": lambda x: x.astype(float),
    "astype without a copy": lambda x: x.astype(x.dtype, copy=False),
    "broadcast_to": lambda x: np.broadcast_to(x, x.shape),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, 1.0)[0],
    "ravel": lambda x: x.ravel(),
    "squeeze": np.squeeze,
    "real": np.real,
    "x.real": lambda x: x.real,
    "conj": lambda x: x.conj(),
    "real_if_close": np.real_if_close,
    "chkfinite": np.asarray_chkfinite,
    "slice": lambda x: x[...],
    "view": lambda x: x.view(),
    "T": lambda x: x.T,
    "plus": lambda x: +x,
    "to_device": lambda x: x.to_device("cpu"),
    "nan_to_num": lambda x: np.nan_to_num(x, copy=False),
}


@pytest.mark.parametrize("x", [X, M], ids=["vector", "matrix"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_result_that_is_the_argument_itself(form: Callable, x: np.ndarray) -> None:
    expected = form(x) is x, np.shares_memory(form(x), x)
    found: list[Any] = []

    def f(y: Any) -> Any:
        z = form(y)
        found.append((z is y, bool(np.shares_memory(z, y))))
        return np.sum(y * y)

    for _ in range(20):  # what is done often is written as code of its own
        gradient(f, x)
    pushforward(f, x)[1](np.ones(x.shape))
    gradient(lambda y: np.sum(gradient(f, y)), x)
    gradient(lambda y: f(y * 1.0), x)
    assert {*found} == {expected}


def copies_if_itself(x: Any) -> Any:
    y = x * 1.0
    z = np.asarray(y)
    if z is y:
        z = z.copy()
    z *= 2.0
    return np.sum(y * z)


def writes_through(x: Any) -> Any:
    y = x * 1.0
    z = np.atleast_1d(y)
    z[0] = 5.0
    return np.sum(y * x)


def asks_a_buffer(x: Any) -> Any:
    y = np.zeros(3)
    z = np.asarray(y)
    z[1:] = x[1:]
    return np.sum(y * x) if z is y else 0.0


@pytest.mark.parametrize("f", [copies_if_itself, writes_through, asks_a_buffer])
def test_code_that_depends_on_identity(f: Callable, differences: Callable) -> None:
    value, found = value_and_gradient(f, X)
    assert value == pytest.approx(f(X))
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-5, atol=1e-7)
    compiled = autodiff.compile(lambda x: value_and_gradient(f, x))
    for k in (1.0, 2.0, 3.0):
        assert compiled(k * X)[0] == pytest.approx(f(k * X))


def test_a_float_that_is_its_own_float() -> None:
    seen = []

    def f(v: Any) -> Any:
        seen.append((float(v) is v, +v is v, v.real is v))
        return v * v

    f(2.5)
    gradient(f, 2.5)
    gradient(lambda v: gradient(f, v) * v, 2.5)
    assert {*seen} == {(True, True, True)}


def test_a_rule_of_the_users_that_returns_its_argument() -> None:
    def reversed_(x: Any) -> Any:
        return x

    @rrule.register(reversed_)
    def reversed_rrule(x: Any) -> Any:
        return x, lambda y_bar: (NoTangent(), -y_bar)

    np.testing.assert_array_equal(gradient(lambda x: np.sum(reversed_(x) * 3.0), X), -3.0)


# ------------------------------------------------------------------- arguments that are one array


def writes_first(x: Any, y: Any) -> Any:
    x[0] = 10.0
    return np.sum(x * y)


def writes_second(x: Any, y: Any) -> Any:
    y += 1.0
    return np.sum(x * y)


def writes_a_view(x: Any, y: Any) -> Any:
    z = x[1:]
    z *= 3.0
    return np.sum(x * y)


def asks(x: Any, y: Any) -> Any:
    if x is not y:
        return np.sum(x)
    return np.sum(x * y) if id(x) == id(y) and any(v is y for v in [x]) else 0.0


def asks_of_memory(x: Any, y: Any) -> Any:
    return np.sum(x * y) if np.shares_memory(x, y) else np.sum(x)


def same() -> tuple[Any, Any]:
    x = np.array([1.0, 2.0, 3.0])
    return x, x


def overlapping() -> tuple[Any, Any]:
    base = np.array([1.0, 2.0, 3.0, 4.0])
    return base[:3], base[1:]


def apart() -> tuple[Any, Any]:
    base = np.arange(6.0) + 1.0
    return base[:3], base[3:]


WAYS: dict[str, Callable[[Callable, tuple], Any]] = {
    "reverse": lambda f, args: value_and_gradient(f, *args)[0],
    "forward": lambda f, args: pushforward(f, *args)[0],
    "pushed": lambda f, args: _pushed(f, args),
    "of one": lambda f, args: value_and_gradient(f, *args, argnums=0)[0],
    "of the other": lambda f, args: value_and_gradient(f, *args, argnums=1)[0],
    "by name": lambda f, args: value_and_gradient(f, args[0], y=args[1])[0],
    "nested": lambda f, args: _nested(f, args),
    "compiled": lambda f, args: autodiff.compile(lambda *a: value_and_gradient(f, *a))(*args)[0],
    "in a list": lambda f, args: value_and_gradient(lambda p: f(*p), list(args))[0],
    "in an object": lambda f, args: value_and_gradient(
        lambda p: f(p.x, p.y), types.SimpleNamespace(x=args[0], y=args[1])
    )[0],
}


def _pushed(f: Callable, args: tuple) -> Any:
    seen: list[Any] = []

    def noting(*args: Any) -> Any:
        seen.append(autodiff.ignore_derivatives(f(*args)))
        return np.sum(args[0])

    pushforward(noting, *args)[1](*[np.ones(3) for _ in args])
    return seen[-1]


def _nested(f: Callable, args: tuple) -> Any:
    seen: list[Any] = []

    def inner(*args: Any) -> Any:
        y = f(*args)
        seen.append(autodiff.ignore_derivatives(y))
        return y

    def outer(x: Any) -> Any:
        return np.sum(gradient(inner, x, x)[0] * 1.0)

    if args[0] is not args[1]:
        return f(*args)
    gradient(outer, args[0])
    return seen[-1]


@pytest.mark.parametrize("given", [same, overlapping, apart])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("f", [writes_first, writes_second, writes_a_view, asks, asks_of_memory])
def test_arguments_that_share_memory(f: Callable, way: Callable, given: Callable) -> None:
    """Writes are refused, but for the nested gradient, which takes one array and not a pair."""
    taken = given is same or (given is overlapping and way is not WAYS["nested"])
    if taken and f in (writes_first, writes_second, writes_a_view):
        with pytest.raises(MutationError):
            way(f, given())
    else:
        assert way(f, given()) == pytest.approx(f(*given()))


def test_gradients_by_each_of_them() -> None:
    x, y = gradient(lambda a, b: np.sum(a * a * b), *same())
    np.testing.assert_array_equal(x, [2.0, 8.0, 18.0])
    np.testing.assert_array_equal(y, [1.0, 4.0, 9.0])


def test_a_compiled_function_recorded_with_two_arrays_and_given_one() -> None:
    compiled = autodiff.compile(lambda x, y: value_and_gradient(writes_first, x, y)[0])
    two = [np.array([1.0, 2.0, 3.0]) for _ in range(2)]
    for _ in range(3):
        assert compiled(*two) == 23.0
    with pytest.raises(MutationError):
        compiled(*same())
    compiled = autodiff.compile(asks)
    assert compiled(*two) == 6.0
    assert compiled(*same()) == 14.0


# --------------------------------------------------------------------------------------- read-only


def tried(write: Callable, y: Any) -> None:
    try:
        write(y)
    except ValueError:
        return
    raise AssertionError("the array was written into")


def item(y: Any) -> None:
    y[0] = 100.0


def augmented(y: Any) -> None:
    y *= 2.0


def by_flag(y: Any, write: Callable) -> None:
    y.flags.writeable = False
    tried(write, y)


def by_method(y: Any, write: Callable) -> None:
    y.setflags(write=False)
    tried(write, y)


@pytest.mark.parametrize("forbid", [by_flag, by_method])
@pytest.mark.parametrize("write", [item, augmented, np.ndarray.sort, lambda y: np.exp(y, out=y)])
def test_a_read_only_array_is_not_written_into(write: Callable, forbid: Callable) -> None:
    def f(x: Any) -> Any:
        y = x[::-1] * 2.0
        forbid(y, write)
        return np.sum(y * x)

    for run in (value_and_gradient, lambda f, x: pushforward(f, x)):
        assert run(f, X)[0] == pytest.approx(f(X))


def test_views_keep_their_flags() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        part = y[1:]
        part.flags.writeable = False
        y[0] = 1.0
        tried(item, part)
        y.flags.writeable = False
        tried(item, y[:2])
        y.flags.writeable = True
        y[2] = 3.0
        return np.sum(y * y)

    value, found = value_and_gradient(f, X)
    assert value == f(X)
    np.testing.assert_allclose(found, [0.0, 8.0 * X[1], 0.0])


def test_read_only_arguments() -> None:
    x = X.copy()
    x.flags.writeable = False

    def f(x: Any) -> Any:
        tried(item, x)
        return np.sum(x * x)

    for run in (value_and_gradient, pushforward, autodiff.pullback):
        assert run(f, x)[0] == f(x)
    assert gradient(lambda x: 1.0 * x.flags.writeable + np.sum(x), x).tolist() == [1.0, 1.0, 1.0]


def test_an_array_stays_read_only_when_its_view_is_written_into() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = y.T
        y.setflags(write=False)
        z += 1.0
        z *= 2.0
        return np.sum(y) * (3.0 if y.flags.writeable else 5.0)

    x = np.array([1.0, 2.0])
    for take in (gradient, autodiff.compile(lambda f, x: gradient(f, x))):
        np.testing.assert_allclose(take(f, x), [10.0, 10.0])
    assert autodiff.pushforward(f, x)[0] == f(x)


def test_a_recording_does_not_make_an_argument_read_only() -> None:
    def f(x: Any) -> Any:
        x.setflags(write=False)
        return np.sum(x * x)

    x = np.array([1.0, 2.0])
    compiled = autodiff.compile(lambda x: gradient(f, x))
    np.testing.assert_allclose(compiled(x), 2.0 * x)


@pytest.mark.parametrize("size", [3, 9000])
@pytest.mark.parametrize("form", [lambda x: x, lambda x: np.require(x, float, "W")])
def test_flags_of_the_users_array_stay(size: int, form: Callable) -> None:
    def f(x: Any) -> Any:
        form(x).flags.writeable = False
        return np.sum(x * x) if not x.flags.writeable else 0.0

    def along(x: Any) -> Any:
        return pushforward(f, x)[1](ones)

    x, ones = np.arange(float(size)), np.ones(size)
    for _ in range(2):
        np.testing.assert_array_equal(gradient(f, x), 2 * x)
        assert along(x) == 2 * np.sum(x)
        assert pushforward(along, x)[1](ones) == 2 * size
        np.testing.assert_array_equal(gradient(along, x), 2 * ones)
        assert x.flags.writeable
