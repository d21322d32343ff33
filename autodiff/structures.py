"""Nests of containers and objects: their leaves out, and the same nest with other leaves back.

Tuples, lists, dicts, namedtuples, dataclasses and plain objects are nests; floats, complex
numbers and arrays of them are the leaves that can be perturbed; all else is constant.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from autodiff.tracer import FloatTracer, Tracer, bare
from chainrules_core import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    ProjectTo,
    Tangent,
    ZeroTangent,
)
from chainrules_core.sparse_arrays import entries_of, is_sparse_class, with_entries

_LEAF_TYPES = (float, complex, np.ndarray, np.generic, int, str, bytes, bool, type(None), type)
_LEAF_BASES = (float, complex, np.ndarray, np.generic, int, str, bytes, type)
_FLAT = frozenset(
    {*_LEAF_TYPES, Tracer, FloatTracer, np.float64, np.float32, np.complex128, np.int64, np.bool_}
)
_FOREIGN = ("builtins", "numpy", "scipy", "types", "functools", "fractions")
_INEXACT = "fc"
CONSTRAINTS = "scipy.optimize._constraints"
"""The module of objects that hold functions and arrays: bounds and constraints of minima."""
METHODS = "_method_cache"
"""Where distributions of scipy.stats remember methods of their own."""


def is_perturbable(x: Any) -> bool:
    """Whether `x` is a number or array that a derivative can be taken with respect to."""
    if isinstance(x, (float, complex)):
        return True
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in _INEXACT


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
    slots : list of str
        The names of its slots and those of its bases.
    """

    is_leaf: bool
    has_fields: bool
    slots: list[str]


_FACTS: dict[type, Facts] = {}


def facts_of(kind: type) -> Facts:
    """Return what is known of a class; it is remembered but of classes that functions make."""
    known = _FACTS.get(kind)
    if known is not None:
        return known
    fields = _has_fields(kind)
    is_leaf = issubclass(kind, (*_LEAF_BASES, Tracer, type(None))) or not (
        issubclass(kind, (tuple, list, dict)) or is_sparse(kind) or fields
    )
    facts = Facts(is_leaf, fields, [n for c in kind.__mro__ for n in _slots_of(c)])
    if "<locals>" not in kind.__qualname__:  # such a class may hold what a call has captured
        _FACTS[kind] = facts
    return facts


def _has_fields(kind: type) -> bool:
    if dataclasses.is_dataclass(kind) or kind is types.SimpleNamespace:
        return True
    return not (
        (kind.__module__.partition(".")[0] in _FOREIGN and not _holds_values(kind))
        or issubclass(kind, (type, enum.Enum, BaseException))
        or not kind.__flags__ & (1 << 9)  # a class made in C
    )


def parts_of(x: Any) -> list[tuple[Any, Any]] | None:
    """Return ``(key, part)`` for each part of a nest, or None if `x` is a leaf."""
    kind = type(x)
    if (_FACTS.get(kind) or facts_of(kind)).is_leaf or isinstance(x, _LEAF_BASES):
        return None
    if is_sparse(kind):
        return [("data", entries_of(x))]
    if isinstance(x, (tuple, list)):
        fields = getattr(kind, "_fields", None)
        return list(zip(fields if fields is not None else range(len(x)), x, strict=True))
    if isinstance(x, dict):
        return list(x.items())
    fields = _field_names(x)
    return None if fields is None else [(name, getattr(x, name)) for name in fields]


OPAQUE: set[type] = set()
"""Classes of the engine's own whose objects hold nothing that is traced."""


def _field_names(x: Any) -> list[str] | None:
    """Return the names of the fields of a dataclass or plain object; None for other things."""
    kind = type(x)
    if kind in OPAQUE:
        return None
    if dataclasses.is_dataclass(kind):
        return [f.name for f in dataclasses.fields(x) if hasattr(x, f.name)]
    if kind is types.SimpleNamespace:
        return list(vars(x))
    facts = facts_of(kind)
    if isinstance(x, (type, enum.Enum, BaseException)) or not facts.has_fields:
        return None
    names = [n for n in facts.slots if hasattr(x, n)]
    names += list(getattr(x, "__dict__", ()))
    return [n for n in names if not _is_remembered(kind, n)]


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


def _is_remembered(kind: type, name: str) -> bool:
    """Whether an attribute holds what a `cached_property` has computed, or which method it was."""
    return name == METHODS or isinstance(getattr(kind, name, None), functools.cached_property)


def _slots_of(cls: type) -> list[str]:
    slots = cls.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else slots
    return [
        f"_{cls.__name__.lstrip('_')}{n}" if n.startswith("__") and not n.endswith("__") else n
        for n in slots
        if n not in ("__dict__", "__weakref__")
    ]


def rebuilt(x: Any, parts: list[Any]) -> Any:
    """Return a nest like `x` with other parts, without calling its constructor."""
    kind = type(x)
    if is_sparse(kind):
        return with_entries(x, parts[0])
    if isinstance(x, tuple):
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
    if isinstance(x, (list, dict)):
        return copy.copy(x)
    try:
        new = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    except TypeError:  # a class with a base made in C
        return copy.copy(x)
    if hasattr(x, "__dict__"):
        new.__dict__.update({n: v for n, v in vars(x).items() if not _is_remembered(kind, n)})
        if METHODS in vars(x):
            new.__dict__[METHODS] = {}
    return new


def _fill(x: Any, shell: Any, parts: list[Any]) -> None:
    if isinstance(x, list):
        shell[:] = parts
    elif isinstance(x, dict):
        for key, part in zip(x, parts, strict=True):
            shell[key] = part
    else:
        own = getattr(shell, "__dict__", {})
        for (name, _), part in zip(parts_of(x) or (), parts, strict=True):
            if name in own:  # whatever a property of this name would do
                own[name] = part
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
    for i, (_, part) in enumerate(parts):
        inner = parts_of(part)
        if inner is None:
            new = change(part)
            if new is not part:
                changed[id(x), i] = new
        elif id(part) not in seen:
            _visit(part, inner, change, changed, order, seen)


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
                dirty.update([id(part) for _, part in parts if isinstance(part, (list, dict))])


def _assembled(x: Any, nests: dict, changed: dict, dirty: set[int], made: dict) -> Any:
    """Return the new form of a container."""
    if id(x) in made:
        return made[id(x)]
    shell = None
    if not isinstance(x, tuple) and not is_sparse(type(x)):
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
    for _, part in parts:
        inner = parts_of(part)
        if inner is None:
            found.append(part)
        elif id(part) not in seen:
            _list_leaves(part, inner, found, seen)


def tangent_of(x: Any, tangent: Callable[[Any], Any]) -> Any:
    """Return the `Tangent` of a nest, with ``tangent(leaf)`` for its leaves."""
    parts = parts_of(x)
    if parts is None:
        return tangent(x)
    return tangent_of_parts(x, [tangent_of(part, tangent) for _, part in parts])


def tangent_of_parts(x: Any, new: Iterable[Any]) -> Any:
    """Return the `Tangent` of a nest with the tangents of its parts, in their order."""
    kind = type(x)
    if isinstance(x, (tuple, list)) and not hasattr(kind, "_fields"):
        return Tangent[kind](*new)
    fields = {key: value for (key, _), value in zip(parts_of(x) or (), new, strict=True)}
    return Tangent[kind](fields) if isinstance(x, dict) else Tangent[kind](**fields)


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
