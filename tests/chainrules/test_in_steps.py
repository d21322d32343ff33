"""Functions that are also said in steps: these compute the same."""

import numpy as np
import pytest

from chainrules.indexing.diagonals import on_diagonal
from chainrules.linalg.cholesky import cholesky_adjoint
from chainrules_core.define import STEPS
from chainrules_core.registry.pending import load_imported

rng = np.random.default_rng(0)
A = rng.standard_normal((2, 4, 4))
LOWER = np.linalg.cholesky(np.matmul(A, A.mT) + np.eye(4))
BAR = np.tril(rng.standard_normal((2, 4, 4)))


def same(f, *args, **kwargs):
    expected, found = f(*args, **kwargs), STEPS[f](*args, **kwargs)
    pairs = zip(expected, found, strict=True) if type(expected) is tuple else [(expected, found)]
    for a, b in pairs:
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("at", [0, slice(None)])
def test_cholesky_adjoint(at):
    same(cholesky_adjoint, LOWER[at], BAR[at])


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_diagonals(shape):
    d = rng.standard_normal(shape)
    d[..., 1] = np.nan
    n, whole = len(shape) - 1, (*shape, 3)
    same(on_diagonal, d, 0, n, n + 1, whole, np.dtype(float))
    same(on_diagonal, d, 0, -2, -1, whole, np.dtype(float))


@pytest.mark.parametrize("options", [(1, 0, 1, (4, 4)), (0, 1, 0, (3, 3)), (0, 0, 1, (3, 4))])
def test_other_diagonals_have_no_steps(options):
    *where, shape = options
    assert STEPS[on_diagonal](np.ones(3), *where, shape, np.dtype(float)) is NotImplemented


@pytest.mark.parametrize("lower", [False, True])
def test_factors_by_scipy(lower):
    linalg = pytest.importorskip("scipy.linalg")
    load_imported()  # in the order in which rules of packages are loaded
    from chainrules.scipy.linalg.factors.cholesky import cho_solution

    a = np.matmul(A[0], A[0].T) + np.eye(4)
    c = linalg.cho_factor(a, lower)
    b = rng.standard_normal((4, 2))
    same(linalg.cho_factor, a, lower)
    same(linalg.cho_factor, a, lower=lower, check_finite=False)
    same(cho_solution, c[0], b, lower)
    same(linalg.cho_solve, c, b)
    same(linalg.cho_solve, c, b[:, 0])


@pytest.mark.parametrize("kind", [float, complex])
def test_solutions_with_lu_factors(kind):
    linalg = pytest.importorskip("scipy.linalg")
    load_imported()
    from chainrules.scipy.linalg.factors.lu import lu_solution

    a = A[0] + (1j * A[1] if kind is complex else 0.0)
    lu, pivots = linalg.lu_factor(a)
    b = rng.standard_normal((4, 2)).astype(kind)
    assert list(pivots) != list(range(4))
    for trans, matrix in enumerate((a, a.T, a.conj().T)):
        np.testing.assert_allclose(matrix @ STEPS[lu_solution](lu, b, pivots, trans), b, atol=1e-12)
        same(lu_solution, lu, b, pivots, trans)
    assert STEPS[lu_solution](lu[None], b, pivots[None], 0) is NotImplemented
