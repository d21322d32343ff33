"""from_jax: JAX's functions within our derivatives, in all modes, and where they are refused."""

import numpy as np
import pytest

import autodiff
from autodiff.errors import ArgumentError, MissingRuleError

X = np.array([0.3, 0.7])


@pytest.fixture
def jnp(jax):
    return jax.numpy


@pytest.fixture
def from_jax(jax):
    from autodiff.interop import from_jax

    return from_jax


def plain(x):
    return np.sum(np.sin(x)) * x[0]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_derivatives(jax, jnp, from_jax, is_compiled):
    f = lambda x: jnp.sin(x).sum() * x[0]  # noqa: E731
    g = from_jax(jax.jit(f) if is_compiled else f)
    np.testing.assert_allclose(g(X), plain(X))
    assert type(g(X)) is np.float64
    for derive in (autodiff.gradient, autodiff.hessian):
        np.testing.assert_allclose(derive(g, X), derive(plain, X))
    np.testing.assert_allclose(autodiff.jacfwd(g)(X), autodiff.gradient(plain, X))
    np.testing.assert_allclose(autodiff.hvp(g, X, X), autodiff.hvp(plain, X, X))
    third = lambda f: autodiff.hessian(lambda x: autodiff.gradient(f, x) @ x, X)  # noqa: E731
    np.testing.assert_allclose(third(g), third(plain))


def test_nested_arguments_and_results(jnp, from_jax):
    g = from_jax(lambda d, s: {"a": d["u"] ** 2 * s, "n": 3, "k": jnp.argmax(d["u"])})

    def f(x, s):
        r = g({"u": x}, s)
        assert r["k"] == 1
        return np.sum(r["a"] * np.sin(x)) * r["n"]

    def expected(x, s):
        return np.sum(x**2 * s * np.sin(x)) * 3

    for found, bar in zip(autodiff.gradient(f, X, 2.0), autodiff.gradient(expected, X, 2.0),
                          strict=True):  # fmt: skip
        np.testing.assert_allclose(found, bar)


def test_complex(jnp, from_jax):
    z = np.array([1 + 2j, 0.3 - 1j])
    g = from_jax(lambda z: jnp.abs(z) ** 2 + (z * z).imag)
    h = lambda z: np.abs(z) ** 2 + (z * z).imag  # noqa: E731
    of = lambda k: lambda z: np.sum(np.sin(k(z)))  # noqa: E731
    np.testing.assert_allclose(autodiff.gradient(of(g), z), autodiff.gradient(of(h), z))
    along = lambda k: lambda x: of(k)(x * (1 + 2j))  # noqa: E731
    np.testing.assert_allclose(autodiff.hessian(along(g), X), autodiff.hessian(along(h), X))


def test_single_precision(jax32):
    from autodiff.interop import from_jax

    g = from_jax(jax32.numpy.sin)
    assert g(X).dtype == np.float32
    bar = autodiff.gradient(lambda x: np.sum(g(x)), X)
    assert bar.dtype == np.float64
    np.testing.assert_allclose(bar, np.cos(X), rtol=1e-6)
    bar = autodiff.gradient(lambda x: np.sum(g(x)), X.astype(np.float32))
    assert bar.dtype == np.float32


def test_both_ways(jax, jnp, from_jax):
    from autodiff.interop import to_jax

    f = to_jax(lambda x: from_jax(jnp.sin)(x) * np.cos(x), out=lambda x: x)
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(X), np.cos(2 * X))
    with pytest.raises(jax.errors.JaxRuntimeError, match="the program would wait for itself"):
        jax.block_until_ready(jax.jit(f)(X))


def test_arrays_are_not_shared(jnp, from_jax):
    x = np.ones(1000)
    y, back = autodiff.pullback(from_jax(lambda x: x * x), x)
    y[:] = 0.0
    x = x.copy()
    np.testing.assert_array_equal(back(np.ones(1000)), 2.0)


def test_without_the_wrapper(jax, jnp):
    for f in (
        lambda x: jnp.sin(x).sum(),
        jax.jit(lambda x: x.sum()),
        lambda x: jnp.concatenate([x, x]).sum(),
        lambda x: (jnp.ones(2) * x).sum(),
        lambda x: jax.vmap(lambda u: u * 2)(x).sum(),
    ):
        with pytest.raises(MissingRuleError, match=r"is a function of JAX.*from_jax"):
            autodiff.gradient(f, X)
    with pytest.raises(ArgumentError, match=r"a class of JAX.*from_jax"):
        autodiff.gradient(lambda x: np.sum(x * jnp.ones(2)), X)


def test_bad_input(jnp, from_jax):
    with pytest.raises(ArgumentError, match="from_jax takes a function, not float"):
        from_jax(1.0)
    with pytest.raises(ArgumentError, match="bfloat16"):
        from_jax(lambda x: x.astype(jnp.bfloat16))(X)
