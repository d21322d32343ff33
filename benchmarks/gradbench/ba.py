"""ba: reprojection errors of a bundle adjustment, and their sparse Jacobian.

An observation's two errors depend on the eleven parameters of its camera, its point and its weight
alone: a block of 2 × 15 elements of the Jacobian. Each observation has a row of these fifteen, so
the gradient of the sum of all first errors by the rows holds the first rows of all blocks. With
llvmlite, the loop over the observations is machine code.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task

CAMERA, POINT = 11, 3
BLOCK = CAMERA + POINT + 1

Vector = tuple[float, float, float]


class Sparse(NamedTuple):
    """A matrix by rows: those of row i are at rows[i]:rows[i + 1]."""

    rows: np.ndarray
    cols: np.ndarray
    vals: np.ndarray


def cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def combined(a: float, x: Vector, b: float, y: Vector, c: float, z: Vector) -> Vector:
    """The sum of multiples of three vectors."""
    return (
        a * x[0] + b * y[0] + c * z[0],
        a * x[1] + b * y[1] + c * z[1],
        a * x[2] + b * y[2] + c * z[2],
    )


def rotated(r: Vector, x: Vector) -> Vector:
    """Rodrigues' formula; where the angle is zero, its linear part."""
    squared = dot(r, r)
    if squared == 0.0:
        return combined(1.0, x, 1.0, cross(r, x), 0.0, r)
    angle = math.sqrt(squared)
    cosine, sine = math.cos(angle), math.sin(angle) / angle
    return combined(cosine, x, sine, cross(r, x), dot(r, x) * (1.0 - cosine) / squared, r)


def error(camera: np.ndarray, point: np.ndarray, w: float, feat: np.ndarray) -> tuple[float, float]:
    """The two errors of an observation."""
    focal, u, v, k1, k2 = camera[6], camera[7], camera[8], camera[9], camera[10]
    away = (point[0] - camera[3], point[1] - camera[4], point[2] - camera[5])
    x, y, z = rotated((camera[0], camera[1], camera[2]), away)
    x, y = x / z, y / z
    radius = x * x + y * y
    scale = focal * (1.0 + radius * (k1 + radius * k2))
    return w * (x * scale + u - feat[0]), w * (y * scale + v - feat[1])


@compile
def errors(
    cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray, obs: np.ndarray
) -> np.ndarray:
    """The errors of all observations, and of camera and point of each of them."""
    found = np.empty((len(w), 2))
    for k in range(len(w)):
        camera, point = cameras[obs[0, k]], points[obs[1, k]]
        found[k, 0], found[k, 1] = error(camera, point, w[k], feats[k])
    return found


def total(rows: np.ndarray, feats: np.ndarray, which: int) -> float:
    """The sum of the first or the second errors of observations that are given as rows."""
    found = 0.0
    for k in range(len(rows)):
        row = rows[k]
        first, second = error(row[:CAMERA], row[CAMERA:], row[CAMERA + POINT], feats[k])
        found += second if which else first
    return found


def regularity(w: np.ndarray) -> np.ndarray:
    return 1.0 - w * w


@compile
def blocks(rows: np.ndarray, feats: np.ndarray, which: int) -> np.ndarray:
    """The first or the second rows of the blocks of all observations."""
    return gradient(total, rows, feats, which, argnums=0)


@compile
def of_weights(w: np.ndarray) -> np.ndarray:
    return gradient(lambda w: np.sum(regularity(w)), w)


def gathered(cameras: np.ndarray, points: np.ndarray, w: np.ndarray, obs: np.ndarray) -> np.ndarray:
    """The row of each observation."""
    return np.concatenate([cameras[obs[0]], points[obs[1]], w[:, None]], axis=1)


def values(
    cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray, obs: np.ndarray
) -> np.ndarray:
    """The elements of the Jacobian, row by row."""
    p = len(w)
    vals = np.empty(2 * BLOCK * p + p)
    of_errors = np.reshape(vals[:-p], (p, 2, BLOCK))
    rows = gathered(cameras, points, w, obs)
    for which in (0, 1):
        of_errors[:, which] = blocks(rows, feats, which)
    vals[-p:] = of_weights(w)
    return vals


def pattern(n: int, m: int, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the rows begin, and the column of each element."""
    p = obs.shape[1]
    rows = np.empty(3 * p + 1, np.int32)
    rows[: 2 * p] = BLOCK * np.arange(2 * p)
    rows[2 * p :] = 2 * BLOCK * p + np.arange(p + 1)
    cols = np.empty(2 * BLOCK * p + p, np.int32)
    of_errors = np.reshape(cols[:-p], (p, 2, BLOCK))
    of_errors[:, :, :CAMERA] = (CAMERA * obs[0])[:, None, None] + np.arange(CAMERA, dtype=np.int32)
    of_errors[:, :, CAMERA:-1] = (CAMERA * n + POINT * obs[1])[:, None, None] + np.arange(
        POINT, dtype=np.int32
    )
    cols[-p:] = CAMERA * n + POINT * m + np.arange(p)
    of_errors[:, :, -1] = cols[-p:, None]
    return rows, cols


def jacobian(
    cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray, obs: np.ndarray
) -> Sparse:
    rows, cols = pattern(len(cameras), len(points), obs)
    return Sparse(rows, cols, values(cameras, points, w, feats, obs))


def objective(
    cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray, obs: np.ndarray
) -> tuple:
    return errors(cameras, points, w, feats, obs), regularity(w)


def prepare(given: dict[str, Any]) -> tuple:
    """The one camera, point, weight and feature are repeated; observations go round."""
    n, m, p = given["n"], given["m"], given["p"]

    def repeated(one: list[float], times: int) -> np.ndarray:
        return np.repeat(np.array(one)[None], times, axis=0)

    obs = np.stack([np.arange(p) % n, np.arange(p) % m]).astype(np.int32)
    cameras, points = repeated(given["cam"], n), repeated(given["x"], m)
    return cameras, points, np.full(p, float(given["w"])), repeated(given["feat"], p), obs


def report_errors(found: tuple) -> dict[str, Any]:
    of_observations, weights = found
    return {
        "reproj_error": {"elements": of_observations[0].tolist(), "repeated": len(weights)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def report_jacobian(found: Sparse) -> dict[str, list]:
    """The blocks are all alike: the first and the very last element of each list."""
    first = 2 * BLOCK
    return {
        name: [*part[:first].tolist(), part[-1].item()] for name, part in found._asdict().items()
    }


TASKS = {
    "objective": Task(prepare, objective, report_errors),
    "jacobian": Task(prepare, jacobian, report_jacobian),
}
