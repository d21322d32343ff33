"""The rewritten code of functions, kept for each code object."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from autodiff.intercept import expressions, rewrite, source
from autodiff.intercept.libraries import is_library
from autodiff.levels import active_tapes

# id(code) → (code, rewritten code or None); the code is held so that its id stays its own.
_rewritten: dict[int, tuple[types.CodeType, types.CodeType | None]] = {}
made: dict[int, types.CodeType] = {}
"""id(code) → code that the rewriting made, nested functions included: its calls are seen."""
helpers: dict[str, Any] = {}
"""What rewritten code calls, by its names there; filled by autodiff.intercept.functions."""


def is_rewritten(g: types.FunctionType) -> bool:
    """Whether the calls of a function are seen already."""
    return id(g.__code__) in made


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
