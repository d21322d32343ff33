"""Objects of the user's classes that functions with loops make."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from tests.autodiff.structured.kernels import Spring
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 0.6, 0.7])


class Filter:
    gain = 0.5

    def __init__(self, q: Any, r: Any) -> None:
        self.x, self.p, self.q, self.r = 0.0, 1.0, q, r
        self.history: list = []

    @property
    def scale(self) -> Any:
        return self.gain + 0.4

    @staticmethod
    def squared(v: Any) -> Any:
        return v * v

    def step(self, z: Any) -> Any:
        self.p = self.p + self.q
        k = self.p / (self.p + self.r) * self.scale
        self.x = self.x + k * (z - self.x)
        self.p *= 1 - k
        self.history.append(self.x)
        return self.x

    def __call__(self, z: Any) -> Any:
        return self.step(z) * self.gain


class Loaded(Spring):
    load = 0.2

    def force(self, y: Any) -> Any:
        return self.load - self.k * y


@dataclass(frozen=True)
class Fixed:
    k: Any
    twice: Any = field(init=False, default=2.0)


@dataclass
class Prepared:
    k: Any
    n: int = field(default=3, kw_only=True)

    def __post_init__(self) -> None:
        self.inner = Spring(self.k * self.n)


class Rebound:
    def __init__(self, y: Any) -> None:
        self.y = y

    def doubled(self, v: Any) -> Any:
        self.y = self.y * 2.0
        return v


@dataclass(init=False)
class Overridden(Spring):
    c: Any = 9.0  # the method of the base class binds the default of that


class Late(Spring):
    def __post_init__(self) -> None:  # which the method of the base class does not call
        self.c = 100.0


def square(v: Any) -> Any:
    return v * v


def recursive_filter(x: Any) -> Any:
    f = Filter(x[0], r=x[1])
    total = 0.0
    for z in x:
        e = z - f.step(z)
        total += f.squared(e) * f.gain + f(z)
    return total + f.p + sum(f.history)


def springs(x: Any) -> Any:
    p = Spring(x[0], v=np.array([x[1], x[2]]))
    loaded = Loaded(x[3], 0.3)
    y = x * 1.0
    for _ in range(5):
        y = y + 0.1 * p.force(y) + 0.1 * loaded.force(y)
        p.k *= 1.01
        p.v[0] += y[1]
        p.v = p.v * 1.1
    return np.sum(y) + p.v.sum() + p.k * loaded.c


def other_dataclasses(x: Any) -> Any:
    fixed, prepared = Fixed(x[0]), Prepared(x[1], n=2)
    total = 0.0
    for v in x:
        total += fixed.k * v * fixed.twice
        prepared.inner.k = prepared.inner.k * v
    return total * prepared.inner.k * prepared.n


def two_names(x: Any) -> Any:
    a = Spring(x[0])
    b = a
    pair = [a, Spring(x[3])]

    def doubled(s: Any) -> None:
        s.k = s.k * 2.0

    for _ in range(3):
        b.k = b.k * x[1]
        pair[0].k += x[2]
        doubled(a)
    return a.k * pair[1].k


def set_in_a_branch(x: Any) -> Any:
    a = Filter(x[0], x[1])
    for v in x:
        if v > 0.5:
            a.gain = v  # hides that of the class
        a.q = a.q * 1.1
    return a.q


def returned(x: Any) -> Any:
    def run() -> Spring:
        a = Spring(x[0])
        for v in x:
            a.k = a.k * v
        return a

    return run().k


def changed_once(x: Any) -> Any:
    a, total = Rebound(x[0]), 0.0
    a.n = x[1]

    def next_one(r: Rebound) -> Rebound:
        r.n = r.n * 2.0
        return r

    for v in x:
        next_one(a).y += v
        total += a.n * a.y
    return total


def by_the_defaults_of_init(x: Any) -> Any:
    a, b, total = Overridden(x[0]), Late(x[1]), 0.0
    for v in x:
        total += a.k * a.c * v + b.c
    return total


def called(x: Any) -> Any:
    a, total = Filter(x[0], x[1]), 0.0
    a.__call__ = square  # Python looks it up in the class
    for v in x:
        total += a(v)
    return total


def made_in_the_loop(x: Any) -> Any:
    total, last = 0.0, Spring(x[0])
    for v in x:
        new = Spring(v * last.k)
        total += new.k * last.k
        last = new
    return total


def made_in_a_branch(x: Any) -> Any:
    a = Spring(x[0])
    if x[1] > 0.2:
        a = Spring(x[2])
    total = 0.0
    for v in x:
        total += a.k * v
    return total


@dataclass
class WithFactory:
    k: list = field(default_factory=list)


def factory(x: Any) -> Any:
    a = WithFactory()
    for v in x:
        a.k.append(v * v)
    return sum(a.k)


class Part(abc.ABC):
    def __init__(self, k: Any) -> None:
        super().__init__()
        self.k = k

    @abc.abstractmethod
    def force(self, y: Any) -> Any: ...

    def work(self, y: Any) -> Any:
        return y * self.force(y)


class Elastic(Part):
    def force(self, y: Any) -> Any:
        return -self.k * y


class Worn(Elastic):
    def force(self, y: Any) -> Any:
        self.k = 0.9 * self.k
        return super().force(y) + 0.1


class Tired(Part):
    load = 0.2

    def force(self, y: Any) -> Any:
        return self.load + self.k


def of_abstract_classes(x: Any) -> Any:
    parts, total = [Elastic(x[0]), Worn(x[1]), Tired(x[2])], 0.0
    for v in x:
        for part in parts:
            total += part.work(v * v)
    return total


READ = [
    of_abstract_classes, made_in_the_loop, made_in_a_branch,
    recursive_filter, springs, other_dataclasses, two_names, set_in_a_branch, returned,
    changed_once, by_the_defaults_of_init, called, factory,
]  # fmt: skip


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_objects_that_a_function_makes(
    f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    check_gradient(f, X)
    assert f.__name__ in runs


# -- what is not read ------------------------------------------------------------------------------


class Counts:
    def __init__(self) -> None:
        self.n = 0

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, 2 * value)


class Asks:
    def __getattr__(self, name: str) -> Any:
        return 3.0


@dataclass
class WithInit:
    k: Any
    scale: InitVar[float] = 2.0

    def __post_init__(self, scale: float) -> None:
        self.k = self.k * scale


class Mounted:
    spring = Spring(3.0)
    n = 1.0


class Doubled:
    def __init__(self, k: Any) -> None:
        self._k = k

    @property
    def k(self) -> Any:
        return self._k

    @k.setter
    def k(self, value: Any) -> None:
        self._k = value * 2.0


@dataclass
class Made(Mounted):
    k: Any
    n: Any = field(init=False, default_factory=lambda: 5.0)


_NAMES: dict[str, Any] = {}
exec("def init(self, k):\n    self.k = 7.0 * k", _NAMES)


@dataclass
class Unmade:
    k: Any

    __init__ = _NAMES["init"]


def own_setattr(x: Any) -> Any:
    a = Counts()
    for v in x:
        a.n = a.n + v
    return a.n


def own_getattr(x: Any) -> Any:
    a = Asks()
    total = 0.0
    for v in x:
        total += a.k * v
    return total


def init_variable(x: Any) -> Any:
    a = WithInit(x[0])
    total = 0.0
    for v in x:
        total += a.k * v
    return total


def by_its_dict(x: Any) -> Any:
    a = Spring(x[0])
    for v in x:
        vars(a)["k"] = a.k * v
    return a.k


def hidden_in_a_loop(x: Any) -> Any:
    a, total = Filter(x[0], x[1]), x[0] * 1.0
    for v in x:
        total = total + a.gain * v
        a.gain = v  # hides that of the class from the second turn on
    return total


def method_hidden_in_a_loop(x: Any) -> Any:
    a, total = Spring(x[0]), x[0] * 1.0
    for v in x:
        total = total + a.force(v)
        a.force = square
    return total


def object_hidden_in_a_branch(x: Any) -> Any:
    a, total = Mounted(), 0.0
    own = Spring(x[1])
    if x[0] < 0.5:
        a.spring = own
    for v in x:
        total += a.spring.force(v)
    return total


def bound_anew_by_the_operand(x: Any) -> Any:
    a, total = Rebound(x * 1.0), 0.0
    for v in x:
        a.y += a.doubled(v)
        total += a.y[0] * a.y[1]
    return total


def name_bound_anew_by_the_operand(x: Any) -> Any:
    y, total = x * 1.0, 0.0
    for _ in range(3):
        y += (y := y * 2.0)[0]
        total += y[0] * y[1]
    return total


def changed_in_place_by_a_setter(x: Any) -> Any:
    a = Doubled(x * 1.0)
    for v in x:
        a.k += v
    return np.sum(a.k)


def not_one_field_each(x: Any) -> Any:
    a, b = Made(x[0]), Unmade(x[1])
    total = 0.0
    for v in x:
        total += a.k * a.n * v + b.k * v
    return total


NOT_READ = [
    own_setattr, own_getattr, init_variable,
    by_its_dict, hidden_in_a_loop, method_hidden_in_a_loop,
    object_hidden_in_a_branch, bound_anew_by_the_operand, name_bound_anew_by_the_operand,
    changed_in_place_by_a_setter, not_one_field_each,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_other_objects_are_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs


def test_an_abstract_class_has_no_objects() -> None:
    def f(x: Any) -> Any:
        part = Part(x[0])  # type: ignore[abstract]
        for v in x:
            part.k = part.k * v
        return part.k

    for _ in range(2):
        with pytest.raises(TypeError, match="abstract"):
            gradient(f, X)


def test_an_attribute_that_may_not_be_set_is_an_error() -> None:
    def f(x: Any) -> Any:
        a = Spring(x[0])
        for v in x:
            if v > 5:
                a.other = v
        return a.other

    for _ in range(2):
        with pytest.raises(AttributeError, match="other"):
            gradient(f, X)

    def frozen(x: Any) -> Any:
        a = Fixed(x[0])
        for v in x:
            a.k = a.k * v
        return a.k

    for _ in range(2):
        with pytest.raises(AttributeError, match="cannot assign to field 'k'"):
            gradient(frozen, X)
