"""Dispatch requests for derivatives to compiled programs, or to tracing."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable
from typing import Any

from autodiff.autocompile.call_records import (
    FAILED,
    FUNCTIONS,
    MISSED,
    RACE,
    CallRecord,
    DerivativeCall,
    Settings,
    entered,
    parts_of,
    records,
)
from autodiff.repeatable import is_repeatable
from autodiff.trace.observers import is_observed
from autodiff.trace.trace_stack import is_free
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core.interpreter.quiet import is_mild


def called(transform: Callable, f: Any, args: tuple, kwargs: dict[str, Any], *chosen: Any) -> Any:
    """Return ``transform(f, args, kwargs, *chosen)``, by a program if there is one.

    Parameters
    ----------
    transform : callable
        Computes the derivative.
    f : callable
        The function.
    args, kwargs : tuple, dict
        Its arguments.
    *chosen
        The options of the derivative; hashable.
    """
    if (
        type(f) not in FUNCTIONS
        or not Settings.enabled
        or not is_free()
        or is_observed()
        or is_repeatable()
    ):
        return transform(f, args, kwargs, *chosen)
    for a in args:
        if type(a) is Tracer or type(a) is FloatTracer:
            return transform(f, args, kwargs, *chosen)
    is_shared = type(f) is not types.FunctionType
    form = len(args), chosen, *map(type, chosen), *kwargs
    key = (transform, *map(id, parts_of(f, is_shared)), *form)
    try:
        record = records.get(key)
    except TypeError:  # unhashable options
        return transform(f, args, kwargs, *chosen)
    if record is not None and record.is_shared and record.why:  # maybe not for each object
        is_shared = False
        key = (transform, *map(id, parts_of(f, is_shared)), *form)
        record = records.get(key)
    if record is None:
        record = entered(key, is_shared)
    if record.variants and not record.why and sys.gettrace() is None and is_mild():
        given = (f, *args, *kwargs.values())
        hits = record.hits + 1
        if hits & (hits - 1):
            y = record.run(given)
            if y is not MISSED and y is not FAILED:
                record.hits = hits
                return y
        else:
            start = time.perf_counter()
            y = record.run(given)
            if y is not MISSED and y is not FAILED:
                record.hits = hits
                record.fastest = min(record.fastest, time.perf_counter() - start)
                return _compared(record, y, DerivativeCall(transform, f, args, kwargs, chosen))
        record.note_miss()
        if y is FAILED:
            return transform(f, args, kwargs, *chosen)
    start = time.perf_counter()
    y = transform(f, args, kwargs, *chosen)
    record.calls += 1
    record.as_written = min(record.as_written, time.perf_counter() - start)
    varies = record.varies((f, *args, *kwargs.values()))
    if varies or record.is_due():
        from autodiff.autocompile.program_builder import make

        records[key] = record  # importing the compiler registers rules, which drops the records
        make(record, y, DerivativeCall(transform, f, args, kwargs, chosen))
    return y


def _compared(record: CallRecord, y: Any, call: DerivativeCall) -> Any:
    """Trace a call that a program has made; give the program up if it is wrong or slower."""
    from autodiff.autocompile.program_builder import agree, make_machine_code, size_of

    start = time.perf_counter()
    expected = call.traced()
    record.as_written = min(record.as_written, time.perf_counter() - start)
    record.scale = max(record.scale, size_of(expected))
    if not agree(y, expected, record.scale):
        record.why = "its values depend on the order of operations"
        return expected
    variant = record.newest
    if variant is None:
        return expected
    make_machine_code(record, variant, (call.f, *call.args, *call.kwargs.values()), expected)
    is_slower = record.hits >= RACE and record.fastest > record.as_written
    if is_slower and variant.machine_code is None:
        record.why = "it is faster as it is written"
    return expected
