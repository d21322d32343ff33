"""Small linear systems and factorisations as loops: values and errors of NumPy and SciPy."""

import itertools

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient
from tests.helpers import after_guards

rng = np.random.default_rng(3)
A = rng.standard_normal((4, 4))
P = A @ A.T + 2 * np.eye(4)
B, V = rng.standard_normal((4, 3)), rng.standard_normal(4)
STACK = rng.standard_normal((2, 3, 4, 4)) + 4 * np.eye(4)
TURNS = 3


def compare(f, *args):
    """Compare with eager calls: the recording, and the kernel on other numbers."""
    compiled = compile(f, backend="native")
    for scale in (1.0, 1.1, 0.7):
        given = [scale * a for a in args]
        expected, found = f(*given), compiled(*given)
        for a, b in zip(leaves(expected), leaves(found), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-11)
    assert compiled.variants == 1, compiled.eager_because
    return compiled


def leaves(x):
    return [y for part in x for y in leaves(part)] if type(x) in (tuple, list) else [np.asarray(x)]


def is_one_kernel(compiled):
    """Whether no call of an array function is left outside of the kernel."""
    source = after_guards(compiled)
    return not any(name in source for name in ("linalg", "solve", "cholesky", "tril", "triu"))


def all_orders(f, *args):
    """Compare the function, its gradient, its derivative along a direction, its second one."""
    nums = tuple(range(len(args)))
    yield f, args
    yield (lambda *a: gradient(f, *a, argnums=nums)), args
    yield (lambda *a: autodiff.jvp(f, a, tuple(np.cos(x) for x in a))), args
    yield (lambda x, *rest: autodiff.hvp(lambda z: f(z, *rest), x, np.sin(x))), args


def with_factors(p, b):
    total = 0.0
    for _ in range(TURNS):
        c = np.linalg.cholesky(p)
        total = total + np.sum(np.log(np.diag(c)))
        b = np.linalg.solve(c, b) + np.linalg.solve(c.T, b)
        p = p + 0.1 * b @ b.T
    return total + np.sum(b * b)


def with_upper(p, b):
    for _ in range(TURNS):
        u = np.linalg.cholesky(p, upper=True)
        b = np.tanh(np.linalg.solve(u.T, b) + np.linalg.solve(np.triu(u), b))
        p = p + 0.1 * u
    return np.sum(b * b)


def with_scipy(lower):
    linalg = pytest.importorskip("scipy.linalg")

    def f(p, b):
        total = 0.0
        for _ in range(TURNS):
            c = linalg.cho_factor(p, lower=lower)
            b = linalg.cho_solve(c, b) + 0.3 * linalg.cho_solve(c, b[:, 0])[:, None]
            total = total + np.sum(np.log(np.diag(c[0]))) + np.sum(linalg.cholesky(p, lower)[1])
            p = p + 0.1 * b @ b.T
        return total + np.sum(b * b)

    return f


def with_pivots(trans):
    linalg = pytest.importorskip("scipy.linalg")

    def f(p, b):
        total = 0.0
        for _ in range(TURNS):
            factors = linalg.lu_factor(p[::-1])
            b = (
                linalg.lu_solve(factors, b, trans)
                + 0.3 * linalg.lu_solve(factors, b[:, 0])[:, None]
            )
            total = total + np.sum(np.log(np.abs(np.diag(factors[0]))))
            p = p + 0.1 * b @ b.T
        return total + np.sum(b * b)

    return f


def of_a_triangle(trans, lower, unit):
    linalg = pytest.importorskip("scipy.linalg")

    def f(a, b):
        x = b
        for _ in range(TURNS):
            x = np.tanh(linalg.solve_triangular(a, x, trans, lower, unit_diagonal=unit)) + x
            y = linalg.solve_triangular(a, x[:, 1], trans=trans, lower=lower, unit_diagonal=unit)
            x = x + 0.1 * y[:, None]
        return np.sum(x * x)

    return f


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("f", [with_factors, with_upper])
def test_factors(interpreted, f, order):
    g, args = list(all_orders(f, P, B))[order]
    assert is_one_kernel(compare(g, *args))
    assert interpreted


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("lower", [False, True])
def test_factors_with_scipy(interpreted, lower, order):
    g, args = list(all_orders(with_scipy(lower), P, B))[order]
    assert is_one_kernel(compare(g, *args))
    assert interpreted


@pytest.mark.parametrize(
    "how", list(itertools.product([0, "T", 2], [False, True], [False, True])), ids=str
)
def test_triangles(interpreted, how):
    for g, args in all_orders(of_a_triangle(*how), A + 3 * np.eye(4), B):
        assert is_one_kernel(compare(g, *args))
    assert interpreted


@pytest.mark.parametrize("trans", [0, 1])
def test_systems_with_pivots(interpreted, trans):
    for g, args in list(all_orders(with_pivots(trans), A, B))[:2]:
        assert "lu_solution" not in after_guards(compare(g, *args))
    assert interpreted


@pytest.mark.filterwarnings("ignore")
def test_pivots_that_are_zero_are_no_error(interpreted):
    """LAPACK divides by zero there."""
    linalg = pytest.importorskip("scipy.linalg")
    pivots = np.array([2, 1, 3, 3], np.int32)
    f = compile(lambda lu, b: np.isfinite(linalg.lu_solve((lu, pivots), b)), backend="native")
    bad = P - np.diag([0, 0, 0, P[3, 3]])
    for lu in (P, bad, P, bad):
        np.testing.assert_array_equal(f(lu, B), np.isfinite(linalg.lu_solve((lu, pivots), B)))
    f = compile(lambda lu, b: np.isfinite(linalg.lu_solve((lu, pivots), b)), backend="native")
    assert not np.any(f(bad, B))


def stacked(a, b):
    x = b
    for _ in range(TURNS):
        x = np.tanh(np.linalg.solve(a, x)) + np.linalg.solve(a.mT, x)
        x = x + 0.1 * np.linalg.inv(a)[..., :3] + np.linalg.det(a)[..., None, None] / 500
        x = x + np.linalg.slogdet(a)[1][..., None, None]
    return np.sum(x * x)


def stack_of_factors(a, b):
    x, p = b, np.matmul(a, a.mT)
    for _ in range(TURNS):
        c = np.linalg.cholesky(p)
        x = np.tanh(np.linalg.solve(c, x)) + x
        p = p + np.matmul(c, c.mT)
    return np.sum(x * x)


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("f", [stacked, stack_of_factors])
@pytest.mark.parametrize(
    "b", [B, rng.standard_normal((3, 4, 3)), rng.standard_normal((2, 1, 4, 3))]
)
def test_stacks(interpreted, f, b, order):
    g, args = list(all_orders(f, STACK, b))[order]
    compare(g, *args)
    assert interpreted


def test_one_vector_for_a_stack(interpreted):
    def f(a, b):
        x = 0.0
        for _ in range(TURNS):
            x = x + np.linalg.solve(a, b) + np.sin(x)
        return x

    assert is_one_kernel(compare(f, STACK, V))
    assert interpreted


def in_a_loop(step):
    def f(a, b):
        for _ in range(4):
            b = step(a, b) + 0.1 * b
        return np.sum(b)

    return f


def check_error(f, regular, bad):
    """The error is that of the eager call; the program stays."""
    compiled = compile(f, backend="native")
    compiled(*regular)
    error = expected = None
    try:
        expected = f(*bad)
    except ValueError as raised:  # as is LinAlgError
        error = raised
    if error is None:
        np.testing.assert_allclose(compiled(*bad), expected, rtol=1e-9)
    else:
        with pytest.raises(type(error)) as found:
            compiled(*bad)
        assert str(found.value) == str(error)
    np.testing.assert_allclose(compiled(*regular), f(*regular), rtol=1e-9)
    assert compiled.variants == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320])
@pytest.mark.parametrize("place", [(0, 0), (3, 3), (1, 3), (3, 1)])
def test_errors(interpreted, value, place):
    linalg = pytest.importorskip("scipy.linalg")
    bad = P.copy()
    bad[place] = value
    steps = [
        lambda a, b: np.linalg.solve(np.linalg.cholesky(a), b),
        lambda a, b: np.linalg.cholesky(a, upper=True)[:, :3] + b,
        lambda a, b: linalg.cholesky(a)[:, :3] + b,
        lambda a, b: linalg.cholesky(a, check_finite=False)[:, :3] + b,
        lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b),
        lambda a, b: linalg.solve_triangular(a, b),
        lambda a, b: linalg.solve_triangular(a, b, unit_diagonal=True),
        lambda a, b: linalg.solve_triangular(a, b, lower=True, check_finite=False),
        lambda a, b: np.linalg.solve(np.tril(a), b),
    ]
    for step in steps:
        check_error(in_a_loop(step), (P, B), (bad, B))
    assert len(interpreted) == len(steps)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_right_sides_that_are_not_finite(interpreted, value):
    linalg = pytest.importorskip("scipy.linalg")
    bad = B.copy()
    bad[1, 1] = value
    for checked in (True, False):
        step = lambda a, b: linalg.solve_triangular(a, b, check_finite=checked)  # noqa: B023, E731
        check_error(in_a_loop(step), (P, B), (P, bad))
    check_error(in_a_loop(lambda a, b: np.linalg.solve(np.triu(a), b)), (P, B), (P, bad))
    assert interpreted


def test_a_matrix_of_a_stack_that_is_singular(interpreted):
    bad = STACK.copy()
    bad[1, 2, :, 3] = 0.0
    for step in (np.linalg.solve, lambda a, b: np.linalg.slogdet(a)[1][..., None, None] + b):
        check_error(in_a_loop(step), (STACK, B), (bad, B))
    assert interpreted


def test_a_large_determinant_stays_outside(interpreted):
    """What asks for a part of it is no reason to give up the loops around it."""
    large = np.diag(np.linspace(1.0, 2.0, 40))

    def f(x):
        total = np.linalg.slogdet(large * x[0])[1]
        for _ in range(10):
            x = np.tanh(x * 1.1 + total) + 0.2 * np.sin(x)
        return np.sum(x * x)

    compare(f, V)
    assert interpreted


def test_machine_code():
    pytest.importorskip("llvmlite")
    compare(lambda *a: gradient(with_factors, *a, argnums=(0, 1)), P, B)
    for f in (with_scipy(True), of_a_triangle(0, False, False)):  # their gradients: interpreted
        compare(f, P, B)
    compare(stacked, STACK, B)
