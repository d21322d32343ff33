"""Programs in different styles: generators, closures, pattern matching, itertools, errors."""

# ruff: noqa: B905, E731, E741, N805, N818, UP028

import collections
import contextlib
import functools
import itertools
import math
import operator
import types
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

X = [0.7, 1.3, 2.1, 0.4]


def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        for a in x:
            stack.callback(lambda a=a: log.append(math.sin(a) * (len(log) + 1)))
        stack.enter_context(contextlib.nullcontext(x[0]))
        log.append(x[0] ** 2)
    return sum(log)


def averager():
    total, n, avg = 0.0, 0, None
    while True:
        v = yield avg
        if v is None:
            return math.exp(avg)
        total += math.sqrt(v)
        n += 1
        avg = total / n


def delegator(out):
    r = yield from averager()
    out.append(r)
    yield r * 2


def generator_send_return(x):
    out = []
    g = delegator(out)
    next(g)
    s = 0.0
    for a in x:
        s += g.send(a)
    last = g.send(None)
    g.close()
    return s * out[0] + last


def gen_throw():
    v = 1.0
    while True:
        try:
            v = v * (yield v)
        except ValueError as e:
            v = v + e.args[0]


def generator_throw(x):
    g = gen_throw()
    next(g)
    a = g.send(math.sin(x[0]))
    b = g.throw(ValueError(x[1]))
    return a * b + g.send(x[2])


@dataclass
class Bin:
    op: str
    l: object
    r: object


@dataclass
class Num:
    v: float


@dataclass
class Fn:
    name: str
    arg: object


def ev(e, env):
    match e:
        case Num(v):
            return v
        case str() as name if name in env:
            return env[name]
        case Bin("+", l, r):
            return ev(l, env) + ev(r, env)
        case Bin("*" | "mul", l, r):
            return ev(l, env) * ev(r, env)
        case Bin(op="^", l=l, r=Num(v=n)) if n > 0:
            return ev(l, env) ** n
        case Fn(name, arg):
            return getattr(math, name)(ev(arg, env))
        case [first, *rest]:
            return ev(first, env) - sum(ev(r, env) for r in rest)
        case {"scale": k, "of": inner, **rest}:
            return k * ev(inner, env) + len(rest)
        case float() | int():
            return e
        case _:
            raise ValueError(e)


def match_ast(x):
    env = dict(zip("abcd", x))
    e = Bin(
        "+",
        Bin("mul", "a", Fn("sin", "b")),
        [Bin("^", "c", Num(3)), "d", {"scale": x[0], "of": "b", "z": 1}, x[3]],
    )
    return ev(e, env)


def nonlocal_counter(x):
    def make(scale):
        total, n = 0.0, 0

        def add(v):
            nonlocal total, n
            n += 1
            total += math.sin(v * scale) / n
            return total

        def get():
            return total, n

        return add, get

    add, get = make(x[0])
    for v in x:
        add(v)
    t, n = get()
    return t * n + add(x[1])


def counter_chainmap(x):
    base = {"k": x[0], "m": 2.0}
    over = collections.ChainMap({"k": x[1]}, base)
    c = collections.Counter("abracadabra")
    s = sum(n * math.sin(a) for (_, n), a in zip(c.most_common(), x))
    child = over.new_child({"z": x[2]})
    return over["k"] * over["m"] + s + child["z"] * child["k"] * base["k"]


def itertools_mix(x):
    s = sum(a * b for a, b in itertools.pairwise(x))
    s += sum(math.prod(c) for c in itertools.combinations_with_replacement(x, 2)) * 0.1
    s += sum(a - b for a, b in itertools.permutations(x, 2) if a > b)
    acc = list(itertools.accumulate(x, lambda u, v: u * 0.5 + math.sin(v), initial=x[0]))
    s += acc[-1] * len(acc)
    a, b = itertools.tee(iter(x))
    next(b)
    s += sum(u * v * v for u, v in zip(a, b))
    s += sum(itertools.islice(itertools.cycle(x), 1, 7, 2))
    s += sum(itertools.compress(x, [1, 0, 1, 1]))
    s += sum(itertools.chain.from_iterable([[a, a * a] for a in x]))
    s += sum(map(math.pow, x, [2, 3, 1, 2]))
    s += sum((a or 0) * (b or 1) for a, b in itertools.zip_longest(x[:3], x[2:]))
    for k, g in itertools.groupby(sorted(x), key=lambda v: v > 1):
        s += math.exp(sum(g)) * 0.1 * (1 + k)
    s += sum(itertools.takewhile(lambda v: v < 2, x)) - sum(itertools.dropwhile(lambda v: v < 1, x))
    s += sum(a * i for i, a in zip(itertools.count(0.5, 0.25), itertools.repeat(x[1], 3)))
    s += sum(a * b for a, b in itertools.product(x[:2], repeat=2))
    s += sum(itertools.filterfalse(lambda v: v > 1, x))
    return s


class Point(NamedTuple):
    x: float
    y: float

    @property
    def norm(self):
        return math.hypot(self.x, self.y)

    def rotate(self, a):
        c, s = math.cos(a), math.sin(a)
        return self._replace(x=c * self.x - s * self.y, y=s * self.x + c * self.y)

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y


def operator_mix(x):
    recs = [{"n": i, "v": a} for i, a in enumerate(x)]
    recs.sort(key=operator.itemgetter("v"), reverse=True)
    pts = sorted([Point(a, b) for a, b in zip(x, x[::-1])], key=operator.attrgetter("norm", "x"))
    up = operator.methodcaller("rotate", 0.3)
    t = operator.itemgetter(0, 2)(x)
    acc = [x[0]]
    operator.iadd(acc, [x[1]])
    return (
        recs[0]["v"] * recs[1]["v"]
        + up(pts[0]).x
        + t[0] * t[1]
        + sum(acc)
        + operator.truediv(x[1], x[2])
        + operator.pow(x[3], 2)
    )


class Cell:
    def __init__(self):
        self.v = 0.0

    def set_state(self, s, k=1.0):
        self.v = math.sin(s) * k

    up = functools.partialmethod(set_state, k=2.0)
    reset = functools.partialmethod(set_state, 0.3)


def partialmethod(x):
    c = Cell()
    c.up(x[0])
    a = c.v
    c.reset(k=x[1])
    b = c.v
    return (
        a * b
        + functools.partial(math.pow, x[2])(x[3])
        + functools.partial(max, key=lambda v: -v)(x)
    )


def retry(times, *, exc=ValueError):
    def deco(f):
        @functools.wraps(f)
        def wrapper(*a, **k):
            for i in range(times):
                try:
                    return f(*a, attempt=i, **k)
                except exc:
                    continue
            raise RuntimeError

        wrapper.calls = times
        return wrapper

    return deco


@retry(3)
def flaky(v, attempt=0):
    if attempt < 2:
        raise ValueError("not yet", v)
    return math.atan(v) * attempt


def retry_decorator(x):
    return flaky(x[0]) * flaky.calls + flaky(x[1])


def deque_window(x):
    w = collections.deque(maxlen=3)
    out = 0.0
    for i in range(8):
        w.append(math.sin(x[i % 4] + i))
        out += sum(w) / len(w) * max(w)
    w.rotate(1)
    w.extendleft([x[0]])
    return out * w[0] + w[-1]


def exceptions_carry_values(x):
    class NotConverged(Exception):
        def __init__(self, msg, best):
            super().__init__(msg)
            self.best = math.sin(best)

    def solve(a):
        try:
            if a > 0:
                raise NotConverged("no", a)
            return a
        except NotConverged as e:
            return e.best
        else:
            return 0.0
        finally:
            pass

    s = 0.0
    try:
        try:
            raise KeyError(x[1])
        except KeyError as e:
            raise ValueError(e.args[0] * 2) from e
    except ValueError as e:
        s = e.args[0] * e.__cause__.args[0]
    try:
        raise ExceptionGroup("g", [ValueError(x[2]), TypeError(x[3])])
    except* ValueError as eg:
        s += eg.exceptions[0].args[0] ** 2
    except* TypeError as eg:
        s += math.sin(eg.exceptions[0].args[0])
    return solve(x[0]) + s


def generators_pipeline(x):
    def read():
        for a in x:
            yield a

    def square(it):
        return (v * v for v in it)

    def window(it, n):
        d = deque(maxlen=n)
        for v in it:
            d.append(v)
            if len(d) == n:
                yield tuple(d)

    def batched(it, n):
        it = iter(it)
        while b := tuple(itertools.islice(it, n)):
            yield b

    g = (math.fsum(w) for w in window(square(read()), 2))
    first = next(g)
    return (
        first * sum(g)
        + sum(math.prod(b) for b in batched(x, 3))
        + next((v for v in x if v > 1), 0.0)
        + next(iter([]), x[0])
    )


def autodiff_by_hand(x):
    class Var:
        def __init__(s, v, ps=()):
            s.v, s.ps, s.g = v, ps, 0.0

        def __add__(s, o):
            return Var(s.v + o.v, ((s, 1.0), (o, 1.0)))

        def __mul__(s, o):
            return Var(s.v * o.v, ((s, o.v), (o, s.v)))

        def sin(s):
            return Var(math.sin(s.v), ((s, math.cos(s.v)),))

        def back(s, g=1.0):
            s.g += g
            for p, d in s.ps:
                p.back(g * d)

    a, b = Var(x[0]), Var(x[1])
    y = a * b.sin() + a * a
    y.back()
    return a.g * b.g + y.v


def dynamic_type(x):
    C = type(
        "C",
        (),
        {
            "k": x[0],
            "f": lambda self, a: math.sin(a) * self.k,
            "__call__": lambda self, a: self.f(a) ** 2,
        },
    )
    D = types.new_class("D", (C,), {}, lambda ns: ns.update(g=staticmethod(lambda a: math.exp(a))))
    o = types.SimpleNamespace(a=x[1])
    m = types.MethodType(lambda s, b: math.hypot(s.a, b), o)
    return C()(x[2]) + D.g(x[3]) * D().f(x[1]) + m(x[0]) + types.MappingProxyType({"q": x[2]})["q"]


def currying_composition(x):
    compose = lambda *fs: functools.reduce(lambda f, g: lambda a: f(g(a)), fs)
    curry = lambda f: lambda a: lambda b: f(a, b)
    pipe = lambda v, *fs: functools.reduce(lambda a, f: f(a), fs, v)
    Y = lambda f: (lambda g: g(g))(lambda g: f(lambda *a: g(g)(*a)))
    fact = Y(lambda rec: lambda n, a: a if n == 0 else rec(n - 1, a * math.sin(n + a)))
    return (
        compose(math.sin, math.exp, lambda a: a / 2)(x[0])
        + curry(math.pow)(x[1])(x[2])
        + pipe(x[3], math.sqrt, lambda v: v + 1, math.log)
        + fact(3, x[0])
    )


@contextlib.contextmanager
def timer(log):
    t = math.sin(log[0])
    try:
        yield lambda v: math.cos(v) * t
    except ValueError as e:
        log.append(e.args[0] * 2)
    else:
        log.append(t)
    finally:
        log.append(t * t)


def contextmanager_exceptions(x):
    log = [x[0]]
    with timer(log) as f:
        r = f(x[1])
    with timer(log):
        raise ValueError(x[2])

    @timer(log)
    def g(a):
        return a * math.exp(a)

    return r + sum(log) + g(x[3]) + sum(log)


PROGRAMS = [(f, X) for f in [
    exit_stack, generator_send_return, generator_throw, match_ast, nonlocal_counter,
    counter_chainmap, itertools_mix, operator_mix, partialmethod, retry_decorator, deque_window,
    exceptions_carry_values, generators_pipeline, autodiff_by_hand, dynamic_type,
    currying_composition, contextmanager_exceptions,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
