"""Sample calls of the public functions in many forms, against differences of what they compute.

The parameters of each call are arrays of this module; all of them vary.
"""

import inspect

import numpy as np
import pytest
from scipy import spatial
from scipy.spatial import distance, transform
from scipy.spatial.transform import Rotation as Ro, Slerp

import autodiff
from chainrules_core import ChainRulesError
from tests.helpers import normal_draws

# SciPy 1.18 has deprecated distance_matrix and minkowski_distance.
pytestmark = pytest.mark.filterwarnings("ignore:.* is deprecated in favor of")

Rigid = getattr(transform, "RigidTransform", None)  # new in SciPy 1.16
_, real, _ = normal_draws(16)


u = real(4)
v = real(4)
X = real(5, 3)
Y = real(4, 3)
pu = np.abs(u) + 0.2
pv = np.abs(v) + 0.1
w = np.array([0.5, 1.0, 2.0, 0.3])
w3 = np.array([0.5, 1.2, 0.7])
V4 = np.array([0.6, 1.1, 0.9, 1.4])
VI = np.eye(3) + 0.1 * np.ones((3, 3))
VI4 = np.eye(4) + 0.1
p = 2.7
dd = np.array([0.4, 1.1, 0.7, 1.9, 0.5, 0.8])
ang = 0.7
e3 = np.array([0.3, -0.4, 0.8])
q = np.array([0.2, 0.3, -0.4, 0.8])
qq = real(2, 4)
rv = np.array([0.2, 0.5, -0.3])
rvs = real(2, 3) * 0.5
M = Ro.from_rotvec([0.2, 0.5, -0.3]).as_matrix()
pts = real(3, 3)
vec = real(3)
ts = np.array([0.1, 0.6])
trans = real(3)
obs = np.concatenate([real(6, 2), real(6, 2) + 4])
obs5 = real(6, 2)
poly = np.array([[0, 0], [2.0, 0.1], [2.2, 1.9], [0.1, 2.1], [1.0, 1.0]])
s = 1.3


def unit(q):
    return q / np.linalg.norm(q)


CALLS = [
    lambda u, v: distance.euclidean(u, v),
    lambda u, v, w: distance.euclidean(u, v, w),
    lambda u, v: distance.sqeuclidean(u, v),
    lambda u, v, w: distance.sqeuclidean(u, v, w),
    lambda u, v: distance.cityblock(u, v),
    lambda u, v, w: distance.cityblock(u, v, w),
    lambda u, v: distance.chebyshev(u, v),
    lambda u, v, w: distance.chebyshev(u, v, w),
    lambda u, v: distance.braycurtis(u, v),
    lambda u, v, w: distance.braycurtis(u, v, w),
    lambda u, v: distance.canberra(u, v),
    lambda u, v, w: distance.canberra(u, v, w),
    lambda u, v: distance.correlation(u, v),
    lambda u, v, w: distance.correlation(u, v, w),
    lambda u, v: distance.cosine(u, v),
    lambda u, v, w: distance.cosine(u, v, w),
    lambda u, v: distance.minkowski(u, v),
    lambda u, v, p: distance.minkowski(u, v, p),
    lambda u, v, VI4: distance.mahalanobis(u, v, VI4),
    lambda u, v, VI4: distance.mahalanobis(u=u, v=v, VI=VI4),
    lambda u, v, V4: distance.seuclidean(u, v, V4),
    lambda pu, pv: distance.jensenshannon(pu, pv),
    lambda pu, pv: distance.jensenshannon(pu, pv, 2.0),
    lambda dd: distance.squareform(dd),
    lambda dd: distance.squareform(dd, "tomatrix", False),
    lambda X, Y: distance.directed_hausdorff(X, Y)[0],
    lambda X, Y: distance.directed_hausdorff(X, Y, 3)[0],
    lambda X, Y: distance.cdist(X, Y, "euclidean"),
    lambda X: distance.pdist(X, "euclidean"),
    lambda X, Y: distance.cdist(X, Y + 1, metric="euclidean"),
    lambda X, w3: distance.pdist(X, "euclidean", w=w3),
    lambda u, v, s: distance.hamming(u, v) * s,
    lambda dd, s: distance.num_obs_y(dd) * s,
    lambda X, Y: spatial.distance_matrix(X, Y),
    lambda X, Y: spatial.distance_matrix(X, Y, 1),
    lambda u, v: spatial.minkowski_distance(u, v),
    lambda u, v: spatial.minkowski_distance(u, v, 3),
    lambda u, v: spatial.minkowski_distance_p(u, v, 3),
    lambda u, v: spatial.minkowski_distance_p(u, v, np.inf),
    lambda X: spatial.procrustes(X, X**2 + X[::-1]),
    lambda u, v: spatial.geometric_slerp(unit(u[:3]), unit(v[:3]), 0.3),
    lambda u, v, ts: spatial.geometric_slerp(unit(u[:3]), unit(v[:3]), ts),
    lambda X, Y: spatial.cKDTree(X).query(Y)[0],
    lambda X, Y: spatial.KDTree(X).query(Y)[0],
    lambda X, Y: spatial.KDTree(X).query(Y, 2)[0],
    lambda X, Y: spatial.cKDTree(X).query(Y, k=[1, 3])[0],
    lambda X, vec, s: len(spatial.KDTree(X).query_ball_point(vec, 1.0)) * s,
    lambda X, Y: X[spatial.KDTree(X).query(Y)[1]],
    lambda poly: spatial.ConvexHull(poly).volume,
    lambda poly: spatial.ConvexHull(poly).area,
    lambda poly: poly[spatial.ConvexHull(poly).vertices],
    lambda s: spatial.Rectangle([1.0, 2.0], [0.0, 0.0]).volume() * s,
    lambda q: Ro.from_quat(q).as_matrix(),
    lambda q: Ro.from_quat(q, scalar_first=True).as_matrix(),
    lambda rv: Ro.from_rotvec(rv).as_matrix(),
    lambda rvs: Ro.from_rotvec(rvs).as_matrix(),
    lambda M: Ro.from_matrix(M).as_rotvec(),
    lambda M: Ro.from_matrix(M).as_quat(),
    lambda ang: Ro.from_euler("z", ang).as_matrix(),
    lambda e3: Ro.from_euler("xyz", e3).as_matrix(),
    lambda rv: Ro.from_mrp(rv).as_matrix(),
    lambda e3: Ro.from_davenport(np.eye(3), "extrinsic", e3).as_matrix(),
    lambda rv, q: Ro.concatenate([Ro.from_rotvec(rv), Ro.from_quat(q)]).as_quat(),
    lambda pts, M: Ro.align_vectors(pts, pts @ M + 0.1)[0].as_matrix(),
    lambda pts: Ro.align_vectors(pts, pts[::-1])[1],
    lambda vec: Ro.identity().apply(vec),
    lambda vec: Ro.random(rng=0).apply(vec),
    lambda rvs: Slerp([0, 1], Ro.from_rotvec(rvs))(0.3).as_rotvec(),
    lambda rvs, ts: Slerp([0.0, 1.0], Ro.from_rotvec(rvs))(ts).as_matrix(),
    lambda trans: Rigid.from_translation(trans).as_matrix(),
    lambda trans, rv: Rigid.from_components(trans, Ro.from_rotvec(rv)).as_matrix(),
    lambda trans, rv, pts: Rigid.from_components(trans, Ro.from_rotvec(rv)).apply(pts),
    lambda rv, trans: Rigid.from_exp_coords(np.concatenate([rv, trans])).as_matrix(),
    lambda rv, trans: Rigid.from_rotation(Ro.from_rotvec(rv)).translation + trans,
]


@pytest.mark.parametrize("f", CALLS)
def test_call(f, check_call, value_of):
    xs = [globals()[name] for name in inspect.signature(f).parameters]
    rotates = {"Ro", "Slerp", "Rigid"} & set(f.__code__.co_names)
    if not rotates or hasattr(transform._rotation, "select_backend"):
        check_call(f, *xs)
        return
    value_of(f, *xs)
    with pytest.raises(ChainRulesError):  # SciPy 1.15 compiles rotations
        autodiff.pullback(f, *xs)
