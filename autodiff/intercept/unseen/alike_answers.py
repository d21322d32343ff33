"""Questions that tracers answer as their values do: each is tried on samples."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autodiff.trace.nodes import Leaf
from autodiff.trace.tape import Tape
from autodiff.trace.tracer import wrap
from chainrules_core import ProjectTo


@functools.cache
def _samples() -> list[tuple[Any, Any]]:
    """Return some values, each with a tracer of it."""
    tape = Tape()
    values = 1.5, np.float64(1.5), 1.5 + 2.5j, np.array([1.0, 2.5]), np.array([[1.0 + 2.5j]])
    return [(v, wrap(v, tape, tape.add(Leaf(ProjectTo(v))))) for v in values]


@functools.lru_cache(maxsize=1024)
def has_alike(name: str) -> bool:
    """Whether tracers have an attribute where their values have it, and it says the same."""
    return all(_said(tracer, name) == _said(value, name) for value, tracer in _samples())


def _said(x: Any, name: str) -> Any:
    try:
        value = getattr(x, name)
    except Exception as error:
        return type(error)
    return value if value is None or isinstance(value, str) else "something"


def is_alike(kind: type) -> bool:
    """Whether tracers are instances of a class where their values are."""
    try:
        return all(isinstance(t, kind) is isinstance(v, kind) for v, t in _samples())
    except Exception:  # a class that does not say
        return True
