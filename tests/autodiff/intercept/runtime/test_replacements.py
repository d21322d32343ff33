"""Call interception: which calls are traced, and what stays as it was."""

from __future__ import annotations

import ast
import functools
import linecache
import math
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import autodiff
from autodiff import gradient
from autodiff.intercept.runtime.replacements import intercept
from autodiff.intercept.source import ast_helpers, find_source, rewritten_code
from chainrules_core import rrule, scalar_rule
from tests.helpers import define


def helper(x: Any) -> Any:
    return math.exp(x) * float(x)


def fails(x: Any) -> Any:
    y = math.sin(x)
    raise ValueError(f"here: {y:.1f}")


def test_tracebacks_show_the_users_lines() -> None:
    with pytest.raises(ValueError, match=r"here: 0\.8") as caught:
        gradient(fails, 1.0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__
    assert last.line == 'raise ValueError(f"here: {y:.1f}")'
    assert last.name == "fails"


def test_nothing_of_the_users_is_changed() -> None:
    before = dict(globals()), helper.__code__, dict(vars(math))
    gradient(helper, 1.0)
    assert helper.__code__ is before[1]
    assert dict(vars(math)) == before[2]
    assert {k: v for k, v in globals().items() if k in before[0]} == before[0]


def test_what_has_no_source_is_an_error_or_right() -> None:
    scope: dict[str, Any] = {"np": np, "math": math}
    exec("def f(x): return np.sin(x) * 2\ndef g(x): return math.sin(x)", scope)
    assert gradient(scope["f"], 0.0) == 2.0
    with pytest.raises(autodiff.LostValueError, match="float"):
        gradient(scope["g"], 0.0)


def test_a_notebook_cell_has_a_source() -> None:
    text = "def cell(x):\n    return math.sin(x) * helper(x)\n"
    scope = define(text, "<cell 1>", {"math": math, "helper": helper})
    x, h = 0.4, 1e-6
    expected = (scope["cell"](x + h) - scope["cell"](x - h)) / (2 * h)
    assert gradient(scope["cell"], x) == pytest.approx(expected, rel=1e-7)


def test_a_stale_source_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "stale_module.py"
    path.write_text("def f(x):\n    return x * 2.0\n")
    sys.path.insert(0, str(tmp_path))
    try:
        module = __import__("stale_module")
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("stale_module", None)
    path.write_text("def f(x):\n    return x * 3.0\n")
    linecache.checkcache(str(path))
    assert find_source.definition_of(module.f) is None
    assert gradient(module.f, 1.0) == 2.0


@pytest.mark.parametrize(
    "f",
    [
        scipy.optimize.rosen,
        np.linalg.matrix_power,
        functools.reduce,
        functools.partial,
        np.linalg.cond,
    ],
    ids=lambda f: f.__name__,
)
def test_intercepting_leaves_calls_without_traced_values_as_they_are(f: Callable) -> None:
    replaced = intercept(f)
    if f is scipy.optimize.rosen:
        assert replaced([1.0, 2.0]) == f([1.0, 2.0])
    elif f is functools.reduce:
        assert replaced(lambda a, b: a - b, [1, 2, 3]) == -4
    elif f is functools.partial:
        assert replaced(pow, 2)(3) == 8
    elif f is np.linalg.cond:
        assert replaced(np.eye(2)) == 1.0
    else:
        np.testing.assert_array_equal(replaced(np.eye(2) * 2, 3), np.eye(2) * 8)


def test_a_rule_is_used_under_every_name() -> None:
    def f(x: Any) -> Any:
        return x * 1.0

    def through(x: Any) -> Any:
        g = alias = f
        table = {"f": alias}
        return g(x) + table["f"](x) + next(map(f, [x])) + functools.partial(f)(x)

    assert gradient(through, 1.0) == 4.0
    scalar_rule(f, lambda y, x: 10.0)
    assert gradient(through, 1.0) == 40.0
    rrule.unregister(f)
    assert gradient(through, 1.0) == 4.0


def test_a_cache_does_not_mix_variables_up() -> None:
    @functools.lru_cache
    def cached(x: Any) -> Any:
        return math.sin(x)

    assert cached(0.5) == math.sin(0.5)
    x_bar, y_bar = gradient(lambda x, y: cached(x) * 2 + cached(y), 0.5, 0.5)
    assert (x_bar, y_bar) == pytest.approx((2 * math.cos(0.5), math.cos(0.5)))


def test_threads_do_not_notice_each_other() -> None:
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        for _ in range(50):
            found[k] = gradient(lambda x: helper(x) * k, 0.5)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(4)] == pytest.approx([found[1] * k for k in range(4)])


def test_private_names_and_super() -> None:
    class Base:
        def __init__(self, a: Any) -> None:
            self.__a = math.sqrt(a)

        def value(self) -> Any:
            return self.__a

    class Child(Base):
        def __init__(self, a: Any) -> None:
            super().__init__(a * a)
            self.__a = math.exp(a)

        def value(self) -> Any:
            return super().value() + self.__a

    assert gradient(lambda a: Child(a).value(), 2.0) == pytest.approx(1 + math.exp(2.0))


def test_rewritten_code_calls_only_what_there_is():
    folder = Path(rewritten_code.__file__).parent
    named = {
        node.args[0].value
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("called", "entry")
        and isinstance(node.args[0], ast.Constant)
    }
    assert {"alone", "known"} <= named
    assert set(map(ast_helpers.helper, named)) <= rewritten_code.helpers.keys()


class OfTheClass:
    shift = 1.0

    @staticmethod
    def of_x(x: Any, factor: Any = 3.0) -> Any:
        return math.sin(x) * factor

    @classmethod
    def shifted(cls, x: Any, factor: Any = 3.0) -> Any:
        return math.sin(x) * factor + cls.shift * x


@pytest.mark.parametrize("name", ["of_x", "shifted"])
def test_objects_whose_call_takes_no_self(name: str) -> None:
    member = vars(OfTheClass)[name]
    f = type("Own", (OfTheClass,), {"__call__": member})()
    slope = 3 * math.cos(0.5) + (name == "shifted")
    for g in (f, lambda x: f(x), lambda x: next(map(f, [x])), lambda x: f(x, factor=x / x * 3)):
        assert gradient(g, 0.5) == pytest.approx(slope)
        assert autodiff.pushforward(g, 0.5)[1](1.0) == pytest.approx(slope)
