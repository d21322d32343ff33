"""Variables outside a compiled function that change between calls."""

import array
import collections
import functools
import importlib
import math
import sys

import numpy as np
import pytest

from autodiff import compile, grad, gradient

X = np.array([0.3, -0.2, 0.9])
RATE = 1.0
ELSEWHERE = 0
TABLE = np.ones(3)
PLACES = [0, 1]
_HERE = globals()


def scaled(x, table=TABLE, *, rates=[1.0]):  # noqa: B006 - it is changed from outside
    return x * table * rates[0]


class Layer:
    """Reads a global variable in its methods, and in a property."""

    power = 2

    def __call__(self, x):
        return self.shifted(x) ** 2

    def shifted(self, x):
        return x * self.rate

    @property
    def rate(self):
        return RATE

    def unused(self, x):
        global UNUSED
        UNUSED = x
        return ELSEWHERE


class Other(Layer):
    """Another one."""

    def __call__(self, x):
        return -x


LAYER = Layer()
PART = functools.partial(np.multiply, TABLE)


class Model:
    """Has attributes of its own and of its class."""

    power = 1.0

    def __init__(self):
        self.weights = np.ones(3)
        self.rate = 1.0

    def scaled(self, x):
        return x * self.weights

    def patched(self, x):
        return x


class Slotted:
    """Has no other attributes."""

    __slots__ = ("rate",)

    def __init__(self):
        self.rate = 1.0


NEST = {"a": 1.0, "b": [1.0, (2.0, 3.0)], "c": [np.ones(3)]}
MODEL, OTHER, SLOTTED = Model(), Model(), Slotted()
HANDLERS = {"a": np.sin}


def closure():
    table = np.ones(3)
    return (lambda x: x * table), table


GIVEN, GIVEN_TABLE = closure()


@compile
def inner(x):
    return x * RATE


def set_global(name):
    return lambda v: _HERE.__setitem__(name, v)


def set_table(v):
    TABLE[0] = v


CASES = {
    "a default array": (scaled, set_table),
    "a default list": (scaled, lambda v: scaled.__kwdefaults__["rates"].__setitem__(0, v)),
    "a partial's array": (functools.partial(np.multiply, TABLE), set_table),
    "a partial's function": (functools.partial(lambda c, x: x * c * RATE, 2.0), set_global("RATE")),
    "a global partial": (lambda x: PART(x), set_table),
    "a method's global": (lambda x: LAYER(x), set_global("RATE")),
    "a method's global, of a class": (lambda x: Layer()(x), set_global("RATE")),
    "a callable object": (
        lambda x: LAYER(x),
        lambda v: _HERE.__setitem__("LAYER", Other() if v == 2.0 else Layer()),
    ),
    "a compiled function's global": (lambda x: inner(x), set_global("RATE")),
    "a nest": (lambda x: x * NEST["b"][0] * NEST["a"], lambda v: NEST["b"].__setitem__(0, v)),
    "an array in a nest": (lambda x: x * NEST["c"][0], lambda v: NEST["c"][0].__setitem__(1, v)),
    "an attribute of an object": (lambda x: x * MODEL.rate, lambda v: setattr(MODEL, "rate", v)),
    "a slot": (lambda x: x * SLOTTED.rate, lambda v: setattr(SLOTTED, "rate", v)),
    "an array of an object": (
        lambda x: MODEL.scaled(x),
        lambda v: setattr(MODEL, "weights", np.full(3, v)),
    ),
    "a bound method's object": (MODEL.scaled, lambda v: MODEL.weights.__setitem__(0, v)),
    "an attribute of a class": (lambda x: x * Model.power, lambda v: setattr(Model, "power", v)),
    "a class's, of an object": (lambda x: x * MODEL.power, lambda v: setattr(Model, "power", v)),
    "what hides a class's": (lambda x: x * OTHER.power, lambda v: setattr(OTHER, "power", v)),
    "a method": (
        lambda x: MODEL.patched(x),
        lambda v: setattr(Model, "patched", lambda self, x: x * v),
    ),
    "a function in a dict": (
        lambda x: HANDLERS["a"](x),
        lambda v: HANDLERS.__setitem__("a", lambda x: x * v),
    ),
    "a list of other types": (
        lambda x: x * 2 if type(PLACES[0]) is int else x,
        lambda v: PLACES.__setitem__(0, 1 if v == 2.0 else 1.0),
    ),
}


@pytest.fixture(autouse=True)
def as_before():
    yield
    set_global("RATE")(1.0)
    TABLE[:] = 1.0


@pytest.mark.parametrize("name", CASES)
def test_what_changes_outside_is_noticed(name):
    f, change = CASES[name]
    for g in (f, lambda x: gradient(lambda y: np.sum(f(y)), x)):
        compiled = compile(g)
        for v in (1.0, 2.0, 2.0, 3.0):
            change(v)
            np.testing.assert_allclose(compiled(X), g(X))
        assert compiled.eager_because is None


@pytest.mark.parametrize(
    "held, change",
    [
        ({1, 2}, lambda s: s.add(5)),
        (collections.deque([1, 2]), lambda d: d.append(5)),
        (bytearray([1, 2]), lambda b: b.append(5)),
        (array.array("d", [1.0, 2.0]), lambda a: a.append(5.0)),
        (collections.deque([np.ones(3)]), lambda d: d[0].__setitem__(0, 5.0)),
        (range(3), lambda r: None),
    ],
)
def test_containers_given_may_change(held, change):
    def f(held, x):
        return sum(held) * x

    compiled = compile(f)
    for _ in range(6):
        np.testing.assert_allclose(compiled(held, X), f(held, X))
        change(held)


def test_functions_given_are_looked_into():
    def f(g, x):
        return g(x) * 2.0

    compiled = compile(f)
    for v in (1.0, 2.0, 2.0, 3.0):
        GIVEN_TABLE[0] = v
        for g in (GIVEN, functools.partial(np.multiply, GIVEN_TABLE), Layer()):
            np.testing.assert_allclose(compiled(g, X), f(g, X))


def test_variables_of_modules_of_the_users(tmp_path, monkeypatch):
    (tmp_path / "settings_of_a_user.py").write_text(
        "RATE = 1.0\nOTHER = 1.0\n\ndef scaled(x):\n    return x * OTHER\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = importlib.import_module("settings_of_a_user")
    monkeypatch.delitem(sys.modules, "settings_of_a_user")
    compiled = compile(lambda x: settings.scaled(x) * settings.RATE)
    for name in ("RATE", "OTHER"):
        for v in (1.0, 2.0):
            setattr(settings, name, v)
            np.testing.assert_allclose(compiled(X), X * settings.RATE * settings.OTHER)


def test_methods_that_nobody_calls_are_not_looked_into():
    compiled = compile(lambda x: LAYER(x))
    for v in range(4):
        set_global("ELSEWHERE")(v)
        compiled(X)
    assert compiled.variants == 1
    assert compiled.eager_because is None


def test_classes_of_arguments_may_change():
    class Given:
        rate = 2.0

        def scaled(self, x):
            return x * self.rate

    def f(given, x):
        return given.scaled(x)

    given = Given()
    compiled = compile(f)
    changes = [
        lambda: None,
        lambda: setattr(Given, "rate", 3.0),
        lambda: setattr(given, "rate", 4.0),
        lambda: setattr(Given, "scaled", lambda self, x: x * 10.0),
        lambda: setattr(given, "scaled", lambda x: x * 20.0),
    ]
    for change in changes:
        change()
        for _ in range(2):
            np.testing.assert_allclose(compiled(given, X), f(given, X))
    assert compiled.eager_because is None


def test_attributes_that_nobody_reads_may_change():
    model = Model()
    compiled = compile(lambda x: model.scaled(x))
    for k in range(4):
        model.count = k
        compiled(X)
    assert compiled.variants == 1


def test_what_a_function_does_to_objects_outside_is_done_at_each_call():
    model, rows = Model(), [[0.0]]

    def f(x):
        model.rate += 1.0
        rows[0].append(2.0)
        return x * model.rate

    compiled = compile(f)
    for k in range(5):
        np.testing.assert_allclose(compiled(X), X * (k + 2.0))
    assert len(rows[0]) == 6
    assert "changes 'model'" in compiled.eager_because


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (v * 2 for v in x),
        lambda x: zip(x, x, strict=True),
        lambda x: map(np.sin, x),
        lambda x: collections.deque([x * 2.0, x]),
        lambda x: {1, 2},
        lambda x: [np.random.default_rng(0).normal(), np.random.default_rng(0)][1].normal(size=2),
    ],
)
def test_results_that_are_used_up(f):
    compiled = compile(f)
    for scale in (1.0, 1.0, 2.0):
        found, expected = compiled(scale * X), f(scale * X)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(np.array(list(found)), np.array(list(expected)))
        if isinstance(found, set):
            found.add(5)


def test_functions_that_are_returned():
    compiled = compile(lambda x: lambda y: x * y)
    for scale in (1.0, 1.0, 2.0):
        np.testing.assert_array_equal(compiled(scale * X)(2.0), 2.0 * scale * X)


activation = np.tanh
module = np


def test_names_of_functions_and_modules_of_libraries_may_be_bound_anew(monkeypatch):
    compiled = compile(lambda x: gradient(lambda z: activation(z) * 2.0, x))
    assert compiled(1.0) == compiled(1.0) == pytest.approx(2 / np.cosh(1.0) ** 2)
    monkeypatch.setitem(globals(), "activation", np.sin)
    assert compiled(1.0) == pytest.approx(2 * np.cos(1.0))

    compiled = compile(lambda x: module.exp(x))
    assert compiled(1.0) == compiled(1.0) == np.exp(1.0)
    monkeypatch.setitem(globals(), "module", math)
    assert type(compiled(1.0)) is float
    assert compiled.variants == 2


def test_an_array_of_elements_is_made_for_an_option():
    def f(x):
        return np.average([x[0], x[1]], weights=[2.0, x[2]])

    compiled = compile(lambda x: gradient(f, x))
    x = np.array([0.7, 1.3, -0.4])
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-12)
    assert compiled.eager_because is None


def test_other_defaults_and_other_code():
    def f(x, w=2.0, *, k=1.0):
        return x * w * k

    def with_more(x, w=2.0, *, k=1.0):
        return x * w * k + 1.0

    compiled, slope = compile(f), compile(grad(f))
    for _ in range(3):
        assert (compiled(3.0), slope(3.0)) == (6.0, 2.0)
    f.__defaults__ = (5.0,)
    assert (compiled(3.0), slope(3.0)) == (15.0, 5.0)
    f.__kwdefaults__["k"] = 7.0
    assert (compiled(3.0), slope(3.0)) == (105.0, 35.0)
    f.__code__ = with_more.__code__
    assert (compiled(3.0), slope(3.0)) == (106.0, 35.0)


def test_functions_that_no_variable_holds_may_have_other_code():
    def old(x):
        return 2.0 * x

    def new(x):
        return 3.0 * x

    class Model:
        @property
        def scale(self):
            return 2.0

        @staticmethod
        def static(x):
            return 2.0 * x

        @classmethod
        def of_class(cls, x):
            return 2.0 * x

    def other_scale(self):
        return 3.0

    def other_of_class(cls, x):
        return 3.0 * x

    in_tuple, in_dict, nested, model = (old,), {"f": old}, {"a": {"b": [old]}}, Model()
    model.attribute = old
    cases = [
        (lambda x: in_tuple[0](x), old, new),
        (lambda x: in_dict["f"](x), old, new),
        (lambda x: nested["a"]["b"][0](x), old, new),
        (lambda x: sum(map(in_tuple[0], [x])), old, new),
        (lambda x: model.attribute(x), old, new),
        (lambda x: x * model.scale, Model.scale.fget, other_scale),
        (lambda x: model.static(x), Model.static, new),
        (lambda x: model.of_class(x), Model.of_class.__func__, other_of_class),
    ]
    for f, function, other in cases:
        compiled, slope, code = compile(f), compile(grad(f)), function.__code__
        assert (compiled(3.0), slope(3.0)) == (6.0, 2.0)
        function.__code__ = other.__code__  # autoreload does so
        assert (compiled(3.0), slope(3.0)) == (9.0, 3.0)
        function.__code__ = code
