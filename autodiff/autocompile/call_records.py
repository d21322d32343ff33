"""Which functions are differentiated again and again, and the programs made of them."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff import caches
from autodiff.autocompile.escape_analysis import MISSING
from chainrules_core.interpreter.quiet import raising
from chainrules_core.rule import Rule

FUNCTIONS = frozenset({types.FunctionType, types.MethodType, functools.partial})
_MOST_RECORDS, MOST_PROGRAMS, MOST_VARIANTS, _MOST_MISSES, RACE = 4096, 64, 8, 64, 16
MOST_ALIKE = 16  # programs of functions with the same code
TIMES = 2.0  # so many times as long as all recordings a function runs as it is before the next
_TIMES_LONGER, _MOST_FAILURES = 4, 3
MOST_BYTES = 1 << 30
STALL = 0.2  # seconds that a call may wait for a program, or twice as long as all calls took
LONGEST_STALL = 3.0
_MAKING = "autodiff.autocompile.program_builder"
_INFINITY = float("inf")
_GIVEN, _NAMED = object(), object()  # what stands before parts of these kinds, and nowhere else
MISSED: Any = object()
"""What stands for a result where no program is for the arguments."""
FAILED: Any = object()
"""… where one is, but raises, or NumPy would warn of something."""


_Arrays = list[tuple[np.ndarray, np.ndarray, np.dtype]]
_Names = list[tuple[dict[str, Any], str, Any]]


class Settings:
    """Whether functions are compiled by themselves, and after how many calls and seconds."""

    loading = 0.04  # before the first program of a process is made: the compiler has to be loaded
    enabled = os.environ.get("AUTODIFF_COMPILE", "") != "0"
    calls = 16
    seconds = 0.01


class Call(NamedTuple):
    """A derivative that is taken: ``transform(f, args, kwargs, *chosen)``."""

    transform: Callable
    f: Any
    args: tuple
    kwargs: dict[str, Any]
    chosen: tuple

    def traced(self) -> Any:
        """Take it as the function is written."""
        return self.transform(self.f, self.args, self.kwargs, *self.chosen)


class Record:
    """One function that is differentiated, with one form of arguments.

    Attributes
    ----------
    parts : tuple
        What the function is made of, once there are programs: so long nothing else has its
        identity. (Before, a function that comes after it may be counted with it.)
    why : str
        Why it runs as it is written, if it is known to have to.
    variants : list of tuple
        The programs, the latest used first, each with the larger arrays from outside that it reads
        and what they held, and the names in modules and what they were bound to.
    """

    __slots__ = (
        "as_written", "calls", "failures", "fastest", "hits", "misses", "parts", "recorded",
        "scale", "threshold", "variants", "why",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parts: tuple = ()
        self.variants: list[tuple[Any, _Arrays, _Names]] = []
        self.why = ""
        self.calls = self.hits = self.misses = self.failures = 0
        self.recorded = 0.0
        self.threshold = Settings.seconds
        self.scale = 0.0  # the largest number in a result so far
        self.as_written = self.fastest = _INFINITY  # the shortest times of a call

    @property
    def spent(self) -> float:
        """The seconds that all calls took, each as long as the shortest: some may be longer."""
        return self.calls * self.as_written if self.calls else 0.0

    def run(self, given: tuple) -> Any:
        """Return what a program gives, or `MISSED` or `FAILED`."""
        for i, (variant, arrays, names) in enumerate(self.variants):
            try:
                if not _hold(arrays, names):
                    continue
                with raising():  # what is to be warned of is found out by the function itself
                    y = variant.run(*given)
            except Exception:  # so is an error, if it is the user's
                return FAILED
            if y is not _mismatch():
                if i:
                    used = self.variants
                    self.variants = [used[i], *used[:i], *used[i + 1 :]]
                return y
        return MISSED

    def forget(self, most: int) -> None:
        """Keep so many of the programs at most."""
        for variant, _, _ in self.variants[most:]:
            variant.forget()
        self.variants = self.variants[:most]

    def is_due(self) -> bool:
        """Whether a program is to be made."""
        return (
            not self.why
            and self.spent >= self.threshold
            and self.calls >= Settings.calls
            and self.spent >= TIMES * self.recorded
            and (self.spent >= Settings.loading or _MAKING in sys.modules)
        )

    def note_failure(self, why: str) -> None:
        """Note that no program could be made of a call; others may be another matter."""
        self.failures += 1
        self.wait()
        if self.failures == _MOST_FAILURES:
            self.why = why

    def wait(self) -> None:
        """Have the next program wait for a while."""
        self.threshold = _TIMES_LONGER * self.spent

    def note_miss(self) -> None:
        """Note that no program was for the arguments."""
        self.misses += 1
        if self.misses > _MOST_MISSES and self.misses > self.hits:
            self.why = "most calls take another way through the function, or have other shapes"


records: dict[tuple, Record] = caches.register("records", {})
"""(what is taken, the parts of the function, the form of its arguments) → what is known."""


def can_be_known(f: Any) -> bool:
    """Whether an object is a function whose parts are known."""
    return type(f) in FUNCTIONS


def parts_of(f: Any) -> tuple:
    """Return what makes a function what it is: a loop makes the same in each turn."""
    if type(f) is functools.partial:
        named = (*f.keywords, *f.keywords.values())
        return (*parts_of(f.func), _GIVEN, *f.args, _NAMED, *named)
    if type(f) is types.MethodType:
        return (*parts_of(f.__func__), _GIVEN, f.__self__)
    if type(f) is not types.FunctionType:
        return (f,)
    parts = (f.__code__, f.__globals__, *(f.__closure__ or ()))
    if f.__defaults__:
        parts = (*parts, _GIVEN, *f.__defaults__)
    if f.__kwdefaults__:
        parts = (*parts, _NAMED, *f.__kwdefaults__, *f.__kwdefaults__.values())
    return parts


def _hold(arrays: _Arrays, names: _Names) -> bool:
    """Whether what a program has read from outside is what it was."""
    for scope, name, value in names:
        if scope.get(name, MISSING) is not value:
            return False
    return all(now.dtype == kind and np.array_equal(bits(now), had) for now, had, kind in arrays)


def bits(x: np.ndarray) -> np.ndarray:
    """Return the bits of an array, which can be compared also where it holds NaN."""
    return x.view(np.uint64 if x.itemsize % 8 == 0 else np.uint8)


@functools.cache
def _mismatch() -> Any:
    from autodiff.compiler.compile_errors import MISMATCH

    return MISMATCH


def entered(key: tuple) -> Record:
    """Return a new record, kept for a key."""
    if len(records) >= _MOST_RECORDS:
        _forget()
    record = records[key] = Record()
    return record


def _forget(rule: Rule | None = None) -> None:
    for record in records.values():
        record.forget(0)
    records.clear()


def _end(globals_id: int, name: str) -> None:
    """Drop the records of a module's functions: a program keeps what it was made of alive."""
    for key in [key for key in list(records) if globals_id in key]:
        record = records.pop(key, None)
        if record is not None:
            record.forget(0)


caches.on_rule_change(_forget)
caches.on_module_end(_end)
