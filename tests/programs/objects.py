"""Programs of objects: their operators, protocols, attributes and copies."""

import collections
import copy
import enum
import math
import types

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]


class Dual:
    def __init__(self, re, eps):
        self.re, self.eps = re, eps

    def __add__(self, other):
        return Dual(self.re + other.re, self.eps + other.eps)

    def __mul__(self, other):
        if isinstance(other, Dual):
            return Dual(self.re * other.re, self.re * other.eps + self.eps * other.re)
        return Dual(self.re * other, self.eps * other)

    __rmul__ = __mul__

    def __neg__(self):
        return Dual(-self.re, -self.eps)

    def __abs__(self):
        return (self.re**2 + self.eps**2) ** 0.5


def own_operators(x):
    y = Dual(x[0], x[1]) * Dual(x[2], 1.0) + -(2.0 * Dual(x[3], x[0]))
    return abs(y) * y.eps


class Polar:
    def __init__(self, r, t):
        self.r, self.t = r, t

    def __add__(self, other):
        u = self.r * math.cos(self.t) + other.r * math.cos(other.t)
        v = self.r * math.sin(self.t) + other.r * math.sin(other.t)
        return Polar(math.hypot(u, v), math.atan2(v, u))


def own_operators_with_math(x):
    z = Polar(x[0], x[1]) + Polar(x[2], x[3])
    return z.r * z.t


class Path:
    def __init__(self, points):
        self.points = list(points)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i] * 2.0

    def __iter__(self):
        return iter(self.points)

    def __contains__(self, a):
        return any(p == a for p in self.points)


def own_container(x):
    path = Path(x)
    return path[0] * path[1] + sum(path) * len(path) + (1.0 if x[0] in path else 0.0)


class Scope:
    def __init__(self, a):
        self.a = a

    def __enter__(self):
        return math.sin(self.a)

    def __exit__(self, *exc):
        return False


def own_context_manager(x):
    with Scope(x[0]) as s:
        return s * x[1]


class Countdown:
    def __init__(self, a):
        self.a, self.n = a, 4

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        self.a = math.sin(self.a) + 0.5
        return self.a


def own_iterator(x):
    return sum(a * a for a in Countdown(x[0])) * x[1]


class Version:
    def __init__(self, key):
        self.key = key

    def __lt__(self, other):
        return self.key < other.key

    def __eq__(self, other):
        return self.key == other.key

    __hash__ = None


def own_comparison(x):
    ordered = sorted(Version(a) for a in x)
    return ordered[0].key * ordered[-1].key + max(Version(a) for a in x).key


def class_inside_function(x):
    class Model:
        rate = x[0] * 2.0

        def __init__(self, w):
            self.w = w

        def __call__(self, t):
            return self.rate * math.tanh(self.w * t) + x[3]

    return Model(x[1])(x[2])


class Layer:
    def __init__(self, weights, bias):
        self.weights, self.bias = weights, bias

    def forward(self, h):
        return np.tanh(self.weights @ h + self.bias)


class Network:
    def __init__(self, x):
        W = np.arange(6.0).reshape(3, 2) / 5.0 - 0.4
        self.layers = [Layer(W * x[0], x[1]), Layer(W.T * x[2], x[3])]

    def __call__(self, h):
        for layer in self.layers:
            h = layer.forward(h)
        return h


def network_of_objects(x):
    return np.sum(Network(x)(np.array([0.3, -0.8])) ** 2)


class Accumulator:
    def __init__(self):
        self.total, self.history = 0.0, []

    def add(self, a):
        self.total = 0.5 * self.total + math.sin(a)
        self.history.append(self.total)
        return self


def method_chaining(x):
    acc = Accumulator()
    for a in x:
        acc.add(a).add(a * 2.0)
    return acc.total + sum(h * h for h in acc.history)


class Node:
    __slots__ = ("left", "right", "value")

    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def total(self):
        below = [child.total() for child in (self.left, self.right) if child is not None]
        return math.tanh(self.value) + 0.5 * sum(below)


def tree_of_slots(x):
    return Node(x[0], Node(x[1]), Node(x[2], right=Node(x[3]))).total() ** 2


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return math.exp(getattr(obj, self.name))

    def __set__(self, obj, value):
        setattr(obj, self.name, value * 0.5)


class Gaussian:
    width = Positive()

    def __init__(self, mean, width):
        self.mean = mean
        self.width = width

    def log_density(self, t):
        return -(((t - self.mean) / self.width) ** 2) / 2 - math.log(self.width)


def descriptor(x):
    return Gaussian(x[0], x[1]).log_density(x[2])


class Flexible:
    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        return 2.0 * self.__dict__["base"] if name == "double" else super().__getattribute__(name)


def dynamic_attributes(x):
    f = Flexible(base=x[0], gain=x[1])
    setattr(f, "extra", x[2] * f.gain)  # noqa: B010
    return f.double * f.gain + getattr(f, "extra", 0.0) + getattr(f, "gone", 1.0)


def simple_namespace(x):
    p = types.SimpleNamespace(a=x[0], b=x[1])
    p.c = p.a * math.sin(p.b)
    return p.c**2 + sum(vars(p).values())


class Kind(enum.Enum):
    LINEAR = 1
    SQUARE = 2

    def apply(self, a):
        return a if self is Kind.LINEAR else a * math.sin(a)


def enumeration(x):
    return sum(kind.apply(a) for kind, a in zip(Kind, x[:2], strict=True)) * Kind.SQUARE.apply(x[2])


class Line:
    def __init__(self, slope, offset):
        self.slope, self.offset = slope, math.sin(offset)

    def at(self, t):
        return self.slope * t + self.offset


def copied_object(x):
    a = Line(x[0], x[1])
    b = copy.copy(a)
    b.slope = x[2]
    return a.at(2.0) * b.at(3.0)


def deep_copied_list(x):
    a = [[x[0], x[1]], [x[2]]]
    b = copy.deepcopy(a)
    b[0][0] = b[0][0] * 3.0
    return a[0][0] * b[0][0] + b[1][0]


class Mapping(dict):
    def __missing__(self, key):
        return 1.5


def dict_subclass(x):
    m = Mapping(a=x[0], b=x[1] ** 2)
    return m["a"] * m["b"] * m["nothing"]


def ordered_collections(x):
    d = collections.defaultdict(list)
    for i, a in enumerate(x):
        d[i % 2].append(a * a)
    window = collections.deque(x, maxlen=2)
    window.appendleft(x[0] * 2.0)
    return sum(d[0]) * sum(d[1]) + sum(window)


Pair = collections.namedtuple("Pair", ["a", "b"])


def callable_class_as_function(x):
    return sum(p.a * p.b for p in map(Pair, x[:2], x[2:]))


PROGRAMS = [(f, X) for f in [
    own_operators, own_container, own_comparison, class_inside_function, network_of_objects,
    method_chaining, tree_of_slots, dynamic_attributes, simple_namespace, copied_object,
    deep_copied_list, dict_subclass, ordered_collections, callable_class_as_function,
    own_operators_with_math, own_context_manager, own_iterator, descriptor, enumeration,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
