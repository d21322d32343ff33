"""Solutions, inverses and determinants of one matrix share its factors."""

import numpy as np
import pytest

from autodiff import compile, gradient

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
    n = 40
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
    compiled(np.eye(50) + 0.01, np.ones(50))
    assert compiled.source.count("factorise(") == 1
    assert "inv(" not in compiled.source


@pytest.mark.parametrize("spoilt", [0.0, np.nan, np.inf])
def test_what_is_singular_or_not_finite_is_as_written(spoilt):
    f = FUNCTIONS["logarithm"]
    compiled = compile(lambda a, b: gradient(f, a, b), backend="python")
    a, b = np.eye(40) + 0.1, np.ones(40)
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
    a, b = RNG.standard_normal((40, 40)) + 8.0 * np.eye(40), RNG.standard_normal(40)
    for form in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
        before = form.copy(), b.copy()
        compile(lambda a, b: gradient(FUNCTIONS["density"], a, b), backend="python")(form, b)
        np.testing.assert_array_equal(form, before[0])
        np.testing.assert_array_equal(b, before[1])


@pytest.mark.parametrize("is_turned", [False, True])
def test_columns_of_other_sizes_are_as_exact_as_by_numpy(is_turned):
    """As in a fit of a polynomial; the other factors have a relative error of 0.3."""
    a = np.vander(np.linspace(10.0, 1000.0, 8), increasing=True)
    b = np.sin(np.arange(8) + 1.0)
    f = lambda a, b: np.linalg.solve(a.T if is_turned else a, b)  # noqa: E731
    compiled = compile(
        lambda a, b: (f(a, b), gradient(lambda a, b: np.sum(f(a, b)), a, b)), backend="python"
    )
    given = np.ascontiguousarray(a.T) if is_turned else a
    for _ in range(2):
        x, _ = compiled(given, b)
    assert "factorise(" in compiled.source
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-8)


def test_a_matrix_without_rows(capfd):
    compiled = compile(lambda a, b: gradient(FUNCTIONS["solve"], a, b), backend="python")
    for _ in range(2):
        a_bar, b_bar = compiled(np.ones((0, 0)), np.ones(0))
    assert (a_bar.shape, b_bar.shape) == ((0, 0), (0,))
    assert capfd.readouterr() == ("", "")
