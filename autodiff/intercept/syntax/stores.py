"""Items and attributes that are set inside a traced function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import PLAIN, innermost
from autodiff.errors import untraced_array
from autodiff.intercept.syntax import attributes, syntax_ops
from autodiff.mutation import escape_check, written_arguments
from autodiff.mutation.assignment import assign_item
from autodiff.mutation.identity import as_key
from autodiff.trace.trace_stack import check_free
from autodiff.trace.tracer import Tracer, shape_of


def store(value: Any, target: Any, index: Any) -> None:
    """Do ``target[index] = value``; an array from outside cannot take a traced value."""
    if type(target) is Tracer:
        assign_item(target, index, value)
        return
    if type(target) is memoryview:
        check_free(target)
    elif type(target) is np.ndarray or type(target) is np.flatiter:
        array: Any = target if type(target) is np.ndarray else target.base
        check_free(array)
        if type(value) not in PLAIN and array.dtype.kind != "O":
            value = syntax_ops.converted(value)
        if (
            type(value) is not np.ndarray
            and innermost((value,), {}) is not None
            and not _is_cell(target, index)
        ):
            raise untraced_array(
                array,
                "that was made outside the function being differentiated, or inside it of plain "
                "values and known by several names, and its derivative would be lost. Make the "
                "array inside the function by np.zeros(n) or c.copy(), or hand it in as an "
                "argument to be differentiated.",
            )
    elif not syntax_ops.is_plain(type(target)):
        method = syntax_ops.special(type(target), "__setitem__")
        if method is not None:
            syntax_ops.intercept(method)(target, index, value)
            return
    if written_arguments.watching:
        written_arguments.note_store(target)
        index = as_key(index, target)
    target[index] = value


def _is_cell(target: Any, index: Any) -> bool:
    """Whether an index is that of one element of an array of objects, which keeps any object."""
    if type(target) is not np.ndarray or target.dtype.kind != "O":
        return False
    index = index if type(index) is tuple else (index,)
    return len(index) == target.ndim and all(isinstance(i, (int, np.integer)) for i in index)


class ItemPlace:
    """An object whose items are set or deleted by the methods of its class, traced.

    It replaces the object where a target is one of several, or that of a loop.
    """

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __setitem__(self, index: Any, value: Any) -> None:
        store(value, self.owner, index)

    def __delitem__(self, index: Any) -> None:
        method = syntax_ops.special(type(self.owner), "__delitem__")
        if method is None:
            del self.owner[index]
        else:
            syntax_ops.intercept(method)(self.owner, index)


class AttributePlace:
    """An object whose attributes are set or deleted by the methods of its class, traced."""

    __slots__ = ("_owner",)
    _owner: Any

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def __setattr__(self, name: str, value: Any) -> None:
        attributes.write(value, self._owner, name)

    def __delattr__(self, name: str) -> None:
        attributes.delete(self._owner, name)


def attribute_place(owner: Any) -> Any:
    """Return what an attribute of `owner` is put into."""
    return owner if attributes.sets_as_ever(type(owner)) else AttributePlace(owner)


_STORING_AS_EVER = frozenset({list, dict, Tracer})


def item_place(owner: Any) -> Any:
    """Return what an item of `owner` is put into."""
    return owner if type(owner) in _STORING_AS_EVER else ItemPlace(owner)


def _keeps_items(kind: type) -> bool:
    """Whether an item is what was put there last: in a list or dict, or a subclass like it."""
    return (
        kind is list
        or kind is dict
        or (
            issubclass(kind, (list, dict))
            and syntax_ops.special(kind, "__getitem__") is None
            and syntax_ops.special(kind, "__setitem__") is None
        )
    )


_BASIC = frozenset({int, slice, type(Ellipsis), type(None)})


def _joined(owner: Any, key: Any, index: Any) -> tuple | None:
    """Return `joined` if ``owner[key][index]`` of an array is ``owner[joined]``; else None."""
    if type(owner) is not Tracer or type(key) is not int:
        return None
    shape = shape_of(owner)
    parts = index if type(index) is tuple else (index,)
    if len(shape) < 2 or not -shape[0] <= key < shape[0] or not _BASIC.issuperset(map(type, parts)):
        return None
    return (key, *parts)


def store_in_item(value: Any, owner: Any, key: Any, index: Any, others: int = 0) -> None:
    """Do ``owner[key][index] = value``; an array that only the owner holds can be replaced."""
    joined = _joined(owner, key, index)
    if joined is not None:
        assign_item(owner, joined, value)
        return
    target = syntax_ops.item(owner, key)
    if (
        type(target) is np.ndarray
        and _keeps_items(type(owner))
        and escape_check.is_only_held_by_owner(sys.getrefcount(target), others)
    ):
        received = escape_check.receiver(target, value)
        if received is not target:
            owner[key] = target = received
    store(value, target, index)


def store_in_attribute(value: Any, owner: Any, name: str, index: Any, others: int = 0) -> None:
    """Do ``owner.name[index] = value``; an array that only the owner holds can be replaced."""
    target = attributes.read(owner, name)
    if (
        type(target) is np.ndarray
        and escape_check.is_only_held_by_owner(sys.getrefcount(target), others)
        and attributes.is_kept(owner, name)
    ):
        received = escape_check.receiver(target, value)
        if received is not target:
            object.__setattr__(owner, name, received)
            target = received
    store(value, target, index)


def store_local(value: Any, target: Any, index: Any) -> Any:
    """Do ``target[index] = value`` for a local variable; return what it is to hold from then on."""
    if type(target) is np.ndarray and escape_check.is_only_held_by_caller(sys.getrefcount(target)):
        target = escape_check.work_array(target)
    store(value, target, index)
    return target


def store_local_in_library(value: Any, target: Any, index: Any) -> Any:
    """Do `store_local` in a library, whose arrays may go to compiled code that fills them."""
    if type(target) is np.ndarray and escape_check.is_only_held_by_caller(sys.getrefcount(target)):
        target = escape_check.receiver(target, value)
    store(value, target, index)
    return target


def change_item(owner: Any, index: Any) -> Callable:
    """Read an item that is to be changed; what is returned changes it."""
    return syntax_ops.augment_item(owner, index, store)


def change_item_in_item(owner: Any, key: Any, index: Any) -> Callable:
    """Do `change_item` for ``owner[key][index]``."""
    joined = _joined(owner, key, index)
    if joined is not None:
        return syntax_ops.augment_item(owner, joined, store)

    def put(value: Any, target: Any, index: Any) -> None:
        store_in_item(value, owner, key, index, 2)  # beside the two names of the target

    return syntax_ops.augment_item(syntax_ops.item(owner, key), index, put)


def change_item_in_attribute(owner: Any, name: str, index: Any) -> Callable:
    """Do `change_item` for ``owner.name[index]``."""

    def put(value: Any, target: Any, index: Any) -> None:
        store_in_attribute(value, owner, name, index, 2)

    return syntax_ops.augment_item(attributes.read(owner, name), index, put)


def change_item_local(owner: Any, index: Any) -> Callable:
    """Do `change_item` for a local variable; what is returned returns its new value."""
    return syntax_ops.augment_item(owner, index, _store_held)


def _store_held(value: Any, target: Any, index: Any) -> Any:
    # The function that changes the item holds it too.
    if type(target) is np.ndarray and escape_check.is_only_held_by_caller(
        sys.getrefcount(target), 1
    ):
        target = escape_check.receiver(target, value)
    store(value, target, index)
    return target


def change_attribute(owner: Any, name: str) -> Callable:
    """Read an attribute that is to be changed; what is returned changes it."""
    before = attributes.read(owner, name)
    return syntax_ops.augment_attribute(owner, before, name, attributes.write)
