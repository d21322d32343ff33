"""Instances made inside a traced function: ``__init__`` is traced."""

from __future__ import annotations

import dataclasses
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
    known: tuple[Any, Any] = None, None  # a generated ``__init__``, and its signature

    def constructing(*args: Any, **kwargs: Any) -> Any:
        nonlocal maker, known
        new: Any = g.__new__
        if new is object.__new__:
            made: Any = new(g)
        else:
            if new is not maker[0]:
                maker = new, syntax_ops.intercept(new)
            made = maker[1](g, *args, **kwargs)
            if not isinstance(made, g):
                return made
        kind = type_of_value(made)
        init: Any = kind.__init__
        if type(init) is not types.FunctionType:
            if type(made) is not ArrayInstance:  # np.ndarray has none
                init(made, *args, **kwargs)
        elif not _is_generated(kind, init):
            syntax_ops.intercept(init)(made, *args, **kwargs)
        else:
            if init is not known[0]:
                known = init, inspect.signature(init)
            _set_fields(kind, made, known[1], args, kwargs)
        return made

    return constructing


def _is_generated(g: type, init: types.FunctionType) -> bool:
    """Whether `dataclasses` has generated the ``__init__`` of a class; `exec` may make others."""
    is_dataclass = in_class(g, "__dataclass_fields__") is not None
    code = init.__code__
    return (
        is_dataclass
        and code.co_filename == "<string>"
        and code.co_qualname == "__create_fn__.<locals>.__init__"
    )


_OF_CLASS, _INIT_ONLY = (
    getattr(dataclasses, name, None) for name in ("_FIELD_CLASSVAR", "_FIELD_INITVAR")
)


def _set_fields(
    g: Any, made: Any, signature: inspect.Signature, args: tuple, kwargs: dict[str, Any]
) -> None:
    """Do what the generated ``__init__`` of a dataclass does; what it calls is traced."""
    try:
        bound = signature.bind(made, *args, **kwargs).arguments
    except TypeError:
        g.__init__(made, *args, **kwargs)  # an error in its own words
        raise
    put = _set_frozen if in_class(g, "__dataclass_params__").frozen else attributes.write
    for_post_init = []
    for name, field in in_class(g, "__dataclass_fields__").items():
        if field._field_type is _OF_CLASS:
            continue
        if field.init and name in bound:
            value = bound[name]
        elif field.default_factory is not dataclasses.MISSING:
            value = syntax_ops.intercept(field.default_factory)()
        elif field.default is not dataclasses.MISSING and (field.init or _has_slot(g, name)):
            value = field.default
        else:
            continue
        if field._field_type is _INIT_ONLY:
            for_post_init.append(value)
        else:
            put(value, made, name)
    post = getattr(made, "__post_init__", None)
    if post is not None:
        syntax_ops.intercept(post)(*for_post_init)


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
