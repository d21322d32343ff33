"""Functions of a library that ask for the class of an array that was made in the traced function.

Each of them computes one thing for an array and another for anything else. `WAYS` brings an array
to such a function in every way in which code calls a library.
"""

import copy
import functools
import importlib
import operator
import sys
import types

import numpy as np
import pytest

import autodiff
from chainrules_core.interpreter import places

LIBRARY = """
import numpy as np

ASKING


class Descriptor:
    def __get__(self, owner, kind=None):
        return self if owner is None else weight(owner.a)

    def __set__(self, owner, value):
        owner.factor = weight(value)


class Meta(type):
    def __call__(cls, a):
        made = super().__call__(a)
        made.of_class = weight(a)
        return made


class Vector:
    described = Descriptor()

    def __init__(self, a):
        self.factor = weight(a)
        self.a = a

    def method(self):
        return weight(self.a)

    def given(self, a):
        return weight(a)

    @property
    def value(self):
        return weight(self.a)

    def __call__(self, a):
        return weight(a)

    def __add__(self, other):
        return weight(self.a)

    __radd__ = __add__

    def __getitem__(self, i):
        return weight(self.a)

    def __len__(self):
        return int(weight(self.a))

    __int__ = __len__

    def __float__(self):
        return weight(self.a)

    def __bool__(self):
        return weight(self.a) == 2.0

    def __array__(self, dtype=None, copy=None):
        return np.array([weight(self.a)] * 3)

    def __iter__(self):
        return iter([weight(self.a)])

    def __enter__(self):
        return weight(self.a)

    def __exit__(self, *_):
        return None

    def __getattr__(self, name):
        if name == "made_up":
            return weight(self.a)
        raise AttributeError(name)

    @staticmethod
    def static(a):
        return weight(a)

    @classmethod
    def of(cls, a):
        return cls(a)


class ByMeta(metaclass=Meta):
    def __init__(self, a):
        self.a = a


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a

    def method(self):
        return weight(self.a)


def generated(a):
    yield weight(a)


def of_attribute(owner):
    return weight(owner.a)


def of_dict(nest):
    return weight(nest["a"][0])


def by_keyword(*, a):
    return weight(a)


def called(f, a):
    return f(a)
"""

ASKING = {
    "type": "def weight(a):\n    return 2.0 if type(a) is np.ndarray else 3.0",
    "table": "KINDS = {np.ndarray: 2.0}\ndef weight(a):\n    return KINDS.get(type(a), 3.0)",
    "several": "def weight(a):\n    return 2.0 if type(a) in (np.ndarray, list) else 3.0",
    "name": "def weight(a):\n    return 2.0 if type(a).__name__ == 'ndarray' else 3.0",
    "helper": "def kind(a):\n    return type(a)\n"
    "def weight(a):\n    return 2.0 if kind(a) is np.ndarray else 3.0",
}


class Holder:
    def __init__(self, a):
        self.a = a


def entered(manager):
    with manager as y:
        return y


def set_by(m, a):
    v = m.Vector(1.0)
    v.described = a
    return v.factor


WAYS = {
    "function": lambda m, a: m.weight(a),
    "constructor": lambda m, a: m.Vector(a).factor,
    "constructor of a subclass": lambda m, a: type("Sub", (m.Vector,), {})(a).factor,
    "class method": lambda m, a: m.Vector.of(a).factor,
    "metaclass": lambda m, a: m.ByMeta(a).of_class,
    "static method": lambda m, a: m.Vector.static(a),
    "method": lambda m, a: m.Vector(1.0).given(a),
    "method of what holds it": lambda m, a: m.Vector(a).method(),
    "slots": lambda m, a: m.Slotted(a).method(),
    "property": lambda m, a: m.Vector(a).value,
    "attrgetter": lambda m, a: operator.attrgetter("value")(m.Vector(a)),
    "descriptor": lambda m, a: m.Vector(a).described,
    "descriptor that is set": lambda m, a: set_by(m, a),
    "getattr": lambda m, a: m.Vector(a).made_up,
    "call": lambda m, a: m.Vector(1.0)(a),
    "operator": lambda m, a: m.Vector(a) + 1.0,
    "reflected operator": lambda m, a: 1.0 + m.Vector(a),
    "item": lambda m, a: m.Vector(a)[0],
    "len": lambda m, a: len(m.Vector(a)),
    "float": lambda m, a: float(m.Vector(a)),
    "int": lambda m, a: int(m.Vector(a)),
    "truth": lambda m, a: 2.0 if m.Vector(a) else 3.0,
    "array": lambda m, a: np.asarray(m.Vector(a))[0],
    "ufunc": lambda m, a: np.negative(m.Vector(a))[0],
    "loop": lambda m, a: next(y for y in m.Vector(a)),
    "with": lambda m, a: entered(m.Vector(a)),
    "generator": lambda m, a: next(iter(m.generated(a))),
    "attribute of an object": lambda m, a: m.of_attribute(Holder(a)),
    "attribute of a namespace": lambda m, a: m.of_attribute(types.SimpleNamespace(a=a)),
    "nest": lambda m, a: m.of_dict({"a": [a]}),
    "keyword": lambda m, a: m.by_keyword(a=a),
    "callback": lambda m, a: m.called(m.weight, a),
    "callback of ours": lambda m, a: m.called(lambda b: m.weight(b), a),
    "callback without it": lambda m, a: m.called(lambda b: m.weight(a), 1.0),
    "partial": lambda m, a: functools.partial(m.weight, a)(),
    "map": lambda m, a: next(map(m.weight, [a])),
    "copy": lambda m, a: m.weight(copy.deepcopy(a)),
}


@pytest.fixture(params=ASKING)
def library(request, tmp_path, monkeypatch):
    """A module that counts as one of an installed package."""
    name = f"library_that_asks_{request.param}"
    (tmp_path / f"{name}.py").write_text(LIBRARY.replace("ASKING", ASKING[request.param]))
    monkeypatch.setattr(places, "_LIBRARY", (*places._LIBRARY, str(tmp_path)))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    sys.modules.pop(name)


@pytest.mark.parametrize("way", WAYS)
def test_a_library_sees_the_class_of_an_array_made_inside(library, way):
    use = WAYS[way]

    def f(x):
        return x * use(library, np.ones(3)) + np.sum(x * np.zeros(2))

    expected = f(1.5) / 1.5
    assert abs(autodiff.gradient(f, 1.5)) == abs(expected) == 2.0
    assert autodiff.pushforward(f, 1.5)[1](1.0) == expected
    assert autodiff.compile(lambda x: autodiff.gradient(f, x))(1.5) == expected


UNSEEN = {
    "name": "return weight(x) * x",
    "attribute": "return m.weight(x) * x",
    "local name of the module": "n = m\n    return n.weight(x) * x",
    "import": "import NAME\n    return NAME.weight(x) * x",
    "import of a name": "from NAME import weight as w\n    return w(x) * x",
    "getattr": "return getattr(m, 'weight')(x) * x",
    "vars": "return vars(m)['weight'](x) * x",
    "import_module": "return importlib.import_module('NAME').weight(x) * x",
    "method": "return m.Vector(1.0).given(x) * x",
    "constructor": "return m.Vector(x).factor * x",
    "property": "return m.Vector(x).value * x",
    "object": "return vector(x) * x",
    "default": "def g(x, w=weight):\n        return w(x) * x\n    return g(x)",
    "own default": "return own(x) * x",
    "dict": "return table['w'](x) * x",
    "map": "return next(map(weight, [x])) * x",
    "callback": "return m.called(weight, x) * x",
    "callback of its own": "return m.called(lambda y: weight(y), x) * x",
}


@pytest.mark.parametrize("way", UNSEEN)
def test_code_without_source_that_calls_a_library_by_name(library, way):
    text = f"def f(x, own=weight):\n    {UNSEEN[way].replace('NAME', library.__name__)}\n"
    scope = {"m": library, "weight": library.weight, "importlib": importlib, "__name__": "unseen"}
    scope |= {"vector": library.Vector(1.0), "table": {"w": library.weight}}
    exec(text, scope)
    x = np.array(1.5)
    assert scope["f"](x) == 3.0  # what a tracer would not get

    with pytest.raises(autodiff.SourceError, match="source is not to be had"):
        autodiff.gradient(scope["f"], x)
