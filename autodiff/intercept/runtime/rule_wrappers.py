"""What is called in place of a function with a rule, and of a C function without one."""

from __future__ import annotations

import functools
import importlib.machinery
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls, dispatch_cache
from autodiff.dispatch.arguments import has_constants, innermost, is_constant
from autodiff.dispatch.call import NO_RULE, by_rule
from autodiff.errors import missing_rule, system_of_function
from autodiff.fastpath import scalar_methods
from autodiff.intercept.libraries.compiled_callbacks import calling_back, reads_numbers, sees_traced
from autodiff.intercept.runtime.write_checks import TRUSTED, PlainCopies, look_of, with_copies
from autodiff.intercept.source.library_code import is_library
from autodiff.numpy_api.array_subclasses import CONVERTED, plain_array
from autodiff.numpy_api.out_arguments import all_arrays, into, into_each
from autodiff.trace.pytree import leaves_of, map_leaves
from autodiff.trace.trace_stack import check_free
from autodiff.trace.tracer import FloatTracer, is_tracer
from chainrules_core import frule, rrule
from chainrules_core.interpreter.noticed import mark, restore


def has_rule(g: Callable) -> bool:
    """Whether there is a rule of either mode for a key."""
    return rrule.entry(g) is not None or frule.entry(g) is not None


# Whether arguments of a type can neither be traced nor hold or capture what is.
_HOLD_NOTHING = frozenset(
    {
        float, int, bool, complex, str, bytes, type(None), slice, range, np.ndarray, np.float64,
        np.float32, np.int64, np.bool_, np.dtype,
    }
)  # fmt: skip


def _runs_plainly(g: Callable) -> bool:
    """Whether a library's function runs as it is where no argument is traced."""
    if type(g) is not types.FunctionType:
        return True
    if not is_library(g) or hasattr(g, "__wrapped__"):
        return False
    bodies_of_rules = [getattr(rule, "body", None) for rule in rrule.methods(g)]
    # The object of a method may hold a traced value where nobody looks for one: the body says so.
    return g not in bodies_of_rules and not any(
        getattr(body, "traces_objects", False) for body in bodies_of_rules
    )


def asking_for(g: Callable) -> Callable:
    """Return a function that asks for a rule if an argument is traced."""
    is_python = type(g) is types.FunctionType
    plainly = _runs_plainly(g)
    look = look_of(g)
    known = dispatch_cache.ways_of(g)

    @functools.wraps(g)
    def asking(*args: Any, **kwargs: Any) -> Any:
        way = dispatch_cache.find(known, args, kwargs)
        if way is not None:
            result = way(*args, **kwargs)
            if result is not NO_RULE:
                return result
        elif not kwargs:
            if len(args) == 1 and type(args[0]) is FloatTracer and not is_python:
                record = scalar_methods.unary[g]
                if record is not None:
                    return record(args[0])
            if _HOLD_NOTHING.issuperset(map(type, args)):
                # A function of Python may still have captured a traced value.
                if not plainly:
                    return calls.body_of(g)(*args)
                if look.never_writes(args):
                    dispatch_cache.add(g, args, kwargs, g)
                else:
                    look(args, kwargs)
                return g(*args)
        elif "out" in kwargs:
            result = _with_out(g, asking, args, kwargs)
            if result is not NO_RULE:
                return result
        if not CONVERTED.keys().isdisjoint(map(type, args)):
            args = tuple(map(plain_array, args))
        result = by_rule(g, args, kwargs)
        if result is not NO_RULE:
            return result
        if plainly and not sees_traced(args, kwargs):
            look(args, kwargs)
            return calling_back(g, args, kwargs)
        return calls.body_of(g)(*args, **kwargs)

    return asking


def _with_out(g: Callable, asking: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Write the result into ``out=`` if that is traced; methods of ufuncs also take ``...``."""
    out = kwargs["out"]
    if out is ... and isinstance(getattr(g, "__self__", None), np.ufunc):
        del kwargs["out"]
        return all_arrays(asking(*args, **kwargs))
    if is_tracer(out[0] if type(out) is tuple and out else out):
        del kwargs["out"]
        result = asking(*args, **kwargs)
        is_ufunc = isinstance(g, np.ufunc)
        return into_each(out, result, is_ufunc) if type(out) is tuple else into(out, result)
    return NO_RULE


def refusing_for(g: Callable) -> Callable:
    """Return a wrapper that raises a clear error if a C function cannot take a traced value.

    A numerical function never receives one, in an argument or captured by a function that it would
    call: C code may do anything with an object that is not a number, or after a conversion that
    failed, even corrupt memory. Other functions may only pass the value on.
    """
    writes = getattr(g, "__name__", "") == "at" and isinstance(
        getattr(g, "__self__", None), np.ufunc
    )
    is_numerical = reads_numbers(g)

    look = look_of(g)

    @functools.wraps(g, updated=())
    def refusing(*args: Any, **kwargs: Any) -> Any:
        if writes and args:
            check_free(args[0])
        look(args, kwargs)
        has_new = not look.is_of_python and any(map(is_constant, (*args, *kwargs.values())))
        if has_new and innermost(args, kwargs) is None:
            return with_copies(g, args, kwargs)
        if is_numerical and sees_traced(args, kwargs):
            result = calls.numerically(g, args, kwargs)
            if result is not NO_RULE:
                return result
            raise missing_rule(g, (*args, *kwargs.values()))
        before = mark()
        try:
            return g(*args, **kwargs)
        except Exception as error:
            result = calls.numerically(g, args, kwargs)
            if result is not NO_RULE:
                restore(before)
                return result
            # What a function that it calls has raised is not its own.
            if _raised_inside(error) and system_of_function(g) is None:
                raise
            if innermost(args, kwargs) is not None:
                raise missing_rule(g, (*args, *kwargs.values())) from error
            if not has_constants(args, kwargs):
                raise
        return _with_plain_arrays(g, args, kwargs)

    return refusing


def _raised_inside(error: BaseException) -> bool:
    """Whether a Python function, called from C, has raised an error.

    Frames that Cython and mypyc make up for their own code are the C function's.
    """
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
        is_made_up = step.tb_frame.f_code.co_filename.endswith((".pyx", ".pxd", "stringsource>"))
        if not (is_made_up or _is_compiled(step.tb_frame.f_globals)):
            return True
    return False


def _is_compiled(namespace: dict[str, Any]) -> bool:
    """Whether a namespace is that of a module made in C, such as mypyc makes of one in Python."""
    return str(namespace.get("__file__", "")).endswith(_COMPILED_FILES)


def is_of_compiled_module(g: type) -> bool:
    """Whether a class is one of a module made in C that is no part of Python's."""
    module = sys.modules.get(g.__module__)
    return module is not None and _is_compiled(vars(module)) and not is_trusted(g)


_COMPILED_FILES = tuple(importlib.machinery.EXTENSION_SUFFIXES)


def is_trusted(g: type) -> bool:
    """Whether a class is of a package of which the engine knows what it does: NumPy's, SciPy's."""
    return g.__module__.partition(".")[0] in TRUSTED or g.__module__ in sys.stdlib_module_names


def _with_plain_arrays(g: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a C function on copies of arrays that were made in a traced function, and hold no more.

    What it writes into a copy is written into the array.
    """
    copies = PlainCopies(filter(is_constant, leaves_of((args, kwargs))))
    return copies.written(g(*map_leaves(args, copies.of), **map_leaves(kwargs, copies.of)))
