import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL, hermitian_matrix


def hermitian(n, dtype=float, seed=1):
    return hermitian_matrix(n, dtype, rng=seed)


def real(*shape, dtype=float, seed=2):
    return REAL.draw(shape, dtype, rng=[seed, *shape])


def compl(*shape, seed=3):
    return COMPLEX.draw(shape, rng=[seed, *shape])


def case(f, *args, **kwargs):
    options = ",".join(map(str, [*args[1:], *kwargs.values()]))
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{args[0].dtype}{args[0].shape}{options}")


H, Z = hermitian(3), hermitian(4, complex)
STACK = np.stack([H, hermitian(3, seed=2)])
ZSTACK = np.stack([hermitian(3, complex), hermitian(3, complex, seed=2)])
ROTATION = np.array([[1.0, -2.0, 0.5], [2.0, 1.0, 0.3], [0.2, -0.1, 3.0]])
eigh, eigvalsh, eig, eigvals = (
    np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals,
)  # fmt: skip

CASES = [
    # not gauge-invariant: signs and phases are those that LAPACK gives
    case(eigh, H),
    case(eigh, H, "U"),
    case(eigh, H, UPLO="l"),
    case(eigh, Z),
    case(eigh, Z, "U"),
    case(eigh, STACK),
    case(eigh, ZSTACK[:, None]),
    case(eigh, H.astype(np.float32)),
    case(eigh, np.kron(H, np.ones((2, 2)))[::2, 1::2]),
    case(eigh, np.array([[2.5]])),
    case(eigh, np.zeros((0, 0))),
    case(eigh, real(3, 3)),
    case(eigh, compl(3, 3), UPLO="U"),
    case(eigvalsh, H),
    case(eigvalsh, Z, "U"),
    case(eigvalsh, ZSTACK),
    case(eigvalsh, compl(3, 3)),
    case(eigvalsh, H.astype(np.float32), UPLO="L"),
    case(eigvalsh, np.zeros((0, 0))),
    case(eig, real(4, 4)),
    case(eig, ROTATION),
    case(eig, compl(3, 3)),
    case(eig, np.stack([ROTATION, ROTATION.T + 0.1])),
    case(eig, np.stack([compl(3, 3), compl(3, 3, seed=4)])),
    case(eig, ROTATION.astype(np.float32)),
    case(eig, np.array([[2.5]])),
    case(eigvals, H),
    case(eigvals, real(4, 4)),
    case(eigvals, ROTATION),
    case(eigvals, compl(4, 4)),
    case(eigvals, np.stack([compl(3, 3), compl(3, 3, seed=4)])),
    case(eigvals, ROTATION.astype(np.float32)),
    case(eigvals, np.zeros((0, 0))),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


WEIGHTS = np.arange(9.0).reshape(3, 3)


def of_values(a, f):
    """A function of a symmetric matrix, by its eigenvalues."""
    w, v = np.linalg.eigh(a)
    return (v * f(w)) @ v.T


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.eigh(a).eigenvalues,
        lambda a: np.linalg.eigh(a + a.T)[1],
        lambda a: of_values(a, np.exp),
        lambda a: of_values(a @ a.T, np.sqrt),
        lambda a: np.linalg.eigvalsh(a)[-1] - np.linalg.eigvalsh(a)[0],
        lambda a: np.linalg.eig(a).eigenvectors,
        lambda a: np.abs(np.linalg.eigvals(a + WEIGHTS)),
        lambda a: np.real(np.sum(np.linalg.eigvals(ROTATION * a) ** 3)),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, H)


# ------------------------------------------------------------------ where eigenvalues coincide


def rotated(*values):
    q = np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 - 4 * np.eye(3))[0]
    return (q * values) @ q.T


@pytest.mark.parametrize("a", [np.eye(3), rotated(2, 2, 5), rotated(1, 4, 4)])
@pytest.mark.parametrize(
    "f",
    [
        lambda w: np.sum(w**3),
        lambda w: np.sum(np.log(w)),
        lambda w: w[0] + w[1] + w[2],
    ],
)
def test_functions_of_coinciding_eigenvalues(f, a):
    """Symmetric functions of them are smooth: the first derivative is exact."""

    def loss(a):
        return f(np.linalg.eigvalsh((a + a.T) / 2))

    direction = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    h = 1e-5
    expected = (loss(a + h * direction) - loss(a - h * direction)) / (2 * h)
    for f_of_a in (loss, lambda a: f(np.linalg.eigh((a + a.T) / 2)[0])):
        assert np.sum(autodiff.gradient(f_of_a, a) * direction) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("eig", [np.linalg.eigh, np.linalg.svd])
def test_space_of_coinciding_eigenvalues(eig):
    """The projector on their space does not depend on its basis."""
    a = rotated(2, 2, 5)

    def loss(a):
        parts = eig((a + a.T) / 2)
        v = parts[1][:, :2] if eig is np.linalg.eigh else parts[0][:, 1:]
        return np.sum(WEIGHTS * (v @ v.T))

    direction = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    h = 1e-5
    expected = (loss(a + h * direction) - loss(a - h * direction)) / (2 * h)
    assert np.sum(autodiff.gradient(loss, a) * direction) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        lambda a: np.linalg.eigh(a)[1][0, 0],  # depends on the basis: no derivative
        lambda a: np.sum(WEIGHTS * of_values(a, np.exp)),  # has one that cotangents do not tell
    ],
)
def test_nothing_wrong_where_eigenvalues_coincide(loss):
    assert np.isnan(autodiff.gradient(loss, rotated(2, 2, 5))).any()


@pytest.mark.parametrize("a", [rotated(0, 0, 5), np.zeros((3, 3))])
@pytest.mark.parametrize("eig", [np.linalg.eigh, np.linalg.eig, linalg.eig])
def test_nothing_wrong_where_a_function_of_equal_eigenvalues_is_zero(eig, a):
    """There the vectors have no cotangents, and those of the values are some basis's."""

    def loss(a):
        w, v = eig((a + a.T) / 2)
        return np.sum(WEIGHTS * np.real((v * np.sin(w)) @ np.linalg.inv(v)))

    assert np.isnan(autodiff.gradient(loss, a)).any()
