import numpy as np
import pytest

from chainrules.linalg.determinants import is_regular
from chainrules.linalg.gaps import (
    are_apart,
    coinciding,
    has_phase_from,
    is_set,
    negligible,
    over_gaps,
    vanishing,
)
from chainrules.linalg.singular import is_from_qr
from chainrules.linalg.spectral import largest_elements
from chainrules_core.testing.checks.check import check_rule

X = np.array([1.0, 1.0 + 1e-16, 2.0])
PART = np.array([[1.0, 1e-17, 2.0], [3.0, 1.0, 4.0], [5.0, 6.0, 1.0]])
TALL = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [1.0, 1.0]])


def test_coinciding_values():
    assert coinciding(X).tolist() == [
        [True, True, False],
        [True, True, False],
        [False, False, True],
    ]
    assert vanishing(np.array([2.0, 1e-16, 0.0])).tolist() == [False, True, True]
    assert vanishing(np.zeros(2)).tolist() == [True, True]
    assert coinciding(np.zeros((2, 0))).shape == (2, 0, 0)


def test_over_gaps():
    expected = [[0, 0, 2], [np.nan, 0, 4], [-5, -6, 0]]
    np.testing.assert_allclose(over_gaps(PART, PART, X), expected, atol=1e-12)
    assert negligible(PART, PART)[0, 1]


@pytest.mark.parametrize(
    "x, expected",
    [
        (np.array([3.0, 1.0, 2.0]), True),
        (X, False),
        (np.array([[1.0, 2.0], [4.0, 4.0]]), False),
        (np.array([1.0, np.nan]), False),
        (np.array([1.0, 2.0]) + 0j, False),
        (np.zeros(0), False),
    ],
)
def test_values_that_are_apart(x, expected):
    assert are_apart(x) is expected


def test_over_gaps_of_values_that_are_apart():
    x, part = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 1.0]]), np.stack([PART, PART * 1j])
    gaps = x[:, None, :] - x[:, :, None] + np.eye(3)
    np.testing.assert_array_equal(over_gaps(part, part, x), (1 - np.eye(3)) * part / gaps)


def test_phases():
    v = np.array([[0.5, 0.5j, 0.0], [0.5j, 0.5, 1.0]])
    assert has_phase_from(v, 0).tolist() == [True, False, False]
    assert has_phase_from(v, -1).tolist() == [False, True, True]


# What is asked of values is constant: a pullback that asks can be differentiated.
QUESTIONS = [
    (coinciding, X),
    (are_apart, X),
    (vanishing, X),
    (negligible, PART, PART),
    (is_set, X),
    (has_phase_from, PART + 0j, 0),
    (largest_elements, PART),
    (is_regular, PART),
    (is_from_qr, np.linalg.svd(TALL)[0][:, 2:], TALL),
    (np.einsum_path, "ij,jk", PART, PART),
]


@pytest.mark.parametrize(
    "f, args", [pytest.param(f, args, id=f.__name__) for f, *args in QUESTIONS]
)
def test_questions(f, args):
    check_rule(f, *args)
