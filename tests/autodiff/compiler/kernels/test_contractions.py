"""Products of stacks, `einsum` and `tensordot` in loops over small arrays."""

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient
from tests.helpers import after_guards

rng = np.random.default_rng(0)


def sample(*shape):
    return rng.standard_normal(shape) / 2


def leaves(x):
    return x if type(x) is tuple else (x,)


CALLS = [
    (np.matmul, (2, 3, 4), (2, 4, 5)),
    (np.matmul, (3, 4), (2, 4, 5)),
    (np.matmul, (2, 1, 3, 4), (5, 4, 2)),
    (np.matmul, (4,), (2, 4, 5)),
    (np.matmul, (2, 3, 4), (4,)),
    (np.matmul, (2, 3, 1), (2, 1, 4)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("ij,jk", (3, 4), (4, 2)),
    ("ij,jk->ki", (3, 4), (4, 2)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ij,ij->j", (3, 4), (3, 4)),
    ("ij,k->ik", (3, 4), (2,)),
    ("ik,jk->ijk", (3, 4), (1, 4)),
    (lambda a, b: np.tensordot(a, b, 2), (2, 3, 4), (3, 4, 2)),
    (lambda a, b: np.tensordot(a, b, ([0, 2], [1, 0])), (2, 3, 4), (4, 2)),
    (lambda a, b: np.tensordot(a, b, axes=0), (2, 3), (2,)),
    (lambda a, b: np.matmul(a[:, ::-1], b.swapaxes(-1, -2)[..., ::2]), (2, 3, 4), (2, 5, 4)),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda c: f"{c[1]}{c[2]}")
def test_values_and_derivatives(interpreted, call):
    how, m, n = call
    product = (lambda a, b: np.einsum(how, a, b)) if type(how) is str else how

    def f(a, b):
        total = 0.0
        for _ in range(3):
            y = np.tanh(product(a, b))
            total = total + np.sum(y * y)
            a, b = a * 0.9 + 0.1 * np.mean(y), b + 0.1 * np.sin(b)
        return total

    args = (sample(*m), sample(*n))
    for g in (
        f,
        lambda a, b: gradient(f, a, b, argnums=(0, 1)),
        lambda a, b: autodiff.jvp(f, (a, b), (np.cos(a), np.sin(b)))[1],
    ):
        compiled = compile(g, backend="native")
        for scale in (1.0, 1.3):
            given = [scale * x for x in args]
            expected, found = g(*given), compiled(*given)
            for x, y in zip(leaves(expected), leaves(found), strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-10, atol=1e-12)
        assert compiled.variants == 1
        assert "matmul" not in after_guards(compiled)
        assert "einsum" not in after_guards(compiled)
        assert "tensordot" not in after_guards(compiled)
    assert interpreted


def test_machine_code():
    pytest.importorskip("llvmlite")

    def f(q, k, v):
        s = np.einsum("bqhd,bkhd->bhqk", q, k)
        p = np.exp(s - np.max(s, axis=-1, keepdims=True))
        p = p / np.sum(p, axis=-1, keepdims=True)
        return np.sum(np.matmul(p, np.moveaxis(v, 2, 1)) ** 2)

    args = [sample(2, 3, 2, 4) for _ in range(3)]
    compiled = compile(lambda *a: gradient(f, *a, argnums=(0, 1, 2)), backend="native")
    for _ in range(2):
        for x, y in zip(compiled(*args), gradient(f, *args, argnums=(0, 1, 2)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)
        args = [0.5 * a for a in args]
