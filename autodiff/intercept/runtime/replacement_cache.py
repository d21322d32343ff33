"""What is called in place of each function, remembered while the function may be called again."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from autodiff import caches
from autodiff.closures.captured_values import is_empty
from autodiff.intercept.source.library_code import is_library
from autodiff.trace.trace_stack import is_recording, passing

replacements: dict[int, tuple[Callable, Callable, Any]] = caches.register("replacements", {})
"""id(function) → a weak reference to it, what is called in its place, what it is made of."""
lasting: dict[Callable, tuple[Callable, types.CodeType, Any]] = caches.register(
    "lasting replacements", {}
)
"""For functions at the top level of a module and methods of classes there, which stay as long as
the module: function → what is called in its place, and the code and defaults that it had. Those
that a notebook defines anew are few, but not without end."""
_MOST, _MOST_PASSING = 20_000, 64


def remember(g: Any, replacement: Callable, lasts: bool) -> Callable:
    """Remember what is called in place of `g`, and return it.

    Where this would keep the function alive, only as long as this thread records something: its
    replacement refers to its globals, and maybe to the function itself. Only the end of a module's
    function is noticed.
    """
    parts = None
    if type(g) is types.FunctionType:
        of_module = caches.is_of_module(g.__globals__)
        if lasts and of_module:
            caches.put(lasting, g, (replacement, g.__code__, g.__defaults__), _MOST)
            return replacement
        parts = g.__code__, g.__defaults__, g.__kwdefaults__
        if not is_library(g) and (not of_module or _holds(replacement, g)):
            if is_recording():  # it may call itself
                caches.put(passing(), id(g), (g, replacement, parts), _MOST_PASSING)
            return replacement
    try:
        caches.keep_with(replacements, g, replacement, parts)
    except TypeError:  # a function made in C, which stays
        replacements[id(g)] = (lambda: g), replacement, None
    return replacement


def _holds(replacement: Any, g: types.FunctionType) -> bool:
    """Whether a replacement refers to its function, as that of a recursive one does."""
    if getattr(replacement, "__wrapped__", None) is g:
        return True
    if type(replacement) is functools.partial:  # a call by a program, or by this function
        return any(_holds(part, g) for part in replacement.args)
    cells = getattr(replacement, "__closure__", None) or ()
    # An empty one may be given it.
    return any(is_empty(cell) or cell.cell_contents is g for cell in cells)


def _forget_module(key: int, name: str) -> None:
    """When a module is gone, forget its functions and classes."""
    g: Any
    for g in list(lasting):
        if id(g.__globals__) == key:
            lasting.pop(g, None)
    for at in list(replacements):  # not its items: garbage collection may drop some meanwhile
        found = replacements.get(at)
        g = None if found is None else found[0]()
        own = g.__globals__ if type(g) is types.FunctionType else None
        if id(own) == key or (isinstance(g, type) and g.__module__ == name):
            replacements.pop(at, None)


caches.on_module_end(_forget_module)
