"""Finite differences are as precise as the default tolerances take them to be."""

import math

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, ZeroTangent
from chainrules_core.testing import (
    FiniteDifferences,
    backward_fdm,
    central_fdm,
    forward_fdm,
    jvp_fd,
    vjp_fd,
)
from chainrules_core.testing.numeric.differences import Point

SMOOTH = [
    (np.exp, np.exp, (-5.0, 0.0, 1.0, 20.0)),
    (np.log, lambda x: 1 / x, (1e-5, 1.0, 1e8)),
    (np.sin, np.cos, (1e-8, 0.1, 3.0, 100.0)),
    (lambda x: 1 / x, lambda x: -1 / x**2, (1e-3, 0.1, 5e5, -2.0)),
    (np.sqrt, lambda x: 0.5 / np.sqrt(x), (1e-6, 2.0)),
    (np.arcsin, lambda x: 1 / np.sqrt(1 - x * x), (0.95, -0.999, 0.0)),
    (math.log, lambda x: 1 / x, (0.01,)),
    (lambda x: x**7, lambda x: 7 * x**6, (0.0, 1.5)),
]


@pytest.mark.parametrize("f, df, x", [(f, df, x) for f, df, points in SMOOTH for x in points])
@pytest.mark.parametrize("fdm", [central_fdm(), central_fdm(3), central_fdm(8), forward_fdm(),
                                 backward_fdm()], ids=lambda fdm: str(fdm.grid))  # fmt: skip
def test_smooth(f, df, x, fdm):
    derivative = fdm(f, x)
    assert derivative == pytest.approx(df(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("order, expected", [(1, np.cos(1.0)), (2, -np.sin(1)), (3, -np.cos(1.0))])
def test_orders(order, expected):
    assert central_fdm(7, order)(np.sin, 1.0) == pytest.approx(expected, rel=1e-6)
    assert forward_fdm(7, order)(np.sin, 1.0) == pytest.approx(expected, rel=1e-5)


def test_few_evaluations():
    calls = []
    central_fdm()(lambda x: calls.append(x) or math.sin(x), 0.7)
    assert len(calls) <= 13


def test_values_of_any_shape():
    derivative = central_fdm()(lambda t: np.outer([1.0, t], [t, 2.0]), 3.0)
    assert derivative == pytest.approx(np.array([[1.0, 0.0], [6.0, 2.0]]))


@pytest.mark.parametrize("x", [1.001, 0.999, 1.00005, 0.99995])
def test_kink_nearby(x):
    assert central_fdm()(lambda t: max(t, 1.0), x) == pytest.approx(float(x > 1), abs=1e-8)


def test_one_sided_at_an_edge():
    assert forward_fdm()(lambda x: np.log1p(x) if x >= 0 else np.nan, 0.0) == pytest.approx(1.0)
    with pytest.raises(FloatingPointError, match="forward_fdm"):
        central_fdm()(lambda x: np.log1p(x) if x >= 0 else np.nan, 0.0)
    with pytest.raises(ValueError, match="domain"):
        central_fdm()(math.log1p, -1.0)


def test_max_range():
    seen = []
    central_fdm(max_range=1e-4)(lambda x: seen.append(x) or math.exp(x), 1.0)
    assert max(abs(x - 1.0) for x in seen) <= 1e-4


def test_nan_stays_where_it_is():
    derivative = central_fdm()(lambda t: np.array([t, np.nan]), 1.0)
    assert derivative[0] == pytest.approx(1.0)
    assert np.isnan(derivative[1])


def test_bad_methods():
    with pytest.raises(ValueError, match="order 3 needs at least 4 points"):
        FiniteDifferences((-1, 0, 1), 3)
    with pytest.raises(ValueError, match="order"):
        central_fdm(5, 0)


def test_jvp_of_structures():
    def f(d, n, p):
        return d["a"] * n, {"s": np.sin(p[0]), "t": "text"}

    y_dot = jvp_fd(
        f,
        ({"a": np.ones(2), "b": 1.0}, 3, (0.5,)),
        (Tangent[dict](a=np.array([1.0, 2.0])), NoTangent(), Tangent[tuple](2.0)),
    )
    assert isinstance(y_dot, Tangent[tuple])
    assert y_dot[0] == pytest.approx(np.array([3.0, 6.0]))
    assert y_dot[1]["s"] == pytest.approx(2 * np.cos(0.5))
    assert isinstance(y_dot[1]["t"], NoTangent)


def test_vjp_of_structures():
    def f(a, b, n, *, scale):
        return scale * (a @ b), n

    a, b = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0 + 1j])
    y_bar = Tangent[tuple](np.array([1.0, 1j]), NoTangent())
    a_bar, b_bar, n_bar = vjp_fd(f, (a, b, 3), y_bar, scale=2.0)
    assert a_bar == pytest.approx(2 * np.real(np.outer([1.0, 1j], b.conj())))
    assert b_bar == pytest.approx(2 * a.T @ np.array([1.0, 1j]))
    assert isinstance(n_bar, NoTangent)
    zero = vjp_fd(f, (a, b, 3), ZeroTangent(), scale=2.0)
    assert not zero[0].any()


def test_complex_convention():
    (z_bar,) = vjp_fd(lambda z: z * z, (1.0 + 2.0j,), 1.0 + 1.0j)
    assert z_bar == pytest.approx(2 * np.conj(1.0 + 2.0j) * (1.0 + 1.0j))
    (z_bar,) = vjp_fd(abs, (3.0 + 4.0j,), 1.0)
    assert z_bar == pytest.approx(0.6 + 0.8j)


def test_float32_is_differentiated_in_double_precision():
    x = np.float32([0.5, 1.5])
    (x_bar,) = vjp_fd(np.exp, (x,), np.ones(2, np.float32))
    assert x_bar.dtype == np.float32
    assert x_bar == pytest.approx(np.exp(x), rel=1e-6)


def test_imprecise_outputs():
    derivative = jvp_fd(lambda x: np.exp(x).astype(np.float32), (1.0,), (1.0,))
    assert derivative == pytest.approx(np.e, rel=1e-4)


def test_infinite_derivative_of_unused_output():
    (x_bar,) = vjp_fd(lambda x: (x, x * np.inf), (1.0,), Tangent[tuple](1.0, 0.0))
    assert x_bar == pytest.approx(1.0)


def test_size_of_entries():
    point = Point(lambda x: np.log(x), (np.array([1e-3, 1.0]),), {}, None)
    derivative, _ = point.derivative([np.ones(2)])
    assert derivative == pytest.approx(np.array([1e3, 1.0]), rel=1e-8)


def test_mutated_constants_are_fresh_each_time():
    def pop(x, items):
        return x * items.pop()

    (x_bar, _) = vjp_fd(pop, (2.0, [1, 3]), 1.0)
    assert x_bar == pytest.approx(3.0)
