"""Gradient descent with the step sizes of GradBench's particle and saddle: the same for all tools.

The step doubles after ten that went down, and is halved when one did not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Point = list[float]


def argmin(f: Callable[[Point], float], slope: Callable[[Point], Point], x: Point) -> Point:
    """Return where descent from `x` stops."""
    lowest, down = f(x), slope(x)
    step, steps = 1e-5, 0
    while math.hypot(*down) > 1e-5:
        if steps == 10:
            step, steps = 2 * step, 0
            continue
        tried = [a - step * g for a, g in zip(x, down, strict=True)]
        if math.dist(x, tried) <= 1e-5:
            return x
        value = f(tried)
        if value < lowest:
            x, lowest, down = tried, value, slope(tried)
            steps += 1
        else:
            step, steps = step / 2, 0
    return x


def argmax(f: Callable[[Point], float], slope: Callable[[Point], Point], x: Point) -> Point:
    """Return where ascent from `x` stops."""
    return argmin(lambda p: -f(p), lambda p: [-g for g in slope(p)], x)
