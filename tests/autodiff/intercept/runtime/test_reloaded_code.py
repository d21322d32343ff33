"""Functions and classes whose parts are replaced, as IPython's autoreload does, are traced anew."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import autodiff
from autodiff import derivative, gradient
from tests.helpers import module_of

SOURCE = """
import math
def helper(v, k=2.0):
    return k * v
def named(v, *, k=2.0):
    return k * v
class Model:
    def __init__(self, x):
        self.x = x
    @property
    def twice(self):
        return 2.0 * self.x
    def method(self):
        return 3.0 * self.x
def by_name(x):
    return helper(x)
def by_keyword(x):
    return named(x)
def by_local_name(x):
    g = helper
    return g(x)
def by_property(x):
    return Model(x).twice
def by_method(x):
    return Model(x).method()
"""
OTHER = """
import math
def helper(v, k=5.0):
    return math.sin(v) * k
def method(self):
    return math.sin(self.x)
"""


@pytest.fixture(params=[gradient, derivative])
def slope(request: Any) -> Any:
    return request.param


def test_the_code_of_a_function(slope: Any):
    module, other = module_of(SOURCE), module_of(OTHER)
    for f in (module.by_name, module.by_local_name):
        assert slope(f, 0.0) == 2.0
    module.helper.__code__ = other.helper.__code__
    for f in (module.by_name, module.by_local_name):
        assert slope(f, 0.0) == 2.0
        assert slope(f, math.pi) == pytest.approx(-2.0)
    module.helper.__defaults__ = other.helper.__defaults__
    for f in (module.by_name, module.by_local_name):
        assert slope(f, 0.0) == 5.0


def test_defaults(slope: Any):
    module = module_of(SOURCE)
    for f in (module.by_name, module.by_local_name, module.by_keyword):
        assert slope(f, 1.0) == 2.0
    module.helper.__defaults__ = (7.0,)
    module.named.__kwdefaults__ = {"k": 8.0}
    assert slope(module.by_name, 1.0) == slope(module.by_local_name, 1.0) == 7.0
    assert slope(module.by_keyword, 1.0) == 8.0


def test_methods_and_properties(slope: Any):
    module, other = module_of(SOURCE), module_of(OTHER)
    assert slope(module.by_property, 1.0) == 2.0
    assert slope(module.by_method, 1.0) == 3.0
    module.Model.method.__code__ = other.method.__code__
    assert slope(module.by_method, 0.0) == 1.0
    module.Model.twice = property(other.method)
    assert slope(module.by_property, 0.0) == 1.0
    module.Model.twice.fget.__code__ = module_of(SOURCE).Model.twice.fget.__code__
    assert slope(module.by_property, 0.0) == 2.0
    module.Model.twice = 4.0
    assert slope(lambda x: module.by_property(x) * x, 1.0) == 4.0


def test_what_a_function_defines(slope: Any):
    def helper(v: Any, k: float = 2.0) -> Any:
        return k * v

    class Model:
        def __init__(self, x: Any) -> None:
            self.x = x

        @property
        def value(self) -> Any:
            return 3.0 * self.x

        @value.setter
        def value(self, new: Any) -> None:
            self.x = new

    def f(x: Any) -> Any:
        model = Model(x)
        model.value = 2.0 * x
        return helper(x) + model.value

    assert slope(f, 0.0) == 8.0
    helper.__defaults__ = (10.0,)
    assert slope(f, 0.0) == 16.0
    helper.__code__ = (lambda v, k: k * math.sin(v)).__code__
    assert slope(f, math.pi) == pytest.approx(-4.0)
    Model.value = property(lambda self: math.sin(self.x), Model.value.fset)
    assert slope(f, 0.0) == 12.0
    Model.value = property(Model.value.fget, lambda self, new: setattr(self, "x", 5.0 * new))
    assert slope(f, 0.0) == 20.0


def test_a_file_that_has_changed(tmp_path: Path, slope: Any):
    """What was read of a file before it was loaded anew is not its source any more."""
    file = tmp_path / "changing.py"
    scope: dict[str, Any] = {"__name__": "changing", "__file__": str(file)}

    def load(source: str) -> Any:
        file.write_text(source)
        exec(compile(source, str(file), "exec"), scope)
        return scope["f"]

    first = load("import math\ndef f(x):\n    return math.sin(x)\n")
    assert slope(first, 0.0) == 1.0
    again = load("import math\n\n\ndef f(x):\n    return 3.0 * math.sin(x)\n")
    first.__code__ = again.__code__
    assert slope(first, 0.0) == 3.0


def test_compiled_functions_notice_it():
    module, other = module_of(SOURCE), module_of(OTHER)
    compiled = autodiff.compile(module.by_name)
    assert [compiled(1.0), compiled(1.0)] == [2.0, 2.0]
    module.helper.__defaults__ = (7.0,)
    assert compiled(1.0) == 7.0
    module.helper.__code__ = other.helper.__code__
    assert compiled(1.0) == pytest.approx(7.0 * math.sin(1.0))
