"""Distances of samples with values in common, which each may move alone."""

import numpy as np
import pytest
from scipy import stats

V = np.arange(1.0, 6.0)
X = np.array([1.0, 2.0, 1.0, 3.0, 2.0])
G = np.array([0.3, -1.2, 0.8, 2.1, 0.45])
H = np.array([0.1, 1.3, -0.4, 0.9, -2.0, 0.65])
W = np.array([0.4, 1.1, 0.3, 2.0, 0.7])


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: stats.wasserstein_distance(x, V), X),
        (lambda x: stats.wasserstein_distance([3, 4, 5], x), X),
        (lambda x: stats.energy_distance(x, V), X),
        (lambda x: stats.wasserstein_distance(x, H, W), G),
        (lambda w: stats.wasserstein_distance(G, H, w, np.append(w, 0.4)), W),
        (lambda w: stats.energy_distance(G, H, v_weights=np.append(w, 0.4)), W),
        (lambda w: stats.energy_distance(V, X, w), W),
    ],
)
def test_values_in_common(f, x, check_modes):
    check_modes(f, x, twice=False, each=True)
