"""Counts calls of elementwise functions, and has code generated for those that are frequent."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import dispatch_cache
from autodiff.fastpath.codegen.node_code import NUMBERS
from autodiff.fastpath.codegen.operation_code import (
    ConstantsGenerator,
    Declined,
    OperationGenerator,
    not_known,
)
from autodiff.fastpath.codegen.operation_jvp_code import on_level, over_level
from autodiff.trace.tape import CONSTANT, Forward
from autodiff.trace.tracer import FloatTracer, Tracer

_ndarray = np.ndarray
_calls: dict[tuple, int] = caches.register("calls before code is written", {}, of_rules=True)


def note(f: Callable, args: tuple, result: Any) -> None:
    """Count a call; generate code after some calls with the same types."""
    if type(result) is not Tracer:
        return
    tape, y = result._tape, result._value
    if not (tape.records or tape is CONSTANT or type(tape) is Forward):
        return
    if type(y) is not _ndarray and type(y) not in NUMBERS:
        return
    wanted = [i for i, a in enumerate(args) if type(a) in (Tracer, FloatTracer)]
    plain = tuple([a._value if i in wanted else a for i, a in enumerate(args)])
    key = (f, *wanted, *[(type(x), getattr(x, "dtype", None)) for x in plain])
    _calls[key] = n = _calls.get(key, 0) + 1
    if n != dispatch_cache.OFTEN:
        return
    if (type(y) is _ndarray) == (_ndarray in map(type, plain)):
        with contextlib.suppress(Declined):
            _add(f, args, _generated(f, tuple(map(_sample_of, plain)), wanted, _sample_of(y)))


def _sample_of(x: Any) -> Any:
    """Return a small value with the type and dtype of a plain value."""
    return np.empty(1, x.dtype) if type(x) is _ndarray else x


def _generated(*given: Any) -> Callable:
    """Generate the code of an operation for one tape; that for other levels at its first call."""
    code = OperationGenerator(*given)
    scope = code.scope
    dispatch_cache.define_later("constants", scope, lambda: ConstantsGenerator(*given).way())
    dispatch_cache.define_later("on", scope, lambda: on_level(scope, *given))
    dispatch_cache.define_later("over", scope, lambda: over_level(scope, *given))
    return code.way()


def _add(f: Callable, args: tuple, way: Any) -> None:
    """Register code for arguments of these types, after code for other dtypes if there is any."""
    known: Any = dispatch_cache.find(dispatch_cache.ways_of(f), args, {})
    if known is None:
        dispatch_cache.add(f, args, {}, way)
        return
    while known is not not_known:
        scope = getattr(known, "__globals__", {})
        if "otherwise" not in scope:
            return
        known = scope["otherwise"]
    scope["otherwise"] = way
