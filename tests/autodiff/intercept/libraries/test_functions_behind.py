"""Functions of Python behind callables made in C, behind caches, iterators and descriptors."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson

from autodiff import MissingRuleError, compile, gradient, value_and_gradient
from chainrules.scipy.private import first_of
from chainrules_core import ChainRulesError
from tests.helpers import check_gradient, module_from

X = np.array([0.3, 1.2, 0.7])


def _of(package: str, **names: Any) -> Any:
    """An object whose class says that it is of a package, and that cannot be called itself."""
    kind = type("Compiled", (), {})
    kind.__module__ = package
    made = kind()
    vars(made).update(names)
    return made


def _loop(x):
    total = 0.0
    for v in x:
        total += math.sin(v) ** 2
    return total


compiled = _of("numba.core", py_func=_loop)
elementwise = _of("numba.np", _dispatcher=_of("numba.core", py_func=lambda a, b: math.sin(a) * b))
cached = _of("cachetools", __wrapped__=math.sin)


def test_the_function_behind_a_compiled_one():
    found = gradient(lambda x: compiled(x), X)
    np.testing.assert_allclose(found, np.sin(2 * X))


def test_the_function_of_each_element():
    found = gradient(lambda x: np.sum(elementwise(x, 2.0)), X)
    np.testing.assert_allclose(found, 2 * np.cos(X))


def test_a_cache_is_gone_around():
    assert gradient(lambda x: cached(x), 0.7) == math.cos(0.7)


def test_numba():
    numba = pytest.importorskip("numba")
    f = numba.njit(_loop)
    helper = numba.vectorize(lambda a: a * abs(a))
    check_gradient(lambda x: f(x) + np.sum(helper(x - 0.5)), X)


def _scaled(factor, x, out):
    for i in range(len(x)):
        out[i] += factor * x[i]


def _scaled_by_one(factor, x, out):
    out[:] = factor[0] * x


def _totals(factor, x, least, total):
    least[0] = min(x[0], x[1])
    total[0] = 0.0
    for v in x:
        total[0] += factor[0] * v


def test_generalised_ufuncs_of_numba():
    numba = pytest.importorskip("numba")
    known = numba.guvectorize(["void(f8[:], f8[:], f8[:], f8[:])"], "(),(n)->(),()")(_totals)
    numbers = numba.guvectorize(["void(f8, f8[:], f8[:])"], "(),(n)->(n)")(_scaled)
    unknown = numba.guvectorize("(),(n)->(n)")(_scaled)

    def f(x):
        rows = np.zeros((2, 3))
        unknown(x[0], np.stack([x, 2 * x]), rows)
        numbers(x[1], x, rows[0])
        row = np.ones(3)
        unknown(x[1:].sum(), x, row)
        least, total = known(x[0], x)
        return np.sum(rows**2) + least * total * np.sum(row) + np.sum(known(x[:2], [x, X]))

    check_gradient(f, X)


def test_a_generalised_ufunc_of_numba_has_the_dtype_of_its_loop():
    numba = pytest.importorskip("numba")
    types = ["void(f4[:], f4[:], f4[:])", "void(f8[:], f8[:], f8[:])"]
    f = numba.guvectorize(types, "(),(n)->(n)")(_scaled_by_one)
    x = X.astype(np.float32)
    value, slopes = value_and_gradient(lambda x: f(x[0], x)[1], x)
    assert type(value) is type(f(x[0], x)[1])
    assert slopes.dtype == np.float32
    np.testing.assert_allclose(slopes, [x[1], x[0], *np.zeros(len(x) - 2)], rtol=1e-6)


def test_stencils_of_numba_need_a_rule():
    numba = pytest.importorskip("numba")
    mean = numba.stencil(lambda a: 0.5 * (a[-1] + a[1]))
    with pytest.raises(MissingRuleError, match="has no rule"):
        gradient(lambda x: np.sum(mean(x)), X, argnums=0)
    mean(X)


class Results(dict):
    """A dict with a method of its own."""

    def total(self):
        return sum(np.sum(a) for a in self.values())


def test_an_array_in_a_dict_of_a_class_takes_a_traced_value():
    def f(x):
        found = Results((name, np.sqrt(X) * 0.0) for name in "ab")
        found["a"][0] = x[0] ** 2
        found["b"][1:] = x[1:] ** 3
        return found.total()

    check_gradient(f, X)


def test_a_function_made_by_pybind11_gets_no_traced_value():
    r2c = first_of("fft._pocketfft.pypocketfft", "fft._duccfft.pyduccfft").r2c

    with pytest.raises(ChainRulesError, match=r"py(pocket|ducc)fft\.r2c has no rule"):
        gradient(lambda x: np.sum(np.abs(r2c(x, (0,), True, 0, None, 1))), X)


LIBRARY = """
import sys


def first(items):
    return float(next(iter(items))) ** 2


def from_frame(name):
    return _look(name)


def _look(name, depth=2):
    return sys._getframe(depth).f_locals[name]


class Positive:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        return owner.__dict__[self.name]

    def __set__(self, owner, value):
        owner.__dict__[self.name] = abs(float(value))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> types.ModuleType:
    """A module that counts as an installed package."""
    folder = tmp_path_factory.mktemp("env") / "site-packages"
    folder.mkdir()
    path: Path = folder / "iterating_library.py"
    path.write_text(LIBRARY)
    module = module_from(path)
    yield module
    sys.modules.pop(module.__name__)


@pytest.mark.parametrize(
    "make",
    [
        iter, lambda x: map(abs, x), lambda x: (v for v in x),
        lambda x: dict(enumerate(x)).values(),
        lambda x: zip(x), reversed,
    ],
)  # fmt: skip
def test_traced_values_in_an_iterator(library, make):
    if make(X).__class__ is zip:

        def f(x):
            return library.first(v for (v,) in make(list(x)))
    else:

        def f(x):
            return library.first(make([v * 1.0 for v in x.tolist()]))

    expected = np.zeros(3)
    expected[-1 if make is reversed else 0] = 2 * X[-1 if make is reversed else 0]
    np.testing.assert_allclose(gradient(f, X), expected)


def test_a_function_that_calls_one_that_counts_frames(library):
    def f(x):
        y = x * 3.0
        return library.from_frame("y") + 0.0 * y

    assert gradient(f, 2.0) == 3.0


def test_a_dataclass_with_a_descriptor(library):
    @dataclasses.dataclass(frozen=True)
    class Box:
        side: float = library.Positive()
        height: float = 2.0
        name: str = dataclasses.field(default_factory=str)

        def __post_init__(self):
            object.__setattr__(self, "area", self.side * self.side)

    assert gradient(lambda x: Box(x).area * Box(side=x, height=3.0).height, 1.5) == 9.0


def test_cells_of_an_array_of_objects():
    def f(x):
        cells = np.empty((1, 2), dtype=object)
        cells[0, 0] = x[:2] * 2.0
        cells[0, 1] = x[2]
        return np.sum(cells[0, 0] ** 2) * cells[0, 1]

    check_gradient(f, X)


def test_a_text_that_a_function_carries():
    text = "def carrying(x):\n    return math.sin(x) ** 2\n"
    scope: dict[str, Any] = {"math": math}
    exec(builtins.compile(text, "<a decorator>", "exec"), scope)
    carrying = scope["carrying"]
    with pytest.raises(ChainRulesError):
        gradient(lambda x: carrying(x), 0.7)
    again: dict[str, Any] = {"math": math}
    exec(builtins.compile(text, "<a decorator>", "exec"), again)
    again["carrying"].text = text
    np.testing.assert_allclose(gradient(lambda x: again["carrying"](x), 0.7), math.sin(1.4))


def test_descriptors_made_in_c():
    def f(x):
        with pytest.raises(TypeError):
            type.__dict__["__mro__"].__get__(x)
        found = np.ndarray.__dict__["T"].__get__(x)
        return np.sum(found * found) * (not inspect.isclass(x))

    check_gradient(f, X)


def test_a_cached_function_runs_once_for_one_traced_value() -> None:
    def program(x: Any, how: Callable) -> Any:
        calls = []

        @functools.cache
        def noted(a: Any) -> Any:
            calls.append(1)
            return a if type(a) is not tuple else a[0]

        return (noted(how(x[0])) + noted(how(x[0]))) * x[1] * len(calls)

    for how in (lambda a: a, lambda a: (a, 1), lambda a: 2.0):

        def f(x: Any, how: Callable = how) -> Any:
            return program(x, how)

        x = np.array([0.7, 1.3])
        value, x_bar = value_and_gradient(f, x.copy())
        assert value == f(x.copy())
        for i, dx in enumerate(1e-6 * np.eye(2)):
            assert x_bar[i] == pytest.approx((f(x + dx) - f(x - dx)) / 2e-6, rel=1e-7)


def test_recursions_with_a_cache_take_as_many_calls_as_without_a_derivative() -> None:
    @functools.lru_cache
    def fibonacci(n: int, x: Any) -> Any:
        return x if n < 2 else fibonacci(n - 1, x) + fibonacci(n - 2, x) * x

    value, slope = value_and_gradient(lambda x: fibonacci(60, x), 0.5)  # else 2^40 calls
    difference = (fibonacci(60, 0.5 + 1e-7) - fibonacci(60, 0.5 - 1e-7)) / 2e-7
    assert value == fibonacci(60, 0.5)
    assert slope == pytest.approx(difference, rel=1e-6)
    assert gradient(lambda x: gradient(lambda y: fibonacci(12, y) * x, x), 0.5) == pytest.approx(
        derivative_of_product(lambda y: gradient(lambda z: fibonacci(12, z), y), 0.5), rel=1e-5
    )


def test_programs_of_functions_with_caches() -> None:
    @functools.lru_cache
    def binomial(n: int, k: int) -> int:
        return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)

    @functools.lru_cache
    def nodes(n: int) -> list:
        return [1.0 / (k + 1) for k in range(n)]

    def of_numbers(x: Any) -> Any:
        @functools.cache
        def power(n: int) -> Any:
            return x if n == 1 else power(n // 2) * power(n - n // 2)

        return np.sum(binomial(6, 3) * power(5) + power(3))

    def of_a_list(x: Any) -> Any:
        return np.sum(nodes(3)[1] * x**2)

    x = np.array([0.5, -1.5])
    compiled = compile(lambda x: gradient(of_numbers, x))
    for k in (1.0, 2.0):
        np.testing.assert_allclose(compiled(k * x), 100.0 * (k * x) ** 4 + 3.0 * (k * x) ** 2)
    assert compiled.variants == 1
    compiled = compile(lambda x: gradient(of_a_list, x))
    np.testing.assert_allclose(compiled(x), x)
    nodes(3)[1] = 2.0
    np.testing.assert_allclose(compiled(x), 4.0 * x)
    assert "cache" in compiled.eager_because


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.concatenate([x, x * 2.0]) ** 2),
        lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2),
        lambda x: np.sum(np.linalg.cholesky(4.0 * np.eye(3) + np.outer(x, x))),
        lambda x: simpson(x**3, dx=0.1),
    ],
    ids=["pieces", "a spectrum", "a factor", "an integral"],
)
def test_what_rules_keep_in_caches_is_constant(f: Callable) -> None:
    x = np.array([0.5, -1.5, 0.25])
    compiled = compile(lambda x: gradient(f, x))
    for k in (1.0, 2.0):
        np.testing.assert_allclose(compiled(k * x), gradient(f, k * x))
    assert compiled.eager_because is None
    assert compiled.variants == 1


def test_a_cached_slice_is_constant() -> None:
    @functools.lru_cache
    def part(n: int) -> tuple:
        return ..., slice(0, n)

    compiled = compile(lambda x: gradient(lambda y: np.sum(y[part(2)] ** 2), x))
    np.testing.assert_array_equal(compiled(np.ones(3)), [2.0, 2.0, 0.0])
    assert compiled.eager_because is None


def derivative_of_product(g: Callable, x: float) -> float:
    """Return the derivative of x g(x) by differences."""
    return ((x + 1e-6) * g(x + 1e-6) - (x - 1e-6) * g(x - 1e-6)) / 2e-6


def test_a_cached_function_of_an_array_is_the_error_that_it_is() -> None:
    cached = functools.lru_cache(np.sum)
    with pytest.raises(TypeError, match="unhashable"):
        gradient(lambda x: cached(x), np.ones(2))
