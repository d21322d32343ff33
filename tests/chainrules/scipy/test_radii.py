import numpy as np
import pytest

import autodiff
from chainrules.scipy.radii import plate, root
from chainrules_core.testing import check_rule

Q = np.array([[0.3, 1.0, 2.5], [4.0, 0.01, 7.0]])


@pytest.mark.parametrize("f", [root, plate])
def test_rule(f):
    check_rule(f, Q, second_order=True, gradient=autodiff.gradient)
    check_rule(f, Q.astype(np.float32))


@pytest.mark.parametrize("f", [root, plate])
def test_at_distance_zero(f):
    """All derivatives are 0 there, and those at other places are what they are."""
    q = np.array([0.0, 2.0])

    def slope(x):
        return np.sum(autodiff.gradient(lambda z: np.sum(f(z)), x))

    for derivative in (lambda x: np.sum(f(x)), slope):
        found = autodiff.gradient(derivative, q)
        assert found[0] == 0
        np.testing.assert_allclose(found[1:], autodiff.gradient(derivative, q[1:]))
