"""Call a function many times with changing data: each call gives what the traced function gives.

What a program has taken for a constant (a branch, an index, a length, a value from outside) shows
when the data change. So the arguments are scaled, negated, reversed and rounded, and every call is
compared with the function traced at the same point.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import autodiff
from autodiff import autocompile
from autodiff.autocompile import call_records
from chainrules_core import ChainRulesError

# What a record says of a program that gave another value than the function.
DROPPED = "its values depend on the order of operations"


def leaves(nest: Any) -> list:
    """Return the numbers and arrays of a nest."""
    if isinstance(nest, (tuple, list)):
        return [leaf for part in nest for leaf in leaves(part)]
    if isinstance(nest, dict):
        return [leaf for part in nest.values() for leaf in leaves(part)]
    return [nest]


def is_near(expected: Any, found: Any) -> bool:
    """Whether two nests hold the same numbers up to rounding.

    Where the traced derivative is NaN (0 times Inf at a point without derivative), any will do: a
    program may simplify the terms that make it.
    """
    pairs = list(zip(leaves(expected), leaves(found), strict=False))
    if len(leaves(expected)) != len(leaves(found)):
        return False
    for a, b in [(np.asarray(a), np.asarray(b)) for a, b in pairs]:
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return False
            continue
        finite = np.abs(a[np.isfinite(a)])
        close = 1e-3 if a.dtype.itemsize == 4 else 1e-6  # single precision may be inside
        scale = max(1.0, float(np.max(finite, initial=0.0)))
        if not np.allclose(a, np.where(np.isnan(a), a, b), close, close * scale, equal_nan=True):
            return False
    return True


# -- data ------------------------------------------------------------------------------------------


def _scaled(x: Any, rng: random.Random) -> Any:
    return x * rng.choice((0.3, 0.7, 0.99, 1.01, 1.5, -1.0, -0.6))


def _reversed(x: Any, rng: random.Random) -> Any:
    return x[::-1].copy() if np.ndim(x) else -x


def _flipped(x: Any, rng: random.Random) -> Any:
    if not np.ndim(x):
        return -x
    return x * np.array([rng.choice((-1.0, 1.0)) for _ in range(x.size)]).reshape(x.shape)


def _rounded(x: Any, rng: random.Random) -> Any:
    return np.round(x) if isinstance(x, (np.ndarray, np.generic)) else float(round(x))


def _shifted(x: Any, rng: random.Random) -> Any:
    return x + rng.choice((-1.5, -0.4, 0.25, 1.0))


_CHANGES = (_scaled, _scaled, _flipped, _flipped, _reversed, _shifted, _rounded)


def points(arguments: tuple, seed: int, count: int) -> Iterator[tuple]:
    """Yield arguments: the given ones twice, then changed ones, the given ones now and then."""
    rng = random.Random(seed)
    for call in range(count):
        change = None if call < 2 or rng.random() < 0.2 else rng.choice(_CHANGES)
        yield _changed(arguments, change, rng)


def _changed(nest: Any, change: Callable | None, rng: random.Random) -> Any:
    if isinstance(nest, (tuple, list)):
        return type(nest)([_changed(part, change, rng) for part in nest])
    if isinstance(nest, dict):
        return {key: _changed(part, change, rng) for key, part in nest.items()}
    if isinstance(nest, np.ndarray):
        if change is None or nest.dtype.kind not in "fc":
            return nest.copy()
        return np.asarray(change(nest, rng), nest.dtype)
    return nest if change is None or not isinstance(nest, float) else type(nest)(change(nest, rng))


# -- comparisons -----------------------------------------------------------------------------------


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Trace every function as it is written."""
    before = autodiff.automatic_compile(False)
    try:
        yield
    finally:
        autodiff.automatic_compile(before)


@contextlib.contextmanager
def soon() -> Iterator[None]:
    """Have the automatic tier make a program after the second call, however short they are."""
    settings = autocompile.Settings
    before = (settings.enabled, settings.calls, settings.seconds, settings.loading)
    limits = (call_records.STALL, call_records.RECORDING_RATIO)
    settings.enabled, settings.calls, settings.seconds, settings.loading = True, 2, 0.0, 0.0
    call_records.STALL, call_records.RECORDING_RATIO = 60.0, 0.0
    call_records.records.clear()
    try:
        yield
    finally:
        (settings.enabled, settings.calls, settings.seconds, settings.loading) = before
        call_records.STALL, call_records.RECORDING_RATIO = limits
        call_records.records.clear()


def outcome(f: Callable, *args: Any) -> Any:
    """Return what a call gives, or the name of the error that it raises."""
    try:
        return f(*args)
    except autodiff.CompileError:
        raise
    except (ChainRulesError, autodiff.NoPathWarning):
        return "an error of ours"
    except Exception as error:
        return type(error).__name__


def difference(f: Callable, slope: Callable, compared: Callable, calls: Iterable[tuple]) -> str:
    """Return how the calls of `compared` differ from those of `slope`, the traced gradient of `f`.

    Returns
    -------
    str
        The first difference in words; "" where there is none.
    """
    for call, given in enumerate(calls):
        plain = outcome(f, *_changed(given, None, random.Random(0)))
        with traced():
            expected = outcome(slope, *_changed(given, None, random.Random(0)))
        if isinstance(expected, str) and not isinstance(plain, str):
            continue  # the traced function is refused here: there is nothing to compare with
        found = outcome(compared, *given)
        if isinstance(expected, str) or isinstance(found, str):
            if expected is not found and expected != found and found != "an error of ours":
                return f"call {call}: {found!r:.200}, traced {expected!r:.200}"
        elif not is_near(expected, found):
            return f"call {call}: {found!r:.200}, traced {expected!r:.200}"
    return ""


def automatic_difference(f: Callable, calls: Iterable[tuple]) -> str:
    """Return how the automatic tier differs from the traced function in some calls."""

    def slope(*given: Any) -> Any:
        return autodiff.value_and_gradient(f, *given)

    with soon():
        found = difference(f, slope, slope, calls)
        kept = [r.why for r in call_records.records.values() if r.why == DROPPED]
    return found or (f"a program was dropped: {kept[0]}" if kept else "")


def compiled_difference(f: Callable, calls: Iterable[tuple], backend: str = "python") -> str:
    """Return how the compiled gradient differs from the traced function in some calls."""

    def slope(*given: Any) -> Any:
        return autodiff.value_and_gradient(f, *given)

    try:
        compiled = autodiff.compile(slope, backend=backend)
        return difference(f, slope, compiled, calls)
    except autodiff.CompileError:
        return ""  # refused, in a sentence
