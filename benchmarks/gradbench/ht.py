"""ht: a hand's skin follows its bones; the distances to measured points, and their Jacobian.

Vertices are weighted sums of what the bones' transforms make of them (linear blend skinning), so
they are one product of a matrix of the model's with all transforms. A measured point corresponds to
a vertex (simple), or to a point on a triangle with the coordinates `us` (complicated); then the
first two columns of the Jacobian are the derivatives by the point's own two coordinates.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from autodiff import compile, jacobian, jvp
from benchmarks.gradbench.protocol import Task

FINGERS, FINGER = 5, 4

# A rotation about one axis is FIXED + cos COS + sin SIN.
FIXED_X, COS_X, SIN_X = np.zeros((3, 4, 4))
FIXED_X[[0, 3], [0, 3]] = COS_X[[1, 2], [1, 2]] = SIN_X[2, 1] = 1.0
SIN_X[1, 2] = -1.0
FIXED_Z, COS_Z, SIN_Z = np.zeros((3, 4, 4))
FIXED_Z[[2, 3], [2, 3]] = COS_Z[[0, 1], [0, 1]] = SIN_Z[1, 0] = 1.0
SIN_Z[0, 1] = -1.0
# v × w is the sum over i of v[i] ACROSS[i] @ w.
ACROSS = np.zeros((3, 3, 3))
ACROSS[[0, 1, 2], [2, 0, 1], [1, 2, 0]] = 1.0
ACROSS[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = -1.0


class Hand(NamedTuple):
    """The model; the bones are in the order of their depth.

    Attributes
    ----------
    skin : array (vertices, 4 * bones)
        Each vertex as it is at rest, times the weight of each bone.
    at_rest, inverses : array (bones, 4, 4)
        The bones' transforms relative to their parents, and the inverses of the absolute ones.
    levels : tuple
        For each depth below the roots: where its bones are, and the places of their parents among
        those of the depth above.
    bends : array (bones, 2, parameters)
        Which parameters are the bones' angles about x and z.
    """

    skin: np.ndarray
    at_rest: np.ndarray
    inverses: np.ndarray
    levels: tuple
    bends: np.ndarray
    is_mirrored: bool


def rotation_about(axis_angle: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(axis_angle)
    if angle < 1e-4:
        return np.eye(3)
    across = np.tensordot(axis_angle / angle, ACROSS, axes=1)
    return np.eye(3) + np.sin(angle) * across + (1.0 - np.cos(angle)) * (across @ across)


def vertices(theta: np.ndarray, hand: Hand) -> np.ndarray:
    angles = (hand.bends @ theta[6:])[:, :, None, None]
    cosines, sines = np.cos(angles), np.sin(angles)
    about_x = FIXED_X + cosines[:, 0] * COS_X + sines[:, 0] * SIN_X
    about_z = FIXED_Z + cosines[:, 1] * COS_Z + sines[:, 1] * SIN_Z
    relatives = hand.at_rest @ about_z @ about_x
    roots = hand.levels[0][0].start
    absolutes = [relatives[:roots]]
    for bones, parents in hand.levels:
        absolutes.append(absolutes[-1][parents] @ relatives[bones])
    transforms = np.concatenate(absolutes) @ hand.inverses
    columns = np.reshape(np.transpose(transforms[:, :3], (0, 2, 1)), (-1, 3))
    turn = rotation_about(theta[:3]).T
    if hand.is_mirrored:
        turn = np.array([[-1.0], [1.0], [1.0]]) * turn
    return hand.skin @ (columns @ turn) + theta[3:6]


def simple(theta: np.ndarray, hand: Hand, found: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points - vertices(theta, hand)[found]


def complicated(
    theta: np.ndarray, us: np.ndarray, hand: Hand, found: np.ndarray, points: np.ndarray
) -> np.ndarray:
    corners = vertices(theta, hand)[found]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    u, v = us[:, :1], us[:, 1:]
    return points - (u * a + v * b + (1.0 - u - v) * c)


def simple_jacobian(theta: np.ndarray, *rest: Any) -> np.ndarray:
    of_theta = jacobian(simple, theta, *rest, argnums=0, mode="forward")
    return np.reshape(of_theta, (-1, len(theta)))


def complicated_jacobian(theta: np.ndarray, us: np.ndarray, *rest: Any) -> np.ndarray:
    of_theta = jacobian(complicated, theta, us, *rest, argnums=0, mode="forward")
    by_own = [
        jvp(lambda us: complicated(theta, us, *rest), (us,), (np.zeros_like(us) + unit,))[1]
        for unit in np.eye(2)
    ]
    both = np.concatenate([np.stack(by_own, axis=-1), of_theta], axis=-1)
    return np.reshape(both, (-1, len(theta) + 2))


def by_depth(parents: list[int]) -> tuple[np.ndarray, tuple]:
    """The bones in the order of their depth, and the levels of a `Hand`."""
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent == -1 else depth[parent] + 1)
    order = np.argsort(depth, kind="stable")
    place = np.argsort(order)
    ends = np.cumsum(np.bincount(depth))
    begins = [0, *ends]
    levels = [
        (slice(begin, end), place[np.array(parents)[order[begin:end]]] - begins[d])
        for d, (begin, end) in enumerate(itertools.pairwise(ends))
    ]
    return order, tuple(levels)


def bends_of(bones: int) -> np.ndarray:
    """A finger's first bone bends about x and z, the next two about x, its tip does not."""
    bends = np.zeros((bones, 2, FINGERS * FINGER))
    for k in range(FINGERS):
        bone = 2 + FINGER * k
        for i, (b, axis) in enumerate([(bone, 0), (bone, 1), (bone + 1, 0), (bone + 2, 0)]):
            bends[b, axis, FINGER * k + i] = 1.0
    return bends


def prepare(given: dict[str, Any]) -> tuple:
    data = given["data"]
    model = data["model"]
    order, levels = by_depth(model["parents"])
    rest, weights = np.array(model["base_positions"]), np.array(model["weights"])[:, order]
    hand = Hand(
        np.reshape(weights[:, :, None] * rest[:, None, :], (len(rest), -1)),
        np.array(model["base_relatives"])[order],
        np.array(model["inverse_base_absolutes"])[order],
        levels,
        bends_of(len(order))[order],
        bool(model["is_mirrored"]),
    )
    theta, points = np.array(given["theta"]), np.array(data["points"])
    found = np.array(data["correspondences"])
    us = given.get("us", [])
    if not len(us):
        return theta, hand, found, points
    return theta, np.array(us), hand, np.array(model["triangles"])[found], points


# A Jacobian is thousands of steps on small arrays: machine code of them takes minutes.
fast = {f: compile(f) for f in (simple, complicated)}
fast |= {f: compile(f, backend="python") for f in (simple_jacobian, complicated_jacobian)}


def objective(*args: Any) -> np.ndarray:
    return np.ravel(fast[simple if len(args) == 4 else complicated](*args))


def slopes(*args: Any) -> np.ndarray:
    return fast[simple_jacobian if len(args) == 4 else complicated_jacobian](*args)


TASKS = {
    "objective": Task(prepare, objective, np.ndarray.tolist),
    "jacobian": Task(prepare, slopes, np.ndarray.tolist),
}
