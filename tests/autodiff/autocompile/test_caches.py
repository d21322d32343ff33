"""Functions that call functions with a cache, which may keep what was made with other values."""

import functools

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.autocompile import call_records


def again(f, n=8):
    return [gradient(f, 2.0) for _ in range(n)]


@functools.lru_cache
def kept(n):
    return [1.0] * n


@functools.lru_cache
def counted(n):
    return 1 if n < 2 else counted(n - 1) + counted(n - 2)


@pytest.mark.usefixtures("soon")
def test_what_a_cache_keeps_may_change():
    def f(x):
        return x * kept(2)[0]

    assert again(f) == [1.0] * 8
    kept(2)[0] = 5.0
    assert again(f) == [5.0] * 8
    assert again(lambda x: x * counted(9)) == [55.0] * 8
    hits = [record.hits for record in call_records.records.values()]
    assert hits[0] == 0 < hits[1]


@functools.cache
def counter():
    return {"n": 0.0}


@functools.cache
def endless():
    n = 0.0
    while True:
        n += 1.0
        yield n


@functools.cache
def ticking():
    n = 0.0

    def tick():
        nonlocal n
        n += 1.0
        return n

    return tick


def counts(x):
    counter()["n"] += 1.0
    return x * counter()["n"]


def counts_and_catches(x):
    try:
        d = counter()
        d["n"] += 1.0
    except Exception:
        d = {"n": 100.0}
    return x * d["n"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "f", [counts, counts_and_catches, lambda x: x * next(endless()), lambda x: x * ticking()()]
)
def test_state_that_a_cache_keeps_changes_once_in_each_call(f, compiled):
    for cache in (counter, endless, ticking):
        cache.cache_clear()
    g = compile(f) if compiled else functools.partial(gradient, f)
    assert [float(g(1.0)) for _ in range(8)] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


SCALES = [1.0]


@functools.lru_cache
def scaled(n):
    return SCALES[0] * n


@functools.lru_cache(maxsize=1)
def evicted(n):
    return SCALES[0] * n


class Weight:
    def __init__(self, scale):
        self.scale = scale

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    @functools.lru_cache  # noqa: B019 - as users write it
    def of(self, n):
        return self.scale * n

    @property
    @functools.lru_cache  # noqa: B019
    def double(self):
        return self.scale * 2


WEIGHTS = [Weight(1.0), Weight(2.0)]


def clears(x):
    if x > 5.5:
        scaled.cache_clear()
    return x * scaled(2)


@functools.lru_cache
def refused(n):
    if SCALES[0] > 1.0:
        raise ValueError("too large")
    return SCALES[0] * n


def catches(x):
    try:
        return x * refused(2)
    except ValueError:
        return x * 7.0


def turns(x):
    for n in (1, 2, 1):
        x = x * evicted(n)
    return x


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        catches, turns, lambda x: x * WEIGHTS[0].double,
        lambda x: x * scaled(2), lambda x: x * scaled(2) + evicted(1) * evicted(2) * x, clears,
        lambda x: x * WEIGHTS[0].of(3), lambda x: x * scaled(2) + scaled.cache_info().currsize * x,
    ],
)  # fmt: skip
def test_a_cache_keeps_what_it_was_made_with(f, compiled):
    """What a cache keeps was made with the values outside at that time, not the present ones."""

    def session(g):
        scaled.cache_clear()
        evicted.cache_clear()
        refused.cache_clear()
        Weight.double.fget.cache_clear()
        Weight.of.cache_clear()
        found = []
        for k in range(40):
            SCALES[0] = 1.0 + k // 7 % 2
            if k % 10 == 9:
                scaled.cache_clear()
                refused.cache_clear()
                Weight.of.cache_clear()
                Weight.double.fget.cache_clear()
            if k % 6 == 5:
                WEIGHTS.reverse()
            found.append(float(g(1.0 + k % 7)))
        return found

    def as_written(x):
        y = f(x)
        return y if compiled else y / x

    expected = session(as_written)
    WEIGHTS.sort(key=lambda w: w.scale)
    assert session(compile(f) if compiled else functools.partial(gradient, f)) == expected


@pytest.mark.usefixtures("soon")
def test_caches_of_what_is_no_function():
    root, made = functools.cache(np.sqrt), functools.cache(Weight)
    assert again(lambda x: x * root(4.0)) == [2.0] * 8
    assert again(lambda x: x * made(3.0).scale) == [3.0] * 8
    power = functools.cache(functools.partial(pow, 2.0))
    np.testing.assert_allclose(again(lambda x: x * power(2) + power(x)), 4.0 + 4.0 * np.log(2.0))
