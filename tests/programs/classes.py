"""Programs of classes: methods, properties, inheritance, records."""

import abc
import collections
import dataclasses
import functools
import math
import typing

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]


class Line:
    units = 2.0

    def __init__(self, slope, offset=1.0):
        self.slope = slope
        self.offset = math.sin(offset)

    def at(self, t):
        return self.slope * t + self.offset

    def __call__(self, t):
        return self.at(t) * self.units

    @staticmethod
    def curve(a):
        return math.exp(a) * a

    @classmethod
    def through(cls, a, b):
        return cls(b - a, math.cos(a))

    @property
    def norm(self):
        return math.hypot(self.slope, self.offset)


def object_with_init(x):
    return Line(x[0], x[1]).at(x[2])


def callable_object(x):
    return Line(x[0])(x[1]) * Line(2.0)(x[3])


def bound_method_alias(x):
    at = Line(x[0], x[1]).at
    return sum(at(t) ** 2 for t in x)


def unbound_method(x):
    return Line.at(Line(x[0]), x[1])


def static_method(x):
    return Line.curve(x[0]) + Line(1.0).curve(x[1])


def class_method(x):
    return Line.through(x[0], x[1]).at(x[2])


def property_read(x):
    return Line(x[0], x[1]).norm * x[2]


class Temperature:
    def __init__(self, kelvin):
        self._kelvin = kelvin

    @property
    def celsius(self):
        return self._kelvin - 273.15

    @celsius.setter
    def celsius(self, value):
        self._kelvin = math.exp(value) + 273.15


def property_set(x):
    t = Temperature(x[0])
    y = t.celsius
    t.celsius = x[1]
    return y * 1e-2 * t.celsius


class Lazy:
    def __init__(self, v):
        self.v = v

    @functools.cached_property
    def total(self):
        return math.sin(np.sum(self.v * self.v))


def cached_property(x):
    lazy = Lazy(x)
    return lazy.total + lazy.total * x[0]


class Shape(abc.ABC):
    def __init__(self, size):
        self.size = size

    @abc.abstractmethod
    def area(self): ...

    def price(self):
        return 3.0 * self.area()


class Circle(Shape):
    def area(self):
        return math.pi * math.pow(self.size, 2)


class Cone(Circle):
    def __init__(self, size, height):
        super().__init__(size)
        self.height = height

    def area(self):
        return super().area() + math.pi * self.size * math.hypot(self.size, self.height)


def super_calls(x):
    return Cone(x[0], x[1]).price() + Circle(x[2]).price()


class Left:
    def go(self, a):
        return math.sin(a)


class Middle(Left):
    def go(self, a):
        return super().go(a) * 2.0


class Right(Left):
    def go(self, a):
        return super().go(a) + a * a


class Both(Middle, Right):
    def go(self, a):
        return super(Both, self).go(a) * a  # noqa: UP008


def multiple_inheritance(x):
    return Both().go(x[0]) + Both().go(x[1])


class Secret:
    __gain = 2.5

    def __init__(self, a):
        self.__a = a

    def __mixed(self, b):
        return self.__gain * math.sin(self.__a * b)

    def value(self, b):
        return self.__mixed(b) + self.__a


def private_names(x):
    return Secret(x[0]).value(x[1])


@dataclasses.dataclass
class Body:
    position: float
    velocity: float
    mass: float = 2.0

    def energy(self):
        return 0.5 * self.mass * self.velocity**2 + math.cos(self.position)


def dataclass_method(x):
    return Body(x[0], x[1]).energy() + Body(x[2], 1.0, mass=x[3]).energy()


def dataclass_replace(x):
    body = dataclasses.replace(Body(x[0], x[1]), velocity=x[2] * 2.0)
    return body.energy()


def dataclass_asdict(x):
    fields = dataclasses.asdict(Body(x[0], x[1], x[2]))
    return sum(math.sin(v) * v for v in fields.values())


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    length: float = dataclasses.field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "length", math.hypot(self.x, self.y))


def frozen_dataclass(x):
    return Point(x[0], x[1]).length * Point(x[2], 1.0).length


Pair = collections.namedtuple("Pair", ["a", "b"])


class Interval(typing.NamedTuple):
    low: float
    high: float = 3.0

    def width(self):
        return math.exp(self.high - self.low)


def namedtuple(x):
    p = Pair(x[0] * 2.0, b=x[1])
    a, b = p._replace(a=p.a * x[2])
    return a * math.sin(b) + p[1]


def typed_namedtuple(x):
    return Interval(x[0]).width() + Interval(x[1], x[2]).width()


PROGRAMS = [(f, X) for f in [
    object_with_init, callable_object, bound_method_alias, unbound_method, static_method,
    class_method, property_read, super_calls, private_names, dataclass_method,
    dataclass_replace, dataclass_asdict, frozen_dataclass, namedtuple, typed_namedtuple,
    property_set, cached_property, multiple_inheritance,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()
