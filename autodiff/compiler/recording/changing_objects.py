"""Objects that may change in a way that nothing compares, and the ways to what is in an object."""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import operator
import re
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np

from autodiff.compiler.recording.content_guards import SIMPLE
from autodiff.trace.pytree import is_made_in_c

_CHANGING = (
    array.array, bytearray, memoryview, types.MappingProxyType, contextvars.ContextVar,
    threading.local, weakref.ReferenceType, *weakref.ProxyTypes, weakref.WeakKeyDictionary,
    weakref.WeakSet, weakref.WeakValueDictionary, np.void,
)  # fmt: skip
_UNCHANGING = (
    *SIMPLE, bytes, range, slice, frozenset, tuple, type, type(Ellipsis), type(NotImplemented),
    re.Pattern, re.Match, operator.attrgetter, operator.itemgetter,
    operator.methodcaller, types.BuiltinFunctionType, types.ClassMethodDescriptorType,
    types.CodeType, types.GenericAlias, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.MethodDescriptorType, types.MethodWrapperType, types.UnionType,
    types.WrapperDescriptorType, property, staticmethod, classmethod, BaseException,
    type(collections.namedtuple("Named", ["field"]).field),  # type: ignore[attr-defined]
)  # fmt: skip
_COMPARED = (
    list, dict, set, collections.deque, functools.partial, types.FunctionType, types.MethodType,
    types.ModuleType, types.SimpleNamespace, type(functools.lru_cache(len)),
)  # fmt: skip
"""Classes made in C: their objects never change; and they are compared, or what they wrap."""
_NOT_LOADED = frozenset({
    "_random.Random", "_struct.Struct", "datetime.date", "datetime.datetime", "datetime.time",
    "datetime.timedelta", "datetime.timezone", "datetime.tzinfo", "decimal.Decimal",
})  # fmt: skip
"""Such classes in modules that need not be loaded. Each draw of a random number is an error."""


def may_change(x: Any) -> bool:
    """Whether an object may change in a way that nothing compares: an iterator, a stream, a lock.

    What Python makes in C keeps its state there. Of what other packages make in C, only iterators
    are known to change.
    """
    kind = type(x)
    if isinstance(x, _CHANGING) or (hasattr(kind, "__next__") and not callable(x)):
        return True
    return any(map(_keeps_state_in_c, kind.__mro__[:-1]))


def _keeps_state_in_c(kind: type) -> bool:
    if kind.__module__.partition(".")[0] not in sys.stdlib_module_names or not is_made_in_c(kind):
        return False
    is_known = f"{kind.__module__}.{kind.__qualname__}" in _NOT_LOADED
    return not (is_known or issubclass(kind, (*_UNCHANGING, *_COMPARED)))


Ways = dict[int, tuple[Any, frozenset[str]]]
"""Objects by their ids, each with the attributes that are on all ways to it."""


def is_new_way(seen: Ways, x: Any, path: frozenset[str]) -> bool:
    """Whether an object is new, or reached by fewer attributes than those noted; note these."""
    _, before = seen.get(id(x), (x, None))
    now = path if before is None else before & path
    seen[id(x)] = x, now
    return now != before
