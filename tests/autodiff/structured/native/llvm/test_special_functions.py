"""Functions of `scipy.special` in machine code: the same bits as those of the ufuncs."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

from autodiff import gradient, value_and_gradient
from autodiff.structured.native.llvm.special import NAMES, has
from autodiff.structured.runtime import Structured
from tests.helpers import check_direction

V = np.sin(np.arange(1.0, 9.0))
RARE = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, np.inf, -np.inf, np.nan, 1e-300, 5e-324, 1e300, -1e300,
        1e-8, -3.0, 10.0, 171.0, 172.0, 1e5, 1.0 - 1e-12]  # fmt: skip


def of_gamma(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(4):
        y = x + 3.0 + k
        s = s + np.sum(special.gammaln(y) * w) + special.gamma(y[k]) * w[k]
        s = s + np.sum(special.betaln(y, y[0]) + special.rgamma(y)) + special.loggamma(y[1])
    return s


def of_errors(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(4):
        p = 0.5 + 0.2 * x
        s = s + np.sum(special.erfinv(x * 0.3) * w) + np.sum(special.ndtri(p)) * w[k]
        s = s + np.sum(special.log_ndtr(x - k)) + special.erfcx(x[k]) + special.dawsn(x[0] + k)
        s = s + np.sum(special.exp2(x) * special.exp10(x * 0.1)) + np.sum(special.cosm1(w))
    return s


def of_bessel(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(4):
        y = x + 2.0 + k
        s = s + np.sum(special.j0(y) * w) + np.sum(special.i0(x)) * w[k] + special.y0(y[k])
        s = s + np.sum(special.k0(y) * special.k1(y)) + special.i0e(x[k]) + special.expi(y[1])
        s = s + np.sum(special.boxcox(y, 0.5) * special.exp1(y) + special.huber(1.0, x * 3.0))
    return s


def of_integrals(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(4):
        m = 0.5 + 0.3 * x
        s = s + np.sum(special.ellipk(m) * w) + special.ellipe(m[k]) * w[k]
        s = s + special.ellipkm1(m[k]) + special.elliprf(m[0], m[1], m[k]) * w[k]
        s = s + np.sum(special.powm1(m + 1.0, w)) + special.tandg(x[k]) + special.cotdg(m[k])
    return s


@pytest.mark.parametrize("f", [of_gamma, of_errors, of_bessel, of_integrals])
def test_gradients(f: Callable, check_machine_code: Callable) -> None:
    check_direction(f, V, V[::-1] * 0.8)
    check_machine_code(f, lambda: (V, np.cos(V)), rtol=1e-11, atol=1e-13)


def _loops(g: Any) -> list[Callable]:
    """Return programs that multiply what a ufunc of so many arguments makes."""

    def one(x: Any, w: Any) -> Any:
        y = w * 0.0
        for _ in range(2):
            y = g(x[0])
        return y * w

    def two(x: Any, w: Any) -> Any:
        y = w * 0.0
        for _ in range(2):
            y = g(x[0], x[1])
        return y * w

    def three(x: Any, w: Any) -> Any:
        y = w * 0.0
        for _ in range(2):
            y = g(x[0], x[1], x[2])
        return y * w

    def four(x: Any, w: Any) -> Any:
        y = w * 0.0
        for _ in range(2):
            y = g(x[0], x[1], x[2], x[3])
        return y * w

    return [one, two, three, four]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_values_have_the_bits_of_the_ufunc(name: str, made: list[Structured]) -> None:
    g = getattr(special, name)
    if not has(g.__name__, g.nin):
        pytest.skip("this SciPy does not hand it over")  # loops with it stay NumPy source
    f = _loops(g)[g.nin - 1]
    # One of its own: a function has a few programs only.
    f = types.FunctionType(f.__code__.replace(), f.__globals__, name, None, f.__closure__)
    rng = np.random.default_rng(0)
    few = np.concatenate([RARE, rng.normal(size=60) * 3.0, 10 ** rng.uniform(-5, 3, 40)])
    x = np.array([few, *[rng.permutation(few) for _ in range(g.nin - 1)]])
    with np.errstate(all="ignore"):
        expected = g(*x)
        x, expected = (v[..., np.isfinite(expected)].copy() for v in (x, expected))
        for _ in range(2):
            found = gradient(lambda w: np.sum(f(x, w)), np.ones(len(expected)))
            np.testing.assert_array_equal(found.view(np.int64), (expected + 0.0).view(np.int64))
    assert made[0].native is not None, made[0].why
    assert not made[0].native.why


def test_errors_that_count_are_left_to_scipy(made: list[Structured]) -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for k in range(4):
            s = s + special.gamma(x[k]) * x[0]
        return s

    for _ in range(2):
        value, slopes = value_and_gradient(f, V + 2.0)
    assert made[0].native is not None, made[0].why
    with special.errstate(all="raise"):
        again, others = value_and_gradient(f, V + 2.0)
        with pytest.raises(special.SpecialFunctionError):
            gradient(f, np.array([1.0, -1.0, 2.0, 0.5]))
    assert value == pytest.approx(again, rel=1e-14)
    np.testing.assert_allclose(slopes, others, rtol=1e-13)


def test_other_classes_are_left_to_numpy(made: list[Structured], traced: Callable) -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for k in range(4):
            s = s + np.sum(special.gammaln(x + 3.0) * x) * special.gamma(k + 1) + x[k]
        return s

    for x in (V.astype(np.float32), V):
        for _ in range(2):
            found, expected = gradient(f, x), traced(f, x)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-4 if x is not V else 1e-12)
