import numpy as np
import pytest

import autodiff
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import well_conditioned_matrix
from tests.helpers import compl, real


def regular(n, dtype=float, seed=3):
    return well_conditioned_matrix(n, dtype, rng=seed)


def case(f, *args, **kwargs):
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{[np.shape(a) for a in args]}")


A, Z = regular(3), regular(3, complex)
STACK = np.stack([regular(3, seed=4), regular(3, seed=5)])
ZSTACK = np.stack([regular(2, complex, seed=4), regular(2, complex, seed=5)])
STRIDED = np.asfortranarray(np.kron(regular(3), np.ones((2, 2))))[::2, ::2]

CASES = [
    case(np.linalg.inv, A),
    case(np.linalg.inv, Z),
    case(np.linalg.inv, STACK),
    case(np.linalg.inv, ZSTACK),
    case(np.linalg.inv, STACK[None]),
    case(np.linalg.inv, STRIDED),
    case(np.linalg.inv, A.astype(np.float32)),
    case(np.linalg.inv, np.array([[2.5]])),
    case(np.linalg.inv, np.zeros((0, 0))),
    case(np.linalg.inv, np.zeros((0, 2, 2))),
    case(np.linalg.solve, A, real(3)),
    case(np.linalg.solve, A, real(3, 2)),
    case(np.linalg.solve, Z, compl(3)),
    case(np.linalg.solve, Z, compl(3, 2)),
    case(np.linalg.solve, A, compl(3, 2)),
    case(np.linalg.solve, Z, real(3)),
    case(np.linalg.solve, STACK, real(3)),
    case(np.linalg.solve, STACK, real(3, 2)),
    case(np.linalg.solve, STACK, real(2, 3, 2)),
    case(np.linalg.solve, A, real(4, 3, 2)),
    case(np.linalg.solve, A, real(2, 3, 1)),
    case(np.linalg.solve, STACK, real(4, 1, 3, 2)),
    case(np.linalg.solve, ZSTACK, compl(2)),
    case(np.linalg.solve, A.astype(np.float32), real(3, dtype=np.float32)),
    case(np.linalg.solve, A, np.arange(3)),
    case(np.linalg.solve, STRIDED, real(6, 2)[::2]),
    case(np.linalg.solve, A, np.zeros((3, 0))),
    case(np.linalg.solve, np.zeros((0, 0)), np.zeros((0, 2))),
    case(np.linalg.tensorsolve, regular(6).reshape(2, 3, 6), real(2, 3)),
    case(np.linalg.tensorsolve, regular(6, complex).reshape(2, 3, 3, 2), compl(2, 3)),
    case(np.linalg.tensorsolve, regular(6).reshape(3, 2, 2, 3), real(2, 3), (1, 0)),
    case(np.linalg.tensorsolve, regular(6, complex).reshape(3, 2, 6), compl(6), axes=(0, 1)),
    case(np.linalg.tensorsolve, regular(4).reshape(2, 2, 4).astype(np.float32), real(2, 2)),
    case(np.linalg.tensorinv, regular(6).reshape(2, 3, 3, 2)),
    case(np.linalg.tensorinv, regular(6, complex).reshape(6, 3, 2), 1),
    case(np.linalg.tensorinv, regular(6, complex).reshape(1, 2, 3, 6), ind=3),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.linalg.inv(a) @ b,
        lambda a, b: np.linalg.solve(a, b),
        lambda a, b: np.linalg.solve(b=b, a=a),
        lambda a, b: np.linalg.solve(a + np.outer(b, b), b),
        lambda a, b: np.linalg.solve(a, a.T) @ b,
        lambda a, b: np.linalg.solve(np.linalg.inv(a), b),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A, real(3))


LOWER = np.tril(0.1 * real(66, 66)) + 2.0 * np.eye(66)
ZUPPER = np.triu(0.1 * compl(66, 66)) + 2.0 * np.eye(66)


@pytest.mark.parametrize(
    "a, b",
    [
        (LOWER, real(66)),
        (LOWER.T, real(66, 2)),
        (ZUPPER, compl(66)),
        (ZUPPER.T, compl(66, 2)),
        (LOWER, compl(66)),
        (ZUPPER, real(66)),
        (LOWER.astype(np.float32), real(66, dtype=np.float32)),
        (LOWER, real(2, 66, 1)),
        (LOWER, np.zeros((66, 0))),
    ],
)
def test_large_triangular_systems(a, b):
    check_rule(np.linalg.solve, a, b)


def test_a_large_triangular_system_twice(check_modes):
    w = np.cos(np.arange(66.0))

    def f(x):
        return np.linalg.solve(LOWER * x[0], w * x[1])[::22]

    check_modes(f, np.array([1.2, 0.7]))
