"""Distances of two vectors of real numbers."""

import numpy as np
import pytest
from scipy.spatial import distance

import autodiff
from chainrules.scipy.spatial.two_vectors import angle, apart, are_plain
from chainrules_core.testing import check_rule

U, V = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.3, 1.0, -1.5, 2.0])


@pytest.mark.parametrize("is_square", [True, False])
def test_apart(is_square):
    check_rule(apart, U, V, is_square, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize("is_centred", [True, False])
def test_angle(is_centred):
    check_rule(angle, U, V, is_centred, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f", [distance.euclidean, distance.sqeuclidean, distance.cosine, distance.correlation]
)
def test_values_are_those_of_scipy(f):
    for v in (V, U, -U, 3 * U):
        y, bars = autodiff.value_and_gradient(f, U, v)
        assert y == f(U, v)
        assert np.all(np.isfinite(bars))


def test_distance_zero_has_gradient_zero():
    np.testing.assert_array_equal(autodiff.gradient(distance.euclidean, U, U), np.zeros((2, 4)))


def test_what_is_plain():
    assert are_plain(U, V)
    for v in (V[:1], np.float32(V), V * 1j, V.tolist(), V[None], np.int64([1, 2, 3, 4])):
        assert not are_plain(U, v)


@pytest.mark.parametrize("f", [distance.euclidean, distance.cosine])
def test_others_as_before(f):
    w = np.array([1.0, 2.0, 0.5, 1.0])
    for g in (lambda u: f(u, V.tolist()), lambda u: f(u, V, w), lambda u: f(u, [1, 2, 3, 4])):
        numeric = [(g(U + 1e-6 * e) - g(U - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
        np.testing.assert_allclose(autodiff.gradient(g, U), numeric, rtol=1e-6, atol=1e-8)
