"""Expressions of several operations, evaluated and recorded as one node."""

from __future__ import annotations

import ast
import linecache
import math
import operator
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, jacobian
from autodiff.dispatch import dispatch_cache
from autodiff.fastpath.fusion.fused_node import FusedNode
from autodiff.intercept.source import fusion_sites
from chainrules_core import rrule
from tests.helpers import forget_fused

X = np.array([0.3, -0.7, 0.5, 1.1])
C = np.array([1.2, 0.4, 1.7, 0.9])
W = np.cos(np.arange(8.0)).reshape(2, 4)


pytestmark = pytest.mark.usefixtures("fused_at_once")


def ways_of(f: Callable) -> list:
    """Return what was written while `f` ran, for expressions in it."""
    forget_fused()
    for _ in range(3):
        f()
    found = [way for site in fusion_sites._all for way in site.known.values()]
    return [way for way in found if way is not operator.call]


def one_by_one(monkeypatch: pytest.MonkeyPatch, f: Callable) -> Any:
    """Return what `f` gives where nothing is written."""
    with monkeypatch.context() as patch:
        patch.setattr(dispatch_cache, "OFTEN", 10**9)
        forget_fused()
        made = f()
    forget_fused()
    return made


ARRAYS = [
    lambda x, c: np.minimum(x * 2.0 + c, 1e999) * 3.0 - x / -1e999,
    lambda x, c: x * c + c * x - x / c,
    lambda x, c: 1 / (1 + np.exp(-x)) * c,
    lambda x, c: np.tanh(x * x) * x + 2.0 * c,
    lambda x, c: (x * x) ** 2 * 0.5 - x**3 + 2.0**c,
    lambda x, c: -(-x * c) + -x,
    lambda x, c: np.maximum(x * 2.0, c * x) + np.minimum(x, c),
    lambda x, c: x[1:] * c[:-1] + 2 * x[1:] - x[:-1],
    lambda x, c: (c * c + 1.0) * x + c,
    lambda x, c: x + x + x * x - c * c,
    lambda x, c: (x - c) * (x - c) / (x + 3.0) + 1,
    lambda x, c: np.log(c + 1.5) ** c - np.hypot(x, c),
    lambda x, c: (x[0] + x[1]) * c + x[2] * x,
    lambda x, c: x[:, None] * c * 3.0 + x,
    lambda x, c: np.negative(np.square(x)) * c - np.reciprocal(c),
    lambda x, c: x[0] * c + np.exp(-c / x[3]) * x[1],
    lambda x, c: -0.5 * x / (c[0] * c[0]) + x * np.sin(c[1] * 2.0) * c[1],
    lambda x, c: x[0] * W + x[3] * c[0] * W - c[1] / 3.0,
    lambda x, c: (x[:, None] - c) * 2.0 + c / x[:, None] * W[1],
    lambda x, c: W * x + c * W * 2.0 - np.maximum(x, W) * W,
    lambda x, c: (W * x + c) / (1.0 + np.exp(-W * x)) * x[1] - c[0] * x[2],
    lambda x, c: np.sqrt(x[3] * c[0]) * x + np.exp(x[1]) ** 1.5 * c + 1,
]
IN_PARTS = [
    lambda x, c: x[:, None] * c + x * 3.0,
    lambda x, c: np.sqrt(x[3] * c[0]) * x + np.abs(x[1]) ** 1.5 * c + 1,
    lambda x, c: W * x + c * W * 2.0 - np.maximum(x, 0.1) * W,
    lambda x, c: np.sqrt(np.abs(x) + 1.0) * np.arctan2(x, c + 2.0),
    lambda x, c: x.reshape(2, 2) * c.reshape(2, 2) + 1.0 / c.reshape(2, 2),
]
NUMBERS = [
    lambda x, c: x * c + c * x - x / c,
    lambda x, c: 1 / (1 + math.exp(-x)) * c,
    lambda x, c: np.sin(x * c) * x + 2.0 * c,
    lambda x, c: (x * x) ** 2 * 0.5 - x**3 + 2.0**c,
    lambda x, c: -(-x * c) + -x,
    lambda x, c: math.sqrt(x + 1.0) * math.log(c + x) - c**x,
    lambda x, c: (x - c) * (x - c) / (x + 3.0) + 1,
    lambda x, c: (x * 3.0 + c) / 1e999 + x * x * c,
    lambda x, c: np.array([x, c, x * 2])[1] * 2.0 + x + c * np.array([x, c])[0],
]


@pytest.mark.parametrize("f", ARRAYS + IN_PARTS)
def test_arrays(f: Callable, check_modes: Callable) -> None:
    check_modes(f, X, C)
    value, _ = autodiff.pullback(f, X, C)
    np.testing.assert_array_equal(value, f(X, C))
    rows = jacobian(lambda x: f(x, C), X)
    np.testing.assert_allclose(rows, jacobian(lambda x: f(x, C) * 1.0, X.copy()))
    for i in np.ndindex(np.shape(value)):
        single = gradient(lambda x, i=i: f(x, C)[i], X)
        np.testing.assert_allclose(rows[i], single, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("f", NUMBERS)
def test_numbers(f: Callable, check_modes: Callable) -> None:
    for x, c in ((0.7, 1.3), (np.float64(1.9), 0.4)):
        check_modes(lambda z, c=c: f(z[()], c), np.array(x))
        check_modes(lambda z, x=x: f(x, z[()]), np.array(c))
        value, _ = autodiff.pullback(f, x, c)
        assert value == f(x, c)


def test_code_is_written() -> None:
    def of_arrays(x: Any) -> Any:
        return np.sum(x * C + np.sin(x) * 2.0)

    def of_numbers(x: Any) -> Any:
        return x * 3.0 + math.sin(x) * 2.0

    def of_items(x: Any) -> Any:
        return x[0] * 3.0 + x[1] * x[2]

    assert len(ways_of(lambda: gradient(of_arrays, X))) == 1
    assert len(ways_of(lambda: gradient(of_numbers, 0.3))) == 1
    assert len(ways_of(lambda: gradient(of_items, X))) == 1
    for f in ARRAYS:
        assert ways_of(lambda f=f: gradient(lambda x: np.sum(f(x, C)), X))
    for f in NUMBERS:
        assert ways_of(lambda f=f: gradient(lambda x: f(x, 1.3) * 1.0, 0.7))
    nodes: list = []

    def looked_at(x: Any) -> Any:
        y = x * C + np.sin(x) * 2.0
        nodes.extend(y._tape.nodes)
        return np.sum(y)

    for _ in range(3):
        gradient(looked_at, X)
    assert isinstance(nodes[-1], FusedNode)
    assert sum(isinstance(v, np.ndarray) for v in nodes[-1].values) == 2  # c and x, no product


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sum(np.where(x > 0, np.log(x) * 2.0 + x, 0.0)), np.array([0.0, 1.0, -1.0])),
        (lambda x: np.sum(np.sqrt(x) * 0.0 * x + x), np.array([0.0, 4.0])),
        (lambda x: np.sum((x - x) / (x * 0.0 + 1.0) * np.exp(x * 800.0)), np.array([1.0, 0.5])),
        (lambda x: x * 0.0 * (1.0 / x) + x, 1e-320),
        (lambda x: (x * x) * math.sqrt(x) + x, 0.0),
        (lambda x: 0.0 * x * x + x, math.inf),
        (lambda x: (x * 1e300) * 1e300 * 0.0 + x, 2.0),
        (lambda x: np.sum((x * 1e300) * 1e300 * 0.0 + x), np.array([2.0])),
        (lambda x: (x - 1.0) ** 2 * math.inf if x > 5 else (x - 1.0) * (x - 1.0) + 2.0, 1.0),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_zeros_and_infinities_are_those_of_single_operations(
    f: Callable, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = one_by_one(monkeypatch, lambda: gradient(f, x))
    for _ in range(3):
        found = gradient(f, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "x",
    [
        X.astype(np.float32), X + 1j, np.array(0.4), X.reshape(2, 2).T, X[::2], 0.4, 0.3 + 1j,
        np.float32(0.3), np.zeros(0), np.linspace(0.1, 1.0, 5000), np.asfortranarray(np.eye(3)),
    ],
)  # fmt: skip
def test_other_values_in_the_same_expression(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, c: Any) -> Any:
        return np.sum(np.real(np.sin(x) * c + x * x * 0.5 - x / 3.0))

    for _ in range(3):
        gradient(f, X, 0.5)
    for c in (0.5, 2, np.float64(0.3), np.asarray(x) * 2.0, True):
        expected = one_by_one(monkeypatch, lambda c=c: gradient(f, x, c, argnums=0))
        for _ in range(3):
            found = gradient(f, x, c, argnums=0)
        assert type(found) is type(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_pullback_may_be_called_again_and_changes_nothing_of_others() -> None:
    def f(x: Any, c: Any) -> Any:
        return x * c + c + x

    for _ in range(3):
        value, back = autodiff.pullback(f, X, C)
    y_bar = np.arange(4.0)
    first, second = back(y_bar), back(y_bar)
    np.testing.assert_array_equal(y_bar, np.arange(4.0))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
        a[...] = 7.0
    np.testing.assert_allclose(back(y_bar)[0], y_bar * (C + 1.0))
    np.testing.assert_array_equal(value, f(X, C))


def test_writes_after_an_expression() -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        y = a * a + np.exp(a) * 2.0
        a[0] = 5.0
        z = np.exp(y * 0.1 + 0.0)
        y[1] = 0.0
        return np.sum(z) + np.sum(y) + np.sum(a)

    def expected(x: Any) -> Any:
        d = 2 * x + 2 * np.exp(x)
        y = x * x + 2 * np.exp(x)
        of_y = 0.1 * np.exp(0.1 * y) + np.array([1.0, 0.0, 1.0, 1.0])
        return d * of_y + np.array([0.0, 1.0, 1.0, 1.0])

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, X), expected(X))


def test_constants_that_are_written_into_afterwards_count_as_they_were() -> None:
    c = C.copy()

    def f(x: Any) -> Any:
        y = x * c + c * x
        c[0] = 9.0
        return np.sum(y)

    for _ in range(3):
        c[:] = C
        np.testing.assert_allclose(gradient(f, X), 2.0 * C)
    c = np.tile(C, 10_000)
    for _ in range(3):
        with pytest.raises(autodiff.MutationError):
            gradient(f, np.tile(X, 10_000))


def test_what_is_evaluated_keeps_its_order() -> None:
    seen: list = []

    class Reader:
        def __getitem__(self, i: Any) -> Any:
            seen.append(("item", i, len(seen)))
            return 2.0

        def __mul__(self, other: Any) -> Any:
            seen.append(("mul", other, len(seen)))
            return 3.0

    def f(x: Any, r: Any) -> Any:
        def bound_anew() -> Any:
            nonlocal x
            x = x * 2.0
            return x

        a = x * bound_anew() + x * 3.0
        b = r * 2.0 + r[0] * a
        return a + (c := b * 2.0 + a) * c

    def plain() -> Any:
        seen.clear()
        return f(1.5, Reader()), list(seen)

    expected = plain()
    for _ in range(4):
        seen.clear()
        value, back = autodiff.pullback(lambda x: f(x, Reader()), 1.5)
        assert (value, seen) == expected
    slope = (f(1.5 + 1e-6, Reader()) - f(1.5 - 1e-6, Reader())) / 2e-6
    np.testing.assert_allclose(back(1.0), slope, rtol=1e-7)


def test_namespaces_that_are_no_modules() -> None:
    class Space:
        calls = 0

        def exp(self, x: Any) -> Any:
            self.calls += 1
            return np.exp(x) * 2.0

    def f(x: Any, xp: Any) -> Any:
        return xp.exp(x) * 2.0 + x

    def of(xp: Any) -> Callable:
        return lambda x: f(x, xp)

    space = Space()
    for _ in range(3):
        np.testing.assert_allclose(gradient(of(np), 0.3), 2 * math.exp(0.3) + 1)
        np.testing.assert_allclose(gradient(of(space), 0.3), 4 * math.exp(0.3) + 1)
    assert space.calls == 3


def test_after_a_change_of_the_rules_all_is_looked_at_anew() -> None:
    def helper(x: Any) -> Any:
        return x * 1.0

    def f(x: Any) -> Any:
        return np.cbrt(x) * 2.0 + helper(x)

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, 8.0), 2.0 / 12.0 + 1.0)
    assert any(site.known for site in fusion_sites._all)
    rrule.register(helper)(lambda x: (x * 1.0, lambda bar: bar * 5.0))
    assert not any(site.known for site in fusion_sites._all)
    for _ in range(3):
        np.testing.assert_allclose(gradient(f, 8.0), 2.0 / 12.0 + 5.0)


def test_errors_are_those_of_the_expression() -> None:
    def f(x: Any, c: Any) -> Any:
        return np.sum(
            x * 2.0 + x * c  # here
        )

    for _ in range(3):
        gradient(f, X, C)
    for c, kind in ((np.ones(3), ValueError), ("text", TypeError), (None, TypeError)):
        with pytest.raises(kind) as caught:
            gradient(f, X, c, argnums=0)
        lines = [frame.line for frame in traceback.extract_tb(caught.tb)]
        assert any("# here" in line for line in lines if line)


def test_many_kinds_of_leaves_turn_the_look_off() -> None:
    class Odd:
        def __mul__(self, other: Any) -> Any:
            return 2.0

    kinds = [type(f"Odd{i}", (Odd,), {}) for i in range(12)]

    def f(x: Any, odd: Any) -> Any:
        return odd * 2.0 + x

    forget_fused()
    for kind in kinds:
        for _ in range(2):
            assert gradient(lambda x, kind=kind: f(x, kind()), 1.0) == 1.0
    sites = [s for s in fusion_sites._all if fusion_sites.table[s.place] is operator.call]
    assert any(len(s.steps) == 2 and not s.known for s in sites)


def test_levels_and_modes() -> None:
    def f(x: Any) -> Any:
        return x * x * 0.5 + np.sin(x) * x

    def second(x: Any) -> Any:
        return 1.0 + 2 * np.cos(x) - x * np.sin(x)

    for _ in range(3):
        np.testing.assert_allclose(gradient(lambda x: gradient(f, x), 0.3), second(0.3))
        hessian = autodiff.hessian(lambda x: np.sum(f(x)), X)
        np.testing.assert_allclose(hessian, np.diag(second(X)), atol=1e-12)
        compiled = autodiff.compile(lambda x: gradient(lambda z: np.sum(f(z)), x))
        np.testing.assert_allclose(compiled(X), X + np.sin(X) + X * np.cos(X))


def test_results_that_are_larger_than_all_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum((x - y) * 2.0 * y)

    for n in (3, 3, 3, 300, 300, 3):
        x, y = np.linspace(0.0, 1.0, n)[:, None], np.linspace(1.0, 2.0, n)
        by_x, by_y = gradient(f, x, y)
        np.testing.assert_allclose(by_x, np.full((n, 1), 2 * np.sum(y)))
        np.testing.assert_allclose(by_y, 2 * np.sum(x) - 4 * n * y)
    assert ways_of(lambda: gradient(f, np.ones((300, 1)), np.ones(300))) == []


def test_long_expressions_take_time_in_proportion_to_their_length() -> None:
    terms = " + ".join(f"x**{i % 5} * {i}.0" for i in range(400))
    source = f"def long_sum(x):\n    return {terms}\n"
    scope = made_from(source)
    found = gradient(scope["long_sum"], 0.9)
    expected = sum((i % 5) * 0.9 ** max(i % 5 - 1, 0) * i for i in range(400))
    np.testing.assert_allclose(found, expected)
    finder = fusion_sites.Finder((), set(), {})
    node = ast.parse(source).body[0].body[0].value
    assert finder.find(node) is None
    assert len(finder._sizes) < 4000


def made_from(source: str) -> dict:
    """Return what source code defines, with the source at hand as that of a file is."""
    name = f"<made {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict = {"__name__": "made"}
    exec(compile(source, name, "exec"), scope)
    return scope


def test_syntax_around_expressions() -> None:
    source = """
import numpy as np

class Weights:
    __scale = 2.0

    def of(self, x):
        __factor = 3.0
        return x * __factor + self.__scale * x

def pairs(x):
    yield x * 2.0 + 1.0
    got = (yield x) * 3.0 - x
    yield got * got - 1.0

def f(x):
    class Inner:
        y = x * x + 1.0
        z = -y * 2.0 + x
    total = Weights().of(x) + sum([a * a - a * x for a in (x, 2.0 * x + 1.0)])
    made = pairs(x)
    total = next(made) * 2.0 + total
    next(made)
    total += made.send(x * 4.0) * 1.5 - x
    try:
        total = total + 1.0 / (x - x) * x
    except ZeroDivisionError:
        total = total * 2.0 + (lambda q, r=x * 3.0 + 1.0: q * r - q)(x)
    return total * Inner.z - (total if x * 2.0 - 1.0 > 0 else x) * 0.5
"""
    f = made_from(source)["f"]
    for _ in range(3):
        value, slope = autodiff.value_and_gradient(f, 0.7)
    assert value == f(0.7)
    h = 1e-4
    expected = (8 * (f(0.7 + h) - f(0.7 - h)) - f(0.7 + 2 * h) + f(0.7 - 2 * h)) / (12 * h)
    np.testing.assert_allclose(slope, expected, rtol=1e-9)


def test_broken_powers_of_negative_numbers() -> None:
    def f(x: Any) -> Any:
        y = (x - 2.0) ** 0.5 * 3.0
        return y.real * y.real + y.imag * y.imag

    def of_array(x: Any) -> Any:
        y = (x - 2.0) ** 0.5 * 3.0 + C
        return np.sum(np.real(y * np.conj(y)))

    for x in (3.0, 3.0, 3.0, 1.0, 3.0, 1.0):
        np.testing.assert_allclose(gradient(f, x), 9.0 if x > 2 else -9.0)
        slope = (of_array(x + 1e-5) - of_array(x - 1e-5)) / 2e-5
        np.testing.assert_allclose(gradient(of_array, x), slope, rtol=1e-7)


def test_items_of_lists_on_other_levels() -> None:
    def f(x: Any) -> Any:
        parts = [x * 1.0, x * x]
        y = parts[0] * 2.0 + parts[1] * x
        return np.sum(y * parts[1] + 3.0 * parts[0])

    def slope(x: Any) -> Any:  # of 2 x³ + x⁵ + 3 x
        return 6 * x**2 + 5 * x**4 + 3.0

    for x in (X, 0.7):
        for _ in range(3):
            np.testing.assert_allclose(gradient(f, x), slope(x))
            _, push = autodiff.pushforward(f, x)
            np.testing.assert_allclose(push(np.ones_like(x)), np.sum(slope(x)))
            second = autodiff.hvp(f, x, np.ones_like(x))
            np.testing.assert_allclose(second, 12 * x + 20 * x**3)


@pytest.mark.parametrize("ignored", ["over", "under", "divide", "invalid", None])
def test_derivatives_of_numbers_do_not_warn(ignored: str | None) -> None:
    """What only the derivatives would warn of decides no branch of the program."""
    huge = np.float64(1e200)

    def caught(k: Any) -> Any:
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("error")
            if ignored is not None:
                np.seterr(**{ignored: "ignore"})
            try:
                y = k * huge * 1e120
            except RuntimeWarning:
                return k * k
        return 2.0 * k * k + 0.0 * np.isfinite(y)

    for k in (1.7, np.float64(1.7), 1e-300, 0.0):
        with np.errstate(all="ignore"):
            expected = _outcome(caught, k)
            found = [_outcome(autodiff.value_and_gradient, caught, k)[0] for _ in range(30)]
            assert found == [expected] * 30


def _outcome(f: Callable, *args: Any) -> Any:
    try:
        return f(*args)
    except ArithmeticError as error:
        return type(error)
