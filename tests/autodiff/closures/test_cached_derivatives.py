"""Pullbacks at many points: recorded once, shared between calls, right when something changes."""

import functools
import gc
import time
import weakref

import numpy as np
import pytest
from scipy.integrate import quad

from autodiff import MutationError, gradient
from autodiff.closures import cached_derivatives
from autodiff.dispatch.call import CONFIG, NESTED
from autodiff.intercept.source.original_code import as_written
from chainrules_core import Closure, frule_via_ad, rrule_via_ad

POINT = np.array([1.0, 0.5])
SEED = np.array([0.3, -2.0])
OFFSET = 0.25
TABLE = np.array([1.0, 2.0])
OPTIONS = {"scale": 2.0}


def closed(function, *values):
    return Closure(lambda values: functools.partial(function, values), values)


def network(values, t, y):
    a, b = values
    return a @ np.tanh(y) * t + b


def branching(values, t, y):
    return np.array([y[0] * values[0] if y[0] > 0.8 else y[1], y[1] ** 2])


def with_globals(values, t, y):
    return values[0] * y * OFFSET + TABLE


def with_a_dict(values, t, y):
    return values[0] * y * OPTIONS["scale"]


def timed(values, t, y):
    return values[0] * y + 0.0 * time.perf_counter()


MATRIX = np.array([[1.0, 2.0], [-0.5, 0.3]])
FUNCTIONS = [
    (network, (MATRIX, np.array([0.1, 0.2]))),
    (branching, (1.5,)),
    (with_globals, (1.5,)),
    (with_a_dict, (1.5,)),
    (timed, (1.5,)),
]


@pytest.mark.parametrize("f, values", FUNCTIONS)
def test_the_same_at_every_call(f, values):
    f = closed(f, *values)
    pull = CONFIG.repeated("pullback", f, (1,))
    push = CONFIG.repeated("pushforward", f, (1,))
    dots = tuple([0.5 * np.ones_like(v) for v in values])
    for i in range(40):
        y = POINT * (1 + 0.1 * np.sin(i))
        bars = rrule_via_ad(CONFIG, f, 0.7, y)[1](SEED)
        parts, (bar,) = pull(SEED, 0.7, y)
        np.testing.assert_allclose(bar, bars[2])
        for k, part in enumerate(parts):
            np.testing.assert_allclose(part, bars[0]["values"][k])
        f_dot = type(bars[0])(values=type(bars[0]["values"])(*dots))
        expected = frule_via_ad(CONFIG, (f_dot, 0.0, SEED), f, 0.7, y)
        found = push(dots, (SEED,), 0.7, y)
        np.testing.assert_allclose(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1])


@pytest.mark.parametrize("f, values", FUNCTIONS)
def test_second_derivatives_by_differences_of_the_pullback(f, values):
    dots = tuple([0.5 * np.ones_like(v) for v in values])
    second = CONFIG.repeated("second", closed(f, *values), (1,))
    for i in range(20):
        y = POINT * (1 + 0.1 * np.sin(i))

        def bars(h, y=y):
            moved = closed(f, *[v + h * dot for v, dot in zip(values, dots, strict=True)])
            pull = CONFIG.repeated("pullback", moved, (1,))
            parts, (bar,) = pull(SEED + h * POINT, 0.7, y + h * SEED)
            return [*parts, bar]

        (parts, (bar,)), (parts_dot, (bar_dot,)) = second(SEED, POINT, dots, (SEED,), 0.7, y)
        for found, expected in zip([*parts, bar], bars(0.0), strict=True):
            np.testing.assert_allclose(found, expected)
        h = 1e-5
        for found, one, other in zip([*parts_dot, bar_dot], bars(h), bars(-h), strict=True):
            np.testing.assert_allclose(found, (one - other) / (2 * h), rtol=1e-6, atol=1e-8)


def test_a_function_that_has_captured_nothing():
    second = CONFIG.repeated("second", lambda t, y: t * y**2, (1,))
    (none, (bar,)), (_, (bar_dot,)) = second(SEED, POINT, (), (SEED,), 2.0, POINT)
    assert none == ()
    np.testing.assert_allclose(bar_dot, 4 * (SEED * SEED + POINT * POINT))
    pull = CONFIG.repeated("pullback", lambda t, y: t * y**2, (1,))
    for _ in range(30):
        parts, (bar,) = pull(SEED, 2.0, POINT)
        assert parts == ()
        np.testing.assert_allclose(bar, 4 * POINT * SEED)


def made(scale, k):
    def f(t, y):
        return scale * k * y

    return f


def test_other_contents_use_the_same_program():
    for scale in (2.0, 3.0):
        pull = CONFIG.repeated("pullback", made(scale, 5.0), (1,))
        for _ in range(30):
            np.testing.assert_allclose(pull(SEED, 0.0, POINT)[1][0], 5.0 * scale * SEED)
    assert (
        sum("made" in repr(entry.guards) for entry in cached_derivatives._remembered.values()) == 1
    )


def test_a_global_that_changes_is_seen(monkeypatch):
    f = closed(with_globals, 1.5)
    for offset in (0.25, 4.0):
        monkeypatch.setitem(globals(), "OFFSET", offset)
        pull = CONFIG.repeated("pullback", f, (1,))
        for _ in range(30):
            np.testing.assert_allclose(pull(SEED, 0.0, POINT)[1][0], 1.5 * offset * SEED)


def test_what_a_global_holds_is_seen(monkeypatch):
    f = closed(with_a_dict, 1.5)
    for scale in (2.0, 7.0):
        monkeypatch.setitem(OPTIONS, "scale", scale)
        pull = CONFIG.repeated("pullback", f, (1,))
        for _ in range(30):
            np.testing.assert_allclose(pull(SEED, 0.0, POINT)[1][0], 1.5 * scale * SEED)


class Law:
    """A callable object with a number."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, y):
        return self.rate * y


def scaled(y):
    return scaled.factor * y


scaled.factor = 2.0
LAW, LAWS = Law(2.0), {"first": [Law(2.0)]}


@pytest.mark.parametrize("f, change", [
    (lambda values, t, y: values[0] * LAW(y), lambda x: setattr(LAW, "rate", x)),
    (lambda values, t, y: values[0] * LAWS["first"][0](y),
     lambda x: setattr(LAWS["first"][0], "rate", x)),
    (lambda values, t, y: values[0] * scaled(y), lambda x: setattr(scaled, "factor", x)),
    (lambda values, t, y: values[0] * LAW(y), lambda x: globals().update(LAW=Law(x))),
])  # fmt: skip
def test_what_shared_programs_read_is_compared(f, change):
    """The program belongs to all derivatives of functions with this code."""
    first = CONFIG.repeated("pullback", closed(f, 1.5), (1,))
    for rate in (2.0, 3.0, 5.0):
        change(rate)
        for pull in (first, CONFIG.repeated("pullback", closed(f, 1.5), (1,))):
            for _ in range(20):
                (value_bar,), (bar,) = pull(SEED, 0.7, POINT)
                np.testing.assert_allclose(bar, 1.5 * rate * SEED)
                np.testing.assert_allclose(value_bar, rate * SEED @ POINT)
    change(2.0)


class Node:
    """An object with parts, one of them an object again."""

    factor = 2.0

    def __init__(self, depth):
        self.rate, self.rates = 2.0, [2.0]
        self.inner = Node(depth - 1) if depth else None


NODE = Node(2)


@pytest.mark.parametrize("integrand, holder, name", [
    (lambda w: lambda t: NODE.inner.rate * w * t, NODE.inner, "rate"),
    (lambda w: lambda t: NODE.inner.inner.rates[0] * w * t, NODE.inner.inner.rates, 0),
    (lambda w: lambda t: [NODE.inner.rates[0] for _ in range(2)][1] * w * t, NODE.inner.rates, 0),
    (lambda w: lambda t: (lambda: NODE.inner.rate)() * w * t, NODE.inner, "rate"),
    (lambda w: lambda t: NODE.__class__.factor * w * t, Node, "factor"),
    (lambda w: lambda t: type(NODE).factor * w * t, Node, "factor"),
])  # fmt: skip
def test_attributes_that_inner_functions_read_are_compared(integrand, holder, name):
    """The engine has rewritten such a function: it reads attributes by calls of the engine."""
    loss = lambda w: quad(integrand(w), 0.0, 1.0)[0]  # noqa: E731 - it needs no name
    put = holder.__setitem__ if isinstance(holder, list) else functools.partial(setattr, holder)
    for rate in (2.0, 0.5, 3.0):
        put(name, rate)
        for _ in range(4):
            assert gradient(loss, 0.7) == pytest.approx(rate / 2)
    put(name, 2.0)


class Model:
    def __init__(self, k):
        self.k = k

    def slope(self, t, y):
        return self.k * y


def test_what_an_object_holds_is_seen():
    model = Model(2.0)
    for k in (2.0, 3.0):
        model.k = k
        pull = CONFIG.repeated("pullback", model.slope, (1,))
        for _ in range(30):
            np.testing.assert_allclose(pull(SEED, 0.0, POINT)[1][0], k * SEED)


def test_a_buffer_that_is_written_into():
    buffer = np.zeros(2)

    def f(t, y):
        buffer[0] = y[0] * y[1]
        return y * buffer[0]

    pull = CONFIG.repeated("pullback", f, (1,))
    with pytest.raises(MutationError, match="written into"):
        pull(SEED, 0.0, POINT)


def test_what_is_remembered_holds_no_contents():
    big = np.ones(1000)
    gone = weakref.ref(big)
    pull = CONFIG.repeated("pullback", made(big[:2].copy(), 1.0), (1,))
    pull = CONFIG.repeated("pullback", (lambda big: lambda t, y: y * big[0])(big), (1,))
    for _ in range(30):
        pull(SEED, 0.0, POINT)
    del big, pull
    gc.collect()
    assert gone() is None


def test_under_outer_levels_there_is_none():
    assert NESTED.repeated("pullback", network, (1,)) is None
    assert NESTED.repeated("pushforward", network, (1,)) is None
    assert NESTED.repeated("second", network, (1,)) is None


def test_a_function_that_calls_itself():
    def power(t, y, n=3):
        return y if n == 1 else y * power(t, y, n - 1)

    pull = CONFIG.repeated("pullback", power, (1,))
    for _ in range(30):
        np.testing.assert_allclose(pull(SEED, 0.0, POINT)[1][0], 3 * POINT**2 * SEED)
    assert as_written(power)(0.0, 2.0) == 8.0


def test_closures_have_the_attributes_of_their_functions():
    def event(t, y):
        return y

    event.terminal = True
    f = Closure(lambda values: event, (1.0,))
    assert f.terminal is True
    with pytest.raises(AttributeError):
        f.direction  # noqa: B018
