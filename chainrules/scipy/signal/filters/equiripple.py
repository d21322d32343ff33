"""The best filter of a length by exchange, ``remez``, implicitly at its extremals.

The weighted error of the best filter is as large, and of other sign, at one frequency more than it
has coefficients (J. H. McClellan, T. W. Parks and L. R. Rabiner, "A computer program for designing
optimum FIR linear phase digital filters", IEEE Transactions on Audio and Electroacoustics 21,
1973). With A(f) the amplitude, D the desired one and W the weight,

    A(f_i) - (-1)^i δ / W(f_i) = D(f_i)

are linear equations for the coefficients and δ. SciPy looks for the f_i on a grid, which begins at
the lower edge of each band and ends at its upper one: they move with these edges. Which points of
the grid they are is a constant.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import signal

from chainrules.refused import RefusedError
from chainrules.scipy.delegated import both
from chainrules.scipy.found import with_value
from chainrules_core import decompose, ignore_derivatives, natively

RIPPLES = (
    "the extremals of the filter that was found are not told apart: its error is not as large at "
    "one frequency more than it has coefficients, and smaller between. Use firls or firwin2, or "
    "wrap the argument in autodiff.ignore_derivatives(...)."
)
AGREEMENT = 1e-6


class Grid:
    """The frequencies at which SciPy looks at the error.

    Attributes
    ----------
    at : array
        The frequencies.
    band : array of int
        The band of each.
    edge : array of int
        The edge at a constant distance of which each lies; -1 for those that do not move.
    """

    def __init__(self, edges: np.ndarray, step: float, odd: bool, turned: bool) -> None:
        at, band, edge = [], [], []
        for number, (low, high) in enumerate(edges.reshape(-1, 2)):
            start = max(low, step) if turned and number == 0 else low
            # As SciPy adds them up, so that rounding decides alike how many there are.
            inner = itertools.accumulate(itertools.repeat(step), initial=start)
            points = list(itertools.takewhile(lambda f, high=high: f <= high, inner)) or [start]
            at += [*points[:-1], high]
            band += [number] * len(points)
            edge += [2 * number if start == low else -1] * (len(points) - 1) + [2 * number + 1]
        last = -1 if turned == odd and at[-1] > 0.5 - step else None
        self.at, self.band, self.edge = (np.array(a)[:last] for a in (at, band, edge))

    def moved(self, chosen: np.ndarray, edges: Any) -> Any:
        """Return chosen frequencies as functions of the edges."""
        moved = with_value(self.at[chosen], edges[self.edge[chosen]])
        return np.where(self.edge[chosen] < 0, self.at[chosen], moved)


def check(are_told_apart: Any) -> None:
    """Raise unless the extremals are those of the filter, and no more."""
    if not are_told_apart:
        raise RefusedError("scipy.signal.remez", RIPPLES)


def amplitudes(f: Any, numtaps: int, turned: bool) -> Any:
    """Return the matrix that makes amplitudes at frequencies of the first half of the taps."""
    n = np.arange((numtaps + 1 - turned) // 2)
    angles = 2 * np.pi * np.reshape(f, (-1, 1)) * ((numtaps - 1) / 2 - n)
    doubled = np.where(2 * n == numtaps - 1, 1.0, 2.0)
    return (np.sin(angles) if turned else np.cos(angles)) * doubled


def wanted(f: Any, band: np.ndarray, desired: Any, weight: Any, slope: bool) -> tuple[Any, Any]:
    """Return the desired amplitudes and the weights at frequencies."""
    goal, importance = desired[band], weight[band]
    if slope:
        relative = ignore_derivatives(goal) >= 0.0001
        importance = np.where(relative, importance / f, importance)
        goal = goal * f
    return goal, importance


def extremals(error: np.ndarray, count: int) -> np.ndarray:
    """Return at which points of a grid the error is largest, one for each run of a sign."""
    turns = np.flatnonzero(np.diff(np.sign(error))) + 1
    runs = np.split(np.arange(error.size), turns)
    tops = np.array([run[np.argmax(np.abs(error[run]))] for run in runs])
    sizes = np.abs(error[tops])
    tops = tops[sizes > (1 - AGREEMENT) * np.max(sizes)]
    check(tops.size == count and np.all(np.diff(np.sign(error[tops])) != 0))
    return tops


@decompose(*both(signal.remez))
def remez_body(
    numtaps, bands, desired, *, weight=None, type="bandpass", maxiter=25, grid_density=16, fs=None
):
    bands, desired = np.asarray(bands), np.asarray(desired)
    given = np.ones(np.shape(desired)) if weight is None else np.asarray(weight)
    fs = 1.0 if fs is None else fs
    options = {"type": type, "maxiter": maxiter, "grid_density": grid_density}
    known = natively(
        signal.remez, numtaps, *map(ignore_derivatives, (bands, desired)),
        weight=ignore_derivatives(given), fs=ignore_derivatives(fs), **options,
    )  # fmt: skip
    edges, turned = bands / fs, type != "bandpass"
    half = (numtaps + 1 - turned) // 2
    known_edges = np.asarray(ignore_derivatives(edges), dtype=float)
    grid = Grid(known_edges, 0.5 / (grid_density * half), numtaps % 2 == 1, turned)
    goal, importance = wanted(
        grid.at, grid.band, ignore_derivatives(desired), ignore_derivatives(given),
        type == "differentiator",
    )  # fmt: skip
    found = amplitudes(grid.at, numtaps, turned) @ known[:half]
    sign = -1.0 if turned and np.sum(found * goal) < 0 else 1.0
    chosen = extremals(importance * (goal - sign * found), half + 1)

    f = grid.moved(chosen, edges)
    goal, importance = wanted(f, grid.band[chosen], desired, given, type == "differentiator")
    ripple = (-1.0) ** np.arange(half + 1) / importance
    matrix = np.column_stack([sign * amplitudes(f, numtaps, turned), ripple])
    taps = np.linalg.solve(matrix, goal)[:half]
    away = np.max(np.abs(ignore_derivatives(taps) - known[:half]))
    check(away <= AGREEMENT * np.max(np.abs(known)))
    taps = with_value(known[:half], taps)
    if turned:
        return np.concatenate([taps, np.zeros(numtaps % 2), -taps[::-1]])
    return np.concatenate([taps, taps[: numtaps // 2][::-1]])
