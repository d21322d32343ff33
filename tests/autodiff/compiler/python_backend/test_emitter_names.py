"""Functions and classes whose names the source uses for something else."""

import collections

import numpy as np
import pytest

from autodiff import compile, gradient

X = np.linspace(0.3, 0.9, 200)
NAMES = [
    "sin", "add", "float", "type", "len", "abs", "ndarray", "MISMATCH", "buffers", "held", "nan",
    "result", "numbers", "kernel", "rebuilt", "v0", "a0", "p1", "b0", "n1", "c", "k", "f", "outer",
    "None", "x y", "given0",
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("name", NAMES)
def test_functions_of_any_name(name, backend):
    def f(x, s):
        total = s
        for k in range(20):
            total = np.sin(total) * 0.9 + x[k] * abs(total)
        return np.sin(x) * 2.0 + np.sin(x + 1.0) * len(x), np.abs(total), float(total)

    f.__name__ = name
    compiled = compile(f, backend=backend)
    for _ in range(3):
        for found, expected in zip(compiled(X, 0.5), f(X, 0.5), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert compiled.eager_because is None


@pytest.mark.parametrize("name", [n for n in NAMES if n.isidentifier() and n != "None"])
def test_classes_of_any_name(name):
    kind = collections.namedtuple(name, "a b")

    def f(pair):
        slope = gradient(lambda x: np.sum(np.sin(x) * pair.b), pair.a)
        return kind(slope, np.sin(pair.b) * len(pair.a))

    compiled = compile(f)
    for _ in range(3):
        found = compiled(kind(X, 0.5))
        assert type(found) is kind
        for one, other in zip(found, f(kind(X, 0.5)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert compiled.eager_because is None
