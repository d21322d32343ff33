"""One call recorded on a tape and swept back: what it costs inside a gradient.

A gradient copies its arguments once before everything and its results once after everything. These
copies belong to no call; so here the arguments are traced as they are, and a cotangent is dropped
when it has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.intercept import intercept
from autodiff.trace.observers import new_tape
from autodiff.trace.pytree import map_leaves
from autodiff.trace.tape import Cotangents, sweep
from autodiff.trace.trace_stack import recording
from autodiff.trace.tracer import is_tracer, wrap
from chainrules_core import ProjectTo


class Drop:
    """In the place of a leaf of a tape: lets go of the cotangent that has arrived."""

    __slots__ = ("space",)

    def __init__(self, space: Any) -> None:
        self.space = space

    def hand_on(self, bar: Any, bars: Cotangents, strong: bool) -> None:
        """Do nothing."""


def is_inexact(x: Any, kinds: tuple[type, ...] = (np.ndarray,)) -> bool:
    """Whether `x` is of one of these types, and of numbers that can be perturbed."""
    return isinstance(x, kinds) and np.asarray(x).dtype.kind in "fc"


_NUMBERS = (np.ndarray, float, complex, np.generic)


def traced_kinds(values: Any) -> tuple[type, ...]:
    """Return the types of what is traced: arrays; where there is none, numbers."""
    leaves: list = []
    map_leaves(values, leaves.append)
    return (np.ndarray,) if any(map(is_inexact, leaves)) else _NUMBERS


def recorded_and_swept(
    f: Callable, args: tuple, options: dict[str, Any], seed: Callable[[Any], Any]
) -> Callable[[], None]:
    """Return what records ``f(*args, **options)`` and pulls a cotangent of all outputs back.

    The arrays among the arguments are differentiated; numbers are constants, unless there is
    nothing else. ``seed(y)`` makes the cotangent of one output.
    """
    kinds = traced_kinds((args, options))
    seeds: list = []

    def record() -> tuple[list, list]:
        tape = new_tape()

        def trace(leaf: Any) -> Any:
            if not is_inexact(leaf, kinds):
                return leaf
            return wrap(leaf, tape, tape.add(Drop(ProjectTo(leaf))))

        traced = [map_leaves(a, trace) for a in args]
        named = {name: map_leaves(a, trace) for name, a in options.items()}
        with recording(tape):
            y = intercept(f)(*traced, **named)
        outputs: list = []
        if is_tracer(y):
            outputs.append(y)
        else:
            map_leaves(y, outputs.append)
        return tape.close(), [y for y in outputs if is_tracer(y) and y._tape is tape]

    def run() -> None:
        nodes, outputs = record()
        with np.errstate(all="ignore"):
            sweep(nodes, 0, dict(zip([y._index for y in outputs], seeds, strict=True)))

    seeds.extend(seed(y._value) for y in record()[1])
    return run
