"""Programs of classes: how they are made, what they inherit, what they compute on the way."""

# ruff: noqa: B905, F841, RUF012

import abc
import dataclasses
import enum
import functools
import math
import weakref
from dataclasses import dataclass, field
from typing import NamedTuple

X = [0.7, 1.3, 2.1, 0.4]


@dataclass(slots=True)
class Particle:
    pos: float
    vel: float
    mass: float = 1.5
    energy: float = field(init=False)

    def __post_init__(self):
        self.energy = 0.5 * self.mass * self.vel**2 + math.cosh(self.pos)

    def step(self, dt):
        return dataclasses.replace(
            self, pos=self.pos + dt * self.vel, vel=self.vel - dt * math.sin(self.pos)
        )


def slots_post_init(x):
    p = Particle(x[0], x[1], mass=x[2])
    for _ in range(3):
        p = p.step(0.1)
    return p.energy * x[3]


@dataclass(frozen=True, order=True)
class Version:
    major: float
    minor: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "score", math.exp(self.major) + self.minor)


def frozen_ordered(x):
    vs = sorted([Version(x[0], x[1]), Version(x[2], x[3]), Version(x[1])])
    return vs[0].score * vs[-1].score + max(vs).minor


class Temperature:
    def __init__(self, c):
        self._c = c

    @property
    def fahrenheit(self):
        return math.fsum([self._c * 1.8, 32.0])

    @fahrenheit.setter
    def fahrenheit(self, f):
        self._c = math.sqrt(f + 40.0)

    @functools.cached_property
    def kelvin(self):
        return math.hypot(self._c, 273.15)


def property_setter_cached(x):
    t = Temperature(x[0])
    t.fahrenheit = x[1] * 10
    t.fahrenheit += x[2]
    return t.fahrenheit * t.kelvin / 100 + t.kelvin * x[3]


class Base1:
    def area(self):
        return math.sin(self.r)


class Left(Base1):
    def area(self):
        return super().area() * 2 + math.exp(self.r)


class Right(Base1):
    def area(self):
        return super().area() + math.cos(self.r * 3)


class Diamond(Left, Right):
    def __init__(self, r):
        self.r = r

    def area(self):
        return super().area() + super(Left, self).area() * math.atan(self.r)


def super_explicit(x):
    return Diamond(x[0]).area() * Diamond(x[1]).area()


class Planet(enum.Enum):
    EARTH = (5.97, 6.37)
    MARS = (0.64, 3.39)

    def __init__(self, m, r):
        self.m, self.r = m, r

    @property
    def g(self):
        return self.m / self.r**2

    def weight(self, w):
        return math.log1p(w * self.g)

    @classmethod
    def heaviest(cls, w):
        return max(cls, key=lambda p: p.weight(w))


def enum_methods(x):
    return sum(p.weight(a) for p, a in zip(Planet, x)) + Planet.heaviest(x[2]).weight(x[3])


class Op(enum.Enum):
    ADD = "+"
    MUL = "*"
    SINH = "s"

    def __call__(self, a, b):
        match self:
            case Op.ADD:
                return a + b
            case Op.MUL:
                return a * b
            case Op.SINH:
                return math.sinh(a) * b


def enum_callable(x):
    return functools.reduce(lambda acc, it: it[0](acc, it[1]), zip(Op, x[1:]), x[0])


class Solver(abc.ABC):
    registry = {}

    def __init_subclass__(cls, /, key, **kw):
        super().__init_subclass__(**kw)
        Solver.registry[key] = cls

    @abc.abstractmethod
    def rhs(self, t, y): ...
    def solve(self, y, n=6, h=0.1):
        for i in range(n):
            y = self.advance(i * h, y, h)
        return y

    @classmethod
    def make(cls, key, *a):
        return cls.registry[key](*a)


class Euler(Solver, key="euler"):
    def __init__(self, k):
        self.k = k

    def rhs(self, t, y):
        return -self.k * math.tanh(y) + math.cos(t)

    def advance(self, t, y, h):
        return y + h * self.rhs(t, y)


class Heun(Euler, key="heun"):
    def advance(self, t, y, h):
        p = super().advance(t, y, h)
        return y + h / 2 * (self.rhs(t, y) + self.rhs(t + h, p))


def abc_registry(x):
    return Solver.make("euler", x[0]).solve(x[1]) * Solver.make("heun", x[2]).solve(x[3])


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


def namedtuple_methods(x):
    p, q = Point(x[0], x[1]), Point(*x[2:])
    return p.rotate(x[3]) @ q + p.norm * Point._make(x[:2]).norm + sum(p._asdict().values())


class Lazy:
    def __init__(self, **kw):
        self.kw = kw

    def __getattr__(self, name):
        if name.startswith("log_"):
            return math.log(self.kw[name[4:]])
        if name in self.__dict__.get("kw", {}):
            return self.kw[name]
        raise AttributeError(name)

    def __dir__(self):
        return list(self.kw)


def getattr_dynamic(x):
    p = Lazy(a=x[0], b=x[1])
    return (
        p.log_a * p.b + p.log_b + getattr(p, "missing", x[2]) + (1.0 if hasattr(p, "zzz") else x[3])
    )


class Registry(type):
    known = []

    def __new__(mcs, name, bases, ns, **kw):
        cls = super().__new__(mcs, name, bases, ns)
        mcs.known.append(cls)
        return cls

    def __call__(cls, *a, **k):
        obj = super().__call__(*a, **k)
        obj.scale = math.exp(obj.w)
        return obj


class Layer(metaclass=Registry):
    def __init__(self, w):
        self.w = w

    def __call__(self, h):
        return math.tanh(self.w * h) * self.scale


def metaclass_call(x):
    h = x[0]
    for w in x[1:]:
        h = Layer(w)(h)
    return h


@functools.total_ordering
class Money:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


def total_ordering(x):
    ms = [Money(a * a) for a in x]
    best = ms[0]
    for m in ms[1:]:
        if m >= best:
            best = m
    return best.v * min(ms).v + sorted(ms, reverse=True)[1].v


class Unit:
    def __set_name__(self, owner, name):
        self.key = "_" + name

    def __get__(self, obj, owner):
        if obj is None:
            return self
        return obj.__dict__[self.key] * 2

    def __set__(self, obj, v):
        if v < 0:
            raise ValueError("negative")
        obj.__dict__[self.key] = math.log(v + 1)


class Body:
    mass = Unit()
    radius = Unit()

    def __init__(self, m, r):
        self.mass, self.radius = m, r

    @property
    def density(self):
        return self.mass / self.radius**3


def validated_descriptors(x):
    b = Body(x[0], radius := x[1])
    b.mass += x[2]
    try:
        b.radius = -1.0
    except ValueError:
        b.radius = radius * 2
    return b.density


class Visitor:
    @functools.singledispatchmethod
    def visit(self, node):
        raise NotImplementedError

    @visit.register
    def _(self, node: int):
        return float(node)

    @visit.register
    def _(self, node: float):
        return math.sin(node)

    @visit.register
    def _(self, node: tuple):
        op, *args = node
        vals = [self.visit(a) for a in args]
        return {"+": sum, "*": math.prod, "max": max}[op](vals)


def singledispatchmethod(x):
    return Visitor().visit(("+", x[0], ("*", x[1], 2, x[2]), ("max", x[3], 0)))


class Node:
    def __init__(self, v, parent=None):
        self.v, self.children = v, []
        self._parent = weakref.ref(parent) if parent else None
        if parent:
            parent.children.append(self)

    @property
    def parent(self):
        return self._parent() if self._parent else None

    def depth_sum(self):
        n, s = self, 0.0
        while n is not None:
            s += math.sin(n.v)
            n = n.parent
        return s

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()


def weakref_tree(x):
    root = Node(x[0])
    a = Node(x[1], root)
    b = Node(x[2], a)
    c = Node(x[3], root)
    return sum(n.depth_sum() * n.v for n in root.walk())


PROGRAMS = [(f, X) for f in [
    slots_post_init, frozen_ordered, property_setter_cached, super_explicit, enum_methods,
    enum_callable, abc_registry, namedtuple_methods, getattr_dynamic, metaclass_call,
    total_ordering, validated_descriptors, singledispatchmethod, weakref_tree,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
