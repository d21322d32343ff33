"""Vectorised mathematics of machine code: as exact as NumPy's, signs and NaN included."""

import numpy as np
import pytest

from autodiff import compile


def compare(f, compiled, x, calls, rtol, scale=1.0, signs=True):
    """Compare the results of the last of some calls with NumPy's, and their signs."""
    with np.errstate(all="ignore"):
        expected = f(scale * x)
        for _ in range(calls):
            found = compiled(scale * x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=0.0)
        known = ~np.isnan(b)
        if signs:
            np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]))


def test_exponentials_of_machine_code():
    pytest.importorskip("llvmlite")
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 708.5, 709.75, 710.0, -700.0, -750.0, 1e-300]
    x = np.concatenate([np.linspace(-40.0, 40.0, 60_000), np.linspace(-1.0, 1.0, 9_000), special])
    f = lambda x: (np.exp(x) + 0.0 * x, np.tanh(x), np.tanh(-x) * 2.0)  # noqa: E731
    compiled = compile(f)
    compare(f, compiled, x, 8, 2e-15)


@pytest.mark.parametrize("size", [40, 60_000])
def test_sines_of_machine_code(size):
    pytest.importorskip("llvmlite")
    x = np.concatenate([np.linspace(-9.0, 9.0, size), [0.0, -0.0, 1e-300, 1e5, -1e9, np.nan]])
    x = np.concatenate([x, np.pi / 2 * np.arange(-20.0, 20.0), 1e4 * np.arange(30.0)])

    def f(x):
        for _ in range(2):
            y = np.sin(x) + 0.0 * x
        return y, np.cos(x) * 2.0, np.sin(-x) * 0.5, np.cos(x + 1.0)

    compiled = compile(f, backend="native")
    for scale in (1.0, 1e13, -3.0, 1.0):
        compare(f, compiled, x, 6, 1e-15, scale)
    assert compiled.variants == 1
    assert size > 1000 or "sin(" in compiled.source.replace("math.sin(", "")


@pytest.mark.parametrize("size", [40, 60_000])
def test_logarithms_of_machine_code(size):
    pytest.importorskip("llvmlite")
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 5e-324, 2.2e-308, 1.7e308, 1.0, 2.0, 0.5]
    root = np.sqrt(2.0)
    x = np.concatenate([special, 10.0 ** np.linspace(-300.0, 300.0, size), [root, root / 2]])
    x = np.concatenate([x, np.linspace(0.3, 3.0, size), 1.0 + 1e-9 * np.arange(-20.0, 20.0)])
    f = lambda x: (np.log(x) + 0.0, np.log(x + 1.0) * 2.0, np.log(x * x) - 0.0, -np.log(1.0 / x))  # noqa: E731
    compiled = compile(f, backend="native")
    for scale in (1.0, 3.0, 1.0):
        compare(f, compiled, x, 6, 4e-16, scale, signs=False)
    assert size > 1000 or "log(" in compiled.source.replace("math.log(", "")


@pytest.mark.parametrize("size", [40, 60_000])
def test_logarithms_and_exponentials_beside_one(size):
    pytest.importorskip("llvmlite")
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -2.0, 5e-324, 709.75, 710.0, -0.99999]
    small = 10.0 ** np.linspace(-30.0, 2.5, size)
    x = np.concatenate([special, small, -small, np.linspace(-2.0, 2.0, size)])
    f = lambda x: (np.log1p(x) * 2.0, np.expm1(x) * 1.0, np.log1p(x * x) + 0.0, -np.expm1(-x))  # noqa: E731
    compiled = compile(f, backend="native")
    for scale in (1.0, 0.3, 1.0):
        compare(f, compiled, x, 6, 1e-15, scale)
    assert size > 1000 or "log1p(" in compiled.source.replace("math.log1p(", "")


@pytest.mark.parametrize("initial", [None, 0.5])
def test_extrema_of_machine_code(initial):
    pytest.importorskip("llvmlite")
    options = {} if initial is None else {"initial": initial}

    def f(x):
        y = np.square(x) * x
        rows = np.max(y, axis=1, **options), np.min(y, axis=1, **options)
        return np.max(y, **options), np.min(y, **options), np.min(y, axis=0, **options), *rows

    compiled = compile(f, backend="native")
    x = np.random.default_rng(0).normal(size=(9, 31))
    for place in (None, (0, 0), (4, 17), (8, 30)):
        for bad in (np.nan, np.inf, -np.inf):
            z = x.copy()
            if place is not None:
                z[place] = bad
            with np.errstate(all="ignore"):
                for a, b in zip(compiled(z), f(z), strict=True):
                    np.testing.assert_array_equal(a, b)
    assert "larger(" in compiled.source
