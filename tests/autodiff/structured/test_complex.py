"""Loops over complex numbers: by programs, traced, and against differences."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.structured import calls
from tools.fuzz import generators, judge


def implicit_steps(a: Any, b: Any, c: Any) -> Any:
    """Crank-Nicolson steps of a wave, with the tridiagonal system solved by elimination."""
    n = len(c)
    psi = c.copy()
    off = -0.05j
    d = 1 + 0.1j * (1 + a)
    for _ in range(3):
        rhs = (1 - 0.1j * (1 + a)) * psi
        rhs[1:] -= off * psi[:-1]
        rhs[:-1] -= off * psi[1:]
        e = np.zeros(n, dtype=complex)
        y = np.zeros(n, dtype=complex)
        e[0] = off / d[0]
        y[0] = rhs[0] / d[0]
        for i in range(1, n):
            m = d[i] - off * e[i - 1]
            e[i] = off / m
            y[i] = (rhs[i] - off * y[i - 1]) / m
        psi = np.zeros(n, dtype=complex)
        psi[n - 1] = y[n - 1]
        for i in range(n - 2, -1, -1):
            psi[i] = y[i] - e[i] * psi[i + 1]
    return np.sum(np.abs(psi) ** 2 * b)


def layers(a: Any, b: Any, c: Any) -> Any:
    """Products of matrices of films, whose elements are real and imaginary."""
    m = np.eye(2, dtype=complex)
    for j in range(len(a)):
        n = 1.5 + a[j] ** 2
        layer = np.array([[np.cos(b[j]), 1j * np.sin(b[j]) / n], [1j * n * np.sin(b[j]), 0.7]])
        m = m @ layer
    r = (m[0, 0] - m[1, 1] * 1.5 + c[0]) / (m[0, 0] + m[1, 1] * 1.5)
    return abs(r) ** 2 + r.imag


def split_steps(a: Any, b: Any, c: Any) -> Any:
    half = np.exp(-0.05j * a)
    for _ in range(3):
        c = half * np.fft.ifft(np.exp(0.1j * b) * np.fft.fft(half * c))
    return np.vdot(c, a * c).real


def ladder(a: Any, b: Any, c: Any) -> Any:
    total = 0.0
    for k in range(3):
        z = 2.0 + 0j
        for i in range(len(a)):
            z = z + 1j * k * np.exp(a[i]) if i % 2 else 1 / (1 / z + 1j * np.exp(b[i]))
        total += abs((z - 2) / (z + c[k])) ** 2
    return total


def real_at_first(a: Any, b: Any, c: Any) -> Any:
    z = s = 0
    w = a[1]
    for i in range(3):
        z = z * z * 0.2 + complex(a[i], b[i])
        s += c[i] * z
        w = w * c[i]
    return abs(s) ** 2 + abs(z) + s.real * w.imag + abs(w)


def parts_are_views(a: Any, b: Any, c: Any) -> Any:
    for i in range(1, len(a)):
        c.real[i] += a[i] * c.imag[i - 1]
        c.imag[1:] *= b[1:]
        c.real = c.real * b
        row = c.real
        row[0] = row[i] * 0.5
    return np.sum(c.real * a) + np.sum(np.abs(c) ** 2)


def conjugates(a: Any, b: Any, c: Any) -> Any:
    z = complex(a[0], b[0])
    s = 0.0
    for i in range(len(a)):
        z = (z * c[i].conjugate() + np.conj(z)) * 0.5
        s = s + (z * z.conjugate()).real + cmath.exp(1j * a[i]).imag
        c[i] = c.conj()[0] * s
    return s + np.sum(np.abs(c))


def lists_of_both(a: Any, b: Any, c: Any) -> Any:
    zs = [a[0], c[1]]
    for i in range(3):
        zs.append(zs[-1] * c[i] + zs[0] * b[i])
        zs[0] = a[i] * 0.5
    return abs(sum(zs)) ** 2 + np.sum(np.abs(np.array(zs)))


def numbers_for_arrays(a: Any, b: Any, c: Any) -> Any:
    z = complex(a[0], b[1])
    x = 0.5
    for i in range(3):
        x = x * a[i]
        c = c * z + x
        z = np.mean(c) * b[i]
    return np.sum((c * x).real) + abs(z)


def maps_of_the_plane(a: Any, b: Any, c: Any) -> Any:
    z, total = complex(0.1, a[0]), 0.0
    for i in range(len(a)):
        z = 0.5 * z * z + b[i] * cmath.exp(-z) / (2.0 + cmath.cos(z))
        if abs(z) > 0.4:
            z = z / abs(z) + a[i] / z
        total += abs(z) ** 2 + cmath.tanh(z).imag + np.real(z) * np.imag(z)
    return total


def amplitudes(a: Any, b: Any, c: Any) -> Any:
    total = 0.0
    for i in range(3):
        c = np.exp(1j * a) * c / (c[i] + 2.0)
        c = c / np.sqrt(np.sum(np.abs(c) ** 2)) + a / (1.5 + 1j * b)
        total = total + abs(c[i]) * np.abs(c[1] - c[1]) + np.sum(np.abs(c) * b)
    return total


def impedances(a: Any, b: Any, c: Any) -> Any:
    z = 1.0 + 0.5j
    gain = 0.0
    for x, w in zip(a, b, strict=True):
        z = z + 1j * w / (1.0 + z)
        z = 1.0 / (1.0 / z + 1j * x) if x > 0 else z * cmath.sqrt(z)
        gain += 20.0 * np.log10(abs(z / (z + c[0])))
    return gain


def roots_of_unity(a: Any, b: Any, c: Any) -> Any:
    n = len(a)
    power = 0.0
    for k in range(3):
        s = 0j
        for i in range(n):
            s += a[i] * cmath.exp(-2j * cmath.pi * k * i / n) * c[k]
        power += s.real**2 + s.imag**2 + b[k] * abs(s)
    return power


def phasors(a: Any, b: Any, c: Any) -> Any:
    for k in range(3):
        turned = c * np.conj(c[k]) / np.abs(c)
        c = turned * (1.0 + 0.1 * a) + 0.2 * np.cos(turned) * b
    return np.sum(np.abs(np.sinh(c)))


KERNELS = (implicit_steps, layers, split_steps, ladder, real_at_first, parts_are_views, conjugates,
           lists_of_both, numbers_for_arrays, maps_of_the_plane, amplitudes, impedances,
           roots_of_unity, phasors)  # fmt: skip


def _arguments() -> list[np.ndarray]:
    n = 6
    a = 0.4 * np.sin(np.arange(float(n)) + 0.3)
    b = 0.5 * np.cos(np.arange(float(n)) * 1.1)
    return [a, b, np.exp(0.3j * np.arange(n)) * (1.0 + a)]


def _loss(kernel: Callable) -> Callable:
    return lambda a, b, c: kernel(a * 1.0, b * 1.0, c * 1.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_program_gives_what_tracing_gives(
    kernel: Callable, runs: list[str], traced: Callable
) -> None:
    found = gradient(_loss(kernel), *_arguments())
    assert kernel.__name__ in runs
    for x, y in zip(found, traced(_loss(kernel), *_arguments()), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_differences(kernel: Callable) -> None:
    loss = _loss(kernel)
    found = gradient(loss, *_arguments())
    h = 1e-6
    for k, x in enumerate(_arguments()):
        for i in range(x.size):
            for unit in (1.0, 1j) if np.iscomplexobj(x) else (1.0,):
                ends = []
                for sign in (1, -1):
                    given = _arguments()
                    given[k][i] += sign * h * unit
                    ends.append(loss(*given))
                slope = (ends[0] - ends[1]) / (2 * h)
                got = np.real(np.conj(found[k][i]) * unit)
                np.testing.assert_allclose(got, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision_stays(kernel: Callable, traced: Callable) -> None:
    given = [x.astype(np.complex64 if np.iscomplexobj(x) else np.float32) for x in _arguments()]
    found = gradient(_loss(kernel), *given)
    for x, y in zip(found, traced(_loss(kernel), *given), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=5e-4, atol=5e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_compiled(kernel: Callable, traced: Callable) -> None:
    compiled = autodiff.compile(lambda *args: gradient(_loss(kernel), *args))
    expected = traced(_loss(kernel), *_arguments())
    for _ in range(3):
        for x, y in zip(compiled(*_arguments()), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "kernel", [maps_of_the_plane, amplitudes, impedances, roots_of_unity, phasors, conjugates]
)
def test_no_rule_is_called(kernel: Callable, runs: list[str]) -> None:
    """Sizes, parts and functions of the plane have slopes that are written."""
    gradient(_loss(kernel), *_arguments())
    programs = [p for _, kept in calls._programs.values() for p in kept.values()]
    (of_kernel,) = [p for p in programs if p.name == kernel.__name__]
    for program in filter(None, of_kernel.known.values()):
        assert "_pull" not in program.source
        assert "(2).conjugate()" not in program.source


def distances(a: Any, b: Any, c: Any) -> Any:
    """The slope of a square root is infinite on the diagonal, where the cotangent is 0."""
    s = 0.0
    for i in range(3):
        r = np.sqrt((a[:, None] - a) ** 2) * b[i] ** 2
        r[r > 0] = 1.0 / r[r > 0]
        s = s + np.sum(np.triu(r, 1)) * b[i]
    return s


def test_zero_cotangents_win_over_infinite_slopes(runs: list[str], traced: Callable) -> None:
    expected = traced(_loss(distances), *_arguments())
    assert all(np.isfinite(x).all() for x in expected)
    for _ in range(2):
        for x, y in zip(gradient(_loss(distances), *_arguments()), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    (program,) = calls._programs_of(distances).known.values()
    assert 0 < len(program.steep) <= 2
    assert "distances" in runs


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_generated(first: int, traced: Callable, runs: list[str]) -> None:
    for seed in range(first, first + 20):
        f, arguments = judge.load(generators.write("complex_loops", seed))
        with np.errstate(all="ignore"):
            expected = judge.outcome(traced, f, arguments)
            calls.Settings.worth = calls.Settings.least = -1.0
            found = judge.outcome(gradient, f, arguments)
        if isinstance(expected, type):
            assert found is expected, seed
            continue
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, err_msg=f"seed {seed}")
        with np.errstate(all="ignore"):
            drawn = judge.by_drawn_arguments(gradient, f, arguments)
        for i, x in drawn:
            np.testing.assert_allclose(x, expected[i], rtol=1e-9, atol=1e-11, err_msg=f"{seed}")
    assert runs
