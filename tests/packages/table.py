"""The table of calls: a function of numbers or arrays through a package as it is installed."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

V = np.array([0.3, 1.2, 0.7, 2.1, 1.6])
M = np.array([[2.0, 0.3, 0.5], [0.1, 1.7, 0.4], [0.6, 0.2, 2.4]])


class Call(NamedTuple):
    """One call: a real function of one number or array.

    Attributes
    ----------
    package : str
        The package it goes through, by the name of its module.
    f : callable
        The function.
    x : float or ndarray
        Where it is differentiated.
    error : str
        What the message of the error says, where the call is refused; empty for one that is right.
    h : float
        The step of the differences.
    rtol : float
        How well the differences are known.
    """

    package: str
    f: Callable[[Any], Any]
    x: Any
    error: str = ""
    h: float = 1e-6
    rtol: float = 1e-5


CALLS: list[Call] = []


def imported(name: str) -> Any:
    """Import a module of a package; None where the package is missing: its calls are skipped."""
    with np.printoptions(), warnings.catch_warnings():  # quantities sets how arrays are printed
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            return None


def call(package: ModuleType | None, x: Any, error: str = "", **how: float) -> Callable:
    """Put a function into the table, unless its package is missing."""

    def put(f: Callable) -> Callable:
        if package is not None:
            CALLS.append(Call(package.__name__.partition(".")[0], f, x, error, **how))
        return f

    return put
