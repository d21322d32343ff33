"""Code without source is refused where it could take another path, and only there."""

from __future__ import annotations

import collections
import dataclasses
import sys
import sysconfig
import types
from typing import Any

import mpmath
import numpy as np
import pytest

from autodiff import SourceError, compile, gradient, pushforward
from autodiff.intercept import intercept
from autodiff.intercept.unseen import unseen_code
from chainrules.refused import RefusedError
from chainrules_core import ChainRulesError

_Pair = collections.namedtuple("_Pair", "first second")
HEAD = """
import collections, contextlib, dataclasses, functools, math, numbers, operator, struct, types
from collections.abc import Hashable, Iterable, Sized
import numpy as np

GLOBAL = 2.0
SENTINEL = object()
a_type = type

class Swallowing:
    def __enter__(self): return self
    def __exit__(self, *error): return True

class Quiet:
    def __enter__(self): return self
    def __exit__(self, *error): return None

@contextlib.contextmanager
def swallowing():
    try:
        yield
    except Exception:
        pass

class Model:
    def __init__(self, k): self.k = k
    def asks(self, x): return x * x if type(x) is float else x**3
    def asks_itself(self, x): return type(self)(self.k).k * x
    def __repr__(self): return type(self).__name__
    @staticmethod
    def static(x): return x * x if type(x) is float else x**3

class Called:
    def __call__(self, x): return x * x if type(x) is float else x**3

class Prop:
    def __init__(self, k): self.k = k
    @property
    def squared(self): return self.k * self.k if type(self.k) is float else self.k**3

class Descriptor:
    def __get__(self, owner, kind): return lambda x: x * x if type(x) is float else x**3

class Described:
    asks = Descriptor()

described = Described()
model = Model(3.0)
called = Called()
asks = lambda x: x * x if type(x) is float else x**3
held = {"asks": asks}
bound = functools.partial(asks)
Point = collections.namedtuple("Point", "a b")

@dataclasses.dataclass
class Data:
    a: float
    b: list = dataclasses.field(default_factory=list)

@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float
"""


def made(body: str) -> Any:
    """Return a function of such a body, whose source is not kept."""
    scope: dict[str, Any] = {"__name__": __name__}
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    exec(f"{HEAD}\n\ndef f(x):\n{lines}\n", scope)
    return scope["f"]


TELLS = {
    "rows that are swapped": (
        "rows = np.outer([1.0, 2.0], [x, x])\nnp.random.default_rng(3).shuffle(rows)\n"
        "return rows[0, 0]"
    ),
    "type": "return x * x if type(x) is float else x**3",
    "type by another name": "return x * x if a_type(x) is float else x**3",
    "name of a type": 'return x * x if type(x).__name__ == "float" else x**3',
    "an abstract class": "return x * x if isinstance(x, Iterable) else x**3",
    "an abstract class of a module": "return x * x if isinstance(x, "
    "collections.abc.Sized) else x**3",
    "a class imported inside": "from collections.abc import Sized as S\n"
    "return x * x if isinstance(x, S) else x**3",
    "a class that is not known": "kinds = x.__class__.__mro__\nreturn x if isinstance(x, kinds[0]) "
    "else x**3",
    "hasattr": 'return x * x if hasattr(x, "__len__") else x**3',
    "getattr": 'return x * x if getattr(x, "__len__", None) is None else x**3',
    "id": "return x * x if id(x) == id(GLOBAL) else x**3",
    "dir": 'return x * x if "__len__" in dir(x) else x**3',
    "is": "y = x * 1.0\nreturn x * x if y is x else x**3",
    "is a number": "return x * x if x is GLOBAL else x**3",
    "is of an object": "held[0] = x\nreturn x * x if x is held[0] else x**3",
    "is of an attribute": "model.k = x\nreturn x * x if model.k is x else x**3",
    "is of a global's attribute": "model.k = x\nreturn x * x if x is model.k else x**3",
    "operator.is_": "return x * x if operator.is_(x, x) else x**3",
    "all caught": "try:\n    return x.hex()\nexcept:\n    return x * x",
    "Exception": "try:\n    return x.hex()\nexcept Exception:\n    return x * x",
    "one of several": "try:\n    return x.hex()\nexcept (KeyError, TypeError):\n    return x * x",
    "one after another": "try:\n    return x.hex()\nexcept KeyError:\n    return x\n"
    "except AttributeError:\n    return x * x",
    "finally": "try:\n    return x * x\nfinally:\n    return x * x * x",
    "suppress": "with contextlib.suppress(Exception):\n    return x.hex()\nreturn x * x",
    "a manager": "with Swallowing():\n    return x.hex()\nreturn x * x",
    "a manager of a generator": "with swallowing():\n    return x.hex()\nreturn x * x",
    "a text and back": "return float(str(x)) * x",
    "a text of its form and back": 'return float(f"{x}") * x',
    "a helper": "return asks(x) + 1.0",
    "a helper in a dict": 'return held["asks"](x) + 1.0',
    "a partial": "return bound(x) + 1.0",
    "a method": "return model.asks(x)",
    "a static method": "return Model.static(x)",
    "a callable object": "return called(x)",
    "a property": "return Prop(x).squared",
    "a descriptor": "return described.asks(x)",
    "an inner function": "def g(y):\n    return y * y if type(y) is float else y**3\nreturn g(x)",
    "a comprehension": "return sum([y * y if type(y) is float else y**3 for y in [x, x]])",
    "eval": 'return eval("x * x if type(x) is float else x**3")',
    "a thread": "found = [x]\nimport threading\n"
    "t = threading.Thread(target=lambda: found.append(math.sin(x)))\nt.start()\nt.join()\n"
    "return found[-1]",
    "tasks": "import asyncio\nasync def g():\n    return math.sin(x)\nreturn asyncio.run(g())",
    "C code": "return float.hex(x) and x",
}

HARMLESS = {
    "None": "y = None\nreturn x * x if y is None else y",
    "a class": "return x * x if isinstance(x, float) else x**3",
    "classes": "return x * x if isinstance(x, (numbers.Real, np.ndarray)) else x**3",
    "a text": 's = f"{x}"\nreturn x * x',
    "a named tuple": "p = Point(x, 2.0)\nreturn p.a ** 2 + p._replace(b=x).b",
    "a dataclass": "return Data(x).a ** 2 + Data(a=x).a",
    "a frozen one": "return Frozen(x).a ** 2",
    "a generator": "return sum(y * y for y in [x, x])",
    "a lambda": "return (lambda y: y * y)(x)",
    "a loop": "y = x\nfor i in range(3):\n    y = y * x + i\nreturn y",
    "a branch": "return x * x if x > 1.0 else x**3",
    "the same object": "return x * x if Data(2.0) == Data(2.0) else x**3",
    "a match": "match x:\n    case float():\n        return x * x\nreturn x**3",
    "an attribute called type": "return types.SimpleNamespace(type=x).type * x",
}


@pytest.mark.parametrize("body", TELLS.values(), ids=TELLS)
def test_refused(body: str) -> None:
    f = made(body)
    with pytest.raises(SourceError, match="source is not to be had: it was made by exec"):
        gradient(f, 2.0)
    with pytest.raises(ChainRulesError):
        pushforward(f, 2.0)[1](1.0)


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS)
@pytest.mark.parametrize("x", [2.0, np.float64(1.7)], ids=["float", "float64"])
def test_let_pass(body: str, x: Any) -> None:
    f = made(body)
    expected = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    assert gradient(f, x) == pytest.approx(expected, rel=1e-6)
    assert pushforward(f, x)[1](1.0) == pytest.approx(expected, rel=1e-6)


def test_without_traced_values_it_runs() -> None:
    f = made(TELLS["type"])
    assert intercept(f)(2.0) == 4.0
    assert gradient(lambda x: x * f(3.0), 2.0) == 9.0


def test_what_a_function_has_captured_counts() -> None:
    scope: dict[str, Any] = {}
    exec("def make(y):\n    return lambda: y * y if type(y) is float else y**3\n", scope)
    with pytest.raises(SourceError):
        gradient(lambda x: scope["make"](x)(), 2.0)


def test_arrays_of_a_forward_level_count() -> None:
    """The value of a pushforward is computed with arrays that may be written into."""
    f = made("return np.sum(x * x) if type(x) is np.ndarray else np.sum(x) ** 3")
    with pytest.raises(SourceError):
        pushforward(f, np.array([1.0, 2.0]))


def test_a_variable_that_changes() -> None:
    f = made("return x * x if isinstance(x, KIND) else x**3")
    f.__globals__["KIND"] = float
    assert gradient(f, 2.0) == 4.0
    f.__globals__["KIND"] = f.__globals__["Iterable"]
    with pytest.raises(SourceError):
        gradient(f, 2.0)


def test_what_is_given_or_held_may_change() -> None:
    scope = made("return x").__globals__
    exec("def call(g, x): return g(x)\ndef held_call(x): return held['asks'](x)", scope)
    scope["held"]["asks"] = fine = eval("lambda x: x * x", scope)
    assert gradient(lambda x: scope["call"](fine, x), 2.0) == 4.0
    assert gradient(scope["held_call"], 2.0) == 4.0
    scope["held"]["asks"] = scope["asks"]
    with pytest.raises(SourceError):
        gradient(lambda x: scope["call"](scope["asks"], x), 2.0)
    with pytest.raises(SourceError):
        gradient(lambda x: scope["call"](g=scope["asks"], x=x), 2.0)
    with pytest.raises(SourceError):
        gradient(scope["held_call"], 2.0)


def test_compiled_it_runs_as_it_is() -> None:
    compiled = compile(made(TELLS["type"]))
    assert [compiled(2.0), compiled(3.0)] == [4.0, 9.0]


def test_the_error_says_what_and_where() -> None:
    with pytest.raises(SourceError) as caught:
        gradient(lambda x: made("return asks(x) + 1.0")(x), 2.0)
    message = str(caught.value)
    for part in (f"{__name__}.f is given a traced value", "type(...) in <lambda>", "linecache",
                 "Or do without type(...)", __file__):  # fmt: skip
        assert part in message


def test_an_answer_is_not_that_for_other_arguments() -> None:
    scope: dict[str, Any] = {}
    exec("def use(x, held): return sum([h(x) for h in held if h is not None], x)", scope)
    exec("def asks(x): return x * x if type(x) is float else x**3", scope)
    use, asks = scope["use"], scope["asks"]
    assert gradient(lambda x: use(x, [None]), 2.0) == 1.0
    with pytest.raises(SourceError):
        gradient(lambda x: use(x, [None, asks]), 2.0)


def test_methods_that_a_library_makes_by_exec(monkeypatch):
    library = types.ModuleType("library_of_numbers")
    library.__file__ = f"{sysconfig.get_path('purelib')}/library_of_numbers.py"
    monkeypatch.setitem(sys.modules, library.__name__, library)
    text = "def twice(x):\n    return 2 * x if type(x) is float else NotImplemented"
    exec(text, vars(library))

    with pytest.raises(SourceError, match="belongs to a library"):
        gradient(lambda x: library.twice(x), 1.5)


def test_numbers_of_mpmath():
    def f(x):
        return float(mpmath.mpf(2) * x + mpmath.pi)

    with pytest.raises(RefusedError, match=r"mpmath\.mpf"):
        gradient(f, 1.5)


@dataclasses.dataclass(frozen=True)
class _Tagged:
    value: float
    tags: tuple[str, ...] = ("first",)
    rest: list[float] = dataclasses.field(default_factory=list)


def test_what_python_writes_for_a_class_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no source, but keeps its arguments and no more."""

    def f(x: float) -> float:
        made = _Tagged(x, ("other", "a"))
        replaced = dataclasses.replace(made, value=2.0 * x)
        return _Pair(x, replaced.value).second + _Tagged(made.value).value

    monkeypatch.delattr(unseen_code._Walk, "look")
    assert gradient(f, 1.0) == 3.0
