"""Escape analysis of plain arrays by reference counts, and tracers that replace them.

A traced value cannot be written into a plain array. If only one variable, attribute or element of a
container refers to the array, a tracer takes its place there, and the value is written into that.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import has_constants, innermost
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import may_hold_traced
from autodiff.trace.tracer import Tracer
from chainrules_core.interpreter.references import if_counted
from chainrules_core.tangents.fields import dict_of


def _references() -> int:
    """Count the references to an array that one attribute alone holds, as this Python counts."""
    holder = types.SimpleNamespace(array=np.empty(1))
    return sys.getrefcount(holder.array)


HELD_ONCE = if_counted(_references())
"""``sys.getrefcount(x.array)`` where nothing else holds the array; each variable adds one."""


def is_only_held_by_caller(references: int, others: int = 0) -> bool:
    """Whether only a local variable of the caller holds an array.

    A function that has the array in one variable of its own counts `references`. Of these, `others`
    belong to the engine.
    """
    return references == HELD_ONCE + 1 + others


is_only_held_by_owner = is_only_held_by_caller
"""The same count, where the one holder is an attribute or an element of a container."""


def receiver(target: np.ndarray, value: Any) -> Any:
    """Return what `value` is written into: `target`, or a tracer of it where `value` is traced.

    An array computed from constants, as by ``y = c * 2``, is plain. The caller has checked that
    only one variable refers to it.
    """
    if target.base is None and may_hold_traced(target) and innermost((value,), {}) is not None:
        return Tracer(target, CONSTANT, -1)
    return target


def work_array(target: np.ndarray) -> Any:
    """Return a tracer of an array that only one local variable holds, if it can take traced values.

    The first write makes the tracer, even if its value is plain: as soon as a pullback holds the
    plain array, a tracer can no longer replace it.
    """
    is_own = target.base is None and target.dtype.kind in "fc" and target.flags.writeable
    return Tracer(target, CONSTANT, -1) if is_own else target


def object_holds_traced(args: tuple) -> bool:
    """Whether the body of a SciPy method must be traced because of what its object holds.

    That is so if the object holds a traced value, or a function that has captured one:
    `scipy.integrate.ode` keeps both, and passes them to compiled code. In scipy.stats, arrays that
    were made in a traced function count as well.
    """
    if not args:
        return False
    module = type(args[0]).__module__
    if not module.startswith("scipy."):
        return False
    if module.startswith("scipy.stats.") and has_constants(args[:1], {}):
        return True
    held = tuple(dict_of(args[0]).values())
    return innermost(*calls.with_closures(held, {})) is not None
