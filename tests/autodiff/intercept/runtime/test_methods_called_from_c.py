"""User-defined methods and functions called from C are traced."""

from __future__ import annotations

import asyncio
import bisect
import collections
import contextlib
import contextvars
import functools
import heapq
import itertools
import math
import operator
import statistics
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from autodiff import DifferentiationError, gradient, hvp, pushforward, value_and_gradient
from chainrules.refused import RefusedError

X = np.array([0.7, 1.3, 0.4])
V = np.array([0.3, -1.0, 0.5])


class Memory:
    """Items and attributes that something is computed for when they are set, read or deleted."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        self.kept[key] = math.sin(value)

    def __getitem__(self, key: Any) -> Any:
        return math.exp(self.kept[key])

    def __delitem__(self, key: Any) -> None:
        self.kept["gone"] = math.cos(self.kept.pop(key))

    @property
    def level(self) -> Any:
        return math.sqrt(self.kept["level"])

    @level.setter
    def level(self, value: Any) -> None:
        self.kept["level"] = math.exp(value)

    @level.deleter
    def level(self) -> None:
        self.kept["level"] = math.log1p(self.kept["level"])

    def called(self, a: Any, k: float = 1.0) -> Any:
        return math.sin(a * k)


def several_targets(x: Any) -> Any:
    m = Memory()
    m["a"], (m["b"], *_), m.level = x[0], [x[1], 0.0], x[2]
    m["c"] = m["d"] = x[1]
    n: Any = Memory()
    n.level: Any = x[0]
    return m["a"] * m["b"] * m.level + m["c"] * m["d"] + n.level


def targets_of_loops_and_contexts(x: Any) -> Any:
    m = Memory()
    total = 0.0
    for m["a"], m.level in zip(x, x[::-1], strict=True):
        total += m["a"] * m.level
    with contextlib.nullcontext(x[2]) as m["b"]:
        total += sum(m["c"] for m["c"] in x)
    return total * m["b"]


def deleted(x: Any) -> Any:
    m = Memory()
    m["a"], m.level = x[0], x[1]
    del m["a"], m.level
    return m.kept["gone"] * m.level


class Point:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    @property
    def norm(self) -> Any:
        return math.hypot(self.a, self.b)

    def __getitem__(self, i: int) -> Any:
        return math.exp(self.a * i)

    def __add__(self, other: Any) -> Point:
        return Point(math.fsum([self.a, other.a]), self.b + other.b)

    def __lt__(self, other: Any) -> bool:
        return math.hypot(self.a, self.b) < math.hypot(other.a, other.b)

    def __iter__(self) -> Iterator:
        return iter([math.sin(self.a), self.b])

    def turned(self, by: Any, scale: float = 1.0) -> Any:
        return math.cos(self.a + by) * scale


def getters(x: Any) -> Any:
    p, q = Point(x[0], x[1]), Point(x[1], x[2])
    norm, both = operator.attrgetter("norm"), operator.attrgetter("norm", "a")
    turned = operator.methodcaller("turned", x[2], scale=2.0)
    return (
        sum(map(norm, [p, q])) * both(p)[0]
        + operator.itemgetter(1)(p) * operator.itemgetter(0, 2)(q)[1]
        + turned(p)
        + operator.methodcaller("turned", 0.5)(q)
    )


def operators_by_name(x: Any) -> Any:
    p, q = Point(x[0], x[1]), Point(x[1], x[2])
    total = functools.reduce(operator.add, [p, q], Point(0.1, 0.2))
    sums = itertools.accumulate([p, q], operator.add, initial=Point(0.1, 0.2))
    return total.norm + operator.getitem(p, 1) + [s.norm for s in sums][1] * operator.lt(p, q)


def ordered_by_their_class(x: Any) -> Any:
    points = [Point(a, b) for a, b in itertools.permutations(x, 2)]
    heap: list[Point] = []
    for p in points:
        heapq.heappush(heap, p)
    first, second = heapq.heappop(heap), heapq.heapreplace(heap, points[-1])
    points.sort()
    place = bisect.bisect(points, Point(x[0], x[0]))
    bisect.insort(points, Point(x[1], 0.1), key=lambda p: math.sin(p.a))
    return first.a * second.b + points[0].norm * place + points[3].a + len(heap)


class Scaled(type):
    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        made.scale = math.exp(made.w)
        return made


class Layer(metaclass=Scaled):
    scale: Any

    def __init__(self, w: Any) -> None:
        self.w = math.sin(w)

    def __call__(self, h: Any) -> Any:
        return math.tanh(self.w * h) * self.scale


class Polar(tuple):
    def __new__(cls, r: Any, t: Any) -> Any:
        return super().__new__(cls, (r * math.cos(t), r * math.sin(t)))


def made_by_metaclass_and_new(x: Any) -> Any:
    return Layer(x[0])(x[1]) * Polar(x[1], x[2])[0] + sum(Polar(x[2], x[0]))


class Roots(Mapping):
    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        return math.sqrt(self._values[key])

    def __iter__(self) -> Iterator:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def mappings(x: Any) -> Any:
    m = Roots(a=x[0], b=x[1])
    product = (lambda a, b: a * b)(**m)
    both = {**m, "c": x[2]}
    return product + both["a"] * both["c"] + dict(m)["b"] + sum(m.values()) + m.get("a", 0.0)


class Sines(Sequence):
    def __init__(self, values: Any) -> None:
        self._values = list(values)

    def __getitem__(self, i: Any) -> Any:
        return math.sin(self._values[i])

    def __len__(self) -> int:
        return len(self._values)


class Held:
    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values) * 2.0


class WithMean(Held):
    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return math.sqrt(self.values[0])


def arrays_of_objects(x: Any) -> Any:
    s, h = Sines(x), Held(x)
    first, *rest = s
    joined = np.concatenate([x, s, collections.deque(x)])
    return (
        np.sum(s) * np.dot(h, x)
        + first * sum(rest)
        + sum(reversed(s))
        + np.sin(h).sum()
        + (x * h).sum()
        + joined.prod()
        + np.asarray(h)[1]
        + np.mean(WithMean(x))
    )


def views_and_queues(x: Any) -> Any:
    d = dict(zip("abc", x, strict=True))
    q = collections.deque(x, maxlen=2)
    return math.fsum(d.values()) * math.prod(q) + statistics.fmean(d.values()) + np.mean(q)


class Asynchronous:
    def __init__(self, a: Any) -> None:
        self.a = a
        self.n = 0

    async def __aenter__(self) -> Any:
        return math.sin(self.a)

    async def __aexit__(self, *raised: Any) -> None:
        self.a = math.exp(self.a)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        self.n += 1
        if self.n > 2:
            raise StopAsyncIteration
        return math.cos(self.a * self.n)

    def __await__(self) -> Any:
        yield from ()
        return math.sqrt(self.a)


def coroutines(x: Any) -> Any:
    async def main() -> Any:
        m = Asynchronous(x[0])
        async with m as total:
            async for c in Asynchronous(x[1]):
                total += c
            total *= sum([c async for c in Asynchronous(x[2])])
        return total + m.a + await Asynchronous(x[2])

    return asyncio.run(main())


def wave(a: Any) -> Any:
    return math.sin(a) * a


def functions_for_threads(x: Any) -> Any:
    out: dict[int, Any] = {}
    with ThreadPoolExecutor(2) as pool:
        total = sum(pool.map(wave, x)) * pool.submit(wave, x[0]).result()
    thread = threading.Thread(target=lambda: out.update({0: wave(x[1])}))
    thread.start()
    thread.join()
    return total + out[0] + contextvars.copy_context().run(wave, x[2])


PROGRAMS = [
    several_targets, targets_of_loops_and_contexts, deleted, getters, operators_by_name,
    ordered_by_their_class, made_by_metaclass_and_new, mappings, arrays_of_objects,
    views_and_queues, coroutines, functions_for_threads,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f: Callable, differences: Callable) -> None:
    value, found = value_and_gradient(f, X)
    assert value == f(X)
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(pushforward(f, X)[1](V), found @ V, rtol=1e-12, atol=1e-12)
    along = lambda h: gradient(f, X + h * V)  # noqa: E731
    second = (along(1e-5) - along(-1e-5)) / 2e-5
    np.testing.assert_allclose(hvp(f, X, V), second, rtol=1e-5, atol=1e-7)


# ------------------------------------------------------------ who may swallow an error of ours


class Swallowing:
    def __enter__(self) -> None: ...

    def __exit__(self, *raised: Any) -> bool:
        return True


@contextlib.contextmanager
def swallowing() -> Iterator:
    try:
        yield
    except Exception as error:
        print(error)


@pytest.mark.parametrize(
    "manager",
    [lambda: contextlib.suppress(TypeError), Swallowing, swallowing],
    ids=["suppress", "own", "generator"],
)
def test_a_manager_does_not_swallow_an_error_of_ours(manager: Callable) -> None:
    def f(x: Any) -> Any:
        y = x
        with manager():
            y = memoryview(np.ones(3) * x)[0]
        return y * x

    def own(x: Any) -> Any:
        with manager():
            raise TypeError
        return x * 2.0

    with pytest.raises(RefusedError):
        gradient(f, 2.0)
    assert gradient(own, 2.0) == 2.0


def test_unless_it_is_made_for_that() -> None:
    def f(x: Any) -> Any:
        with contextlib.suppress(RefusedError, DifferentiationError):
            return memoryview(np.ones(3) * x)[0]
        return x * 3.0

    assert gradient(f, 2.0) == 3.0
