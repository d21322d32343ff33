import numpy as np
import pytest
from scipy.cluster import vq

import autodiff
from chainrules.refused import RefusedError

RNG = np.random.default_rng(3)
A, B = RNG.uniform(0.2, 1, (6, 3)), RNG.uniform(0.2, 1, (2, 3))


def test_distances_from_centres(check_traced):
    check_traced(lambda x, c: vq.vq(x, c)[1], A, B)
    check_traced(vq.whiten, A)


@pytest.mark.parametrize("f", [vq.kmeans, vq.kmeans2])
def test_iterations_are_refused(f):
    with pytest.raises(RefusedError, match="iterations"):
        autodiff.gradient(lambda x: np.sum(f(x, 2)[0]), A)
