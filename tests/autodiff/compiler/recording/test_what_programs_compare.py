"""What a program compares: modules of libraries, equal values, classes, code that others call."""

import abc
import builtins
import collections
import contextlib
import functools
import inspect
import math
import numbers
import operator
import sys
import types
import typing

import numpy as np
import pytest
import scipy.interpolate
import scipy.special

from autodiff import compile, gradient
from tests.autodiff.compiler.recording.changes import check_change


def _cube(x):
    return x**3


# -- what every function has, and what stands in modules of libraries ------------------------------


def described(x):
    """2.0"""
    return x


@pytest.mark.parametrize(
    "f, name, value",
    [
        (lambda x: np.sum(x) * float(described.__doc__), "__doc__", "3.0"),
        (lambda x: np.sum(x) * len(inspect.getdoc(described)), "__doc__", "3.0000"),
        (lambda x: np.sum(x) * float(getattr(described, "__doc__")), "__doc__", "3.0"),  # noqa: B009
        (lambda x: np.sum(x) * len(described.__annotations__), "__annotations__", {"x": float}),
        (
            lambda x: np.sum(x) * len(typing.get_type_hints(described)),
            "__annotations__",
            {"x": float},
        ),
        (lambda x: np.sum(x) * len(described.__name__), "__name__", "short"),
        (
            lambda x: np.sum(x) * len(inspect.signature(described).parameters),
            "__signature__",
            inspect.Signature(),
        ),
    ],
)
def test_what_is_said_of_a_function(monkeypatch, f, name, value):
    check_change(f, lambda: monkeypatch.setattr(described, name, value, raising=False))


def test_annotations_that_are_added(monkeypatch):
    monkeypatch.setattr(described, "__annotations__", {})
    check_change(
        lambda x: np.sum(x) * len(described.__annotations__),
        lambda: described.__annotations__.update(x=float),
    )


@pytest.mark.parametrize(
    "f, module, name, value",
    [
        (lambda x: np.sum(x) * np.our_rate, np, "our_rate", 3.0),
        (lambda x: np.sum(x) * getattr(np, "our_rate", 1.0), np, "our_rate", 3.0),
        (lambda x: np.sum(np.exp(x)), np, "exp", np.cos),
        (lambda x: np.sum(np.exp(x)), np, "exp", _cube),
        (lambda x: np.linalg.norm(x) * 2.0, np.linalg, "norm", np.sum),
        (lambda x: np.sum(scipy.special.erf(x)), scipy.special, "erf", np.cos),
        (lambda x: math.sin(x[0]), math, "sin", math.cos),
    ],
)
def test_what_stands_in_modules_of_libraries(monkeypatch, f, module, name, value):
    monkeypatch.setattr(np, "our_rate", 2.0, raising=False)
    check_change(f, lambda: monkeypatch.setattr(module, name, value))


def test_a_variable_that_appears_in_a_module_of_a_library(monkeypatch):
    monkeypatch.setattr(np, "our_rate", 2.0, raising=False)
    monkeypatch.delattr(np, "our_rate")
    check_change(
        lambda x: np.sum(x) * (np.our_rate if hasattr(np, "our_rate") else 1.0),
        lambda: monkeypatch.setattr(np, "our_rate", 3.0, raising=False),
    )


# -- values that are equal, and other values all the same ------------------------------------------


class Held:
    def __init__(self, k):
        self.k = k

    def __repr__(self):
        return "Held"


def _put(d, key):
    d.clear()
    d[key] = 1.0


EQUAL = [
    (0.0, -0.0),
    (1, True),
    (1, 1.0),
    (complex(1.0, 0.0), complex(1.0, -0.0)),
    ((0.0,), (-0.0,)),
]
own = Held(0.0)
in_list = [[0.0]]
as_key = [{0.0: 1.0}]
as_only_key = {0.0: 1.0}
as_member = [{0.0}]


def _told(k):
    """Return another number for each of some values that are equal."""
    return float(sum(map(ord, repr(k))))


@pytest.mark.parametrize("value, other", EQUAL, ids=repr)
@pytest.mark.parametrize(
    "read, put",
    [
        (lambda: own.k, lambda v: setattr(own, "k", v)),
        (lambda: in_list[0][0], lambda v: in_list[0].__setitem__(0, v)),
        (lambda: next(iter(as_key[0])), lambda v: _put(as_key[0], v)),
        (lambda: next(iter(as_only_key)), lambda v: _put(as_only_key, v)),
        (lambda: next(iter(as_member[0])), lambda v: (as_member[0].clear(), as_member[0].add(v))),
    ],
    ids=["attribute", "element", "key in a nest", "key", "member"],
)
def test_values_that_are_equal(read, put, value, other):
    put(value)
    check_change(lambda x: np.sum(x) * _told(read()), lambda: put(other))


@pytest.mark.parametrize("value, other", [pair for pair in EQUAL if pair[0] != 0.0], ids=repr)
def test_keys_of_an_argument_that_are_equal(value, other):
    compiled = compile(lambda d: sum(v * _told(k) for k, v in d.items()), backend="python")
    for key in (value, other, value):
        assert compiled({key: 2.0}) == 2.0 * _told(key)


# -- classes --------------------------------------------------------------------------------------


class First:
    rate = 2.0


class Other:
    rate = 3.0


class Made(First):
    pass


class Empty:
    pass


empty = Empty()


def test_a_class_that_gets_other_bases():
    class Local(First):
        pass

    check_change(lambda x: np.sum(x) * Local().rate, lambda: setattr(Local, "__bases__", (Other,)))


@pytest.mark.parametrize(
    "f, name, method",
    [
        (lambda x: np.sum(x) * (2.0 if empty else 3.0), "__bool__", lambda self: False),
        (lambda x: np.sum(x) * (2.0 if empty else 3.0), "__len__", lambda self: 0),
        (lambda x: np.sum(x) * (2.0 if empty == 1 else 3.0), "__eq__", lambda self, other: True),
        (lambda x: np.sum(x) * Made().rate, "__getattribute__", lambda self, name: 5.0),
    ],
)
def test_special_methods_that_appear(monkeypatch, f, name, method):
    kind = Made if name == "__getattribute__" else Empty
    check_change(f, lambda: monkeypatch.setattr(kind, name, method, raising=False))


class Abstract(abc.ABC):  # noqa: B024 - nothing but a class to register with
    pass


@pytest.mark.parametrize("abstract", [Abstract, numbers.Real], ids=["user's", "library's"])
def test_a_class_that_is_registered_as_a_subclass(abstract):
    class Local:
        pass

    local = Local()
    check_change(
        lambda x: np.sum(x) * (2.0 if isinstance(local, abstract) else 3.0),
        lambda: abstract.register(Local),
    )


def test_names_and_subclasses_of_a_class():
    class Local:
        pass

    check_change(lambda x: np.sum(x) * len(Local.__name__), lambda: setattr(Local, "__name__", "L"))
    kept = []
    check_change(
        lambda x: np.sum(x) * (1.0 + len(Local.__subclasses__())),
        lambda: kept.append(type("Below", (Local,), {})),
    )


def test_a_module_that_another_one_replaces(monkeypatch):
    def with_rate(rate):
        module = types.ModuleType("replaced")
        module.rate = rate
        monkeypatch.setitem(sys.modules, "replaced", module)

    def f(x):
        import replaced

        return np.sum(x) * replaced.rate

    with_rate(2.0)
    check_change(f, lambda: with_rate(3.0))


run, system, reading = builtins.eval, sys, builtins.getattr
by_names = Made()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x) * run("by_names").k,
        lambda x: np.sum(x) * system.modules[__name__].by_names.k,
        lambda x: np.sum(x) * reading(by_names, "kj"[:1]),
    ],
)
def test_functions_and_modules_that_go_by_another_name(monkeypatch, f):
    monkeypatch.setattr(by_names, "k", 2.0, raising=False)
    check_change(f, lambda: monkeypatch.setattr(by_names, "k", 3.0))


# -- code that is not found in code ---------------------------------------------------------------

hidden = 2.0


@functools.singledispatch
def chosen(a):
    return 1.0


@chosen.register(int)
def _chosen_for_int(a):
    return hidden


@contextlib.contextmanager
def entered():
    yield hidden


@np.errstate(all="ignore")
def decorated():
    return hidden


def _enter():
    with entered() as k:
        return k


of_library = np.frompyfunc(lambda a: a * hidden, 1, 1)
made_by_default = collections.defaultdict(lambda: hidden)
by_attribute = operator.attrgetter("inner.rate")
by_method = operator.methodcaller("get")
with_keyword = functools.partial(lambda k: k, k=2.0)
many = [Held(1.0) for _ in range(2000)]
some = [Held(1.0) for _ in range(200)]


class Getting:
    rate = 2.0

    def get(self):
        return self.rate


getting = Getting()
getting.inner = Getting()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x) * chosen(1),
        lambda x: np.sum(x) * _enter(),
        lambda x: np.sum(x) * decorated(),
        lambda x: np.sum(x) * float(of_library(1.0)),
        lambda x: np.sum(x) * (made_by_default.clear(), made_by_default["k"])[1],
    ],
)
def test_functions_that_are_called_by_others(monkeypatch, f):
    check_change(f, lambda: monkeypatch.setitem(globals(), "hidden", 3.0))


def test_getters_made_outside(monkeypatch):
    check_change(
        lambda x: np.sum(x) * by_attribute(getting) * by_method(getting),
        lambda: monkeypatch.setattr(Getting, "rate", 3.0),
    )


def test_a_keyword_of_a_partial():
    check_change(
        lambda x: np.sum(x) * with_keyword(),
        lambda: with_keyword.keywords.update(k=3.0),
    )


def test_functions_that_are_registered():
    check_change(lambda x: np.sum(x) * chosen("a"), lambda: chosen.register(str, lambda a: 5.0))


@pytest.mark.parametrize("objects", [some, many])
def test_many_objects(monkeypatch, objects):
    check_change(
        lambda x: np.sum(x) * objects[-1].k, lambda: monkeypatch.setattr(objects[-1], "k", 3.0)
    )


def test_slots_of_an_object_of_a_library():
    spline = scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [2.0, 2.0, 2.0])
    check_change(lambda x: np.sum(x) * float(spline(0.5)), lambda: spline.c.__setitem__(-1, 3.0))


# -- what hides something else ---------------------------------------------------------------------


class Base:
    def get(self):
        return self.kept * 2.0


class Mixin:
    pass


class Derived(Mixin, Base):
    def __init__(self):
        self.kept = 1.0
        self.array = np.arange(1.0, 4.0)

    def get(self):
        return super().get() * 3.0


derived = Derived()


@pytest.mark.parametrize(
    "f", [lambda x: np.sum(x) * derived.get(), lambda x: x[0] * Derived().get()]
)
@pytest.mark.parametrize(
    "kind, name, value",
    [
        (Mixin, "get", lambda self: 5.0),
        (Derived, "kept", property(lambda self: 5.0, lambda self, value: None)),
        (Mixin, "kept", property(lambda self: 5.0, lambda self, value: None)),
    ],
)
def test_what_is_given_to_a_class(monkeypatch, f, kind, name, value):
    check_change(f, lambda: monkeypatch.setattr(kind, name, value, raising=False))


@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning")  # since NumPy 2.5
def test_an_array_that_is_read_as_another_dtype():
    own = Derived()
    check_change(
        lambda x: np.sum(x) * np.sum(own.array),
        lambda: setattr(own.array, "dtype", np.int64),
    )


def test_a_builtin_that_is_replaced(monkeypatch):
    check_change(
        lambda x: pow(x[0], 2.0), lambda: monkeypatch.setattr("builtins.pow", lambda a, b: a * 3.0)
    )


class _Held:
    def __init__(self, x):
        self.x = x


def _doubled_twice(both):
    both[0].x = both[0].x * 2.0
    both[1].x = both[1].x * 2.0
    return both[0].x + both[1].x


def _doubled_items(both):
    both["a"][0] = both["a"][0] * 2.0
    both["b"][0] = both["b"][0] * 2.0
    return both["a"][0] + both["b"][0]


@pytest.mark.parametrize("first", [True, False])
def test_one_object_in_two_places_of_an_argument(first):
    """What is written in one place is seen in the other."""

    def objects(is_one):
        held = _Held(1.0)
        return [held, held if is_one else _Held(1.0)]

    def lists(is_one):
        held = [1.0]
        return {"a": held, "b": held if is_one else [1.0]}

    for f, make in ((_doubled_twice, objects), (_doubled_items, lists)):
        compiled = compile(f)
        for is_one in (first, not first, first, not first):
            assert compiled(make(is_one)) == (8.0 if is_one else 4.0)
        assert compiled.variants == 2
    slope = compile(lambda both: gradient(_doubled_items, both))
    for is_one in (first, not first, first, not first):
        assert slope(lists(is_one)) == gradient(_doubled_items, lists(is_one))


def test_one_object_as_two_arguments():
    def f(a, b):
        return a[0] * b[0]

    compiled = compile(lambda a, b: gradient(f, a, b))
    held = [3.0]
    for _ in range(2):
        assert compiled(held, held) == ([3.0], [3.0])
        assert compiled([3.0], [2.0]) == ([2.0], [3.0])


class _Atom:
    def __init__(self, kind):
        self.kind = kind


_ATOMS = [_Atom("C") for _ in range(3)]
_CHARGES = {_ATOMS[0]: 1.0, _ATOMS[1]: 2.0}


@pytest.mark.parametrize(
    "charge",
    [
        lambda atom: 2.0 if atom is _ATOMS[1] else 3.0,
        lambda atom: 2.0 if atom == _ATOMS[1] else 3.0,
        lambda atom: 2.0 if atom in _ATOMS[1:] else 3.0,
        lambda atom: 2.0 + _ATOMS.index(atom),
        lambda atom: _CHARGES.get(atom, 5.0),
        lambda atom: 2.0 if atom.kind == "C" else 3.0,
    ],
)
def test_an_argument_without_numbers_that_is_an_object_from_outside(charge):
    compiled = compile(lambda x, atom: gradient(lambda x: x * charge(atom), x))
    for k in (1, 0, 2, 1):
        assert compiled(0.5, _ATOMS[k]) == charge(_ATOMS[k])
