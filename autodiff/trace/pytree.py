"""Nests of containers and objects: their leaves out, and the same nest with other leaves back.

Tuples, lists, dicts, namedtuples, dataclasses and plain objects are nests; floats, complex
numbers and arrays of them are the leaves that can be perturbed; all else is constant.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from autodiff import caches
from autodiff.trace.tracer import FloatTracer, Tracer, bare
from chainrules_core import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    ProjectTo,
    Tangent,
    ZeroTangent,
)
from chainrules_core.sparse_arrays import entries_of, is_sparse_class, with_entries
from chainrules_core.tangents.fields import (
    declared_values,
    dict_of,
    in_class,
    is_remembered,
    slot_values,
    slots_of,
)

_LEAF_TYPES = (float, complex, np.ndarray, np.generic, int, str, bytes, bool, type(None), type)
_LEAF_BASES = (float, complex, np.ndarray, np.generic, int, str, bytes, type)
_FLAT = frozenset(
    {*_LEAF_TYPES, Tracer, FloatTracer, np.float64, np.float32, np.complex128, np.int64, np.bool_}
)
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8  # flags of classes, as CPython documents them
_FOREIGN = ("builtins", "numpy", "scipy", "types", "functools", "fractions")
_INEXACT = "fc"
CONSTRAINTS = "scipy.optimize._constraints"
"""The module of objects that hold functions and arrays: bounds and constraints of minima."""
METHODS = "_method_cache"
"""Where distributions of scipy.stats remember methods of their own."""


def is_perturbable(x: Any) -> bool:
    """Whether `x` is a number or array that a derivative can be taken with respect to."""
    kind = type(bare(x))  # the class that another object passes for is not asked: that is code
    if issubclass(kind, (float, complex)):
        return True
    return issubclass(kind, (np.ndarray, np.generic)) and x.dtype.kind in _INEXACT


def is_flat(x: Any) -> bool:
    """Whether `x` is a list or tuple that is seen at once to have no nest in it."""
    kind = type(x)
    return (kind is list or kind is tuple) and _FLAT.issuperset(map(type, x))


def is_row(x: Any) -> bool:
    """Do the same where tuples may have names."""
    kind = type(x)
    is_named = issubclass(kind, tuple) and hasattr(kind, "_make")
    return (is_named and _FLAT.issuperset(map(type, x))) or is_flat(x)


class Facts(NamedTuple):
    """What is known of all objects of a class.

    Attributes
    ----------
    is_leaf : bool
        Whether none is a nest; where this is False an object may still be a leaf by itself.
    has_fields : bool
        Whether they have fields: it is a dataclass, or a class written in Python.
    is_dataclass : bool
        Whether it is a dataclass.
    has_slots : bool
        Whether a part of them may stand in slots.
    remembered : frozenset of str
        The attributes that hold what a `cached_property` has computed, or which method it was.
    """

    is_leaf: bool
    has_fields: bool
    is_dataclass: bool
    has_slots: bool
    remembered: frozenset[str]


_FACTS: dict[type, Facts] = caches.register("facts of classes", {}, of_classes=True)


def facts_of(kind: type) -> Facts:
    """Return what is known of a class; it is remembered but of classes that functions make."""
    known = _FACTS.get(kind)
    if known is not None:
        return known
    fields = _has_fields(kind)
    is_leaf = issubclass(kind, (*_LEAF_BASES, Tracer, type(None))) or not (
        issubclass(kind, (tuple, list, dict)) or is_sparse(kind) or fields
    )
    names = {n for base in kind.__mro__ for n in vars(base) if is_remembered(kind, n)}
    is_dataclass = in_class(kind, "__dataclass_fields__") is not None
    remembered = frozenset({METHODS, *names})
    facts = Facts(is_leaf, fields, is_dataclass, bool(slots_of(kind)), remembered)
    if caches.stays(kind):  # one made by a function may hold what a call has captured
        _FACTS[kind] = facts
    return facts


def _has_fields(kind: type) -> bool:
    if in_class(kind, "__dataclass_fields__") is not None or kind is types.SimpleNamespace:
        return True
    return not (
        (kind.__module__.partition(".")[0] in _FOREIGN and not _holds_values(kind))
        or issubclass(kind, (type, enum.Enum, BaseException))
        or _is_made_in_c(kind)
        # Called by code in C: a compiled function (numba's), which is as opaque as any other.
        or type(in_class(kind, "__call__")) is types.WrapperDescriptorType
    )


def _is_made_in_c(kind: type) -> bool:
    """Whether a class is not made by a class statement; newer Pythons make the flag say less."""
    if not kind.__flags__ & _HEAP_TYPE or kind.__flags__ & _IMMUTABLE_TYPE or kind.__base__ is None:
        return True
    own = kind.__basicsize__ - kind.__base__.__basicsize__
    # Slots, __dict__ and __weakref__ are what a class statement adds to an object's memory.
    return own > tuple.__itemsize__ * (len(slots_of(kind)) + 2)


def parts_of(x: Any) -> list[tuple[Any, Any]] | None:
    """Return ``(key, part)`` for each part of a nest, or None if `x` is a leaf."""
    kind = type(x)
    if (_FACTS.get(kind) or facts_of(kind)).is_leaf:
        return None
    if is_sparse(kind):
        return [("data", entries_of(x))]
    if issubclass(kind, (tuple, list)):
        fields = getattr(kind, "_fields", None)
        return list(zip(fields if fields is not None else range(len(x)), x, strict=True))
    if issubclass(kind, dict):
        return list(x.items())
    return _fields_of(x)


OPAQUE: set[type] = set()
"""Classes of the engine's own whose objects hold nothing that is traced."""


def _fields_of(x: Any) -> list[tuple[str, Any]] | None:
    """Return the fields of a dataclass or plain object; None for other things.

    They are read without running code of its class: see `chainrules_core.tangents.fields`.
    """
    kind = type(x)
    if kind in OPAQUE:
        return None
    facts = facts_of(kind)
    if facts.is_dataclass:
        return list(declared_values(x, [f.name for f in dataclasses.fields(kind)]).items())
    if kind is types.SimpleNamespace:
        return list(vars(x).items())
    if not facts.has_fields:
        return None
    held = slot_values(x) | dict_of(x) if facts.has_slots else dict_of(x)
    remembered = facts.remembered
    return [item for item in held.items() if item[0] not in remembered]


_WITH_VALUES = (
    "numpy.polynomial.", "scipy.interpolate.", "scipy.spatial.",
    "scipy.sparse.linalg.", CONSTRAINTS,
    "scipy.stats._multivariate", "scipy.stats._covariance", "scipy.stats._kde",
    "scipy.stats._distribution_infrastructure", "scipy.stats._new_distributions",
    "scipy.stats._probability_distribution", "scipy.stats._qmc",
    "scipy.stats._distn_infrastructure",
)  # fmt: skip


def is_sparse(kind: type) -> bool:
    """Whether a class is one of scipy.sparse's: a constant pattern, and entries to perturb."""
    return kind.__module__.startswith("scipy.sparse.") and is_sparse_class(kind)


def entries_at(x: Any, x_bar: Any) -> Any:
    """Return a tangent or cotangent of a sparse array, of whatever form, at its entries."""
    return entries_of(ProjectTo(map_leaves(x, bare))(x_bar))


def _holds_values(kind: type) -> bool:
    """Whether a library's class holds values: polynomials, interpolants, distributions."""
    module = kind.__module__
    if module.startswith("scipy.stats.") and kind.__name__.endswith("_frozen"):
        return True
    return kind is np.poly1d or module.startswith(_WITH_VALUES)


def rebuilt(x: Any, parts: list[Any]) -> Any:
    """Return a nest like `x` with other parts, without calling its constructor."""
    kind = type(x)
    if is_sparse(kind):
        return with_entries(x, parts[0])
    if issubclass(kind, tuple):
        if kind is tuple:
            return kind(parts)
        return kind._make(parts) if hasattr(kind, "_make") else tuple.__new__(kind, parts)
    shell = _shell(x)
    _fill(x, shell, parts)
    return shell


def _shell(x: Any) -> Any:
    """Return a new list, dict or object of the kind of `x`, to be filled."""
    kind = type(x)
    if kind is list:
        return []
    if issubclass(kind, (list, dict)):
        return copy.copy(x)
    try:
        new = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    except TypeError:  # a class with a base made in C
        return copy.copy(x)
    kept = dict_of(x)
    if kept:
        own = dict_of(new)
        remembered = facts_of(kind).remembered
        own.update({n: v for n, v in kept.items() if n not in remembered})
        if METHODS in kept:
            own[METHODS] = {}
    return new


def _fill(x: Any, shell: Any, parts: list[Any]) -> None:
    kind = type(x)
    if issubclass(kind, list):
        shell[:] = parts
    elif issubclass(kind, dict):
        for key, part in zip(x, parts, strict=True):
            shell[key] = part
    else:
        own, slots = dict_of(shell), slots_of(kind)
        for (name, _), part in zip(parts_of(x) or (), parts, strict=True):
            # Whatever a property of this name would do, or a `__setattr__` of the class.
            if name in own:
                own[name] = part
            elif name in slots:
                slots[name].__set__(shell, part)
            else:
                object.__setattr__(shell, name, part)


def map_leaves(
    x: Any, change: Callable[[Any], Any], every: bool = False, contents: bool = False
) -> Any:
    """Apply `change` to every leaf of a nest; a nest in which nothing changes is returned itself.

    An object that stands in several places stays one object, and a nest may contain itself.

    Parameters
    ----------
    x : Any
        The nest.
    change : callable
        Returns what is to stand in the place of a leaf.
    every : bool
        Whether to make every container anew, also where nothing changes.
    contents : bool
        Whether to make lists and dicts anew where what they belong to is: they may be written into.
    """
    if is_flat(x):
        new = [change(part) for part in x]
        if not every and all(map(operator.is_, new, x)):
            return x
        return new if type(x) is list else tuple(new)
    parts = parts_of(x)
    if parts is None:
        return change(x)
    changed: dict[tuple[int, int], Any] = {}
    order: list[tuple[Any, list]] = []
    _visit(x, parts, change, changed, order, {})
    dirty = _dirty(order, changed, every)
    if contents:
        _add_contents(dirty, order)
    if id(x) not in dirty:
        return x
    return _assembled(x, {id(o): (o, parts) for o, parts in order}, changed, dirty, {})


def _visit(x: Any, parts: list, change: Callable, changed: dict, order: list, seen: dict) -> None:
    """Change all leaves in order, each once for each place, and list the containers."""
    seen[id(x)] = x
    order.append((x, parts))
    waiting = [(x, enumerate(parts))]  # no recursion: a nest may be as deep as a long linked list
    while waiting:
        holder, rest = waiting[-1]
        for i, (_, part) in rest:
            inner = parts_of(part)
            if inner is None:
                new = change(part)
                if new is not part:
                    changed[id(holder), i] = new
            elif id(part) not in seen:
                seen[id(part)] = part
                order.append((part, inner))
                waiting.append((part, enumerate(inner)))
                break
        else:
            waiting.pop()


def _dirty(order: list, changed: dict, every: bool) -> set[int]:
    """Return the containers with a changed leaf somewhere below."""
    if every:
        return {id(x) for x, _ in order}
    dirty = {container for container, _ in changed}
    if not dirty:
        return dirty
    grown = True
    while grown:
        grown = False
        for x, parts in reversed(order):
            if id(x) not in dirty and any(id(part) in dirty for _, part in parts):
                dirty.add(id(x))
                grown = True
    return dirty


def _add_contents(dirty: set[int], order: list) -> None:
    """Count the lists and dicts in changed containers as changed."""
    before = -1
    while before < len(dirty):
        before = len(dirty)
        for x, parts in order:
            if id(x) in dirty:
                dirty.update(
                    [id(part) for _, part in parts if issubclass(type(part), (list, dict))]
                )


def _assembled(x: Any, nests: dict, changed: dict, dirty: set[int], made: dict) -> Any:
    """Return the new form of a container."""
    if id(x) in made:
        return made[id(x)]
    shell = None
    if not issubclass(type(x), tuple) and not is_sparse(type(x)):
        shell = made[id(x)] = _shell(x)
    parts = []
    for i, (_, part) in enumerate(nests[id(x)][1]):
        if id(part) in dirty and id(part) in nests:
            parts.append(_assembled(part, nests, changed, dirty, made))
        else:
            parts.append(changed.get((id(x), i), part))
    if shell is None:
        shell = made[id(x)] = rebuilt(x, parts)
    else:
        _fill(x, shell, parts)
    return shell


def leaves_of(x: Any) -> list[Any]:
    """Return the leaves of a nest in order; an object that stands in several places counts once."""
    if is_flat(x):
        return list(x)
    parts = parts_of(x)
    if parts is None:
        return [x]
    found: list[Any] = []
    _list_leaves(x, parts, found, {})
    return found


def _list_leaves(x: Any, parts: list, found: list, seen: dict) -> None:
    seen[id(x)] = x
    waiting = [iter(parts)]
    while waiting:
        for _, part in waiting[-1]:
            inner = parts_of(part)
            if inner is None:
                found.append(part)
            elif id(part) not in seen:
                seen[id(part)] = part
                waiting.append(iter(inner))
                break
        else:
            waiting.pop()


def tangent_of(x: Any, tangent: Callable[[Any], Any]) -> Any:
    """Return the `Tangent` of a nest, with ``tangent(leaf)`` for its leaves."""
    parts = parts_of(x)
    if parts is None:
        return tangent(x)
    return tangent_of_parts(x, [tangent_of(part, tangent) for _, part in parts])


def tangent_of_parts(x: Any, new: Iterable[Any]) -> Any:
    """Return the `Tangent` of a nest with the tangents of its parts, in their order."""
    kind = type(x)
    if issubclass(kind, (tuple, list)) and not hasattr(kind, "_fields"):
        return Tangent[kind](*new)
    fields = {key: value for (key, _), value in zip(parts_of(x) or (), new, strict=True)}
    return Tangent[kind](fields) if issubclass(kind, dict) else Tangent[kind](**fields)


def part_of_tangent(x_bar: Any, key: Any) -> Any:
    """Return a part of a cotangent; that of a zero is zero.

    Raises
    ------
    LookupError, AttributeError, TypeError
        If it has no such part.
    """
    if isinstance(x_bar, (AbstractZero, NotImplementedTangent)):
        return x_bar
    if is_sparse(type(x_bar)):
        return entries_of(x_bar)
    if isinstance(x_bar, (Tangent, dict)) or type(key) is int:
        return x_bar[key]
    return getattr(x_bar, key)


def as_tangent(x: Any, x_bar: Any, seen: dict[int, Any] | None = None) -> Any:
    """Return a cotangent in the nesting of `x` as a `Tangent`; that of a leaf as it is.

    Of an object that stands in several places, `x_bar` is that of all of them together.
    """
    parts = parts_of(x)
    if parts is None:
        return NoTangent() if x_bar is None else x_bar
    seen = {} if seen is None else seen
    if id(x) in seen:
        return ZeroTangent()
    seen[id(x)] = x
    return tangent_of_parts(x, [as_tangent(p, part_of_tangent(x_bar, k), seen) for k, p in parts])
