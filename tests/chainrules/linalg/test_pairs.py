import numpy as np
import pytest

import autodiff
from chainrules.linalg.pairs import singular_pair
from chainrules_core.testing.inputs.domains import separated_singular_values

A = separated_singular_values(40, 33, rng=1)
Z = separated_singular_values(33, 40, complex, rng=2)


@pytest.mark.parametrize(
    "a", [A, A.T, Z, np.asfortranarray(Z)], ids=["tall", "wide", "complex", "F"]
)
@pytest.mark.parametrize("k", [0, -1, 5])
def test_the_pair_is_that_of_the_decomposition(a, k):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    found = singular_pair(a, s[k])
    assert found is not None
    np.testing.assert_allclose(
        np.outer(found[0], found[1].conj()), np.outer(u[:, k], vh[k]), atol=1e-11
    )


def rotated(s, seed=3):
    """A matrix with these singular values."""
    rng = np.random.default_rng(seed)
    q, p = (np.linalg.qr(rng.standard_normal((len(s), len(s))))[0] for _ in range(2))
    return (q * s) @ p.T


@pytest.mark.parametrize(
    "a",
    [
        A[:20],
        A[:, :10],
        np.vstack([A, A + 1, A - 1]),
        A.astype(np.float32),
        np.zeros((40, 40)),
        2 * np.eye(40),
        np.full((40, 40), np.nan),
        rotated(np.append(3.0, np.linspace(3, 1, 39))),
    ],
    ids=["small", "narrow", "tall", "single", "zeros", "equal", "nan", "two equal"],
)
def test_what_is_left_to_the_decomposition(a):
    largest = np.linalg.norm(a, 2) if np.all(np.isfinite(a)) else np.nan
    assert singular_pair(a, largest) is None


def test_a_value_that_is_none_of_the_matrix():
    assert singular_pair(A, 1.01 * np.linalg.norm(A, 2)) is None


def test_a_small_value_beside_large_ones():
    a = rotated(np.geomspace(1, 1e-9, 40))
    assert singular_pair(a, np.linalg.norm(a, -2)) is None


def test_equal_values_share_the_gradient():
    found = autodiff.gradient(lambda x: np.linalg.norm(x, 2), 2 * np.eye(40))
    np.testing.assert_allclose(found, np.eye(40) / 40, atol=1e-14)
