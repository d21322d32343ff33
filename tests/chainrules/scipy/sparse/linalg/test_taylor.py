"""The action of the exponential of a sparse matrix, by Taylor series."""

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp

from chainrules.scipy.sparse.linalg.taylor import taylor, taylor_steps
from chainrules.scipy.sparse.products import Pattern
from chainrules_core.testing import check_rule

A = sp.csr_array(np.array([[0.5, -1.0, 0.0], [0.0, 0.3, 2.0], [1.0, 0.0, 0.7]]))
B = np.array([1.0, -2.0, 0.5])
C = np.stack([B, B[::-1] * 2], axis=1)


@pytest.mark.parametrize("factor", [1.0, 1.0 + 0.5j])
@pytest.mark.parametrize("b", [B, C, B * 1j])
@pytest.mark.parametrize("t", [0.7, -0.3])
def test_taylor_rule(factor, b, t):
    options = {"pattern": Pattern(A), "mu": 0.4, "degree": 6}
    check_rule(taylor, A.data * factor, b, t, fkwargs=options)


def test_taylor_series_is_the_exponential():
    t = 0.7
    _, degree = taylor_steps(abs(A).sum() * t)
    y = np.exp(0.4 * t) * taylor(A.data, B, t, pattern=Pattern(A), mu=0.4, degree=degree)
    np.testing.assert_allclose(y, sl.expm(t * A.toarray()) @ B, rtol=1e-13)
