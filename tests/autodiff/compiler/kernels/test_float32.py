"""Kernels of float32: NumPy's dtypes, and its values up to the order of sums."""

import numpy as np
import pytest

from autodiff import compile, gradient, value_and_gradient

RNG = np.random.default_rng(0)
SINGLE = np.float32
X, W, B = (RNG.normal(size=s).astype(SINGLE) for s in ((6, 5), (5, 4), (4,)))
DOUBLES = RNG.normal(size=4)


def network(w, b, _k):
    return np.mean((np.tanh(X @ w + b) * 0.1 - 1.0) ** 2)


def choices(w, b, k):
    h = np.maximum(X @ w + b, 0.0)
    return np.sum(np.where(h > 0.3, h**1.5, 0.5 * h) * np.clip(b, -0.1, 0.7)) / 3 + k


def with_doubles(w, b, k):
    h = X @ w + b * DOUBLES * np.float64(k)
    return np.sum(h * h)


def softmax(w, b, _k):
    z = X @ w + b
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(6), [0, 1, 2, 3, 0, 1]]))


def writes(w, b, k):
    y = np.zeros((6, 4), SINGLE)
    y[1:] = (X @ w)[1:] * b
    y[:, 0] += 0.1 * k
    y[0] -= DOUBLES
    y[:, 1] = DOUBLES[1]
    return np.sum(y**3)


def conversions(w, b, k):
    y = (X @ w).astype(np.float64) * DOUBLES * k
    z = (y / 3).astype(SINGLE) * b
    return np.sum(np.cumsum(z, axis=0)) * float(b[0]) + np.float32(y[0, 0])


def reductions(w, b, _k):
    y = X @ w
    deviations = np.std(y) + np.var(y, axis=1).mean()
    extrema = np.max(y, initial=0.1) + np.min(y, axis=0).sum()
    return deviations + extrema + np.dot(b, b) + np.einsum("ij,j->", y, b) + np.vdot(y, y)


def moves(w, b, _k):
    y = X @ w
    z = np.roll(y, 1, axis=0) * np.pad(b, (1, 1))[1:-1] * np.concatenate([y[:3], 2 * y[3:]])
    stencil = y[2:] - 2 * y[1:-1] + y[:-2]
    return np.sum(z + np.outer(y[:, 0], b)) + np.sum(stencil * stencil) + np.stack([b, b])[1, 2]


def numbers(_w, b, k):
    total = b[0] * b[1] / (1.0 + b[2] * b[2]) + k
    for x in b:
        total = np.sin(total) * x + 0.1
    return total


PROGRAMS = [
    network, choices, with_doubles, softmax, writes, conversions, reductions, moves, numbers,
]  # fmt: skip


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [x]


def compare(f, argnums=(0, 1)):
    """Compare values and gradients with those of the function as written."""

    def plain(w, b, k):
        return value_and_gradient(f, w, b, k, argnums=argnums)

    compiled = compile(plain, backend="native")
    for k in (1.0, 1.1, 1.0 / 3.0):
        for found, expected in zip(leaves(compiled(W, B, k)), leaves(plain(W, B, k)), strict=True):
            assert type(found) is type(expected)
            assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
            single = getattr(found, "dtype", None) == SINGLE
            np.testing.assert_allclose(found, expected, rtol=1e-5 if single else 1e-6, atol=1e-6)
    assert compiled.eager_because is None


@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_gradients(f, interpreted):
    compare(f)
    assert any("float32(" in kernel.source for kernel in interpreted)


@pytest.fixture
def made(monkeypatch):
    """Return the sources of which machine code is made."""
    pytest.importorskip("llvmlite")
    from autodiff.compiler.kernels.machine_code import KernelModule

    sources, original = [], KernelModule.kernel
    monkeypatch.setattr(KernelModule, "kernel", lambda *a: sources.append(a[1]) or original(*a))
    return sources


def test_machine_code_does_the_same(made):
    for f in (network, writes):
        compare(f)
    assert len(made) >= 2


def rounded(x, k):
    """Return values that show each rounding: whether weak numbers and results are float32."""
    y = x * 0.1 + 0.3
    z = (y - x / 3.0) * k - np.sqrt(x)
    return y, z, y * DOUBLES, z > 0.1, y == 0.1 * x + 0.3, x * np.float64(0.1), 16777216.0 + x


@pytest.mark.parametrize("backend", ["native", "interpreted"])
def test_arithmetic_has_the_bits_of_numpy(backend, request):
    kernels = request.getfixturevalue("interpreted" if backend == "interpreted" else "made")
    compiled = compile(rounded, backend="native")
    for x in (np.abs(B), 3.0 * np.abs(B)):
        for k in (0.1, 1.0 / 3.0):
            for found, expected in zip(compiled(x, k), rounded(x, k), strict=True):
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)
    assert kernels


def test_comparisons_round_numbers_of_python(made):
    def compared(x, k):
        least = np.minimum(x, k)
        truths = x == 0.1, x > 0.1, x < k, least == k, x == np.float64(0.1), x < np.float64(k)
        return truths, gradient(lambda x, k: np.sum(np.minimum(x, k)), x, k, argnums=(0, 1))

    compiled = compile(compared, backend="native")
    x = np.array([0.1, 0.3, 1.0 / 3.0, 0.7], SINGLE)
    for k in (0.4, 0.1, 0.3, 1.0 / 3.0, 0.7):
        for found, expected in zip(leaves(compiled(x, k)), leaves(compared(x, k)), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert made


def test_sums_are_at_least_as_exact(made):
    x = RNG.uniform(0.0, 1.0, 20_000).astype(SINGLE)

    def sums(x):
        y = x * 0.5
        return np.sum(y), np.mean(y), np.dot(y, x), np.cumsum(y)[-1:]

    exact = [float(np.sum(0.5 * x.astype(float))), 0.0, 0.0, 0.0]
    exact[1] = exact[0] / x.size
    exact[2] = float(np.dot(0.5 * x.astype(float), x))
    exact[3] = exact[0]
    compiled = compile(sums, backend="native")
    compiled(x)
    for found, expected in zip(compiled(x), exact, strict=True):
        assert found.dtype == SINGLE
        assert abs(float(np.asarray(found).item()) - expected) <= 6e-8 * expected
    assert made
