"""Which object a recorded value is: a fact that Python reads without asking the value.

A recording traces truth values, so that a comparison is a step of the program. ``t is True``,
``case True`` and ``id(t)`` would see the tracer. Here the truth is read first, as by a branch: the
recording guards it, and Python goes on with the object that the plain function has. On all other
tapes truth values are not traced, and nothing is done.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.mutation.shared_arguments import itself
from autodiff.trace.pytree import leaves_of
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import Tracer, bare, is_tracer


def same(a: Any, b: Any, /) -> bool:
    """Return ``a is b``; arguments that are one array are one object."""
    if type(a) is Tracer or type(b) is Tracer:
        return a is b or _same(a, b)
    return a is b


def _same(a: Any, b: Any) -> bool:
    a, b = settled(a), settled(b)
    if (is_tracer(a) or is_tracer(b)) and isinstance(a, _VALUES) and isinstance(b, _VALUES):
        _spoil("is")  # the same number or array may be given twice, or returned by a function
    return itself(a) is itself(b)


_VALUES = (float, complex, np.generic, np.ndarray)


def settled(x: Any) -> Any:
    """Return a recorded truth value or integer as the object that it is; others as they are."""
    return _settled(x) if type(x) is Tracer else x


def _settled(x: Tracer) -> Any:
    value = x._value
    if type(value) is bool or type(value) is np.bool_:
        bool(x)  # a recording guards what is read
        return value
    if type(value) is int:
        operator.index(x)
        return value
    return x


def alone(x: Any) -> Any:
    """Return the same for a value that is compared by identity with one that is not known here."""
    x = settled(x)
    if is_tracer(x):
        _spoil("is")
    return x


def _spoil(how: str) -> None:
    tape = program_tape()
    if tape is not None:
        tape.spoil(f"which object a value is, is asked by {how!r}")


def matched(subject: Any) -> Any:
    """Return the subject of a ``match`` statement in which a pattern is ``True`` or ``False``."""
    tape = program_tape()
    if tape is None:
        return subject
    if type(subject) is tuple:
        return tuple([matched(part) for part in subject])
    if not is_tracer(subject) and any(settled(x) is not x for x in leaves_of(subject)):
        tape.spoil("a pattern looks for True or False in an object")
    return settled(subject)


def different(a: Any, b: Any, /) -> bool:
    """Return ``a is not b``."""
    return not same(a, b)


def _looking_at(g: Callable, look: Callable) -> Callable:
    """Return a function that tells objects apart, which a program does not keep."""

    def looked_at(x: Any, *args: Any) -> Any:
        _spoil(g.__name__)
        return look(settled(x), *args)

    return looked_at


REPLACED: dict[Any, Callable] = {
    operator.is_: same,
    operator.is_not: different,
    id: _looking_at(id, lambda x: id(itself(x))),
    sys.getsizeof: _looking_at(sys.getsizeof, lambda x, *default: sys.getsizeof(bare(x), *default)),
    sys.getrefcount: _looking_at(sys.getrefcount, sys.getrefcount),
}
"""Functions that compare objects, or look at one → what is called in their place."""
