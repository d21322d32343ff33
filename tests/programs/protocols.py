"""Programs of what Python calls by itself: targets, getters, mappings, coroutines, threads."""

# ruff: noqa: B905, E731, E741, F841, N805, RUF012, SIM401

import asyncio
import bisect
import concurrent.futures
import contextlib
import contextvars
import functools
import heapq
import math
import operator
import queue
from collections import UserDict, UserList, abc as cabc

import numpy as np

X = [0.7, 1.3, 2.1, 0.4]


class Grid:
    def __init__(self):
        self.d = {}

    def __setitem__(self, k, v):
        self.d[k] = math.sin(v)

    def __getitem__(self, k):
        return math.exp(self.d[k])

    def __delitem__(self, k):
        self.d["gone"] = math.cos(self.d.pop(k))

    def __contains__(self, k):
        return k in self.d

    def __len__(self):
        return len(self.d)

    def __iter__(self):
        return iter(self.d)


def tuple_targets2(x):
    g = Grid()
    for g["k"], w in zip(x, x[::-1]):
        g["s"] = (g["s"] if "s" in g else 0.0) * 0.5 + g["k"] * w
    (g["a"], g["b"]), c = (x[0], x[1]), x[2]
    with contextlib.nullcontext(x[3]) as g["z"]:
        pass
    return g["s"] + g["a"] * g["b"] * c + g["z"]


class Setter:
    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, a):
        self._v = math.log(a + 1)

    @v.deleter
    def v(self):
        self._v = math.sqrt(self._v)


def property_in_for_and_with(x):
    s, t = Setter(), Setter()
    out = 0.0
    for i, s.v in enumerate(x):
        out += s.v * i
    s.v, t.v = t2 = (x[1], x[2])
    del t.v
    s.v: float = x[3]
    return out + s.v * t.v


class Calc:
    def __init__(self, b):
        self.b = b

    def f(self, a, k=1.0):
        return math.sin(a * k) * self.b

    def __getitem__(self, i):
        return math.exp(self.b * i)


def methodcaller_itemgetter(x):
    cs = [Calc(a) for a in x]
    g = operator.itemgetter(1, 2)(cs[0])
    return (
        sum(map(operator.methodcaller("f", 0.5, k=2.0), cs))
        + g[0] * g[1]
        + operator.itemgetter(1)(cs[1])
        + operator.getitem(cs[2], 1)
        + operator.methodcaller("f", x[0])(cs[3])
    )


class PriorityItem:
    def __init__(self, p):
        self.p = p

    def __lt__(self, o):
        return math.sin(self.p) < math.sin(o.p)

    def __eq__(self, o):
        return math.isclose(self.p, o.p)


def heapq_user_objects(x):
    h = []
    for a in x:
        heapq.heappush(h, PriorityItem(a))
    r = [heapq.heappop(h).p for _ in range(3)]
    l = [PriorityItem(a) for a in x]
    l.sort()
    i = 1
    b = bisect.bisect_left([0.1, 0.8, 3.0], x[1], key=lambda v: v * 1.1)
    q = queue.PriorityQueue()
    q.put((x[1], "b"))
    q.put((x[0], "a"))
    return (
        r[0] * r[1]
        + r[2]
        + l[0].p * l[-1].p * (i + 1)
        + b * x[0]
        + q.get()[0]
        + heapq.nsmallest(2, l, key=lambda o: math.cos(o.p))[0].p
    )


class AsyncRes:
    def __init__(self, v):
        self.v = v

    async def __aenter__(self):
        return math.sin(self.v)

    async def __aexit__(self, *e):
        self.v = math.exp(self.v)

    def __aiter__(self):
        self.i = 0
        return self

    async def __anext__(self):
        self.i += 1
        if self.i > 3:
            raise StopAsyncIteration
        return math.cos(self.v * self.i)

    def __await__(self):
        yield from ()
        return math.sqrt(self.v)


def async_protocols(x):
    async def main():
        r = AsyncRes(x[0])
        s = 0.0
        async with r as v:
            s += v
        async for c in AsyncRes(x[1]):
            s += c
        return s + await AsyncRes(x[2]) + r.v

    return asyncio.run(main())


def asyncio_tasks_queue(x):
    async def prod(q):
        for a in x:
            await q.put(math.sin(a))
        await q.put(None)

    async def cons(q):
        s = 0.0
        while (v := await q.get()) is not None:
            s += v * v
        return s

    async def main():
        q = asyncio.Queue()
        t = asyncio.create_task(prod(q))
        r = await cons(q)
        await t
        return r

    return asyncio.run(main())


def thread_pool(x):
    with concurrent.futures.ThreadPoolExecutor(2) as ex:
        r = list(ex.map(lambda a: math.sin(a) * a, x))
    return sum(r)


def context_variables(x):
    v = contextvars.ContextVar("v")
    ctx = contextvars.copy_context()

    def f(a):
        v.set(math.sin(a))
        return v.get() ** 2

    return ctx.run(f, x[0]) + ctx[v]


class Params(UserDict):
    def __setitem__(self, k, v):
        super().__setitem__(k, math.exp(v))

    def __missing__(self, k):
        return 0.5


class MyList(UserList):
    def append(self, v):
        super().append(math.sin(v))

    def mean(self):
        return sum(self) / len(self)


def user_dict_list(x):
    p = Params(a=x[0], b=x[1])
    l = MyList([x[2]])
    l.append(x[3])
    l += [x[0]]
    p |= {"c": x[3]}
    return p["a"] * p["b"] + p["zz"] + l.mean() * l[1] + sum(p.values()) + (l * 2)[-1]


class Frozen(cabc.Mapping):
    def __init__(self, **k):
        self.__k = k

    def __getitem__(self, n):
        return math.sqrt(self.__k[n])

    def __iter__(self):
        yield from self.__k

    def __len__(self):
        return len(self.__k)


def abc_mapping(x):
    m = Frozen(a=x[0], b=x[1])
    f = lambda a, b: a * b + 1
    return (
        f(**m)
        + sum(m.values())
        + m.get("a", 0)
        + dict(m)["b"]
        + sum(v * v for _, v in m.items())
        + ({**m}["a"])
    )


class Seq(cabc.Sequence):
    def __init__(self, *a):
        self.a = a

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return math.exp(self.a[i]) if isinstance(i, int) else Seq(*self.a[i])


def abc_sequence(x):
    s = Seq(*x)
    a, *b = s
    return a * sum(b) + sum(reversed(s)) + s[1:3][0] + np.array(list(s)).sum() + max(s)


class Complex(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (math.sinh(a), b))

    def __add__(self, o):
        return Complex(self[0] + o[0], self[1] + o[1])

    @property
    def re(self):
        return math.asinh(self[0])


def tuple_subclass_new(x):
    c = Complex(x[0], x[1]) + Complex(x[2], x[3])
    return c.re + c[1] * c[0]


class Meta(type):
    def __getattr__(cls, n):
        return math.sin(cls.base) * len(n)

    def __iter__(cls):
        yield cls.base
        yield math.cos(cls.base)

    def __len__(cls):
        return 2

    def __getitem__(cls, i):
        return math.exp(cls.base * i)

    @property
    def twice(cls):
        return math.sinh(cls.base)


class Holder(metaclass=Meta):
    base = 1.0


def metaclass_protocols(x):
    class H(Holder):
        base = x[0]

    return H.abc + sum(H) * len(H) + H[2] + H.twice * x[1]


class Desc:
    def __init__(self, f):
        self.f = f
        functools.update_wrapper(self, f)

    def __get__(self, o, t=None):
        return self if o is None else functools.partial(self.f, o)

    def __call__(self, *a):
        return self.f(*a)


class ClassProp:
    def __init__(self, f):
        self.f = f

    def __get__(self, o, t):
        return self.f(t)


class UsesDesc:
    k = 2.0

    def __init__(self, a):
        self.a = a

    @Desc
    def m(self, b):
        return math.sin(self.a * b)

    @ClassProp
    def cp(cls):
        return math.sqrt(cls.k)

    @staticmethod
    def sm(a):
        return math.exp(-a)

    @classmethod
    def cm(cls, a):
        return cls(math.cos(a))


def descriptor_decorators(x):
    u = UsesDesc(x[0])
    f = u.m
    return (
        f(x[1])
        + UsesDesc.m(u, x[2])
        + u.cp * UsesDesc.cp * x[3]
        + u.sm(x[0])
        + UsesDesc.cm(x[1]).m(1.0)
    )


class LogMixin:
    def run(self):
        self.logged = True
        return math.log1p(super().run() ** 2)


class SqMixin:
    def run(self):
        return super().run() ** 2 + self.a


class Base:
    registry = []

    def __init_subclass__(cls, scale=1.0, **k):
        super().__init_subclass__(**k)
        cls.scale = scale
        Base.registry.append(cls)

    def __init__(self, *a, **k):
        self.a = sum(a)
        super().__init__(**k) if False else None

    def run(self):
        return math.sin(self.a) * self.scale


class Impl(LogMixin, SqMixin, Base, scale=3.0):
    pass


def mixins_init_subclass(x):
    return Impl(x[0], x[1]).run() + super(LogMixin, Impl(x[2])).run()


PROGRAMS = [(f, X) for f in [
    tuple_targets2, property_in_for_and_with, methodcaller_itemgetter, heapq_user_objects,
    async_protocols, asyncio_tasks_queue, thread_pool, context_variables, user_dict_list,
    abc_mapping, abc_sequence, tuple_subclass_new, metaclass_protocols, descriptor_decorators,
    mixins_init_subclass,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
