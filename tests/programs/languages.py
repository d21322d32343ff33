"""Programs that bring a small world of their own: parsers, graphs, matrices, tensors, tables."""

# ruff: noqa: B905, C416, E741, N802, N805

import collections
import functools
import graphlib
import heapq
import itertools
import math
import operator
import re
import statistics
from dataclasses import dataclass, field

import numpy as np

X = [0.7, 1.3, 2.1, 0.4]


def tokenizer_parser(x):
    toks = re.findall(r"\d+\.?\d*|[a-z]+|[()+*/^-]", "2*sin(a)+b*(c-1)^2/d")
    env = dict(zip("abcd", x))
    pos = 0

    def peek():
        return toks[pos] if pos < len(toks) else None

    def take():
        nonlocal pos
        t = toks[pos]
        pos += 1
        return t

    def atom():
        t = take()
        if t == "(":
            v = expr()
            take()
            return v
        if t in ("sin", "cos"):
            take()
            v = expr()
            take()
            return getattr(math, t)(v)
        return env[t] if t in env else float(t)

    def power():
        b = atom()
        return b ** power() if peek() == "^" and take() else b

    def term():
        v = power()
        while peek() in ("*", "/"):
            v = v * power() if take() == "*" else v / power()
        return v

    def expr():
        v = term()
        while peek() in ("+", "-"):
            v = v + term() if take() == "+" else v - term()
        return v

    return expr()


def graph_pagerank(x):
    g = {"a": {"b": x[0], "c": x[1]}, "b": {"c": x[2]}, "c": {"a": x[3], "b": 0.5}}
    r = dict.fromkeys(g, 1 / 3)
    for _ in range(5):
        new = dict.fromkeys(g, 0.05)
        for n, out in g.items():
            tot = sum(out.values())
            for m, w in out.items():
                new[m] += 0.85 * r[n] * w / tot
        r = new
    return r["a"] * 2 + r["c"] ** 2


def dijkstra(x):
    g = {0: [(1, x[0]), (2, x[1] * 2)], 1: [(2, x[2]), (3, 5.0)], 2: [(3, x[3])], 3: []}
    dist = {0: 0.0}
    pq = [(0.0, 0)]
    seen = set()
    while pq:
        d, u = heapq.heappop(pq)
        if u in seen:
            continue
        seen.add(u)
        for v, w in g[u]:
            nd = d + w
            if v not in dist or nd < dist[v]:
                dist[v] = nd
                heapq.heappush(pq, (nd, v))
    return dist[3] ** 2 + dist[2]


def matrix_class_lists(x):
    class Matrix:
        def __init__(self, rows):
            self.r = [list(r) for r in rows]

        @classmethod
        def identity(cls, n):
            return cls([[float(i == j) for j in range(n)] for i in range(n)])

        def __matmul__(self, o):
            return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.r)] for r in self.r])

        def __pow__(self, n):
            return functools.reduce(operator.matmul, [self] * n, Matrix.identity(len(self.r)))

        def __getitem__(self, ij):
            return self.r[ij[0]][ij[1]]

        def __setitem__(self, ij, v):
            self.r[ij[0]][ij[1]] = v

        def det(self):
            if len(self.r) == 1:
                return self.r[0][0]
            return sum(
                (-1) ** j * self.r[0][j] * Matrix([r[:j] + r[j + 1 :] for r in self.r[1:]]).det()
                for j in range(len(self.r))
            )

        @property
        def T(self):
            return Matrix(zip(*self.r))

    A = Matrix([[x[0], 1, 2], [x[1], x[2], 0.5], [1, x[3], 3]])
    A[1, 0] += x[0]
    A[0, 1], A[0, 2] = A[0, 2], A[0, 1]
    return A.det() + (A**3)[1, 2] + (A @ A.T)[0, 1]


C0 = np.arange(1.0, 5.0)


class State:
    def __init__(self):
        self.y = C0 * 1.0
        self.hist = []

    def push(self, v):
        self.y[1:] = self.y[:-1]
        self.y[0] = v
        self.hist.append(self.y.copy())


def state_object(x):
    s = State()
    for v in x:
        s.push(v)
    return s.y @ C0 + sum(h.sum() for h in s.hist)


def list_of_arrays(x):
    L = [C0 * k for k in range(3)]
    L[1][0] = x[0]
    L[2] += x
    return sum((l**2).sum() for l in L)


M0 = np.arange(16.0).reshape(4, 4) / 10


def nested_dict_state(x):
    p = {"w": C0 * 0.1, "b": {"c": M0 + 1}}
    p["w"][1] = x[1]
    p["b"]["c"][0] += x
    return p["w"] @ p["b"]["c"] @ x


def match_types(x):
    def size(o):
        match o:
            case bool():
                return 0.0
            case int(n) | float(n):
                return abs(n)
            case np.ndarray(shape=(n,)) as a if n > 2:
                return float(np.linalg.norm(a))
            case np.ndarray():
                return o.sum()
            case (a, b):
                return size(a) * size(b)
            case [a, *r]:
                return size(a) + size(r)
            case []:
                return 0.0
            case str() | None:
                return 1.0
            case {"v": v, **k}:
                return size(v) + len(k)

    return size([x[0], (x[1], x), {"v": x[:2], "z": 1}, None, True, 2]) + size(x[3])


class Bag:
    def __init__(self, *a):
        self.a = list(a)

    def __iadd__(self, o):
        self.a.append(math.sin(o))
        return self

    def __isub__(self, o):
        self.a.pop()
        return self

    def __imatmul__(self, o):
        self.a = [math.exp(v) * o for v in self.a]
        return self

    def __and__(self, o):
        return math.hypot(sum(self.a), sum(o.a))

    def __or__(self, f):
        return f(self.a)

    def __ror__(self, o):
        return sum(o)

    def __rshift__(self, o):
        return Bag(*map(o, self.a))

    def __invert__(self):
        return Bag(*[1 / v for v in self.a])

    def __pos__(self):
        return math.fsum(self.a)

    def __floordiv__(self, k):
        return [v // k for v in self.a]

    def __divmod__(self, k):
        return sum(self.a) / k, k

    def __reversed__(self):
        return iter(map(math.cosh, self.a[::-1]))

    def __bool__(self):
        return math.sqrt(len(self.a)) > 1

    def __len__(self):
        return len(self.a)


def rare_operators(x):
    b = Bag(x[0], x[1])
    b += x[2]
    b += 1.0
    b -= 0
    b @= x[3]
    q, r = divmod(b, 2.0)
    return (
        (b & Bag(x[0]))
        + (b | sum)
        + +(b >> math.sin)
        + +~b
        + q * r
        + sum(reversed(b))
        + (x[0] if b else 0)
        + ([x[1], 1.0] | Bag(2.0))
    )


class Series:
    def __init__(self, idx, vals):
        self.d = dict(zip(idx, vals))

    def __getitem__(self, k):
        return Series([i for i in k], [self.d[i] for i in k]) if isinstance(k, list) else self.d[k]

    def __getattr__(self, n):
        if n.startswith("__"):
            raise AttributeError(n)
        try:
            return self.__dict__["d"][n]
        except KeyError:
            raise AttributeError(n) from None

    def __array__(self, dtype=None, copy=None):
        return np.array(list(self.d.values()), dtype)

    def __len__(self):
        return len(self.d)

    def apply(self, f):
        return Series(self.d, [f(v) for v in self.d.values()])

    def __mul__(self, o):
        return Series(
            self.d, [v * (o.d[k] if isinstance(o, Series) else o) for k, v in self.d.items()]
        )

    def sum(self):
        return math.fsum(self.d.values())

    def groupby(self, f):
        g = collections.defaultdict(list)
        for k, v in self.d.items():
            g[f(k)].append(v)
        return {k: statistics.fmean(v) for k, v in g.items()}


def series_class(x):
    s = Series("abcd", x)
    return (
        s.a * s["b"]
        + s[["a", "c"]].sum()
        + np.mean(s)
        + np.dot(s, [1, 2, 3, 4])
        + (s * s).apply(math.sqrt).sum()
        + s.groupby(lambda k: k in "ab")[True]
        + np.sqrt(s).sum()
        + np.asarray(s * 2).max()
    )


def tensor_autograd_class(x):
    class T:
        def __init__(s, d, ps=(), f=None):
            s.d, s.ps, s.f, s.g = np.asarray(d), ps, f, None

        def __matmul__(s, o):
            return T(s.d @ o.d, (s, o), lambda g: (g @ o.d.T, s.d.T @ g))

        def __add__(s, o):
            return T(s.d + o.d, (s, o), lambda g: (g, g.sum(0)))

        def tanh(s):
            y = np.tanh(s.d)
            return T(y, (s,), lambda g: (g * (1 - y**2),))

        def sum(s):
            return T(s.d.sum(), (s,), lambda g: (g * np.ones_like(s.d),))

        def backward(s):
            order, seen = [], set()

            def visit(n):
                if id(n) not in seen:
                    seen.add(id(n))
                    [visit(p) for p in n.ps]
                    order.append(n)

            visit(s)
            s.g = np.ones_like(s.d)
            for n in reversed(order):
                if n.f is None:
                    continue
                for p, g in zip(n.ps, n.f(n.g)):
                    p.g = g if p.g is None else p.g + g

    W = T(x.reshape(2, 2))
    b = T(x[:2])
    X_ = T(np.array([[1.0, 2.0], [0.5, -1.0]]))
    l = (X_ @ W + b).tanh().sum()
    l.backward()
    return float(l.d) + (W.g**2).sum() + b.g[1]


class Vec:
    def __init__(self, *v):
        self.v = v

    def __add__(self, o):
        return Vec(*(a + b for a, b in zip(self.v, o.v)))

    def __radd__(self, o):
        return self if o == 0 else NotImplemented

    def __iter__(self):
        return iter(self.v)

    def __len__(self):
        return len(self.v)

    def __getitem__(self, i):
        return math.sin(self.v[i])

    @classmethod
    def zero(cls):
        return cls(0.0, 0.0)

    def __abs__(self):
        return math.hypot(*self.v)

    def __mul__(self, k):
        return Vec(*(a * k for a in self.v))

    __rmul__ = __mul__


def reduce_with_user_initial(x):
    vs = [Vec(x[0], x[1]), Vec(x[2], x[3])]
    s = functools.reduce(operator.add, vs, Vec.zero())
    t = sum(vs)
    u = sum(vs, start=Vec.zero())
    w = functools.reduce(lambda a, b: a + b * 2.0, vs)
    acc = list(itertools.accumulate(vs, operator.add, initial=Vec.zero()))
    return abs(s) * abs(t) + u[0] + abs(w) + acc[-1][1] + max(vs, key=abs)[0]


def plugin_registry_decorator(x):
    reg = {}

    def act(name=None, **meta):
        def deco(f):
            reg[name or f.__name__] = (f, meta)
            return f

        return deco

    @act()
    def relu(v):
        return v if v > 0 else 0.0 * v

    @act("soft", beta=2.0)
    def softplus(v, beta=1.0):
        return math.log1p(math.exp(beta * v)) / beta

    @act(name="sw")
    def swish(v, *, b=1.5):
        return v / (1 + math.exp(-b * v))

    return sum(f(v, **m) for (f, m), v in zip(reg.values(), x)) + reg["soft"][0](
        x[3], *reg["soft"][1].values()
    )


def topological_eval(x):
    g = {"d": {"b", "c"}, "b": {"a"}, "c": {"a"}, "a": set()}
    ops = {
        "a": lambda: x[0],
        "b": lambda a: math.sin(a) * x[1],
        "c": lambda a: a**2 + x[2],
        "d": lambda b, c: b * c * x[3],
    }
    val = {}
    for n in graphlib.TopologicalSorter(g).static_order():
        val[n] = ops[n](*(val[m] for m in sorted(g[n])))
    return val["d"]


def quadtree_barnes_hut(x):
    @dataclass
    class Cell:
        cx: float
        cy: float
        h: float
        m: float = 0.0
        mx: float = 0.0
        my: float = 0.0
        kids: dict = field(default_factory=dict)

        def add(s, p):
            s.m += 1
            s.mx += p[0]
            s.my += p[1]
            if s.h > 0.3:
                q = (p[0] > s.cx, p[1] > s.cy)
                s.kids.setdefault(
                    q,
                    Cell(
                        s.cx + (s.h / 2 if q[0] else -s.h / 2),
                        s.cy + (s.h / 2 if q[1] else -s.h / 2),
                        s.h / 2,
                    ),
                ).add(p)

        def pot(s, p):
            dx, dy = s.mx / s.m - p[0], s.my / s.m - p[1]
            r = math.sqrt(dx * dx + dy * dy + 0.05)
            return (
                s.m / r if not s.kids or s.h / r < 0.8 else sum(k.pot(p) for k in s.kids.values())
            )

    root = Cell(1.0, 1.0, 1.2)
    P = [(x[0], x[1]), (x[2], x[3]), (x[3], x[2]), (1.55, 1.9)]
    for p in P:
        root.add(p)
    return sum(root.pot(p) for p in P)


PROGRAMS = [(f, X) for f in [
    tokenizer_parser, graph_pagerank, dijkstra, matrix_class_lists, state_object, list_of_arrays,
    nested_dict_state, match_types, rare_operators, series_class, tensor_autograd_class,
    reduce_with_user_initial, plugin_registry_decorator, topological_eval, quadtree_barnes_hut,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
