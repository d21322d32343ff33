"""Names that are missing when a function is recorded and defined later are noticed."""

import sys
import types
import weakref

import pytest

import chainrules_core
from autodiff import compile, gradient
from chainrules_core import NoTangent


class Settings:
    """Has what its users put in."""


class First:
    def scale(self):
        return 2.0


class Second:
    def scale(self):
        return 3.0


class Point:
    __match_args__ = ("a",)

    def __init__(self, a):
        self.a = a
        self.b = 1.0


def by_default(x, settings):
    return x * getattr(settings, "k", 9.0)


def by_question(x, settings):
    return x * settings.k if hasattr(settings, "k") else x * 9.0


def by_names(x, settings):
    return x * vars(settings).get("k", 9.0)


def by_made_name(x, settings):
    return x * getattr(settings, "".join(["k"]), 9.0)


def by_error(x, settings):
    try:
        return x * settings.k
    except AttributeError:
        return x * 9.0


READERS = [by_default, by_question, by_names, by_made_name, by_error]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("where", ["object", "class", "module", "function", "base"])
def test_attributes(read, where):
    kind = type("Kind", (type("Base", (), {}),), {"__module__": __name__})
    owners = {
        "object": (settings := kind()),
        "class": kind,
        "base": kind.__base__,
        "module": types.ModuleType("settings_of_a_user"),
        "function": lambda: None,
    }
    if where in ("module", "function"):
        settings = owners[where]

    def f(x):
        return read(x, settings)

    compiled = compile(f)
    expected = f(2.0)
    assert compiled(2.0) == expected
    owners[where].k = 3.0
    assert compiled(2.0) == f(2.0)
    owners[where].k = 4.0
    assert compiled(2.0) == f(2.0)
    del owners[where].k
    assert compiled(2.0) == expected


def test_another_class():
    settings = First()
    compiled = compile(lambda x: x * settings.scale())
    assert compiled(2.0) == 4.0
    settings.__class__ = Second
    assert compiled(2.0) == 6.0


def test_attributes_of_functions():
    def helper(x):
        return x * helper.k

    helper.k = 2.0
    compiled = compile(lambda x: helper(x))
    assert compiled(2.0) == 4.0
    helper.k = 3.0
    assert compiled(2.0) == 6.0


@pytest.mark.parametrize("hold", [
    lambda module: types.SimpleNamespace(module=module),
    lambda module: [module],
    lambda module: {"module": module},
])  # fmt: skip
def test_modules_in_objects(hold):
    module = types.ModuleType("scales_of_a_user")
    module.k = 2.0
    module.scaled = lambda x: x * module.k
    held = hold(module)

    def f(x):
        inside = held.module if hasattr(held, "module") else [*held][-1]
        inside = held[inside] if type(held) is dict else inside
        return inside.scaled(x) + inside.k

    compiled = compile(f)
    assert compiled(2.0) == f(2.0) == 6.0
    module.k = 3.0
    assert compiled(2.0) == f(2.0) == 9.0


def test_modules_that_are_defaults():
    module = types.ModuleType("scales_of_a_user")
    module.k = 2.0

    def f(x, scales=module):
        return x * scales.k

    compiled = compile(f)
    assert compiled(2.0) == 4.0
    module.k = 3.0
    assert compiled(2.0) == 6.0


def test_builtins_that_are_hidden(monkeypatch):
    compiled = compile(lambda x: 2.0 * abs(x))
    assert compiled(-1.0) == 2.0
    monkeypatch.setitem(globals(), "abs", lambda x: 5.0)
    assert compiled(-1.0) == 10.0


def test_global_variables_that_come_later(monkeypatch):
    def f(x):
        try:
            return x * SCALE_OF_LATER
        except NameError:
            return x * 9.0

    compiled = compile(f)
    assert compiled(2.0) == 18.0
    monkeypatch.setitem(globals(), "SCALE_OF_LATER", 5.0)
    assert compiled(2.0) == 10.0


def test_rules_that_come_later():
    def square(x):
        return x * x

    slope = compile(lambda x: gradient(lambda z: square(z), x))
    assert slope(3.0) == 6.0

    @chainrules_core.rrule.register(square, float)
    def rule(x):
        return x * x, lambda y: (NoTangent(), 7.0)

    try:
        assert slope(3.0) == gradient(lambda z: square(z), 3.0) != 6.0
    finally:
        chainrules_core.rrule.unregister(square, float)
    assert slope(3.0) == 6.0


def test_patterns_of_classes():
    place, other = Point(2.0), Point(2.0)

    def f(x):
        match place, other:
            case Point(2.0), Point(b=1.0):
                return 2.0 * x
        return 3.0 * x

    compiled = compile(f)
    assert compiled(1.0) == 2.0
    place.a = 5.0
    assert compiled(1.0) == 3.0
    place.a, other.b = 2.0, 4.0
    assert compiled(1.0) == 3.0


def test_objects_that_end():
    owner = Settings()
    reference = weakref.ref(owner)
    compiled = compile(lambda x: 2.0 * x if reference() is None else 3.0 * x)
    assert compiled(1.0) == 3.0
    del owner
    assert compiled(1.0) == 2.0


@pytest.mark.parametrize("many", [[2.0] * 1000, dict.fromkeys(range(1000), 2.0)])
def test_large_nests(many):
    compiled = compile(lambda x: x * many[7])
    assert compiled(1.0) == 2.0
    many[7] = 3.0
    assert compiled(1.0) == 3.0


class Scaling:
    """A descriptor that reads of its owner what no method of that class names."""

    def __get__(self, owner, kind=None):
        return owner.scales[0]


class Scaled:
    scale = Scaling()

    def __init__(self):
        self.scales = [2.0]


class ListOfUsers(list):
    pass


def test_descriptors():
    owner = Scaled()
    compiled = compile(lambda x: x * owner.scale)
    assert compiled(1.0) == 2.0
    owner.scales[0] = 3.0
    assert compiled(1.0) == 3.0


def test_other_bases():
    kind = type("Kind", (First,), {"__module__": __name__})
    owner = kind()
    compiled = compile(lambda x: x * owner.scale())
    assert compiled(1.0) == 2.0
    kind.__bases__ = (Second,)
    assert compiled(1.0) == 3.0


def test_containers_of_classes_of_users():
    many = ListOfUsers([2.0])
    compiled = compile(lambda x: x * many[0])
    assert compiled(1.0) == 2.0
    many[0] = 3.0
    assert compiled(1.0) == 3.0


def test_modules_that_can_be_imported_later(monkeypatch):
    def f(x):
        try:
            import scales_that_come_later
        except ImportError:
            return 9.0 * x
        return scales_that_come_later.k * x

    compiled = compile(f)
    assert compiled(1.0) == 9.0
    module = types.ModuleType("scales_that_come_later")
    module.k = 3.0
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert compiled(1.0) == 3.0


def test_what_the_interpreter_was_started_with(monkeypatch):
    compiled = compile(lambda x: x * len(sys.argv))
    monkeypatch.setattr(sys, "argv", ["a"])
    assert compiled(1.0) == 1.0
    monkeypatch.setattr(sys, "argv", ["a", "b"])
    assert compiled(1.0) == 2.0
