"""Functions that call a function, by rules that call back into an engine."""

import functools
import itertools
import math

import pytest

from autodiff.dispatch.call import CONFIG
from chainrules_core import Closure, NoTangent, Tangent, frule, rrule

XS = [0.7, -1.3, 2.1]
H = 1e-6


def step(a, x):
    return math.sin(a) * x + x * x


def total(y):
    return sum((i + 1) * v for i, v in enumerate(y)) if isinstance(y, list) else y


def differences(f, xs):
    found = []
    for i in range(len(xs)):
        up, down = list(xs), list(xs)
        up[i] += H
        down[i] -= H
        found.append((f(up) - f(down)) / (2 * H))
    return found


CASES = [
    ("reduce", functools.reduce, lambda xs: (step, xs), lambda xs: functools.reduce(step, xs), 1),
    (
        "reduce from a start",
        functools.reduce,
        lambda xs: (step, xs[1:], xs[0]),
        lambda xs: functools.reduce(step, xs[1:], xs[0]),
        None,
    ),
    (
        "accumulate",
        itertools.accumulate,
        lambda xs: (xs, step),
        lambda xs: total(list(itertools.accumulate(xs, step))),
        0,
    ),
    ("map", map, lambda xs: (math.sin, xs), lambda xs: total([math.sin(x) for x in xs]), 1),
]


@pytest.mark.parametrize("name, f, args, plain, place", CASES, ids=[c[0] for c in CASES])
def test_both_modes(name, f, args, plain, place):
    expected = differences(plain, XS)
    y, pullback = rrule(CONFIG, f, *args(XS))
    assert total(y) == pytest.approx(plain(XS))
    y_bar = Tangent[list](*[i + 1.0 for i in range(len(y))]) if isinstance(y, list) else 1.0
    bars = pullback(y_bar)[1:]
    found = [bars[2], *bars[1]] if place is None else list(bars[place])
    assert found == pytest.approx(expected, rel=1e-6)
    dots = [NoTangent() if callable(a) else a for a in args([0.3, -1.0, 0.5])]
    dots = [Tangent[list](*d) if isinstance(d, list) else d for d in dots]
    y, y_dot = frule(CONFIG, (NoTangent(), *dots), f, *args(XS))
    along = sum(e * v for e, v in zip(expected, [0.3, -1.0, 0.5], strict=True))
    assert total(list(y_dot) if isinstance(y, list) else y_dot) == pytest.approx(along, rel=1e-6)


def test_what_the_function_has_captured_adds_up():
    scaled = Closure(lambda values: lambda a, x: values[0] * a + x, (2.0,))
    y, pullback = rrule(CONFIG, functools.reduce, scaled, XS)
    assert y == pytest.approx(4 * 0.7 + 2 * -1.3 + 2.1)
    f_bar = pullback(1.0)[1]
    assert f_bar["values"][0] == pytest.approx(2 * 2.0 * 0.7 - 1.3)


def test_without_an_engine_there_is_no_rule():
    assert rrule(functools.reduce, step, XS) is None
