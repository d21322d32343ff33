"""Dataclasses that are made in a traced function are those that their generated code makes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar

import pytest

from autodiff import automatic_compile, gradient, value_and_gradient


@dataclass
class Plain:
    a: float
    b: float = 2.0
    parts: list = field(default_factory=lambda: [3.0])
    rate: ClassVar[float] = 0.5


@dataclass(slots=True)
class Slots:
    a: float
    n: int = field(default=4, init=False)


@dataclass(frozen=True)
class Frozen:
    a: float
    root: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", math.sqrt(self.a))


@dataclass
class Given:
    a: float
    scale: InitVar[float]
    shift: InitVar[float] = 1.0
    b: float = field(default=5.0, init=False)
    c: float = field(default=0.0, kw_only=True)

    def __post_init__(self, scale: float, shift: float) -> None:
        self.a = self.a * scale + shift


@dataclass
class Derived(Given):
    d: float = 7.0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, math.exp(value) if name == "d" else value)


class Undecorated(Plain):
    pass


@dataclass(init=False)
class WithoutInit(Plain):
    b: float = 9.0
    own: list = field(default_factory=list)


class PostInitOfNobody(Plain):
    def __post_init__(self) -> None:
        self.a = 0.0


@dataclass
class Asking:
    a: float
    b: float = 1.0

    def __post_init__(self) -> None:
        self.b = self.a**2 if type(self.a) is float else self.a**3


class BySuper(Asking):
    def __init__(self, a: float) -> None:
        super().__init__(a)


@dataclass
class ByClass(Asking):
    c: float = 3.0

    def __post_init__(self) -> None:
        Asking.__post_init__(self)
        self.a = self.b * self.c


MADE = [
    lambda x: Plain(x),
    lambda x: Plain(2.0, b=x),
    lambda x: Plain(x, x * x, [x]),
    lambda x: Slots(a=x),
    lambda x: Frozen(x),
    lambda x: dataclasses.replace(Plain(1.0), b=x),
    lambda x: Given(x, 2.0),
    lambda x: Given(1.0, x, x, c=x),
    lambda x: Derived(x, 3.0, d=x),
    lambda x: Undecorated(x),
    lambda x: PostInitOfNobody(x),
    lambda x: Asking(x),
    lambda x: BySuper(x),
    lambda x: ByClass(x, c=x),
]


def shown(made: Any) -> dict:
    names = [f.name for f in dataclasses.fields(made)]
    return {**{n: getattr(made, n) for n in names}, "own": sorted(getattr(made, "__dict__", {}))}


def total(made: Any) -> Any:
    values = [v for n, v in shown(made).items() if n != "own"]
    return sum(sum(v) if isinstance(v, list) else v for v in values)


@pytest.mark.parametrize("programs", [False, True])
@pytest.mark.parametrize("make", MADE)
def test_instances_are_those_of_the_generated_code(make: Any, programs: bool) -> None:
    def f(x: Any) -> Any:
        made = make(x)
        seen.append((type(made), shown(made)["own"]))
        return total(made)

    seen: list = []
    before = automatic_compile(programs)
    try:
        expected = (total(make(1.5 + 1e-6)) - total(make(1.5 - 1e-6))) / 2e-6
        assert gradient(f, 1.5) == pytest.approx(expected, rel=1e-6)
    finally:
        automatic_compile(before)
    assert seen == [(type(make(1.5)), shown(make(1.5))["own"])]


def test_an_inherited_init_sets_the_fields_of_its_own_class() -> None:
    def f(x: Any) -> Any:
        made = WithoutInit(x)
        seen.append(vars(made))
        return made.a * made.b

    seen: list = []
    assert gradient(f, 1.5) == f(1.0) == 2.0
    assert seen[0].keys() == seen[1].keys() == {"a", "b", "parts"}


@pytest.mark.parametrize(
    "make", [lambda x: Plain(), lambda x: Plain(x, d=1.0), lambda x: Given(x, 1.0, 2.0, 3.0)]
)
def test_wrong_arguments_are_pythons_own_error(make: Any) -> None:
    with pytest.raises(TypeError) as plain:
        make(1.5)
    with pytest.raises(TypeError) as traced:
        gradient(lambda x: make(x).a, 1.5)
    assert str(traced.value).split("\n")[0] == str(plain.value)


def test_other_code_without_source_runs() -> None:
    made: dict[str, Any] = {}
    exec("def __init__(self, k):\n    self.k = 7.0 * k", made)

    @dataclass
    class Scaled:
        k: Any
        __init__ = made["__init__"]

    value, slope = value_and_gradient(lambda x: Scaled(x).k ** 2, 3.0)
    assert (value, slope) == (441.0, 294.0)
