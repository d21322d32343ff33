"""The rewritten code of functions, kept for each code object."""

from __future__ import annotations

import functools
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

from autodiff.intercept import expressions, rewrite, source
from autodiff.levels import active_tapes

_LIBRARY = tuple(
    {
        path
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_paths().get(name))
    }
)
# id(code) → (code, rewritten code or None); the code is held so that its id stays its own.
_rewritten: dict[int, tuple[types.CodeType, types.CodeType | None]] = {}
made: dict[int, types.CodeType] = {}
"""id(code) → code that the rewriting made, nested functions included: its calls are seen."""
helpers: dict[str, Any] = {}
"""What rewritten code calls, by its names there; filled by autodiff.intercept.functions."""


def is_rewritten(g: types.FunctionType) -> bool:
    """Whether the calls of a function are seen already."""
    return id(g.__code__) in made


def is_library(g: types.FunctionType) -> bool:
    """Whether a function belongs to the standard library or an installed package."""
    filename = g.__code__.co_filename
    return filename.startswith(_LIBRARY) or filename.startswith("<frozen")


def is_of_library(x: Any) -> bool:
    """Whether a class or a module belongs to Python itself or an installed package."""
    module = x if isinstance(x, types.ModuleType) else sys.modules.get(x.__module__)
    if module is None or module.__name__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or file.startswith((*_LIBRARY, "<frozen"))


def rewritten(g: types.FunctionType) -> Callable:
    """Return a function with its calls seen; itself where its source is not to be had."""
    code = g.__code__
    known = _rewritten.get(id(code))
    if known is None:
        known = _rewritten[id(code)] = (code, _rewrite(g))
        if known[1] is not None:
            _note_made(known[1])
            _note_originals(known[1], code)
    if known[1] is None:
        return g
    return source.rebuilt(g, known[1], helpers)


def unwatched(g: types.FunctionType) -> Callable:
    """Return a function without source, whose writes are not seen: what is held is copied then."""

    @functools.wraps(g)
    def called(*args: Any, **kwargs: Any) -> Any:
        for tape in active_tapes():
            tape.watch()
        return g(*args, **kwargs)

    return called


def _rewrite(g: types.FunctionType) -> types.CodeType | None:
    found = source.definition_of(g)
    if found is None:
        return None
    node = rewrite.rewritten(found.node, g.__code__, g.__globals__, is_library(g))
    return source.compiled_like(found, g.__code__, node, tuple(helpers))


def _note_made(code: types.CodeType) -> None:
    made[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note_made(constant)


def original_of(code: types.CodeType) -> types.CodeType:
    """Return the code that a nested function was written with; `code` if that is not known."""
    known = _originals.get(id(code))
    return code if known is None else known


# id(rewritten code) → what it was written from.
_originals: dict[int, types.CodeType] = {}


def _note_originals(new: types.CodeType, old: types.CodeType) -> None:
    _originals[id(new)] = old
    nested = _nested(new), _nested(old)
    if [c.co_name for c in nested[0]] == [c.co_name for c in nested[1]]:
        for pair in zip(*nested, strict=True):
            _note_originals(*pair)


def _nested(code: types.CodeType) -> list[types.CodeType]:
    nested = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [c for c in nested if not expressions.is_generic(c)]
