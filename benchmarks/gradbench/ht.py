"""ht: a hand's skin follows its bones; the distances to measured points, and their Jacobian.

Vertices are weighted sums of what the bones' transforms make of them (linear blend skinning), so
they are one product of a matrix of the model's with all transforms. A measured point corresponds to
a vertex (simple), or to a point on a triangle with the coordinates `us` (complicated); then the
first two columns of the Jacobian are the derivatives by the point's own two coordinates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff import compile, jacobian, jvp
from benchmarks.gradbench.protocol import Task

FINGERS, FINGER = 5, 4


class Hand(NamedTuple):
    """The model.

    Attributes
    ----------
    skin : array (vertices, 4 * bones)
        Each vertex as it is at rest, times the weight of each bone.
    at_rest, inverses : array (bones, 4, 4)
        The bones' transforms relative to their parents, and the inverses of the absolute ones.
    levels : tuple
        Bones of one depth and the places of their parents, from the roots outwards.
    """

    skin: np.ndarray
    at_rest: np.ndarray
    inverses: np.ndarray
    levels: tuple
    is_mirrored: bool


def rotation_about(axis_angle: np.ndarray) -> np.ndarray:
    angle = np.linalg.norm(axis_angle)
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = axis_angle / angle
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * across + (1.0 - np.cos(angle)) * (across @ across)


def bent(theta: np.ndarray, bones: int) -> np.ndarray:
    """The bones' own rotations, z after x: a finger's first bone has both, the next two have x."""
    fingers = np.reshape(theta, (FINGERS, FINGER))
    x, z = np.zeros((2, bones))
    for k in range(FINGERS):
        first = 2 + FINGER * k
        x[first] = fingers[k, 0]
        z[first] = fingers[k, 1]
        x[first + 1 : first + 3] = fingers[k, 2:]
    cx, sx, cz, sz = np.cos(x), np.sin(x), np.cos(z), np.sin(z)
    turned = np.zeros((bones, 4, 4))
    turned[:, 0, 0], turned[:, 0, 1], turned[:, 0, 2] = cz, -sz * cx, sz * sx
    turned[:, 1, 0], turned[:, 1, 1], turned[:, 1, 2] = sz, cz * cx, -cz * sx
    turned[:, 2, 1], turned[:, 2, 2] = sx, cx
    turned[:, 3, 3] = 1.0
    return turned


def vertices(theta: np.ndarray, hand: Hand) -> np.ndarray:
    relatives = hand.at_rest @ bent(theta[6:], len(hand.at_rest))
    absolutes = np.zeros_like(hand.at_rest)
    for bones, parents in hand.levels:
        own = relatives[bones]
        absolutes[bones] = own if parents is None else absolutes[parents] @ own
    transforms = absolutes @ hand.inverses
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


def levels_of(parents: list[int]) -> tuple:
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent == -1 else depth[parent] + 1)
    levels = []
    for d in range(max(depth) + 1):
        bones = np.flatnonzero(np.array(depth) == d)
        levels.append((bones, np.array(parents)[bones] if d else None))
    return tuple(levels)


def prepare(given: dict[str, Any]) -> tuple:
    data = given["data"]
    model = data["model"]
    rest, weights = np.array(model["base_positions"]), np.array(model["weights"])
    hand = Hand(
        np.reshape(weights[:, :, None] * rest[:, None, :], (len(rest), -1)),
        np.array(model["base_relatives"]),
        np.array(model["inverse_base_absolutes"]),
        levels_of(model["parents"]),
        bool(model["is_mirrored"]),
    )
    theta, points = np.array(given["theta"]), np.array(data["points"])
    found = np.array(data["correspondences"])
    us = given.get("us", [])
    if not len(us):
        return theta, hand, found, points
    return theta, np.array(us), hand, np.array(model["triangles"])[found], points


fast = {f: compile(f) for f in (simple, complicated, simple_jacobian, complicated_jacobian)}


def objective(*args: Any) -> np.ndarray:
    return np.ravel(fast[simple if len(args) == 4 else complicated](*args))


def slopes(*args: Any) -> np.ndarray:
    return fast[simple_jacobian if len(args) == 4 else complicated_jacobian](*args)


TASKS = {
    "objective": Task(prepare, objective, np.ndarray.tolist),
    "jacobian": Task(prepare, slopes, np.ndarray.tolist),
}
