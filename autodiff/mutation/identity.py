"""Identity: ``a is b`` of arguments; ``t is True``, ``case True`` and ``id(t)`` of recorded values.

A function gets copies of the lists, dicts and objects that it is given. They answer ``is`` as the
originals do: so do ``==``, ``in`` and keys, where a class leaves these to identity.

A recording traces truth values, so that a comparison is a step of the program. Identity tests would
see the tracer. So the value is read first, as a branch does: the recording guards it, and Python
goes on with the object that the untraced function has. On all other tapes truth values are not
traced, and these functions do nothing.
"""

from __future__ import annotations

import collections
import operator
import sys
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from autodiff.mutation.shared_arguments import itself
from autodiff.mutation.written_arguments import is_given, original, watching
from autodiff.trace.pytree import leaves_of
from autodiff.trace.trace_stack import program_tape
from autodiff.trace.tracer import Tracer, bare, is_tracer
from chainrules_core.tangents.fields import in_class


def same(a: Any, b: Any, /) -> bool:
    """Return ``a is b``; arguments that are one array, list or object are one object."""
    if type(a) is Tracer or type(b) is Tracer:
        return a is b or _same(a, b)
    return a is b or (bool(watching) and _are_given_as_one(a, b))


def _are_given_as_one(a: Any, b: Any) -> bool:
    """Whether two objects, of which some may be copies, are one for the user."""
    if a is None or b is None:
        return False
    if is_given(a) is not is_given(b):
        _spoil("is")  # which objects are arguments is compared at each call, not what is outside
    return original(a) is original(b)


def is_by_identity(x: Any) -> bool:
    """Whether ``==`` and the hash of an object are those that its identity gives."""
    kind = type(x)
    return (
        in_class(kind, "__eq__") is object.__eq__ and in_class(kind, "__hash__") is object.__hash__
    )


_HOLD: tuple[type[Collection], ...] = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    collections.deque,
    *map(type, ({}.keys(), {}.values())),
)


_COMPARED = frozenset({int, str, slice, float, bool})
"""The most frequent classes of keys and indices, which are compared by their values."""


def holds(container: Any, x: Any) -> bool:
    """Return ``x in container`` for an object that is compared by identity."""
    if isinstance(container, _HOLD):
        return any(same(held, x) for held in list(container))
    return x in container


def as_key(x: Any, container: Any) -> Any:
    """Return what an object is for the user in a dict or other container; itself if it is not."""
    if type(x) in _COMPARED or not (isinstance(container, _HOLD) and is_by_identity(x)):
        return x
    is_known = original(x) is not x or program_tape() is None
    if is_known and not isinstance(container, (list, tuple)) and x in container:
        return x
    return next((held for held in list(container) if same(held, x)), x)


def _same(a: Any, b: Any) -> bool:
    a, b = settled(a), settled(b)
    if (is_tracer(a) or is_tracer(b)) and isinstance(a, _VALUES) and isinstance(b, _VALUES):
        _spoil("is")  # the same object may be given twice, or returned by a function
    return itself(a) is itself(b)


_VALUES = (float, complex, np.generic, np.ndarray)


def settled(x: Any) -> Any:
    """Return a recorded truth value or integer as a plain one; other values as they are."""
    return _settled(x) if type(x) is Tracer else x


def _settled(x: Tracer) -> Any:
    value = x._value
    if type(value) is bool or type(value) is np.bool_:
        bool(x)  # the recording guards this
        return value
    if type(value) is int:
        operator.index(x)
        return value
    return x


def alone(x: Any) -> Any:
    """Return `x` as `settled` does, where it is compared by identity with an unknown object."""
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
    """Return a replacement for a function that depends on the identity of objects."""

    def looked_at(x: Any, *args: Any) -> Any:
        _spoil(g.__name__)
        return look(settled(x), *args)

    return looked_at


REPLACED: dict[Any, Callable] = {
    operator.is_: same,
    operator.is_not: different,
    id: _looking_at(id, lambda x: id(original(itself(x)))),
    sys.getsizeof: _looking_at(sys.getsizeof, lambda x, *default: sys.getsizeof(bare(x), *default)),
    sys.getrefcount: _looking_at(sys.getrefcount, sys.getrefcount),
}
"""Functions that depend on the identity of objects → what is called in their place."""
