"""Methods of ufuncs in loops: read as made of calls of the ufunc, or called with their rule."""

import functools

import numpy as np
import pytest

from autodiff import compile, gradient, value_and_gradient
from autodiff.structured.settings import Settings

V = np.linspace(0.2, 1.1, 5)
LEFT_FOLDS = [np.logaddexp, np.logaddexp2, np.hypot, np.subtract, np.divide]


def displayed(ufunc):
    def f(x, n):
        a = b = 0.5 + x
        for _ in range(n):
            a = 0.5 + 0.1 * np.tanh(ufunc.reduce([0.5 * a, b, 0.3]))
            b = 0.2 + 0.1 * np.tanh(ufunc.reduce(np.array([a, b])))
        return a + b

    return f


def vectors(ufunc):
    def f(x, n):
        a, total = V * x, 0.0
        for _ in range(n):
            a = 0.5 * np.tanh(a) + V
            total = total + ufunc.reduce(a) + np.sum(ufunc.accumulate(a))
        return total

    return f


def matrices(ufunc):
    def f(x, n):
        a, total = np.outer(V, V) + x, 0.0
        for _ in range(n):
            a = 0.5 * np.tanh(a) + 1.0
            total = total + np.sum(ufunc.reduce(a) * V) + np.sum(ufunc.reduce(a, axis=1) * V)
            total = total + np.sum(ufunc.reduce(a, axis=-1, keepdims=True))
            total = total + np.sum(ufunc.accumulate(a, axis=1)[:, 2])
        return total

    return f


def lists(ufunc):
    def f(x, n):
        total = 0.0
        for k in range(n):
            items = []
            for i in range(1 + k % 3):
                items.append(x + 0.1 * i)
            total = total + ufunc.reduce(items)
        return total

    return f


def _folds_powers():
    """Whether `np.power.reduce` gives what `np.power` gives of one element after the other."""
    rows = [np.linspace(0.5, 1.5, n) for n in range(2, 40)]
    return all(np.power.reduce(a) == functools.reduce(np.power, a) for a in rows)


@pytest.mark.parametrize("make", [displayed, vectors, matrices, lists])
@pytest.mark.parametrize("ufunc", [*LEFT_FOLDS, np.maximum, np.power], ids=lambda f: f.__name__)
def test_gradients_are_those_of_traced_calls(make, ufunc, traced, differences, made, monkeypatch):
    if ufunc is np.power and (make is not displayed or not _folds_powers()):
        pytest.skip("NumPy 2.4 reduces by powers wrongly on some processors")
    f = make(ufunc)
    for native in (np.inf, -1.0, -1.0):
        monkeypatch.setattr(Settings, "native", native)
        for x in (0.7, 0.9):
            found = gradient(f, x, 7, argnums=0)
            np.testing.assert_allclose(found, traced(lambda x: f(x, 7), x), rtol=1e-9)
            expected = differences(lambda x: f(x, 7), x)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    program = made[0]
    assert program.name == f.__qualname__
    if ufunc in LEFT_FOLDS and make is not matrices:
        assert program.native is not None, program.why
        assert not program.native.why


@pytest.mark.parametrize("ufunc", LEFT_FOLDS, ids=lambda f: f.__name__)
def test_folds_have_the_same_bits(ufunc):
    """What they are read as gives what NumPy's methods give."""
    from autodiff.structured.reading.libraries import ufunc_methods as made

    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 16, 33):
        for dtype in (np.float64, np.float32):
            a = rng.normal(size=(n, n)).astype(dtype) + dtype(0.5)
            np.testing.assert_array_equal(made.folded(ufunc, a[0]), ufunc.reduce(a[0]))
            np.testing.assert_array_equal(made.folded(ufunc, a), ufunc.reduce(a))
            np.testing.assert_array_equal(made.folded_rows(ufunc, a), ufunc.reduce(a, axis=1))
            np.testing.assert_array_equal(made.accumulated(ufunc, a[0]), ufunc.accumulate(a[0]))


def of_one_row(x, ufunc):
    a, total = (x * V)[None, :], 0.0
    for _ in range(3):
        y = ufunc.reduce(a)
        y += 1.0
        z = ufunc.reduce(a.T, axis=1)
        a[0, 1] = x
        total = total + np.sum(y * V) + np.sum(z * a)
    return total


@pytest.mark.parametrize("ufunc", LEFT_FOLDS, ids=lambda f: f.__name__)
def test_what_is_made_of_one_row_is_no_view(ufunc, differences, monkeypatch):
    """Nothing that is written into it, or into the matrix, is seen in the other one."""
    from autodiff.structured import calls

    for name in ("worth", "least"):
        monkeypatch.setattr(calls.Settings, name, -1.0)
    for native in (1e9, -1.0):
        monkeypatch.setattr(calls.Settings, "native", native)
        for _ in range(3):
            value, found = value_and_gradient(of_one_row, 0.7, ufunc, argnums=0)
            assert value == pytest.approx(of_one_row(0.7, ufunc))
            expected = differences(lambda x: of_one_row(x, ufunc), 0.7)
            assert found == pytest.approx(expected, rel=1e-6)


def test_a_vector_without_elements():
    def f(x, n):
        total = x
        for k in range(n):
            total = total + np.hypot.reduce((V * x)[: k % 2])
        return total

    compiled = compile(lambda x: gradient(f, x, 9, argnums=0))
    assert compiled(0.7) == pytest.approx(gradient(f, 0.7, 9, argnums=0))


PLACES = np.array([[0, 3], [3, 3], [4, 1]])


def fluxes(x, n):
    """Sums and differences at places that repeat, of floats, integers and numbers."""
    a, count = V * x, np.zeros(5, int)
    for k in range(n):
        flux = np.sin(a[PLACES[:, 0]] - a[PLACES[:, 1]] * x)
        np.subtract.at(a, PLACES[:, 0], flux)
        np.add.at(a, PLACES[:, 1], 0.5 * flux)
        np.subtract.at(a, [k, k, 0], 0.1 * x)
        np.subtract.at(count, PLACES[:, 1], 2)
        a = a * (1.0 + 0.01 * count)
    return np.sum(a * a * V)


@pytest.mark.parametrize("native", [False, True])
def test_sums_and_differences_at_places(native, traced, differences, made, runs, monkeypatch):
    monkeypatch.setattr(Settings, "native", -1.0 if native else np.inf)
    for _ in range(2):
        value, found = value_and_gradient(fluxes, 0.7, 4, argnums=0)
        assert value == pytest.approx(fluxes(0.7, 4), rel=1e-14)
        np.testing.assert_allclose(found, traced(lambda x: fluxes(x, 4), 0.7), rtol=1e-12)
        np.testing.assert_allclose(found, differences(lambda x: fluxes(x, 4), 0.7), rtol=1e-6)
    assert "fluxes" in runs
    assert not native or made[0].native is not None
