"""Which functions are differentiated again and again, and the programs made of them."""

from __future__ import annotations

import functools
import os
import sys
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.levels import is_free
from autodiff.observe import is_observed
from autodiff.tracer import FloatTracer, Tracer
from chainrules_core import frule, rrule
from chainrules_core.quiet import raising
from chainrules_core.rule import Rule

_FUNCTION = types.FunctionType
_MOST_RECORDS, MOST_PROGRAMS, MOST_VARIANTS, _MOST_MISSES, _RACE = 4096, 64, 8, 64, 16
TIMES_LONGER = 4  # so much longer it has to have run before a longer program is tried
SECONDS_BY_STEP = 2e-5
_MAKING = "autodiff.hot.making"
_INFINITY = float("inf")
MISSED: Any = object()
"""What stands for a result where no program is for the arguments."""


class Settings:
    """Whether functions are compiled by themselves, and after how many calls and seconds."""

    loading = 0.04  # before the first program of a process is made: the compiler has to be loaded
    enabled = os.environ.get("AUTODIFF_COMPILE", "") != "0"
    calls = 16
    seconds = 0.01


class Record:
    """One function that is differentiated, with one form of arguments.

    Attributes
    ----------
    function : weakref
        The function.
    why : str
        Why it runs as it is written, if it is known to have to.
    variants : list
        The programs, the latest used first.
    arrays : list of tuple
        Larger arrays from outside that the programs read, and their contents.
    """

    __slots__ = (
        "arrays", "as_written", "calls", "fastest", "function", "hits", "misses", "recorded",
        "spent", "threshold", "variants", "why",
    )  # fmt: skip

    def __init__(self, function: weakref.ref) -> None:
        self.function = function
        self.variants: list[Any] = []
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self.why = ""
        self.calls = self.hits = self.misses = 0
        self.spent = self.recorded = 0.0
        self.threshold = Settings.seconds
        self.as_written = self.fastest = _INFINITY  # the shortest times of a call

    def run(self, given: tuple) -> Any:
        """Return what a program gives; `MISSED` if none is for these arguments."""
        for now, before in self.arrays:
            if not np.array_equal(now.view(before.dtype), before):
                return MISSED
        for i, variant in enumerate(self.variants):
            try:
                with raising():  # what is to be warned of is found out by the function itself
                    y = variant.run(*given)
            except Exception:  # so is an error, if it is the user's
                return MISSED
            if y is not _mismatch():
                if i:
                    self.variants = [variant, *self.variants[:i], *self.variants[i + 1 :]]
                return y
        return MISSED

    def is_due(self) -> bool:
        """Whether a program is to be made."""
        return (
            not self.why
            and self.spent >= self.threshold
            and self.calls >= Settings.calls
            and self.spent >= 2 * self.recorded
            and (self.spent >= Settings.loading or _MAKING in sys.modules)
        )

    def note_miss(self) -> None:
        """Note that no program was for the arguments."""
        self.misses += 1
        if self.misses > _MOST_MISSES and self.misses > self.hits:
            self.why = "most calls take another way through the function, or have other shapes"


records: dict[tuple, Record] = {}
"""(what is taken, the function's identity, the form of its arguments) → what is known."""


@functools.cache
def _mismatch() -> Any:
    from autodiff.compile.errors import MISMATCH

    return MISMATCH


def called(transform: Callable, f: Any, args: tuple, kwargs: dict[str, Any], *chosen: Any) -> Any:
    """Return ``transform(f, args, kwargs, *chosen)``, by a program where one was made.

    Parameters
    ----------
    transform : callable
        What takes a derivative.
    f : callable
        The function.
    args, kwargs : tuple, dict
        Its arguments.
    *chosen
        The options of the derivative, which can be hashed.
    """
    if type(f) is not _FUNCTION or not Settings.enabled or not is_free() or is_observed():
        return transform(f, args, kwargs, *chosen)
    for a in args:
        if type(a) is Tracer or type(a) is FloatTracer:
            return transform(f, args, kwargs, *chosen)
    key = (transform, id(f), len(args), chosen, *kwargs)
    try:
        record = records.get(key)
    except TypeError:  # options that cannot be hashed
        return transform(f, args, kwargs, *chosen)
    if record is None or record.function() is not f:
        record = _entered(key, f)
    if record.variants and not record.why and sys.gettrace() is None:
        given = (*args, *kwargs.values()) if kwargs else args
        hits = record.hits + 1
        if hits & (hits - 1):
            y = record.run(given)
            if y is not MISSED:
                record.hits = hits
                return y
        else:
            start = time.perf_counter()
            y = record.run(given)
            record.fastest = min(record.fastest, time.perf_counter() - start)
            if y is not MISSED:
                record.hits = hits
                return _compared(record, y, transform, f, args, kwargs, chosen)
        record.note_miss()
    start = time.perf_counter()
    y = transform(f, args, kwargs, *chosen)
    took = time.perf_counter() - start
    record.spent += took
    record.calls += 1
    if took < record.as_written:
        record.as_written = took
    if record.is_due():
        from autodiff.hot.making import make

        records[key] = record  # the compiler has rules of its own: they may have been forgotten
        make(record, y, transform, f, args, kwargs, chosen)
    return y


def _entered(key: tuple, f: Callable) -> Record:
    if len(records) >= _MOST_RECORDS:
        records.clear()
    record = records[key] = Record(weakref.ref(f, functools.partial(_drop, key)))
    return record


def _drop(key: tuple, _: weakref.ref, known: dict = records) -> None:
    known.pop(key, None)


def _compared(
    record: Record,
    y: Any,
    transform: Callable,
    f: Callable,
    args: tuple,
    kwargs: dict[str, Any],
    chosen: tuple,
) -> Any:
    """Look now and then whether a program still gives what the function does, and is faster."""
    from autodiff.hot.making import agree

    start = time.perf_counter()
    expected = transform(f, args, kwargs, *chosen)
    record.as_written = min(record.as_written, time.perf_counter() - start)
    if not agree(y, expected):
        record.why = "its values hang on the order of operations"
    elif record.hits == _RACE and record.fastest > record.as_written:
        record.why = "it is faster as it is written"
    return expected


def _forget(rule: Rule) -> None:
    records.clear()


rrule.watch(_forget)
frule.watch(_forget)
