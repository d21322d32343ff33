"""Solutions, inverses and determinants of one matrix share its factors."""

from fractions import Fraction

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.passes.shared_factorisations import determinant, factorise, inverse, solution

RNG = np.random.default_rng(0)

FUNCTIONS = {
    "solve": lambda a, b: np.sum(np.linalg.solve(a, b) ** 2),
    "solve a matrix": lambda a, b: np.sum(np.linalg.solve(a, np.outer(b, b[:3])) ** 2),
    "solve the transpose": lambda a, b: b @ np.linalg.solve(a.T, b) + b @ np.linalg.solve(a, b),
    "inverse": lambda a, b: b @ np.linalg.inv(a) @ b,
    "inverse of the transpose": lambda a, b: b[:2] @ np.linalg.inv(a.T)[:2, :3] @ b[:3],
    "logarithm": lambda a, b: np.linalg.slogdet(a)[1] + b @ np.linalg.solve(a, b),
    "sign": lambda a, b: np.linalg.slogdet(a).sign * np.sum(np.linalg.solve(a, b)),
    "determinant": lambda a, b: np.linalg.det(a / 8.0) + b @ np.linalg.solve(a / 8.0, b),
    "density": lambda a, b: b @ np.linalg.solve(a @ a.T, b) + np.linalg.slogdet(a @ a.T)[1],
}


@pytest.mark.parametrize("backend", ["python", "auto"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients(f, swapped, backend):
    n = 70
    a, b = RNG.standard_normal((n, n)) + 8.0 * np.eye(n), RNG.standard_normal(n)
    if swapped:  # the determinant has another sign, and the rows are exchanged
        a[[0, 1]] = a[[1, 0]]
    compiled = compile(lambda a, b: (f(a, b), gradient(f, a, b)), backend=backend)
    for _ in range(3):
        value, (a_bar, b_bar) = compiled(a, b)
    np.testing.assert_allclose(value, f(a, b), rtol=1e-10)
    da, db = RNG.standard_normal((n, n)), RNG.standard_normal(n)
    h = 1e-6
    difference = (f(a + h * da, b + h * db) - f(a - h * da, b - h * db)) / (2.0 * h)
    np.testing.assert_allclose(np.vdot(a_bar, da) + b_bar @ db, difference, rtol=1e-5)
    assert "factorise(" in compiled.source


def test_the_matrix_is_factorised_once():
    compiled = compile(lambda a, b: gradient(FUNCTIONS["logarithm"], a, b), backend="python")
    compiled(np.eye(70) + 0.01, np.ones(70))
    assert compiled.source.count("factorise(") == 1
    assert "inv(" not in compiled.source


@pytest.mark.parametrize("spoilt", [0.0, np.nan, np.inf])
def test_what_is_singular_or_not_finite_is_as_written(spoilt):
    f = FUNCTIONS["logarithm"]
    compiled = compile(lambda a, b: gradient(f, a, b), backend="python")
    a, b = np.eye(70) + 0.1, np.ones(70)
    compiled(a, b)
    a[3] = spoilt
    try:
        with np.errstate(all="ignore"):
            expected = gradient(f, a, b)
    except np.linalg.LinAlgError as error:
        with pytest.raises(np.linalg.LinAlgError, match=str(error)):
            compiled(a, b)
        return
    with np.errstate(all="ignore"):
        for x, y in zip(compiled(a, b), expected, strict=True):
            np.testing.assert_array_equal(x, y)


def test_the_arguments_stay_as_they_are():
    a, b = RNG.standard_normal((70, 70)) + 8.0 * np.eye(70), RNG.standard_normal(70)
    for form in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
        before = form.copy(), b.copy()
        compile(lambda a, b: gradient(FUNCTIONS["density"], a, b), backend="python")(form, b)
        np.testing.assert_array_equal(form, before[0])
        np.testing.assert_array_equal(b, before[1])


def _exact(a, b):
    """Solve A X = B by fractions, and round the result."""
    n = len(a)
    rows = [[Fraction(float(x)) for x in (*r, *q)] for r, q in zip(a, b, strict=True)]
    for i in range(n):
        k = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[k] = rows[k], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in {*range(n)} - {i}:
            rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return np.array([[float(x) for x in row[n:]] for row in rows])


@pytest.mark.parametrize("is_transposed", [False, True])
def test_rows_and_columns_of_other_sizes(is_transposed):
    """As in a fit of a polynomial: NumPy's solutions with the transpose have errors of 2e-4."""
    x = np.linspace(10.0, 1000.0, 8)
    a = np.vander(x, increasing=True)
    a = a.T if is_transposed else a
    b = np.sin(np.arange(16) + 1.0).reshape(8, 2)
    factors = factorise(a)
    np.testing.assert_allclose(solution(factors, b, False), _exact(a, b), rtol=1e-10)
    np.testing.assert_allclose(solution(factors, b[:, 0], True), _exact(a.T, b)[:, 0], rtol=1e-10)
    np.testing.assert_allclose(inverse(factors, False), _exact(a, np.eye(8)), rtol=1e-10)
    np.testing.assert_allclose(inverse(factors, True), _exact(a.T, np.eye(8)), rtol=1e-10)
    differences = (x - x[:, None])[np.triu_indices(8, 1)]  # of which the determinant is made
    np.testing.assert_allclose(determinant(factors), np.prod(differences), rtol=1e-10)


def test_a_matrix_without_rows(capfd):
    compiled = compile(lambda a, b: gradient(FUNCTIONS["solve"], a, b), backend="python")
    for _ in range(2):
        a_bar, b_bar = compiled(np.ones((0, 0)), np.ones(0))
    assert (a_bar.shape, b_bar.shape) == ((0, 0), (0,))
    assert capfd.readouterr() == ("", "")
