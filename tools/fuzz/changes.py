"""Functions that read a value from outside, which changes between their calls.

Each line of `changes.txt` is a way to hold a value: the text before the function, how it is read,
and how it is changed, with bars between. A fourth part is an argument of the function, made anew
for each call, which reads it as `h`. A semicolon without a space behind it ends a line. Each is
combined with a way of using the value, and with values some of which are equal and differ all the
same. What the function gives by the automatic tier, or compiled, is compared with what it gives as
it is written.
"""

from __future__ import annotations

import contextlib
import linecache
import random
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import autodiff
from autodiff.structured.settings import Settings
from chainrules_core import ChainRulesError
from tools.fuzz.repeated import is_near, soon, traced

_HEAD = """
import abc, array, bisect, cmath, collections, contextvars, copy, dataclasses, decimal, enum
import fractions, functools, heapq, inspect, itertools, json, math, operator, random, re
import statistics, string, struct, sys, threading, types, typing, weakref
import numpy as np
K_ = 2.0
GG = lambda a: 1
"""
_USES = (
    "x * K",
    "x ** 2 + K * x",
    "x * math.copysign(1.0, K)",
    "x * 2.0 if K else x * 3.0",
    "x * 2.0 if K is True else x * 3.0",
    "x * 2.0 if type(K) is int else x * 3.0 if isinstance(K, float) else x * 4.0",
    "sum([x * (i + 1) for i in range(int(K))], x)",
    "[x, x * 2.0, x * 3.0][int(K) % 3]",
    "{2.0: x, 3: x * 5.0}.get(K, x * 7.0)",
    "x * 2.0 if 1.0 < K <= 2.0 else x * 3.0",
    "np.sum(np.array([x, x * 2.0]) * K)",
)
_VALUES = (
    "2.0", "3.0", "0.0", "-0.0", "2", "1", "True", "False", "1.0", "np.float64(2.0)", "-1.5", "-2",
    "2.5", "3",
)  # fmt: skip
HOLDERS = Path(__file__).with_suffix(".txt").read_text().splitlines()
_PLACES = (
    """
def f(x{h}):
    K = {read}
    return {use}
""",
    """
def kernel(x, n{h}):
    y = x
    for _ in range(n):
        K = {read}
        y = y * 0.5 + ({use})
    return y
def f(x{h}):
    return kernel(x, 2{h}) * 1.0
""",
    """
def applied(g, x, n):
    y = x
    for _ in range(n):
        y = y * 0.5 + g(x)
    return y
def f(x{h}):
    def g(x):
        K = {read}
        return {use}
    return applied(g, x, 2) * 1.0
""",
)
"""Where the value is read: as many programs for each of them as there are holders."""
POINTS = (1.5, 0.7, -0.4, 1.1, 2.0, 0.9)
CALLS = 14


def change_program(seed: int) -> str:
    """Return the text of a program: a function `f`, and `change`, which is called between calls."""
    rng = random.Random(seed)
    setup, read, put, *given = HOLDERS[seed % len(HOLDERS)].split(" | ")
    lines = "" if setup == "-" else re.sub(r";(?! \S)", "\n", setup)
    values = ["2.0"] * 3 + [rng.choice(_VALUES) for _ in range(CALLS - 3)]
    place = _PLACES[seed // len(HOLDERS) % len(_PLACES)]
    function = place.format(read=read, use=rng.choice(_USES), h=", h" if given else "")
    return f"""{_HEAD}
{lines}{function}v = 2.0
VALUES = [{", ".join(values)}]
def change(call):
    global v
    if call > 2:
        v = VALUES[call]
        put(v)
def put(v):
    {put}
def given():
    return [{"".join(given)}]
"""


def _loaded(source: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    sys.modules[name] = module
    linecache.cache[module.__file__] = (
        len(source), None, source.splitlines(keepends=True), module.__file__,
    )  # fmt: skip
    exec(compile(source, module.__file__, "exec"), vars(module))
    return module


def _outcomes(module: types.ModuleType, slope: Callable) -> list[Any]:
    found: list[Any] = []
    for call in range(CALLS):
        module.change(call)
        try:
            found.append(slope(POINTS[call % len(POINTS)], *module.given()))
        except (ChainRulesError, autodiff.NoPathWarning):
            found.append(None)
        except Exception as error:
            found.append(type(error).__name__)
    return found


@contextlib.contextmanager
def _from_source() -> Iterator[None]:
    """Read the source of functions with loops at the first call."""
    before = Settings.worth, Settings.least
    Settings.worth = Settings.least = -1.0
    try:
        with traced():
            yield
    finally:
        Settings.worth, Settings.least = before


_KINDS: dict[str, Callable] = {
    "traced": traced, "automatic": soon, "from source": _from_source, "compiled": traced,
}  # fmt: skip


def change_difference(seed: int) -> str:
    """Return how a function differs from what it is as it is written; "" if it does not."""
    source = change_program(seed)
    sessions = {}
    for kind, setting in _KINDS.items():
        module = _loaded(source, f"changes_{kind}_{seed}")

        def slope(x: float, *given: Any, module: types.ModuleType = module) -> Any:
            return autodiff.value_and_gradient(module.f, x, *given, argnums=0)

        with setting():
            called = autodiff.compile(slope, backend="python") if kind == "compiled" else slope
            sessions[kind] = _outcomes(module, called)
        del sys.modules[module.__name__]
    for kind in sessions:
        for call, (expected, found) in enumerate(
            zip(sessions["traced"], sessions[kind], strict=True)
        ):
            if expected is None or found is None:
                continue
            is_text = isinstance(expected, str) or isinstance(found, str)
            if expected != found if is_text else not is_near(expected, found):
                return f"{kind}, call {call}: {found}, traced {expected}"
    return ""
