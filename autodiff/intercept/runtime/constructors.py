"""Instances made inside a traced function: ``__init__`` is traced."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable
from typing import Any

from autodiff.dispatch import call as calls
from autodiff.intercept.runtime.builtin_calls import type_of_value
from autodiff.intercept.syntax import syntax_ops
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
    hooked: type | None = None
    hook: Any = None
    maker: tuple[Any, Any] = None, None  # what makes it, and what is called in its place
    is_dataclass = in_class(g, "__dataclass_fields__") is not None

    def constructing(*args: Any, **kwargs: Any) -> Any:
        nonlocal hooked, hook, maker
        new: Any = g.__new__
        if new is object.__new__:
            made: Any = new(g)
        else:
            if new is not maker[0]:
                maker = new, syntax_ops.intercept(new)
            made = maker[1](g, *args, **kwargs)
            if not isinstance(made, g):
                return made
        post = getattr(g, "__post_init__", None) if is_dataclass else None
        if post is not hook:
            hooked, hook = _with_post_init(g, post), post
        if is_dataclass and _by_descriptors(g):
            _set_fields(g, made, args, kwargs)
            return made
        if hooked is None:
            init: Any = type_of_value(made).__init__
            if type(init) is types.FunctionType:
                syntax_ops.intercept(init)(made, *args, **kwargs)
            elif type(made) is not ArrayInstance:  # np.ndarray has none
                init(made, *args, **kwargs)
            return made
        object.__setattr__(made, "__class__", hooked)
        try:
            getattr(hooked, "__init__")(made, *args, **kwargs)  # noqa: B009 - as a function
        finally:
            object.__setattr__(made, "__class__", g)
        return made

    return constructing


def _setter_of(g: type, name: str) -> types.FunctionType | None:
    put = getattr(type(in_class(g, name)), "__set__", None)
    return put if type(put) is types.FunctionType else None


def _by_descriptors(g: type) -> bool:
    """Whether a dataclass has fields that are descriptors written in Python.

    Its generated ``__init__``, which has no source, sets them.
    """
    init: Any = g.__init__  # type: ignore[misc] # of a class
    if type(init) is not types.FunctionType or init.__code__.co_filename != "<string>":
        return False
    return any(_setter_of(g, field.name) for field in dataclasses.fields(g)) and not any(
        field._field_type is _INIT_ONLY  # ``__post_init__`` takes them
        for field in vars(g)["__dataclass_fields__"].values()
    )


_INIT_ONLY: Any = getattr(dataclasses, "_FIELD_INITVAR", None)


def _set_fields(g: Any, made: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Do what the generated ``__init__`` of a dataclass does; its descriptors are traced."""
    bound = inspect.signature(g.__init__).bind(made, *args, **kwargs)
    for field in dataclasses.fields(g):
        if field.init and field.name in bound.arguments:
            value = bound.arguments[field.name]
        elif field.default_factory is not dataclasses.MISSING:
            value = syntax_ops.intercept(field.default_factory)()
        elif field.init or field.default is not dataclasses.MISSING:
            value = field.default
        else:
            continue
        put = _setter_of(g, field.name)
        if put is None:
            object.__setattr__(made, field.name, value)
        else:
            syntax_ops.intercept(put)(in_class(g, field.name), made, value)
    post = getattr(made, "__post_init__", None)
    if post is not None:
        syntax_ops.intercept(post)()


def _with_post_init(g: type, post: Any) -> type | None:
    """Return a temporary subclass of a dataclass whose ``__post_init__`` is traced.

    The ``__init__`` of a dataclass is generated and has no source; it calls ``__post_init__`` by
    name.
    """
    if type(post) is not types.FunctionType:
        return None
    return type(g.__name__, (g,), {"__post_init__": calls.body_of(post), "__slots__": ()})
