"""What it costs that a call in a traced function is seen: ``python -m benchmarks.interception``.

Each function makes 1,000 calls on plain values in a loop. Shown is how much longer a call takes
while the function is differentiated, where nothing in it depends on the variable.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from autodiff import gradient

CALLS = 1000
REPEATS = 25
X = np.ones(3)


def identity(i):
    return i


class Thing:
    def method(self, i):
        return i


thing = Thing()


def nothing(x):
    for _ in range(CALLS):
        pass
    return x


def own_function(x):
    for i in range(CALLS):
        identity(i)
    return x


def own_method(x):
    for i in range(CALLS):
        thing.method(i)
    return x


def own_attribute(x):
    pair = Pair(1.0, 2.0)
    for _ in range(CALLS):
        pair.a  # noqa: B018 - it is read
    return x


def list_append(x):
    items = []
    for i in range(CALLS):
        items.append(i)
    return x


def length(x):
    items = [1, 2]
    for _ in range(CALLS):
        len(items)
    return x


def is_instance(x):
    for i in range(CALLS):
        isinstance(i, int)
    return x


def math_sqrt(x):
    for _ in range(CALLS):
        math.sqrt(2.0)
    return x


def inner_function(x):
    def inner(i):
        return i

    for i in range(CALLS):
        inner(i)
    return x


def given_function(x, f=lambda i: i):
    for i in range(CALLS):
        f(i)
    return x


class Pair:
    def __init__(self, a, b):
        self.a = a
        self.b = b


def own_class(x):
    for i in range(CALLS):
        Pair(i, i)
    return x


def math_hypot(x):
    for _ in range(CALLS):
        math.hypot(2.0, 3.0)
    return x


def maximum_of_two(x):
    for i in range(CALLS):
        max(i, 5)
    return x


def dict_get(x):
    table = {1: 2}
    for i in range(CALLS):
        table.get(i)
    return x


def to_float(x):
    for i in range(CALLS):
        float(i)
    return x


def array_sum(x):
    for _ in range(CALLS):
        X.sum()
    return x


def numpy_sum(x):
    for _ in range(CALLS):
        np.sum(X)
    return x


FUNCTIONS = (
    own_function, inner_function, given_function, own_method, own_class, own_attribute,
    list_append, dict_get, length, is_instance, to_float, maximum_of_two, math_sqrt, math_hypot,
    numpy_sum, array_sum,
)  # fmt: skip


def fastest(f: Callable[[], object]) -> float:
    """Return the shortest of several times, in nanoseconds for each call."""
    f()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        f()
        times.append(time.perf_counter_ns() - start)
    return min(times) / CALLS


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    def cost(f: Callable) -> float:
        return fastest(lambda: gradient(f, 1.0)) - fastest(lambda: f(1.0))

    empty = cost(nothing)
    table = Table("call", "plain, ns", "more while traced, ns", title="Interception")
    for f in FUNCTIONS:
        plain = fastest(lambda f=f: f(1.0))
        table.add_row(f.__name__.replace("_", " "), f"{plain:.0f}", f"{cost(f) - empty:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
