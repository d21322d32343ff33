"""Functions of a library that get a traced value where their arguments do not show it.

Each of them takes the sine of what it gets out of its argument.
"""

import collections
import contextlib
import contextvars
import dataclasses
import functools
import importlib
import itertools
import operator
import queue
import sys
import types
import weakref

import numpy as np
import pytest

import autodiff
from chainrules_core.interpreter import places
from tests.helpers import differences

LIBRARY = '''
import math


def each(values):
    """Return the sum of the sines, by a generator."""
    return sum(math.sin(v) for v in values)


def loop(values):
    total = 0.0
    for v in values:
        total += math.sin(v)
    return total


def called(f):
    return math.sin(f())


def attribute(owner):
    return math.sin(owner.v)


def got(owner):
    return math.sin(owner.get())


def item(owner):
    return math.sin(owner["a"])


def entered(owner):
    with owner as v:
        return math.sin(v)


class Keeper:
    def __init__(self, v):
        self.v = v

    def sine(self):
        return math.sin(self.v)

    def sines(self):
        return sum(math.sin(v) for v in self.v)
'''


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A module that counts as one of an installed package."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "library_of_sines.py").write_text(LIBRARY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "_LIBRARY", (*places._LIBRARY, str(folder)))
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("library_of_sines")
    sys.modules.pop("library_of_sines")


def generated(*values):
    yield from values


def class_of(x):
    class Holding:
        v = x
        get = staticmethod(lambda: x)

    return Holding


def object_of(x):
    """An object that holds nothing: its methods have captured the value."""

    class Giving:
        def __iter__(self):
            yield x

        def __getattr__(self, name):
            return x

        def __getitem__(self, key):
            return x

        def get(self):
            return x

        def __enter__(self):
            return x

        def __exit__(self, *_):
            return None

        def __call__(self):
            return x

    return Giving()


def object_with(x):
    class Having:
        @property
        def v(self):
            return x

    return Having()


def object_that_remembers(x):
    class Remembering:
        @functools.cached_property
        def v(self):
            return x

    return Remembering()


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Sequence:
    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]


@dataclasses.dataclass(frozen=True)
class Frozen:
    v: float


def put_into(made, x):
    made.put(x)
    return made


def variable(x):
    made = contextvars.ContextVar("v")
    made.set(x)
    return made


def error_with(x):
    error = ValueError("a")
    error.v = x
    return error


def cells(x):
    made = np.empty(2, dtype=object)
    made[0], made[1] = x, 2.0
    return made


def by_weak_reference(m, x):
    keeper = m.Keeper(x)
    return m.attribute(weakref.proxy(keeper)) + m.called(lambda: weakref.ref(keeper)().v)


def by_coroutine(x):
    async def made():
        return [x]

    try:
        made().send(None)
    except StopIteration as stop:
        return stop.value


def of_context(m, x):
    with contextlib.nullcontext(x) as v:
        return m.entered(contextlib.nullcontext(v))


deque, ordered = collections.deque, collections.OrderedDict
WAYS = {
    "list": lambda m, x: m.each([x, 2.0]) + m.loop((x, 2.0)),
    "iterator of a list": lambda m, x: m.each(iter([x, 2.0])) + m.loop(iter((x,))),
    "reversed": lambda m, x: m.each(reversed([x, 2.0])) + m.loop(reversed((x,))),
    "generator": lambda m, x: m.each(v for v in (x, 2.0)) + m.loop(generated(x)),
    "map": lambda m, x: m.loop(map(abs, [x])) + m.each(map([x].__getitem__, [0])),
    "map of C": lambda m, x: m.each(map(operator.itemgetter(0), [[x]])),
    "filter": lambda m, x: m.loop(filter(None, [x])),
    "zip": lambda m, x: sum(m.loop(pair) for pair in zip([x], [1.0], strict=True)),
    "enumerate": lambda m, x: sum(m.loop(pair) for pair in enumerate([x])),
    "view of a dict": lambda m, x: m.loop({"a": x}.values()) + m.each(iter({"a": x}.values())),
    "reversed view": lambda m, x: m.loop(reversed({"a": x}.values())),
    "deque": lambda m, x: m.loop(deque([x])),
    "iterators of a deque": lambda m, x: m.loop(iter(deque([x]))) + m.each(reversed(deque([x]))),
    "view of an ordered dict": lambda m, x: m.loop(ordered(a=x).values()),
    "iterator of an ordered dict": lambda m, x: m.loop(iter(ordered(a=x).values())),
    "chain map": lambda m, x: m.item(collections.ChainMap({"a": x})),
    "UserDict, UserList": lambda m, x: (
        m.item(collections.UserDict(a=x)) + m.loop(collections.UserList([x]))
    ),
    "default dict": lambda m, x: m.item(collections.defaultdict(float, a=x)),
    "factory of a default dict": lambda m, x: m.item(collections.defaultdict(lambda: x)),
    "mapping proxy": lambda m, x: m.item(types.MappingProxyType({"a": x})),
    "view of a mapping proxy": lambda m, x: m.loop(types.MappingProxyType({"a": x}).values()),
    "namespace": lambda m, x: m.attribute(types.SimpleNamespace(v=x)),
    "class": lambda m, x: m.attribute(class_of(x)),
    "attribute of the class": lambda m, x: m.attribute(class_of(x)()),
    "static method": lambda m, x: m.got(class_of(x)),
    "slots": lambda m, x: m.attribute(Slotted(x)),
    "property": lambda m, x: m.attribute(object_with(x)),
    "getattr": lambda m, x: m.attribute(object_of(x)),
    "iteration": lambda m, x: m.loop(object_of(x)),
    "item": lambda m, x: m.item(object_of(x)),
    "method": lambda m, x: m.got(object_of(x)),
    "with": lambda m, x: m.entered(object_of(x)) + of_context(m, x),
    "call": lambda m, x: m.called(object_of(x)),
    "cached property": lambda m, x: m.attribute(object_that_remembers(x)),
    "frozen dataclass": lambda m, x: m.attribute(Frozen(x)),
    "closure": lambda m, x: m.called(lambda: x) + m.called(lambda v=x: v),
    "partial": lambda m, x: m.called(functools.partial(lambda v: v, x)),
    "partial of C": lambda m, x: m.called(functools.partial(operator.mul, x, 2.0)),
    "partial of the library": lambda m, x: functools.partial(m.each, generated(x))(),
    "bound method of C": lambda m, x: m.called(iter([x]).__next__),
    "bound method of a dict": lambda m, x: m.called(functools.partial({"a": x}.get, "a")),
    "cache": lambda m, x: m.called(functools.lru_cache(lambda: x)),
    "queue": lambda m, x: m.got(put_into(queue.Queue(), x)),
    "queue of C": lambda m, x: m.got(put_into(queue.SimpleQueue(), x)),
    "context variable": lambda m, x: m.got(variable(x)),
    "weak reference": by_weak_reference,
    "object": lambda m, x: m.Keeper(x).sine(),
    "object with a deque": lambda m, x: m.Keeper(deque([x])).sines(),
    "object with a generator": lambda m, x: m.Keeper(generated(x)).sines(),
    "object with a view": lambda m, x: m.Keeper({"a": x}.values()).sines(),
    "count": lambda m, x: m.each(itertools.islice(itertools.count(x), 3)),
    "method of count": lambda m, x: m.called(itertools.count(x).__next__),
    "chain": lambda m, x: m.each(itertools.chain([x], [2.0])),
    "cycle, repeat": lambda m, x: (
        m.each(itertools.islice(itertools.cycle([x]), 2)) + m.loop(itertools.repeat(x, 2))
    ),
    "accumulate": lambda m, x: m.each(itertools.accumulate([x, x])),
    "tee": lambda m, x: m.each(itertools.tee([x, x])[0]),
    "group": lambda m, x: sum(m.each(g) for _, g in itertools.groupby([x, x], lambda v: 1)),
    "takewhile": lambda m, x: m.each(itertools.takewhile(lambda v: v < 5, [x, 9.0])),
    "starmap": lambda m, x: m.each(itertools.starmap(lambda a, b: a * b, [(x, x)])),
    "iterator of calls": lambda m, x: m.each(iter(lambda n=[0, x]: n.pop(), 0)),
    "iterator of items": lambda m, x: m.each(iter(Sequence(x, 1.0))),
    "reversed items": lambda m, x: m.each(reversed(Sequence(x, 1.0))),
    "iterator of an array": lambda m, x: m.each(iter(np.array([x, 1.0]))),
    "flat": lambda m, x: m.each(np.array([x, 1.0]).flat),
    "error": lambda m, x: m.each(ValueError(x).args) + m.attribute(error_with(x)),
    "array of objects": lambda m, x: m.each(cells(x)) + m.loop(iter(cells(x))),
    "coroutine": lambda m, x: m.loop(by_coroutine(x)),
    "dispatch": lambda m, x: m.called(
        functools.partial(functools.singledispatch(lambda v: v), x)
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_library_gets_a_value_that_is_not_shown(library, way):
    def f(x):
        return WAYS[way](library, x)

    expected = differences(f, 0.7)
    np.testing.assert_allclose(autodiff.gradient(f, 0.7), expected, rtol=1e-6)
    np.testing.assert_allclose(autodiff.pushforward(f, 0.7)[1](1.0), expected, rtol=1e-6)
