"""Functions with loops that are given functions: these are read in the places of their calls."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient
from chainrules_core import rrule


def integrated(f, y, n, dt=0.1, *, t=0.0):
    for _ in range(n):
        k = f(t, y)
        y = y + dt * f(t + dt / 2, y + dt / 2 * k)
        t += dt
    return y


def root(f, x, slope=None, n=6):
    for _ in range(n):
        if slope is not None:
            x = x - f(x) / slope(x)
            continue
        d = (f(x + 1e-3) - f(x - 1e-3)) / 2e-3
        x = x - f(x) / d
    return x


def applied(functions, x):
    total = 0.0
    for f in functions:
        total = total + f(x)
        for i in range(2):
            total = total * f(x) + i
    return total


def decay(t, y):
    return -0.5 * y + t


def of_a_module(a, b):
    return np.sum(integrated(decay, a, 5)) * b[0]


def of_a_lambda(a, b):
    k = b[1]
    return np.sum(integrated(lambda t, y: -k * y + b, a, 5))


def of_a_function_inside(a, b):
    m = np.outer(a, b)
    shift = 0.25

    def slope(t, y):
        return m @ y * 0.1 + shift * t

    return np.sum(integrated(slope, a, 5) ** 2)


def of_defaults(a, b):
    return np.sum(integrated(lambda t, y, c=b, *, d=0.5: c * y + d, a, 4))


def of_functions_of_functions(a, b):
    def inner(y):
        return np.sin(y) * b

    def outer(t, y):
        return inner(y) + helper(lambda z: z * b[0], y)

    return np.sum(integrated(outer, a, 3))


def helper(f, y):
    return f(y) + f(1.0)


def of_options(a, b):
    f = lambda x: x**2 - b[0] ** 2 - 2.0  # noqa: E731
    return root(f, 1.5 + a[0]) + root(f, 1.0, lambda x: 2 * x * a[1] / a[1])


def of_several(a, b):
    return applied([math.sin, math.exp, lambda x: x * b[0], np.tanh], a[0] * 0.1)


class Decay:
    def __init__(self, rate, forcing):
        self.rate = rate
        self.forcing = forcing

    def slope(self, t, y):
        return -self.rate * y + self.forcing(t)

    def __call__(self, t, y):
        return self.slope(t, y) * 0.5


def of_a_method(a, b):
    model = Decay(b, lambda t: math.sin(t) * a[0])
    return np.sum(integrated(model.slope, a, 4))


def of_an_object(a, b):
    return np.sum(integrated(Decay(b, math.cos), a, 4))


class Solver:
    def __init__(self, f, dt):
        self.f = f
        self.dt = dt

    def run(self, y, n):
        t = 0.0
        for _ in range(n):
            y = y + self.dt * self.f(t, y)
            t += self.dt
        return y


def of_an_attribute(a, b):
    c = b[2]
    return np.sum(Solver(lambda t, y: c * y - b * t, 0.05).run(a, 6))


def with_a_list(a, b):
    weights = [b[0], b[1], 2.0]
    return np.sum(integrated(lambda t, y: weights[1] * y + weights[2] * weights[0], a, 4))


def with_a_dict(a, b):
    p = {"k": b[0], "c": b}
    return np.sum(integrated(lambda t, y: p["k"] * y + p["c"], a, 4))


PROGRAMS: dict[Callable, str] = {
    of_a_module: "integrated", of_a_lambda: "integrated", of_a_function_inside: "integrated",
    of_defaults: "integrated", of_functions_of_functions: "integrated", of_options: "root",
    of_several: "applied", of_a_method: "integrated", of_an_object: "integrated",
    of_an_attribute: "run", with_a_list: "integrated", with_a_dict: "integrated",
}  # fmt: skip
A, B = np.cos(np.arange(1.0, 5.0)), np.sin(np.arange(1.0, 5.0))


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, traced: Callable, runs: list[str]) -> None:
    for a, b in ((A, B), (A, B), (B + 2.0, A), (A * 0.5, B * B)):
        runs.clear()
        found = gradient(f, a, b)
        assert set(runs) == {PROGRAMS[f]}
        for x, y in zip(found, traced(f, a, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
        for x, h in ((a, A), (b, B)):
            of_a = x is a
            at = lambda s: f(a + s * h, b) if of_a else f(a, b + s * h)  # noqa: B023, E731
            slope = (at(1e-6) - at(-1e-6)) / 2e-6
            assert found[0 if of_a else 1] @ h == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("f", PROGRAMS)
def test_compiled(f: Callable, traced: Callable) -> None:
    compiled = compile(lambda a, b: gradient(f, a, b))
    for a, b in ((A, B), (A, B), (B + 2.0, A), (A * 0.5, B * B)):
        for x, y in zip(compiled(a, b), traced(f, a, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def counted(a, b):
    calls_made = 0

    def f(t, y):
        nonlocal calls_made
        calls_made += 1
        return b * y * calls_made

    y = integrated(f, a, 3)
    return np.sum(y) * calls_made


def kept(a, b):
    history = []

    def f(t, y):
        history.append(y[0])
        return b * y

    y = integrated(f, a, 3)
    return np.sum(y) + sum(history) * len(history)


def kept_in_an_array(a, b):
    last = np.zeros(4)

    def f(t, y):
        last[:] = y * b
        return last + y

    y = integrated(f, a, 3)
    return np.sum(y * last)


def rebound(a, b):
    k = b[0]
    f = lambda t, y: k * y  # noqa: E731
    y = integrated(f, a, 2)
    k = b[1]
    return np.sum(integrated(f, y, 2))


def kept_in_an_object(a, b):
    class Model:
        def __init__(self):
            self.n = 0
            self.rate = b

        def slope(self, t, y):
            self.n += 1
            return self.rate * y * self.n

    model = Model()
    return np.sum(integrated(model.slope, a, 3)) * model.n


def of_itself(a, b):
    def power(x, n):
        return x if n == 0 else power(x * b[0], n - 1)

    return np.sum(integrated(lambda t, y: power(y, 3), a, 3))


def with_an_attribute(a, b):
    def f(t, y):
        return b * y * f.scale

    f.scale = a[1]
    return np.sum(integrated(f, a, 3))


def of_local_modules(a, b):
    import math as m

    return root(lambda x: m.sin(x) * b[0] + m.cos(x) - a[1], 0.5)


def of_a_generator(a, b):
    def items(x):
        yield x * b[0]
        yield x + b[1]

    def summed(g, x):
        total = 0.0
        for _ in range(3):
            for item in g(x):
                total = total + item * item
        return total

    return summed(items, a[0])


def with_a_decorator(a, b):
    def doubled(g):
        def called(t, y):
            return 2.0 * g(t, y)

        return called

    @doubled
    def f(t, y):
        return b * y

    return np.sum(integrated(f, a, 3))


def compared(a, b):
    f = lambda x: x * b[0]  # noqa: E731

    def chosen(g, h, x):
        for _ in range(2):
            x = g(x) if g is h else h(x) + 1.0
        return x

    return chosen(f, f, a[0]) + chosen(f, lambda x: x * b[1], a[1])


def raising(a, b):
    def f(t, y):
        if t > 0.25:
            raise ValueError("too late")
        return b * y

    try:
        return np.sum(integrated(f, a, 6))
    except ValueError:
        return np.sum(integrated(f, a, 2))


WITH_STATE = [
    counted, kept, kept_in_an_array, rebound, kept_in_an_object, of_itself, with_an_attribute,
    of_local_modules, of_a_generator, with_a_decorator, compared, raising,
]  # fmt: skip


@pytest.mark.parametrize("f", WITH_STATE)
def test_what_functions_keep(f: Callable, traced: Callable) -> None:
    """Such functions are read where that is sound, and the results are those of Python."""
    for a, b in ((A, B), (A, B), (B + 0.5, A)):
        for x, y in zip(gradient(f, a, b), traced(f, a, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    compiled = compile(lambda a, b: gradient(f, a, b))
    for a, b in ((A, B), (B + 0.5, A)):
        for x, y in zip(compiled(a, b), traced(f, a, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def cubed(x: Any) -> Any:
    return x**3


def test_a_function_with_a_rule_is_left_to_its_rule(runs: list[str]) -> None:
    slope = lambda: gradient(lambda x: applied([cubed], x), 0.5)  # noqa: E731
    assert slope() == pytest.approx(3 * 0.125**2 * 0.75)
    assert runs == ["applied"]
    rrule.register(cubed)(lambda x: (cubed(x), lambda y_bar: 100.0 * y_bar))
    try:
        assert slope() == pytest.approx(3 * 0.125**2 * 100.0)
    finally:
        rrule.unregister(cubed)
    assert slope() == pytest.approx(3 * 0.125**2 * 0.75)


def test_second_derivatives_of_what_is_captured(traced: Callable) -> None:
    def f(a, b):
        return gradient(lambda k: np.sum(integrated(lambda t, y: k * y * y, a, 3)), b[0]) * b[1]

    for x, y in zip(gradient(f, A, B), traced(f, A, B), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)


def test_functions_are_not_kept(runs: list[str]) -> None:
    def value(a: Any, b: Any) -> Any:
        big = np.ones(4) * b
        return np.sum(integrated(lambda t, y: big * y, a, 3))

    references = []

    def f(a: Any, b: Any) -> Any:
        g = lambda t, y: b * y  # noqa: E731
        references.append(weakref.ref(g))
        return np.sum(integrated(g, a, 3)) + value(a, b)

    gradient(f, A, B)
    assert "integrated" in runs
    gc.collect()
    assert all(r() is None for r in references)
