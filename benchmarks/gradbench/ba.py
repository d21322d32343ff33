"""ba: reprojection errors of a bundle adjustment, and their sparse Jacobian.

An observation's two errors depend on the eleven parameters of its camera, its point and its weight
alone: 2 × 15 elements. The observations are worked on all at once, so the gradient of the sum of
the first errors with respect to the cameras *as observed* (one row for each observation) holds the
first rows of all these blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task

CAMERA, POINT = 11, 3
BLOCK = CAMERA + POINT + 1


class Sparse(NamedTuple):
    """A matrix by rows: those of row i are at rows[i]:rows[i + 1]."""

    rows: np.ndarray
    cols: np.ndarray
    vals: np.ndarray


def cross(a: tuple, b: tuple) -> tuple:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def rotated(rotation: tuple, point: tuple) -> tuple:
    """Rodrigues' formula; the rotation of angle zero has the derivative of its linear part."""
    squared = sum(r * r for r in rotation)
    still = squared == 0.0
    angle = np.sqrt(np.where(still, 1.0, squared))
    cosine, sine = np.cos(angle), np.sin(angle)
    axis = tuple(r / angle for r in rotation)
    turned = cross(axis, point)
    along = sum(a * p for a, p in zip(axis, point, strict=True)) * (1.0 - cosine)
    nudged = cross(rotation, point)
    return tuple(
        np.where(still, p + b, p * cosine + t * sine + a * along)
        for p, t, a, b in zip(point, turned, axis, nudged, strict=True)
    )


def errors(cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray) -> tuple:
    """The errors of all observations, first and second coordinates apart; a parameter is a row."""
    centre, (focal, u0, v0, k1, k2) = cameras[3:6], cameras[6:]
    x, y, z = rotated(tuple(cameras[:3]), tuple(p - c for p, c in zip(points, centre, strict=True)))
    x, y = x / z, y / z
    radius = x * x + y * y
    scale = focal * (1.0 + k1 * radius + k2 * radius * radius)
    return w * (x * scale + u0 - feats[0]), w * (y * scale + v0 - feats[1])


def regularity(w: np.ndarray) -> np.ndarray:
    return 1.0 - w * w


def values(
    cameras: np.ndarray,
    points: np.ndarray,
    w: np.ndarray,
    feats: np.ndarray,
    obs: np.ndarray,
) -> np.ndarray:
    """The elements of the Jacobian, row by row."""
    seen = (cameras[:, obs[0]], points[:, obs[1]], w)
    blocks = [gradient(lambda *a, i=i: np.sum(errors(*a, feats)[i]), *seen) for i in (0, 1)]
    p = len(w)
    found = np.empty((p, 2, BLOCK))
    for i, (of_camera, of_point, of_weight) in enumerate(blocks):
        found[:, i, :CAMERA] = of_camera.T
        found[:, i, CAMERA:-1] = of_point.T
        found[:, i, -1] = of_weight
    return np.concatenate([np.ravel(found), gradient(lambda w: np.sum(regularity(w)), w)])


def pattern(n: int, m: int, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows begin, and the column of each element."""
    p = obs.shape[1]
    rows = np.arange(0, 2 * BLOCK * p + p + 1, dtype=np.int32)
    ends = np.concatenate([rows[: 2 * BLOCK * p : BLOCK], rows[2 * BLOCK * p :]])
    weights = CAMERA * n + POINT * m + np.arange(p, dtype=np.int32)
    cols = np.empty((p, 2, BLOCK), np.int32)
    cols[:, :, :CAMERA] = (CAMERA * obs[0])[:, None, None] + np.arange(CAMERA)
    cols[:, :, CAMERA:-1] = (CAMERA * n + POINT * obs[1])[:, None, None] + np.arange(POINT)
    cols[:, :, -1] = weights[:, None]
    return ends, np.concatenate([np.ravel(cols), weights])


fast_values = compile(values)


def jacobian(
    cameras: np.ndarray,
    points: np.ndarray,
    w: np.ndarray,
    feats: np.ndarray,
    obs: np.ndarray,
) -> Sparse:
    rows, cols = pattern(cameras.shape[1], points.shape[1], obs)
    return Sparse(rows, cols, fast_values(cameras, points, w, feats, obs))


def objective(
    cameras: np.ndarray,
    points: np.ndarray,
    w: np.ndarray,
    feats: np.ndarray,
    obs: np.ndarray,
) -> tuple:
    return errors(cameras[:, obs[0]], points[:, obs[1]], w, feats), regularity(w)


def prepare(given: dict[str, Any]) -> tuple:
    """The one camera, point, weight and feature are repeated; observations go round."""
    n, m, p = given["n"], given["m"], given["p"]

    def repeated(one: list[float], times: int) -> np.ndarray:
        return np.repeat(np.array(one)[:, None], times, axis=1)

    obs = np.stack([np.arange(p) % n, np.arange(p) % m]).astype(np.int32)
    cameras, points = repeated(given["cam"], n), repeated(given["x"], m)
    return cameras, points, np.full(p, float(given["w"])), repeated(given["feat"], p), obs


def report_errors(found: tuple) -> dict[str, Any]:
    (first, second), weights = found
    return {
        "reproj_error": {"elements": [float(first[0]), float(second[0])], "repeated": len(first)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def report_jacobian(found: Sparse) -> dict[str, list]:
    """The blocks are all alike: the first and the very last element of each list."""
    first = 2 * BLOCK
    return {
        name: [*part[:first].tolist(), part[-1].item()] for name, part in found._asdict().items()
    }


TASKS = {
    "objective": Task(prepare, compile(objective), report_errors),
    "jacobian": Task(prepare, jacobian, report_jacobian),
}
