"""ba: reprojection errors of a bundle adjustment, and their sparse Jacobian.

An observation's two errors depend on the eleven parameters of its camera, its point and its weight
alone: a block of 2 × 15 elements of the Jacobian. Many observations are worked on at once, each of
the fifteen a vector; the gradient of the sum of their first errors holds the first rows of all
their blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task

CAMERA, POINT = 11, 3
BLOCK = CAMERA + POINT + 1
# So many observations at once stay in the cache.
AT_ONCE = 4096

Vector = Sequence[np.ndarray]


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


def dot(a: Vector, b: Vector) -> np.ndarray:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def rotated(r: Vector, x: Vector) -> Vector:
    """Rodrigues' formula; where the angle is zero, its linear part."""
    squared = dot(r, r)
    still = squared == 0.0
    squared = np.where(still, 1.0, squared)
    angle = np.sqrt(squared)
    cosine = np.where(still, 1.0, np.cos(angle))
    sine = np.where(still, 1.0, np.sin(angle) / angle)
    along = np.where(still, 0.0, dot(r, x) * (1.0 - cosine) / squared)
    return tuple(
        cosine * x_i + sine * c_i + along * r_i
        for x_i, c_i, r_i in zip(x, cross(r, x), r, strict=True)
    )


def errors(observed: Vector, feats: Vector) -> tuple[np.ndarray, np.ndarray]:
    """The two errors of observations, given as the fifteen vectors that they depend on."""
    rotation, centre, (focal, u0, v0, k1, k2), point, w = (
        observed[:3],
        observed[3:6],
        observed[6:CAMERA],
        observed[CAMERA:-1],
        observed[-1],
    )
    x, y, z = rotated(rotation, [p - c for p, c in zip(point, centre, strict=True)])
    x, y = x / z, y / z
    radius = x * x + y * y
    scale = focal * (1.0 + radius * (k1 + radius * k2))
    return w * (x * scale + u0 - feats[0]), w * (y * scale + v0 - feats[1])


def regularity(w: np.ndarray) -> np.ndarray:
    return 1.0 - w * w


@compile(backend="python")  # NumPy is as fast on 4096 elements, and there in half a second
def blocks(observed: Vector, feats: Vector) -> list[Vector]:
    """The first and the second rows of the blocks of some observations."""

    def total(observed: Vector, which: int) -> float:
        return np.sum(errors(observed, feats)[which])

    return [gradient(total, observed, which, argnums=0) for which in (0, 1)]


@compile
def of_weights(w: np.ndarray) -> np.ndarray:
    return gradient(lambda w: np.sum(regularity(w)), w)


def observed_by(part: slice, cameras: Any, points: Any, w: Any, obs: Any) -> list[np.ndarray]:
    return [*cameras[:, obs[0, part]], *points[:, obs[1, part]], w[part]]


def values(
    cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray, obs: np.ndarray
) -> np.ndarray:
    """The elements of the Jacobian, row by row."""
    p = len(w)
    vals = np.empty(2 * BLOCK * p + p)
    of_errors = np.reshape(vals[:-p], (p, 2, BLOCK))
    for start in range(0, p, AT_ONCE):
        part = slice(start, start + AT_ONCE)
        found = blocks(observed_by(part, cameras, points, w, obs), feats[:, part])
        for row, columns in enumerate(found):
            np.stack(columns, axis=1, out=of_errors[part, row])
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
    rows, cols = pattern(cameras.shape[1], points.shape[1], obs)
    return Sparse(rows, cols, values(cameras, points, w, feats, obs))


def objective(
    cameras: np.ndarray, points: np.ndarray, w: np.ndarray, feats: np.ndarray, obs: np.ndarray
) -> tuple:
    observed = observed_by(slice(None), cameras, points, w, obs)
    return errors(observed, feats), regularity(w)


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
