"""Instances made inside a traced function: the calls of ``__init__`` are seen."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from autodiff import call as calls
from autodiff.intercept import syntax


def has_init(g: type) -> bool:
    """Whether instances are made by an ``__init__`` written in Python."""
    return type(g).__call__ is type.__call__ and type(g.__init__) is types.FunctionType  # type: ignore[misc]


def constructing_for(g: type) -> Callable:
    """Return what makes an instance of a class with the calls of its ``__init__`` seen."""
    hooked: type | None = None
    hook: Any = None
    is_dataclass = hasattr(g, "__dataclass_fields__")

    def constructing(*args: Any, **kwargs: Any) -> Any:
        nonlocal hooked, hook
        new: Any = g.__new__
        if new is object.__new__:
            made: Any = new(g)
        else:
            made = syntax.intercept(new)(g, *args, **kwargs)
            if not isinstance(made, g):
                return made
        post = getattr(g, "__post_init__", None) if is_dataclass else None
        if post is not hook:
            hooked, hook = _with_post_init(g, post), post
        if hooked is None:
            syntax.intercept(type(made).__init__)(made, *args, **kwargs)
            return made
        object.__setattr__(made, "__class__", hooked)
        try:
            getattr(hooked, "__init__")(made, *args, **kwargs)  # noqa: B009 - as a function
        finally:
            object.__setattr__(made, "__class__", g)
        return made

    return constructing


def _with_post_init(g: type, post: Any) -> type | None:
    """Return a passing subclass of a dataclass whose ``__post_init__`` has its calls seen.

    The ``__init__`` of a dataclass is generated and has no source; it calls ``__post_init__`` by
    name.
    """
    if type(post) is not types.FunctionType:
        return None
    return type(g.__name__, (g,), {"__post_init__": calls.body_of(post), "__slots__": ()})
