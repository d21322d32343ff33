import numpy as np
import pytest
from scipy.cluster import vq

RNG = np.random.default_rng(3)
A, B = RNG.uniform(0.2, 1, (6, 3)), RNG.uniform(0.2, 1, (2, 3))


def test_distances_from_centres(check_traced):
    check_traced(lambda x, c: vq.vq(x, c)[1], A, B)
    check_traced(vq.whiten, A)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: vq.kmeans(x, c),
        lambda x, c: vq.kmeans(x[:, 0], c[:, 0]),
        lambda x, c: vq.kmeans2(x, c, iter=3)[0],
        lambda x, c: vq.kmeans2(x, np.stack([c[0], c[1], c[1] + 9.0]), iter=1)[0],
        lambda x, c: vq.kmeans2(x, 2, minit="points", rng=1)[0] * np.sum(c),
    ],
)
@pytest.mark.filterwarnings("ignore:One of the clusters is empty")
def test_means_of_clusters(f, check_modes):
    shifts = np.array([0, 0, 2, 2, 0, 2])[:, None]
    check_modes(f, A + shifts, np.array([[0.4, 0.5, 0.6], [2.3, 2.5, 2.4]]))
