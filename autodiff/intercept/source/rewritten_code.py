"""The rewritten code of functions, kept for each code object."""

from __future__ import annotations

import ast
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from autodiff import caches
from autodiff.closures.code_mentions import mentions_of, read_globally
from autodiff.intercept.source import find_source, rewriter
from autodiff.intercept.source.library_code import is_library
from autodiff.intercept.source.set_displays import with_constants_of
from autodiff.intercept.source.source_texts import carried_texts, why_without
from chainrules_core.interpreter.places import codes_in

# By the id of the code, in `caches.keep_with`: the rewritten code or None; whether it has loops.
_rewritten: dict[int, tuple] = caches.register("rewritten code", {})
made: dict[int, tuple] = caches.register("code made by rewriting", {})
"""By its id: code that the rewriting made, whose calls are seen; whether it is nested in other; the
global variables that it is given in recordings."""
# By the id of the code of a function: the global variables that it is given in recordings.
_given: dict[int, tuple] = caches.register("global variables given in recordings", {})
# By the id of rewritten code: a reference to what it was written from.
_originals: dict[int, tuple] = caches.register("original code", {})
helpers: dict[str, Any] = {}
"""What rewritten code calls, by its names there; `replacements` fills it."""


def is_made(code: types.CodeType) -> bool:
    """Whether code was made by rewriting, so that its calls are intercepted."""
    return id(code) in made


def is_rewritten(g: types.FunctionType) -> bool:
    """Whether the calls of a function are intercepted already."""
    return id(g.__code__) in made


def is_inside(g: types.FunctionType) -> bool:
    """Whether a function was rewritten with another one that it stands in."""
    return id(g.__code__) in made and made[id(g.__code__)][1]


def rewritten(g: types.FunctionType) -> Callable:
    """Return a function with its calls intercepted; itself if its source is not found."""
    code = g.__code__
    known = _rewritten.get(id(code))
    if known is not None:
        new = known[1]
    else:
        new, has_loop = _rewrite(g)
        if new is not None:
            note_rewritten(new, code)
        caches.keep_with(_rewritten, code, new, has_loop)
    return g if new is None else find_source.rebuilt(g, new, helpers)


def note_rewritten(new: types.CodeType, code: types.CodeType) -> None:
    """Note that rewriting has made `new` of `code`."""
    for inner in codes_in(new):
        caches.keep_with(made, inner, inner is not new, given_to(code))
    _note_originals(new, code)


def given_to(code: types.CodeType) -> frozenset[str]:
    """Return the names of the global variables that recordings give to a function with this code.

    Its code itself reads them as they are; what it is rewritten to does not (`given_in`).
    """
    known = _given.get(id(code))
    return frozenset() if known is None else known[1]


def given_in(code: types.CodeType) -> frozenset[str]:
    """Return the names of the global variables that code made by rewriting is given."""
    known = made.get(id(code))
    return frozenset() if known is None else known[2]


def give(functions: Iterable[types.FunctionType], names: set[str]) -> bool:
    """Have recordings give functions the global variables of these names.

    Return whether functions are to be rewritten anew. They read such a variable by
    ``variable(x, "x")``. None is given to a function that binds the same name somewhere.
    """
    changed = False
    for g in functions:
        code, before = g.__code__, given_to(g.__code__)
        new = names & read_globally(code) - before
        new = {name for name in new if "__" not in name}  # it may be written in another way
        new -= _bound_in(code) if new else set()
        if new and not is_made(code):
            caches.keep_with(_given, code, before | new)
            _rewritten.pop(id(code), None)
            changed = True
    return changed


_BINDING = ("STORE_GLOBAL", "STORE_NAME", "DELETE_GLOBAL", "DELETE_NAME")


def _bound_in(code: types.CodeType) -> set[str]:
    """Return the names that code, or a function in it or around it, binds."""
    names = [(*c.co_varnames, *c.co_cellvars, *c.co_freevars) for c in codes_in(code)]
    return mentions_of(code).of(*_BINDING).union(*names)


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


def has_loops(g: types.FunctionType) -> bool:
    """Whether a function that was rewritten has loops or recursive functions, or calls itself."""
    known = _rewritten.get(id(g.__code__))
    if known is None and is_inside(g):  # no program calls itself there
        found = definition_of(g)
        parts = [] if found is None else list(ast.walk(found.node))
        calls_itself = any(_calls(part, g.__name__) for part in parts)
        has_loop = not calls_itself and any(isinstance(part, _LOOPS) for part in parts)
        caches.keep_with(_rewritten, g.__code__, None, has_loop)
        return has_loop
    return known is not None and known[2]


def source_of(code: types.CodeType, namespace: dict[str, Any]) -> Any:
    """Return True for rewritten code, else why its source was not found; None if nobody looked."""
    if id(code) in made:
        return True
    known = _rewritten.get(id(code))
    return why_without(code, namespace) if known is not None and known[1] is None else None


def _rewrite(g: types.FunctionType) -> tuple[types.CodeType | None, bool]:
    found = find_source.definition_of(g)
    if found is None:
        return None, False
    has_loop = any(
        isinstance(part, _LOOPS) or _calls(part, g.__name__) or _is_recursive(part)
        for part in ast.walk(found.node)
    )
    given = given_to(g.__code__)
    node = rewriter.rewritten(found.node, g.__code__, g.__globals__, is_library(g), given)
    return compiled(found, g.__code__, node, tuple(helpers)), has_loop


def compiled(
    found: find_source.Found, code: types.CodeType, node: ast.AST, names: tuple[str, ...] = ()
) -> types.CodeType | None:
    """Compile a rewritten definition, with the frozen sets of the original code."""
    new = find_source.compiled_like(found, code, node, names)
    return None if new is None else with_constants_of(new, code)


def _is_recursive(node: ast.AST) -> bool:
    """Whether it is the definition of a function that calls itself."""
    parts = ast.walk(node) if isinstance(node, ast.FunctionDef) else ()
    return any(_calls(part, node.name) for part in parts)  # type: ignore[attr-defined] # it has one


def _calls(node: ast.AST, name: str) -> bool:
    """Whether it is a call of the function of this name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def original_of(code: types.CodeType) -> types.CodeType:
    """Return the code that a nested function was written with; `code` if that is not known."""
    known = _originals.get(id(code))
    original = None if known is None else known[1]()
    return code if original is None else original


def definition_of(g: types.FunctionType) -> find_source.Found | None:
    """Return the definition of a function, also of one inside a function that was rewritten."""
    code = original_of(g.__code__)
    return find_source.definition_of_code(code, g.__globals__, carried_texts(g))


def _note_originals(new: types.CodeType, old: types.CodeType) -> None:
    caches.keep_with(_originals, new, weakref.ref(old))
    nested = _nested(new), _nested(old)
    if [c.co_name for c in nested[0]] == [c.co_name for c in nested[1]]:
        for pair in zip(*nested, strict=True):
            _note_originals(*pair)


def _nested(code: types.CodeType) -> list[types.CodeType]:
    return [c for c in code.co_consts if isinstance(c, types.CodeType)]
