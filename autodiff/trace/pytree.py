"""Pytrees, containers and objects inside each other: taking their leaves out and replacing them.

Tuples, lists, dicts, namedtuples, dataclasses and plain objects have parts; everything else is a
leaf. The leaves that can be perturbed, called variables, are floats, complex numbers and arrays of
them.
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
from autodiff.errors import system_of
from autodiff.trace.labelled_data import TABLES, load_table, module_of
from autodiff.trace.tracer import FloatTracer, Tracer, bare
from chainrules_core import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    ProjectTo,
    Tangent,
    ZeroTangent,
)
from chainrules_core.tangents.fields import (
    declared_values,
    dict_of,
    in_class,
    is_remembered,
    slot_values,
    slots_of,
)
from chainrules_core.values.sparse_arrays import entries_of, is_sparse_class, with_entries

_LEAF_TYPES = (float, complex, np.ndarray, np.generic, int, str, bytes, bool, type(None), type)
_FLAT = frozenset(
    {*_LEAF_TYPES, Tracer, FloatTracer, np.float64, np.float32, np.complex128, np.int64, np.bool_}
)
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8  # flags of classes, as CPython documents them
_FOREIGN = ("builtins", "numpy", "scipy", "types", "functools", "fractions")
_INEXACT = "fc"
CONSTRAINTS = "scipy.optimize._constraints"
"""The module of SciPy's bounds and constraints, objects that hold functions and arrays."""
METHODS = "_method_cache"
"""The attribute in which distributions of scipy.stats cache bound methods."""


def is_perturbable(x: Any) -> bool:
    """Whether `x` is a number or array that a derivative can be taken with respect to."""
    if type(x) is float:
        return True
    if type(x) is np.ndarray:
        return x.dtype.kind in _INEXACT
    kind = type(bare(x))  # not isinstance, which may run code of the class
    if issubclass(kind, (float, complex)):
        return True
    return issubclass(kind, (np.ndarray, np.generic)) and x.dtype.kind in _INEXACT


def is_flat(x: Any) -> bool:
    """Whether `x` is a list or tuple in which all parts are of common leaf types."""
    kind = type(x)
    return (kind is list or kind is tuple) and _FLAT.issuperset(map(type, x))


def is_row(x: Any) -> bool:
    """Whether `x` is flat or a namedtuple of such parts."""
    kind = type(x)
    is_named = issubclass(kind, tuple) and hasattr(kind, "_make")
    return (is_named and _FLAT.issuperset(map(type, x))) or is_flat(x)


class ClassFacts(NamedTuple):
    """Facts about all objects of a class.

    Attributes
    ----------
    is_leaf : bool
        Whether all of them are leaves; if not, some may still be leaves.
    has_fields : bool
        Whether they have fields: it is a dataclass, or a class written in Python.
    is_sparse : bool
        Whether it is a sparse array.
    names : tuple of str, optional
        The fields of a dataclass.
    has_slots : bool
        Whether some fields may be in slots.
    remembered : frozenset of str
        The attributes that are caches, such as those of a `cached_property`.
    """

    is_leaf: bool
    has_fields: bool
    is_sparse: bool
    names: tuple[str, ...] | None
    has_slots: bool
    remembered: frozenset[str]


_FACTS: dict[type, ClassFacts] = caches.register("facts of classes", {}, of_classes=True)


def facts_of(kind: type) -> ClassFacts:
    """Return the facts about a class; cached unless a function has made the class."""
    known = _FACTS.get(kind)
    if known is not None:
        return known
    load_table(kind)
    fields = _has_fields(kind)
    is_other = issubclass(kind, (*_LEAF_TYPES, Tracer)) or system_of(kind) is not None
    is_leaf = is_other or not (issubclass(kind, (tuple, list, dict)) or is_sparse(kind) or fields)
    names = {n for base in kind.__mro__ for n in vars(base) if is_remembered(kind, n)}
    is_dataclass = in_class(kind, "__dataclass_fields__") is not None
    declared = tuple([f.name for f in dataclasses.fields(kind)]) if is_dataclass else None
    remembered = frozenset({METHODS, *names})
    has_slots = bool(slots_of(kind))
    facts = ClassFacts(is_leaf, fields, is_sparse(kind), declared, has_slots, remembered)
    if caches.stays(kind):  # a class made by a function may hold captured values
        _FACTS[kind] = facts
    return facts


def _has_fields(kind: type) -> bool:
    if in_class(kind, "__dataclass_fields__") is not None or kind is types.SimpleNamespace:
        return True
    return not (
        (module_of(kind).partition(".")[0] in _FOREIGN and not _holds_values(kind))
        or issubclass(kind, (type, enum.Enum, BaseException))
        or is_made_in_c(kind)
        # Its __call__ is C code: a compiled function (of numba, say).
        or type(in_class(kind, "__call__")) is types.WrapperDescriptorType
    )


def is_made_in_c(kind: type) -> bool:
    """Whether a class was made in C, as opposed to a class statement; flags do not tell it all."""
    if not kind.__flags__ & _HEAP_TYPE or kind.__flags__ & _IMMUTABLE_TYPE or kind.__base__ is None:
        return True
    own = kind.__basicsize__ - kind.__base__.__basicsize__
    # A class statement adds slots, __dict__ and __weakref__ to an object, nothing else.
    return own > tuple.__itemsize__ * (len(slots_of(kind)) + 2)


def parts_of(x: Any) -> list[tuple[Any, Any]] | None:
    """Return ``(key, part)`` for each part of a pytree, or None if `x` is a leaf."""
    kind = type(x)
    if kind in _FLAT:
        return None
    if kind is list or kind is tuple:
        return list(enumerate(tuple(x)))  # a copy: another thread may append meanwhile
    if kind is dict:
        return list(x.items())
    facts = _FACTS.get(kind) or facts_of(kind)
    if facts.is_leaf:
        return None
    if facts.is_sparse:
        return [("data", entries_of(x))]
    if kind in TABLES:
        return TABLES[kind].parts(x)
    if issubclass(kind, (tuple, list)):
        fields = getattr(kind, "_fields", None)
        held = tuple(x)
        return list(zip(fields if fields is not None else range(len(held)), held, strict=True))
    if issubclass(kind, dict):
        return list(x.items())
    return _fields_of(x, facts)


OPAQUE: set[type] = set()
"""Classes of the engine, and of columns of pandas, whose objects hold nothing traced."""


def _fields_of(x: Any, facts: ClassFacts) -> list[tuple[str, Any]] | None:
    """Return the fields of a dataclass or plain object; None for anything else.

    Reading them runs no code of the class: see `chainrules_core.tangents.fields`.
    """
    kind = type(x)
    if kind in OPAQUE:
        return None
    if facts.names is not None:
        return list(declared_values(x, facts.names).items())
    if kind is types.SimpleNamespace:
        return list(vars(x).items())
    if not facts.has_fields:
        return None
    held = slot_values(x) | dict_of(x) if facts.has_slots else dict_of(x)
    remembered = facts.remembered
    items = list(held.items())  # at once: another thread may change the object meanwhile
    return [item for item in items if item[0] not in remembered]


_WITH_VALUES = (
    "numpy.polynomial.", "scipy.interpolate.", "scipy.spatial.",
    "scipy.sparse.linalg.", CONSTRAINTS,
    "scipy.stats._multivariate", "scipy.stats._covariance", "scipy.stats._kde",
    "scipy.stats._distribution_infrastructure", "scipy.stats._new_distributions",
    "scipy.stats._probability_distribution", "scipy.stats._qmc",
    "scipy.stats._distn_infrastructure",
)  # fmt: skip


def is_sparse(kind: type) -> bool:
    """Whether a class is a sparse array: a constant pattern, and entries to perturb."""
    return module_of(kind).startswith("scipy.sparse.") and is_sparse_class(kind)


def entries_at(x: Any, x_bar: Any) -> Any:
    """Return the entries of a tangent or cotangent of a sparse array, given in any form."""
    return entries_of(ProjectTo(map_leaves(x, bare))(x_bar))


def _holds_values(kind: type) -> bool:
    """Whether a class of a library holds values: polynomials, interpolants, distributions."""
    module = kind.__module__
    if module.startswith("scipy.stats.") and kind.__name__.endswith("_frozen"):
        return True
    return kind is np.poly1d or module.startswith(_WITH_VALUES)


def rebuilt(x: Any, parts: list[Any]) -> Any:
    """Return a pytree like `x` with other parts, without calling a constructor."""
    kind = type(x)
    if is_sparse(kind):
        return with_entries(x, parts[0], alone=True)
    if kind in TABLES:
        return TABLES[kind].rebuilt(x, parts)
    if issubclass(kind, tuple):
        if kind is tuple:
            return kind(parts)
        return kind._make(parts) if hasattr(kind, "_make") else tuple.__new__(kind, parts)
    shell = _shell(x)
    _fill(x, shell, [key for key, _ in parts_of(x) or ()], parts)
    return shell


def attributes_alone(x: Any) -> dict[str, Any] | None:
    """Return the attributes of an object if its class and they are all that it takes to make it."""
    kind, names = type(x), [name for name, _ in parts_of(x) or ()]
    if is_sparse(kind) or kind in TABLES or issubclass(kind, (tuple, list, dict)):
        return None
    own = dict_of(_shell(x))
    try:
        object.__new__(kind)
    except TypeError:  # a base class made in C
        return None
    if METHODS in own or not own.keys() >= set(names):  # others are in slots
        return None
    return own


def object_with(kind: type, attributes: dict[str, Any]) -> Any:
    """Return an object of a class with these attributes, without calling a constructor."""
    y: Any = object.__new__(kind)
    object.__setattr__(y, "__dict__", attributes)
    return y


def _shell(x: Any) -> Any:
    """Return a new list, dict or object of the class of `x`, to be filled."""
    kind = type(x)
    if kind is list:
        return []
    if issubclass(kind, (list, dict)):
        return copy.copy(x)
    try:
        new = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    except TypeError:  # a base class made in C
        return copy.copy(x)
    kept = dict_of(x)
    if kept:
        own = dict_of(new)
        remembered = facts_of(kind).remembered
        own.update({n: v for n, v in kept.items() if n not in remembered})
        if METHODS in kept:
            own[METHODS] = {}
    return new


def _fill(x: Any, shell: Any, keys: list[Any], parts: list[Any]) -> None:
    kind = type(x)
    if issubclass(kind, list):
        shell[:] = parts
    elif issubclass(kind, dict):
        for key, part in zip(keys, parts, strict=True):
            shell[key] = part
    else:
        own, slots = dict_of(shell), slots_of(kind)
        for name, part in zip(keys, parts, strict=True):
            # Not by setattr, which may run a property or `__setattr__` of the class.
            if name in own:
                own[name] = part
            elif name in slots:
                slots[name].__set__(shell, part)
            else:
                object.__setattr__(shell, name, part)


def copied_nest(x: Any, copies: list) -> Any:
    """Return a copy of lists, dicts and tuples in each other, which may be written into.

    What holds objects of other classes is returned as it is: they may be known by their identity.
    `copies` gets what `map_leaves` notes of it.
    """
    waiting, seen = [x], set()
    while waiting:
        part = waiting.pop()
        if type(part) in (list, dict, tuple):
            if id(part) not in seen:
                seen.add(id(part))
                waiting += part.values() if type(part) is dict else part
        elif parts_of(part) is not None:
            return x
    return map_leaves(x, lambda leaf: leaf, every=True, copies=copies)


def map_leaves(
    x: Any,
    change: Callable[[Any], Any],
    every: bool = False,
    contents: bool = False,
    copies: list[tuple[Any, list, Any, list]] | None = None,
) -> Any:
    """Apply `change` to every leaf of a pytree; return `x` itself if no leaf changes.

    An object that is in several places remains one object, and a pytree may contain itself. Tuples
    are values: two equal ones may be one object by chance, as those that are written out are.

    Parameters
    ----------
    x : Any
        The pytree.
    change : callable
        Takes a leaf and returns its replacement.
    every : bool
        Whether to copy all containers, also those in which nothing changes.
    contents : bool
        Whether to copy lists and dicts in containers that are copied, since they may be written
        into.
    copies : list, optional
        Gets each container that is copied and may be changed, with its parts, and the copy's.
    """
    if is_flat(x):
        new = [change(part) for part in x]
        if not every and all(map(operator.is_, new, x)):
            return x
        if copies is not None and type(x) is list:
            copies.append((x, list(x), new, list(new)))
        return new if type(x) is list else tuple(new)
    parts = parts_of(x)
    if parts is None:
        return change(x)
    changed: dict[tuple[int, int], Any] = {}
    order: list[tuple[Any, list]] = []
    originals: dict[int, list] = {}
    _visit(x, parts, change, changed, order, originals)
    dirty = _dirty(order, changed, every)
    if contents:
        _add_contents(dirty, order)
    if id(x) not in dirty:
        return x
    containers = {id(o): parts for o, parts in order}
    return _assembled(x, containers, changed, dirty, {}, copies, originals)


def _visit(
    x: Any, parts: list, change: Callable, changed: dict, order: list, originals: dict
) -> None:
    """Change all leaves in order, and list the containers.

    `changed` gets the new leaves by the identity of their container and their place in it. A tuple
    that occurs again counts as another one: `originals` keeps the parts that its container has.
    """
    seen = {id(x): x}
    order.append((x, parts))
    waiting = [(x, parts, enumerate(parts))]  # no recursion: it may be a long linked list
    while waiting:
        holder, parts, rest = waiting[-1]
        for i, (key, part) in rest:
            kind = type(part)
            if kind is tuple and _FLAT.issuperset(map(type, part)):  # a value, like a leaf
                row = tuple([change(leaf) for leaf in part])
                if not all(map(operator.is_, row, part)):
                    changed[id(holder), i] = row
                continue
            inner = None if kind in _FLAT else parts_of(part)
            if inner is None:
                new = change(part)
                if new is not part:
                    changed[id(holder), i] = new
                continue
            if id(part) in seen and issubclass(type(part), tuple):
                originals.setdefault(id(holder), [own for _, own in parts])
                part = tuple.__new__(type(part), list(part))
                parts[i] = key, part
            if id(part) not in seen:
                seen[id(part)] = part
                order.append((part, inner))
                waiting.append((part, inner, enumerate(inner)))
                break
        else:
            waiting.pop()


def _dirty(order: list, changed: dict, every: bool) -> set[int]:
    """Return the identities of the containers with a changed leaf somewhere below."""
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
    """Add the lists and dicts that are parts of changed containers."""
    before = -1
    while before < len(dirty):
        before = len(dirty)
        for x, parts in order:
            if id(x) in dirty:
                dirty.update(
                    [id(part) for _, part in parts if issubclass(type(part), (list, dict))]
                )


def _assembled(
    x: Any, containers: dict, changed: dict, dirty: set[int], made: dict, copies: list | None,
    originals: dict,
) -> Any:  # fmt: skip
    """Return the copy of a container with its changed parts."""
    key = id(x)
    if key in made:
        return made[key]
    shell, kind, before = None, type(x), containers[key]
    is_value = issubclass(kind, tuple) or is_sparse(kind)
    if not (is_value or kind in TABLES):
        shell = made[key] = _shell(x)
    parts = []
    for i, (_, part) in enumerate(before):
        if id(part) in dirty and id(part) in containers:
            parts.append(_assembled(part, containers, changed, dirty, made, copies, originals))
        else:
            parts.append(changed.get((key, i), part))
    if shell is None:
        shell = made[key] = rebuilt(x, parts)
    else:
        _fill(x, shell, [name for name, _ in before], parts)
    if copies is not None and not is_value:
        copies.append((x, originals.get(key) or [part for _, part in before], shell, parts))
    return shell


def leaves_of(x: Any) -> list[Any]:
    """Return the leaves of a pytree in order; those of an object in several places only once."""
    if is_flat(x):
        return list(x)
    parts = parts_of(x)
    if parts is None:
        return [x]
    found: list[Any] = []
    seen, waiting = {id(x): x}, [iter(parts)]
    while waiting:
        for _, part in waiting[-1]:
            inner = parts_of(part)
            if inner is None:
                found.append(part)
            elif id(part) not in seen or issubclass(type(part), tuple):
                seen[id(part)] = part
                waiting.append(iter(inner))
                break
        else:
            waiting.pop()
    return found


def variables_at(x: Any) -> list[tuple]:
    """Return where the variables of a pytree are, in order: the keys that lead to each of them."""
    found = []
    seen: dict[int, Any] = {}
    waiting: list[tuple[tuple, Any]] = [((), x)]
    while waiting:
        keys, part = waiting.pop()
        parts = parts_of(part)
        if parts is None:
            found += [keys] if is_perturbable(part) else []
        elif id(part) not in seen or issubclass(type(part), tuple):
            seen[id(part)] = part
            waiting += [((*keys, key), inner) for key, inner in reversed(parts)]
    return found


def has_variables(x: Any) -> bool:
    """Whether a pytree has a leaf that can be perturbed."""
    return type(x) is float or is_perturbable(x) or any(map(is_perturbable, leaves_of(x)))


def variables_of(x: Any) -> list[Any]:
    """Return the variables of a pytree, in order."""
    return [leaf for leaf in leaves_of(x) if is_perturbable(leaf)]


def map_variables(x: Any, change: Callable[[Any], Any]) -> Any:
    """Return a pytree like `x` with ``change(leaf)`` for variables and None for other leaves."""
    if is_perturbable(x):
        return change(x)
    return map_leaves(x, lambda leaf: change(leaf) if is_perturbable(leaf) else None, every=True)


def tangent_of(x: Any, tangent: Callable[[Any], Any]) -> Any:
    """Return the `Tangent` of a pytree, with ``tangent(leaf)`` for its leaves."""
    parts = parts_of(x)
    if parts is None:
        return tangent(x)
    return tangent_of_parts(x, [tangent_of(part, tangent) for _, part in parts])


def tangent_of_parts(x: Any, new: Iterable[Any]) -> Any:
    """Return the `Tangent` of a pytree with the tangents of its parts, in their order."""
    kind = type(x)
    if issubclass(kind, (tuple, list)) and not hasattr(kind, "_fields"):
        return Tangent[kind](*new)
    fields = {key: value for (key, _), value in zip(parts_of(x) or (), new, strict=True)}
    return Tangent[kind](fields) if issubclass(kind, dict) else Tangent[kind](**fields)


def part_of_tangent(x_bar: Any, key: Any) -> Any:
    """Return a part of a cotangent; a part of a zero is a zero.

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
    """Return a cotangent that is a pytree like `x` as a `Tangent`; that of a leaf unchanged.

    The cotangent of an object that is in several places is the sum for all of them: it is used
    once, and the other places get zeros.
    """
    parts = parts_of(x)
    if parts is None:
        return NoTangent() if x_bar is None else x_bar
    seen = {} if seen is None else seen
    if id(x) in seen and not issubclass(type(x), tuple):
        return ZeroTangent()
    seen[id(x)] = x
    return tangent_of_parts(x, [as_tangent(p, part_of_tangent(x_bar, k), seen) for k, p in parts])
