"""Records of the functions that are differentiated, with call counts and programs."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff import caches
from autodiff.trace.varying_inputs import VaryingInputs
from chainrules_core.interpreter.quiet import raising
from chainrules_core.rule import Rule

FUNCTIONS = frozenset({types.FunctionType, types.MethodType, functools.partial})
"""The classes of callables that automatic compilation supports."""
_MOST_RECORDS, MOST_PROGRAMS, MOST_VARIANTS, _MOST_MISSES, RACE = 4096, 64, 8, 64, 16
MOST_ALIKE = 16  # programs of functions with the same code
RECORDING_RATIO = 2.0  # least ratio of the time of all calls to that of all recordings
_BACKOFF, _MOST_FAILURES = 4, 3
MOST_BYTES = 1 << 30
STALL = 0.2  # seconds that a call may wait for a program, or twice the time of all calls
LONGEST_STALL = 3.0
_BUILDER = "autodiff.autocompile.program_builder"
_INFINITY = float("inf")
_POSITIONAL, _NAMED = object(), object()  # markers between the parts of a function
MISSED: Any = object()
"""Returned instead of a result if no program accepts the arguments."""
FAILED: Any = object()
"""Returned instead of a result if a program raises an error, or NumPy would warn."""


class Settings:
    """Whether functions are compiled automatically, and after how many calls and seconds."""

    enabled = os.environ.get("AUTODIFF_COMPILE", "") != "0"
    calls = 16
    seconds = 0.01
    loading = 0.04  # seconds before the first program, which takes the import of the compiler


class DerivativeCall(NamedTuple):
    """A request for a derivative: ``transform(f, args, kwargs, *chosen)``."""

    transform: Callable
    f: Any
    args: tuple
    kwargs: dict[str, Any]
    chosen: tuple

    def traced(self) -> Any:
        """Compute the derivative by tracing."""
        return self.transform(self.f, self.args, self.kwargs, *self.chosen)


class CallRecord:
    """The calls and programs of one function for one form of arguments.

    Attributes
    ----------
    parts : tuple
        The objects that identify the function, kept alive once there are programs so that their
        ids are not reused. (Before that, a later function may be counted with this one.)
    is_shared : bool
        Whether it is that of a method of several objects, or of partial functions of several data.
    why : str
        Why the function must be traced; empty if it need not.
    variants : list
        The programs, most recently used first.
    varying : VaryingInputs
        Which integers among the arguments differ from call to call.
    """

    __slots__ = (
        "as_written", "calls", "failures", "fastest", "hits", "hits_before", "is_shared", "misses",
        "parts", "recorded", "scale", "threshold", "useless", "variants", "varying", "why",
    )  # fmt: skip

    def __init__(self, is_shared: bool = False) -> None:
        self.parts: tuple = ()
        self.is_shared = is_shared
        self.variants: list[Any] = []
        self.why = ""
        self.calls = self.hits = self.misses = self.failures = 0
        self.hits_before = self.useless = 0  # hits before the last program; programs without any
        self.varying = VaryingInputs()
        self.recorded = 0.0
        self.threshold = Settings.seconds
        self.scale = 0.0  # the largest number in any result
        self.as_written = self.fastest = _INFINITY  # shortest times: traced, and by a program

    @property
    def spent(self) -> float:
        """The seconds of all traced calls, each counted as the shortest one."""
        return self.calls * self.as_written if self.calls else 0.0

    @property
    def newest(self) -> Any:
        """The most recently used program; None if there is none.

        Another thread may drop the programs at any time.
        """
        return next(iter(self.variants), None)

    def run(self, given: tuple) -> Any:
        """Return the result of the first program that accepts the arguments; `MISSED`; `FAILED`."""
        for i, variant in enumerate(self.variants):
            try:
                y = raising(variant.run, *given)  # on a warning, tracing repeats the call and warns
            except Exception:  # if it is the user's, tracing raises it again
                return FAILED
            if y is not _mismatch():
                if i:
                    used = self.variants
                    self.variants = [used[i], *used[:i], *used[i + 1 :]]
                return y
        return MISSED

    def forget(self, most: int) -> None:
        """Drop all but the `most` recently used programs."""
        for variant in self.variants[most:]:
            variant.forget()
        self.variants = self.variants[:most]

    def is_due(self) -> bool:
        """Whether it is time to make a program."""
        return (
            not self.why
            and self.spent >= self.threshold
            and self.calls >= Settings.calls
            and self.spent >= RECORDING_RATIO * self.recorded
            and (self.spent >= Settings.loading or _BUILDER in sys.modules)
        )

    def varies(self, given: tuple) -> bool:
        """Whether an integer differs from the one that a program was made for, for the first time.

        Before there are programs, only some calls are compared, because that takes microseconds.
        """
        newest = self.newest
        if newest is None:
            if not self.calls & (self.calls - 1):
                self.varying.note(given, given[0])
            return False
        return not self.why and self.varying.note(given, given[0], newest.variables)

    def note_failure(self, why: str) -> None:
        """Record that no program could be made of a call; give up after several failures."""
        self.failures += 1
        self.wait()
        if self.failures == _MOST_FAILURES:
            self.why = why

    def wait(self) -> None:
        """Back off before the next attempt to make a program."""
        self.threshold = _BACKOFF * self.spent

    def note_program(self, variant: Any) -> None:
        """Add a program; tell objects apart if those that they share are too many."""
        if self.is_shared and len(self.variants) == MOST_VARIANTS:
            self.why = _OTHER_WAYS
            self.forget(0)
            return
        is_useless = bool(self.variants) and self.hits == self.hits_before
        self.useless = self.useless + 1 if is_useless else 0
        if self.useless == MOST_VARIANTS:
            self.why = _OTHER_WAYS
        self.hits_before, self.misses = self.hits, 0
        self.forget(MOST_VARIANTS - 1)
        self.variants = [variant, *self.variants]

    def begin_again(self, seconds: float) -> None:
        """Count from the start for code that is new, so that it is compared as often."""
        self.hits = self.hits_before = 0
        self.fastest = seconds

    def note_miss(self) -> None:
        """Record that no program accepted the arguments; give up if more programs do not help."""
        self.misses += 1
        is_frequent = self.misses > _MOST_MISSES and self.misses > self.hits - self.hits_before
        if is_frequent and max(len(self.variants), 2 * self.useless) >= MOST_VARIANTS:
            self.why = _OTHER_WAYS


_OTHER_WAYS = "most calls take another path through the function, or have other shapes"

records: dict[tuple, CallRecord] = caches.register("records", {})
"""(the derivative, the parts of the function, the form of its arguments) → the record."""


def parts_of(f: Any, is_shared: bool) -> tuple:
    """Return the objects that identify a function: the same if it is created repeatedly.

    Programs read what it has captured, and its defaults, at each call. If `is_shared`, they also
    read the attributes of the object of a method, and the data among the arguments of a partial
    function.
    """
    if type(f) is not types.FunctionType:
        if type(f) is functools.partial:
            held: list[Any] = [*f.args, _NAMED, *f.keywords.values()]
            held = [type(x) if is_shared and type(x) in _DATA else x for x in held]
            return (*parts_of(f.func, is_shared), _POSITIONAL, *held, *f.keywords)
        if type(f) is types.MethodType:
            owner = f.__self__
            owner = type(owner) if is_shared and not isinstance(owner, type) else owner
            return (*parts_of(f.__func__, is_shared), _POSITIONAL, owner)
        return (f,)
    return f.__code__, f.__globals__


_DATA = frozenset({int, float, complex, str, bool, np.ndarray, np.float64, np.float32, np.int64})
"""Classes of arguments of partial functions that programs read."""


@functools.cache
def _mismatch() -> Any:
    from autodiff.compiler.compile_errors import MISMATCH

    return MISMATCH


def entered(key: tuple, is_shared: bool) -> CallRecord:
    """Create the record of a key."""
    if len(records) >= _MOST_RECORDS:
        _forget()
    record = records[key] = CallRecord(is_shared)
    return record


def _forget(rule: Rule | None = None) -> None:
    """Drop all records."""
    for record in list(records.values()):  # at once: another thread may add one meanwhile
        record.forget(0)
    records.clear()


def _end(globals_id: int, name: str) -> None:
    """Drop the records of a module's functions, because programs keep its objects alive."""
    for key in [key for key in list(records) if globals_id in key]:
        record = records.pop(key, None)
        if record is not None:
            record.forget(0)


caches.on_rule_change(_forget)
caches.on_module_end(_end)
