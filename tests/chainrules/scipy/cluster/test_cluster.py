import numpy as np
import pytest
from scipy.cluster import hierarchy, vq

import autodiff
from chainrules.refused import RefusedError

RNG = np.random.default_rng(3)
A, B = RNG.uniform(0.2, 1, (6, 3)), RNG.uniform(0.2, 1, (2, 3))
Z = hierarchy.linkage(A)
REFUSED = {
    "linkage average centroid complete median single ward weighted": (A,),
    "cophenet inconsistent maxdists from_mlab_linkage to_mlab_linkage": (Z,),
    "maxinconsts optimal_leaf_ordering": (Z, Z),
    "maxRstat": (Z, Z, 1),
    "fcluster fclusterdata": (A, 0.5),
}
ROWS = [(name, args) for names, args in REFUSED.items() for name in names.split()]


def test_distances_from_centres(check_traced):
    check_traced(lambda x, c: vq.vq(x, c)[1], A, B)
    check_traced(vq.whiten, A)


@pytest.mark.parametrize("name, args", ROWS)
def test_hierarchies_are_refused(name, args):
    f = getattr(hierarchy, name)
    with pytest.raises(RefusedError, match="comparisons"):
        autodiff.gradient(lambda x: f(x, *args[1:]), args[0])


@pytest.mark.parametrize("f", [vq.kmeans, vq.kmeans2])
def test_iterations_are_refused(f):
    with pytest.raises(RefusedError, match="iterations"):
        autodiff.gradient(lambda x: np.sum(f(x, 2)[0]), A)
