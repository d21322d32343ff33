"""Call a program many times in every tier: what a user can observe is what the plain run leaves.

The value, the class of an error, the warnings, the arguments and the state of the module (globals,
attributes of classes and functions, mutable defaults) are those of the plain program, and gradients
those of the traced one. Each tier has a module of its own, so that its state is its own, too.
"""

from __future__ import annotations

import copy
import functools
import random
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import autodiff
from chainrules_core import ChainRulesError
from tools.fuzz import repeated, sessions

Load = Callable[[], tuple[Callable, tuple]]
SINGLE = ("float32", "complex64")
OURS = "an error of ours"
CLOSE = 1e-10  # values may differ by, where programs add in another order
CLOSE_IN_SINGLE_PRECISION = 1e-4
# Changes of arguments that a derivative refuses, or for which it is no number.
NOT_MADE = (
    "frozen",
    "integers",
    "complex",
    "lists",
    "whole",
    "half precision",
    "swapped",
    "numbers",
)
WITHOUT_A_PATH = (autodiff.NoPathWarning,)


class Seen(NamedTuple):
    """What can be observed of a call."""

    value: Any
    error: str
    warnings: set[tuple[str, str]]
    arguments: list
    state: Any
    gradient: Any = None


def observed_difference(load: Load, seed: int) -> str:
    """Return in words how a tier differs from the plain program; nothing if none does."""
    with repeated.soon():
        return next(filter(None, (_tier(load, seed, name) for name in TIERS)), "")


def _tier(load: Load, seed: int, name: str) -> str:
    (plain, given), (traced, _), (called, _) = load(), load(), load()
    slopes = [_slope(traced), TIERS[name](_slope(called))]
    arguments = {f"x{i}": x for i, x in enumerate(given)}
    rng = random.Random(f"outside {seed}")
    is_single = any(x.dtype.name in SINGLE for x in sessions.leaves(given) if is_array(x))
    for words, make in sessions.calls(list(arguments), arguments, random.Random(seed)):
        if any(change in words for change in NOT_MADE):
            continue
        number = rng.random()
        if number < 0.3:
            words += f", outside {number}"
            for program in (plain, traced, called):
                _change_outside(program.__globals__, random.Random(number))
        elif number < 0.45:
            words += ", in one memory"
            make = functools.partial(_joined, make, number < 0.38)
        expected = _seen(plain, plain, make())
        try:
            with repeated.traced():
                reference = _seen(slopes[0], traced, make())
            if OURS in (expected.error, reference.error):
                return ""  # refused: from here on the states are not the same
            found = _seen(slopes[1], called, make())
        except autodiff.CompileError:
            return ""
        if found.error == OURS:
            return ""
        if any(change in words for change in ("NaN", "Inf", "huge")):
            # Programs leave out what only adds NaN: warnings there are no promise.
            expected, reference, found = (
                s._replace(warnings=set()) for s in (expected, reference, found)
            )
        close = CLOSE_IN_SINGLE_PRECISION if is_single or "single" in words else CLOSE
        message = _difference(expected, reference, make(), close)
        if message:
            return f"traced, {words}: {message}"
        message = _difference(expected, found, make(), close)
        if not message and not found.error:
            message = different(reference.gradient, found.gradient, 1e-6)
        if message:
            return f"{name}, {words}: {message}"
    return ""


def is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def _joined(make: Callable[[], list], turned: bool) -> list:
    """Return arguments some of which are the first one or a view of it."""
    first, *others = make()
    if not isinstance(first, np.ndarray) or not first.ndim:
        return [first, *others]
    view = first[::-1] if turned else first
    return [
        view if isinstance(x, np.ndarray) and (x.shape, x.dtype) == (view.shape, view.dtype) else x
        for x in (first, *others)
    ]


def _change_outside(namespace: dict[str, Any], rng: random.Random) -> None:
    """Change a number that a module, a class, a dict or an object of the module holds."""
    found: list[tuple[Callable, Any, Any]] = []
    for name, x in namespace.items():
        if name.startswith("__") or name == "ARGUMENTS":
            continue
        found += _numbers_in(namespace.__setitem__, [(name, x)])
        if isinstance(x, dict):
            found += _numbers_in(x.__setitem__, list(x.items()))
        elif getattr(x, "__module__", "") == "fuzzed" or type(x).__module__ == "fuzzed":
            found += _numbers_in(functools.partial(setattr, x), list(vars(x).items()))
    if found:
        put, key, x = rng.choice(found)
        if isinstance(x, np.ndarray) and rng.random() < 0.5:
            x[...] = x * 0.9
        else:
            put(key, x * 1.1)


def _numbers_in(put: Callable, items: list[tuple]) -> list[tuple[Callable, Any, Any]]:
    return [
        (put, key, x) for key, x in items
        if type(x) is float or (type(x) is np.ndarray and x.dtype.kind == "f")
    ]  # fmt: skip


def _slope(f: Callable) -> Callable:
    def slope(*args: Any) -> Any:
        return autodiff.value_and_gradient(f, *args)

    return slope


def _native(slope: Callable) -> Callable:
    return autodiff.compile(slope, backend="native")


def _python(slope: Callable) -> Callable:
    return autodiff.compile(slope, backend="python")


TIERS: dict[str, Callable[[Callable], Callable]] = {
    "automatic": lambda slope: slope,
    "compiled to NumPy": _python,
    "compiled to machine code": _native,
}


def _seen(call: Callable, program: Callable, given: list) -> Seen:
    """Call, and note what can be observed."""
    result, error = None, ""
    with np.errstate(all="warn", under="ignore"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(*given)
        except autodiff.CompileError:
            raise
        except ChainRulesError:
            error = OURS
        except Exception as raised:
            error = type(raised).__name__
    texts = {
        (w.category.__name__, str(w.message))
        for w in caught
        if not issubclass(w.category, WITHOUT_A_PATH)
    }
    value, gradient = result if call is not program and not error else (result, None)
    return Seen(value, error, texts, given, _state(program.__globals__), gradient)


def _difference(expected: Seen, found: Seen, before: list, close: float) -> str:
    if expected.error != found.error:
        return f"raises {found.error or 'nothing'}, plainly {expected.error or 'nothing'}"
    if not expected.error:
        message = different(float(expected.value), float(found.value), close)
        if message:
            return f"the value {message}"
    if different(expected.state, found.state, close):
        return f"the state {different(expected.state, found.state, close)}"
    if different(before, found.arguments, 0.0) and different(
        expected.arguments, found.arguments, close
    ):
        return "an argument is changed"
    if missing := expected.warnings - found.warnings:
        return f"without the warnings {missing}"
    if expected.error == "" and (more := found.warnings - expected.warnings):
        return f"with the warnings {more}"
    return ""


def different(expected: Any, found: Any, close: float) -> str:
    """Say how nests differ; single precision may be inside of any."""
    if isinstance(expected, float) and isinstance(found, float):
        expected, found = float(expected), float(found)
        near = np.isclose(expected, found, close, close, equal_nan=True)
        return "" if near else f"{found!r}, not {expected!r}"
    return sessions.different(expected, found, close)


def _state(namespace: dict[str, Any]) -> list:
    """Return the data of a module, as nests of plain data."""
    return [
        (name, _data(x, 0))
        for name, x in namespace.items()
        if not name.startswith("__") and name != "ARGUMENTS"
    ]


def _data(x: Any, depth: int) -> Any:
    if isinstance(x, (bool, int, float, complex, str, np.ndarray, np.generic)):
        return copy.deepcopy(x) if type(x).__module__ in ("builtins", "numpy") else repr(type(x))
    if depth > 4 or x is None or isinstance(x, types.ModuleType):
        return "none"
    if isinstance(x, dict):
        return {str(key): _data(part, depth + 1) for key, part in x.items()}
    if isinstance(x, (list, tuple)):
        return [_data(part, depth + 1) for part in x]
    if isinstance(x, types.FunctionType):
        return [_data(x.__dict__, depth + 1), _data(x.__defaults__ or (), depth + 1)]
    if isinstance(x, type):
        if x.__module__ != "fuzzed":
            return "a class"
        return {n: _data(p, depth + 1) for n, p in vars(x).items() if not n.startswith("__")}
    return [type(x).__name__, _data(getattr(x, "__dict__", {}), depth + 1)]
