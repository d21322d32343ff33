"""``operator.attrgetter``, ``itemgetter``, ``methodcaller``: what they call is traced.

They call properties and methods from C, where no rewritten call sees it. ``__reduce__`` tells what
they were made with. The methods of libraries are left alone: rules call them by ``methodcaller``
where nothing is to be traced.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.intercept.syntax import attributes, syntax_ops


def _several(get: Callable, keys: tuple) -> Callable:
    """Return what gets one thing of an object, or a tuple of several."""
    if len(keys) == 1:
        return lambda owner: get(owner, keys[0])
    return lambda owner: tuple([get(owner, key) for key in keys])


def _attribute(owner: Any, path: str) -> Any:
    return functools.reduce(attributes.read, path.split("."), owner)


def _method_called(g: operator.methodcaller) -> Callable:
    made_by: Any = g.__reduce__()
    kind, made_with = made_by
    options: dict[str, Any] = {}
    if isinstance(kind, functools.partial):  # it has keywords
        made_with, options = (*kind.args, *made_with), kind.keywords
    name, *args = made_with

    def call(owner: Any) -> Any:
        if type(owner) is np.ndarray:
            return syntax_ops.intercept(getattr(owner, name))(*args, **options)
        if syntax_ops.users_method(owner, name) is None:
            return g(owner)
        return syntax_ops.intercept(attributes.read(owner, name))(*args, **options)

    return call


GETTERS: dict[type, Callable[[Any], Callable]] = {
    operator.attrgetter: lambda g: _several(_attribute, g.__reduce__()[1]),
    operator.itemgetter: lambda g: _several(syntax_ops.item, g.__reduce__()[1]),
    operator.methodcaller: _method_called,
}
"""By the class of a getter: what returns the function that is called in its place."""
