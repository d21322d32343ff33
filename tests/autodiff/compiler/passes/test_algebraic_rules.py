"""A call is replaced by a shorter one only where its options leave the value as it is."""

import numpy as np
import pytest

from autodiff import compile, gradient

OPTIONS = {
    "sum-of-number": lambda a, b: np.sum(np.sum(a), initial=1.0),
    "sum-of-number-by-place": lambda a, b: np.sum(np.sum(a), None, None, None, False, 2.0),
    "sum-of-number-where": lambda a, b: np.sum(np.sum(a), where=b[0] > 0.0),
    "sum-of-products-nowhere": lambda a, b: np.sum(a * b, where=False),
    "sum-of-products-from": lambda a, b: np.sum(a * b, initial=b[0]),
    "sum-of-products-where": lambda a, b: np.sum(a * b, where=b > 0.0),
    "mean-where": lambda a, b: np.mean(a * b, where=b > 0.0),
    "any-where": lambda a, b: float(np.any(a[0] > 0.0, where=b[0] > 0.0)),
    "exp-where": lambda a, b: np.exp(b - np.logaddexp(a, b), where=b > 0.0, out=np.ones(2)),
    "negative-where": lambda a, b: np.negative(-a, where=b > 0.0, out=np.zeros(2)),
    "conj-where": lambda a, b: np.conj(a, where=b > 0.0, out=np.zeros(2)),
    "positive-where": lambda a, b: np.positive(a, where=b > 0.0, out=np.zeros(2)),
    "prod-from": lambda a, b: np.prod(np.sum(a), initial=2.0),
    "max-from": lambda a, b: np.max(np.sum(a), initial=2.0),
}


@pytest.mark.parametrize("f", OPTIONS.values(), ids=OPTIONS)
def test_options_that_change_the_value(f):
    compiled = compile(f)
    x, y = np.array([0.1, 0.3]), np.array([0.2, -0.4])
    with np.errstate(all="ignore"):
        for a, b in [(x, y), (y, x), (x + 1.0, y + 1.0), (-x, -y)]:
            np.testing.assert_allclose(compiled(a, b), f(a, b), rtol=1e-15)


@pytest.mark.parametrize("values", [[1.0, 3.0, 3.0], [2.0, -1.0, 0.0]])
def test_a_number_where_a_mask_is_true_is_a_choice(values):
    """Extrema of small arrays set the elements that tie; machine code takes this as a choice."""
    compiled = compile(lambda x: gradient(lambda x: np.max(x) * np.sum(x * x), x))
    x = np.array(values)
    ties = x == x.max()
    for _ in range(3):
        found = compiled(x)
    expected = 2.0 * x * x.max() + ties * np.sum(x * x) / ties.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert "where(" in compiled.source


@pytest.mark.parametrize("bad", [0.0, 800.0, np.inf, -np.inf, np.nan])
def test_the_slope_of_a_logistic_loss_needs_no_logarithm(bad):
    """Nor is the loss computed to see that it is finite."""
    compiled = compile(lambda x: gradient(lambda x: np.sum(np.logaddexp(0.0, x)), x))
    x = np.array([0.3, -2.0, 1.5])
    np.testing.assert_allclose(compiled(x), 1 / (1 + np.exp(-x)), rtol=1e-15)
    assert "logaddexp(" not in compiled.source
    x[1] = bad
    expected = np.exp(x - np.logaddexp(0.0, x)) if np.isfinite(bad) else None
    with np.errstate(all="ignore"):
        if expected is None:
            expected = gradient(lambda x: np.sum(np.logaddexp(0.0, x)), x)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)


EXPONENTS = [2, 3, 5, 6, 7, 12, 16, 17, 0.5, 1.5, 2.5, 7.5, -0.5, -1, -1.5, -2, -3, -7, 2.25, 1e3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("c", EXPONENTS)
def test_powers_of_arrays_are_products(c, dtype):
    x = np.array([0.0, -0.0, 1e-3, 0.5, 1.3, 2.7, 11.0, -1.2, -3.0, np.inf, np.nan], dtype)
    compiled = compile(lambda x: np.power(x, c))
    with np.errstate(all="ignore"):
        for _ in range(3):
            found = compiled(x)
        expected = np.power(x, c)
    assert found.dtype == dtype
    rtol = 1e-14 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    assert ("power(" in compiled.source) == (c in (17, 2.25, 1e3))


def test_powers_share_their_squares():
    compiled = compile(lambda x: x**6 + x**3)
    compiled(np.array([0.5, 1.3]))
    assert compiled.source.count("square(") == 2  # of x, and of its cube


@pytest.mark.parametrize("c, x", [(-5, 1e62), (-0.5, 1e-310), (-1.5, 1e205), (16, 1e-19)])
def test_powers_beside_the_largest_and_smallest_numbers(c, x):
    compiled = compile(lambda x: np.power(x, c))
    compiled(np.array([x, 3.0]))
    np.testing.assert_allclose(compiled(np.array([x, 3.0])), np.power([x, 3.0], c), rtol=1e-12)


def means(x):
    return sum(np.mean(x[x > c] ** 2) for c in (0.3, 0.6, 0.9))


def test_reads_through_a_mask_share_its_places():
    """The adjoint adds to these places, in place; another number of them is another program."""
    compiled = compile(lambda x: gradient(means, x), backend="python")
    rng = np.random.default_rng(3)
    for n, programs in ((20, 1), (20, 1), (21, 2), (20, 2)):
        x = np.concatenate([np.linspace(0.91, 1.0, n), rng.random(100 - n) * 0.3])
        expected = 6.0 * x * (x > 0.9) / n
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-13)
        assert compiled.variants == programs
    program = compiled.source.split("\n\n")[0]
    assert program.count("flatnonzero(") == 3
    assert program.count("] +=") == 2


def test_a_mask_that_is_true_almost_everywhere_stays():
    compiled = compile(lambda x: gradient(lambda x: np.sum(x[x > 0.0] ** 2), x), backend="python")
    x = np.arange(40.0)
    np.testing.assert_array_equal(compiled(x), 2.0 * x)
    assert "flatnonzero(" not in compiled.source


def test_a_stack_of_rows_times_a_matrix_is_one_product():
    compiled = compile(lambda a, b: a @ b, backend="python")
    a, b = np.random.default_rng(0).random((5, 4, 1, 7)), np.random.default_rng(1).random((7, 3))
    for x in (a, np.swapaxes(np.swapaxes(a, 0, 1).copy(), 0, 1)):
        np.testing.assert_allclose(compiled(x, b), x @ b, rtol=1e-14)
    assert ".dot(" in compiled.source
    assert "matmul(" not in compiled.source
    without_columns = np.ones((7, 0))
    assert compiled(a, without_columns).shape == (5, 4, 1, 0)
    assert compiled.eager_because is None
