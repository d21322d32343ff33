import numpy as np
import pytest

from chainrules_core.testing.checks.check import check_rule

V, W, M = [1.5, -0.5, 2.0], (0.5, 1.0, -2.0), [[2.0, 0.5], [1.0, 3.0]]
A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.5, 2.5])
ONE = [
    np.trace, np.linalg.trace, np.linalg.inv, np.linalg.pinv, np.linalg.det, np.linalg.slogdet,
    np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm, np.linalg.cond, np.linalg.qr,
    np.linalg.eig, np.linalg.eigvals, np.linalg.svd, np.linalg.svdvals,
]  # fmt: skip
SYMMETRIC = [np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh]
TWO_MATRICES = [
    np.matmul, np.linalg.matmul, np.dot, np.inner, np.vdot, np.outer, np.vecdot, np.linalg.vecdot,
    np.tensordot, np.linalg.tensordot, np.kron, np.linalg.solve,
]  # fmt: skip
CASES = [
    *[(f, (M,)) for f in ONE],
    *[(f, ([[4.0, 1.0], (1.0, 3.0)],)) for f in SYMMETRIC],
    *[(f, args) for f in TWO_MATRICES for args in [(M, M), (M, A), (A, M)]],
    (np.dot, (V, W)),
    (np.dot, (2.0, V)),
    (np.dot, ([1, 2], B)),
    (np.inner, (V, [V, W])),
    (np.outer, (V, B)),
    (np.linalg.outer, (V, W)),
    (np.linalg.outer, (B, V)),
    (np.matmul, ([A, A + 1], B)),
    (np.matmul, ([M], np.stack([A, A, A]))),
    (np.matmul, ([[1.0 + 2j, 2.0], [0.5, 1j]], A)),
    (np.matvec, (M, B)),
    (np.matvec, (A, [1.0, 2.0])),
    (np.vecmat, ([1.0, 2.0], A)),
    (np.vecmat, (B, M)),
    (np.cross, (V, W)),
    (np.cross, (V, np.array(W))),
    (np.cross, (np.array(V), W)),
    (np.linalg.cross, (V, W)),
    (np.linalg.cross, (np.array(V), W)),
    (np.linalg.solve, (A, [1.0, 2.0])),
    (np.linalg.lstsq, ([[1.0, 2.0], [0.5, 1.0], [2.0, 2.5]], V)),
    (np.linalg.lstsq, (np.array([[1.0, 2.0], [0.5, 1.0], [2.0, 2.5]]), V)),
    (np.linalg.tensorsolve, (M, B)),
    (np.linalg.tensorsolve, (A, [1.0, 2.0])),
    (np.linalg.norm, (V,)),
    (np.linalg.matrix_power, (M, 3)),
]


@pytest.mark.parametrize("f, args", [pytest.param(*c, id=c[0].__name__) for c in CASES])
def test_rule(f, args):
    check_rule(f, *args)


def test_tensorinv():
    check_rule(np.linalg.tensorinv, [[[2.0], [0.5]], [[1.0], [3.0]]], fkwargs={"ind": 1})


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.dot([1.0, 2.0], x),
        lambda x: np.dot([x[0], x[1]], x),
        lambda x: np.linalg.solve([[2.0, 1.0], [2.0, 3.0]], x),
        lambda x: np.linalg.solve(np.outer(x, x) + A, [x[0], x[1]]),
        lambda x: np.kron([x[0], x[1], 1.0], x),
        lambda x: np.matmul([x, B], x),
        lambda x: np.einsum("i,i", [1.0, 2.0], x),
        lambda x: np.einsum("i,ij", x, [[1.0, x[0]], [x[1], 2.0]]),
        lambda x: [[1.0, 2.0]] @ x,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, B)
