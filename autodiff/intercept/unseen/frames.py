"""Functions that inspect the call stack: in traced code, they do not see the engine's frames.

Where the engine replaces a function, its own frames may lie between two of the user's. So
``sys._getframe`` and similar functions skip them. Library functions that call one of these are
always rewritten, so that these calls are intercepted too.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from autodiff import caches
from chainrules_core.interpreter.places import MADE_HERE, folder_of

_ENGINE = folder_of("autodiff"), MADE_HERE
_LOOKING = frozenset({"_getframe", "_getframemodulename", "currentframe", "stack"})


def is_of_engine(code: types.CodeType) -> bool:
    """Whether code belongs to the engine itself; a rewritten function belongs to the user."""
    return code.co_filename.startswith(_ENGINE)


def _skipping(frame: types.FrameType | None) -> types.FrameType | None:
    """Return `frame`, or its nearest caller that is not the engine's."""
    while frame is not None and is_of_engine(frame.f_code):
        frame = frame.f_back
    return frame


def frame_at(depth: int = 0, /) -> types.FrameType:
    """Replace ``sys._getframe(depth)`` in rewritten code."""
    frame = _skipping(sys._getframe(1))
    for _ in range(depth):
        frame = frame and _skipping(frame.f_back)
    if frame is None:
        raise ValueError("call stack is not deep enough")
    return frame


def module_at(depth: int = 0) -> str | None:
    """Replace ``sys._getframemodulename(depth)``."""
    try:
        return frame_at(depth).f_globals.get("__name__")
    except ValueError:
        return None


def stack(context: int = 1) -> list[inspect.FrameInfo]:
    """Replace ``inspect.stack(context)``."""
    return [
        info
        for info in inspect.getouterframes(frame_at(), context)
        if not is_of_engine(info.frame.f_code)
    ]


REPLACED: dict[Any, Callable] = {
    sys._getframe: frame_at,
    inspect.currentframe: lambda: frame_at(),
    inspect.stack: stack,
}
if hasattr(sys, "_getframemodulename"):  # since Python 3.12
    REPLACED[sys._getframemodulename] = module_at


# Functions that evaluate a text with the variables of their caller. They do it through other
# modules, where many objects hold the values.
_READING = ("DataFrame.eval", "DataFrame.query")
_READERS = "pandas.core.computation."


def looks_at_frames(g: types.FunctionType) -> bool:
    """Whether a function inspects its caller's frame, or calls one of its module that does."""
    return (
        g.__name__ in _looking_in(g.__globals__)
        or not _LOOKING.isdisjoint(g.__code__.co_names)
        or (g.__qualname__ in _READING and g.__module__ == "pandas.core.frame")
        or g.__module__.startswith(_READERS)
    )


# id(globals of a module) → the names of its functions that inspect frames.
_known: dict[int, frozenset[str]] = caches.register("functions that look at frames", {})
caches.on_module_end(lambda key, name: _known.pop(key, None))


def _looking_in(namespace: dict[str, Any]) -> frozenset[str]:
    found = _known.get(id(namespace))
    if found is not None:
        return found
    functions = {
        name: f.__code__
        for name, f in list(namespace.items())
        if type(f) is types.FunctionType and f.__globals__ is namespace
    }
    # Only functions that give a depth matter: those that walk the stack skip frames by themselves.
    looking: set[str] = {name for name, code in functions.items() if "_getframe" in code.co_names}
    grown = bool(looking)
    while grown:
        more = {n for n, code in functions.items() if not looking.isdisjoint(code.co_names)}
        grown = not more <= looking
        looking |= more
    result = frozenset(looking)
    if caches.is_of_module(namespace):
        _known[id(namespace)] = result
    return result
