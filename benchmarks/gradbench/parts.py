"""Parts of a computation that is too long to be compiled as a whole.

A part is compiled together with its derivatives, which autodiff takes: in the derivative of the
whole it is one step. Its pullback computes the part once more, as with `checkpoint`, so that the
tape holds nothing but the arguments of the parts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import compile, jvp, pullback
from chainrules_core import AbstractZero, frule, rrule, unthunk


def part(f: Callable[..., np.ndarray], backend: str = "auto") -> Callable[..., np.ndarray]:
    """Return a function of arrays and floats that does what `f` does, with compiled derivatives."""
    compiled = compile(backend=backend)
    value = compiled(f)
    pull = compiled(lambda y_bar, *args: pullback(f, *args, argnums=every)[1](y_bar))
    push = compiled(lambda dots, *args: jvp(f, args, dots))
    every = tuple(range(len(inspect.signature(f).parameters)))

    def one_part(*args: Any) -> np.ndarray:
        return value(*args)

    @rrule.register(one_part)
    def part_rrule(*args: Any) -> tuple:
        def part_pullback(y_bar: Any) -> tuple:
            return pull(unthunk(y_bar), *args)

        return value(*args), part_pullback

    @frule.register(one_part)
    def part_frule(dots: tuple, *args: Any) -> tuple:
        pairs = zip(dots, args, strict=True)
        return push(
            tuple([0.0 * x if isinstance(x_dot, AbstractZero) else x_dot for x_dot, x in pairs]),
            *args,
        )

    return one_part
