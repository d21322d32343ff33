import numpy as np
import pytest

import autodiff
from chainrules.linalg.determinants import adjugate
from chainrules_core import NoTangent, rrule
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import (
    separated_singular_values,
    well_conditioned_matrix,
)


def regular(n, dtype=float, seed=1):
    return well_conditioned_matrix(n, dtype, rng=seed)


def of_rank(n, r, dtype=float):
    left, right = (separated_singular_values(n, r, dtype, rng=k) for k in (2, 3))
    return left @ right.T


def case(f, *args, name=""):
    return pytest.param(f, args, id=f"{f.__name__}{np.shape(args[0])}{name}")


A, Z = regular(3), regular(3, complex)
STACK = np.stack([A, regular(3, seed=4)])
ZSTACK = np.stack([Z, regular(3, complex, seed=4)])

CASES = [
    case(np.linalg.det, A),
    case(np.linalg.det, Z),
    case(np.linalg.det, STACK),
    case(np.linalg.det, ZSTACK[None]),
    case(np.linalg.det, np.eye(3), name="unit"),
    case(np.linalg.det, np.array([[2.5]])),
    case(np.linalg.det, np.array([[0.0]]), name="zero"),
    case(np.linalg.det, np.zeros((0, 0))),
    case(np.linalg.det, np.zeros((0, 2, 2))),
    case(np.linalg.det, A.astype(np.float32)),
    case(np.linalg.det, np.kron(A, np.ones((2, 2)))[::2, 1::2], name="strided"),
    case(np.linalg.det, of_rank(3, 2), name="rank 2"),
    case(np.linalg.det, of_rank(3, 1), name="rank 1"),
    case(np.linalg.det, np.zeros((3, 3)), name="rank 0"),
    case(np.linalg.det, np.zeros((2, 2)), name="rank 0"),
    case(np.linalg.det, of_rank(4, 3, complex), name="rank 3"),
    case(np.linalg.det, of_rank(4, 2, complex), name="rank 2"),
    case(np.linalg.det, np.stack([A, of_rank(3, 2), np.zeros((3, 3))]), name="some singular"),
    case(np.linalg.det, np.array([[1.0, 2.0], [2.0, 4.0]]), name="exactly singular"),
    case(np.linalg.det, A * np.array([1, 1, 1e-9]), name="nearly singular"),
    case(np.linalg.slogdet, A),
    case(np.linalg.slogdet, -A, name="negative"),
    case(np.linalg.slogdet, Z),
    case(np.linalg.slogdet, STACK),
    case(np.linalg.slogdet, ZSTACK),
    case(np.linalg.slogdet, 1e120 * A, name="overflow"),
    case(np.linalg.slogdet, A.astype(np.float32)),
    case(np.linalg.slogdet, np.zeros((0, 0))),
    case(np.linalg.slogdet, np.zeros((0, 2, 2))),
]


@pytest.mark.parametrize("f, args", CASES)
def test_rule(f, args):
    check_rule(f, *args, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "a",
    [A, Z, STACK, of_rank(3, 2), of_rank(3, 1), np.zeros((2, 2)), of_rank(4, 3, complex)],
    ids=["real", "complex", "stack", "rank 2 of 3", "rank 1", "rank 0", "rank 3 of 4"],
)
def test_adjugate(a):
    """It is what its definition says, and has a derivative where there is no inverse."""
    det = np.linalg.det(a)
    scale = 1e-13 * np.abs(a).max(initial=1) ** a.shape[-1]
    for adj in (adjugate(a), adjugate(a, det)):
        identity = det[..., None, None] * np.eye(a.shape[-1])
        np.testing.assert_allclose(np.matmul(a, adj), identity, atol=scale)
    regular = bool(np.all(np.abs(det) > 0.1))
    check_rule(adjugate, a, second_order=regular, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.det(a),
        lambda a: np.linalg.slogdet(a).logabsdet,
        lambda a: np.linalg.slogdet(a)[0] * np.linalg.det(a @ a),
        lambda a: np.linalg.det(a - np.outer(a[0], a[0])),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A)


def test_phase_of_complex_matrices(check_engine):
    check_engine(lambda z: np.linalg.slogdet(z).sign * np.array([1, 1j]), Z)


def test_the_sign_of_real_matrices_is_constant():
    gradient = autodiff.gradient(lambda a: np.linalg.slogdet(a)[0], A)
    np.testing.assert_array_equal(gradient, np.zeros((3, 3)))


def test_singular_matrices_beside_regular_ones():
    """log|det| has no derivative at a singular matrix, and that does not touch the others."""
    a = np.stack([np.diag([2.0, 4.0]), np.diag([0.0, 1.0])])
    _, pullback = rrule(np.linalg.slogdet, a)
    y_bar = {0: NoTangent(), 1: np.array([1.0, 0.0])}
    np.testing.assert_array_equal(pullback(y_bar)[1], [np.diag([0.5, 0.25]), np.zeros((2, 2))])


# From 48 rows on one factorisation serves the primal and the pullback.
LARGE = {
    float: regular(60),
    np.float32: regular(50).astype(np.float32),
    complex: regular(50, complex),
    "transposed": regular(50).T,
    "permuted": regular(51)[::-1],
    "stack": np.stack([regular(50, seed=k) for k in range(3)]),
    "transposed stack": np.stack([regular(48, complex, seed=k) for k in range(2)])[None].mT,
}


def log_and_sign(x):
    sign, log = np.linalg.slogdet(x)
    return np.sum((np.real(sign) - 2 * np.imag(sign) + log) * np.arange(1, np.size(log) + 1))


def turned(x):
    return np.sum(np.real(np.linalg.det(x) * (1 - 0.5j)))


@pytest.mark.parametrize("f", [turned, log_and_sign])
@pytest.mark.parametrize("kind", LARGE, ids=str)
def test_large_matrices(kind, f):
    a = LARGE[kind]
    value, gradient = autodiff.value_and_gradient(f, a)
    assert gradient.dtype == a.dtype
    wide = a.astype(np.result_type(a, float))  # for the differences
    a_dot = wide * np.random.default_rng(9).standard_normal(a.shape)
    h = 1e-5 * np.linalg.norm(a) / np.linalg.norm(a_dot)
    expected = (f(wide + h * a_dot) - f(wide - h * a_dot)) / (2 * h)
    found = np.sum(np.real(np.conj(gradient) * a_dot))
    size = np.linalg.norm(gradient) * np.linalg.norm(a_dot)
    tolerance = 1e-3 if a.dtype == np.float32 else 1e-6
    np.testing.assert_allclose(value, f(wide), rtol=tolerance)
    assert abs(found - expected) <= tolerance * size
    push = autodiff.pushforward(f, a)[1]
    assert abs(push(a_dot.astype(a.dtype)) - expected) <= tolerance * size


def test_a_singular_matrix_among_large_ones():
    stack = np.stack([regular(50), of_rank(50, 49)])
    found = autodiff.gradient(lambda x: np.sum(np.linalg.det(x)), stack)
    for one, a in zip(found, stack, strict=True):
        expected = autodiff.gradient(np.linalg.det, a)
        np.testing.assert_allclose(one, expected, atol=1e-9 * np.max(expected))


@pytest.mark.parametrize("rank", [49, 50])
def test_large_cofactors(rank):
    a = of_rank(50, rank)
    found = autodiff.gradient(np.linalg.det, a)
    for i, j in ((0, 0), (3, 4), (49, 7)):
        minor = np.delete(np.delete(a, i, 0), j, 1)
        cofactor = (-1) ** (i + j) * np.linalg.det(minor)
        np.testing.assert_allclose(found[i, j], cofactor, rtol=1e-7, atol=1e-9 * np.max(found))


def test_second_derivatives_of_a_large_determinant():
    a, w = regular(50), regular(50, seed=2)

    def along(x):
        return np.sum(autodiff.gradient(lambda z: np.linalg.slogdet(z)[1], x) * w)

    h = 1e-5
    expected = (along(a + h * w) - along(a - h * w)) / (2 * h)
    np.testing.assert_allclose(np.sum(autodiff.gradient(along, a) * w), expected, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_has_no_cofactors(value):
    a = np.eye(3)
    a[0, 1] = value
    assert np.isnan(autodiff.gradient(np.linalg.det, a)).any()
    stack = np.stack([of_rank(3, 2), a])
    found = autodiff.gradient(lambda x: np.linalg.det(x)[0], stack)
    np.testing.assert_allclose(found[0], autodiff.gradient(np.linalg.det, stack[0]), atol=1e-12)
