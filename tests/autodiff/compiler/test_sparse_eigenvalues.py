"""Iterations over products with a sparse matrix, in compiled code, are not recorded."""

import numpy as np
from scipy.sparse import linalg

from autodiff import compile, value_and_gradient

ROW = np.array([1.0, 0.5, 0.25, 0.125, 0.0625])


def of_an_operator(a):
    operator = linalg.LinearOperator((5, 5), matvec=lambda v: ROW * v * 2.0, dtype=float)
    return linalg.eigs(operator, k=1, v0=np.ones(5), return_eigenvectors=False)[0].real * a


def of_a_matrix(a):
    return linalg.eigsh(np.diag(ROW * 2.0), k=1, v0=np.ones(5), return_eigenvectors=False)[0] * a


def test_values_are_those_of_the_function():
    for f in (of_an_operator, of_a_matrix):
        run = compile(lambda a, f=f: value_and_gradient(f, a))
        for a in (1.5, 2.5):
            np.testing.assert_allclose(run(a), (2.0 * a, 2.0), rtol=1e-10)
