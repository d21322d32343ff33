"""Helpers for tests of several folders; those of the core use none, they run without SciPy."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import linecache
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff
from chainrules_core import frule, rrule, scalar_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL

ROOT = Path(__file__).parents[1]
STENCILS = {2: {1: 1 / 2}, 4: {1: 2 / 3, 2: -1 / 12}}

# ------------------------------------------------------------------------------ what is expected


class Pair(NamedTuple):
    """A named tuple to differentiate with respect to."""

    a: Any
    b: Any


@dataclasses.dataclass
class Data:
    """A dataclass to differentiate with respect to."""

    a: Any
    b: Any


def differences(f: Callable, x: Any, h: float = 1e-6, order: int = 2) -> np.ndarray:
    """Differentiate by central differences: the axes of the result come first, then those of x."""
    x = np.asarray(x, float)
    columns = []
    for i in range(x.size):
        step = np.zeros(x.shape)
        step.flat[i] = h
        terms = [c * (f(x + k * step) - f(x - k * step)) for k, c in STENCILS[order].items()]
        columns.append(np.asarray(sum(terms) / h))
    return np.stack(columns, axis=-1).reshape(columns[0].shape + x.shape)


def check_gradient(f: Callable, x: np.ndarray) -> None:
    """Compare value and gradient with those of the plain function and of differences."""
    expected_value, expected = f(x.copy()), differences(f, x)
    value, found = autodiff.value_and_gradient(f, x.copy())
    np.testing.assert_allclose(value, expected_value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def check_direction(f: Callable, *xs: np.ndarray) -> None:
    """Compare the gradients by all arguments with a difference along a random direction."""
    rng, h = np.random.default_rng(5), 1e-6
    direction = [rng.normal(size=x.shape) for x in xs]
    found = autodiff.gradient(f, *[x.copy() for x in xs])
    ends = [f(*[x + k * h * d for x, d in zip(xs, direction, strict=True)]) for k in (1, -1)]
    along = sum(np.sum(g * d) for g, d in zip(found, direction, strict=True))
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


# ----------------------------------------------------------------------------- parameters of tests


def case(f: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Return the parameters (f, args, kwargs) of a test, named after the function."""
    return pytest.param(f, args, kwargs, id=f.__name__)


def real(*shape: int, dtype: Any = float, seed: int = 1) -> np.ndarray:
    """Draw a real array: the same one for the same shape and seed."""
    return REAL.draw(shape, dtype, rng=[seed, *shape])


def compl(*shape: int, dtype: Any = complex, seed: int = 2) -> np.ndarray:
    """Draw a complex array: the same one for the same shape and seed."""
    return COMPLEX.draw(shape, dtype, rng=[seed, *shape])


def normal_draws(seed: int) -> tuple[np.random.Generator, Callable, Callable]:
    """Return a generator, and functions that draw real and complex arrays from it."""
    rng = np.random.default_rng(seed)

    def real(*shape: int) -> np.ndarray:
        return rng.normal(size=shape)

    def compl(*shape: int) -> np.ndarray:
        return real(*shape) + 1j * real(*shape)

    return rng, real, compl


# ----------------------------------------------------------------------- modules, texts, processes


def one_in(n: int) -> int:
    """Return the step through what takes long: 1 in `make nightly`, which leaves nothing out."""
    return 1 if os.environ.get("CHAINRULES_ONE_IN") == "0" else n


def module_from(path: Path, name: str | None = None) -> ModuleType:
    """Import a file as a module of its own, by default of the file's name."""
    spec = importlib.util.spec_from_file_location(name or path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # the engine reads the source of modules
    spec.loader.exec_module(module)
    return module


@functools.cache
def load_programs(category: str) -> ModuleType:
    """Import the module of a category of programs."""
    return module_from(ROOT / "tests/programs" / f"{category}.py", f"programs_{category}")


def define(text: str, file: str, scope: dict[str, Any] | None = None) -> dict[str, Any]:
    """Execute a text as the content of `file`, which need not exist; return what it defines."""
    scope = {} if scope is None else scope
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope


def module_of(text: str) -> ModuleType:
    """Make a module of a text, with its source at hand for the engine."""
    module = ModuleType(f"made_of_text_{abs(hash(text))}")
    sys.modules[module.__name__] = module  # what is made by exec alone has no call sites
    define(text, f"<{module.__name__}>", vars(module))
    return module


def run_python(
    *arguments: Any, given: str | None = None, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a fresh Python, in which the packages are those of this tree."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=given, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stderr[-5000:]
    return done


def grown_and_killed(file: Path, size: int, *arguments: Any) -> None:
    """Run a fresh Python, as `run_python` does, and kill it once a file of its has this size.

    The processes that it has started are killed with it.
    """
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        while not (file.exists() and file.stat().st_size >= size):
            assert process.poll() is None, "it has ended before it could be killed"
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.05))
        process.kill()
        process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


# ------------------------------------------------------------------------------------------- rules


_looked_at: list = []


def unregister_rules_of(path: Path) -> None:
    """Take away the rules that are defined in a file; looks only where rules have come or gone."""
    if _looked_at == [path, rrule.version, frule.version]:
        return
    for table in (rrule, frule):
        ours = [r for r in table.methods() if r.defined_at.startswith(str(path))]
        for r in ours:
            if any(r is one for one in table.methods(r.f)):  # without types, all of them go
                table.unregister(r.f, *r.types)
    _looked_at[:] = path, rrule.version, frule.version


def forget_decisions() -> None:
    """Have the engine forget what it has decided, as it does when a rule comes or goes."""

    def passing(x: object) -> object:
        return x

    scalar_rule(passing, 1)
    for table in (rrule, frule):
        table.unregister(passing)


def after_guards(compiled: Any) -> str:
    """Return the source of a compiled function's last program without the lines of its guards."""
    lines = compiled.source.rpartition("def ")[2].splitlines()
    return "\n".join([line for line in lines if not line.endswith("return MISMATCH")])
