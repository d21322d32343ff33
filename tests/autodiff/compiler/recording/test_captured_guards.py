"""Captured values that change between calls: in pytrees, objects and modules."""

import argparse
import contextvars
import dataclasses
import functools
import itertools
import logging
import sys
import threading
import types
import warnings

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse

from autodiff import compile, gradient
from tests.autodiff.compiler.recording.changes import X, check_change
from tests.helpers import module_of

rate = 2.0
act = np.sin
settings = types.SimpleNamespace(rate=1.0, inner=types.SimpleNamespace(q=[2.0]))
options = argparse.Namespace(rate=1.0)


def _times_rate(x):
    return x * rate


def _cube(x):
    return x**3


held = [_times_rate]
table = {"f": _times_rate}


class Model:
    bias = 0.5

    def __init__(self):
        self.act = _times_rate

    def __call__(self, x):
        return self.act(x) * self[1]

    def __getitem__(self, i):
        return i + 1.0


model = Model()


@pytest.mark.parametrize(
    "owner, name, value",
    [
        (settings, "rate", 3.0),
        (settings, "inner", types.SimpleNamespace(q=[5.0])),
        (settings.inner, "q", [7.0]),
        (options, "rate", 3.0),
    ],
)
def test_attributes_of_namespaces(monkeypatch, owner, name, value):
    def f(x):
        return np.sum(x * x) * settings.rate * settings.inner.q[0] * options.rate

    check_change(f, lambda: monkeypatch.setattr(owner, name, value))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(held[0](x) * x),
        lambda x: np.sum(table["f"](x) * x),
        lambda x: np.sum(model(x) * x),
    ],
    ids=["list", "dict", "object"],
)
def test_variables_that_functions_in_nests_and_objects_read(monkeypatch, f):
    check_change(f, lambda: monkeypatch.setitem(globals(), "rate", 5.0))


@pytest.mark.parametrize("after", [np.cos, functools.partial(np.power, 2.0), _cube])
def test_a_variable_that_holds_a_function_of_a_library(monkeypatch, after):
    check_change(lambda x: np.sum(act(x)), lambda: monkeypatch.setitem(globals(), "act", after))


@pytest.mark.parametrize(
    "name, value",
    [("__call__", lambda self, x: 7.0 * x), ("__getitem__", lambda self, i: 9.0)],
)
def test_special_methods_that_are_replaced(monkeypatch, name, value):
    check_change(lambda x: np.sum(model(x) * x), lambda: monkeypatch.setattr(Model, name, value))


@pytest.mark.parametrize("how", ["import chosen\n    k = chosen.k", "from chosen import k"])
def test_modules_imported_inside(monkeypatch, tmp_path, how):
    (tmp_path / "chosen.py").write_text("k = 2.0\n")
    source = f"import numpy as np\ndef f(x):\n    {how}\n    return k * np.sum(x * x)\n"
    (tmp_path / "importing.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    import chosen
    import importing

    try:
        check_change(importing.f, lambda: monkeypatch.setattr(chosen, "k", 3.0))
    finally:
        monkeypatch.delitem(sys.modules, "chosen")
        monkeypatch.delitem(sys.modules, "importing")


class Table:
    entries = {"a": [1.0]}  # noqa: RUF012 - shared on purpose

    def __init__(self):
        self.q = 2.0

    def __call__(self, x):
        return np.sum(x * x) * self.q * self.entries["a"][0]


lookup = Table()


def test_what_a_class_holds(monkeypatch):
    monkeypatch.setitem(Table.entries, "a", [1.0])
    check_change(
        lambda x: lookup(x), lambda: Table.entries["a"].append(Table.entries["a"].pop() + 2.0)
    )


def test_an_object_that_is_compiled_itself():
    table = Table()
    compiled = compile(table)
    for q in (2.0, 3.0, 3.0, 4.0):
        table.q = q
        assert compiled(X) == pytest.approx(table(X), rel=1e-12)


class Dynamic(type):
    def __getattr__(cls, name):
        return rate


class Found(metaclass=Dynamic):
    pass


def test_what_a_metaclass_reads(monkeypatch):
    check_change(
        lambda x: np.sum(x * x) * Found.k, lambda: monkeypatch.setitem(globals(), "rate", 5.0)
    )


numbers = np.array([1.0, 2.0], dtype=object)
matrix = scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0]))
spline = scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 0.0, 3.0])
view = types.MappingProxyType(table)


@pytest.mark.parametrize(
    "f, holder, place",
    [
        (lambda x: np.sum(x * x) * numbers[0], numbers, 0),
        (lambda x: np.sum(matrix @ (x * x)), matrix.data, 0),
        (lambda x: np.sum(spline(x * x)), spline.c, (0, 0)),
        (lambda x: np.sum(view["f"](x) * x), table, "f"),
    ],
    ids=["objects", "sparse", "spline", "proxy"],
)
def test_what_objects_of_libraries_hold(f, holder, place):
    before = holder[place]

    def change():
        holder[place] = _cube if callable(before) else 5.0

    try:
        check_change(f, change)
    finally:
        holder[place] = before


def test_variables_of_modules_read_by_their_names(monkeypatch):
    module = types.ModuleType("chosen")
    module.__file__ = "chosen.py"
    module.k = 2.0
    monkeypatch.setitem(sys.modules, "chosen", module)
    check_change(
        lambda x: getattr(module, "k") * np.sum(x * x),  # noqa: B009 - as users do
        lambda: monkeypatch.setattr(module, "k", 3.0),
    )


def test_variables_read_by_name(monkeypatch):
    f = lambda x: globals()["rate"] * np.sum(x * x)  # noqa: E731
    check_change(f, lambda: monkeypatch.setitem(globals(), "rate", 5.0))


def _counted():
    k = 0.0
    while True:
        k += 1.0
        yield k


@pytest.mark.parametrize(
    "make", [_counted, lambda: iter([1.0, 2.0, 3.0]), lambda: itertools.count(1.0)]
)
def test_an_iterator_from_outside_goes_on(make):
    numbers = make()
    compiled = compile(lambda x: gradient(lambda x: np.sum(x) * next(numbers), x))
    assert [compiled(X)[0] for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_context_variable():
    variable = contextvars.ContextVar("variable", default=1.0)
    check_change(lambda x: np.sum(x * x) * variable.get(), lambda: variable.set(3.0))


def test_warnings_and_logs_are_given_at_each_call(caplog):
    log = logging.getLogger("compiled")

    def f(x):
        warnings.warn("it is slow", stacklevel=1)
        log.warning("called")
        return np.sum(x * x)

    compiled = compile(lambda x: gradient(f, x))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            compiled(X)
    assert len(seen) == len(caplog.records) == 3


def test_a_method_that_writes_a_global_variable_runs_as_it_is():
    class Counting:
        def slope(self, x):
            global _calls
            _calls += 1.0
            return np.sum(x) * _calls

    counting = Counting()
    compiled = compile(lambda x: gradient(lambda x: counting.slope(x), x))
    assert [compiled(X)[0] for _ in range(3)] == [_calls - 2, _calls - 1, _calls]


_calls = 0.0


# -- what a program does not read of an argument ---------------------------------------------------


def test_an_iterator_among_the_arguments_is_used_up_once():
    compiled = compile(lambda x, values: x * sum(values), backend="python")
    assert compiled(2.0, (k for k in (1.0, 2.0))) == 6.0
    numbers = itertools.count(1.0)
    compiled = compile(lambda x, values: x * next(values), backend="python")
    assert [compiled(2.0, numbers) for _ in range(3)] == [2.0, 4.0, 6.0]


class _Model:
    def __init__(self):
        self.scale = 2.0
        self.lock = threading.Lock()
        self.other = self.inner = types.SimpleNamespace()
        self.inner.numbers = itertools.count(1.0)

    def scaled(self, x):
        return x * self.scale

    def next(self, x):
        return x * next(self.inner.numbers)


def test_what_the_code_does_not_read_may_change():
    model = _Model()
    for f, given in ((model.scaled, ()), (lambda x, m: m.scaled(x), (model,))):
        compiled = compile(f, backend="python")
        assert [compiled(2.0, *given) for _ in range(3)] == [4.0] * 3
        assert compiled.variants == 1
        model.scale = 3.0
        assert compiled(2.0, *given) == 6.0
        model.scale = 2.0


def test_all_ways_to_what_may_change_count():
    """The first way may be one that the code does not take."""
    model = _Model()
    compiled = compile(model.next, backend="python")
    assert [compiled(2.0) for _ in range(3)] == [2.0, 4.0, 6.0]
    compiled = compile(lambda x, m: m.next(x), backend="python")
    assert [compiled(2.0, model) for _ in range(3)] == [8.0, 10.0, 12.0]


def test_a_field_that_only_the_constructor_binds_is_not_read():
    @dataclasses.dataclass
    class Pair:
        a: float

        def __post_init__(self):
            self.twice = 2.0 * self.a

    compiled = compile(lambda x, p: x * p.a, backend="python")
    assert [compiled(2.0, Pair(a)) for a in (1.0, 2.0)] == [2.0, 4.0]
    assert compiled.variants == 1
    compiled = compile(lambda x, p: x * p.twice, backend="python")
    assert [compiled(2.0, Pair(a)) for a in (1.0, 2.0)] == [4.0, 8.0]
    assert "Pair.twice" in compiled.eager_because


OF_TEXT = """
import numpy as np

class Model:
    rate = 1.0

    @classmethod
    def loss(cls, w):
        return np.sum(w) * cls.rate
"""


def test_a_class_of_a_module_without_a_file_is_compared():
    model = vars(module_of(OF_TEXT))["Model"]
    compiled = compile(lambda w: gradient(model.loss, w), backend="python")
    for rate in (1.0, 2.0, 3.0, 2.0):
        model.rate = rate
        np.testing.assert_array_equal(compiled(np.ones(2)), np.full(2, rate))
