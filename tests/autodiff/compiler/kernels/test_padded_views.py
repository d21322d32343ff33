"""Adjoints of slices, and pads, are read with zeros around them, and need no array of their own."""

import numpy as np
import pytest

from autodiff import compile, gradient

RNG = np.random.default_rng(0)
U, V, W = RNG.standard_normal(9), RNG.standard_normal((6, 7)), RNG.standard_normal((4, 5, 6))


def burgers(u):
    f = 0.5 * u**2
    flux = 0.5 * (f[1:] + f[:-1]) - 0.5 * np.abs(u[1:] + u[:-1]) * (u[1:] - u[:-1])
    return np.sum((u[1:-1] - 0.1 * (flux[1:] - flux[:-1])) ** 2)


def heat(u):
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return np.sum((0.6 * u[1:-1, 1:-1] + 0.1 * around) ** 3)


def diffusion(u):
    lap = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    res = lap[1:] - lap[:-1]
    flux = np.where(res * (u[2:-1, 1:-1] - u[1:-2, 1:-1]) > 0, 0, res)
    return np.sum((u[2:-2, 2:-2] - np.sin(flux[1:, 1:-1] - flux[:-1, 1:-1])) ** 2)


def upwind(u):
    here = u[1:-1, 1:-1, 1:-1]
    a = np.where(here > 0, here - u[:-2, 1:-1, 1:-1], u[2:, 1:-1, 1:-1] - here)
    return np.sum((a * here + u[1:-1, 2:, 1:-1] - 2.0 * u[1:-1, 1:-1, :-2]) ** 2)


def in_turns(u):
    for _ in range(8):
        u = np.pad(u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]), 1)
    return np.sum(u * u)


FUNCTIONS = {
    "burgers": (burgers, U),
    "heat": (heat, V),
    "diffusion": (diffusion, V),
    "upwind": (upwind, W),
    "in turns": (in_turns, U),
    "differences": (lambda x: np.sum(np.sqrt(np.diff(x, axis=0) ** 2 + 0.1)), V),
    "second differences": (lambda x: np.sum(np.diff(np.diff(x), axis=-1) ** 3), V),
    "a pad": (lambda x: np.sum((np.pad(x, 1) * np.pad(x, ((0, 2), (2, 0)))) ** 2), V),
    "a pad, read in parts": (lambda x: np.sum(np.pad(x, 1)[1:, 1:] * np.pad(x, 1)[:-1, :-1]), V),
    "a pad, in a product": (lambda x: np.sum(np.pad(x[:, 1:], 1) @ x[:, 0].repeat(2)[:8]), V),
    "few elements": (lambda x: np.sum(x[:2] ** 3) + np.sum(x[3:] * x[:-3]), U),
    "turned round": (lambda x: np.sum(x[::-1][1:] * np.sin(x[:-1])), U),
    "every other": (lambda x: np.sum(x[::2] ** 3 * x[0]) + np.sum(x[1:] * x[:-1]), U),
    "a column": (lambda x: np.sum(np.sin(x[:, 0]) + x[:, 1] ** 2), np.ascontiguousarray(V[:, :2])),
    "rows of one": (lambda x: np.sum((x[1:] - x[:-1]) ** 2 * x[1:, :1]), V[:, :1].copy()),
    "a new axis": (lambda x: np.sum((x[1:, None] * x[None, :-1]) ** 2), U),
    "a factor that is a number": (lambda x: np.sum((np.sum(x) * x[1:] - 3.0 * x[:-1]) ** 2), U),
    "transposed": (lambda x: np.sum(x.T[1:] * x.T[:-1] + x[1:].T[1:, :1] ** 2), V),
    "maxima of a pad": (lambda x: np.max(np.pad(x, 1)) * np.min(np.pad(x, 1)[1:-1]) + x[0, 0], V),
    "written": (lambda x: _written(x), V),
    "stacked": (lambda x: np.sum(np.stack([x, np.sin(x), x[::-1]], axis=1) ** 3 * x[:, None]), V),
    "stacked at the end": (lambda x: np.sum(np.stack([x[0], x[1]], -1) ** 2) * np.sum(x[2:]), V),
    "several results": (lambda x: np.sum(np.pad(x, (0, 1)) * _twice(x)), U),
}  # fmt: skip


def _written(x):
    y = np.zeros((6, 7))
    y[1:, 1:] += x[:-1, :-1] * 2.0
    y[:-1] -= np.sin(x[1:])
    y[2:4] = x[:2] * y[:2]
    return np.sum(y**3)


def _twice(x):
    return np.concatenate([x[1:], x[:2]]) + 1.0


def differences(f, x, step=1e-6):
    slopes = np.empty(x.size)
    for k in range(x.size):
        away = np.zeros(x.size)
        away[k] = step
        away = away.reshape(x.shape)
        slopes[k] = (f(x + away) - f(x - away)) / (2 * step)
    return slopes.reshape(x.shape)


@pytest.mark.parametrize("case", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients_as_python(case, interpreted):
    f, x = case
    compiled = compile(lambda x: gradient(f, x), backend="native")
    compiled(x)
    np.testing.assert_allclose(compiled(x), differences(f, x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(compiled(1.5 * x), gradient(f, 1.5 * x), rtol=1e-12, atol=1e-12)
    assert interpreted


@pytest.mark.parametrize("case", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients_by_machine_code(case):
    f, x = case
    compiled = compile(
        lambda x: (gradient(f, x), gradient(lambda y: np.sum(gradient(f, y) ** 2), x)),
        backend="native",
    )
    for y in (x, 2.0 * x, x):
        first, second = compiled(y)
        np.testing.assert_allclose(first, differences(f, y), rtol=1e-4, atol=1e-5)
        expected = gradient(lambda y: np.sum(gradient(f, y) ** 2), y)
        np.testing.assert_allclose(second, expected, rtol=1e-11, atol=1e-11)


def _reshaped(x):
    y = (2.0 * x[2:] + x[:-2]).reshape(-1, 1)
    z = np.cumsum((y * y)[1:, 0] * 1e-4)
    return np.sum((y * y) * z[-1]) + np.sum(y[1:] * z[:, None])


def _repeatedly(x):
    y, z = 2.0 * x - x[0], np.sin(x)
    for _ in range(6):
        z = 0.5 * z + 0.1 * y * z[::-1]
    return np.sum(y * z)


def _changed(x):
    y = 2.0 * x
    z = np.sin(y[::-1])
    y[5:] = z[5:] * x[0]
    return np.sum(y**2 * z) + np.max(-y)


LARGE = {
    "burgers": burgers,
    "maxima": lambda x: np.sum(np.maximum(x[1:], x[:-1]) ** 2 * x[0]),
    "reshaped": _reshaped,
    "in turns": _repeatedly,
    "changed": _changed,
    "rows": lambda x: np.sum(np.sum((x[:-1] * 3.0).reshape(-1, 2) ** 2, axis=1) * x[:1]),
}


@pytest.mark.parametrize("f", LARGE.values(), ids=LARGE)
def test_what_is_cheap_is_done_again(f, interpreted):
    x = np.random.default_rng(1).standard_normal((1 << 15) + 3)
    compiled = compile(lambda x: gradient(f, x), backend="native")
    found, direction = compiled(x), np.random.default_rng(2).standard_normal(x.size)
    expected = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    assert abs(found @ direction - expected) < 1e-4 * max(1.0, abs(expected))
    np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-12, atol=1e-12)


def test_an_adjoint_needs_no_array_of_zeros(interpreted):
    compiled = compile(lambda x: gradient(heat, x), backend="native")
    compiled(RNG.standard_normal((10, 9)))
    (kernel,) = interpreted
    assert kernel.source.count("for i0") == 2  # forward and backward


def test_a_number_between_does_not_part_a_nest(interpreted):
    def f(x):
        return 0.5 * np.sum(np.sin(x) ** 2)

    compiled = compile(lambda x: (f(x), gradient(f, x)), backend="native")
    y, g = compiled(V)
    assert abs(y - 0.5 * np.sum(np.sin(V) ** 2)) < 1e-12
    np.testing.assert_allclose(g, np.sin(V) * np.cos(V), rtol=1e-12)
    (kernel,) = interpreted
    assert kernel.source.count("for i0") == 1


def test_a_factor_that_is_not_finite():
    compiled = compile(lambda x: np.pad(np.inf * x, 1) * 1.0 + np.pad(-x, 1), backend="native")
    for _ in range(2):
        y = compiled(np.ones(5))
        np.testing.assert_array_equal(y, [0, *[np.inf] * 5, 0])
