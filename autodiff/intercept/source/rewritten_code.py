"""The rewritten code of functions, kept for each code object."""

from __future__ import annotations

import ast
import types
import weakref
from collections.abc import Callable
from typing import Any

from autodiff.intercept.source import find_source, fusion_sites, rewriter
from autodiff.intercept.source.library_code import is_library
from autodiff.intercept.source.source_texts import why_without

# id(code) → rewritten code or None. An entry goes with the code, before its id is another's.
_rewritten: dict[int, types.CodeType | None] = {}
made: dict[int, weakref.ref[types.CodeType]] = {}
"""id(code) → code that the rewriting made, nested functions included: its calls are seen."""
_references: dict[int, weakref.ref[types.CodeType]] = {}  # to the keys of `_rewritten`
_looping: set[int] = set()  # id(code) of functions that have loops in them
helpers: dict[str, Any] = {}
"""What rewritten code calls, by its names there; `replacements` fills it."""


def is_made(code: types.CodeType) -> bool:
    """Whether the rewriting made some code: its calls are seen."""
    return id(code) in made


def is_rewritten(g: types.FunctionType) -> bool:
    """Whether the calls of a function are seen already."""
    return id(g.__code__) in made


def rewritten(g: types.FunctionType) -> Callable:
    """Return a function with its calls seen; itself where its source is not to be had."""
    code = g.__code__
    key = id(code)
    if key in _rewritten:
        new = _rewritten[key]
    else:
        new = _rewrite(g)
        if new is not None:
            _note_made(new)
            _note_originals(new, code)
        _references[key] = weakref.ref(code, lambda _: _forget(key))
        _rewritten[key] = new
    return g if new is None else find_source.rebuilt(g, new, helpers)


def has_loops(g: types.FunctionType) -> bool:
    """Whether a function that was rewritten has loops in it."""
    return id(g.__code__) in _looping


def _forget(key: int) -> None:
    if _rewritten is not None:  # at the end of the process they may be gone
        _looping.discard(key)
        _rewritten.pop(key, None)
        _references.pop(key, None)


def source_of(code: types.CodeType, namespace: dict[str, Any]) -> Any:
    """Say whether calls in some code are seen; if not, why its source is not to be had."""
    if id(code) in made:
        return True
    is_without = id(code) in _rewritten and _rewritten[id(code)] is None
    return why_without(code, namespace) if is_without else None


def _rewrite(g: types.FunctionType) -> types.CodeType | None:
    found = find_source.definition_of(g)
    if found is None:
        return None
    if any(isinstance(part, (ast.For, ast.While)) for part in ast.walk(found.node)):
        _looping.add(id(g.__code__))
    node = rewriter.rewritten(found.node, g.__code__, g.__globals__, is_library(g))
    return find_source.compiled_like(found, g.__code__, node, tuple(helpers))


def _note_made(code: types.CodeType) -> None:
    key = id(code)
    made[key] = weakref.ref(code, lambda _, made=made: made.pop(key, None))  # type: ignore[misc]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note_made(constant)


def original_of(code: types.CodeType) -> types.CodeType:
    """Return the code that a nested function was written with; `code` if that is not known."""
    known = _originals.get(id(code))
    original = None if known is None else known[1]()
    return code if original is None else original


# id(rewritten code) → (a reference to it, one to what it was written from).
_originals: dict[int, tuple[weakref.ref[types.CodeType], weakref.ref[types.CodeType]]] = {}


def _note_originals(new: types.CodeType, old: types.CodeType) -> None:
    key = id(new)

    def drop(_: Any, table: dict = _originals) -> None:
        table.pop(key, None)

    _originals[key] = weakref.ref(new, drop), weakref.ref(old)
    nested = _nested(new), _nested(old)
    if [c.co_name for c in nested[0]] == [c.co_name for c in nested[1]]:
        for pair in zip(*nested, strict=True):
            _note_originals(*pair)


def _nested(code: types.CodeType) -> list[types.CodeType]:
    nested = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [c for c in nested if not fusion_sites.is_generic(c)]
