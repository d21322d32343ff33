"""Which outer variables a function assigns to: globals and captured ones.

The bytecode of any function says so, but it differs between versions of Python. It is read in the
versions that the tests run in; in others the verified source is. Without a source the answer is not
known: `of` returns None.
"""

from __future__ import annotations

import ast
import sys
import types
from typing import NamedTuple

from autodiff import caches
from autodiff.closures.code_mentions import mentions_of

READABLE = ((3, 11), (3, 12), (3, 13))
"""Versions of Python whose bytecode `tests/autodiff/closures/test_outer_assignments.py` pins."""


class Assignments(NamedTuple):
    """Names of variables that a function assigns to or deletes, its inner functions included."""

    to_globals: frozenset[str]
    to_captured: frozenset[str]


_known: dict[types.CodeType, Assignments | None] = caches.register("outer assignments", {})


def of(function: types.FunctionType) -> Assignments | None:
    """Return the outer variables that a function assigns to; None if that is not known."""
    code = function.__code__
    if code not in _known:
        readable = sys.version_info[:2] in READABLE
        found = _by_bytecode(code) if readable else _by_source(function)
        return caches.put(_known, code, found, 1024)
    return _known[code]


def _by_bytecode(code: types.CodeType) -> Assignments:
    facts = mentions_of(code)
    to_globals, to_captured = [
        frozenset(facts.of(f"STORE_{kind}", f"DELETE_{kind}")) for kind in ("GLOBAL", "DEREF")
    ]
    return Assignments(to_globals, to_captured)


def _by_source(function: types.FunctionType) -> Assignments | None:
    from autodiff.intercept.source import (  # they import the engine, which imports this
        find_source,
        rewritten_code,
    )

    found = find_source.definition_of_code(
        rewritten_code.original_of(function.__code__), function.__globals__
    )
    if found is None:
        return None
    names: dict[type, set[str]] = {ast.Global: set(), ast.Nonlocal: set()}
    for node in ast.walk(found.node):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            names[type(node)].update(node.names)
    return Assignments(frozenset(names[ast.Global]), frozenset(names[ast.Nonlocal]))
