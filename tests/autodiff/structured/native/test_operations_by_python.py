"""Operations without machine code: machine code calls Python for them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import functions
from autodiff.structured import calls
from autodiff.structured.native.llvm import calls_of_python
from autodiff.structured.runtime import Structured
from chainrules_core import pair_rule, thunk

X = np.sin(np.arange(16.0)) + 0.3
M = np.cos(np.arange(16.0).reshape(4, 4)) + 2.0 * np.eye(4)
PICKED = np.arange(16).reshape(4, 4) % 3 == 1


def transforms(x: Any, m: Any) -> Any:
    """Complex results of real arrays, whose parts are carried to the next turn."""
    k = np.fft.fftfreq(len(x))
    for _ in range(4):
        spectrum = np.fft.fft(x * 0.5 + x**2) * np.exp(-0.1 * k**2)
        x = np.fft.ifft(spectrum).real + 0.1 * x * m[0, 0]
    return np.sum(x**2)


def several_results(x: Any, m: Any) -> Any:
    """A pullback that the rule records, and two arrays at once."""
    total = 0.0
    for t in range(3):
        u, s, v = np.linalg.svd(m * (1.0 + 0.1 * t))
        m = 0.5 * m + u**2 * s + np.tanh(v) * x[t]
        total = total + np.sum(s)
    return total + np.sum(m)


def stacks(x: Any, m: Any) -> Any:
    y = np.stack([m, m.T + x[:4]])
    for _ in range(3):
        y = np.tanh(0.3 * y @ np.linalg.inv(y + 3.0 * np.eye(4)))
        y = y + 0.1 * np.einsum("nij,nkj->nik", y, y)
    return np.sum(y * y)


def masks_among_indices(x: Any, m: Any) -> Any:
    f = np.zeros((3, 4, 4))
    f[0] = m
    for t in range(3):
        g = f[:, PICKED]
        f[1] = f[0] * x[t] + 0.2
        f[:, PICKED] = g[[2, 0, 1]] * 1.5
        f[:, PICKED] *= 0.9
        f[0] = np.sin(f[0]) + f[2]
    return np.sum(f**2)


def in_branches_and_inner_loops(x: Any, m: Any) -> Any:
    total = 0.0
    for t in range(4):
        if t % 2:
            for k in range(2):
                x = 0.7 * x + np.sort(x) * m[k, t]
        else:
            x = x - 0.1 * np.median(np.outer(x, x[:3]), axis=1)
        total += np.quantile(x, 0.3) * np.sum(x)
    return total


def arrays_of_integers(x: Any, m: Any) -> Any:
    """Arrays of functions that have no rules, and take integers alone."""
    total = 0.0
    for t in range(2, 4):
        i, j = np.mgrid[0:t, 1 : t + 1]
        nodes, weights = np.polynomial.legendre.leggauss(t)
        total = total + np.sum(m[i, j] ** 2 * (i - j)) + np.sum(weights * np.exp(x[t] * nodes))
    return total


def draws(x: Any, m: Any) -> Any:
    """Random generators that are made before the loop, and numbers and arrays drawn in it."""
    rng, other = np.random.default_rng(3), random.Random(5)
    total = 0.0
    for t in range(6):
        y = x + 0.3 * rng.standard_normal(len(x))
        if rng.uniform() < 0.6:
            x = 0.9 * x + 0.1 * y
        total = total + np.sum(np.sin(y)) * other.gauss(0.0, 1.0) * m[rng.integers(4), t % 4]
    return total


def draws_of_several(x: Any, m: Any) -> Any:
    """A generator that is replaced in a loop."""
    rng = np.random.default_rng(3)
    total = 0.0
    for t in range(6):
        if t % 4 == 2:
            rng = np.random.default_rng(t)
        total = total + np.sum(np.sin(x * rng.standard_normal(len(x)))) * m[0, t % 4]
    return total


KERNELS = [
    transforms, several_results, stacks, masks_among_indices, in_branches_and_inner_loops,
    arrays_of_integers, draws,
]  # fmt: skip


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read functions at their first call."""
    monkeypatch.setattr(calls.Settings, "worth", -1.0)
    monkeypatch.setattr(calls.Settings, "least", -1.0)


@pytest.mark.parametrize("f", KERNELS)
def test_loops_with_operations(f: Callable, check_machine_code: Callable) -> None:
    check_machine_code(f, lambda: (X * 1.0, M * 1.0), rtol=1e-11)


@pytest.mark.parametrize("f", [*KERNELS, draws_of_several])
def test_differences_and_other_ways(f: Callable) -> None:
    direction = np.cos(np.arange(32.0))
    dx, dm = direction[:16], direction[16:].reshape(4, 4)
    expected = (f(X + 1e-6 * dx, M + 1e-6 * dm) - f(X - 1e-6 * dx, M - 1e-6 * dm)) / 2e-6
    called = lambda *args: autodiff.gradient(f, *args)  # noqa: E731
    compiled = autodiff.compile(called), autodiff.compile(called, backend="python")
    for gradient in (called, *compiled):
        for _ in range(2):
            gx, gm = gradient(X, M)
            assert np.sum(gx * dx) + np.sum(gm * dm) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("f", [transforms, stacks, in_branches_and_inner_loops, draws])
def test_single_precision(f: Callable, made: list[Structured], traced: Callable) -> None:
    given = X.astype(np.float32), M.astype(np.float32)
    for x, y in zip(autodiff.gradient(f, *given), traced(f, *given), strict=True):
        assert x.dtype == y.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4 * np.abs(y).max())


def test_errors_are_those_of_numpy(made: list[Structured]) -> None:
    def inverted(m):
        for _ in range(3):
            m = np.linalg.pinv(np.sqrt(m)) + 0.1 * m
            m = np.linalg.cholesky(m @ m.T - np.sum(m))
        return np.sum(m)

    with pytest.raises(np.linalg.LinAlgError) as expected:
        inverted(np.abs(M))
    with pytest.raises(np.linalg.LinAlgError) as found:
        autodiff.gradient(inverted, np.abs(M))
    assert str(found.value) == str(expected.value)


def test_an_interrupt_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call that comes back from Python raises it; nothing runs in its place."""
    autodiff.gradient(transforms, X, M)
    called = []

    def interrupted(*args: Any) -> Any:
        called.append(1)
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr("numpy.fft._pocketfft._raw_fft", interrupted)
        with pytest.raises(KeyboardInterrupt):
            autodiff.gradient(transforms, X, M)
    assert len(called) == 1
    assert autodiff.gradient(transforms, X, M)[0].shape == X.shape


def test_warnings_are_not_lost() -> None:
    """NumPy clears the flags of the processor, so they are read before each call."""

    def overflowing(x):
        for _ in range(2):
            y = np.exp(x * 400.0)
            x = np.sort(x) + 1.0 / (1.0 + y)
        return np.sum(x)

    for _ in range(3):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            autodiff.gradient(overflowing, np.linspace(0.5, 2.0, 9))
        assert any("overflow" in str(w.message) for w in found)


def test_a_result_that_is_a_view_of_an_argument() -> None:
    """Machine code would lose writes into one of the two, so it steps aside."""
    writer = calls_of_python.OperationWriter({"f": lambda x: x[1:]}, False, True)
    kind = autodiff.structured.form.kinds.kind_of(X)
    writer.argument("x", kind)
    writer.array("r", kind, "run.y")
    operation = writer.function("f(x)", False)
    words = np.array([X.ctypes.data, *X.shape, *X.strides])
    with pytest.raises(autodiff.structured.runtime_library.BailoutError, match="shares memory"):
        operation(Structured, words.ctypes.data)


def printing(x: Any, m: Any) -> Any:
    total = 0.0
    for t in range(3):
        x = x * m[0, t]
        print(t, t > 1, x[:2], total, m.T[1], np.sort(x)[3])
        total = total + x[t]
    return np.sum(x) + total


def test_messages_show_arrays_and_numbers(
    made: list[Structured], capsys: pytest.CaptureFixture, at_once: None
) -> None:
    printing(X, M)
    expected = capsys.readouterr().out
    for _ in range(2):
        autodiff.gradient(printing, X, M)
        assert capsys.readouterr().out == expected
    (program,) = [p for p in made if p.name == "printing"]
    assert program.native is not None
    assert not program.bailouts


def shifted(x: Any, c: Any) -> Any:
    return x + c


def shifting(x: Any, m: Any) -> Any:
    y = x * 1.0
    for t in range(4):
        z = shifted(y, m[0, t])
        z[1:] *= 0.7
        y = np.tanh(z)
    return np.sum(y)


def test_pullbacks_that_return_what_they_are_given(
    check_machine_code: Callable, at_once: None
) -> None:
    """Such a cotangent outlives the shadow that the pullback was given."""

    @pair_rule(shifted)
    def shifted_rule(x: Any, c: Any) -> Any:
        return x + c, lambda a, b: a + b, lambda g: (g, thunk(lambda: np.sum(g)))

    functions.note({shifted}, has_fixed_form=False, is_new=True)
    check_machine_code(shifting, lambda: (X * 1.0, M * 1.0), rtol=1e-12)
