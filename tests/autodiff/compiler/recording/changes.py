"""A change of something outside a function, between two calls of its compiled gradient."""

import numpy as np

from autodiff import compile, gradient

X = np.array([0.3, -0.7, 1.2])


def check_change(f, change, *, backend="python"):
    """Compare compiled with traced gradients before and after a change."""
    compiled = compile(lambda x: gradient(f, x), backend=backend)
    for _ in range(2):
        np.testing.assert_allclose(compiled(X), gradient(f, X), rtol=1e-12)
    before = gradient(f, X)
    change()
    assert np.any(gradient(f, X) != before), "the change is to change something"
    for _ in range(2):
        np.testing.assert_allclose(compiled(X), gradient(f, X), rtol=1e-12)
