"""Calls of NumPy's functions that write into memory of the program."""

import numpy as np

from autodiff import compile, gradient


def test_extrema_that_are_written_into_memory_of_the_program():
    """NumPy warns where they are given it by position, and warnings are errors in tests."""

    def f(x, y):
        return np.sum(np.maximum(np.exp(x), y) * np.minimum(2.0 * x, y) + np.logaddexp(x, y))

    x, y = np.linspace(0.3, 1.7, 2500), np.linspace(0.5, 0.9, 2500)
    compiled = compile(lambda x, y: gradient(f, x, y), backend="python")
    for _ in range(3):
        np.testing.assert_allclose(compiled(x, y), gradient(f, x, y), rtol=1e-12)
    assert any("maximum(" in s and "out=" in s for s in compiled.source.splitlines())
    assert not compiled.eager_because
