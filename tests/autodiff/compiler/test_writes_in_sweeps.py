"""compile: a sweep writes into cotangents whose elements share their memory."""

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from tests.helpers import differences


def test_a_write_before_a_mean_and_a_product_with_integers():
    """The cotangent of a mean is a read-only array, in which all elements share their memory."""
    pytest.importorskip("llvmlite")
    signs = np.array([1, -1, 0])

    def f(x):
        y = x * 2.0
        y[x > 0.5] = np.where(x[x > 0.5] > 0.9, 1.0, y[x > 0.5] ** 2)
        return np.mean(y) + np.tensordot(signs, y.reshape(3, 2), axes=1)[0]

    x = np.array([0.2, 0.7, 1.1, 0.4, 0.6, 0.8])
    for backend in ("python", "native"):
        compiled = autodiff.compile(lambda x: gradient(f, x), backend=backend)
        for at in (x, x, x):
            np.testing.assert_allclose(compiled(at), differences(f, at), rtol=1e-6, atol=1e-9)
        assert compiled.eager_because is None
