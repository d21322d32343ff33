"""Losses and shards that processes import by name."""

import math
import os
import signal
import time
from pathlib import Path

import numpy as np

from autodiff.optimize import minimize


def logistic(p, x, y):
    return np.sum(np.logaddexp(0.0, -y * (x @ p["w"] + p["b"])))


def squares(p, x):
    return np.sum((p["a"] * x - 1) ** 2)


def looping(p, x):
    total = 0.0
    for value in x:
        total += math.sin(p["a"] * value) if value > 0 else value * p["a"] ** 2
    return total


def rows(seed, count=200, width=4):
    """Rows for `logistic`, drawn where they are needed."""
    rng = np.random.default_rng([7, seed])
    x = rng.normal(size=(count, width))
    y = np.sign(x @ np.linspace(-1, 1, width) + rng.normal(size=count))
    return x, y


def dying_once(marker, seed):
    """Rows; the first process that loads them dies."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return rows(seed)
    return os.kill(os.getpid(), signal.SIGKILL)


def dying(seed):
    os.kill(os.getpid(), signal.SIGKILL)


def slow_once(marker, seed):
    """Rows; who loads them first takes long, and leaves its number."""
    if not marker.exists():
        marker.write_text(str(os.getpid()))
        time.sleep(600)
    return rows(seed)


def failing(p, x):
    if x[0] == 3.0:
        raise ValueError("a row that cannot be")
    return squares(p, x)


class UnsendableError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def failing_badly(p, x):
    raise UnsendableError(1, 2)


def of_table(p, table):
    return p * np.sum(table["a"] * table["b"])


def ridge(penalty, x, y):
    """The weight of a fit with this penalty; a setting that is text is refused."""
    if isinstance(penalty, str):
        raise ValueError(f"{penalty} is no penalty")
    return minimize(lambda p: np.sum((p["w"] * x - y) ** 2) + penalty * p["w"] ** 2, {"w": 0.0})


def ridge_dying_once(marker, penalty, x, y):
    """As `ridge`; the first process that comes to the penalty 2 dies."""
    if penalty == 2.0:
        dying_once(marker, 0)
    return ridge(penalty, x, y)


def wells(p):
    """Minima at x = -1.04 and 0.96, with several y; the former are the lowest."""
    y = p["y"] + 0.5
    return (p["x"] ** 2 - 1) ** 2 + 0.3 * p["x"] + (y**2 - 1) ** 2 * y**2
