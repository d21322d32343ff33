"""Exact numbers have no derivative: a clear error, or a constant where nothing is traced."""

import decimal
import fractions

import pytest

import autodiff
from chainrules.refused import RefusedError


@pytest.mark.parametrize(
    "f",
    [
        lambda x: float(fractions.Fraction(x)),
        lambda x: float(decimal.Decimal(x)),
        lambda x: float(decimal.Decimal.from_float(x)),
    ],
)
def test_an_exact_number_of_a_traced_one_is_refused(f):
    with pytest.raises(RefusedError, match="an exact number has no derivative"):
        autodiff.gradient(f, 0.5)
    with pytest.raises(RefusedError, match="an exact number has no derivative"):
        autodiff.pushforward(f, 0.5)[1](1.0)


@pytest.mark.parametrize(
    "f, slope",
    [
        (lambda x: fractions.Fraction(1, 4) * x, 0.25),
        (lambda x: x / fractions.Fraction(1, 4), 4.0),
        (lambda x: float(decimal.Decimal("0.25")) * x, 0.25),
        (lambda x: x ** int(fractions.Fraction("2")), 1.0),
    ],
)
def test_exact_constants(f, slope):
    assert autodiff.gradient(f, 0.5) == slope


def test_exact_numbers_cannot_be_perturbed():
    with pytest.raises(autodiff.ArgumentError, match="nothing to differentiate"):
        autodiff.gradient(lambda x: float(x), fractions.Fraction(1, 3))
    with pytest.raises(autodiff.ArgumentError, match="nothing to differentiate"):
        autodiff.gradient(lambda x: float(x), decimal.Decimal(1))
    given = [fractions.Fraction(1, 3), 2.0, decimal.Decimal(1)]
    assert autodiff.gradient(lambda x: x[1] * x[1], given) == [None, 4.0, None]
