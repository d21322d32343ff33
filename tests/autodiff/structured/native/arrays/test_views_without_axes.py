"""What has no axes is a number in programs.

Views that have none are such only where nobody can tell; functions with others are traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import MutationError, compile, value_and_gradient
from autodiff.structured.calls import Settings
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.runtime import Structured


def read(x: Any, y: Any) -> Any:
    s = 0.0
    for i in range(3):
        e = x[..., i]
        s = s + e * e * y[i]
    return s * 1.0


def exchanged(x: Any, y: Any) -> Any:
    z = x * 1.0
    for i in range(4):
        z[..., i], z[..., i + 1] = z[..., i + 1], z[..., i]
    return np.sum(z * y)


def read_before_a_write(x: Any, y: Any) -> Any:
    z, s = x * 1.0, 0.0
    for i in range(4):
        v = z[..., i]
        z[i] = 5.0 * y[i]
        s = s + v * y[1]
    return s


def written(x: Any, y: Any) -> Any:
    r, s = x * 1.0, 0.0
    for _ in range(3):
        r[..., 0] = r[1] * y[0]
        s = s + np.sum(r * r)
    return s


def filled(x: Any, y: Any) -> Any:
    z = x * 1.0
    for i in range(3):
        np.multiply(z[..., i], y[i], out=z[..., i])
    return np.sum(z * z)


def of_a_diagonal(x: Any, y: Any) -> Any:
    m, s = np.outer(x, y), 0.0
    for i in range(3):
        s = s + np.diag(m)[..., i] * y[0]
    return s


def squeezed(x: Any, y: Any) -> Any:
    z, s = x * 1.0, 0.0
    for i in range(3):
        v = np.squeeze(z[i : i + 1])
        z[i] = y[i] * 3.0
        s = s + v * y[1]
    return s


def slopes(x: Any, y: Any) -> Any:
    s = 0.0
    for i in range(4):
        s = s + np.sum(np.gradient(x) * y) + np.sum(np.gradient(x, 0.5 + i, axis=-1) * y)
        s = s + np.sum(np.diff(x * x, axis=0) * y[1:]) + np.sum(np.gradient(y, axis=0) * x[0])
    return s


def rotated(x: Any, y: Any) -> Any:
    s = 0.0
    for i in range(3):
        p = x[i : i + 2] * y[i]
        u, v = p[..., 0], p[..., 1]
        s += u * v - np.hypot(u, v) if u > v else v * v
        q = np.array([u - v, u + v])
        s = s + q[..., 1] * q[..., -1]
    return s


def changed_by_its_name(x: Any, y: Any) -> Any:
    z, s = x * 1.0, 0.0
    for i in range(3):
        v = z[..., i]
        v += y[i]
        s = s + z[i] * v
    return s


def scaled(x: Any, y: Any) -> Any:
    z = x * 1.0
    for i in range(3):
        z[..., i] *= y[i]
        z[..., i + 1] += z[i] * y[1]
        z[i, ...] = z[i] / (2.0 + y[i])
    return np.sum(z * z)


def kept(x: Any, y: Any) -> Any:
    xs = []
    for i in range(3):
        xs.append(x[..., i])
        xs[-1] += y[i]
    return xs[0] * xs[2] + x[0]


def returned(x: Any, y: Any) -> Any:
    v = x[..., 0]
    for i in range(3):
        v = y[i] * v
        if i == 5:
            v = x[..., 2]
    return v


KERNELS = [
    rotated,
    changed_by_its_name,
    scaled,
    kept,
    returned,
    read,
    exchanged,
    read_before_a_write,
    written,
    filled,
    of_a_diagonal,
    squeezed,
    slopes,
]


@pytest.mark.parametrize("argnums", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_they_are_views(kernel: Callable, argnums: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one argument that is differentiated, too: then more of it can be machine code."""
    x, y = np.linspace(1.0, 2.0, 8) ** 2, np.cos(np.arange(8.0))

    def loss(*given: Any) -> Any:
        args = [x, y]
        for i, g in zip(argnums, given, strict=True):
            args[i] = g * 1.0
        return kernel(args[0] * 1.0, args[1] * 1.0)

    given = [(x, y)[i] for i in argnums]
    places = tuple(range(len(given)))
    with monkeypatch.context() as m:
        m.setattr(Settings, "enabled", False)
        try:
            slopes = value_and_gradient(loss, *given, argnums=places)[1]
        except MutationError:  # a constant array cannot hold traced values
            return
    compiled = compile(lambda *xs: value_and_gradient(loss, *xs, argnums=places))
    for native in (float("inf"), -1.0):
        monkeypatch.setattr(Settings, "native", native)
        for way in (lambda *xs: value_and_gradient(loss, *xs, argnums=places), compiled):
            for _ in range(3):
                value, found = way(*given)
                np.testing.assert_allclose(value, kernel(x * 1.0, y * 1.0), rtol=1e-12)
                for a, b in zip(found, slopes, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", [rotated, scaled, read])
def test_those_that_nobody_can_tell_are_read(kernel: Callable) -> None:
    x = np.linspace(1.0, 2.0, 8)
    assert Structured(kernel, (None, None), (x, x), (0, 1)).source


@pytest.mark.parametrize(
    "kernel", [exchanged, read_before_a_write, filled, changed_by_its_name, kept]
)
def test_others_are_not(kernel: Callable) -> None:
    x = np.linspace(1.0, 2.0, 8)
    with pytest.raises(UnsupportedError):
        Structured(kernel, (None, None), (x, x), (0, 1))
