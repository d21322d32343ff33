"""Instances made inside a traced function: ``__init__`` is traced."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from autodiff.dispatch import call as calls
from autodiff.intercept.runtime.builtin_calls import type_of_value
from autodiff.intercept.syntax import attributes, syntax_ops
from autodiff.numpy_api.array_subclasses import ArrayInstance
from chainrules_core.tangents.fields import in_class


def is_made_in_python(g: type) -> bool:
    """Whether the ``__init__`` or ``__new__`` of a class is written in Python."""
    if type(g.__init__) is types.FunctionType:  # type: ignore[misc] # of a class
        return True
    new: Any = g.__new__
    return type(new) is types.FunctionType and calls.body_of(new) is not new


def maker_of(g: type) -> Callable | None:
    """Return what makes an instance of a class and traces its methods; None if there are none.

    A metaclass may define itself what calling the class does.
    """
    call: Any = type(g).__call__
    if call is type.__call__:
        return constructing_for(g) if is_made_in_python(g) else None
    if type(call) is not types.FunctionType:
        return None
    return types.MethodType(syntax_ops.intercept(call), g)


def constructing_for(g: type) -> Callable:
    """Return what makes an instance of a class and traces its ``__init__``."""
    maker: tuple[Any, Any] = None, None  # what makes it, and what is called in its place

    def constructing(*args: Any, **kwargs: Any) -> Any:
        nonlocal maker
        new: Any = g.__new__
        if new is object.__new__:
            made: Any = new(g)
        else:
            if new is not maker[0]:
                maker = new, syntax_ops.intercept(new)
            made = maker[1](g, *args, **kwargs)
            if not isinstance(made, g):
                return made
        init: Any = type_of_value(made).__init__
        if type(init) is types.FunctionType:
            syntax_ops.intercept(init)(made, *args, **kwargs)
        elif type(made) is not ArrayInstance:  # np.ndarray has none
            init(made, *args, **kwargs)
        return made

    return constructing


def is_generated(f: types.FunctionType) -> bool:
    """Whether `dataclasses` has generated a function as ``__init__``; `exec` may make others."""
    code = f.__code__
    return code.co_filename == "<string>" and code.co_qualname == "__create_fn__.<locals>.__init__"


_OF_CLASS, _INIT_ONLY, _BY_FACTORY = (
    getattr(dataclasses, name, None)
    for name in ("_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY")
)


def setting_fields(init: types.FunctionType) -> Callable:
    """Return what does the same as a generated ``__init__``; what it calls is traced."""
    known: tuple[Any, Any] = init.__defaults__, inspect.signature(init)
    calls_post_init = "__post_init__" in init.__code__.co_names

    def set_fields(made: Any, /, *args: Any, **kwargs: Any) -> None:
        nonlocal known
        owner = _dataclass_of(init, type_of_value(made))
        if init.__defaults__ is not known[0] or init.__kwdefaults__:
            known = init.__defaults__, inspect.signature(init)
        try:
            bound = known[1].bind(made, *args, **kwargs)
        except TypeError:
            owner = None
        if owner is None:  # of another class; or a wrong argument, for an error in its own words
            init(made, *args, **kwargs)
            return
        bound.apply_defaults()
        put = _set_frozen if owner.__dataclass_params__.frozen else attributes.write
        for_post_init = []
        for name, field in owner.__dataclass_fields__.items():
            if field._field_type is _OF_CLASS:
                continue
            value = bound.arguments.get(name, _BY_FACTORY) if field.init else _BY_FACTORY
            if value is _BY_FACTORY:
                if field.default_factory is not dataclasses.MISSING:
                    value = syntax_ops.intercept(field.default_factory)()
                elif field.default is not dataclasses.MISSING and _has_slot(owner, name):
                    value = field.default
                else:
                    continue
            if field._field_type is _INIT_ONLY:
                for_post_init.append(value)
            else:
                put(value, made, name)
        if calls_post_init:
            syntax_ops.intercept(made.__post_init__)(*for_post_init)

    return functools.wraps(init)(set_fields)


def _dataclass_of(init: types.FunctionType, g: Any) -> Any:
    """Return the dataclass, among the bases of `g`, for which an ``__init__`` was generated."""
    for base in g.__mro__:
        own = vars(base)
        if own.get("__init__") is init and "__dataclass_fields__" in own:
            return base
    return None


def _has_slot(g: type, name: str) -> bool:
    return type(in_class(g, name)) is types.MemberDescriptorType


def _set_frozen(value: Any, made: Any, name: str) -> None:
    """Set an attribute of an instance whose class does not let others set it."""
    descriptor = in_class(type(made), name)
    put = getattr(type(descriptor), "__set__", None)
    if type(put) is types.FunctionType:
        syntax_ops.intercept(put)(descriptor, made, value)
    else:
        object.__setattr__(made, name, value)
