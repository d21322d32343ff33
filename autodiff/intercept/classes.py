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

    def constructing(*args: Any, **kwargs: Any) -> Any:
        new: Any = g.__new__
        made = new(g) if new is object.__new__ else syntax.intercept(new)(g, *args, **kwargs)
        if isinstance(made, g):
            hooked = _with_post_init(g)
            if hooked is not None:
                object.__setattr__(made, "__class__", hooked)
                try:
                    getattr(hooked, "__init__")(made, *args, **kwargs)  # noqa: B009 - as a function
                finally:
                    object.__setattr__(made, "__class__", g)
            else:
                syntax.intercept(type(made).__init__)(made, *args, **kwargs)
        return made

    return constructing


def _with_post_init(g: type) -> type | None:
    """Return a passing subclass of a dataclass whose ``__post_init__`` has its calls seen.

    The ``__init__`` of a dataclass is generated and has no source; it calls ``__post_init__`` by
    name.
    """
    post = getattr(g, "__post_init__", None)
    if type(post) is not types.FunctionType or not hasattr(g, "__dataclass_fields__"):
        return None
    return type(g.__name__, (g,), {"__post_init__": calls.body_of(post), "__slots__": ()})
