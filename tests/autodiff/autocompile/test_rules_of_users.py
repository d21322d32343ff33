"""Rules of the user's, which may read variables that no function names."""

import numpy as np
import pytest

from autodiff import gradient
from chainrules_core import NoTangent, rrule

pytestmark = pytest.mark.usefixtures("soon")
FACTOR = 1.0


def test_a_rule_of_ones_own_that_reads_a_variable():
    global FACTOR

    def f(x):
        return np.sum(np.log2(x) * x)

    def log2(x):
        return np.log2(x), lambda bar: (NoTangent(), bar * FACTOR)

    x = np.array([2.0, 4.0])
    rrule.register(np.log2, np.ndarray)(log2)
    try:
        for FACTOR in (1.0, 3.0):
            expected = np.log2(x) + FACTOR * x
            np.testing.assert_allclose([gradient(f, x) for _ in range(9)], [expected] * 9)
    finally:
        rrule.unregister(np.log2, np.ndarray)
