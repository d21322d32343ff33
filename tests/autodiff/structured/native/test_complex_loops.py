"""Machine code with complex numbers, compared with the NumPy source and with tracing."""

from __future__ import annotations

import cmath
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import autodiff
from autodiff.structured import calls
from autodiff.structured.runtime import Structured
from tools.fuzz import generators, judge

A = 0.4 * np.sin(np.arange(8.0) + 0.3)
B = 1.0 + 0.5 * np.cos(np.arange(8.0))
Z = np.exp(0.3j * np.arange(8)) * (1.0 + A)


def escapes(x: Any, y: Any) -> Any:
    """A variable is first an integer, then complex."""
    out = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            c = x[i] - 0.3 + 1j * y[j] * 0.5
            z = 0
            for _ in range(12):
                z = z * z + c
                if abs(z) > 2.0:
                    break
            out[i, j] = abs(z)
    return out


def butterflies(x: Any) -> Any:
    n = len(x)
    y = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            y[i], y[j] = y[j], y[i]
    size = 2
    while size <= n:
        w = cmath.exp(-2j * cmath.pi / size)
        for start in range(0, n, size):
            f = 1.0 + 0j
            for k in range(size // 2):
                u = y[start + k]
                v = y[start + k + size // 2] * f
                y[start + k] = u + v
                y[start + k + size // 2] = u - v
                f *= w
        size <<= 1
    return y


def walk(theta: Any) -> Any:
    n = len(theta)
    up = np.zeros(2 * n + 1, dtype=complex)
    down = np.zeros(2 * n + 1, dtype=complex)
    up[n], down[n] = 1 / np.sqrt(2), 1j / np.sqrt(2)
    for t in range(n):
        c, s = np.cos(theta[t]), np.sin(theta[t])
        a, b = c * up + s * down, s * up - c * down
        up = np.zeros_like(a)
        down = np.zeros_like(b)
        up[1:] = a[:-1]
        down[:-1] = b[1:]
    return (np.abs(up) ** 2 + np.abs(down) ** 2) * np.arange(-n, n + 1) ** 2


def films(n: Any, d: Any) -> Any:
    total = 0.0
    for k in range(1, 4):
        m = np.eye(2, dtype=complex)
        for i in range(len(n)):
            p = k * n[i] * d[i]
            layer = np.array([[np.cos(p), 1j * np.sin(p) / n[i]], [1j * n[i] * np.sin(p), 0.7]])
            m = m @ layer
        v = m @ np.array([1.0, 0.5j]) + m[0] @ m
        total += abs(2.0 / (m[0, 0] + m[1, 1])) ** 2 + np.linalg.norm(v) + np.vdot(v, m[:, 1]).real
    return total


def filters(r: Any, c: Any) -> Any:
    gain = np.zeros(5)
    for q in range(5):
        z = complex(50.0, 0.0)
        for k in range(len(r) - 1, -1, -1):
            z = z + r[k] + 1j * (q + 1) * c[k]
            z = 1 / (1 / z + 0.1j * q * c[k]) * cmath.exp(-q) * cmath.sqrt(1.5)
        gain[q] = 20 * math.log10(abs(z / (z + 50.0))) + cmath.sqrt(z).imag
    return gain


def roots(c: Any) -> Any:
    s = 0.0
    for x in range(3):
        z = complex(x, 0.3)
        for _ in range(6):
            p = d = 0j
            for k in range(len(c)):
                d = d * z + p
                p = p * z + c[k]
            z = z - p / d
        s = s + 0.1 * z.real + abs(z) + (z**-3).imag
    return s


def powers(c: Any, a: Any) -> Any:
    s = 0.0
    for k in range(len(c)):
        z = c[k] + a[k]
        s += z**k + z**2.5 + (z * 1j) ** a[k] + np.power(z, -2) + z ** (0.3 + 0.1j)
    return s


def waves(psi: Any, v: Any) -> Any:
    r = psi.real.copy()
    for _ in range(4):
        lap = np.zeros_like(psi)
        lap[1:-1] = psi[2:] - 2 * psi[1:-1] + psi[:-2]
        psi = psi + 0.05 * (-1j * (v * psi - 0.5 * lap))
        psi = psi * np.exp(-0.1j * v) / np.sqrt(np.sum(np.abs(psi) ** 2))
        psi.imag *= 0.9
        psi.real[1:] += v[1:]
        psi[psi.real > 0.5] *= 0.5
        r += (psi * np.conj(psi)).real + np.where(r > 0, psi, 0.5j).imag
    return np.sqrt(psi) + r


def lists(c: Any, a: Any) -> Any:
    zs = [a[0], c[1]]
    for i in range(3):
        zs.append(zs[-1] * c[i] + zs[0] * a[i])
        zs[0] = a[i] * 0.5
    return abs(sum(zs)) ** 2 + np.sum(np.abs(np.array(zs)))


def kept(c: Any, a: Any) -> Any:
    """The class of a number is tracked, and known where it is read."""
    s, t = 0.0, 1j
    for i in range(len(a)):
        s = s * 0.5 + (c[i] if i % 2 else a[i])
        t = a[i] if i == 3 else t * np.conj(t) + s
    return s * t + complex(abs(s), a[0]) + s.imag


def fractal(c: Any) -> Any:
    z = np.zeros_like(c)
    for _ in range(6):  # sizes of zeros, several at once
        inside = abs(z) < 2.0
        z[inside] = z[inside] ** 2 + c[inside]
    return z


def polar(c: Any, a: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        z = cmath.rect(1.0 + a[i], 0.3 * i + a[i]) + c[i]
        s = s + cmath.phase(z) * np.angle(c[i]) + np.sum(np.angle(c * z) * a)
    return s + z


CASES = [
    (escapes, (A, B)), (butterflies, (Z,)), (walk, (A,)), (films, (B, A)), (filters, (B, A)),
    (roots, (Z,)), (powers, (Z, B)), (waves, (Z, A)), (lists, (Z, A)), (kept, (Z, A)),
    (polar, (Z, A)),
    (fractal, (np.linspace(-1.7, 0.4, 40) + 1j * np.linspace(-0.8, 0.9, 40),)),
]  # fmt: skip


def loss_of(kernel: Callable) -> Callable:
    def loss(*args: Any) -> Any:
        y = kernel(*[x * 1.0 for x in args])
        return np.sum(np.real(y) ** 2) + 0.5 * np.sum(np.sin(np.imag(y)))

    return loss


@pytest.mark.parametrize("kernel, args", CASES)
def test_kernels(
    kernel: Callable, args: tuple, made: list[Structured], traced: Callable, by_numpy: Callable
) -> None:
    loss = loss_of(kernel)
    value, found = autodiff.value_and_gradient(loss, *args, argnums=tuple(range(len(args))))
    (program,) = made
    assert program.native is not None
    assert (program.native.why, program.bailouts, program.failure) == ({}, 0, None)
    np.testing.assert_allclose(value, loss(*args), rtol=1e-12)
    for way in (by_numpy, traced):
        other = way(loss, *args)
        for x, y in zip(found, other if len(args) > 1 else [other], strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel, args", CASES)
def test_differences(kernel: Callable, args: tuple) -> None:
    loss = loss_of(kernel)
    found = autodiff.gradient(loss, *args, argnums=tuple(range(len(args))))
    rng = np.random.default_rng(3)
    for k, x in enumerate(args):
        v = rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype == complex else 0)
        ends = [loss(*[y + h * v if i == k else y for i, y in enumerate(args)])
                for h in (1e-6, -1e-6)]  # fmt: skip
        slope = np.sum((np.conj(found[k]) * v).real)
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel, args", CASES)
def test_single_precision(kernel: Callable, args: tuple, traced: Callable) -> None:
    """Complex numbers of single precision keep it, or the loop stays NumPy source."""
    loss = loss_of(kernel)
    single = [x.astype(np.complex64 if x.dtype == complex else np.float32) for x in args]
    found = autodiff.gradient(loss, *single, argnums=tuple(range(len(args))))
    expected = traced(loss, *single)
    for x, y in zip(found, expected if len(args) > 1 else [expected], strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-3 * np.max(np.abs(y)))


@pytest.mark.parametrize("first", [500, 510])
def test_programs(first: int, made: list[Structured], traced: Callable, by_numpy: Callable) -> None:
    for seed in range(first, first + 10):
        f, arguments = judge.load(generators.write("complex_loops", seed))
        calls.Settings.worth = calls.Settings.least = -1.0
        with np.errstate(all="ignore"):
            expected, *others = [judge.outcome(way, f, arguments)
                                 for way in (traced, by_numpy, autodiff.gradient)]  # fmt: skip
        for found in others:
            if isinstance(expected, type):
                assert found is expected, seed
                continue
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, err_msg=f"seed {seed}")
    assert sum(p.native.count for p in made if p.native is not None) >= 5


def layers(m: Any, v: Any) -> Any:
    """Products of large matrices in all layouts, and with vectors and numbers, also real ones."""
    x = m * 1.0
    for i in range(3):
        x = 0.1 * (x @ m + x.T @ m[::-1] + m.conj().T @ x.real)
        x[: i + 1] += 0.1 * x[: i + 1] @ m.T
        v = 0.1 * (x @ v + v @ m[:, ::-1] + x[:, ::2] @ v[::2])
    return np.abs(x) + v


def test_large_products(made: list[Structured], traced: Callable, by_numpy: Callable) -> None:
    rng = np.random.default_rng(5)
    m = rng.normal(size=(40, 40)) + 1j * rng.normal(size=(40, 40))
    v = rng.normal(size=40) + 1j * rng.normal(size=40)
    loss = loss_of(layers)
    found = autodiff.gradient(loss, m, v)
    (program,) = made
    assert program.native is not None
    assert "zgemm" in program.native.module.globals
    assert (program.native.why, program.bailouts, program.failure) == ({}, 0, None)
    for way in (by_numpy, traced):
        for x, y in zip(found, way(loss, m, v), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)


def systems(m: Any, v: Any, a: Any) -> Any:
    """Linear systems and inverses of complex matrices, and of real ones with complex sides."""
    s = 0.0
    for i in range(3):
        h = m * 0.1 + (2.0 + i) * np.eye(len(v)) + 0.1j * np.outer(a, v)
        v = np.linalg.solve(h, (np.eye(len(v)) - 0.2j * m) @ v)
        y = np.linalg.solve(h.real, v) + np.linalg.inv(h) @ a + np.linalg.solve(h, a)
        s = s + np.linalg.norm(y) + abs(np.sum(np.linalg.solve(h, m) @ a))
    return v * s


def test_linear_systems(made: list[Structured], traced: Callable, by_numpy: Callable) -> None:
    rng = np.random.default_rng(6)
    m = rng.normal(size=(8, 8)) + 1j * rng.normal(size=(8, 8))
    loss = loss_of(systems)
    found = autodiff.gradient(loss, m, Z, A)
    (program,) = made
    assert program.native is not None
    assert (program.native.why, program.bailouts, program.failure) == ({}, 0, None)
    for way in (by_numpy, traced):
        for x, y in zip(found, way(loss, m, Z, A), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)


FUNCTION = np.exp  # each test has one of its own


def _loss(a, s):
    t = 0.0
    z = a + 1j * s
    for i in range(2):
        t = t + np.sum(np.abs(FUNCTION(z) + FUNCTION(z[i]))) + s
    return t


_OF_COMPLEX = {
    f"{module.__name__}.{name}": f
    for module in (np, scipy.special)
    for name, f in sorted(vars(module).items())
    if isinstance(f, np.ufunc) and f.nin == f.nout == 1 and any("D->" in t for t in f.types)
}


@pytest.mark.parametrize("name", _OF_COMPLEX)
def test_functions_of_complex_arrays(name: str, traced: Callable) -> None:
    """None is mistaken for the function of real numbers of the same name."""
    scope = {**globals(), "FUNCTION": _OF_COMPLEX[name]}
    loss = types.FunctionType(_loss.__code__.replace(), scope, "loss")
    a = np.array([0.5, -0.2, 0.8])
    try:
        expected = traced(loss, a, 0.7)
    except autodiff.MissingRuleError:
        pytest.skip("it has no rule")
    for _ in range(2):
        value, found = autodiff.value_and_gradient(loss, a, 0.7)
        np.testing.assert_allclose(value, loss(a, 0.7), rtol=1e-12)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_signs_of_complex_constants(traced: Callable) -> None:
    signs = np.array([1 + 1j, -2j, 0.5, -1.5 + 0j])

    def f(s):
        t = 0.0
        for i in range(4):
            t = t + np.sign(signs[i]).real * s + np.sum(np.sign(signs).imag) * s
        return t

    for _ in range(3):
        value, found = autodiff.value_and_gradient(f, 0.7)
        np.testing.assert_allclose(value, f(0.7), rtol=1e-12)
        np.testing.assert_allclose(found, traced(f, 0.7), rtol=1e-12)


def real_parts(a: Any) -> Any:
    x, total = a, 0.0
    for _ in range(3):
        z = np.exp(x * (0.2 + 0.1j))
        w = z * z
        x = np.real(w)
        total = total + np.abs(np.sum(w * z))
    return np.sum(x**2) + total


def imaginary_parts(a: Any) -> Any:
    x, total = a, 0.0
    for _ in range(3):
        z = np.exp(x * (0.2 + 0.1j))
        w = z * z
        x = w.imag
        total = total + np.abs(np.sum(w * z))
    return np.sum(x**2) + total


@pytest.mark.parametrize("f", [real_parts, imaginary_parts])
def test_a_part_of_an_array_in_a_variable(f: Callable, check_machine_code: Callable) -> None:
    """It is a view with other strides, but the variable holds an array without gaps."""
    check_machine_code(f, lambda: (A,), rtol=1e-12)
