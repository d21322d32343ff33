"""Who holds an array of plain values, and what is to take its place when it is written into.

A traced value cannot be written into a plain array. Where reference counts tell that one variable,
attribute or element of a container alone holds it, an array that can take one is put there instead.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autodiff.dispatch import call as calls
from autodiff.dispatch.arguments import has_constants, innermost
from autodiff.trace.tape import CONSTANT
from autodiff.trace.trace_stack import may_hold_traced
from autodiff.trace.tracer import Tracer
from chainrules_core.references import if_counted
from chainrules_core.tangents.fields import dict_of


def _probe(value: Any, target: Any, index: Any) -> int:
    return sys.getrefcount(target)


def _references() -> int:
    """Return how many references a function sees to an array that a local variable alone holds."""
    array = np.empty(1)
    return _probe(None, array, 0)


_REFERENCES = if_counted(_references())


def is_only_held_by_caller(references: int, others: int = 0) -> bool:
    """Whether a count of references, taken by a function, is that of a caller's local variable.

    `others` of them are the engine's own.
    """
    return references == _REFERENCES + others


def _held_once(owner: list) -> int:
    target = owner[0]
    return sys.getrefcount(target)


_HELD_ONCE = if_counted(_held_once([np.empty(1)]))


def is_only_held_by_owner(references: int, others: int = 0) -> bool:
    """Whether only the variable and one other owner hold an array, by its count of references.

    The owner is an attribute or an element of a container.
    """
    return references == _HELD_ONCE + others


def receiver(target: np.ndarray, value: Any) -> Any:
    """Return what can take a value in place of an array that a local variable alone holds.

    An array that was computed from constants, ``y = c * 2``, is a plain one. Where a traced value
    is to be written into it, and nobody else can see its memory, it becomes one that can take it.
    """
    if target.base is None and may_hold_traced(target) and innermost((value,), {}) is not None:
        return Tracer(target, CONSTANT, -1)
    return target


def work_array(target: np.ndarray) -> Any:
    """Return what is to be in the place of an array that only a local variable holds.

    It is written into, if only plain values as yet; with pullbacks that hold it, it could not be
    any more.
    """
    is_own = target.base is None and target.dtype.kind in "fc" and target.flags.writeable
    return Tracer(target, CONSTANT, -1) if is_own else target


def object_holds_traced(args: tuple) -> bool:
    """Whether a method's object, one of SciPy's, holds what only a traced body can handle.

    That is a traced value or a function that has captured one (`scipy.integrate.ode` keeps both,
    and gives them to compiled code), or, in scipy.stats, arrays of a traced function. A dispatcher
    asks for the types of what it is called with.
    """
    if not args:
        return False
    module = type(args[0]).__module__
    if module == "multipledispatch.dispatcher":
        return has_constants(args[1:], {})
    if not module.startswith("scipy."):
        return False
    if module.startswith("scipy.stats.") and has_constants(args[:1], {}):
        return True
    held = tuple(dict_of(args[0]).values())
    return innermost(*calls.with_closures(held, {})) is not None
