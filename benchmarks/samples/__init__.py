"""Calls of functions that have rules, one table for each topic: what `pullback_cost` times.

A further topic is a further module here with a list ``SAMPLES``; nothing else has to know of it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N = 500_000  # elements of an argument where the function takes one pass over it

# What a pullback may cost, in times of the primal.
LINEAR = 3.0
FACTORISATION = 2.5


@dataclass(frozen=True)
class Sample:
    """One call of a function.

    Attributes
    ----------
    f : callable
        The function.
    args, options : tuple, dict
        Its arguments.
    limit : float
        How many times the primal the pullback may cost.
    view : bool
        The primal is a view and takes no time: the pullback is compared with a copy of the
        arguments and the result instead.
    note : str
        What tells the call from others of the function.
    by_hand : callable, optional
        ``by_hand(y_bar, y, *args)``: the pullback as somebody who knows NumPy would write it, with
        as few passes as possible.
    reverse : bool
        Whether to measure reverse mode alone.
    """

    f: Callable
    args: tuple
    options: dict[str, Any] = field(default_factory=dict)
    limit: float = LINEAR
    view: bool = False
    note: str = ""
    by_hand: Callable | None = None
    reverse: bool = False


def sample(
    f: Callable,
    *args: Any,
    limit: float = LINEAR,
    view: bool = False,
    note: str = "",
    by_hand: Callable | None = None,
    reverse: bool = False,
    **options: Any,
) -> Sample:
    """Return the sample ``f(*args, **options)``."""
    return Sample(f, args, options, limit, view, note, by_hand, reverse)


def factorisation(f: Callable, *args: Any, **options: Any) -> Sample:
    """Return the sample of a function that costs n³."""
    return sample(f, *args, limit=FACTORISATION, **options)


def all_samples() -> Iterator[tuple[str, Sample]]:
    """Yield each topic's name with its samples, one by one."""
    for module in pkgutil.iter_modules(__path__):
        table = importlib.import_module(f"{__name__}.{module.name}").SAMPLES
        yield from ((module.name, one) for one in table)


# ------------------------------------------------------------- arguments, each made once and shared


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> np.ndarray:
    """Return an array of numbers between two bounds; of `N` elements if no shape is given."""
    return _uniform(low, high, shape or (N,), seed)


@functools.cache
def _uniform(low: float, high: float, shape: tuple[int, ...], seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).uniform(low, high, shape)
    x.flags.writeable = False
    return x


def reals(*shape: int, seed: int = 0) -> np.ndarray:
    """Return numbers of both signs."""
    return uniform(-2.0, 2.0, *shape, seed=seed)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    """Return numbers above zero."""
    return uniform(0.2, 2.0, *shape, seed=seed)


def unit(*shape: int, seed: int = 0) -> np.ndarray:
    """Return numbers between 0 and 1."""
    return uniform(0.05, 0.95, *shape, seed=seed)


@functools.cache
def complexes(*shape: int, seed: int = 0) -> np.ndarray:
    """Return complex numbers."""
    return reals(*shape, seed=seed) + 1j * reals(*shape, seed=seed + 1)


@functools.cache
def integers(high: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Return whole numbers from 0 up to a bound."""
    return np.random.default_rng(seed).integers(0, high, shape or (N,))


@functools.cache
def flags(*shape: int, seed: int = 0) -> np.ndarray:
    """Return booleans."""
    return reals(*shape, seed=seed + 7) > 0


@functools.cache
def with_nans(*shape: int, seed: int = 0) -> np.ndarray:
    """Return numbers, a tenth of which are NaN."""
    x = reals(*shape, seed=seed).copy()
    x[uniform(0.0, 1.0, *shape, seed=seed + 3) < 0.1] = np.nan
    return x


@functools.cache
def regular(n: int, seed: int = 0) -> np.ndarray:
    """Return a square matrix far from singular."""
    return reals(n, n, seed=seed) + 3 * np.sqrt(n) * np.eye(n)


@functools.cache
def definite(n: int, seed: int = 0) -> np.ndarray:
    """Return a symmetric positive definite matrix."""
    a = reals(n, n, seed=seed)
    return a @ a.T / n + np.eye(n)
