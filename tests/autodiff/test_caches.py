"""What is remembered about functions and classes goes with their module, or with them."""

from __future__ import annotations

import ast
import asyncio
import functools
import gc
import importlib
import linecache
import math
import sys
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import caches, gradient
from autodiff.autocompile import Settings
from autodiff.intercept.runtime import call_site_cache
from autodiff.structured import calls
from chainrules_core import rrule
from tests.helpers import define

SOURCE = """
import math
import numpy as np

class Square:
    def __init__(self, side):
        self.side = side
    def area(self):
        return self.side * self.side
    @property
    def twice(self):
        return self.side * 2

def helper(x):
    return math.sin(x) * x + np.tanh(x)

def f(x):
    square = Square(x)
    nest = [square, 1.0]
    return helper(x) * nest[0].area() + square.twice + 1 / (1 + x * x)
"""
COUNT = 20
CONTAINERS = dict, list, set, weakref.WeakSet, weakref.WeakKeyDictionary


# What is bounded, and emptied when it is full.
BOUNDED = {
    "autodiff.autocompile.call_records.records", "autodiff.autocompile.derivative_dispatch.records",
    "autodiff.trace.checks.decisions._known_files", "records", "files",
}  # fmt: skip


def sizes() -> dict[str, int]:
    """Return how much all caches and other tables of the engine hold; slots count while in use."""
    gc.collect()
    tables: dict[str, Any] = {
        f"{name}.{variable}": table
        for name, module in sys.modules.items()
        if name.partition(".")[0] in ("autodiff", "chainrules_core")
        for variable, table in vars(module).items()
        if isinstance(table, CONTAINERS) and not variable.startswith("__")
    }
    tables["quiet"] = [kind for kinds in call_site_cache.quiet for kind in kinds]
    tables["slots"] = [owner for owner in call_site_cache._owners if owner]
    found = {name: len(table) for name, table in tables.items()} | caches.sizes()
    return {name: n for name, n in found.items() if name not in BOUNDED}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def of_module(folder: Path, i: int) -> Any:
    name = f"passing_module_{i}"
    (folder / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    importlib.invalidate_caches()
    module = importlib.import_module(name)
    for _ in range(20):
        gradient(module.f, 1.5)
    del sys.modules[name]
    linecache.cache.pop(str(folder / f"{name}.py"), None)
    return weakref.ref(module.f)


def executed(folder: Path, i: int) -> Any:
    scope: dict[str, Any] = {"__name__": "nowhere"}
    exec("def g(x): return x * x\ndef f(x): return g(x) + 2.0 * x", scope)
    gradient(scope["f"], 1.5)
    return weakref.ref(scope["f"])


def executed_with_source(folder: Path, i: int) -> Any:
    name = f"<passing {i}>"
    scope = define(SOURCE, name, {"__name__": "nowhere"})
    gradient(scope["f"], 1.5)
    del linecache.cache[name]
    return weakref.ref(scope["f"])


def calling_itself(folder: Path, i: int) -> Any:
    def power(n: int, x: float) -> float:
        return 1.0 if n == 0 else x * power(n - 1, x)

    assert gradient(lambda x: power(3, x), 2.0) == 12.0
    return weakref.ref(power)


@pytest.mark.parametrize("make", [of_module, executed, calling_itself])
def test_what_is_gone_leaves_nothing(make, folder, monkeypatch):
    # What a first program or a first lookup loads is not what these functions leave.
    rrule.methods()
    monkeypatch.setattr(Settings, "enabled", False)
    # After slow calls, a program of a function that calls itself keeps it as long as its code.
    monkeypatch.setattr(calls.Settings, "worth", math.inf)
    for i in range(3):
        make(folder, 1000 + i)
    before = sizes()
    made: list = []
    grown = []
    tracemalloc.start()
    try:
        for start in (0, COUNT):  # what happens once, such as a table that grows, is in one of them
            first = tracemalloc.get_traced_memory()[0]
            made += [make(folder, start + i) for i in range(COUNT)]
            after = sizes()
            grown.append(tracemalloc.get_traced_memory()[0] - first)
    finally:
        tracemalloc.stop()
    gc.collect()  # a function that calls itself holds itself
    assert [f() for f in made] == [None] * 2 * COUNT
    # What earlier tests left may go meanwhile.
    assert {name: n for name, n in after.items() if n > before.get(name, 0)} == {}
    assert min(grown) / COUNT < 16_000  # a module's source, tree and code are 50 KB


def test_functions_of_executed_text_are_not_kept_alive(folder):
    made = [executed_with_source(folder, i) for i in range(COUNT)]
    gc.collect()
    assert [f() for f in made] == [None] * COUNT


def test_a_function_outlives_its_module(folder):
    name = "left_module"
    (folder / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    importlib.invalidate_caches()
    module = importlib.import_module(name)
    f = module.f
    expected = [gradient(f, 1.5) for _ in range(40)][-1]
    del sys.modules[name], module
    gc.collect()
    for _ in range(40):
        assert gradient(f, 1.5) == pytest.approx(expected, rel=1e-12)


def test_a_module_that_is_loaded_anew(folder):
    for factor in (2.0, 3.0, 5.0):
        (folder / "anew.py").write_text(
            f"def helper(x): return {factor} * x\ndef f(x): return helper(x) * x\n",
            encoding="utf-8",
        )
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            linecache.checkcache()
            module = importlib.import_module("anew")
        finally:
            sys.dont_write_bytecode = before
        for _ in range(20):
            assert gradient(module.f, 1.5) == pytest.approx(3.0 * factor)
        del sys.modules["anew"]


def coroutine_in_a_loop(x: Any, made: list) -> Any:
    async def main() -> Any:
        return x[0] * x[1]

    loop = asyncio.new_event_loop()
    made.append(weakref.ref(loop))
    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


def ufunc_of_a_closure(x: Any, made: list) -> Any:
    def times(a: Any) -> Any:
        return a * x[0]

    made.append(weakref.ref(times))
    return np.sum(np.frompyfunc(times, 1, 1)(x[:2]))


def partial_of_a_closure(x: Any, made: list) -> Any:
    def times(a: Any, b: Any) -> Any:
        return a * b * x[0]

    made.append(weakref.ref(times))
    return functools.reduce(functools.partial(times), [x[0], x[1], x[2]])


@pytest.mark.parametrize("f", [coroutine_in_a_loop, ufunc_of_a_closure, partial_of_a_closure])
@pytest.mark.parametrize("is_automatic", [False, True])
def test_what_a_call_made_is_not_kept_alive(f, is_automatic, monkeypatch):
    monkeypatch.setattr(Settings, "enabled", is_automatic)
    made: list[Any] = []
    for _ in range(30):
        gradient(f, np.array([0.5, 1.5, 2.5]), made, argnums=0)
    gc.collect()
    assert [one() for one in made] == [None] * len(made)


def test_results_for_a_function_are_kept_while_it_is_there():
    asked = []

    @caches.of_functions(3)
    def name_of(g: Any) -> str:
        asked.append(g.__name__)
        return g.__name__

    for g in (len, sum, any, np.sin, str.upper, np.sin, np.dot, len, any, sum, np.dot):
        assert name_of(g) == g.__name__
    assert asked == ["len", "sum", "any", "sin", "upper", "dot"]
    name_of(abs)
    asked.clear()
    assert [name_of(g) for g in (abs, len)] == ["abs", "len"]
    assert asked == ["len"]


def test_a_full_cache_is_emptied():
    table = {i: i for i in range(3)}
    assert caches.put(table, 3, "three", most=4) == "three"
    assert len(table) == 4
    caches.put(table, 4, "four", most=4)
    assert table == {4: "four"}


def test_caches_have_names_of_their_own():
    with pytest.raises(ValueError, match="two caches"):
        caches.register("plans", {})


# What modules begin with empty and fill, and is no cache: its entries are part of the state.
NO_CACHES = {
    "autodiff.caches": "the registry itself",
    "autodiff.compiler.compiled_function._compiled": "the compiled functions that users hold",
    "autodiff.compiler.recording.domain_guards.SOURCES": "the source of a guard, by its function",
    "autodiff.compiler.recording.function_effects._known_of_scipy": "filled once, with SciPy",
    "autodiff.functions._entries": "the table of facts",
    "autodiff.intercept.runtime.call_site_cache": "slots of call sites, emptied with their module",
    "autodiff.intercept.source.rewritten_code.helpers": "a table that other modules complete",
    "autodiff.mutation.written_arguments.watching": "those that run now, one for each derivative",
    "autodiff.structured.callables.inner_derivatives._functions": "filled once, by `connect`",
    "autodiff.structured.callables.inner_derivatives._names": "filled once, by `connect`",
    "autodiff.structured.native.llvm.jit._ready": "the machine, one entry",
    "autodiff.structured.reading.libraries.argument_checks.DECOMPOSITIONS": "filled on import",
    "autodiff.structured.reading.scopes.CELLS_OF_CALLEE": "a marker in guards, always empty",
    "autodiff.trace.checks.number_classes.INSTANCES": "a table that other modules complete",
    "autodiff.trace.pytree.OPAQUE": "a table that other modules complete",
    "autodiff.trace.labelled_data.TABLES": "a table that other modules complete",
}
EMPTY = {"dict", "list", "set", "OrderedDict", "WeakKeyDictionary", "WeakSet", "defaultdict"}


def is_empty_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict | ast.List):
        return not ast.unparse(value).strip("{}[]")
    if not isinstance(value, ast.Call) or value.args:
        return False
    return ast.unparse(value.func).rpartition(".")[2] in EMPTY


def test_every_cache_is_registered():
    root = Path(autodiff.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        if module.startswith("autodiff.interop"):
            continue  # each of another system, loaded with it
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and is_empty_container(node.value):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = f"{module}.{ast.unparse(target)}"
                found.add(module if module in NO_CACHES else name)
    assert found == set(NO_CACHES)
