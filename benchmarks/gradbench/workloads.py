"""Inputs like those that GradBench's evals send, made from random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Generator = np.random.Generator


def gmm(rng: Generator, d: int, k: int, n: int) -> dict[str, Any]:
    arrays = {
        "x": rng.normal(size=(n, d)),
        "alpha": rng.normal(size=k),
        "mu": rng.uniform(size=(k, d)),
        "q": rng.normal(size=(k, d)),
        "l": rng.normal(size=(k, d * (d - 1) // 2)),
    }
    given = {name: a.tolist() for name, a in arrays.items()}
    return given | {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0}


def kmeans(rng: Generator, k: int, n: int, d: int) -> dict[str, Any]:
    """No cluster is empty: the centroids are points."""
    points = rng.random((n, d)).tolist()
    return {"points": points, "centroids": points[-k:]}


def lstm(rng: Generator, layers: int, steps: int, bits: int = 14) -> dict[str, Any]:
    arrays = {
        "main_params": rng.random((2 * layers, 4 * bits)),
        "extra_params": rng.random((3, bits)),
        "state": rng.random((2 * layers, bits)),
        "sequence": rng.integers(0, 2, (steps, bits)) * 1.0,
    }
    return {name: a.tolist() for name, a in arrays.items()}


def ba(rng: Generator, n: int, m: int, p: int) -> dict[str, Any]:
    """The camera looks at a point before it."""
    camera, point = 0.1 * rng.normal(size=11), rng.normal(size=3)
    point[2] += 4.0
    given = {"n": n, "m": m, "p": p, "w": float(rng.random())}
    return given | {"cam": camera.tolist(), "x": point.tolist(), "feat": rng.random(2).tolist()}


def rotations(rng: Generator, n: int) -> np.ndarray:
    turned = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    return turned * np.linalg.det(turned)[:, None, None]


def hand(rng: Generator, vertices: int, triangles: int) -> dict[str, Any]:
    """A hand's model: a wrist and an arm, five fingers of four bones each."""
    bones = 22
    transforms = np.zeros((2 * bones, 4, 4))
    transforms[:, :3, :3], transforms[:, 3, 3] = rotations(rng, 2 * bones), 1.0
    transforms[:, :3, 3] = rng.normal(size=(2 * bones, 3))
    parents = [-1, 0] + [1 if k % 4 == 0 else 1 + k for k in range(bones - 2)]
    parents[-1] = -1
    rest = np.concatenate([rng.normal(size=(vertices, 3)), np.ones((vertices, 1))], axis=1)
    return {
        "bone_count": bones,
        "bone_names": [f"bone {i}" for i in range(bones)],
        "parents": parents,
        "base_relatives": transforms[:bones].tolist(),
        "inverse_base_absolutes": transforms[bones:].tolist(),
        "base_positions": rest.tolist(),
        "weights": rng.random((vertices, bones)).tolist(),
        "triangles": rng.integers(0, vertices, (triangles, 3)).tolist(),
        "is_mirrored": False,
    }


def ht(rng: Generator, vertices: int, n: int, is_complicated: bool = True) -> dict[str, Any]:
    data = {
        "model": hand(rng, vertices, vertices),
        "correspondences": rng.integers(0, vertices, n).tolist(),
        "points": rng.normal(size=(n, 3)).tolist(),
    }
    us = rng.random((n if is_complicated else 0, 2)).tolist()
    return {"theta": rng.normal(size=26).tolist(), "data": data, "us": us}


def llsq(rng: Generator, n: int, m: int = 128) -> dict[str, Any]:
    return {"x": rng.random(m).tolist(), "n": n}


def lse(rng: Generator, n: int) -> dict[str, Any]:
    return {"x": rng.random(n).tolist()}


def ode(rng: Generator, n: int, s: int) -> dict[str, Any]:
    return {"x": rng.random(n).tolist(), "s": s}


def det(rng: Generator, ell: int) -> dict[str, Any]:
    return {"A": rng.random(ell * ell).tolist(), "ell": ell}


# (eval, title, how the input is made)
WORKLOADS: tuple[tuple[str, str, Callable[[Generator], Any]], ...] = (
    ("hello", "3", lambda rng: 3.0),
    ("llsq", "n=4096", lambda rng: llsq(rng, 4096)),
    ("lse", "n=160000", lambda rng: lse(rng, 160000)),
    ("ode", "n=1000 s=10", lambda rng: ode(rng, 1000, 10)),
    ("det", "8", lambda rng: det(rng, 8)),
    ("kmeans", "k=100 n=10000 d=8", lambda rng: kmeans(rng, 100, 10000, 8)),
    ("gmm", "d=10 k=50 n=1000", lambda rng: gmm(rng, 10, 50, 1000)),
    ("lstm", "l=2 c=1024", lambda rng: lstm(rng, 2, 1024)),
    ("ba", "n=49 m=7776 p=31843", lambda rng: ba(rng, 49, 7776, 31843)),
    ("ht", "544 vertices, 100 points", lambda rng: ht(rng, 544, 100)),
    ("particle", "w=0", lambda rng: {"w": 0.0}),
    ("saddle", "1, 1", lambda rng: {"start": [1.0, 1.0]}),
)
