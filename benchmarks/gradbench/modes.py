"""Gradients by reverse and by forward mode, for the evals that ask for each at both levels."""

from __future__ import annotations

from collections.abc import Callable

from autodiff import gradient, jvp

Slope = Callable[..., list[float]]


def reverse(f: Callable, point: list[float]) -> list[float]:
    return gradient(f, point)


def forward(f: Callable, point: list[float]) -> list[float]:
    units = [[float(i == k) for i in range(len(point))] for k in range(len(point))]
    return [jvp(f, (point,), (unit,))[1] for unit in units]


MODES = {"r": reverse, "f": forward}
